//! `tickwire echo` as other libraries and raw sockets meet it, in both roles.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tickwire::client::dial;
use tickwire::internal::client::echo;
use tickwire::internal::limits;
use tickwire::internal::server::net::EchoServer;
use tickwire::ws::extension::DeflateOffer;
use tickwire::ws::frame::{Header, Opcode, mask};
use tickwire::ws::http::ResponseReader;
use tickwire::ws::{Connection, Limits, Role, handshake};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket};

use crate::raw::{Raw, masked};
use crate::support::{PATIENCE, Peer};

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn server(message_bytes: usize) -> EchoServer {
    EchoServer::start("127.0.0.1:0".parse().expect("an address"), message_bytes, true).expect("a free port")
}

fn connect(address: SocketAddr) -> WebSocket<TcpStream> {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    tungstenite::client(format!("ws://{address}/"), stream).expect("the upgrade").0
}

/// A client's frame that need not be the last of its message.
fn fragment(fin: bool, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { fin, compressed: false, opcode, mask: Some(KEY), length: payload.len() as u64 }
        .encode(&mut bytes);
    let start = bytes.len();
    bytes.extend_from_slice(payload);
    mask(&mut bytes[start..], KEY, 0);
    bytes
}

#[test]
fn messages_come_back_as_they_were() {
    let server = server(limits::MAX_ECHO_MESSAGE_BYTES);
    let mut peer = connect(server.address());
    for size in [0, 1, 125, 126, 65_535, 65_536, 1 << 20, limits::MAX_ECHO_MESSAGE_BYTES] {
        let binary: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
        peer.send(Message::binary(binary.clone())).expect("sent");
        assert!(peer.read().expect("the echo") == Message::binary(binary), "{size} bytes");
        let text: String = "añ€𐍈".chars().cycle().take(size / 4).collect();
        peer.send(Message::text(text.clone())).expect("sent");
        assert!(peer.read().expect("the echo") == Message::text(text), "{size} bytes of text at most");
    }
    peer.send(Message::Ping(b"there?".to_vec().into())).expect("sent");
    assert_eq!(peer.read().expect("a pong"), Message::Pong(b"there?".to_vec().into()));
    let close = CloseFrame { code: CloseCode::from(3_333), reason: "enough".into() };
    peer.close(Some(close)).expect("sent");
    let Ok(Message::Close(Some(answer))) = peer.read() else { panic!("no close frame came back") };
    assert_eq!(answer.code, CloseCode::from(3_333));
    assert_eq!(peer.read().expect_err("an end").to_string(), "Connection closed normally");
    assert_eq!(server.stop(), 0);
}

#[test]
fn section_5_4_fragments_come_back_as_one_message_and_a_ping_among_them_is_answered_first() {
    let server = server(limits::ECHO_MESSAGE_BYTES);
    let mut peer = connect(server.address());
    let parts = [
        fragment(false, Opcode::Text, b"Hel"),
        masked(Opcode::Ping, b"now"),
        fragment(false, Opcode::Continuation, b""),
        fragment(true, Opcode::Continuation, b"lo"),
    ];
    peer.get_mut().write_all(&parts.concat()).expect("sent");
    assert_eq!(peer.read().expect("a pong"), Message::Pong(b"now".to_vec().into()));
    assert_eq!(peer.read().expect("the echo"), Message::text("Hello"));
    let parts = [
        masked(Opcode::Binary, b"1"),
        masked(Opcode::Ping, b"2"),
        masked(Opcode::Text, b"3"),
        masked(Opcode::Ping, b"4"),
    ];
    peer.get_mut().write_all(&parts.concat()).expect("sent");
    let pong = |text: &str| Message::Pong(text.to_owned().into());
    for expected in [Message::binary(b"1".to_vec()), pong("2"), Message::text("3"), pong("4")] {
        assert_eq!(peer.read().expect("in the order of asking"), expected);
    }
    assert_eq!(server.stop(), 0);
}

/// The close frame that answers these bytes, and nothing else does.
fn closed_for(message_bytes: usize, bytes: &[u8]) -> String {
    let server = server(message_bytes);
    let mut peer = Peer::connect(server.address(), "/");
    peer.stream().write_all(bytes).expect("sent");
    let how = peer.receive_close();
    assert_eq!(server.stop(), 0);
    how
}

#[test]
fn past_a_bound_the_connection_is_closed_with_its_rule() {
    for (message_bytes, size, expected) in
        [(1_000, 1_001, "1009 message_too_long"), (1_000, 70_000, "1009 message_too_long")]
    {
        assert_eq!(closed_for(message_bytes, &masked(Opcode::Binary, &vec![7; size])), expected);
    }
    // All fragments together.
    let parts = [fragment(false, Opcode::Binary, &[7; 600]), fragment(true, Opcode::Continuation, &[7; 401])];
    assert_eq!(closed_for(1_000, &parts.concat()), "1009 message_too_long");
    let mut many = fragment(false, Opcode::Binary, b"");
    many.extend(fragment(false, Opcode::Continuation, b"").repeat(limits::ECHO_FRAGMENTS));
    assert_eq!(closed_for(1_000, &many), "1008 too_many_fragments");
}

