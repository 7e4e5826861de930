//! A server with a journal that is killed at random moments: each acknowledged command is in the journal exactly
//! once, and each client gets its body back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::Server;
use tickwire::client::blocking_client::{BlockingClient, ReceivedPacket};
use tickwire::internal::games;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::Action;
use tickwire::internal::server::journal::{JournalSnapshot, RecordBody, SegmentHeader, inspect};
use tickwire::internal::server::net::journal::JournalPlace;
use tickwire::packet::Value;
use tickwire::sim::command_frame;

use crate::program::{Program, said_at_its_end, tickwire};
use crate::support::PATIENCE;

/// Clients that send commands.
const CLIENTS: usize = 8;
/// Kills of one run of the tests. The variable of this name sets another number.
const KILLS: u32 = 4;
const KILLS_VARIABLE: &str = "TICKWIRE_KILLS";

/// An empty directory of this process, removed at the end.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Directory {
        let path =
            PathBuf::from(format!("{}/journal-{name}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn serve(directory: &Path, more: &[&str]) -> Command {
    let directory = directory.to_str().expect("text");
    let mut arguments = vec!["serve", "--bind", "127.0.0.1:0", "--journal", directory, "--log", "info"];
    arguments.extend(more);
    tickwire(&arguments)
}

/// A client with a key of its own.
pub struct Walker {
    pub client: BlockingClient,
    pub player: u16,
}

impl Walker {
    fn connect(program: &Program, number: usize) -> Walker {
        Walker::try_connect(program.address, "", number).expect("a player")
    }

    /// Connects to a room, whose path begins with `prefix`.
    pub fn try_connect(address: SocketAddr, prefix: &str, number: usize) -> io::Result<Walker> {
        let key = format!("{:032x}", 0xabc0_0000 + number);
        let url = format!("ws://{address}{prefix}/play?inspect_key={key}").parse().expect("a URL");
        let dialect = games::built_in_tables().dialect("native").expect("the dialect");
        let mut client: BlockingClient = BlockingClient::connect(&url, None, dialect)?;
        let hello = [1.into(), 1.into(), format!("walker {number}").into(), 2.into()];
        client.send("hello", &hello)?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let packet = client.receive(PATIENCE)?.ok_or(ErrorKind::UnexpectedEof)?;
            match packet.name.as_str() {
                "spawned" => {
                    return Ok(Walker { client, player: packet.number("player").expect("a number") });
                }
                // An animal has killed it in an earlier run: its player returns with another body.
                "died" => client.send("join", &[format!("walker {number}").into(), 2.into()])?,
                _ => {}
            }
        }
        Err(ErrorKind::TimedOut.into())
    }

    /// Sends commands until the connection ends. Returns the tick of each acknowledged command.
    fn walk(self, is_over: &AtomicBool) -> BTreeMap<u64, u32> {
        self.walk_from(0, is_over, &mut |_| {})
    }

    /// As [`Walker::walk`], with sequence numbers after `sequence`. Calls `on_ack` with each
    /// acknowledged command.
    pub fn walk_from(
        mut self,
        mut sequence: u32,
        is_over: &AtomicBool,
        on_ack: &mut dyn FnMut(u64),
    ) -> BTreeMap<u64, u32> {
        let mut acknowledged = BTreeMap::new();
        while !is_over.load(Ordering::Relaxed) {
            sequence += 1;
            if self.client.send("move", &[sequence.into(), Value::Nil, (sequence % 200).into()]).is_err() {
                break;
            }
            // Several packets for each command, so that acks are read as they come.
            for _ in 0..3 {
                let Ok(Some(packet)) = self.client.receive(PATIENCE) else {
                    return acknowledged;
                };
                // An animal has killed it: the commands of a dead player are rejected.
                if packet.name == "died" {
                    let _ = self.client.send("join", &["walker".into(), 2.into()]);
                }
                if packet.name == "command_accepted" {
                    let list = packet.get("commands").and_then(Value::as_array).expect("a list");
                    for group in list.chunks(3) {
                        let number = |at: usize| group[at].as_u64().expect("a number");
                        let run = number(0)..number(0) + number(1);
                        run.clone().for_each(&mut *on_ack);
                        acknowledged.extend(run.map(|sequence| (sequence, number(2) as u32)));
                    }
                }
            }
        }
        acknowledged
    }
}

