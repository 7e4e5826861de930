//! The operator at standard input of the real program: each command does what it says, and players feel it.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use crate::clients::Native;
use crate::program::{Program, complaint, tickwire};
use crate::support::{PATIENCE, Peer, server_with};
use tickwire::internal::games;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::limits;
use tickwire::internal::server::net::console::{Source, save_world};
use tickwire::internal::server::room::WorldSnapshot;
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::packet::PacketTables;
use tickwire::sim::WorldParams;

fn start() -> Program {
    Program::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--map-size", "4000"]))
}

fn connect(address: SocketAddr, from: &str) -> std::io::Result<MooTestClient> {
    let url = format!("ws://{address}/play").parse().expect("a URL");
    let from: IpAddr = from.parse().expect("an address");
    MooTestClient::connect(&url, Some(from), PacketTables::builtin().dialect("native").expect("built in"))
}

/// A native client that plays; gives its player's number as well.
fn join(address: SocketAddr, from: &str, name: &str) -> (MooTestClient, u32) {
    let mut talk = connect(address, from).expect("the upgrade");
    let name = Some(name.into());
    talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Play, name, skin: None }).expect("said");
    let spawned =
        talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Spawned { .. })).expect("a body");
    let ServerPacket::Spawned { player } = spawned else { unreachable!("waited for it") };
    (talk, player)
}

fn hear_close(talk: &mut MooTestClient) -> String {
    let end = talk.receive_until(PATIENCE, |_| false).expect_err("no packet is waited for");
    assert_eq!(end.kind(), std::io::ErrorKind::UnexpectedEof, "{end}");
    end.to_string()
}

/// A folder of the test's own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_grant_is_felt_by_the_player_by_number_and_by_name() {
    let mut program = start();
    let (mut ann, number) = join(program.address, "127.0.0.1", "Ann B");
    let mut has = |resources: [u32; 4]| {
        let is_it = |heard: &ServerPacket| matches!(heard, ServerPacket::Stats { resources: told, .. } if *told == resources);
        ann.receive_until(PATIENCE, is_it).expect("the resources");
    };
    assert_eq!(program.type_line(&format!("grant {number} wood 25")), format!("player {number} received 25"));
    has([25, 0, 0, 0]);
    assert_eq!(program.type_line("grant Ann B gold 7"), format!("player {number} received 7"));
    has([25, 0, 0, 7]);
    program.stop();
}

