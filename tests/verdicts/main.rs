//! One verdict on a frame, whoever reads it: mutated frames of all dialects, each on a connection of
//! its own in a capture.
//!
//! ```text
//!   mutants ─► capture ─┬─► explain, native ──┬── the same frames, to the bit ── explain in WebAssembly (node)
//!                       └─► dissector (tshark)┤── the same rule, or packet and values
//!   the client's mutants ─► peer ─────────────┘── the same rule, and the close frame with its code and name
//! ```
//!
//! `TICKWIRE_FRAMES` mutants are made from `TICKWIRE_SEED`; `scripts/verdicts.sh` sets them. Node and
//! tshark run if `TICKWIRE_TOOLS` is set, as `scripts/test.sh` does.

mod datagrams;
mod mutants;
mod peer;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tickwire::capture::{self, TcpSide};
use tickwire::explain::capture_walk::{self, CaptureItemKind};
use tickwire::explain::{Content, hex};
use tickwire::internal::limits;
use tickwire::internal::tools::capture::writer::{CaptureWriter, TcpFlow};
use tickwire::packet::PacketTables;
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::{Side, handshake};

use mutants::{Mutant, Packets};

const TOOLS: &str = "TICKWIRE_TOOLS";
/// Mutants, unless `TICKWIRE_FRAMES` says otherwise.
const FRAMES: u64 = 4_000;
/// Mutants of one capture: a client's port tells its mutant.
const BATCH: u64 = 4_000;
const FIRST_PORT: u16 = 20_000;
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// `hello` of a client that watches: a native client begins with it.
const HELLO: &[u8] = b"\x92\x01\x92\x01\x00";
/// Differences that are printed of each pair.
const SHOWN: usize = 20;

/// What was compared of one pair of readers.
#[derive(Default)]
struct Tally {
    frames: usize,
    differences: usize,
    /// The first differences.
    shown: String,
}

impl Tally {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, mutant: &Mutant, found: &T, expected: &T) {
        self.frames += 1;
        if found == expected {
            return;
        }
        self.differences += 1;
        if self.differences <= SHOWN {
            let Mutant { dialect, is_json, from, bytes, .. } = mutant;
            let bytes = hex::digits(&bytes[..bytes.len().min(100)]);
            let [found, expected] = [found, expected].map(|value| format!("{value:?}").into_bytes());
            let same = found.iter().zip(&expected).take_while(|(one, other)| one == other).count();
            let [found, expected] = [found, expected].map(|text| {
                let until = text.len().min(same + 80);
                String::from_utf8_lossy(&text[same.saturating_sub(60)..until]).into_owned()
            });
            let place = format!("{dialect} json={is_json} {from:?} {bytes}");
            self.shown += &format!("{place}\n  found    …{found}\n  expected …{expected}\n");
        }
    }
}

/// The pieces of a connection: of which side, and the bytes.
fn pieces(mutant: &Mutant) -> Vec<(Side, Vec<u8>)> {
    let format = if mutant.is_json { "json" } else { "msgpack" };
    let target = format!("/play?dialect={}&format={format}", mutant.dialect);
    let accept = handshake::accept_key(KEY);
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    let mut pieces = vec![
        (Side::Client, handshake::request("localhost:3000", &target, KEY, &[])),
        (Side::Server, response.into_bytes()),
    ];
    if mutant.from == Side::Client && mutant.dialect == "native" {
        let mut hello = Vec::new();
        let (opcode, payload) =
            if mutant.is_json { (Opcode::Text, &b"[\"hello\",[1,0]]"[..]) } else { (Opcode::Binary, HELLO) };
        frame::write(&mut hello, opcode, Some([1, 2, 3, 4]), payload);
        pieces.push((Side::Client, hello));
    }
    let (one, two) = mutant.bytes.split_at(mutant.cut);
    let parts = [one, two].into_iter().filter(|part| !part.is_empty());
    pieces.extend(parts.map(|part| (mutant.from, part.to_vec())));
    pieces
}

/// A capture with a connection for each mutant, and the number of the first packet of each.
fn capture_of(mutants: &[Mutant]) -> (Vec<u8>, Vec<u64>) {
    let mut first_packets = Vec::new();
    let mut writer = CaptureWriter::new(Duration::from_secs(1_700_000_000));
    writer.begin(false);
    for (index, mutant) in mutants.iter().enumerate() {
        first_packets.push(writer.packets + 1);
        let at = (Duration::from_millis(index as u64), "");
        let client = SocketAddr::from(([192, 0, 2, 7], FIRST_PORT + index as u16));
        let ends = [client, SocketAddr::from(([192, 0, 2, 1], 3000))];
        let mut flow = TcpFlow::open(&mut writer, ends, [1000, 5000], at);
        for (from, bytes) in pieces(mutant) {
            let end = if from == Side::Client { TcpSide::Client } else { TcpSide::Server };
            flow.bytes(&mut writer, end, &bytes, at);
        }
        flow.end(&mut writer, TcpSide::Client, at);
    }
    (writer.blocks, first_packets)
}

