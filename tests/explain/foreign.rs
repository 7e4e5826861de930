//! Traffic of other protocols: plain HTTP, upgrades to other paths and subprotocols, and compressed messages. Only the RFCs count
//! there.

use tickwire::explain::{Conversation, Explanation, Problem};
use tickwire::packet::PacketTables;
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Opcode};

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const KEY_OF_MASK: [u8; 4] = [1, 2, 3, 4];

fn request(target: &str, more: &str) -> Vec<u8> {
    format!(
        "GET {target} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
    .into_bytes()
}

fn response(more: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n{more}\r\n"
    )
    .into_bytes()
}

/// A frame, masked if it is of a client.
fn frame_of(from: Side, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, (from == Side::Client).then_some(KEY_OF_MASK), payload);
    bytes
}

/// The line of each item, and the rules that are broken.
fn explained(pieces: &[(Side, Vec<u8>)]) -> (Vec<String>, Vec<&'static str>) {
    let codes = PacketTables::builtin();
    let native = codes.dialect("native").expect("built in");
    let run = |size: usize| {
        let mut conversation = Conversation::new(&codes, &native);
        let mut items: Vec<Explanation<'_>> = Vec::new();
        for (from, bytes) in pieces {
            bytes.chunks(size).for_each(|bytes| items.extend(conversation.receive(*from, bytes)));
        }
        items.extend([Side::Client, Side::Server].into_iter().flat_map(|side| conversation.finish(side)));
        assert!(items.iter().all(|item| item.encode().as_ref() == Some(&item.bytes)));
        let rules = items.iter().filter_map(|item| match item.problem() {
            Some(Problem::Violation { rule, .. }) => Some(*rule),
            _ => None,
        });
        let rules: Vec<_> = rules.collect();
        (items.iter().map(ToString::to_string).collect::<Vec<_>>(), rules)
    };
    let whole = run(usize::MAX);
    // A head that breaks a rule ends where it is broken.
    if whole.1.is_empty() {
        let is_long = pieces.iter().any(|(_, bytes)| bytes.len() > 4_000);
        assert_eq!(run(if is_long { 977 } else { 1 }), whole);
    }
    whole
}

/// Whether one of the lines ends with a text.
fn has(lines: &[String], end: &str) -> bool {
    lines.iter().any(|line| line.ends_with(end))
}

