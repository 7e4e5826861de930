//! How a connection handles valid and invalid frames: the rows of `rows/frames*.rs`, each in both
//! directions if both ends may send it; whole, one byte at a time, split at seeded positions, and
//! split in two at every position.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use crate::rows::frames::{FROM_CLIENT, FROM_SERVER, KEY, Row, UNFINISHED, both_sides, masked};
use crate::rows::frames_limits::{LONG, LONG_LIMITS};
use crate::rows::{frames_deflate, hex, pieces};
use tickwire::internal::limits;
use tickwire::ws::extension::{DeflateParameters, SenderParameters};
use tickwire::ws::message::{Message, MessageReader};
use tickwire::ws::{CloseCode, Connection, Event, Limits, Role, Side, Violation, frame};

fn conn_that_hears(from: Side, limits: Limits) -> Connection {
    match from {
        Side::Client => Connection::new(Role::Server, limits),
        Side::Server => Connection::new(Role::Client { mask_key: || KEY }, limits),
    }
}

/// As [`conn_that_hears`], after an agreement on compression.
fn compressed_conn(from: Side, limits: Limits) -> Connection {
    let mut conn = conn_that_hears(from, limits);
    let sender = SenderParameters { context_takeover: true, window_bits: 15 };
    conn.enable_compression(DeflateParameters { server: sender, client: sender }, 0);
    conn
}

/// Creates a connection that receives from a side.
type NewConnection = fn(Side, Limits) -> Connection;

fn bytes_of(frames: &str, from: Side) -> Vec<u8> {
    match from {
        Side::Client => masked(frames),
        Side::Server => hex::frames(frames).concat(),
    }
}

fn print(event: Event<'_>) -> String {
    match event {
        Event::Text(text) => format!("text:{text}"),
        Event::Binary(payload) => format!("binary:{payload:02x?}"),
        Event::Ping(payload) => format!("ping:{payload:02x?}"),
        Event::Pong(payload) => format!("pong:{payload:02x?}"),
        Event::Close { code: None, .. } => "close".to_owned(),
        Event::Close { code: Some(code), reason } => format!("close:{}:{reason}", code.get()),
        Event::Eof { clean } => format!("eof:{clean}"),
    }
}

/// The event of a row as [`print`] prints it.
fn written(event: &str) -> String {
    let (kind, payload) = event.split_once(':').unwrap_or((event, ""));
    match (kind, payload.split_once(':')) {
        ("binary" | "ping" | "pong", _) => format!("{kind}:{:02x?}", hex::bytes(payload)),
        ("text", _) if payload.starts_with('*') => {
            format!("text:{}", "a".repeat(payload[1..].parse().expect("a number after the star")))
        }
        ("close", None) if payload.is_empty() => event.to_owned(),
        ("close", None) => format!("{event}:"),
        ("close", Some((code, reason))) if reason.contains('*') => {
            format!("close:{code}:{}", String::from_utf8(hex::bytes(reason)).unwrap())
        }
        _ => event.to_owned(),
    }
}

/// What the connection must send: a pong for each ping, the answer to a close, and the rule that was broken.
fn expected_output(row: &Row) -> Vec<String> {
    let mut output: Vec<String> = row.2.iter().filter_map(|event| answer(&written(event))).collect();
    if let Some(violation) = row.3 {
        let code = violation.close_code().expect("a rule of frames has a close code");
        output.push(format!("close:{}:{}", code.get(), violation.name()));
    }
    output
}

fn answer(event: &str) -> Option<String> {
    match event.split_once(':') {
        Some(("ping", payload)) => Some(format!("pong:{payload}")),
        Some(("close", rest)) => Some(format!("close:{}:", rest.split(':').next().unwrap())),
        None => Some("close".to_owned()),
        _ => None,
    }
}

/// Feeds the pieces and drains after each, as a driver does.
fn replay<'a>(
    from: Side,
    mut conn: Connection,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<String>, Option<Violation>, Vec<String>, Connection) {
    let (mut events, mut broken, mut output) = (Vec::new(), None, Vec::new());
    for piece in pieces {
        conn.receive(piece);
        loop {
            match conn.next_event() {
                Ok(Some(event)) => events.push(print(event)),
                Ok(None) => break,
                Err(violation) => assert_eq!(broken.replace(violation), None, "told once"),
            }
        }
        let (had_output, before) = (conn.has_output(), output.len());
        conn.drain_output(&mut output);
        assert_eq!(had_output, output.len() > before);
        assert!(!conn.has_output());
    }
    let side = if from == Side::Client { Side::Server } else { Side::Client };
    (events, broken, decode_output(side, &output), conn)
}

