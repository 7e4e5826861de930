//! Streams: the upgrade of both sides, fragmented messages, captures that begin in the middle; and
//! the input and output of `tickwire explain` itself.

use crate::rows::hex;

use std::io::Write;
use std::process::{Command, Stdio};

use tickwire::explain::{self, Content, Conversation, Explanation, Problem};
use tickwire::game::CloseReason;
use tickwire::internal::tools::explain::color::ColorMode;
use tickwire::internal::tools::explain::input::{self, InputContent, InputPiece};
use tickwire::internal::tools::explain::print::streaming::{self, OutputFormat};
use tickwire::packet::PacketTables;
use tickwire::ws::Side;

/// The example of RFC 6455 section 1.3: the key, and the only right answer to it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

fn request(target: &str, more: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: localhost:3000\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
}

fn response(accept: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// What a conversation says, line by line, and the rules that are broken.
fn hear(pieces: &[(Side, &[u8])]) -> (Vec<String>, Vec<&'static str>) {
    let codes = PacketTables::builtin();
    let native = codes.dialect("native").expect("built in");
    let mut conversation = Conversation::new(&codes, &native);
    let mut items: Vec<Explanation<'_>> = Vec::new();
    for (from, bytes) in pieces {
        items.extend(conversation.receive(*from, bytes));
    }
    items.extend([Side::Client, Side::Server].into_iter().flat_map(|side| conversation.finish(side)));
    assert!(items.iter().all(|item| item.encode().as_ref() == Some(&item.bytes)));
    let rules = items.iter().filter_map(|item| match item.problem() {
        Some(Problem::Violation { rule, .. }) => Some(*rule),
        _ => None,
    });
    (items.iter().map(ToString::to_string).collect(), rules.collect())
}

#[test]
fn an_upgrade_is_followed_on_both_sides_and_its_path_selects_the_dialect() {
    let legacy = hex::bytes("82 05 92 a2 7070 90");
    for (target, line) in [("/", "pong"), ("/moomoo?x=1", "pong"), ("/play?dialect=legacy", "pong")] {
        let (lines, rules) = hear(&[
            (Side::Client, request(target, "").as_bytes()),
            (Side::Server, response(ACCEPT).as_bytes()),
            (Side::Server, &legacy),
        ]);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], format!("GET {target} HTTP/1.1, asks for the upgrade"));
        assert_eq!(lines[1], "HTTP/1.1 101 Switching Protocols, grants the upgrade");
        assert_eq!(lines[2], format!("binary, 5 bytes: {line}"));
        assert_eq!(rules, [""; 0]);
    }
}

#[test]
fn in_a_json_connection_a_text_has_to_be_a_packet() {
    let text = hex::bytes("81 02 6869");
    let ask = |target: &str| hear(&[(Side::Client, request(target, "").as_bytes()), (Side::Server, &text)]);
    assert_eq!(ask("/play?format=json").1, ["packet_bad_json"]);
    // Every server has this path, and that one is none of ours.
    for target in ["/", "/chat"] {
        assert_eq!(ask(target).1, [""; 0], "{target}");
    }
}

