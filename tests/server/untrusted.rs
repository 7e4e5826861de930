//! Text of a file or of a peer can neither control the terminal nor imitate a line of the program.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::{fs, thread};

use tickwire::capture::{self, Untrusted, WorldRecord};
use tickwire::internal::tools::capture::world_record;
use tickwire::internal::util::escape::is_hidden;
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::handshake;

use crate::replay::{File, one_step};

/// A text that clears the screen and forges a line.
const HOSTILE: &str = "x\u{1b}[2J\u{9b}2J\u{202e}\rFORGED same\nFORGED same\n";
/// Bytes of a capture's block before a packet, and at its end.
const BEFORE: usize = 28;

/// The lesson's capture, in whose records of the world `change` changes the texts.
fn changed(change: impl for<'a> Fn(&mut WorldRecord<'a>) -> bool, room: &str) -> Vec<u8> {
    let bytes = one_step();
    let capture = capture::read(&bytes).expect("a capture");
    let (mut out, mut from) = (Vec::new(), 0);
    for (packet, record) in capture.records() {
        let (_, mut record) = record.expect("a record");
        let name = if change(&mut record) || matches!(record, WorldRecord::Table { .. }) { "" } else { room };
        let mut own = Vec::new();
        world_record::encode(&mut own, name, &record);
        let at = packet.bytes.as_ptr() as usize - bytes.as_ptr() as usize;
        let begin = at - BEFORE;
        let old = u32::from_le_bytes(bytes[begin + 4..begin + 8].try_into().expect("four")) as usize;
        out.extend_from_slice(&bytes[from..begin]);
        from = begin + old;
        let (length, padded) = (own.len() as u32, own.len().next_multiple_of(4));
        own.resize(padded, 0);
        let block = (padded as u32 + 32).to_le_bytes();
        out.extend([&bytes[begin..begin + 4], &block, &bytes[begin + 8..begin + 20]].concat());
        out.extend([&length.to_le_bytes()[..], &length.to_le_bytes(), &own, &block].concat());
    }
    out.extend_from_slice(&bytes[from..]);
    out
}

/// Standard output and standard error of a command.
fn output(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tickwire")).args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("the program runs");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("text")
}

fn assert_harmless(text: &str, which: &str) {
    let hidden = text.chars().find(|ch| is_hidden(*ch) && *ch != '\n');
    assert_eq!(hidden, None, "{which}: {text:?}");
    assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{which}: {text:?}");
}

#[test]
fn text_of_a_capture_is_escaped_by_every_command_that_reads_captures() {
    let hostile = Untrusted::new(HOSTILE);
    let nothing = |_: &mut WorldRecord<'_>| false;
    let game = |record: &mut WorldRecord<'_>| {
        if let WorldRecord::Room { game, paths } = record {
            *game = hostile;
            paths.push((hostile, hostile));
        }
        false
    };
    let file = |record: &mut WorldRecord<'_>| {
        if let WorldRecord::Table { file, bytes, .. } = record {
            (*file, *bytes) = (hostile, b"x\x1b[2J\nFORGED same\n");
        }
        false
    };
    let option = |record: &mut WorldRecord<'_>| {
        if let WorldRecord::World { options, .. } = record {
            options.iter_mut().for_each(|(name, value)| (*name, *value) = (hostile, 9));
        }
        false
    };
    let address = |record: &mut WorldRecord<'_>| {
        if let WorldRecord::Join { address, .. } | WorldRecord::Client { address, .. } = record {
            *address = hostile;
        }
        false
    };
    let whole = File::new("untrusted-whole");
    fs::write(&whole.0, one_step()).expect("written");
    let whole = whole.0.to_str().expect("text");
    for (name, bytes) in [
        ("room", changed(nothing, HOSTILE)),
        ("game", changed(game, "")),
        ("game-in-room", changed(game, HOSTILE)),
        ("table", changed(file, "")),
        ("option", changed(option, HOSTILE)),
        ("address", changed(address, HOSTILE)),
    ] {
        let file = File::new(&format!("untrusted-{name}"));
        fs::write(&file.0, &bytes).expect("written");
        let path = file.0.to_str().expect("text");
        for command in [
            &["replay", path][..],
            &["replay", path, "--json"],
            &["replay", path, "--diff"],
            &["replay", path, "--bisect", path],
            &["replay", path, "--bisect", whole],
            &["explain", path],
            &["explain", path, "--json"],
            &["codes", "--codes", path],
        ] {
            assert_harmless(&output(command), &format!("{name}: {command:?}"));
        }
        // Nothing in it can be watched, so the command ends.
        if name == "game-in-room" {
            let text = output(&["replay", path, "--serve", "--bind", "127.0.0.1:0"]);
            assert!(text.contains("room x\\u001b[2J"), "{text}");
            assert_harmless(&text, name);
        }
    }
}

/// A server that upgrades each connection, and closes it with a hostile reason; to any other request it answers with a
/// hostile status line and body.
fn hostile_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let key = head.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
            let answer = match key {
                Some(key) if !head.contains("/refused") => {
                    let accept = handshake::accept_key(key);
                    let mut answer = format!(
                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                         Sec-WebSocket-Accept: {accept}\r\n\r\n"
                    )
                    .into_bytes();
                    let reason = [&3000_u16.to_be_bytes()[..], HOSTILE.as_bytes()].concat();
                    frame::write(&mut answer, Opcode::Close, None, &reason);
                    answer
                }
                _ => {
                    let body = format!("{{\"rooms\":[{{\"name\":\"\",\"game\":{HOSTILE:?}}}]}}{HOSTILE}");
                    let length = body.len();
                    format!("HTTP/1.1 403 x\u{9b}2J\u{202e}\r\nContent-Length: {length}\r\n\r\n{body}")
                        .into_bytes()
                }
            };
            let _ = stream.write_all(&answer);
        }
    });
    address.to_string()
}

#[test]
fn text_of_a_server_is_escaped_by_every_command_that_connects() {
    let address = hostile_server();
    let (url, refused) = (format!("ws://{address}/play"), format!("ws://{address}/refused"));
    for command in [
        &["connect", &url][..],
        &["connect", &url, "--full"],
        &["connect", &refused],
        &["connect", &refused, "--full"],
        &["echo", "--connect", &url],
        &["echo", "--connect", &refused],
        &["bots", &url, "--count", "1", "--seconds", "1"],
        &["bots", &url, "--count", "1", "--seconds", "1", "--json"],
        &["bots", &url, "--count", "2", "--seconds", "1", "--resume-rate", "1"],
        &["bots", &refused, "--count", "1", "--seconds", "1"],
    ] {
        assert_harmless(&output(command), &format!("{command:?}"));
    }
}
