//! Capture files as they come from a server: what both ends said, to the byte, and the world beside it.

use crate::raw;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::iter;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::raw::{Raw, masked};
use crate::support::{PATIENCE, server, server_with};
use tickwire::capture::{self, Capture, TcpConnection, TcpSide, WorldRecord};
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::games::moo::world::World;
use tickwire::internal::games::moo::world::command::decode_frame;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::console::admin_token::AdminToken;
use tickwire::internal::server::net::recorder::{CaptureTarget, Rotation};
use tickwire::ws::frame::Opcode;

/// A folder of the test's own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn hello() -> ClientPacket<'static> {
    ClientPacket::Hello { version: 1, mode: Mode::Play, name: Some("Ann".into()), skin: None }
}

fn walk(sequence: Option<u32>) -> ClientPacket<'static> {
    ClientPacket::Move { sequence, tick: None, direction: Some(7) }
}

fn operate(server: &ServerHandle, line: &str) -> String {
    server.console().run(line, Source::Terminal).expect("a line").text
}

/// What an end said, all in one.
fn said(connection: &TcpConnection<'_>, end: TcpSide) -> Vec<u8> {
    let own = connection.pieces.iter().filter(|piece| piece.from == end);
    own.flat_map(|piece| piece.bytes).copied().collect()
}

fn connection<'a>(capture: &Capture<'a>, client: SocketAddr) -> TcpConnection<'a> {
    let mut found = capture.connections().into_iter().filter(|connection| connection.client == client);
    found.next().unwrap_or_else(|| panic!("no connection of {client}"))
}

/// Runs the world of a capture again by its own records: every checksum has to be met. Gives the ticks.
fn run_again(capture: &Capture<'_>) -> u32 {
    let (mut snapshot, mut world, mut ticks) = (Vec::new(), None, 0);
    for (packet, record) in capture.records() {
        match record.unwrap_or_else(|error| panic!("packet {}: {error}", packet.number)).1 {
            WorldRecord::World { part, parts, bytes, seed, tick_hz, .. } => {
                assert_eq!((seed, tick_hz), (1, 30));
                snapshot.extend_from_slice(bytes);
                if part + 1 == parts {
                    world = Some(World::restore(&snapshot).expect("a snapshot"));
                }
            }
            WorldRecord::Tick { checksum, frame } => {
                let world = world.as_mut().expect("the world comes first");
                let mut frame = decode_frame(frame).expect("a command frame");
                assert_eq!((frame.tick, checksum), (world.tick(), world.checksum()));
                world.step(&mut frame.commands);
                ticks += 1;
            }
            WorldRecord::Lost { .. } => panic!("something is lost"),
            WorldRecord::Client { .. }
            | WorldRecord::Join { .. }
            | WorldRecord::Table { .. }
            | WorldRecord::Room { .. } => {}
        }
    }
    ticks
}

