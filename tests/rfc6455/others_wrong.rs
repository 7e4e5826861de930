//! Faults found in other servers, each as a test of ours: quadratic work, memory reserved for
//! declared lengths, unbounded answers. Faults that single inputs can show are rows in `rows/`.
//!
//! Times are compared only with one another: the same bytes in many pieces and in one piece.

use std::fs;
use std::time::{Duration, Instant};

use tickwire::internal::limits::{self, CONTROL_PAYLOAD_BYTES, HEAD_BYTES, HEAD_HEADERS, SUBPROTOCOLS};
use tickwire::ws::frame::{self, Header, Opcode};
use tickwire::ws::http::{HeadReader, RequestHead};
use tickwire::ws::message::{Message, MessageReader};
use tickwire::ws::{Connection, Limits, Role, Side, Violation, handshake};

const KEY: [u8; 4] = [9, 8, 7, 6];
/// Quadratic work on the longest head is a thousand times the linear work; what a loaded machine adds is far less.
const TIMES_AT_MOST: u32 = 100;

/// The shortest of several runs.
fn shortest(mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..9).map(time).min().expect("nine runs").max(Duration::from_nanos(1))
}

/// A head of exactly the longest length: an upgrade with `more`, filled up by one header.
fn longest_head(more: &str) -> Vec<u8> {
    let mut head = format!(
        "GET /play HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}X: "
    )
    .into_bytes();
    head.resize(HEAD_BYTES - 4, b'x');
    head.extend(b"\r\n\r\n");
    head
}

fn read_in_pieces(head: &[u8], bytes: usize) -> Option<RequestHead> {
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    let mut found = None;
    head.chunks(bytes).for_each(|piece| found = reader.receive(piece).expect("a good head"));
    found
}

#[test]
fn a_head_that_arrives_byte_by_byte_is_not_parsed_again_from_the_start() {
    let lines = "X: 1\r\n".repeat(HEAD_HEADERS - 7);
    for head in [longest_head(""), longest_head(&lines)] {
        assert_eq!(read_in_pieces(&head, 1), read_in_pieces(&head, head.len()));
        let whole = shortest(|| drop(read_in_pieces(&head, head.len())));
        let dripping = shortest(|| drop(read_in_pieces(&head, 1)));
        assert!(dripping < whole * TIMES_AT_MOST, "{dripping:?} for {HEAD_BYTES} reads, {whole:?} for one");
    }
}

#[test]
fn nothing_is_parsed_after_too_many_headers() {
    let mut head = format!("GET / HTTP/1.1\r\n{}", "X: 1\r\n".repeat(HEAD_HEADERS + 1)).into_bytes();
    for more in [&b""[..], b"\0", b"\n", b" folded\r\n", &[0; HEAD_BYTES]] {
        head.extend(more);
        let mut reader = HeadReader::new(limits::HEAD_LIMITS);
        assert_eq!(reader.receive(&head).unwrap_err().violation, Violation::TooManyHeaders);
        assert_eq!(reader.receive(b"\0").unwrap_err().violation, Violation::TooManyHeaders, "it stays so");
    }
}

#[test]
fn lists_of_subprotocols_are_scanned_once_and_only_up_to_the_limit() {
    let room = HEAD_BYTES - longest_head("").iter().filter(|byte| **byte != b'x').count() - 40;
    let lists = [
        format!("Sec-WebSocket-Protocol: {}\r\n", ",".repeat(room)),
        format!("Sec-WebSocket-Protocol: {}\r\n", "a,".repeat(room / 2)),
        format!("Sec-WebSocket-Protocol: {}\r\n", "a".repeat(room)),
        "Sec-WebSocket-Protocol: a,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n".repeat(SUBPROTOCOLS),
    ];
    for list in lists {
        let bytes = longest_head(&list);
        let head = read_in_pieces(&bytes, bytes.len()).expect("a whole head");
        let offered = list.matches('a').count();
        let is_one_word = !list.contains(',');
        match handshake::accept(&head, &["tickwire.v1"]) {
            Ok(accepted) => {
                assert!(accepted.subprotocol.is_none() && (is_one_word || offered <= SUBPROTOCOLS))
            }
            Err(refusal) => {
                assert!(refusal.violation == Violation::TooManySubprotocols);
                assert!(!is_one_word && offered > SUBPROTOCOLS);
            }
        }
        let reading = shortest(|| drop(read_in_pieces(&bytes, bytes.len())));
        let judging = shortest(|| drop(handshake::accept(&head, &["tickwire.v1"])));
        assert!(
            judging < reading * TIMES_AT_MOST / 4,
            "{judging:?} to judge, {reading:?} to read {list:.40}"
        );
    }
}