/// What was sent, read by the other end.
fn decode_output(from: Side, output: &[u8]) -> Vec<String> {
    let mut reader = MessageReader::new(from, LONG_LIMITS);
    reader.receive(output);
    let mut printed = Vec::new();
    while let Some(message) = reader.next_message().expect("we send no broken frames") {
        printed.push(match message {
            Message::Pong(payload) => format!("pong:{payload:02x?}"),
            Message::Close(close) => print(Event::Close { code: close.code, reason: close.reason }),
            other => panic!("sent by itself: {other:?}"),
        });
    }
    printed
}

fn check(row: &Row, from: Side, limits: Limits, bytes: &[u8]) {
    check_with(row, from, limits, bytes, conn_that_hears);
}

fn check_with(row: &Row, from: Side, limits: Limits, bytes: &[u8], new: NewConnection) {
    let expected: Vec<String> = row.2.iter().map(|event| written(event)).collect();
    let closed = row.2.iter().any(|event| event.starts_with("close"));
    let check = |how: &str, pieces: &mut dyn Iterator<Item = &[u8]>| {
        let (events, broken, output, mut conn) = replay(from, new(from, limits), pieces);
        let name = row.0;
        assert!(events == expected, "{name}, from {from:?}, {how}: {events:?}");
        assert_eq!(broken, row.3, "{name}, from {from:?}, {how}");
        assert!(output == expected_output(row), "{name}, from {from:?}, {how}: sent {output:?}");
        assert_eq!(conn.is_finished(), closed || broken.is_some(), "{name}");
        conn.receive_eof();
        assert_eq!(conn.next_event(), Ok(Some(Event::Eof { clean: closed })), "{name}");
        assert_eq!(conn.next_event(), Ok(None), "{name}: the end is told once");
    };
    for (how, pieces) in pieces::ways(bytes, pieces::seed()) {
        check(&how, &mut pieces.into_iter());
    }
    if bytes.len() < 300 {
        for cut in 1..bytes.len() {
            let (front, back) = bytes.split_at(cut);
            check(&format!("cut at {cut}"), &mut [front, back].into_iter());
        }
    }
}

#[test]
fn each_row_of_both_sides_in_both_directions() {
    let mut count = 0;
    let with_limits = both_sides().map(|row| (row, limits::CLIENT_MESSAGE_LIMITS));
    for (row, limits) in with_limits.chain(LONG.iter().map(|row| (row, LONG_LIMITS))) {
        check(row, Side::Server, limits, &bytes_of(row.1, Side::Server));
        check(row, Side::Client, limits, &bytes_of(row.1, Side::Client));
        count += 1;
    }
    println!("{count} rows of frames, each in both directions");
    assert!(count >= 150, "{count}");
}

#[test]
fn each_row_of_compressed_messages_in_both_directions() {
    for row in frames_deflate::ROWS {
        for from in [Side::Client, Side::Server] {
            let bytes = bytes_of(row.1, from);
            check_with(row, from, limits::CLIENT_MESSAGE_LIMITS, &bytes, compressed_conn);
        }
    }
    println!("{} rows of compressed messages, each in both directions", frames_deflate::ROWS.len());
}

/// Uncompressed frames mean the same whether or not compression is agreed on. RSV1 does not.
#[test]
fn each_uncompressed_row_after_an_agreement_on_compression() {
    for row in both_sides().filter(|row| row.3 != Some(Violation::ReservedBit)) {
        for from in [Side::Client, Side::Server] {
            check_with(row, from, limits::CLIENT_MESSAGE_LIMITS, &bytes_of(row.1, from), compressed_conn);
        }
    }
}

