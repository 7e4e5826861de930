//! The program as its operator meets it: starting, refusing to start, stopping.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{self, Program};
use crate::support::{PATIENCE, Peer};
use rustix::process::{Pid, Signal, kill_process};
use tickwire::ws::frame::{self, Opcode};

fn tickwire(arguments: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_tickwire");
    // A shell without job control starts a background job with SIGINT ignored, and children inherit that.
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,TERM,HUP", program]);
        command
    } else {
        Command::new(program)
    };
    command.env("TICKWIRE_BOTS", "0");
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program that serves on a free port; ended when dropped, whatever happened.
struct Running {
    child: Child,
    banner: String,
    address: SocketAddr,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command.spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut banner = String::new();
        while !banner.contains("this machine supports") {
            banner.push_str(&lines.next().expect("the whole banner").expect("text"));
            banner.push('\n');
        }
        let (_, rest) = banner.split_once("http://").expect("the page's URL");
        let address = rest.split('/').next().unwrap_or_default().parse().expect("an address and port");
        Running { child, banner, address }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the signal is sent");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn stops_cleanly_on(signal: Signal) {
    let mut running = Running::start(&mut tickwire(&["--bind", "127.0.0.1:0"]));
    let mut peers: Vec<Peer> =
        ["/", "/server", "/play"].map(|path| Peer::connect(running.address, path)).into();
    // One more that never reads or answers: a stop does not wait for it.
    let _silent = Peer::connect(running.address, "/");
    let asked = Instant::now();
    running.signal(signal);
    for peer in &mut peers {
        assert_eq!(peer.receive_close(), "1001 going_away");
    }
    let status = running.child.wait().expect("the program ends");
    let took = asked.elapsed();
    let mut log = String::new();
    running.child.stderr.take().expect("piped").read_to_string(&mut log).expect("text");
    assert!(status.success(), "{status}\n{log}");
    assert!(took < PATIENCE, "{took:?}\n{log}");
    assert_eq!(program::complaint(&log), None, "{log}");
}

#[test]
fn sigterm_says_goodbye_to_all_and_exits_with_0() {
    stops_cleanly_on(Signal::TERM);
}

#[test]
fn ctrl_c_says_goodbye_to_all_and_exits_with_0() {
    stops_cleanly_on(Signal::INT);
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    let mut command = Command::new("sh");
    let script = "trap '' HUP INT; exec \"$0\" \"$@\"";
    command.args(["-c", script, env!("CARGO_BIN_EXE_tickwire"), "--bind", "127.0.0.1:0", "--bots", "0"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = Program::start(&mut command);
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.pid())).expect("its state");
    let mask = |name: &str| {
        let digits = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        u64::from_str_radix(digits.trim(), 16).expect("a mask")
    };
    let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
    let stopping = bit(Signal::HUP) | bit(Signal::INT) | bit(Signal::TERM);
    assert_eq!(mask("SigIgn:") & stopping, bit(Signal::HUP) | bit(Signal::INT), "{status}");
    assert_eq!(mask("SigCgt:") & stopping, bit(Signal::TERM), "{status}");
    let pid = Pid::from_raw(program.pid().cast_signed()).expect("a number");
    for signal in [Signal::HUP, Signal::INT] {
        kill_process(pid, signal).expect("the signal is sent");
    }
    assert_eq!(program.type_line("announce hello"), "announced");
    program.stop();
}