/// Each line and what its answer has: of players 1 `Ann`, 2 `Bo`, 3 and 4 `unknown`, 5 `Änne`.
const LINES: [(&str, &str); 72] = [
    ("frobnicate now", "error: there is no command \"frobnicate\"; type help for a list of commands"),
    ("HELP", "error: there is no command \"HELP\"; type help for a list of commands"),
    ("\u{1b}[2J", "error: there is no command \"\\u{1b}[2J\"; type help for a list of commands"),
    ("  stop now", "error: usage: stop; it takes no arguments"),
    ("players 7", "error: usage: players; it takes no arguments"),
    ("  bans\t", "no address is banned\n"),
    ("announce", "error: usage: announce TEXT\n"),
    ("announce   ", "error: usage: announce TEXT\n"),
    ("announce two  spaces, kept", "announced\n"),
    ("announce \u{7}", "error: the world rejected the command: chat_forbidden\n"),
    ("spawn cow 1", "error: usage: spawn TYPE X Y\n"),
    ("spawn cow 1 2 3", "error: usage: spawn TYPE X Y\n"),
    ("spawn cow -1 2", "error: usage: spawn TYPE X Y; X must be a whole number of pixels, 0 to 65535\n"),
    ("spawn cow 1 65536", "Y must be a whole number of pixels, 0 to 65535"),
    ("spawn cow 1.5 2", "X must be a whole number of pixels"),
    (
        "spawn dragon 1 2",
        "error: usage: spawn TYPE X Y; TYPE must be one of cow, pig, bull, wolf, wood_wall, ",
    ),
    ("spawn apple 1 2", "TYPE must be one of"),
    ("spawn cow 0 65535", "error: the world rejected the command: no_room\n"),
    ("spawn  wood_wall  1  1", "error: the world rejected the command: no_room\n"),
    ("grant 7 wood", "error: usage: grant PLAYER RESOURCE N\n"),
    ("grant wood 5", "error: usage: grant PLAYER RESOURCE N\n"),
    ("grant 7 iron 5", "RESOURCE must be one of wood, food, stone, gold"),
    ("grant 7 wood -5", "N must be a whole number, 0 to 4294967295"),
    ("grant 7 wood 4294967296", "N must be a whole number"),
    ("grant 0 wood 5", "PLAYER must be a number from 1 to 65535, or a name"),
    ("grant 7 wood 0", "error: the world rejected the command: unknown_player\n"),
    ("grant 1 wood 0", "player 1 received 0\n"),
    ("grant Ann food 4", "player 1 received 4\n"),
    ("grant bO stone 4", "player 2 received 4\n"),
    ("grant \u{e4}NNE gold 4", "player 5 received 4\n"),
    ("grant unknown gold 4", "error: several players are called \"unknown\": 3, 4\n"),
    ("grant UNKNOWN gold 4", "error: several players are called \"UNKNOWN\": 3, 4\n"),
    ("grant \u{1b} gold 4", "error: no player is called \"\\u{1b}\"\n"),
    ("grant Ann of wood food 5", "error: no player is called \"Ann of wood\"\n"),
    ("grant \"1\" stone 5", "error: no player is called \"1\"\n"),
    ("kick", "error: usage: kick PLAYER; PLAYER must be a number from `players`, or a name\n"),
    ("kick 65536", "PLAYER must be a number from 1 to 65535"),
    ("kick 65535", "error: no client plays as player 65535\n"),
    ("kick 7", "error: no client plays as player 7\n"),
    ("kick Ann B", "error: no player is called \"Ann B\"\n"),
    ("kick \"12\"", "error: no player is called \"12\"\n"),
    ("kick 12a", "error: no player is called \"12a\"\n"),
    ("ban", "error: usage: ban ADDRESS; ADDRESS must be an IP address without a port"),
    ("ban example.org", "ADDRESS must be an IP address"),
    ("ban 203.0.113.9:5000", "without a port"),
    ("ban 203.0.113.9", "203.0.113.9 is banned; connections closed: 0\n"),
    ("ban ::ffff:203.0.113.9", "error: 203.0.113.9 is banned already\n"),
    ("ban [2001:db8::9]", "2001:db8::/64 is banned; connections closed: 0\n"),
    ("ban 2001:db8::8", "error: 2001:db8::/64 is banned already\n"),
    ("ban 127.0.0.1", "error: 127.0.0.1 is this machine"),
    ("ban ::ffff:127.0.0.1", "error: 127.0.0.1 is this machine"),
    ("ban ::1", "error: ::/64 is this machine"),
    ("ban ::/64", "error: ::/64 is this machine"),
    ("bans", "203.0.113.9\n2001:db8::/64\n"),
    ("unban 203.0.113", "ADDRESS must be an IP address"),
    ("unban 203.0.113.9/64", "ADDRESS must be an IP address"),
    ("unban 203.0.113.9", "203.0.113.9 is no longer banned\n"),
    ("unban 203.0.113.9", "error: 203.0.113.9 is not banned\n"),
    ("unban 2001:db8::/64", "2001:db8::/64 is no longer banned\n"),
    ("unban ::1", "error: ::/64 is not banned\n"),
    ("save", "saved the world after tick "),
    ("capture now", "error: usage: capture [on [PLAYER] [plain] | off]\n"),
    ("capture off 7", "error: usage: capture [on [PLAYER] [plain] | off]\n"),
    ("capture on 0", "PLAYER must be a number from 1 to 65535"),
    ("capture  on  Ann B", "error: no player is called \"Ann B\"\n"),
    ("capture on 7", "error: no client plays as player 7\n"),
    ("capture", "no capture is running\n"),
    ("capture off", "error: no capture is running\n"),
    (
        "help",
        "\nunban ADDRESS                        accept connections from an address, or from its /64, again\n",
    ),
    ("stats", "\nplayers        5\n"),
    ("players", "\n     1    1        0     100  "),
    ("stop", "the server is shutting down\n"),
];

