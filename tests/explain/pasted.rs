//! `tickwire explain` with what people paste or save: text in a notation, payloads without frames,
//! HAR files, and gzip.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::notations::har_file;
use crate::rows::hex;

/// A file that is removed at the end.
struct OnDisk(PathBuf);

impl OnDisk {
    fn new(name: &str, contents: &[u8]) -> OnDisk {
        let path = std::env::temp_dir().join(format!("tickwire-pasted-{}-{name}", std::process::id()));
        std::fs::write(&path, contents).expect("written");
        OnDisk(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Whether the program ends well, its output and its errors.
fn explain(arguments: &[&str], stdin: &[u8]) -> (bool, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .env_remove("TICKWIRE_CODES")
        .arg("explain")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("piped");
    let _ = input.write_all(stdin);
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn the_notation_is_named_and_the_bytes_are_explained() {
    let hello = "> text, masked, 5 bytes: \"Hello\"\n";
    for (text, notation) in [
        ("818537fa213d7f9f4d5158", ""),
        ("gYU3+iE9f59NUVg=", "tickwire: read as Base64\n"),
        (r#"b"\x81\x857\xfa!=\x7f\x9fMQX""#, "tickwire: read as text with escapes\n"),
        ("[129, 133, 55, 250, 33, 61, 127, 159, 77, 81, 88]", "tickwire: read as numbers in brackets\n"),
        ("bytes.fromhex(\"818537fa213d7f9f4d5158\")", ""),
    ] {
        let expected = (true, hello.to_owned(), notation.to_owned());
        assert_eq!(explain(&["--line", text], b""), expected, "{text}");
        assert_eq!(explain(&["--line", "-"], text.as_bytes()), expected, "{text}");
    }
    let packet = "45000034000000004006000000c0000207c0000201";
    let (is_well, _, errors) = explain(&["--line", packet], b"");
    assert!(is_well && errors.is_empty(), "a packet without data: {errors}");
}

#[test]
fn a_payload_without_a_frame_is_explained_as_a_message() {
    let line = "> binary message, 10 bytes: move sequence=17 tick=1200 direction=16384\n";
    let note = "tickwire: no frame header: these bytes are the payload of a message in the dialect native (--dialect and --from if not)\n";
    let pasted = "92 03 93 11 cd 04 b0 cd 40 00";
    assert_eq!(explain(&["--line", pasted], b""), (true, line.to_owned(), note.to_owned()));
    assert_eq!(explain(&["--line", "--message", pasted], b""), (true, line.to_owned(), String::new()));
    let (_, out, _) = explain(&["--line", "--from", "server", "92 a2 7070 90"], b"");
    assert_eq!(out, "< binary message, 5 bytes: pong\n", "of the dialect legacy, from the server");
    let (_, out, errors) = explain(&["--line", r#"["move",[17,1200,16384]]"#], b"");
    assert_eq!(out, "> text message, 24 bytes: move sequence=17 tick=1200 direction=16384\n");
    assert!(errors.contains("JSON"), "{errors}");
    // With a dialect, a payload of another one is a broken frame.
    let (_, out, _) = explain(&["--line", "--dialect", "native", "92 a2 7070 90"], b"");
    assert!(out.contains("reserved_bit"), "{out}");
    let (_, json, _) = explain(&["--json", pasted], b"");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let frame = &json["frames"][0];
    assert_eq!((&frame["kind"], &frame["opcode"]), (&"message".into(), &"binary".into()));
    assert_eq!((&frame["masked"], &frame["packet"]), (&serde_json::Value::Null, &"move".into()));
    let (_, report, _) = explain(&[pasted], b"");
    assert!(report.contains("Packet move to the server") && !report.contains("fin"), "{report}");
}

#[test]
fn a_har_file_is_explained_message_by_message() {
    let messages = r#"{"type":"receive","time":1700000000.75,"opcode":2,"data":"kgeSCQU="},
        {"type":"send","time":1700000000.5,"opcode":2,"data":"kgOTEc0EsM1AAA=="},
        {"type":"error","time":1700000001,"opcode":-1,"data":"closed"}"#;
    let file = har_file("ws://localhost:3000/play?x=1", messages);
    let expected = "3 messages, 1 WebSocket connection\n\
         a HAR file has messages, and no frame headers: no masking keys, fragments, pings or pongs\n\
         client 1: ws://localhost:3000/play?x=1\n\n message     seconds  client\n       \
         1    0.000000  1       > binary message, 10 bytes: move sequence=17 tick=1200 direction=16384\n       \
         2    0.250000  1       < binary message, 5 bytes: pong nonce=9 tick=5\n       \
         3    0.500000  1       ? the browser reported an error: \"closed\"\n";
    let plain = OnDisk::new("plain.har", file.as_bytes());
    let packed = OnDisk::new("packed.har.gz", &gzip(file.as_bytes()));
    for path in [plain.path(), packed.path()] {
        assert_eq!(explain(&[path], b""), (true, expected.to_owned(), String::new()));
    }
    let (_, out, _) = explain(&["--packet", "pong", "--json", plain.path()], b"");
    let json: serde_json::Value = serde_json::from_str(&out).expect("one line");
    assert_eq!((&json["message"], &json["client"]), (&2.into(), &1.into()));
    let (_, filtered, _) = explain(&["--filter", "nonce > 8", "--json", plain.path()], b"");
    assert_eq!(filtered, out);
    let (_, out, _) = explain(&["--full", "--packet", "move", plain.path()], b"");
    assert!(out.contains("message 1, 0.000000 s, client 1: 10 bytes from a client"), "{out}");
    let (is_well, _, errors) = explain(&["--packet", "chat", plain.path()], b"");
    assert!(!is_well && errors.contains("no packet or message \"chat\""), "{errors}");
    let (is_well, _, errors) = explain(&["--client", "2", plain.path()], b"");
    assert!(!is_well && errors.contains("no connection 2"), "{errors}");
    let foreign = har_file("wss://example.org/feed", messages);
    let (_, out, _) = explain(&["-"], foreign.as_bytes());
    assert!(out.contains("> binary message, 10 bytes: MessagePack [3,[17,1200,16384]]"), "{out}");
}

#[test]
fn gzip_is_decompressed_within_the_limits() {
    let capture = std::fs::read("docs/lessons/one-step.pcapng").expect("committed");
    let (_, expected, _) = explain(&["-"], &capture);
    let packed = OnDisk::new("packed.pcapng.gz", &gzip(&capture));
    assert_eq!(explain(&[packed.path()], b""), (true, expected.clone(), String::new()));
    assert_eq!(explain(&["-"], &gzip(&capture)), (true, expected, String::new()));
    let (_, out, _) = explain(&["--line", "-"], &gzip(&hex::bytes("8100")));
    assert_eq!(out, "< text, 0 bytes: \"\"\n");
    let whole = gzip(&capture);
    for damaged in [&whole[..whole.len() / 2], &[&whole[..20], &[0xff; 40]].concat()] {
        let (is_well, out, errors) = explain(&["-"], damaged);
        assert!(!is_well && out.is_empty() && errors.contains("the gzip data is damaged"), "{errors}");
    }
    // A kilobyte that becomes a gigabyte.
    let bomb = gzip(&vec![b'\n'; 9 << 20]);
    let (is_well, _, errors) = explain(&["-"], &bomb);
    assert!(!is_well && errors.contains("longer than the maximum of 8 MiB"), "{errors}");
}

#[test]
fn deflate_assumes_an_agreement_on_compression() {
    let compressed = "c107f248cdc9c90700";
    let line = "< text, compressed, 7 bytes: inflated 5 bytes: \"Hello\"\n";
    assert_eq!(explain(&["--line", "--deflate", compressed], b""), (true, line.to_owned(), String::new()));
    let lines = "> c187 00000000 f248cdc9c90700\n> c185 00000000 f200110000\n< 8100\n";
    let (is_good, output, _) = explain(&["--line", "--deflate", "-"], lines.as_bytes());
    let hello = |bytes| format!("> text, compressed, masked, {bytes} bytes: inflated 5 bytes: \"Hello\"\n");
    assert_eq!((is_good, output), (true, format!("{}{}< text, 0 bytes: \"\"\n", hello(7), hello(5))));
    let (is_good, _, error) = explain(&["--deflate", "docs/lessons/lessons.pcapng"], b"");
    assert!(!is_good && error.contains("this file has its own agreement"), "{error}");
}