/// What the native explainer says of a connection.
#[derive(Default)]
struct Explained {
    /// A line for each head and frame, as `tickwire explain --json` prints them.
    lines: Vec<String>,
    /// The frames of the mutant, with their places counted from its front.
    frames: Vec<Json>,
    /// How the connection should end.
    end: Option<peer::End>,
    is_broken: bool,
}

/// Explains a capture.
fn explain(file: &[u8], mutants: &[Mutant]) -> Vec<Explained> {
    let (codes, capture) = (PacketTables::builtin(), capture::read(file).expect("a capture"));
    let native = codes.dialects().find(|dialect| dialect.name() == "native").expect("built in");
    let mut all: Vec<Explained> = mutants.iter().map(|_| Explained::default()).collect();
    // Heads and the hello come before the mutant.
    let mut before: Vec<usize> = mutants.iter().map(|one| 2 + usize::from(has_hello(one))).collect();
    let mut offset = vec![0; mutants.len()];
    capture_walk::walk((&capture.connections(), &[]), &codes, (None, native), None, |found| {
        let CaptureItemKind::Item(item) = found.what else { return };
        let (index, line) = (found.client - 1, item.json());
        let explained = &mut all[index];
        let (client, packet) = (found.client, found.packet);
        explained.lines.push(format!("{{\"client\":{client},\"packet\":{packet},{}", &line[1..]));
        if before[index] > 0 {
            before[index] -= 1;
            return;
        }
        let said: Json = serde_json::from_str(&line).expect("JSON");
        for (frame, told) in item.frames.iter().zip(said["frames"].as_array().expect("a list")) {
            let mut told = told.clone();
            shift(&mut told, offset[index]);
            let is_closed = matches!(frame.content, Content::Close(_));
            explained.is_broken |=
                told["problem"]["response"].as_str().is_some_and(|answer| answer != "wait");
            if explained.end.is_none() {
                explained.end = end_by(&told, is_closed);
            }
            explained.frames.push(told);
        }
        offset[index] += item.bytes.len();
    });
    all
}

fn has_hello(mutant: &Mutant) -> bool {
    mutant.from == Side::Client && mutant.dialect == "native"
}

/// How a frame ends the connection, by its explanation.
fn end_by(told: &Json, is_closed: bool) -> Option<peer::End> {
    let problem = &told["problem"];
    if let Some(answer) = problem["response"].as_str().and_then(|answer| answer.strip_prefix("close ")) {
        let rule = problem["rule"].as_str().expect("a name").to_owned();
        let code = answer.split(' ').next().and_then(|code| code.parse().ok());
        return Some(peer::End { reason: rule.clone(), rule, code });
    }
    let body = hex::parse(told["payload"].as_str().unwrap_or_default()).unwrap_or_default();
    let code = body.first_chunk().map(|code| u16::from_be_bytes(*code));
    is_closed.then(|| peer::End { rule: String::new(), code, reason: String::new() })
}

/// Moves the places of a frame by so many bytes.
fn shift(told: &mut Json, bytes: usize) {
    match told {
        Json::Object(entries) => {
            for (name, value) in entries {
                match (name.as_str(), &mut *value) {
                    ("bits", Json::Array(bits)) => bits.iter_mut().for_each(|bit| add(bit, bytes * 8)),
                    ("start" | "end", Json::Number(_)) => add(value, bytes),
                    // The whole message counts from its own front.
                    ("message", _) => {}
                    _ => shift(value, bytes),
                }
            }
        }
        Json::Array(values) => values.iter_mut().for_each(|value| shift(value, bytes)),
        _ => {}
    }
}

/// What must be the same: everything, to the bit. Of a capture's connection that was cut, what nobody
/// reads is cut as well: of a broken frame the verdict has to do, and nothing follows it.
fn comparable(mutant: &Mutant, frames: &[Json]) -> Vec<Json> {
    if mutant.cut == 0 && mutant.bytes.len() <= limits::CAPTURE_SEGMENT_BYTES {
        return frames.to_vec();
    }
    let is_read = |frame: &&Json| frame["kind"] != "rest";
    let verdict = |frame: &Json| match frame["problem"]["response"].as_str() {
        None | Some("wait") => frame.clone(),
        Some(_) => json!({ "rule": frame["problem"]["rule"], "payload": frame["payload"] }),
    };
    frames.iter().filter(is_read).map(verdict).collect()
}

