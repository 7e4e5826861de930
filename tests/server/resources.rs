//! What connections may cost: budgets before and after the handshake, and a machine whose descriptors run out.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit};

use crate::program::{Program, said_at_its_end, tickwire};
use crate::raw::Raw;
use crate::support::{PATIENCE, Peer, server};
use tickwire::client::dial;
use tickwire::internal::client::connect_with_recv_buffer;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::limits;
use tickwire::internal::util::os::MachineCapacity;
use tickwire::packet::{Direction, PacketTables};
use tickwire::ws::frame::{self, Opcode};

const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/// Threads of a server for anything but connections, at most.
const OTHER_THREADS: usize = 24;

/// A connection from 127.9.`a`.`b`.
fn from(server: SocketAddr, a: usize, b: usize) -> TcpStream {
    let address: IpAddr = format!("127.9.{a}.{b}").parse().expect("an address");
    let stream = dial::connect(server, Some(address)).expect("a connection");
    stream.set_nonblocking(false).expect("a socket that waits");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// The status of the answer that comes next.
fn status(stream: &mut TcpStream) -> String {
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("a status line");
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

fn answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what} never came");
        thread::sleep(Duration::from_millis(20));
    }
}

fn entries(program: &Program, directory: &str) -> usize {
    fs::read_dir(format!("/proc/{}/{directory}", program.pid())).expect("the program lives").count()
}

/// The number of the program's threads with this name.
fn threads_named(program: &Program, name: &str) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", program.pid())).expect("the program lives");
    let names = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

/// Resident memory of each stack of a client's thread in KiB, recognised by its size.
fn client_stacks(program: &Program) -> Vec<u64> {
    let maps = fs::read_to_string(format!("/proc/{}/smaps", program.pid())).expect("the program lives");
    let kib =
        |line: &str, name: &str| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok();
    let sizes: Vec<u64> = maps.lines().filter_map(|line| kib(line, "Size:")).collect();
    let used = maps.lines().filter_map(|line| kib(line, "Rss:"));
    let stack = limits::CLIENT_STACK_BYTES as u64 / 1024;
    sizes
        .into_iter()
        .zip(used)
        .filter(|(size, used)| *size == stack && *used > 0)
        .map(|(_, used)| used)
        .collect()
}

/// Hundredths of a second of work that a program has done.
fn work(program: &Program) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", program.pid())).expect("the program lives");
    let (_, fields) = text.rsplit_once(')').expect("a name in brackets");
    let fields: Vec<u64> = fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    fields[11] + fields[12]
}

/// How busy a program is for two seconds, in thousandths of one processor.
fn load(program: &Program) -> u64 {
    let (before, began) = (work(program), Instant::now());
    thread::sleep(Duration::from_secs(2));
    let worked_ms = (work(program) - before) * 10;
    worked_ms * 1000 / began.elapsed().as_millis() as u64
}