/// Waits until something holds.
fn wait_for(what: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !what() {
        assert!(Instant::now() < deadline, "it never came");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until so many play.
fn wait_for_players(server: &ServerHandle, count: usize) {
    // Each has a line below the heading.
    wait_for(|| operate(server, "players").lines().count() == 1 + count);
}

#[test]
fn every_byte_of_every_dialect_is_in_the_file_and_secrets_are_not() {
    let directory = Folder::new("capture-all");
    let file = directory.file("all.pcapng");
    let server = server();
    server.capture(CaptureTarget::File(file.clone())).expect("a new file");
    // The first file begins with a tick: until then nothing is written.
    wait_for(|| fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0));
    let paths = ["/play?token=", "/?token=", "/server?token=", "/play?format=json&token="];
    let mut clients: Vec<Raw> = paths.iter().map(|path| Raw::connect(server.address(), path)).collect();
    clients[0].say("native", &hello());
    clients[1].say("legacy", &ClientPacket::EnterGame { name: Some("Bo".into()), skin: None, moofoll: true });
    clients[2]
        .say("letters", &ClientPacket::EnterGame { name: Some("Cy".into()), skin: None, moofoll: false });
    clients[3].send(Opcode::Text, br#"["hello", [1, 1, "Di", 0]]"#);
    wait_for_players(&server, 4);
    for sequence in 1..20 {
        clients[0].say("native", &walk(Some(sequence)));
        clients[1].say("legacy", &walk(None));
        clients[2].say("letters", &walk(None));
        clients[3].send(Opcode::Ping, b"there?");
        thread::sleep(Duration::from_millis(20));
    }
    clients.iter_mut().for_each(Raw::finish);
    assert_eq!(server.stop(), 0);

    let bytes = fs::read(&file).expect("the file");
    assert!(!bytes.windows(6).any(|window| window == b"sesame"));
    let capture = capture::read(&bytes).expect("a capture");
    assert_eq!((capture.truncated_at, capture.connections().len()), (None, 4));
    assert!(run_again(&capture) > 0);
    for raw in &clients {
        let connection = connection(&capture, raw.address);
        assert!(connection.has_begin && connection.has_end && connection.gaps.is_empty(), "{connection:?}");
        assert_eq!(said(&connection, TcpSide::Client), raw.sent);
        assert_eq!(said(&connection, TcpSide::Server), raw.heard);
    }
    let of = |client: SocketAddr| {
        capture.records().find_map(|(_, record)| match record {
            Ok((_, WorldRecord::Join { player, address, .. })) if address == client.to_string() => {
                Some(player)
            }
            _ => None,
        })
    };
    for (raw, name) in clients.iter().zip(["Ann", "Bo", "Cy", "Di"]) {
        let wanted = format!(" player={} {name}", of(raw.address).expect("it joined"));
        let has_ack_packets = |packet: &capture::Packet<'_>| {
            let comment = packet.comments.first().copied().unwrap_or_default();
            comment.raw().starts_with("tick=") && comment.raw().ends_with(&wanted)
        };
        assert!(capture.packets.iter().any(has_ack_packets), "{wanted}");
    }
    assert!(capture.names.iter().any(|(address, _)| address.is_loopback()));
    assert!(
        capture.packets.iter().filter(|packet| packet.link == 101).all(|packet| packet.inbound.is_some())
    );
}

#[test]
fn a_client_that_was_there_before_begins_with_its_handshake_and_a_whole_message() {
    let directory = Folder::new("capture-late");
    let server = server_with(|config| config.capture_dir = directory.0.clone());
    let mut early = Raw::connect(server.address(), "/play?token=");
    early.say("native", &hello());
    early.say("native", &walk(Some(5)));
    // The ping and half of another one travel as one piece: whoever answers the first has read the half as well.
    let cut = masked(Opcode::Ping, b"cut in two");
    early.send_bytes(&[&masked(Opcode::Ping, b"are you there"), &cut[..5]].concat());
    early.read_until(b"are you there");
    wait_for_players(&server, 1);
    let before = early.sent.len();
    let head = raw::request("/play?token=").1;
    let answer = operate(&server, "capture on");
    let name = answer.strip_suffix(" is being written\n").expect("a name").to_owned();
    assert!(Path::new(&name).starts_with(&directory.0), "{name}");
    assert_eq!(operate(&server, "capture on"), format!("error: a capture is already running: {name}\n"));
    wait_for(|| fs::metadata(&name).is_ok_and(|metadata| metadata.len() > 0));
    early.send_bytes(&cut[5..]);
    let from = early.sent.len();
    assert_eq!(from, before + cut.len() - 5);
    // What follows begins a message only if it is read by itself.
    early.read_until(b"cut in two");
    early.say("native", &walk(Some(9)));
    early.finish();
    wait_for(|| server.metrics_text().contains("tickwire_clients 0\n"));
    let told = operate(&server, "capture off");
    assert!(
        told.starts_with(&format!("{name}: ")) && told.ends_with(" bytes, messages and ticks lost: 0\n"),
        "{told}"
    );
    assert_eq!(operate(&server, "capture"), "no capture is running\n");
    assert_eq!(operate(&server, "capture off"), "error: no capture is running\n");

    let bytes = fs::read(&name).expect("the file");
    let capture = capture::read(&bytes).expect("a capture");
    let connection = connection(&capture, early.address);
    assert!(connection.has_begin && connection.has_end && connection.gaps.is_empty());
    assert_eq!(said(&connection, TcpSide::Client), [&head, &early.sent[from..]].concat());
    assert!(early.heard.ends_with(&said(&connection, TcpSide::Server)[before_frames(&early.heard)..]));
    let clients: Vec<_> = capture.records().filter_map(|(_, record)| Some(record.ok()?.1)).collect();
    let client =
        clients.iter().find(|record| matches!(record, WorldRecord::Client { .. })).expect("what it was");
    let WorldRecord::Client { dialect, sequence, player, flags, .. } = client else { unreachable!() };
    assert_eq!((dialect.raw(), *sequence, *player, *flags), ("native", 5, 1, 0));
    run_again(&capture);
    assert!(server.metrics_text().contains("tickwire_capture_dropped_total 0"));
    server.stop();
}

/// Bytes of the head of a response.
fn before_frames(heard: &[u8]) -> usize {
    heard.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4
}

#[test]
fn a_full_file_is_followed_by_one_that_stands_alone() {
    let directory = Folder::new("capture-files");
    let file = directory.file("a.pcapng");
    fs::write(directory.file("a.1.pcapng"), b"of somebody else").expect("written");
    let time = Some(Duration::from_millis(400));
    let server = server_with(|config| config.rotation = Rotation { bytes: u64::MAX, time });
    server.capture(CaptureTarget::File(file.clone())).expect("a new file");
    let mut raw = Raw::connect(server.address(), "/play?token=");
    raw.say("native", &hello());
    let mut sequence = 0;
    let half = masked(Opcode::Ping, b"cut in two");
    let numbered = |number: u32| directory.file(&format!("a.{number}.pcapng"));
    let begun = Instant::now();
    while !numbered(4).exists() {
        assert!(begun.elapsed() < PATIENCE, "the fourth file never came");
        // Each file has a good chance to begin in the middle of a frame.
        raw.send_bytes(&half[..5]);
        thread::sleep(Duration::from_millis(150));
        raw.send_bytes(&half[5..]);
        sequence += 1;
        raw.say("native", &walk(Some(sequence)));
    }
    raw.finish();
    let told = operate(&server, "capture off");
    server.stop();
    assert_eq!(fs::read(directory.file("a.1.pcapng")).expect("the file"), b"of somebody else");
    let files: Vec<PathBuf> =
        iter::once(file.clone()).chain((2..).map(numbered).take_while(|file| file.exists())).collect();
    assert!(files.len() >= 4, "{files:?}");
    let last = files.last().expect("files").display();
    assert!(told.starts_with(&format!("{} files, ", files.len())), "{told}");
    assert!(told.ends_with(&format!(" lost: 0; the last is {last}\n")), "{told}");
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).expect("the file").len()).sum();
    assert!(told.contains(&format!(" packets, {bytes} bytes, ")), "{told}");
    for file in &files {
        let mode = fs::metadata(file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{}", file.display());
    }
    let mut sent = raw::request("/play?token=").1;
    let head_bytes = sent.len();
    for (number, file) in files.iter().enumerate() {
        let bytes = fs::read(file).expect("the file");
        let capture = capture::read(&bytes).expect("a capture");
        run_again(&capture);
        if number >= 4 && capture.connections().is_empty() {
            // It began after the client had gone.
            continue;
        }
        let connection = connection(&capture, raw.address);
        assert!(connection.has_begin && connection.gaps.is_empty());
        sent.extend_from_slice(&said(&connection, TcpSide::Client)[head_bytes..]);
    }
    assert_eq!(sent, raw.sent, "together they have everything once");
}