/// The tick of each command in the journal of the default room, by player and sequence.
fn journaled(directory: &Path) -> BTreeMap<(u16, u64), Vec<u32>> {
    let inspection =
        inspect(&JournalPlace::Directory(directory.to_owned()).room("_default"), None).expect("no damage");
    let mut commands: BTreeMap<(u16, u64), Vec<u32>> = BTreeMap::new();
    for record in inspection.records {
        let RecordBody::Frame(frame) = record.body else { continue };
        for command in command_frame::decode::<Action>(&frame).expect("a frame").commands {
            commands.entry((command.player.0, command.sequence)).or_default().push(record.tick);
        }
    }
    commands
}

/// The value of a metric.
pub fn metric(program: &Program, name: &str) -> String {
    let mut stream = TcpStream::connect(program.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the metrics");
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {name}")).to_owned()
}

/// A number below `bound` from a seed.
fn random(seed: u32, bound: u64) -> u64 {
    u64::from(seed.wrapping_add(1).wrapping_mul(0x9e37_79b1).rotate_left(13)) % bound
}

#[test]
fn a_killed_server_has_every_acknowledged_command_once_and_every_body_back() {
    let directory = Directory::new("kills");
    let kills = std::env::var(KILLS_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (mut players, mut total) = (BTreeMap::new(), 0);
    for kill in 0..kills {
        let program = Program::start(&mut serve(&directory.0, &["--durability", "tick"]));
        // In another order each time: a new body would get another number.
        let order = (0..CLIENTS).map(|number| (number + kill as usize * 3) % CLIENTS);
        let walkers: Vec<(usize, Walker)> =
            order.map(|number| (number, Walker::connect(&program, number))).collect();
        for (number, walker) in &walkers {
            let before = *players.entry(*number).or_insert(walker.player);
            assert_eq!(walker.player, before, "kill {kill}: the body of client {number}");
        }
        let is_over = AtomicBool::new(false);
        let acknowledged: Vec<(u16, BTreeMap<u64, u32>)> = thread::scope(|scope| {
            let walk = |walker: Walker| {
                let (player, is_over) = (walker.player, &is_over);
                scope.spawn(move || (player, walker.walk(is_over)))
            };
            let threads: Vec<_> = walkers.into_iter().map(|(_, walker)| walk(walker)).collect();
            thread::sleep(Duration::from_millis(100 + random(kill, 900)));
            // SIGKILL.
            drop(program);
            is_over.store(true, Ordering::Relaxed);
            threads.into_iter().map(|walking| walking.join().expect("no panic")).collect()
        });
        let journaled = journaled(&directory.0);
        for (player, commands) in &acknowledged {
            for (sequence, tick) in commands {
                let found = journaled.get(&(*player, *sequence));
                assert_eq!(found, Some(&vec![*tick]), "kill {kill}: command {sequence} of player {player}");
            }
            total += commands.len();
        }
    }
    println!("{kills} kills, {total} acknowledged commands");
    assert!(total > 0, "no command was acknowledged");
}

#[test]
fn a_room_on_demand_continues_after_a_kill_and_its_journal_ends_with_the_room() {
    let directory = Directory::new("demand");
    let flags = ["--durability", "tick", "--rooms-on-demand", "5"];
    let program = Program::start(&mut serve(&directory.0, &flags));
    let player = Walker::try_connect(program.address, "/r/den", 1).expect("a player").player;
    let mut walker = Walker::try_connect(program.address, "/r/den", 2).expect("a player");
    let other = walker.player;
    // The ack of a command says that its tick, and the ticks before it, are in the journal.
    walker.client.send("move", &[1.into(), Value::Nil, 7.into()]).expect("sent");
    walker.client.receive_until(PATIENCE, |packet| packet.name == "command_accepted").expect("an ack");
    drop(program);
    let mut program = Program::start(&mut serve(&directory.0, &flags));
    // In the other order: a new body would get another number.
    assert_eq!(Walker::try_connect(program.address, "/r/den", 2).expect("a player").player, other);
    let walker = Walker::try_connect(program.address, "/r/den", 1).expect("a player");
    assert_eq!(walker.player, player);
    let private = "p-abcdefghijklmnopqrstuvwx";
    Walker::try_connect(program.address, &format!("/r/{private}"), 3).expect("a player");
    program.type_line("room den end");
    let deadline = Instant::now() + PATIENCE;
    while directory.0.join("den").exists() {
        assert!(Instant::now() < deadline, "the files of an ended room remain");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(directory.0.join(private).exists(), "a private room has a journal");
    let log = program.stop();
    assert!(log.contains("room den continues after tick") && !log.contains(private), "{log}");
}

#[test]
fn a_directory_has_one_server_and_a_journal_of_another_world_is_refused() {
    let directory = Directory::new("lock");
    let mut first = Program::start(&mut serve(&directory.0, &[]));
    drop(Walker::connect(&first, 0));
    let refused = |more: &[&str]| {
        let output = said_at_its_end(serve(&directory.0, more).spawn().expect("started"));
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let told = refused(&[]);
    assert!(told.contains("another process uses this directory"), "{told}");
    first.stop();
    let told = refused(&["--seed", "7"]);
    assert!(told.contains("seed is 1, not 7") && told.contains("choose another directory"), "{told}");
    let mut again = Program::start(&mut serve(&directory.0, &[]));
    let log = again.stop();
    assert!(log.contains("the default room continues after tick"), "{log}");
}

#[test]
fn a_damaged_journal_is_refused_truncated_and_exported_for_replay() {
    let directory = Directory::new("damage");
    let program = Program::start(&mut serve(&directory.0, &["--durability", "tick"]));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let walker = Walker::connect(&program, 0);
        let walking = scope.spawn(|| walker.walk(&is_over));
        thread::sleep(Duration::from_millis(700));
        is_over.store(true, Ordering::Relaxed);
        walking.join().expect("no panic");
    });
    let syncs: u64 =
        metric(&program, "tickwire_journal_sync_duration_seconds_count").parse().expect("a number");
    assert!(syncs > 0 && metric(&program, "tickwire_journal_errors_total") == "0", "{syncs} syncs");
    drop(program);
    let text = |arguments: &[&str]| {
        let output = said_at_its_end(tickwire(arguments).spawn().expect("started"));
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
        (output.status.success(), text)
    };
    let path = directory.0.to_str().expect("text");
    let (is_good, told) = text(&["journal", "check", path]);
    assert!(is_good && told.contains("run 1, snapshot of tick 0 before record 0"), "{told}");
    let capture = format!("{path}/export.pcapng");
    let (is_good, told) = text(&["journal", "export", path, &capture]);
    assert!(is_good && told.contains("ticks from tick 0"), "{told}");
    let replayed = text(&["replay", &capture]);
    assert!(replayed.0, "{}", replayed.1);
    let room = format!("{path}/_default");
    assert_eq!([text(&["replay", path]), text(&["replay", &room])], [replayed.clone(), replayed]);
    let (is_good, told) = text(&["replay", path, "--bisect", &capture]);
    assert!(is_good && told.ends_with("same\n"), "{told}");
    let empty = Directory::new("replay-empty");
    fs::create_dir(&empty.0).expect("a directory");
    let (is_good, told) = text(&["replay", empty.0.to_str().expect("text")]);
    assert!(!is_good && told.contains("there is no journal of a room"), "{told}");
    let segment = directory.0.join("_default/00000000000000000000.segment");
    let mut bytes = fs::read(&segment).expect("a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).expect("written");
    let refused = said_at_its_end(serve(&directory.0, &[]).spawn().expect("started"));
    let told = String::from_utf8(refused.stderr).expect("text");
    assert!(
        told.contains("00000000000000000000.segment, byte ") && told.contains("journal truncate"),
        "{told}"
    );
    assert!(!text(&["journal", "check", path]).0);
    let (is_good, told) = text(&["journal", "truncate", path]);
    assert!(is_good && told.contains("truncated at byte"), "{told}");
    Program::start(&mut serve(&directory.0, &[])).stop();
}

#[test]
fn a_capture_of_a_journal_begins_earlier_on_request() {
    let directory = Directory::new("history");
    for is_killed in [true, false, true] {
        let mut program = Program::start(&mut serve(&directory.0, &["--durability", "tick"]));
        let mut walker = Walker::connect(&program, 0);
        walker.client.send("move", &[1.into(), Value::Nil, 7.into()]).expect("sent");
        walker.client.receive_until(PATIENCE, |packet| packet.name == "command_accepted").expect("an ack");
        if !is_killed {
            program.stop();
        }
    }
    let text = |arguments: &[&str]| {
        let output = said_at_its_end(tickwire(arguments).spawn().expect("started"));
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
        assert!(output.status.success(), "{text}");
        text
    };
    let path = directory.0.to_str().expect("text");
    let [last_run, all] = ["last", "all"].map(|name| format!("{path}/{name}.pcapng"));
    let exported = text(&["journal", "export", path, &last_run]);
    assert!(!exported.contains("from tick 0\n"), "{exported}");
    let exported = text(&["journal", "export", path, &all, "--minutes", "5"]);
    assert!(exported.contains("from tick 0\n"), "{exported}");
    assert_ne!(text(&["replay", &all]), text(&["replay", &last_run]));
    assert_eq!(text(&["replay", path, "--minutes", "5"]), text(&["replay", &all]));
}

#[test]
fn a_room_on_demand_with_a_damaged_journal_is_refused_or_begins_with_a_new_world() {
    let directory = Directory::new("demand-damage");
    let flags = ["--durability", "tick", "--rooms-on-demand", "5"];
    let mut program = Program::start(&mut serve(&directory.0, &flags));
    Walker::try_connect(program.address, "/r/den", 1).expect("a player");
    program.stop();
    let snapshots = || {
        let paths =
            fs::read_dir(directory.0.join("den")).expect("files").map(|entry| entry.expect("one").path());
        paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "snapshot"))
    };
    snapshots().for_each(|path| fs::write(path, "damage").expect("written"));
    let mut program = Program::start(&mut serve(&directory.0, &flags));
    let refused = Walker::try_connect(program.address, "/r/den", 1).err().expect("refused");
    assert!(refused.to_string().contains("503"), "{refused}");
    program.stop();
    let anew = [&flags[..], &["--on-refused-journal", "new-world"]].concat();
    let mut program = Program::start(&mut serve(&directory.0, &anew));
    Walker::try_connect(program.address, "/r/den", 1).expect("a player");
    let log = program.stop();
    assert!(log.contains("the world is new, and the old journal is"), "{log}");
    assert!(directory.0.join("den.refused-0").exists() && snapshots().count() == 1);
}

#[test]
fn after_an_error_of_the_disk_the_server_stops_or_continues_without_a_journal() {
    for (action, continues) in [("stop", false), ("continue", true)] {
        let directory = Directory::new(action);
        // The first snapshot cannot be created, because a directory has its name.
        fs::create_dir_all(directory.0.join("_default/00000000000000000000.snapshot.part")).expect("created");
        let arguments = ["--durability", "tick", "--on-journal-error", action];
        let mut program = Program::start(&mut serve(&directory.0, &arguments));
        if continues {
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                let walker = Walker::connect(&program, 0);
                let walking = scope.spawn(|| walker.walk(&is_over));
                thread::sleep(Duration::from_millis(500));
                is_over.store(true, Ordering::Relaxed);
                assert!(!walking.join().expect("no panic").is_empty(), "commands are acknowledged");
            });
            assert_eq!(metric(&program, "tickwire_journal_errors_total"), "1");
            let log = program.stop();
            assert!(log.contains("the server continues without a journal"), "{log}");
        } else {
            let url = format!("ws://{}/play", program.address).parse().expect("a URL");
            let dialect = games::built_in_tables().dialect("native").expect("the dialect");
            // The room sleeps until a client connects.
            let _client = BlockingClient::<ReceivedPacket>::connect(&url, None, dialect);
            let (status, log) = program.wait();
            assert!(!status.success(), "{log}");
            assert!(
                log.contains("the server has stopped because the journal has failed: cannot create"),
                "{log}"
            );
        }
    }
}