fn asks_for_pages(address: SocketAddr, count: usize) {
    for number in 0..count {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let request = format!("GET /{number} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap_or_else(|error| panic!("page {number}: {error}"));
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    }
}

fn stops_in_time(mut running: Running) {
    let asked = Instant::now();
    running.signal(Signal::TERM);
    let status = running.child.wait().expect("the program ends");
    assert!(status.success() && asked.elapsed() < PATIENCE, "{status} after {:?}", asked.elapsed());
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    // A pipe takes 64 KiB; each page logs a line of about 100 bytes.
    let running = Running::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--log", "debug"]));
    asks_for_pages(running.address, 1_500);
    stops_in_time(running);
}

#[test]
fn a_log_that_nobody_can_read_ends_nobody() {
    let mut running = Running::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--log", "debug"]));
    drop(running.child.stderr.take());
    asks_for_pages(running.address, 3);
    let mut peer = Peer::connect(running.address, "/");
    peer.receive().expect("the server's first word");
    stops_in_time(running);
}

#[test]
fn the_banner_shows_the_urls_and_what_is_in_force() {
    let mut command = tickwire(&["--bind", "127.0.0.1:0", "--seed", "77", "--map-size", "5000"]);
    command
        .env("TICKWIRE_TICK_HZ", "20")
        .env("TICKWIRE_UPDATE_HZ", "60")
        .env("TICKWIRE_COMMAND_DELAY_TICKS", "1000");
    let running = Running::start(&mut command);
    let address = running.address;
    for expected in [
        format!("http://{address}/"),
        format!("native   ws://{address}/play"),
        format!("legacy   ws://{address}/"),
        format!("letters  ws://{address}/server"),
        "tick 20 Hz, updates 20 Hz (MooMoo dialects 10 Hz), seed 77, map-size 5000 px".to_owned(),
        "command delay 20 ticks".to_owned(),
    ] {
        assert!(running.banner.contains(&expected), "{expected}\nis not in\n{}", running.banner);
    }
}

#[test]
fn the_banner_has_a_line_for_each_room() {
    let mut command = tickwire(&["--bind", "127.0.0.1:0", "--seed", "7", "--map-size", "5000"]);
    command.env("TICKWIRE_ROOM", "two=moo,tick-hz=15;three,seed=8,max-clients=3,map-size=2000");
    let running = Running::start(&mut command);
    let address = running.address;
    for expected in [
        format!(
            "room     http://{address}/r/two/  moo, tick 15 Hz, updates 15 Hz (MooMoo dialects 10 Hz), seed 7, map-size 5000 px\n"
        ),
        format!(
            "room     http://{address}/r/three/  moo, tick 30 Hz, updates 30 Hz (MooMoo dialects 10 Hz), seed 8, map-size 2000 px, at most 3 clients\n"
        ),
        format!("rooms    http://{address}/rooms\n"),
    ] {
        assert!(running.banner.contains(&expected), "{expected}\nis not in\n{}", running.banner);
    }
}

fn failed(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = tickwire(arguments).output().expect("the program runs");
    assert!(!status.success() && stdout.is_empty(), "{arguments:?} was accepted");
    String::from_utf8(stderr).expect("text")
}

#[test]
fn an_occupied_port_is_one_clear_line() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("its address").to_string();
    let line = failed(&["--bind", &address]);
    assert_eq!(line, format!("tickwire: {address} is in use; choose another with --bind ADDR:PORT\n"));
}

#[test]
fn bad_flags_are_refused_by_name() {
    for (arguments, reason) in [
        (&["--tick-hz", "31"][..], "must be 15, 20, 30 or 60"),
        (&["--bind", "somewhere"], "--bind"),
        (&["--map-size", "10"], "--map-size"),
        (&["--update-hz", "0"], "--update-hz"),
        (&["--max-clients", "0"], "--max-clients"),
        (&["--codes", "/nowhere"], "/nowhere"),
        (&["--log", "a=b=c"], "--log"),
        (&["--frobnicate"], "--frobnicate"),
        (&["--room", "Two"], "\"Two\" is not a room name"),
        (&["--room", "two=chess"], "the games are: moo, "),
        (&["--room", "two,seed=-1"], "seed=-1: must be a whole number from 0"),
        (&["--room", "two", "--room", "two,seed=2"], "--room two: two rooms have this name"),
        (&["--room", "two,restore=/nowhere"], "--room two,restore=/nowhere: No such file"),
        (
            &["--room", &(0..1024).map(|room| room.to_string()).collect::<Vec<_>>().join(";")],
            "at most 1024 rooms",
        ),
    ] {
        let line = failed(arguments);
        assert!(line.contains(reason), "{arguments:?}: {line}");
    }
}

#[test]
fn help_names_units_and_variables() {
    let output = tickwire(&["--help"]).output().expect("the program runs");
    let help = String::from_utf8(output.stdout).expect("text");
    for flag in ["--bind", "--tick-hz", "--update-hz", "--seed", "--map-size", "--max-clients", "--codes"] {
        assert!(help.contains(flag), "{flag}");
    }
    for variable in ["TICKWIRE_BIND=", "TICKWIRE_TICK_HZ=", "TICKWIRE_MAP_SIZE=", "[default: 0.0.0.0:3000]"] {
        assert!(help.contains(variable), "{variable}\n{help}");
    }
}