#[test]
fn each_command_answers_or_says_what_was_expected() {
    let directory = Folder::new("lines");
    let server =
        server_with(|config| (config.address_rate_limits, config.save_dir) = (false, directory.0.clone()));
    let run = |line: &str| server.console().run(line, Source::Terminal);
    let players = ["Ann", "Bo", "", "", "\u{c4}nne"];
    let _players = players.map(|name| Native::play_at(server.address(), "/play", name));
    for (line, expected) in LINES {
        let answer = run(line).expect("an answer");
        assert!(answer.text.contains(expected), "{line}: {}", answer.text);
        assert_eq!(answer.is_ok, !answer.text.starts_with("error: "), "{line}: {}", answer.text);
    }
    assert_eq!(run(" \t\r"), None);
    let longest = "a".repeat(limits::MAX_OPERATOR_LINE_BYTES);
    assert!(run(&longest).expect("an answer").text.contains("there is no command"));
    let longer = run(&format!("{longest}a")).expect("an answer");
    assert_eq!(longer.text, "error: a line may have at most 512 bytes\n");
    assert_eq!(run("stats").expect("an answer").text, "error: the server is shutting down\n");
    server.stop();
}

#[test]
fn the_program_answers_each_line_and_cuts_one_that_is_too_long() {
    let mut program = start();
    let answer = program.type_line(&format!("announce {}", "a".repeat(100_000)));
    assert_eq!(answer, "error: a line may have at most 512 bytes");
    let answer = program.type_line(&format!("announce {}", "a".repeat(61)));
    assert_eq!(answer, "error: the world rejected the command: chat_too_long");
    program.type_only("");
    assert_eq!(program.type_line("bans"), "no address is banned", "an empty line has no answer");
    program.stop();
}

#[test]
fn a_saved_world_is_private_and_no_file_is_changed() {
    let directory = Folder::new("save");
    let identity = WorldParams { seed: 1, tick_hz: 30, options: Vec::new() };
    let snapshot = |byte: u8| WorldSnapshot {
        info: games::INFO[0],
        tick: 7,
        identity: identity.clone(),
        rules_hash: 1,
        names: Vec::new(),
        bytes: [byte].into(),
    };
    let path = directory.0.join("tickwire-7.world");
    assert_eq!(save_world::write(&directory.0, None, &snapshot(1)).expect("written"), "tickwire-7.world");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o7777, 0o600);
    let error = save_world::write(&directory.0, None, &snapshot(2)).expect_err("taken");
    assert_eq!(error.to_string(), "tickwire-7.world already exists");
    assert!(save_world::write(&directory.0.join("none"), None, &snapshot(3)).is_err());
    assert_eq!(
        (fs::read(&path).expect("readable"), fs::read_dir(&directory.0).expect("it is there").count()),
        (vec![1], 1)
    );
}

/// The number and the place of the one who plays.
fn place(program: &mut Program) -> (u32, i32, i32) {
    program.type_line("players");
    let row = program.answer();
    let words: Vec<&str> = row.split_whitespace().collect();
    let number = |at: usize| words[at].parse().unwrap_or_else(|_| panic!("{row}"));
    (number(0) as u32, number(4), number(5))
}

/// Lets something appear beside a place, where there is room for it; gives where.
fn spawn(program: &mut Program, what: &str, (x_px, y_px): (i32, i32)) -> (i32, i32) {
    let near = [(200, 0), (-200, 0), (0, 200), (0, -200), (300, 300), (-300, 300), (300, -300), (-300, -300)];
    for (right, down) in near {
        let (x_px, y_px) = (x_px + right, y_px + down);
        if program.type_line(&format!("spawn {what} {x_px} {y_px}")) == format!("placed at {x_px}, {y_px}") {
            return (x_px, y_px);
        }
    }
    panic!("no room for a {what} about {x_px}, {y_px}");
}