#[test]
fn a_message_of_the_other_kind_is_refused_and_the_next_one_is_read() {
    let rule = CloseReason::WrongFrameType;
    for (target, bytes) in [
        ("/play", "81 02 6869  82 05 9207920905"),
        ("/server", "01 01 68 80 01 69  82 04 92a03790"),
        ("/play?format=json", "82 05 9207920905  81 08 5b22706f6e67225d"),
    ] {
        let request = request(target, "");
        let bytes = hex::bytes(bytes);
        let (lines, rules) = hear(&[(Side::Client, request.as_bytes()), (Side::Server, &bytes)]);
        assert_eq!(rules.first(), Some(&rule.name()), "{target}: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains("not read")), "{target}: {lines:?}");
    }
    let request = request("/play", "");
    let (lines, _) = hear(&[
        (Side::Client, request.as_bytes()),
        (Side::Server, &hex::bytes("81 02 6869 82 05 9207920905")),
    ]);
    let answer = format!("close {}", rule.close_code());
    assert!(
        lines[1].contains("wrong_frame_type (PROTOCOL.md)") && lines[1].contains(&answer),
        "{}",
        lines[1]
    );
    assert_eq!(lines[2], "binary, 5 bytes: pong nonce=9 tick=5");
}

#[test]
fn each_header_is_explained_for_the_handshake() {
    let codes = PacketTables::builtin();
    let native = codes.dialect("native").expect("built in");
    let mut conversation = Conversation::new(&codes, &native);
    let asked = conversation.explain(Side::Client, request("/play", "").as_bytes());
    let tree = asked.tree();
    let key = tree.find("sec-websocket-key").expect("a key");
    assert!(key.value.contains(ACCEPT), "{}", key.value);
    assert_eq!(key.find("value").map(|node| node.value.as_str()), Some(KEY));
    assert_eq!(tree.find("target").map(|node| node.bytes()), Some(4..9));
    let answered = conversation.explain(Side::Server, response(ACCEPT).as_bytes());
    let accept = answered.tree().find("sec-websocket-accept").expect("an accept key").value.clone();
    assert!(accept.starts_with("right"), "{accept}");
}

#[test]
fn a_response_is_checked_against_the_key_of_the_request() {
    let wrong = response(KEY);
    let (lines, rules) =
        hear(&[(Side::Client, request("/", "").as_bytes()), (Side::Server, wrong.as_bytes())]);
    assert_eq!(rules, ["accept_wrong"]);
    assert!(lines[1].contains("RFC 6455 section 4.1"), "{}", lines[1]);
    // Without the request nobody can tell.
    assert_eq!(hear(&[(Side::Server, wrong.as_bytes())]).1, [""; 0]);
}

#[test]
fn a_request_that_breaks_a_rule_is_shown_with_its_place() {
    for (head, rule, place) in [
        (request("/", "").replace("13", "8"), "version_not_13", Some("sec-websocket-version")),
        (request("/", "").replace(KEY, "c2hvcnQ="), "key_malformed", Some("sec-websocket-key")),
        (request("/", "").replace("GET / HTTP/1.1", "GET / HTTP/2.0"), "http_version", Some("start_line")),
        (
            request("/", "").replace("GET / HTTP/1.1", "GET / HTTP/1.0"),
            "upgrade_in_http_1_0",
            Some("start_line"),
        ),
        (request("/", "").replace("Host: localhost:3000\r\n", ""), "host_missing", None),
        ("GET / HTTP/1.1\nHost: a\n".to_owned(), "bare_line_feed", None),
    ] {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let explanation = explain::explain(head.as_bytes(), &dialect, None);
        assert_eq!(explanation.from, Side::Client);
        let Some(Problem::Violation { rule: found, bits, answer, .. }) = explanation.problem() else {
            panic!("{head}")
        };
        assert_eq!(*found, rule);
        assert!(answer.starts_with("status "), "{answer}");
        let tree = explanation.tree();
        let expected = place.map_or(tree.bits.clone(), |name| tree.find(name).expect(name).bits.clone());
        assert_eq!(*bits, expected, "{rule}");
    }
}

#[test]
fn any_method_is_a_request_and_half_a_head_is_not_all_there() {
    let post = b"POST / HTTP/1.1\r\nHost: a\r\n\r\nhi";
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let explanation = explain::explain(post, &dialect, None);
    assert_eq!((explanation.from, explanation.problem()), (Side::Client, None));
    assert_eq!(explanation.frames[0].to_string(), "POST / HTTP/1.1, no upgrade");
    for half in ["G", "GE", "GET", "GET ", "GET / HT", "H", "HTTP", "HTTP/1.1 1", "P", "POST"] {
        let explanation = explain::explain(half.as_bytes(), &dialect, None);
        let from = if half.starts_with('H') { Side::Server } else { Side::Client };
        assert_eq!((explanation.from, explanation.frames.len()), (from, 1), "{half}");
        assert!(matches!(explanation.problem(), Some(Problem::Incomplete { .. })), "{half}: {explanation}");
    }
    // A server asks for nothing, and frames are not text.
    for (from, bytes) in [(Side::Server, &b"POST / HTTP/1.1"[..]), (Side::Client, b"A\x80\0\0\0\0")] {
        assert_eq!(hear(&[(from, bytes)]).1, ["reserved_bit"]);
    }
}

#[test]
fn a_page_is_not_an_upgrade_and_its_body_not_frames() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\x81\x02";
    let (lines, rules) = hear(&[(Side::Client, b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"), (Side::Server, page)]);
    assert_eq!(lines, ["GET /x HTTP/1.1, no upgrade", "HTTP/1.1 200 OK, no upgrade", "2 bytes not decoded"]);
    assert_eq!(rules, [""; 0]);
}

#[test]
fn a_last_fragment_is_explained_with_its_message() {
    // A pong packet of the native dialect in three frames, with a ping between them.
    let bytes = hex::bytes("02 02 9207 89 00 00 01 92 80 02 0905");
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let explanation = explain::explain(&bytes, &dialect, Some(Side::Server));
    let lines: Vec<String> = explanation.frames.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "binary, not the last, 2 bytes: 92 07",
            "ping, 0 bytes",
            "continuation, not the last, 1 byte: 92",
            "continuation, 2 bytes: ends a binary message, 3 frames, 5 bytes: pong nonce=9 tick=5",
        ]
    );
    let last = explanation.frames.last().expect("four frames");
    assert!(matches!(&last.content, Content::Packet(Some(row), _) if row.name == "pong"));
    let tick = last.message.as_ref().expect("a message").tree.find("tick").expect("an argument");
    assert_eq!((tick.bytes(), tick.value.as_str()), (4..5, "5 ticks"));
    let report = explanation.report();
    assert!(report.contains("The whole message, 5 bytes in 3 frames"), "{report}");
    let json: serde_json::Value = serde_json::from_str(&explanation.json()).expect("JSON");
    assert_eq!(json["frames"][3]["message"]["payload"], "9207920905");
    assert_eq!(json["frames"][3]["packet"], "pong");
}

#[test]
fn frames_that_may_not_follow_each_other_are_named() {
    for (bytes, rule) in [
        ("01 01 61 81 01 62", "message_interrupted"),
        ("81 01 61 80 01 62", "continuation_without_start"),
        ("01 02 61c3 00 01 61", "text_not_utf8"),
        ("01 02 61c3 80 00", "text_not_utf8"),
        ("01 01e2 80 01ff 81 01 61", "text_not_utf8"),
        ("81 02ff41 81 01 61", "text_not_utf8"),
        ("88 01 03 81 81", "close_one_byte"),
    ] {
        let bytes = hex::bytes(bytes);
        assert_eq!(hear(&[(Side::Server, &bytes)]).1, [rule]);
    }
    // Where the frames have their borders it goes on, whatever is in them.
    let (lines, rules) = hear(&[(Side::Server, &hex::bytes("82 01 c1 82 05 9207920905"))]);
    assert_eq!(rules, ["packet_reserved_byte"]);
    assert_eq!(lines[1], "binary, 5 bytes: pong nonce=9 tick=5");
    // Who comes in the middle does not know what was before.
    assert_eq!(hear(&[(Side::Server, &hex::bytes("80 01 62 81 01 61"))]).1, [""; 0]);
    let head = response(ACCEPT);
    let begun = [head.as_bytes(), &hex::bytes("80 01 62")].concat();
    assert_eq!(hear(&[(Side::Server, &begun)]).1, ["continuation_without_start"]);
}

#[test]
fn bytes_after_the_end_of_a_side_are_not_read() {
    for (bytes, lines) in [
        (
            "8102ff41 810161",
            &[
                "text, 2 bytes: text_not_utf8 (RFC 6455 section 8.1), close 1007 inconsistent data",
                "3 bytes not decoded",
            ][..],
        ),
        ("8801c1 810161", &["close, 1 byte: close_one_byte", "3 bytes not decoded"]),
        ("880203e8 810161 8101", &["close, 2 bytes: close 1000", "5 bytes not decoded, after the close"]),
        // What is only dropped or ignored ends nothing.
        ("8204 92a17a90 810161", &["binary, 4 bytes: unknown_code", "text, 1 byte: \"a\""]),
    ] {
        let (heard, _) = hear(&[(Side::Server, &hex::bytes(bytes))]);
        assert_eq!(heard.len(), lines.len(), "{heard:?}");
        assert!(heard.iter().zip(lines).all(|(heard, line)| heard.starts_with(line)), "{heard:?}");
    }
    // The other side is heard: it says what it makes of it.
    let pieces =
        [(Side::Client, "8182 00000000 ff41"), (Side::Server, "880203ef"), (Side::Client, "8980 00000000")];
    let pieces = pieces.map(|(from, bytes)| (from, hex::bytes(bytes)));
    let pieces: Vec<(Side, &[u8])> = pieces.iter().map(|(from, bytes)| (*from, &bytes[..])).collect();
    let (lines, rules) = hear(&pieces);
    assert_eq!((rules, &lines[2][..]), (vec!["text_not_utf8"], "6 bytes not decoded"));
    assert!(lines[1].contains("1007"), "{lines:?}");
}

#[test]
fn kinds_of_input_are_distinguished() {
    let piece = |from, bytes: &str| InputPiece { from, bytes: hex::bytes(bytes) };
    let (client, server) = (Some(Side::Client), Some(Side::Server));
    for (contents, pieces) in [
        (&b"81 05\n48:65"[..], vec![piece(None, "81054865")]),
        (
            b"# a remark\n> 8180 00000000\n\n< 8100\n  00\n",
            vec![piece(client, "818000000000"), piece(server, "810000")],
        ),
        (b"8185 37fa213d 7f9f4d5158 # Hello\n", vec![piece(None, "818537fa213d7f9f4d5158")]),
        (b"  # indented\n>\n  # one more\n< # both\n 8100\n<\n", vec![piece(server, "8100")]),
        (b"0x81,0x00", vec![piece(None, "8100")]),
        (b"\x81\x00", vec![piece(None, "8100")]),
        (b"GET / HTTP/1.1", vec![InputPiece { from: None, bytes: b"GET / HTTP/1.1".to_vec() }]),
    ] {
        let content = input::read(contents).map(|input| input.content);
        assert_eq!(content, Ok(InputContent::Pieces(pieces)), "{contents:?}");
        assert!(!input::is_capture(contents));
    }
    let error = input::read(b"81 00 # a ping?\n81 0g\n").expect_err("a letter");
    assert_eq!(
        error,
        "line 2, column 5: 'g' is not a hexadecimal digit, and the text is no dump, list of bytes, escaped text or Base64"
    );
    for contents in [&b""[..], b"\n", b"# nothing\n", b"818", b"> 8", b"<\n", b"hello"] {
        let error = input::read(contents).expect_err("no bytes");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(input::is_capture(b"\x0a\x0d\x0d\x0a\x1c\0\0\0"));
}

/// The program's output and errors, with this on standard input.
fn tickwire(arguments: &[&str], stdin: &[u8], no_color: bool) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    command.env_remove("TICKWIRE_CODES").env_remove("NO_COLOR");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let mut child = command
        .arg("explain")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(stdin).expect("the program reads");
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_reads_bytes_hexadecimal_and_both_sides() {
    let eleven = "818537fa213d7f9f4d5158";
    let expected = "> text, masked, 5 bytes: \"Hello\"\n";
    let run = |arguments: &[&str], stdin: &[u8]| {
        let (is_well, out, errors) = tickwire(arguments, stdin, false);
        assert!(is_well, "{errors}");
        out
    };
    assert_eq!(run(&["--line", eleven], b""), expected);
    assert_eq!(run(&["--line", "-"], eleven.as_bytes()), expected);
    assert_eq!(run(&["--line", "-"], &hex::bytes(eleven)), expected);
    let file = std::env::temp_dir().join(format!("tickwire-explain-{}.bin", std::process::id()));
    std::fs::write(&file, hex::bytes(eleven)).expect("written");
    assert_eq!(run(&["--line", file.to_str().expect("text")], b""), expected);
    std::fs::remove_file(&file).expect("removed");

    let both = format!("> {}\n> {eleven}\n< 8102 6869\n", explain::hex::print(request("/", "").as_bytes()));
    let lines = run(&["--line", "-"], both.as_bytes());
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1..], [expected.trim_end(), "< text, 2 bytes: \"hi\""]);
    let report = run(&["-"], both.as_bytes());
    assert!(report.contains("sec-websocket-key") && report.contains("Text: \"hi\""), "{report}");
    let json = run(&["--json", eleven], b"");
    let json: serde_json::Value = serde_json::from_str(&json).expect("one line of JSON");
    assert_eq!((json["from"].as_str(), json["frames"][0]["opcode"].as_str()), (Some("client"), Some("text")));
    assert_eq!(json["frames"][0]["tree"]["children"][4]["raw"], 1);
}