#[test]
fn a_head_that_drips_ends_at_the_deadline_however_often_a_byte_comes() {
    let server = server();
    let mut stream = from(server.address(), 0, 1);
    let mut writer = stream.try_clone().expect("a second handle");
    let started = Instant::now();
    let drip = thread::spawn(move || {
        let head = b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ".iter().chain([b'a'; 1000].iter());
        for byte in head {
            if writer.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert_eq!(status(&mut stream), "408");
    let took = started.elapsed();
    assert!(took >= limits::HEAD_TIMEOUT && took < 2 * limits::HEAD_TIMEOUT, "{took:?}");
    drop(stream);
    drip.join().expect("no panic");
    server.stop();
}

/// Opens as many unfinished requests as one address may have, and looks at what is said above them. Gives the requests; nothing when
/// that took so long that the first places may have come free meanwhile.
fn take_all_places(program: &Program) -> Option<Vec<TcpStream>> {
    let started = Instant::now();
    let waiting: Vec<_> =
        (0..limits::MAX_PENDING_REQUESTS_PER_ADDRESS).map(|_| from(program.address, 1, 1)).collect();
    let text = answer(&mut from(program.address, 1, 1));
    let threads = entries(program, "task");
    if started.elapsed() >= limits::HEAD_TIMEOUT {
        return None;
    }
    assert!(
        text.starts_with("HTTP/1.1 503 ") && text.ends_with("\r\n\r\nheads_pending_for_address\n"),
        "{text}"
    );
    assert!(text.contains("\r\nRetry-After: 5\r\n"), "{text}");
    assert!(threads < limits::MAX_PENDING_REQUESTS_PER_ADDRESS + OTHER_THREADS, "{threads} threads");
    Some(waiting)
}

#[test]
fn unfinished_requests_have_a_budget_per_address_and_no_thread_above_it() {
    let program = Program::start(&mut tickwire(&["--bind", "127.0.0.1:0"]));
    let all_ended = || until("an end of their threads", || entries(&program, "task") < OTHER_THREADS);
    let mut tries = (0..5).map(|_| {
        all_ended();
        take_all_places(&program)
    });
    // One that is let in above the budget gets its 408 too late, each time.
    let waiting = tries.find_map(|waiting| waiting);
    drop(waiting.expect("the places are taken, and one more is refused, before the first ones end"));
    until("a place", || {
        let mut stream = from(program.address, 1, 1);
        stream.write_all(UPGRADE.as_bytes()).is_ok() && status(&mut stream) == "101"
    });
    all_ended();
}

/// The program with so many open files.
fn with_open_files(open_files: usize) -> Command {
    let mut command = Command::new("sh");
    let limited = format!("ulimit -n {open_files} && exec \"$0\" \"$@\"");
    let program = env!("CARGO_BIN_EXE_tickwire");
    command.args(["-c", &limited, program, "--bind", "127.0.0.1:0", "--bots", "0"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Addresses that each ask for so many pages and read none of them. With 1,024 descriptors there are 240 places.
#[test]
fn newcomers_get_in_while_others_ask_for_pages_and_never_read_them() {
    for (addresses, each) in [(1, 256), (4, 70), (64, 4), (250, 1)] {
        let mut program = Program::start(&mut with_open_files(1024));
        let mut attackers = Vec::new();
        for number in 0..addresses * each {
            let room = Some(4096);
            let source: IpAddr = format!("127.9.4.{}", 1 + number % addresses).parse().expect("an address");
            let stream = connect_with_recv_buffer(program.address, Some(source), room);
            let mut stream = stream.expect("a connection");
            let _ = stream.write_all(b"GET /wasm/tickwire.wasm HTTP/1.1\r\nHost: a\r\n\r\n");
            attackers.push(stream);
        }
        for number in 0..10 {
            for (kind, request, expected) in [
                (1, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
                (2, "POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "401"),
                (3, UPGRADE, "101"),
            ] {
                let mut newcomer = from(program.address, 5 + number, kind);
                newcomer.write_all(request.as_bytes()).expect("sent");
                assert_eq!(status(&mut newcomer), expected, "{addresses} addresses, newcomer {number}");
            }
        }
        let threads = entries(&program, "task");
        assert!(threads < 960 + OTHER_THREADS, "{threads} threads");
        drop(attackers);
        let log = program.stop();
        assert!(!log.contains("cannot accept another connection yet"), "descriptors were left: {log}");
    }
}

#[test]
fn the_cap_follows_from_open_files_is_shown_and_is_kept() {
    let mut program = Program::start(&mut with_open_files(160));
    // 160 less the 64 that are kept; a quarter of them for requests.
    assert!(
        program.banner.contains("this machine supports 96 connections (160 open files, "),
        "{}",
        program.banner
    );
    assert!(program.banner.contains("at most 72 clients"), "{}", program.banner);
    let mut clients = Vec::new();
    for number in 0..72 {
        let mut client = from(program.address, 2, 1 + number);
        client.write_all(UPGRADE.as_bytes()).expect("sent");
        assert_eq!(status(&mut client), "101");
        clients.push(client);
    }
    let mut more = from(program.address, 2, 99);
    more.write_all(UPGRADE.as_bytes()).expect("sent");
    let text = answer(&mut more);
    assert!(text.starts_with("HTTP/1.1 503 ") && text.ends_with("\r\n\r\nclients\n"), "{text}");
    let _requests: Vec<TcpStream> = (0..60).map(|number| from(program.address, 3, 1 + number)).collect();
    let mut page = from(program.address, 2, 100);
    page.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    assert_eq!(status(&mut page), "200", "a newcomer has the place of the oldest request");
    assert!(entries(&program, "task") < 96 + OTHER_THREADS);
    let log = program.stop();
    assert!(!log.contains("cannot accept another connection yet"), "descriptors were left: {log}");
}

#[test]
fn the_smallest_ceiling_of_the_machine_decides() {
    let roomy = MachineCapacity { open_files: 20_000, mappings: 65_530, threads: 4_194_304 };
    for (ceilings, expected) in [
        (roomy, (65_530 - limits::RESERVED_MAPPINGS) / 4),
        (MachineCapacity { open_files: 1_000, ..roomy }, 1_000 - limits::RESERVED_DESCRIPTORS),
        (MachineCapacity { open_files: 72, ..roomy }, limits::MIN_CONNECTIONS),
        (MachineCapacity { threads: 400, ..roomy }, 200),
    ] {
        assert_eq!((ceilings.connections(), ceilings.check().ok()), (expected, Some(expected)));
    }
    assert!(MachineCapacity { open_files: 71, ..roomy }.check().is_err());
}

#[test]
fn with_too_few_open_files_it_does_not_start_and_says_what_it_needs() {
    for arguments in [&[][..], &["echo", "--bind", "127.0.0.1:0"]] {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tickwire")]);
        command.args(arguments);
        if arguments.is_empty() {
            command.args(["--bind", "127.0.0.1:0"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let done = said_at_its_end(command.spawn().expect("the program starts"));
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{said}");
        let why = "tickwire: this machine supports 0 connections, and a server needs at least 8: open files (ulimit -n): 64, needed: 72; ";
        assert!(said.starts_with(why), "{said}");
    }
}

#[test]
fn without_descriptors_the_listener_does_not_spin_serves_its_clients_and_recovers() {
    let mut program = Program::start(&mut tickwire(&["--bind", "127.0.0.1:0"]));
    let mut honest = Peer::connect(program.address, "/play");
    honest.send(&[0x92, 1, 0x92, 1, 1]);
    let native = PacketTables::builtin().dialect("native").expect("built in");
    let mut is_served = |nonce: u8| {
        honest.send(&[0x92, 6, 0x91, nonce]);
        let pong = |message: &[u8]| {
            let decoded = native.decode(Direction::ToClient, message);
            decoded.is_ok_and(|packet| packet.row.name == "pong" && packet.values[0] == nonce.into())
        };
        honest.receive_until(pong).expect("an answer");
    };
    is_served(101);
    let usual = load(&program);
    let descriptors = entries(&program, "fd") as u64;
    let pid = Pid::from_raw(program.pid().cast_signed());
    let lowered = Rlimit { current: Some(descriptors + 3), maximum: None };
    let before = rustix::process::prlimit(pid, Resource::Nofile, Rlimit { maximum: hard_limit(), ..lowered });
    before.expect("the limit of a child can be lowered");
    let waiting: Vec<TcpStream> = (0..40).map(|_| from(program.address, 3, 1)).collect();
    thread::sleep(Duration::from_millis(300));
    let busy = load(&program);
    assert!(busy < 300 + 2 * usual, "{busy} thousandths of a processor, and {usual} before");
    let now = entries(&program, "fd") as u64;
    // Numbers that it got from whoever started it may lie above the limit, so it is not quite three.
    assert!(now < descriptors + 20, "{now} descriptors, and {descriptors} before");
    is_served(102);
    drop(waiting);
    let mut page = from(program.address, 3, 2);
    page.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").expect("sent");
    assert_eq!(status(&mut page), "200", "with the limit as low as before");
    drop(page);
    is_served(103);
    until("an end of their descriptors", || entries(&program, "fd") as u64 <= descriptors);
    let log = program.stop();
    let said = log.matches("cannot accept connections: ").count();
    assert!(
        (1..20).contains(&said) && log.contains("connections can be accepted again"),
        "{said} times: {log}"
    );
}

fn hard_limit() -> Option<u64> {
    rustix::process::getrlimit(Resource::Nofile).maximum
}

#[test]
fn a_client_over_its_rate_limit_is_warned_and_then_closed_with_1008() {
    let server = server();
    let mut client = Raw::connect(server.address(), "/play?token=");
    client.say("native", &ClientPacket::Hello { version: 1, mode: Mode::Spectate, name: None, skin: None });
    let native = PacketTables::builtin().dialect("native").expect("built in");
    let ping = ClientPacket::Ping { nonce: Some(1) }.encode(&native);
    let mut flood = Vec::new();
    // Less than the bytes allowed at once, and more than the messages.
    (0..limits::CLIENT_MESSAGES_BURST + 60)
        .for_each(|_| frame::write(&mut flood, Opcode::Binary, Some([1, 2, 3, 4]), &ping));
    client.send_bytes(&flood);
    client.stream.read_to_end(&mut client.heard).expect("an end");
    let name = b"message_rate";
    let said: Vec<usize> = client
        .heard
        .windows(name.len())
        .enumerate()
        .filter(|(_, seen)| seen == name)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(said.len(), 2, "the warning and the close frame");
    assert!(client.heard.ends_with(b"\x03\xf0message_rate"), "the close frame comes last");
    let between = &client.heard[said[0]..said[1]];
    assert!(between.windows(9).any(|seen| seen == b"slow down"), "the first is the warning");
    server.stop();
}

/// Pages that were used once stay in memory, so what needs a deep stack happens in threads that end.
#[test]
fn a_client_leaves_the_thread_of_its_request_for_one_with_a_flat_stack_and_joins_from_there() {
    let program = Program::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--bots", "0"]));
    let mut clients: Vec<Peer> = (0..8).map(|_| Peer::connect(program.address, "/server")).collect();
    let have_own_threads =
        || threads_named(&program, "client") == 8 && threads_named(&program, "connection") == 0;
    until("threads of their own", have_own_threads);
    let letters = PacketTables::builtin().dialect("letters").expect("built in");
    let join = ClientPacket::EnterGame { name: Some("Ann".to_owned()), skin: Some(1), moofoll: true };
    for client in &mut clients {
        client.send(&join.encode(&letters));
        let is_setup = |message: &[u8]| {
            letters.decode(Direction::ToClient, message).is_ok_and(|packet| packet.row.name == "setup")
        };
        client.receive_until(is_setup).expect("a player");
    }
    until("the end of the threads for their joins", have_own_threads);
    // Without optimisation, frames are several times as large.
    let max = if cfg!(debug_assertions) { 40 } else { 8 };
    let stacks = client_stacks(&program);
    assert!(stacks.len() >= clients.len() && stacks.iter().all(|used| *used <= max), "{stacks:?} KiB");
}