fn add(number: &mut Json, more: usize) {
    *number = Json::from(number.as_u64().expect("a place") + more as u64);
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the page's WebAssembly says of each mutant.
fn in_wasm(mutants: &[Mutant]) -> Vec<Json> {
    let codes = PacketTables::builtin();
    let tables: Vec<[&str; 2]> = codes.tables.iter().map(|table| [&*table.file, &*table.text]).collect();
    let mut input = json!({ "welcome": { "began_us": 0, "codes": tables } }).to_string();
    for Mutant { dialect, is_json, from, bytes, .. } in mutants {
        let from = if *from == Side::Client { "client" } else { "server" };
        let bytes = hex::digits(bytes);
        input +=
            &format!("\n{}", json!({ "from": from, "bytes": bytes, "dialect": dialect, "json": is_json }));
    }
    let mut node = Command::new("node")
        .arg(root().join("tests/wasm/explain.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node is there");
    let mut stdin = node.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()).expect("node reads"));
        node.wait_with_output().expect("node ends")
    });
    assert!(output.status.success(), "{}", output.status);
    let lines = str::from_utf8(&output.stdout).expect("UTF-8").lines();
    lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Compares the dissector with the explainer.
fn in_wireshark(
    file: &[u8],
    first_packets: &[u64],
    explained: &[Explained],
    directory: &Path,
) -> (Tally, usize) {
    let (capture, lines) = (directory.join("mutants.pcapng"), directory.join("mutants.jsonl"));
    std::fs::write(&capture, file).expect("written");
    let mut all = json!({ "first_packets": first_packets }).to_string();
    explained.iter().flat_map(|one| &one.lines).for_each(|line| all.extend(["\n", line]));
    std::fs::write(&lines, all).expect("written");
    let script = root().join("tests/wireshark/verdicts.py");
    let done =
        Command::new("python3").arg("-B").arg(script).args([&capture, &lines]).output().expect("python");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    let (told, last) = text.trim_end().rsplit_once('\n').unwrap_or(("", text.trim_end()));
    let numbers: Vec<usize> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [frames, differences, kept_back] = numbers[..] else { panic!("{text}") };
    (Tally { frames, differences, shown: told.to_owned() }, kept_back)
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Creates a temporary folder for a test.
fn directory(test: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("tickwire-verdicts-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a folder");
    directory
}

#[test]
fn every_reader_has_the_same_verdict_on_mutated_frames() {
    let (frames, seed) = (number("TICKWIRE_FRAMES", FRAMES), number("TICKWIRE_SEED", 1));
    let has_tools = std::env::var_os(TOOLS).is_some();
    let directory = directory("frames");
    let packets = Packets::read();
    let [mut wasm, mut wireshark, mut peer] = [(); 3].map(|()| Tally::default());
    let (mut broken, mut kept_back, mut rules) = (0, 0, BTreeMap::<String, usize>::new());
    for first in (0..frames).step_by(BATCH as usize) {
        let numbers = first..frames.min(first + BATCH);
        let mutants: Vec<Mutant> = numbers.map(|number| packets.mutant(seed, number)).collect();
        let (file, first_packets) = capture_of(&mutants);
        let explained = explain(&file, &mutants);
        for (mutant, explained) in mutants.iter().zip(&explained) {
            broken += usize::from(explained.is_broken);
            let problems = explained.frames.iter().filter_map(|frame| frame["problem"]["rule"].as_str());
            problems.for_each(|rule| *rules.entry(rule.to_owned()).or_default() += 1);
            if mutant.from == Side::Client {
                let pieces = pieces(mutant);
                let sent = pieces.iter().filter(|(from, _)| *from == Side::Client);
                let sent: Vec<&[u8]> = sent.map(|(_, bytes)| &bytes[..]).collect();
                peer.compare(mutant, &peer::end(&sent), &explained.end);
            }
        }
        if has_tools {
            let said = in_wasm(&mutants);
            assert_eq!(said.len(), mutants.len());
            for ((mutant, explained), said) in mutants.iter().zip(&explained).zip(&said) {
                let found = said["frames"].as_array().unwrap_or_else(|| panic!("{said}"));
                let [found, expected] = [found, &explained.frames].map(|frames| comparable(mutant, frames));
                wasm.compare(mutant, &found, &expected);
            }
            let (Tally { frames, differences, shown }, kept) =
                in_wireshark(&file, &first_packets, &explained, &directory);
            kept_back += kept;
            wireshark.shown += &shown;
            wireshark.frames += frames;
            wireshark.differences += differences;
        }
    }
    let _ = std::fs::remove_dir_all(&directory);
    println!("seed {seed}: {frames} mutants, {broken} of them break a rule; {rules:?}");
    for (name, Tally { frames, differences, shown }) in [
        ("explain and the server's peer", &peer),
        ("explain and explain in WebAssembly", &wasm),
        ("explain and the dissector", &wireshark),
    ] {
        println!("{shown}{name}: {frames} compared, {differences} differences");
    }
    println!("{kept_back} messages that Wireshark does not hand to the dissector");
    assert_eq!(peer.differences + wasm.differences + wireshark.differences, 0);
    let clients = peer.frames as u64;
    assert!(clients > frames / 3 && rules.len() > 25, "{clients} of clients, {} rules", rules.len());
    assert!(!has_tools || wasm.frames as u64 == frames && wireshark.frames as u64 == frames);
}