#[test]
fn one_player_can_be_written_alone_and_a_file_is_not_overwritten() {
    let directory = Folder::new("capture-one");
    let server = server_with(|config| config.capture_dir = directory.0.clone());
    let mut both = [(); 2].map(|()| Raw::connect(server.address(), "/play?token="));
    for (before, raw) in both.iter_mut().enumerate() {
        raw.say("native", &hello());
        wait_for_players(&server, before + 1);
    }
    assert_eq!(operate(&server, "capture on 9"), "error: no client plays as player 9\n");
    let plain = operate(&server, "capture on 1 plain");
    let plain = plain.strip_suffix(" is being written\n").expect("a name").to_owned();
    wait_for(|| fs::metadata(&plain).is_ok_and(|metadata| metadata.len() > 0));
    operate(&server, "capture off");
    let bytes = fs::read(&plain).expect("the file");
    let capture = capture::read(&bytes).expect("a capture");
    assert!(capture.packets.iter().all(|packet| packet.link == 101), "packets alone have one link type");
    assert_eq!((capture.records().count(), capture.connections().len()), (0, 1));
    let answer = operate(&server, "capture on 2");
    let name = answer.strip_suffix(" is being written\n").expect("a name").to_owned();
    wait_for(|| fs::metadata(&name).is_ok_and(|metadata| metadata.len() > 0));
    for raw in &mut both {
        raw.say("native", &walk(Some(1)));
    }
    both.iter_mut().for_each(Raw::finish);
    let taken = server.capture(CaptureTarget::File(PathBuf::from(&name)));
    assert!(taken.expect_err("it is on").starts_with("a capture is already running"));
    operate(&server, "capture off");
    let taken = server.capture(CaptureTarget::File(PathBuf::from(&name)));
    assert_eq!(taken, Err(format!("{name} already exists")));
    let bytes = fs::read(&name).expect("the file");
    let capture = capture::read(&bytes).expect("a capture");
    assert_eq!(capture.connections().len(), 1);
    assert_eq!(capture.connections()[0].client, both[1].address);
    assert!(run_again(&capture) > 0);
    server.stop();
}

