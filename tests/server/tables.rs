//! A server with other packet tables: everything that reads packets follows them, from the capture
//! alone where there is one.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tickwire::capture;
use tickwire::game::Game as _;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::packet::tables_json;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::tools::inspector::opening;
use tickwire::packet::PacketTables;

use crate::program::tickwire;
use crate::raw::Raw;
use crate::replay::File;
use crate::tables_of::others;

/// A directory with the other tables; removed when dropped.
struct Tables(PathBuf);

impl Tables {
    fn new(name: &str) -> Tables {
        let directory =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tables-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        for (file, text) in others() {
            fs::write(directory.join(file), text).expect("written");
        }
        Tables(directory)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn server() -> ServerHandle {
    let codes = Arc::new(PacketTables::from_texts(&others()).expect("good tables"));
    (Moo::INFO.check)(&codes).expect("a server can serve them");
    ServerHandle::start(ServerConfig {
        codes,
        ..ServerConfig::new("127.0.0.1:0".parse().expect("an address"))
    })
    .expect("a free port")
}

/// What the program prints, with its errors, and its exit status.
fn run(arguments: &[&str]) -> (String, Option<i32>) {
    let Output { status, stdout, stderr } =
        tickwire(arguments).stdin(Stdio::null()).output().expect("the program runs");
    (String::from_utf8([stdout, stderr].concat()).expect("text"), status.code())
}

/// Bots of several dialects at a server with the other tables, and the capture of what they said.
fn recorded(tables: &Tables, file: &File) {
    let server = server();
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let url = format!("ws://{}", server.address());
    let bots = [
        "bots",
        "--codes",
        tables.path(),
        "--play",
        "--count",
        "6",
        "--seconds",
        "2",
        "--dialect",
        "native,legacy,letters",
        &url,
    ];
    let (text, status) = run(&bots);
    assert_eq!(status, Some(0), "{text}");
    assert_eq!(server.stop(), 0);
}

#[test]
fn bots_talk_wire_and_the_list_for_the_page_follow_the_tables_of_the_server() {
    let (tables, server) = (Tables::new("live"), server());
    let url = format!("ws://{}", server.address());
    let (text, status) = run(&["bots", "--count", "2", "--seconds", "1", &url]);
    assert_ne!(status, Some(0), "with the built-in tables nobody can play: {text}");
    let bots = [
        "bots",
        "--codes",
        tables.path(),
        "--count",
        "4",
        "--seconds",
        "1",
        "--dialect",
        "native,letters",
        &url,
    ];
    let (text, status) = run(&bots);
    assert_eq!(status, Some(0), "{text}");

    let mut talk =
        tickwire(&["connect", "--codes", tables.path(), &url]).spawn().expect("the program starts");
    let script = "hello version=1 mode=1 name=ann\nexpect spawned 20\nping nonce=7\nexpect pong 20\nquit\n";
    talk.stdin.take().expect("piped").write_all(script.as_bytes()).expect("written");
    let Output { status, stdout, .. } = talk.wait_with_output().expect("it ends");
    let text = String::from_utf8(stdout).expect("text");
    assert!(status.success() && text.contains("pong nonce=7"), "{text}");
    assert!(!text.contains("unknown_code") && !text.contains("wrong_arguments"), "{text}");

    let codes = PacketTables::from_texts(&others()).expect("good tables");
    let mut page = TcpStream::connect(server.address()).expect("a connection");
    page.write_all(b"GET /codes.json HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut answer = String::new();
    page.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("Content-Type: application/json"), "{head}");
    assert_eq!(body, tables_json::tables_json_lines(&codes, &[]));
    let mut wire = Raw::connect(server.address(), "/wire?");
    wire.read_until(b"moved:[player:u32,");
    assert!(!wire.heard.windows(4).any(|four| four == b"/tab"), "no directory of the server is told");
    server.stop();
}

#[test]
fn explain_and_replay_use_the_tables_of_a_capture_and_refuse_others() {
    let (tables, file) = (Tables::new("capture"), File::new("tables"));
    recorded(&tables, &file);
    let path = file.0.to_str().expect("text");

    let (text, status) = run(&["explain", "--json", path]);
    assert_eq!(status, Some(0), "{text}");
    for name in ["\"welcome\"", "\"update\"", "\"enter_game\"", "\"update_players\"", "\"move\""] {
        assert!(text.contains(name), "{name} is not in the explanation");
    }
    assert!(!text.contains("unknown_code") && !text.contains("wrong_arguments"), "{text}");

    let (text, status) = run(&["replay", path]);
    assert_eq!((text.ends_with("same\n"), status), (true, Some(0)), "{text}");
    let report = tickwire::internal::tools::replay::json::of_file(
        &fs::read(&file.0).expect("the file"),
        tickwire::internal::games::INFO,
        None,
    );
    assert_eq!(report.expect("a capture")["verdict"], "same");
    let (text, status) = run(&["replay", "--codes", tables.path(), path]);
    assert_eq!(status, Some(0), "the same tables may be named: {text}");

    let builtin = Path::new(env!("CARGO_MANIFEST_DIR")).join("packet_codes");
    let builtin = builtin.to_str().expect("text");
    for (command, expected) in [("replay", 2), ("explain", 1)] {
        let (text, status) = run(&[command, "--codes", builtin, path]);
        assert_eq!(status, Some(expected), "{text}");
        assert!(
            text.contains("carries packet tables of its own, which differ from the given ones"),
            "{text}"
        );
    }
    let (text, _) = run(&["replay", "--json", "--codes", builtin, path]);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["verdict"], "not replayable");
}

#[test]
fn the_inspector_opens_a_capture_by_its_own_tables() {
    let (tables, file) = (Tables::new("open"), File::new("tables-open"));
    recorded(&tables, &file);
    let bytes = fs::read(&file.0).expect("the file");
    let mut opened = opening::open(bytes).expect("a capture");
    while opened.advance(1 << 20) {}
    let summary = opened.summary_json();
    let connections = summary["connections"].as_array().expect("connections");
    assert_eq!(connections.len(), 6, "{summary}");
    for connection in connections {
        assert_eq!(connection["broken"], 0, "{connection}");
    }
    let rows = opened.list().rows(0, 100_000).to_string();
    assert!(rows.contains("\"welcome\"") && rows.contains("\"update_players\""), "{rows}");
}

#[test]
fn a_capture_brings_the_dissector_for_its_tables() {
    let (tables, file) = (Tables::new("tshark"), File::new("tables-tshark"));
    recorded(&tables, &file);
    let path = file.0.to_str().expect("text");
    let (own, status) = run(&["codes", "--codes", path, "--format", "wireshark"]);
    assert_eq!(status, Some(0), "{own}");
    assert_eq!(run(&["codes", "--codes", tables.path(), "--format", "wireshark"]).0, own);
    assert!(own.contains("moved:[player:u32,"), "the tables of the capture");

    let lua = Tables::new("lua");
    let script = lua.0.join("own.lua");
    fs::write(&script, &own).expect("written");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/wireshark/tickwire.lua");
    let tshark = |script: &Path, more: &[&str]| {
        let option = format!("lua_script:{}", script.display());
        let mut command = Command::new("tshark");
        command.env("HOME", &lua.0).env("XDG_CONFIG_HOME", &lua.0).args(["-n", "-X", &option, "-r", path]);
        let done = command.args(more).output().ok()?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let Some(packets) = tshark(&script, &["-Y", "tickwire", "-T", "fields", "-e", "tickwire.packet"]) else {
        println!("tshark is not installed: not tried");
        return;
    };
    let names: Vec<&str> = packets.split([',', '\n']).collect();
    for name in ["welcome", "update", "update_players", "enter_game", "move"] {
        assert!(names.contains(&name), "{name}");
    }
    assert!(!names.contains(&"unknown") && !names.contains(&"malformed"), "a packet is not read");
    let rules = tshark(&script, &["-Y", "tickwire.rule || tickwire.world.expert.tables"]);
    assert_eq!(rules.as_deref(), Some(""), "nothing is wrong");
    let told = tshark(&shipped, &["-Y", "tickwire.world.expert.tables"]).expect("it has run");
    assert!(told.contains("tickwire codes --codes FILE --format wireshark"), "{told}");
}

#[test]
fn a_capture_carries_its_tables_in_front_and_each_file_of_it_does() {
    let (tables, file) = (Tables::new("front"), File::new("tables-front"));
    recorded(&tables, &file);
    let bytes = fs::read(&file.0).expect("the file");
    let capture = capture::read(&bytes).expect("a capture");
    assert_eq!(capture.tables(), Ok(Some(others())));
    let first: Vec<_> = capture.records().take(3).map(|(packet, _)| packet.number).collect();
    assert_eq!(first, [1, 2, 3], "the records come before the connections");
}