#[test]
fn say_and_spawn_reach_the_players() {
    let mut program = start();
    let mut ann = Peer::connect(program.address, "/play?format=json");
    ann.send_text(r#"["hello",[1,1,"Ann",0]]"#);
    let mut hears = |beginning: &str, part: &str| {
        let is_it = |message: &[u8]| {
            let text = String::from_utf8_lossy(message);
            text.starts_with(beginning) && text.contains(part)
        };
        ann.receive_until(is_it).unwrap_or_else(|error| panic!("{beginning} with {part}: {error}"));
    };
    hears("[3,", "");
    let (_, x_px, y_px) = place(&mut program);
    assert_eq!(program.type_line("announce Back in five minutes"), "announced");
    hears("[30,", r#"["Back in five minutes"]"#);
    spawn(&mut program, "turret", (x_px, y_px));
    // Item 17, of nobody.
    hears("[16,", ",17,0,");
    spawn(&mut program, "bull", (x_px, y_px));
    // Its id is the first that is not a structure's, or one of those after it; kind 2.
    hears("[23,", ",2,");
    program.stop();
}

#[test]
fn players_lists_the_connected_players() {
    let mut program = start();
    let (_ann, number) = join(program.address, "127.0.0.1", "Ann \"B\"");
    // The body is in the world from its first tick on, and it was told of that.
    let heading = program.type_line("players");
    assert!(heading.starts_with("number  age   points  health      x      y  address "), "{heading}");
    let row = program.answer();
    let words: Vec<&str> = row.splitn(8, char::is_whitespace).collect();
    assert!(words.len() == 8 && row.trim_start().starts_with(&format!("{number} ")), "{row}");
    assert!(row.contains("  127.0.0.1        ") && row.ends_with(r#""Ann \"B\"""#), "{row}");
    program.stop();
}

#[test]
fn a_kicked_player_gets_a_reason_and_may_reconnect() {
    let mut program = start();
    let (mut ann, number) = join(program.address, "127.0.0.1", "Ann");
    let (mut bo, _) = join(program.address, "127.0.0.1", "Bo");
    assert_eq!(
        program.type_line("kick Ann"),
        format!("player {number} was kicked; its address is 127.0.0.1")
    );
    assert_eq!(hear_close(&mut ann), "1008 kicked");
    bo.send_packet(&ClientPacket::Ping { nonce: Some(7) }).expect("said");
    bo.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Pong { nonce: Some(7), .. }))
        .expect("an answer");
    join(program.address, "127.0.0.1", "Ann");
    let log = program.stop();
    assert!(log.contains("operator command from=terminal command=\"kick\" arguments=\"Ann\""), "{log}");
}

#[test]
fn a_moomoo_client_gets_a_disconnect_packet_before_the_close_frame() {
    let mut program = start();
    let hear_end = |talk: &mut MooTestClient| {
        let is_disconnect = |heard: &ServerPacket| *heard == ServerPacket::Other("disconnect".to_owned());
        talk.receive_until(PATIENCE, is_disconnect).expect("disconnect");
        hear_close(talk)
    };
    let play = |from: &str, path: &str, dialect: &str, name: &str| {
        let url = format!("ws://{}{path}", program.address).parse().expect("a URL");
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        let from = from.parse().expect("an address");
        let mut talk = MooTestClient::connect(&url, Some(from), dialect).expect("the upgrade");
        let name = Some(name.to_owned());
        talk.send_packet(&ClientPacket::EnterGame { name, skin: None, moofoll: false }).expect("said");
        talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Players(_))).expect("a body");
        talk
    };
    let mut ann = play("127.0.0.1", "/", "legacy", "Ann");
    let mut bo = play("127.0.0.2", "/server", "letters", "Bo");
    let mut cy = play("127.0.0.1", "/?dialect=letters-2023", "letters-2023", "Cy");
    assert!(program.type_line("kick Ann").contains(" was kicked; "));
    assert_eq!(hear_end(&mut ann), "1008 kicked");
    assert_eq!(program.type_line("ban 127.0.0.2"), "127.0.0.2 is banned; connections closed: 1");
    assert_eq!(hear_end(&mut bo), "1008 banned");
    assert_eq!(program.type_line("stop"), "the server is shutting down");
    assert_eq!(hear_end(&mut cy), "1001 going_away");
}

