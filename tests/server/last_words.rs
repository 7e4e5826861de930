//! What a client is told last, and that it gets to read it: whoever floods, lags, or is closed before it has said anything.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;
use tickwire::client::dial;
use tickwire::internal::client::echo;
use tickwire::internal::limits;
use tickwire::internal::server::net::{EchoServer, ServerHandle};
use tickwire::ws::frame::Opcode;

use crate::admin::{TOKEN, ask, guarded, send_commands};
use crate::raw::{Raw, masked, request};
use crate::support::{PATIENCE, server, to_hex};

/// Close code 1001 and its reason.
const GOING_AWAY: &[u8] = b"\x03\xe9going_away";

/// What the server says after the answer to its request, as frames: opcode and payload. Ends with the connection.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let [first, length, rest @ ..] = bytes {
        // What is cut off in the middle is no frame.
        let (length, rest) = match length {
            126 if rest.len() >= 2 => (usize::from(u16::from_be_bytes([rest[0], rest[1]])), &rest[2..]),
            127 if rest.len() >= 8 => {
                (u64::from_be_bytes(rest[..8].try_into().expect("eight")) as usize, &rest[8..])
            }
            126.. => break,
            short => (usize::from(*short), rest),
        };
        let Some(payload) = rest.get(..length) else { break };
        found.push((first & 15, payload.to_vec()));
        bytes = &rest[length..];
    }
    found
}

/// A client of a stopping echo server that sends messages without end and reads less than comes back: all that it is told, and how long
/// after the stop it has heard the last of it.
fn flooding(bytes: usize) -> (Vec<(u8, Vec<u8>)>, Duration) {
    let server =
        EchoServer::start("127.0.0.1:0".parse().expect("an address"), 1 << 20, true).expect("a port");
    let raw = Raw::connect(server.address(), "/");
    set_socket_recv_buffer_size(&raw.stream, 64 * 1024).expect("a small buffer");
    let (mut sends, mut reads) = (raw.stream.try_clone().expect("a clone"), raw.stream);
    let message = masked(Opcode::Binary, &vec![7; bytes]);
    let flood = thread::spawn(move || while sends.write_all(&message).is_ok() {});
    let lag = thread::spawn(move || {
        let (mut heard, mut buffer) = (Vec::new(), [0; 64 * 1024]);
        while let Ok(count @ 1..) = reads.read(&mut buffer) {
            heard.extend_from_slice(&buffer[..count]);
            if heard.ends_with(GOING_AWAY) {
                break;
            }
            thread::sleep(Duration::from_millis(2));
        }
        (heard, Instant::now())
    });
    thread::sleep(Duration::from_millis(400));
    let stopped = Instant::now();
    let _ = server.stop();
    let (heard, at) = lag.join().expect("it reads");
    flood.join().expect("it sends");
    (frames(&heard), at - stopped)
}

#[test]
fn a_stopping_echo_server_sends_a_close_frame_even_to_a_flooding_client() {
    for bytes in [100, 15_000, 200_000] {
        // Who has not read up to the goodbye when the time for it is over is cut off, which a busy machine can bring about.
        let hears = || {
            let (heard, time) = flooding(bytes);
            let has_ack_packets =
                heard.last().is_some_and(|(opcode, said)| *opcode == 8 && said == GOING_AWAY);
            assert!(
                has_ack_packets || time >= limits::SHUTDOWN_CLOSE_TIMEOUT,
                "{bytes}: cut after {time:?}, {} frames",
                heard.len()
            );
            has_ack_packets
        };
        assert!((0..5).any(|_| hears()), "{bytes}: cut off, and not told");
    }
}

/// A message far beyond the bound is refused in its header; its sender can send all of it before it reads that.
#[test]
fn a_client_that_sends_too_long_a_message_still_reads_the_close_frame() {
    let server =
        EchoServer::start("127.0.0.1:0".parse().expect("an address"), 8 << 20, true).expect("a port");
    let mut raw = Raw::connect(server.address(), "/");
    raw.heard.clear();
    raw.send(Opcode::Binary, &vec![7; (8 << 20) + 1]);
    raw.stream.read_to_end(&mut raw.heard).expect("an end");
    let heard = frames(&raw.heard);
    assert_eq!(heard[0].0, 8, "{}", to_hex(&raw.heard));
    assert_eq!(heard[0].1[..2], 1009u16.to_be_bytes());
    assert_eq!(server.stop(), 0);
}