#[test]
fn a_server_in_a_program_continues_its_world_after_a_stop() {
    let directory = Directory::new("library");
    let start = || Server::for_game::<Moo>().journal(&directory.0).start().expect("a free port");
    let server = start();
    // The room sleeps until something is queued for a tick.
    server.command("announce hello").expect("announced");
    let before = server.room("").expect("the room").tick();
    server.stop();
    let server = start();
    let after = server.room("").expect("the room").tick();
    assert!(before > 0 && after >= before, "{before}, then {after}");
    server.stop();
}

/// Replaces the hash of the rules in all files, as if a program with other rules had written them.
fn change_rules(directory: &Path) {
    for entry in fs::read_dir(directory.join("_default")).expect("a directory") {
        let path = entry.expect("a file").path();
        let bytes = fs::read(&path).expect("read");
        let changed = if path.extension().is_some_and(|kind| kind == "segment") {
            let (mut header, start) = SegmentHeader::decode(&bytes).expect("a segment");
            header.identity.rules_hash ^= 1;
            [&header.encode(), &bytes[start..]].concat()
        } else {
            let mut snapshot = JournalSnapshot::decode(&bytes).expect("a snapshot");
            snapshot.identity.rules_hash ^= 1;
            snapshot.encode()
        };
        fs::write(&path, changed).expect("written");
    }
}