#[test]
fn as_many_fragments_as_the_bound_are_a_message() {
    let server = server(1_000_000);
    let mut peer = connect(server.address());
    let mut bytes = fragment(false, Opcode::Binary, b"x");
    bytes.extend(fragment(false, Opcode::Continuation, b"x").repeat(limits::ECHO_FRAGMENTS - 2));
    bytes.extend(fragment(true, Opcode::Continuation, b"x"));
    peer.get_mut().write_all(&bytes).expect("sent");
    assert!(peer.read().expect("the echo") == Message::binary(vec![b'x'; limits::ECHO_FRAGMENTS]));
    assert_eq!(server.stop(), 0);
}

/// Sends a request as it stands and reads the answer to its end.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer that ends");
    answer
}

#[test]
fn a_request_that_is_no_upgrade_is_refused_and_one_that_drips_is_late() {
    let server = server(1_000);
    let address = server.address();
    let dripping = thread::spawn(move || (Instant::now(), ask(address, "GET / HTTP/1.1\r\nHost: h\r\n")));
    let answer = ask(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    let answer = ask(address, "GET / HTTP/1.1\r\nHost : h\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("space_before_colon"), "{answer}");
    let (begun, answer) = dripping.join().expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() >= limits::HEAD_TIMEOUT);
    assert_eq!(server.stop(), 0);
}

#[test]
fn there_are_as_many_places_as_there_is_memory_for_and_they_come_back() {
    // With the longest messages there is room for 16, and for half of them from one address.
    let places = limits::ECHO_MEMORY_BYTES / limits::ECHO_COPIES / limits::MAX_ECHO_MESSAGE_BYTES / 2;
    let server = server(limits::MAX_ECHO_MESSAGE_BYTES);
    let mut guests: Vec<Raw> = (0..places).map(|_| Raw::connect(server.address(), "/")).collect();
    let Err(refused) = Peer::try_connect(server.address(), "/") else { panic!("one more has a place") };
    assert!(refused.contains("503"), "{refused}");
    let other = dial::connect(server.address(), "127.0.5.1".parse().ok()).expect("a connection");
    other.set_nonblocking(false).expect("a socket that waits");
    let request = format!("ws://{}/", server.address());
    assert!(tungstenite::client(request, other).is_ok(), "another address has room");
    guests.pop().expect("a guest").finish();
    let begun = Instant::now();
    while Peer::try_connect(server.address(), "/").is_err() {
        assert!(begun.elapsed() < PATIENCE, "the place never came back");
    }
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_stop_says_goodbye_to_all_and_waits_for_nobody() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["echo", "--bind", "127.0.0.1:0", "--max-message", "100", "--log", "warn"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let (mut stdout, mut line) = (child.stdout.take().expect("piped"), Vec::new());
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        stdout.read_exact(&mut byte).expect("a line");
        line.extend(byte);
    }
    let line = String::from_utf8(line).expect("text");
    let address = line.strip_prefix("echo ws://").and_then(|rest| rest.split('/').next()).expect("a URL");
    assert!(line.ends_with("/, messages of at most 100 bytes\n"), "{line}");
    let address = address.parse().expect("an address");
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::connect(address, "/")).collect();
    // One that has not asked for anything, and one that never answers.
    let _mute = TcpStream::connect(address).expect("a connection");
    let _silent = Raw::connect(address, "/");
    let asked = Instant::now();
    kill_process(Pid::from_child(&child), Signal::TERM).expect("the signal is sent");
    for peer in &mut peers {
        assert_eq!(peer.receive_close(), "1001 going_away");
    }
    assert!(child.wait().expect("the program ends").success());
    assert!(asked.elapsed() < PATIENCE, "{:?}", asked.elapsed());
}

/// A server by another library for one client, which sends these messages, and gives what comes until the client has closed.
fn other_server(messages: Vec<Message>) -> (SocketAddr, thread::JoinHandle<Vec<Message>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut socket = tungstenite::accept(stream).expect("the upgrade");
        let heard = messages.into_iter().map(|message| {
            socket.send(message).expect("sent");
            socket.read().expect("the echo")
        });
        let heard = heard.collect();
        socket.close(None).expect("sent");
        while socket.read().is_ok() {}
        heard
    });
    (address, serving)
}