/// Each message says whether it is compressed: short messages and noise are sent as they are.
#[test]
fn section_7692_7_2_1_messages_are_compressed_if_that_shortens_them() {
    let noise: Vec<u8> = (0..200u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let text = "again and again and again and again";
    for sender in [Side::Client, Side::Server] {
        let receiver = if sender == Side::Client { Side::Server } else { Side::Client };
        // A connection that hears the receiver is the sender.
        let (mut from, mut to) =
            (compressed_conn(receiver, LONG_LIMITS), compressed_conn(sender, LONG_LIMITS));
        for (message, is_compressed) in [("no", false), (text, true), (text, true)]
            .map(|(text, is)| (text.as_bytes(), is))
            .into_iter()
            .chain([(&*noise, false), (text.as_bytes(), true)])
        {
            let mut bytes = Vec::new();
            from.send_binary(message);
            from.drain_output(&mut bytes);
            assert_eq!(bytes[0], if is_compressed { 0xc2 } else { 0x82 }, "{message:?}");
            to.receive(&bytes);
            assert_eq!(to.next_event(), Ok(Some(Event::Binary(message))));
        }
        let mut bytes = Vec::new();
        from.send_ping(text.as_bytes());
        from.close(CloseCode::NORMAL, text);
        from.drain_output(&mut bytes);
        to.receive(&bytes);
        assert_eq!(to.next_event(), Ok(Some(Event::Ping(text.as_bytes()))));
        let code = Some(CloseCode::NORMAL);
        assert_eq!(to.next_event(), Ok(Some(Event::Close { code, reason: text })));
    }
}

#[test]
fn each_row_of_one_side_as_it_is() {
    let sides = [(FROM_CLIENT, Side::Client), (FROM_SERVER, Side::Server)];
    for (row, side) in sides.iter().flat_map(|(rows, side)| rows.iter().map(move |row| (row, *side))) {
        check(row, side, limits::CLIENT_MESSAGE_LIMITS, &hex::bytes(row.1));
    }
    println!("{} rows of frames that one side sends", FROM_CLIENT.len() + FROM_SERVER.len());
}

#[test]
fn unfinished_input_is_awaited() {
    for (name, frames) in UNFINISHED {
        for from in [Side::Client, Side::Server] {
            let bytes = bytes_of(frames, from);
            for (how, pieces) in pieces::ways(&bytes, pieces::seed()) {
                let (events, broken, output, mut conn) =
                    replay(from, conn_that_hears(from, limits::CLIENT_MESSAGE_LIMITS), pieces.into_iter());
                assert!(
                    events.is_empty() && broken.is_none() && output.is_empty(),
                    "{name}, from {from:?}, {how}"
                );
                assert!(!conn.is_between_messages() && !conn.is_finished(), "{name}, from {from:?}, {how}");
                conn.receive_eof();
                assert_eq!(conn.next_event(), Ok(Some(Event::Eof { clean: false })), "{name}");
            }
        }
    }
    println!("{} rows of frames without an end", UNFINISHED.len());
}

#[test]
fn whole_good_frames_encode_to_the_bytes_of_their_row() {
    let mut encoded = 0;
    for row in both_sides().chain(LONG).filter(|row| row.3.is_none()) {
        // A fragment comes out as part of something else, and what follows a close not at all.
        let frames = hex::frames(row.1);
        if frames.len() != row.2.len() {
            continue;
        }
        for (side, key) in [(Side::Server, None), (Side::Client, Some(KEY))] {
            let mut conn = conn_that_hears(side, LONG_LIMITS);
            let bytes = bytes_of(row.1, side);
            conn.receive(&bytes);
            let mut again = Vec::new();
            while let Some(event) = conn.next_event().expect(row.0) {
                write(&mut again, key, event);
                encoded += 1;
            }
            assert!(again == bytes, "{}", row.0);
            assert!(conn.is_between_messages(), "{}", row.0);
        }
    }
    assert!(encoded > 60, "{encoded}");
}

/// After our own close frame nothing more is sent, whatever the peer says: section 5.5.1.
#[test]
fn section_5_5_1_one_close_frame_and_nothing_after_it() {
    let rows: &[(&str, &str, Option<Violation>, bool)] = &[
        ("a message", "82 01 07", None, false),
        ("a ping", "89 00", None, false),
        ("the answer", "88 02 03e9", None, true),
        ("a ping and the answer", "89 01 07 | 88 02 03e9", None, true),
        ("a broken rule", "83 00", Some(Violation::ReservedOpcode), false),
        ("a broken answer", "88 01 03", Some(Violation::CloseOneByte), false),
    ];
    for &(name, frames, violation, clean) in rows {
        for from in [Side::Client, Side::Server] {
            let mut conn = conn_that_hears(from, limits::CLIENT_MESSAGE_LIMITS);
            conn.close(CloseCode::GOING_AWAY, "bye");
            conn.close(CloseCode::NORMAL, "again");
            conn.receive(&bytes_of(frames, from));
            let mut broken = None;
            loop {
                match conn.next_event() {
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(violation) => broken = Some(violation),
                }
            }
            conn.send_text("more");
            conn.send_ping(b"");
            let mut output = Vec::new();
            conn.drain_output(&mut output);
            let side = if from == Side::Client { Side::Server } else { Side::Client };
            assert_eq!(decode_output(side, &output), ["close:1001:bye"], "{name}, from {from:?}");
            assert_eq!(broken, violation, "{name}");
            assert_eq!(conn.is_finished(), clean || broken.is_some(), "{name}");
            conn.receive_eof();
            assert_eq!(conn.next_event(), Ok(Some(Event::Eof { clean })), "{name}");
        }
    }
}

/// Section 7.1.5: the other half of a broken rule is that its close frame ends what we send.
#[test]
fn nothing_is_sent_after_a_violation() {
    let mut conn = conn_that_hears(Side::Server, limits::CLIENT_MESSAGE_LIMITS);
    conn.receive(&hex::bytes("83 00"));
    assert_eq!(conn.next_event(), Err(Violation::ReservedOpcode));
    conn.send_binary(&[1]);
    conn.close(CloseCode::NORMAL, "");
    let mut output = Vec::new();
    conn.drain_output(&mut output);
    assert_eq!(decode_output(Side::Client, &output), ["close:1002:reserved_opcode"]);
}

/// Section 5.2: a header is at most 14 bytes long, and what a server sends has no key in it.
#[test]
fn section_5_2_headers_and_frames_as_they_are_written() {
    let header = |fin, length, mask| frame::Header {
        fin,
        compressed: false,
        opcode: frame::Opcode::Text,
        mask,
        length,
    };
    let written = |header: frame::Header| {
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        bytes
    };
    assert_eq!(written(header(true, (1 << 63) - 1, Some(KEY))).len(), frame::MAX_HEADER_BYTES);
    for (header, hex, line) in [
        (header(true, 1, None), "81 01", "text, 1 byte"),
        (header(false, 0, Some(KEY)), "01 80 37fa213d", "text, not the last, masked, 0 bytes"),
        (header(true, 126, None), "81 7e 007e", "text, 126 bytes"),
        (header(true, 65_536, Some(KEY)), "81 ff 0000000000010000 37fa213d", "text, masked, 65536 bytes"),
    ] {
        assert_eq!((written(header), header.to_string().as_str()), (hex::bytes(hex), line));
    }
    let mut bytes = vec![0xff];
    frame::write_text(&mut bytes, "hi");
    frame::write_binary(&mut bytes, &[7]);
    assert_eq!(bytes, hex::bytes("ff 81 02 6869 82 01 07"));
}

/// One line for each event, as logs show it: text of a stranger is escaped.
#[test]
fn events_print_themselves_in_one_line() {
    let code = CloseCode::new(1000);
    for (event, line) in [
        (Event::Text("a\n\u{1b}"), "text, 3 bytes, \"a\\n\\u{1b}\""),
        (Event::Binary(&[7]), "binary, 1 byte"),
        (Event::Ping(&[]), "ping, 0 bytes"),
        (Event::Pong(&[1, 2]), "pong, 2 bytes"),
        (Event::Close { code, reason: "\u{7}" }, "close 1000 normal, \"\\u{7}\""),
        (Event::Close { code: None, reason: "" }, "close without a code"),
        (Event::Eof { clean: true }, "end"),
        (Event::Eof { clean: false }, "end without a close frame"),
    ] {
        assert_eq!(event.to_string(), line);
    }
}

fn write(out: &mut Vec<u8>, key: Option<[u8; 4]>, event: Event<'_>) {
    use frame::Opcode;
    let mut body = Vec::new();
    let (opcode, payload) = match event {
        Event::Text(text) => (Opcode::Text, text.as_bytes()),
        Event::Binary(payload) => (Opcode::Binary, payload),
        Event::Ping(payload) => (Opcode::Ping, payload),
        Event::Pong(payload) => (Opcode::Pong, payload),
        Event::Close { code, reason } => {
            tickwire::ws::close::encode(code, reason, &mut body);
            (Opcode::Close, &body[..])
        }
        Event::Eof { .. } => panic!("no end was given"),
    };
    frame::write(out, opcode, key, payload);
}