#[test]
fn a_banned_address_is_closed_and_refused_until_it_is_let_in_again() {
    let mut program = start();
    let (mut far, _) = join(program.address, "127.0.0.2", "Far");
    let (_near, _) = join(program.address, "127.0.0.1", "Near");
    // The same address as the listener takes it.
    assert_eq!(program.type_line("ban ::ffff:127.0.0.2"), "127.0.0.2 is banned; connections closed: 1");
    assert_eq!(hear_close(&mut far), "1008 banned");
    let Err(refused) = connect(program.address, "127.0.0.2") else { panic!("a banned address came in") };
    assert!(refused.to_string().contains("403"), "{refused}");
    assert!(connect(program.address, "127.0.0.1").is_ok(), "others are not meant");
    assert_eq!(program.type_line("bans"), "127.0.0.2");
    assert_eq!(program.type_line("unban 127.0.0.2"), "127.0.0.2 is no longer banned");
    join(program.address, "127.0.0.2", "Far");
    program.stop();
}

#[test]
fn stop_says_goodbye_to_all_and_exits_with_0() {
    let mut program = start();
    let (mut ann, _) = join(program.address, "127.0.0.1", "Ann");
    let asked = Instant::now();
    assert_eq!(program.type_line("stop"), "the server is shutting down");
    assert_eq!(hear_close(&mut ann), "1001 going_away");
    let (status, log) = program.wait();
    assert!(status.success() && asked.elapsed() < PATIENCE, "{status} after {:?}\n{log}", asked.elapsed());
}

#[test]
fn the_end_of_the_input_ends_nothing_else_and_a_last_line_without_an_end_counts() {
    let mut program = start();
    program.type_text("players\nba");
    assert_eq!(program.answer(), "no player is connected");
    program.type_text("ns");
    program.end_input();
    assert_eq!(program.answer(), "no address is banned");
    join(program.address, "127.0.0.1", "Ann");
}

/// Plays a little, saves, stops; gives the file, and where something of nobody's stands.
fn save(directory: &Folder) -> (PathBuf, (i32, i32)) {
    let arguments =
        ["--bind", "127.0.0.1:0", "--map-size", "4000", "--seed", "7", "--save-dir", directory.text()];
    let mut program = Program::start(&mut tickwire(&arguments));
    let (_ann, number) = join(program.address, "127.0.0.1", "Ann");
    let (_bo, _) = join(program.address, "127.0.0.1", "Bo");
    program.type_line(&format!("grant {number} wood 25"));
    let spot = spawn(&mut program, "turret", (2_000, 1_200));
    let answer = program.type_line("save");
    let saved = answer.strip_prefix("saved the world after tick ").and_then(|rest| rest.split_once(" to "));
    let (tick, rest) = saved.unwrap_or_else(|| panic!("{answer}"));
    let path = PathBuf::from(rest.rsplit_once(": ").map_or(rest, |(path, _)| path));
    assert_eq!(path, directory.0.join(format!("tickwire-{tick}.world")));
    assert_eq!(fs::read_dir(&directory.0).expect("the folder").count(), 1, "nothing unfinished is left");
    program.stop();
    (path, spot)
}

fn tick(program: &mut Program) -> u32 {
    let first = program.type_line("stats");
    while !program.answer().starts_with("panics ") {} // The last line.
    first.strip_prefix("tick ").expect("the tick").trim().parse().expect("a number")
}