#[test]
fn as_a_client_it_gives_back_what_a_server_says() {
    let long = vec![5; limits::MAX_ECHO_MESSAGE_BYTES];
    let messages = vec![Message::text("añ€𐍈"), Message::binary(vec![]), Message::binary(long)];
    let (address, serving) = other_server(messages.clone());
    let mut heard = Vec::new();
    let url = format!("ws://{address}/any?path=1").parse().expect("a URL");
    echo::run(&url, true, |event| heard.push(event.to_string())).expect("a clean end");
    assert!(serving.join().expect("a server") == messages);
    assert_eq!(
        heard,
        ["text, 10 bytes, \"añ€𐍈\"", "binary, 0 bytes", "binary, 16777216 bytes", "close without a code"]
    );
}

#[test]
fn as_a_client_it_says_which_rule_the_server_broke() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut socket = tungstenite::accept(stream).expect("the upgrade");
        let stream = socket.get_mut();
        // A server's frame with a mask.
        stream.write_all(&masked(Opcode::Text, b"Hello")).expect("sent");
        stream.shutdown(Shutdown::Write).expect("open");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an end");
        answer
    });
    let url = format!("ws://{address}/").parse().expect("a URL");
    let error = echo::run(&url, true, |_| panic!("nothing is to be heard")).expect_err("a broken rule");
    assert_eq!(error.to_string(), "A server's frame has a mask. (RFC 6455 section 5.1)");
    let answer = serving.join().expect("a server");
    let (header, size) =
        Header::decode(&answer, tickwire::ws::Side::Client).expect("a frame").expect("whole");
    assert_eq!((header.opcode, answer.len() - size), (Opcode::Close, 2 + "mask_forbidden".len()));
}

/// A connection to an echo server after an offer of compression, our end of it, and whether the server accepted.
fn connect_with_offer(server: &EchoServer) -> (TcpStream, Connection, bool) {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let (key, offer) = (handshake::encode_key([7; 16]), DeflateOffer::default());
    stream.write_all(&handshake::request_with("localhost", "/", &key, &[], Some(&offer))).expect("sent");
    let (mut reader, mut byte) = (ResponseReader::new(limits::HEAD_LIMITS), [0]);
    let head = loop {
        stream.read_exact(&mut byte).expect("a response");
        if let Some(head) = reader.receive(&byte).expect("a valid head") {
            break head;
        }
    };
    let agreed = handshake::check_response_with(&head, &key, &[], Some(&offer)).expect("an upgrade").deflate;
    let mut conn = Connection::new(Role::Client { mask_key: || KEY }, Limits::DEFAULT);
    if let Some(parameters) = agreed {
        conn.enable_compression(parameters, 0);
    }
    (stream, conn, agreed.is_some())
}

/// The next event of the server, and the bytes that were read for it.
fn next(stream: &mut TcpStream, conn: &mut Connection) -> (String, usize) {
    let (mut count, mut buffer) = (0, [0; 4096]);
    loop {
        if let Some(event) = conn.next_event().expect("the server breaks no rule") {
            return (event.to_string(), count);
        }
        let read = stream.read(&mut buffer).expect("bytes");
        count += read;
        conn.receive(&buffer[..read]);
    }
}

#[test]
fn compression_is_accepted_unless_it_is_off_and_a_bomb_is_closed_with_1009() {
    let text = "again and ".repeat(100);
    for accepts in [true, false] {
        let bind = "127.0.0.1:0".parse().expect("an address");
        let server = EchoServer::start(bind, 2_000, accepts).expect("a free port");
        let (mut stream, mut conn, is_agreed) = connect_with_offer(&server);
        assert_eq!(is_agreed, accepts);
        for _ in 0..2 {
            conn.send_text(&text);
            let mut bytes = Vec::new();
            conn.drain_output(&mut bytes);
            stream.write_all(&bytes).expect("sent");
            let (event, received) = next(&mut stream, &mut conn);
            assert!(event.starts_with("text, 1000 bytes, \"again and again"), "{event}");
            assert_eq!([bytes.len() < 100, received < 100], [accepts; 2]);
        }
        if accepts {
            // 42 kB that inflate to 42 MB.
            conn.send_binary(&vec![0; 42_000_000]);
            let mut bytes = Vec::new();
            conn.drain_output(&mut bytes);
            assert!((40_000..43_000).contains(&bytes.len()), "{}", bytes.len());
            // The frame is longer than any that fits.
            stream.write_all(&bytes).expect("sent");
            assert_eq!(next(&mut stream, &mut conn).0, "close 1009 message too big, \"message_too_long\"");
            let (mut stream, mut conn, _) = connect_with_offer(&server);
            conn.send_binary(&vec![0; 1_900_000]);
            let mut bytes = Vec::new();
            conn.drain_output(&mut bytes);
            stream.write_all(&bytes).expect("sent");
            assert_eq!(next(&mut stream, &mut conn).0, "close 1009 message too big, \"inflated_too_long\"");
        }
        assert_eq!(server.stop(), 0);
    }
}