#[test]
fn colours_are_optional_and_do_not_change_the_text() {
    let broken = "8285 37fa213d a5f9b22cfa";
    let (_, plain, _) = tickwire(&[broken], b"", false);
    assert!(!plain.contains('\x1b'), "a pipe is no terminal");
    for (no_color, when) in [(false, "always"), (true, "always")] {
        let (_, coloured, _) = tickwire(&["--color", when, broken], b"", no_color);
        for ink in ["36", "33", "35", "32", "1;31"] {
            assert!(coloured.contains(&format!("\x1b[{ink}m")), "no {ink} in {coloured}");
        }
        assert_eq!(without_colours(&coloured), plain);
    }
    let (_, never, _) = tickwire(&["--color", "never", broken], b"", false);
    assert_eq!(never, plain);
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    let plain = parts.fold(first, |plain, part| plain + part.split_once('m').expect("an end").1);
    plain.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn unexplainable_input_is_refused_in_one_line() {
    for (arguments, stdin) in [
        (&["--dialect", "klingon", "8100"][..], &b""[..]),
        (&["8g"], b""),
        (&["-"], b""),
        (&["no/such/file.bin"], b""),
    ] {
        let (is_well, out, errors) = tickwire(arguments, stdin, false);
        assert!(!is_well && out.is_empty());
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn a_file_whose_name_has_no_dot_is_read_and_errors_name_it() {
    // The tests run where Cargo.lock is; a name without a point is one of a folder's files.
    let name = "LICENSE-MIT";
    assert!(std::path::Path::new(name).is_file());
    let (is_well, out, errors) = tickwire(&[name], b"", false);
    assert!(is_well && out.contains("bare_line_feed") && errors.is_empty(), "{out}{errors}");
    let (is_well, _, errors) = tickwire(&["rustfmt.toml"], b"", false);
    let error = "tickwire: rustfmt.toml: line 1, column ";
    assert!(!is_well && errors.starts_with(error), "{errors}");
    let (_, _, errors) = tickwire(&["no-such-file"], b"", false);
    assert!(!errors.contains("./"), "{errors}");
    let (_, one, _) = tickwire(&["8201c1"], b"", false);
    assert!(one.contains("1 byte of MessagePack"), "{one}");
}

#[test]
fn output_frame_by_frame_is_the_same_and_takes_little_memory() {
    let codes = PacketTables::builtin();
    let native = codes.dialect("native").expect("built in");
    let head = request("/?dialect=legacy", "");
    let frames = hex::bytes("8185 37fa213d 7f9f4d5158 8980 00000000 8285 37fa213d a5f9b22cfa");
    for bytes in [&[head.as_bytes(), &frames].concat()[..], &frames, &frames[..11], &frames[..4]] {
        let whole = Conversation::new(&codes, &native).explain(Side::Client, bytes);
        let lines: String = whole.frames.iter().map(|frame| format!("> {frame}\n")).collect();
        let forms = [
            (OutputFormat::Full, whole.report()),
            (OutputFormat::Json, whole.json() + "\n"),
            (OutputFormat::Line, lines),
        ];
        for (form, expected) in forms {
            let mut text = String::new();
            let begin = || Conversation::new(&codes, &native);
            streaming::write(begin, (Side::Client, bytes), (form, ColorMode::Plain), |part| text += part);
            assert_eq!(text, expected);
        }
    }
    // A hundred thousand frames in the space of a program that has nothing to do, and some: their trees would take 250 MB.
    let pings = explain::hex::print(&[0x89, 0].repeat(100_000));
    let limited = "ulimit -v 200000; exec \"$0\" explain --line --from server -";
    let mut child = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_tickwire")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || input.write_all(pings.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("no panic").expect("the program reads");
    assert!(output.status.success());
    assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 100_000);
}

#[test]
fn section_8_1_an_incomplete_text_is_rejected_at_its_first_invalid_byte() {
    let codes = PacketTables::builtin();
    let native = codes.dialect("native").expect("built in");
    for (bytes, is_refused) in [
        ("8185 00000000 f490", true),
        ("8185 00000000 f48f", false),
        ("0182 00000000 61e2 8083 00000000 28", true),
        ("0182 00000000 61e2 8083 00000000 82", false),
        ("0282 00000000 61e2 8083 00000000 28", false),
        ("8285 00000000 f490", false),
    ] {
        let mut conversation = Conversation::in_dialect(&native);
        conversation.start_after_upgrade(true);
        let explanation = conversation.explain(Side::Client, &hex::bytes(bytes));
        match explanation.problem().expect("it is incomplete") {
            Problem::Violation { rule, .. } => {
                assert!(is_refused && *rule == "text_not_utf8", "{bytes}: {rule}")
            }
            Problem::Incomplete { missing } => assert!(!is_refused && missing.is_some(), "{bytes}"),
        }
    }
}

#[test]
fn input_that_is_not_a_capture_has_a_size_limit() {
    let bound = usize::try_from(tickwire::internal::limits::EXPLAIN_PASTED_BYTES).expect("a few MiB");
    let file = std::env::temp_dir().join(format!("tickwire-explain-long-{}.hex", std::process::id()));
    std::fs::write(&file, b"\n".repeat(bound + 1)).expect("written");
    let (is_well, _, errors) = tickwire(&[file.to_str().expect("text")], b"", false);
    std::fs::remove_file(&file).expect("removed");
    assert!(!is_well && errors.contains("longer than the maximum of 8 MiB"), "{errors}");
}