#[test]
fn a_named_pipe_is_refused_and_a_full_disk_ends_the_capture_and_not_the_server() {
    let (server, pipes) = (server(), Folder::new("capture-pipe"));
    let pipe = pipes.file("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let refused = server.capture(CaptureTarget::File(pipe)).expect_err("nobody reads it");
    assert!(refused.ends_with("use --capture - >PIPE"), "{refused}");
    server.capture(CaptureTarget::File("/dev/full".into())).expect("it can be opened");
    wait_for(|| operate(&server, "capture").contains("; ended: No space left on device"));
    let mut raw = Raw::connect(server.address(), "/play?token=");
    raw.say("native", &hello());
    raw.finish();
    assert!(!server.tap().is_on(), "nobody listens any more");
    let directory = Folder::new("capture-after");
    server.capture(CaptureTarget::File(directory.file("a.pcapng"))).expect("another one can begin");
    assert_eq!(server.stop(), 0);
}

#[test]
fn admin_switches_it_on_and_off() {
    const TOKEN: &str = "a-token-of-the-test";
    let directory = Folder::new("capture-admin");
    let server = server_with(|config| {
        config.capture_dir = directory.0.clone();
        config.admin_token = AdminToken::new(TOKEN).expect("long enough");
    });
    let ask = |body: &str| {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        let length = body.len();
        let head = format!("POST /admin HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n");
        stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split_once("\r\n\r\n").expect("a head").1.to_owned()
    };
    let answer = ask("capture on\n");
    let name = answer.strip_suffix(" is being written\n").expect("a name").to_owned();
    wait_for(|| fs::metadata(&name).is_ok_and(|metadata| metadata.len() > 0));
    let told = ask("capture\ncapture off\ncapture\n");
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[..2].iter().all(|line| line.starts_with(&format!("{name}: "))), "{told}");
    assert_eq!(lines[2], "no capture is running");
    let text = server.metrics_text();
    let counted = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{text}"));
        line.trim().parse::<u64>().expect("a number")
    };
    assert_eq!(counted("tickwire_capture_written_bytes_total"), fs::metadata(&name).expect("the file").len());
    let bytes = fs::read(&name).expect("the file");
    let packets = capture::read(&bytes).expect("a capture").packets.len() as u64;
    assert_eq!(counted("tickwire_capture_packets_total"), packets);
    server.stop();
}