#[test]
fn a_saved_world_goes_on_without_its_players_and_takes_new_ones() {
    let directory = Folder::new("goes-on");
    let (path, (x_px, y_px)) = save(&directory);
    let saved: u32 = path
        .to_str()
        .and_then(|path| path.rsplit('-').next()?.strip_suffix(".world")?.parse().ok())
        .expect("a tick");
    let file = path.to_str().expect("text");
    // The file says which world it is, whatever else is asked for.
    let mut program =
        Program::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--seed", "1", "--restore", file]));
    assert!(program.banner.contains("seed 7, map-size 4000 px"), "{}", program.banner);
    assert!(tick(&mut program) >= saved);
    assert_eq!(
        program.type_line("players"),
        "no player is connected",
        "those of the file have left by commands"
    );
    let again = program.type_line(&format!("spawn turret {x_px} {y_px}"));
    assert_eq!(again, "error: the world rejected the command: no_room", "what was spawned stands");
    let (mut cy, number) = join(program.address, "127.0.0.1", "Cy");
    assert_eq!(number, 3, "the numbers of those who left rest first");
    assert_eq!(program.type_line("grant Cy stone 4"), "player 3 received 4", "the sequences go on");
    let is_it = |heard: &ServerPacket| matches!(heard, ServerPacket::Stats { resources: [0, 0, 4, 0], .. });
    cy.receive_until(PATIENCE, is_it).expect("the resources");
    let log = program.stop();
    assert_eq!(complaint(&log), None, "{log}");
}

#[test]
fn a_file_that_is_no_world_of_this_code_is_one_clear_line() {
    let directory = Folder::new("broken");
    let bytes = fs::read(save(&directory).0).expect("the file");
    let mut of_other_rules = bytes.clone();
    of_other_rules[6] ^= 1;
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    for (name, bytes, reason) in [
        ("text", b"hello".to_vec(), "not a snapshot"),
        ("large", vec![0; limits::MAX_RESTORE_BYTES as usize + 1], "must be a regular file of at most"),
        ("short", bytes[..bytes.len() / 2].to_vec(), "the snapshot is truncated"),
        ("rules", of_other_rules, "the snapshot was made with other rules"),
        ("damaged", damaged, "the snapshot "),
    ] {
        let path = directory.0.join(name);
        fs::write(&path, bytes).expect("written");
        let path = path.to_str().expect("text");
        let output =
            tickwire(&["--bind", "127.0.0.1:0", "--restore", path]).output().expect("the program runs");
        let line = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && output.stdout.is_empty(), "{name} was accepted");
        assert!(
            line.starts_with(&format!("tickwire: --restore {path}: ")) && line.contains(reason),
            "{line}"
        );
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

#[test]
fn a_folder_or_a_token_that_will_not_do_is_refused_at_the_start_and_the_token_not_repeated() {
    for (arguments, reason) in [
        (["--save-dir", "no/such/folder"], "--save-dir no/such/folder: no such directory"),
        (["--restore", "no-such-file"], "--restore no-such-file: "),
        (
            ["--admin-token", "fifteen-letters"],
            "--admin-token: the token for /admin must have 16 to 256 characters",
        ),
        (
            ["--admin-token", "a token with spaces"],
            "--admin-token: the token for /admin may contain only letters, digits",
        ),
    ] {
        let output = tickwire(&arguments).output().expect("the program runs");
        let line = String::from_utf8(output.stderr).expect("text");
        assert!(!output.status.success() && line.contains(reason), "{arguments:?}: {line}");
        assert!(arguments[0] != "--admin-token" || !line.contains(arguments[1]), "{line}");
    }
    let mut help = tickwire(&["--help"]);
    let output = help.env("TICKWIRE_ADMIN_TOKEN", "a-token-of-the-test").output().expect("the program runs");
    let help = String::from_utf8(output.stdout).expect("text");
    assert!(help.contains("TICKWIRE_ADMIN_TOKEN") && !help.contains("a-token-of-the-test"), "{help}");
}