#[test]
fn messages_on_a_path_that_is_no_endpoint_are_no_packets() {
    let (client, server) = (Side::Client, Side::Server);
    for target in ["/socket.io/?EIO=4&transport=websocket", "/chat", "/r/a/chat"] {
        let (lines, rules) = explained(&[
            (client, request(target, "")),
            (server, response("")),
            (client, frame_of(client, Opcode::Text, b"2probe")),
            (client, frame_of(client, Opcode::Binary, &[1, 2, 3])),
            (client, frame_of(client, Opcode::Binary, &[0x93, 1, 0xa1, b'x', 0xc0])),
            (server, frame_of(server, Opcode::Binary, b"{\"a\":[1]}")),
            (server, frame_of(server, Opcode::Binary, &[0xff; 200])),
            (server, frame_of(server, Opcode::Binary, &vec![7; 40_000])),
        ]);
        assert_eq!(rules, [""; 0], "{target}: {lines:?}");
        assert!(lines[0].ends_with("asks for the upgrade to another protocol"), "{lines:?}");
        for end in ["\"2probe\"", ": 01 02 03", r#"MessagePack [1,"x",null]"#, r#"JSON {"a":[1]}"#] {
            assert!(has(&lines, end), "{end}: {lines:?}");
        }
    }
    // The keys of a map keep their order.
    let map = [0x82, 0xa1, b'b', 1, 0xa1, b'a', 2];
    let (lines, _) = explained(&[
        (client, request("/chat", "")),
        (server, response("")),
        (client, frame_of(client, Opcode::Binary, &map)),
    ]);
    assert!(has(&lines, r#"MessagePack {"b":1,"a":2}"#), "{lines:?}");
    // What breaks RFC 6455 is still said.
    let (_, rules) = explained(&[
        (client, request("/chat", "")),
        (server, response("")),
        (client, frame_of(client, Opcode::Text, &[0xff])),
    ]);
    assert_eq!(rules, ["text_not_utf8"]);
}

#[test]
fn json_at_the_path_of_all_servers_is_shown_as_json() {
    let (client, server) = (Side::Client, Side::Server);
    let (lines, rules) = explained(&[
        (client, request("/", "")),
        (server, response("")),
        (client, frame_of(client, Opcode::Text, br#"{"price":6.75}"#)),
        (server, frame_of(server, Opcode::Text, b"price")),
    ]);
    assert_eq!(rules, [""; 0], "{lines:?}");
    assert!(has(&lines, r#"JSON {"price":6.75}"#) && has(&lines, r#""price""#), "{lines:?}");
}

#[test]
fn message_pack_maps_with_numbers_as_keys_are_shown_with_their_keys() {
    let (client, server) = (Side::Client, Side::Server);
    // {1: "a", -1: {true: nil}, "k": [2]}
    let map = [0x83, 1, 0xa1, b'a', 0xff, 0x81, 0xc3, 0xc0, 0xa1, b'k', 0x91, 2];
    let twice = [0x82, 1, 1, 1, 1];
    let (lines, rules) = explained(&[
        (client, request("/chat", "")),
        (server, response("")),
        (client, frame_of(client, Opcode::Binary, &map)),
        (client, frame_of(client, Opcode::Binary, &twice)),
    ]);
    assert_eq!(rules, [""; 0], "{lines:?}");
    assert!(has(&lines, r#"MessagePack {1:"a",-1:{true:null},"k":[2]}"#), "{lines:?}");
    assert!(has(&lines, "82 01 01 01 01"), "a duplicate key: {lines:?}");
}

#[test]
fn a_subprotocol_decides_whose_messages_they_are() {
    let (client, server) = (Side::Client, Side::Server);
    let foreign = frame_of(client, Opcode::Binary, &[0x10, 0x0c, 0, 4]);
    for (target, offer, agreed, expected) in [
        ("/", "mqtt", Some("mqtt"), &[][..]),
        ("/play", "mqtt, tickwire.v1", Some("mqtt"), &[]),
        ("/play", "mqtt, tickwire.v1", Some("tickwire.v1"), &["packet_trailing_bytes"]),
        ("/mine", "tickwire.v1", Some("tickwire.v1"), &["packet_trailing_bytes"]),
        ("/play", "mqtt", None, &["packet_trailing_bytes"]),
        ("/chat", "mqtt", Some("wamp"), &["subprotocol_not_offered"]),
    ] {
        let agreed = agreed.map_or(String::new(), |name| format!("Sec-WebSocket-Protocol: {name}\r\n"));
        let (lines, rules) = explained(&[
            (client, request(target, &format!("Sec-WebSocket-Protocol: {offer}\r\n"))),
            (server, response(&agreed)),
            (client, foreign.clone()),
        ]);
        assert_eq!(rules, expected, "{target} {offer}: {lines:?}");
    }
}

#[test]
fn what_our_server_refuses_is_no_broken_rule_in_plain_http_nor_in_an_upgrade_to_another_protocol() {
    let (long, many) = ("x".repeat(45_000), "X-Y: 1\r\n".repeat(70));
    for head in [
        "POST /api HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
        "POST /api HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "DELETE /play HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        &format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
        &format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {long}\r\n\r\n"),
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"),
    ] {
        let (lines, rules) = explained(&[(Side::Client, head.into())]);
        assert_eq!((rules, lines.len()), (vec![], 1), "{head}");
        assert!(lines[0].ends_with("no upgrade"), "{lines:?}");
    }
    for (target, more) in [
        ("/chat", many.as_str()),
        ("/chat", &format!("Cookie: {long}\r\n")),
        (&format!("/chat?{long}"), ""),
        ("/chat", &format!("Sec-WebSocket-Protocol: {}\r\n", ["a"; 20].join(", "))),
    ] {
        let (lines, rules) = explained(&[
            (Side::Client, request(target, more)),
            (Side::Server, response("")),
            (Side::Server, frame_of(Side::Server, Opcode::Binary, &[1])),
        ]);
        assert_eq!((rules, lines.len()), (vec![], 3), "{target}: {lines:?}");
        let target = target.replace("/chat", "/play");
        let (lines, rules) = explained(&[(Side::Client, request(&target, more))]);
        assert_eq!(rules.len(), 1, "{target}: {lines:?}");
    }
    for head in ["HTTP/1.0 200 OK\r\nServer: x\r\n\r\n", &format!("HTTP/1.1 200 OK\r\n{many}\r\n")] {
        let (lines, rules) = explained(&[(Side::Server, head.into())]);
        assert_eq!((rules, lines.len()), (vec![], 1), "{head}: {lines:?}");
    }
    // The RFCs count.
    for (head, rule) in [
        ("GET / HTTP/1.1\r\n\r\n", "host_missing"),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", "space_before_colon"),
        ("GET / HTTP/1.1\nHost: a\n\n", "bare_line_feed"),
    ] {
        assert_eq!(explained(&[(Side::Client, head.into())]).1, [rule], "{head}");
    }
}

#[test]
fn compressed_messages_are_inflated_where_both_ends_agreed_on_compression() {
    let (client, server) = (Side::Client, Side::Server);
    let offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
    let agreed = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n";
    // RFC 7692 section 7.2.3.2: "Hello" once more, from the window of the client.
    let again = [0xf2, 0x00, 0x11, 0x00, 0x00];
    let with = |first: u8, mut bytes: Vec<u8>| {
        bytes[0] = first;
        bytes
    };
    // RFC 7692 section 7.2.3.1: "Hello", and in two fragments.
    let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let packet = [0x92, 4, 0x90];
    for target in ["/play", "/chat"] {
        let pieces = [
            (client, request(target, offer)),
            (server, response(agreed)),
            (client, with(0xc1, frame_of(client, Opcode::Text, &hello))),
            (server, with(0x41, frame_of(server, Opcode::Text, &hello[..3]))),
            (server, frame_of(server, Opcode::Ping, b"")),
            (server, frame_of(server, Opcode::Continuation, &hello[3..])),
            (client, with(0xc1, frame_of(client, Opcode::Text, &again))),
            (client, frame_of(client, Opcode::Binary, &packet)),
            (server, frame_of(server, Opcode::Close, &[0x03, 0xe8])),
        ];
        let (lines, rules) = explained(&pieces);
        // The messages are read by the rules of the path: a game has no texts.
        let text = "wrong_frame_type";
        let expected = if target == "/play" { vec![text, text, text, "wrong_arguments"] } else { vec![] };
        assert_eq!((rules, lines.len()), (expected, pieces.len()), "{lines:?}");
        let shown =
            if target == "/play" { "wrong_frame_type (PROTOCOL.md), close 1003" } else { "\"Hello\"" };
        for (at, line) in [
            (2, "text, compressed, masked, 7 bytes: inflated 5 bytes: "),
            (5, "continuation, 4 bytes: ends a text message, 2 frames, 7 bytes, inflated 5 bytes: "),
            (6, "text, compressed, masked, 5 bytes: inflated 5 bytes: "),
        ] {
            assert!(lines[at].starts_with(line) && lines[at].contains(shown), "{}", lines[at]);
        }
        assert_eq!(lines[3], "text, not the last, compressed, 3 bytes: compressed, f2 48 cd");
        assert!(!lines[7].contains("compressed"), "{}", lines[7]);
    }
    // RSV1 is for the first frame of a message, RSV2 for another extension.
    for (first, opcode) in [(0xc9, Opcode::Ping), (0xc0, Opcode::Continuation), (0xa2, Opcode::Binary)] {
        let (_, rules) = explained(&[
            (client, request("/play", offer)),
            (server, response(agreed)),
            (client, with(first, frame_of(client, opcode, b"x"))),
        ]);
        assert_eq!(rules, ["reserved_bit"], "{first:02x}");
    }
    for (offer, agreed, frame, expected) in [
        ("", agreed, 0xc2, &["extension_not_offered"][..]),
        (offer, "", 0xc2, &["reserved_bit"]),
        (offer, "Sec-WebSocket-Extensions: x-other\r\n", 0xc2, &["extension_not_offered"]),
        ("Sec-WebSocket-Extensions: x-other\r\n", "Sec-WebSocket-Extensions: x-other\r\n", 0xb2, &[]),
    ] {
        let (lines, rules) = explained(&[
            (client, request("/play", offer)),
            (server, response(agreed)),
            (server, with(frame, frame_of(server, Opcode::Binary, b"x"))),
        ]);
        assert_eq!(rules, expected, "{offer} {agreed}: {lines:?}");
    }
}

#[test]
fn text_with_a_byte_order_mark_is_read_as_the_text_that_it_is() {
    use tickwire::internal::tools::explain::input::{Input, InputContent, InputPiece, Notation, read};
    let text = "> 81 80 00 00 00 00\n< 81 00\n";
    let expected = read(text.as_bytes()).expect("hexadecimal");
    assert!(matches!(&expected.content, InputContent::Pieces(pieces) if pieces.len() == 2));
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for marked in [
        [&b"\xef\xbb\xbf"[..], text.as_bytes()].concat(),
        [b"\xff\xfe", &little[..]].concat(),
        [b"\xfe\xff", &big[..]].concat(),
    ] {
        assert_eq!(read(&marked).as_ref(), Ok(&expected), "{marked:02x?}");
    }
    assert_eq!(
        read(b"\xff\xfez\0\xff").expect_err("no hexadecimal"),
        "line 1, column 1: 'z' is not a hexadecimal digit, and the text is no dump, list of bytes, escaped text or Base64"
    );
    assert!(read(b"\xff\xfe\0\xd8").expect_err("half a pair").contains("UTF-16"));
    let pieces = vec![InputPiece { from: None, bytes: vec![0x82, 0xff, 0xfe] }];
    let raw = Input { notation: Notation::Bytes, content: InputContent::Pieces(pieces) };
    assert_eq!(read(&[0x82, 0xff, 0xfe]), Ok(raw));
}