/// A line of this process's status, in bytes.
fn memory(line: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|text| text.strip_prefix(line)).expect("the line");
    let kib = line.trim_start_matches(':').trim().strip_suffix(" kB").expect("a size");
    kib.parse::<usize>().expect("a number") * 1024
}

#[test]
fn no_memory_is_reserved_for_a_length_that_is_only_declared() {
    let limits = Limits { message_bytes: 1 << 30, fragments: 2, ..Limits::DEFAULT };
    let header = |opcode, fin| {
        let mut bytes = Vec::new();
        Header { fin, compressed: false, opcode, mask: Some(KEY), length: 1 << 29 }.encode(&mut bytes);
        bytes
    };
    let before = memory("VmSize");
    let mut readers = Vec::new();
    for (opcode, fin) in [(Opcode::Binary, true), (Opcode::Text, true), (Opcode::Binary, false)].repeat(32) {
        let mut reader = MessageReader::new(Side::Client, limits);
        reader.receive(&header(opcode, fin));
        assert_eq!(reader.next_message(), Ok(None));
        reader.receive(&[KEY[0] ^ b'a']);
        assert_eq!(reader.next_message(), Ok(None));
        readers.push(reader);
    }
    let grown = memory("VmSize").saturating_sub(before);
    // Together they declare 48 GiB. Other tests run beside this one.
    assert!(grown < 1 << 30, "{grown} bytes for {} declared lengths", readers.len());
}

#[test]
fn tiny_fragments_cost_only_their_bytes() {
    const FRAGMENTS: usize = 65_536;
    let limits = Limits { message_bytes: FRAGMENTS, fragments: FRAGMENTS, ..Limits::DEFAULT };
    let mut fragments = Vec::new();
    for at in 0..FRAGMENTS - 1 {
        let opcode = if at == 0 { Opcode::Binary } else { Opcode::Continuation };
        Header { fin: false, compressed: false, opcode, mask: Some([0; 4]), length: 1 }
            .encode(&mut fragments);
        fragments.push(7);
    }
    let before = memory("VmRSS");
    let mut readers: Vec<MessageReader> = (0..64).map(|_| MessageReader::new(Side::Client, limits)).collect();
    for reader in &mut readers {
        for piece in fragments.chunks(4096) {
            reader.receive(piece);
            assert_eq!(reader.next_message(), Ok(None));
        }
    }
    let grown = memory("VmRSS").saturating_sub(before);
    // 64 times 64 KiB, and what a vector keeps to grow. As objects of 100 bytes they would be 430 MB. Other tests run beside this one.
    assert!(grown < 128 << 20, "{grown} bytes for 64 messages of {FRAGMENTS} fragments");
    for reader in &mut readers {
        let mut last = Vec::new();
        Header { fin: true, compressed: false, opcode: Opcode::Continuation, mask: Some([0; 4]), length: 1 }
            .encode(&mut last);
        last.push(7);
        reader.receive(&last);
        assert!(reader.next_message() == Ok(Some(Message::Binary(&[7; FRAGMENTS]))));
        assert!(reader.is_between_messages());
    }
}

#[test]
fn the_size_of_pongs_is_bounded_by_that_of_the_pings() {
    for payload in 0..=CONTROL_PAYLOAD_BYTES {
        for (role, key) in [(Role::Server, Some(KEY)), (Role::Client { mask_key: || KEY }, None)] {
            let (mut conn, mut pings) = (Connection::new(role, limits::CLIENT_MESSAGE_LIMITS), Vec::new());
            (0..50).for_each(|_| frame::write(&mut pings, Opcode::Ping, key, &vec![7; payload]));
            conn.receive(&pings);
            let mut heard = 0;
            while conn.next_event().expect("pings").is_some() {
                heard += 1;
            }
            assert_eq!(heard, 50);
            let mut output = Vec::new();
            conn.drain_output(&mut output);
            assert!(output.len() <= 3 * pings.len(), "{payload} bytes, {role:?}");
            let mut pong = Vec::new();
            let masked = matches!(role, Role::Client { .. }).then_some(KEY);
            frame::write(&mut pong, Opcode::Pong, masked, &vec![7; payload]);
            assert!(output == pong.repeat(50), "{payload} bytes, {role:?}: one pong a ping");
        }
    }
}

#[test]
fn no_offered_extension_is_accepted() {
    for offer in
        ["permessage-deflate", "permessage-deflate; client_max_window_bits", "x-webkit-deflate-frame, foo"]
    {
        let bytes = longest_head(&format!("Sec-WebSocket-Extensions: {offer}\r\n"));
        let head = read_in_pieces(&bytes, bytes.len()).expect("a whole head");
        let response = handshake::accept(&head, &[]).expect("an upgrade").response;
        let response = String::from_utf8(response).expect("ASCII").to_ascii_lowercase();
        assert!(!response.contains("extensions") && !response.contains("deflate"), "{response}");
    }
}