/// A server that says goodbye while its client is still answering, and leaves with most of the answer unread.
#[test]
fn an_echo_client_that_cannot_finish_still_hears_why() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}/", listener.local_addr().expect("its address")).parse().expect("a URL");
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        set_socket_recv_buffer_size(&stream, 4096).expect("a small buffer");
        let mut socket = tungstenite::accept(stream).expect("the upgrade");
        // Longer than what the kernel keeps of an answer that nobody reads.
        socket.send(tungstenite::Message::binary(vec![7; 12 << 20])).expect("sent");
        let stream = socket.get_mut();
        stream.read_exact(&mut [0]).expect("the answer begins");
        stream.write_all(b"\x88\x0b\x03\xf0too much!").expect("sent");
        thread::sleep(Duration::from_millis(300));
    });
    let mut heard = Vec::new();
    let run = echo::run(&url, true, |event| heard.push(event.to_string()));
    serving.join().expect("it serves");
    assert_eq!((run.map_err(|error| error.to_string()), heard.len()), (Ok(()), 2), "{heard:?}");
    assert!(heard[1].contains("1008") && heard[1].contains("too much!"), "{}", heard[1]);
}

/// A native client from an address of its own, upgraded, that has not said hello.
fn silent(address: SocketAddr, from: &str) -> TcpStream {
    let from: IpAddr = from.parse().expect("an address");
    let mut stream = dial::connect(address, Some(from)).expect("a connection");
    stream.set_nonblocking(false).expect("a socket that blocks");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(&request("/play?token=").0).expect("sent");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.extend(byte);
    }
    stream
}

#[test]
fn a_client_that_is_closed_before_its_hello_ends_in_the_time_of_a_close_and_never_plays() {
    let server = guarded();
    let mut stream = silent(server.address(), "127.0.0.3");
    let banned = Instant::now();
    let answer = send_commands(server.address(), "ban 127.0.0.3");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // [1, [1, 1, "late"]]: it would play.
    stream.write_all(&masked(Opcode::Binary, b"\x92\x01\x93\x01\x01\xa4late")).expect("sent");
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("an end");
    assert_eq!(frames(&heard), [(8, b"\x03\xf0banned".to_vec())], "{}", to_hex(&heard));
    assert!(banned.elapsed() < limits::HELLO_TIMEOUT, "{:?}", banned.elapsed());
    let players = send_commands(server.address(), "players");
    assert!(players.ends_with("no player is connected\n"), "{players}");
    server.stop();
}

#[test]
fn every_byte_for_a_client_is_counted_pongs_and_the_close_frame_among_them() {
    let server = server();
    let sent = |server: &ServerHandle| -> usize {
        let text = server.metrics_text();
        let line = text.lines().find_map(|line| line.strip_prefix("tickwire_sent_bytes_total "));
        line.expect("the counter").parse().expect("a number")
    };
    let mut raw = Raw::connect(server.address(), "/play?token=");
    raw.heard.clear();
    for _ in 0..10 {
        raw.send(Opcode::Ping, &[b'x'; 125]);
    }
    raw.finish();
    assert_eq!(frames(&raw.heard).len(), 11, "{}", to_hex(&raw.heard));
    assert_eq!(sent(&server), raw.heard.len());
    server.stop();
}

#[test]
fn head_gets_no_body_whatever_the_answer_is() {
    let server = server();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (target, more, status) in [("/", "", 200), ("/nothing", "", 404), ("/play", upgrade, 405)] {
        let answer = ask(server.address(), &format!("HEAD {target} HTTP/1.1\r\nHost: h\r\n{more}\r\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("Content-Length: ") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
    server.stop();
}

/// RFC 9110 section 10.1.1: such a client waits for a word before it sends its body.
#[test]
fn a_request_with_expect_gets_100_continue() {
    let server = guarded();
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let head = format!("POST /admin HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n");
    let head = format!("{head}Expect: 100-continue\r\nContent-Length: 7\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut word = [0; 25];
    stream.read_exact(&mut word).expect("a word");
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"players").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("no player is connected\n"), "{answer}");
    server.stop();
}