/// The program with a capture on standard output; what it prints elsewhere, line by line.
fn piped() -> (std::process::Child, BufReader<std::process::ChildStderr>, SocketAddr) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["serve", "--bind", "127.0.0.1:0", "--bots", "0", "--capture", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut banner = String::new();
    while !banner.contains("this machine supports") {
        assert!(lines.read_line(&mut banner).expect("text") > 0, "{banner}");
    }
    let (_, rest) = banner.split_once("http://").expect("the page's URL");
    let address = rest.split('/').next().unwrap_or_default().parse().expect("an address");
    (child, lines, address)
}

#[test]
fn on_standard_output_there_is_the_capture_and_nothing_else() {
    let (mut child, _lines, address) = piped();
    let mut stdout = child.stdout.take().expect("piped");
    let reading = thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).expect("an end");
        bytes
    });
    let mut raw = Raw::connect(address, "/play?token=");
    raw.say("native", &hello());
    thread::sleep(Duration::from_millis(200));
    raw.finish();
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"players\nstop\n").expect("written");
    assert!(child.wait().expect("an end").success());
    let bytes = reading.join().expect("read");
    let capture = capture::read(&bytes).expect("a capture");
    assert_eq!(capture.truncated_at, None);
    let connection = connection(&capture, raw.address);
    assert_eq!(said(&connection, TcpSide::Server), raw.heard);
    assert!(connection.has_end && run_again(&capture) > 0);
}

#[test]
fn a_pipe_that_nobody_reads_holds_up_neither_the_game_nor_the_stop() {
    let (mut child, _lines, address) = piped();
    let mut raw = Raw::connect(address, "/play?token=");
    raw.say("native", &hello());
    // More than a pipe holds, which nobody takes: the updates come all the same.
    let mut sequence = 0;
    let deadline = Instant::now() + Duration::from_secs(3);
    while raw.heard.len() < 20_000 && Instant::now() < deadline {
        sequence += 1;
        raw.say("native", &walk(Some(sequence)));
        let mut buffer = [0; 4096];
        let count = raw.stream.read(&mut buffer).expect("updates");
        raw.heard.extend_from_slice(&buffer[..count]);
    }
    assert!(raw.heard.len() > 2_000, "{} bytes", raw.heard.len());
    raw.finish();
    let asked = Instant::now();
    child.stdin.take().expect("piped").write_all(b"stop\n").expect("written");
    assert!(child.wait().expect("an end").success());
    assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
}

#[test]
fn a_pipe_that_is_closed_ends_the_capture_and_not_the_server() {
    let (mut child, mut lines, address) = piped();
    drop(child.stdout.take());
    let mut log = String::new();
    while !log.contains("capture ends: standard output: ") {
        assert!(lines.read_line(&mut log).expect("text") > 0, "{log}");
    }
    let mut raw = Raw::connect(address, "/play?token=");
    raw.say("native", &hello());
    raw.finish();
    child.stdin.take().expect("piped").write_all(b"stop\n").expect("written");
    assert!(child.wait().expect("an end").success());
}