#[test]
fn a_program_with_other_rules_continues_a_journal_whose_last_run_has_stopped() {
    let directory = Directory::new("rules");
    let mut first = Program::start(&mut serve(&directory.0, &[]));
    let walker = Walker::connect(&first, 0);
    let player = walker.player;
    first.stop();
    drop(walker);
    change_rules(&directory.0);
    let mut second = Program::start(&mut serve(&directory.0, &[]));
    assert_eq!(Walker::connect(&second, 0).player, player);
    let log = second.stop();
    assert!(log.contains("with other rules: 1 player may resume"), "{log}");
    // The same rules again: the records of that run.
    let third = Program::start(&mut serve(&directory.0, &["--durability", "tick"]));
    let (walker, is_over) = (Walker::connect(&third, 0), AtomicBool::new(false));
    assert_eq!(walker.player, player);
    // Records follow the world with which the run before has stopped.
    let on_ack = &mut |_| is_over.store(true, Ordering::Relaxed);
    assert!(!walker.walk_from(0, &is_over, on_ack).is_empty());
    // SIGKILL.
    drop(third);
    change_rules(&directory.0);
    let refused = said_at_its_end(serve(&directory.0, &[]).spawn().expect("started"));
    let told = String::from_utf8(refused.stderr).expect("text");
    assert!(told.contains("rules_hash is ") && told.contains("was killed"), "{told}");
    let renewing = ["--on-refused-journal", "new-world"];
    let mut fourth = Program::start(&mut serve(&directory.0, &renewing));
    let log = fourth.stop();
    assert!(log.contains("the world is new") && log.contains("_default.refused-0"), "{log}");
    assert!(directory.0.join("_default.refused-0").is_dir());
}