/// What strangers send can reach a terminal only through the log: no control character of theirs is in it.
#[test]
fn text_of_strangers_is_escaped_in_the_log() {
    let mut program =
        Program::start(&mut program::tickwire(&["--bind", "127.0.0.1:0", "--log", "tickwire=debug"]));
    let mut legacy = Peer::connect(program.address, "/");
    // A name, a code and an argument with an escape that would change the terminal's title; BEL ends it.
    legacy.send(b"\x92\xa2sp\x91\x81\xa4name\xa9\x1b]0;pwn\x07\n");
    legacy.send(b"\x92\xa6\x1b[31mx\x90");
    legacy.send(b"\x92\xa233\x91\xa6\x1b[31mx");
    let is_setup = |message: &[u8]| message.starts_with(b"\x92\xa11");
    legacy.receive_until(is_setup).expect("a body");
    // And in what is no packet: a header's value, the bytes that no character begins with, a close frame's reason.
    for path in ["/?dialect=%1b%5b31m", "/%1b[31m"] {
        assert!(Peer::try_connect(program.address, path).is_err());
    }
    let request = "GET /\u{9b}31m HTTP/1.1\r\nHost: \u{9b}31m\r\nX: \u{1b}[31m\r\n\r\n";
    let mut stream = TcpStream::connect(program.address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("sent");
    stream.read_to_end(&mut Vec::new()).expect("an answer");
    let mut goodbye = Vec::new();
    frame::write(&mut goodbye, Opcode::Close, Some([0; 4]), b"\x03\xe8\x1b[31m");
    legacy.stream().write_all(&goodbye).expect("sent");
    legacy.receive_close();
    let log = program.stop();
    assert!(log.contains("pwn") && log.contains("packet dropped"), "{log}");
    let is_terminal_control = |ch: char| ch.is_control() && ch != '\n';
    assert!(!log.contains(is_terminal_control), "{log:?}");
}

#[test]
fn bots_ask_the_server_which_game_a_room_plays() {
    let running = Running::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--room", "arena=tanks"]));
    for (path, dialect) in [("", "native"), ("/r/arena/", "tanks"), ("/r/arena/play", "tanks")] {
        let url = format!("ws://{}{path}", running.address);
        let done = tickwire(&["bots", &url, "--count", "2", "--seconds", "1", "--json"]).output();
        let done = done.expect("the program ends");
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{url}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(told.contains(&format!("\"dialect\":\"{dialect}\"")), "{url}: {told}");
    }
}

#[test]
fn bots_end_with_1_and_say_why_when_the_server_ends_all_connections() {
    for json in [false, true] {
        let server = crate::support::server();
        let url = format!("ws://{}", server.address());
        let mut command = tickwire(&["bots", &url, "--count", "3", "--seconds", "3600", "--still"]);
        if json {
            command.arg("--json");
        }
        let bots = command.spawn().expect("the program starts");
        let started = Instant::now();
        while !server.metrics_text().contains("tickwire_players 3\n") {
            assert!(started.elapsed() < PATIENCE, "they never came");
            thread::sleep(Duration::from_millis(20));
        }
        server.stop();
        let done = program::said_at_its_end(bots);
        let (said, told) = (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
        assert_eq!(done.status.code(), Some(1), "{said}");
        let why = "of the 3600 s to be measured: \"1001 going_away\" 3 times; 0 errors, 3 disconnects, ";
        assert!(said.contains("all connections ended after ") && said.contains(why), "{said}");
        let counted =
            if json { "\"disconnects\":{\"1001 going_away\":3}" } else { "\"1001 going_away\" 3\n" };
        assert!(told.contains(counted), "{told}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none() {
    let running = Running::start(&mut tickwire(&["--bind", "127.0.0.1:0"]));
    let url = format!("ws://{}", running.address);
    let bots = ["bots", &url, "--count", "1", "--seconds", "1", "--still"];
    for (arguments, status) in [
        (&["--version"][..], 1),
        (&["explain", "8900"], 1),
        (&["explain", "docs/lessons/lessons.pcapng"], 1),
        (&["codes"], 1),
        (&["replay", "docs/lessons/one-step.pcapng"], 2),
        (&["replay", "docs/lessons/lessons.pcapng", "--json"], 2),
        (&["connect", &url], 1),
        (&bots, 1),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
        let done = tickwire(arguments).stdout(full).output().expect("the program runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(
            said.starts_with("tickwire: standard output: No space left on device"),
            "{arguments:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    }
    for arguments in [&["explain", "8900"][..], &["replay", "docs/lessons/one-step.pcapng"], &["codes"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let done = tickwire(arguments).stdout(writer).output().expect("the program runs");
        assert_eq!((done.status.code(), &done.stderr[..]), (Some(0), &b""[..]), "{arguments:?}");
    }
}
