//! The inspector: what it says of the frames of the committed captures is what the explainer says of the capture; and the
//! WebAssembly module of the page, run by node, gives the same bytes as the native build, also for mutated frames of all dialects.
//!
//! Node runs if `TICKWIRE_TOOLS` is set, as `scripts/test.sh` does.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value as Json, json};
use tickwire::capture;
use tickwire::explain::capture_walk::{self, CaptureItemKind as Found};
use tickwire::explain::{Content, Explanation, hex};
use tickwire::internal::tools::inspector::capture_file::CaptureFile;
use tickwire::internal::tools::inspector::observed_format::{self, Handshake, ObservedKind, ObservedRecord};
use tickwire::internal::tools::inspector::{ExportedClient, Inspector, ListRequest, opening};
use tickwire::packet::PacketTables;
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::{Side, handshake};

const TOOLS: &str = "TICKWIRE_TOOLS";
const REFRESH: &str = "src/web/wasm/tickwire.wasm is not what the sources make: run scripts/build-wasm.sh";
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ADDRESS: &str = "127.0.0.1:40000";
/// Mutants of each frame of the fixtures.
const MUTANTS: usize = 10;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The native inspector, and the calls that another one is given as well.
struct Twin {
    inspector: Inspector,
    calls: Vec<u8>,
    answers: Vec<Vec<u8>>,
    client: u64,
}

impl Twin {
    fn new() -> Twin {
        let codes = PacketTables::builtin();
        let tables: Vec<[&str; 2]> = codes.tables.iter().map(|table| [&*table.file, &*table.text]).collect();
        let welcome = json!({ "welcome": { "began_us": 1_700_000_000_000_000_u64, "codes": tables } });
        let welcome = welcome.to_string();
        let inspector = Inspector::new(&welcome).expect("a welcome");
        let mut twin = Twin { inspector, calls: Vec::new(), answers: Vec::new(), client: 0 };
        twin.note(b'W', welcome.as_bytes(), "{}".to_owned());
        twin
    }

    fn note(&mut self, verb: u8, input: &[u8], answer: impl Into<Vec<u8>>) {
        self.calls.push(verb);
        self.calls.extend_from_slice(&(input.len() as u32).to_be_bytes());
        self.calls.extend_from_slice(input);
        self.answers.push(answer.into());
    }

    /// Watches another client, whose handshake this is.
    fn open(&mut self, opened: Handshake) {
        self.client += 1;
        self.inspector.select_client(Some(self.client));
        self.note(b'w', &self.client.to_be_bytes(), "{}".to_owned());
        let told = self.receive([ObservedKind::Opened(opened)]);
        assert_eq!(told.as_array().map(Vec::len), Some(2), "{told}");
    }

    /// Takes what was observed, and gives the entries of the frames.
    fn receive<'a>(&mut self, all: impl IntoIterator<Item = ObservedKind<'a>>) -> Json {
        let mut message = observed_format::start_message(self.client);
        for what in all {
            observed_format::write(
                &mut message,
                &ObservedRecord { at: Duration::from_millis(9), tick: 7, what },
            );
        }
        let answer = self.inspector.receive(&message).expect("records");
        self.note(b'r', &message, answer.clone());
        serde_json::from_str::<Json>(&answer).expect("JSON")["frames"].clone()
    }

    fn explain(&mut self, entry: &Json) -> String {
        let n = entry["n"].as_u64().expect("a number");
        let answer = self.inspector.explain(n);
        self.note(b'e', &n.to_be_bytes(), answer.clone());
        answer
    }

    /// Ends a client: its bytes by field, and its capture.
    fn end(&mut self) {
        let fields = self.inspector.fields();
        self.note(b'f', &[], fields);
        let named = [(self.client, ExportedClient { player: 3, name: "Ada".to_owned() })].into();
        let file = self.inspector.save(&named).expect("a handshake");
        let input = json!([{ "id": self.client, "player": 3, "name": "Ada" }]).to_string();
        self.note(b's', input.as_bytes(), file);
    }

    /// What node puts out for the same calls.
    fn in_wasm(&self) -> Vec<Vec<u8>> {
        let mut node = Command::new("node")
            .arg(root().join("tests/wasm/tab.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is there");
        let mut stdin = node.stdin.take().expect("piped");
        let calls = &self.calls;
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(calls).expect("node reads"));
            node.wait_with_output().expect("node ends")
        });
        assert!(output.status.success(), "{}", output.status);
        let (mut rest, mut answers) = (&output.stdout[..], Vec::new());
        while let Some((size, after)) = rest.split_first_chunk() {
            let (answer, after) = after.split_at(u32::from_be_bytes(*size) as usize);
            answers.push(answer.to_vec());
            rest = after;
        }
        answers
    }
}

/// The captures of the repository: by `tickwire`, by tests, and by tcpdump (`tcpdump -i lo -w FILE port PORT` beside three bots).
fn captures() -> Vec<PathBuf> {
    let folders = ["docs/lessons", "scripts/wireshark/samples", "tests/fixtures"];
    let entries =
        folders.iter().flat_map(|directory| std::fs::read_dir(root().join(directory)).expect("a folder"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut captures: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "pcapng" || ending == "pcap"))
        .collect();
    captures.sort();
    captures
}

/// A connection of a capture: the handshake, and then each frame with the explainer's JSON.
#[derive(Default)]
struct Talk {
    ends: Option<(SocketAddr, SocketAddr)>,
    heads: Vec<Vec<u8>>,
    dialect: String,
    frames: Vec<(Side, Vec<u8>, String)>,
    is_over: bool,
}

impl Talk {
    fn take(&mut self, item: &Explanation<'_>) {
        let frame = &item.frames[0];
        match &frame.content {
            Content::Head(_) => self.heads.push(item.bytes.clone()),
            // After a broken rule the rest is one item in a capture, and no piece of the tap.
            Content::Unread if frame.problem.is_none() => self.is_over = true,
            _ if self.is_over => {}
            _ => self.frames.push((item.from, item.bytes.clone(), item.json())),
        }
        self.dialect = item.dialect.name().to_owned();
    }

    /// The handshake, if it was whole, and at a path that only our server has: elsewhere the explainer of a capture cannot know the format.
    fn opened(&self) -> Option<Handshake> {
        let [request, response] = <[Vec<u8>; 2]>::try_from(self.heads.clone()).ok()?;
        let (address, local) = self.ends?;
        let json = String::from_utf8_lossy(&request).contains("format=json");
        let opened = Handshake { address, local, dialect: self.dialect.clone(), json, request, response };
        let is_ours = !opened.request.starts_with(b"GET / ") && !opened.request.starts_with(b"GET /?");
        (is_ours && opened.response.starts_with(b"HTTP/1.1 101")).then_some(opened)
    }
}

/// The connections of a capture.
fn talks(path: &Path) -> Vec<Talk> {
    let bytes = std::fs::read(path).expect("the capture can be read");
    let (codes, capture) = (PacketTables::builtin(), capture::read(&bytes).expect("a capture"));
    let native = codes.dialects().find(|dialect| dialect.name() == "native").expect("built in");
    let mut talks: Vec<Talk> = Vec::new();
    capture_walk::walk((&capture.connections(), &[]), &codes, (None, native), None, |found| {
        talks.resize_with(talks.len().max(found.client), Default::default);
        let talk = &mut talks[found.client - 1];
        match found.what {
            Found::Begin { client, server, .. } => talk.ends = Some((client, server)),
            Found::Item(item) => talk.take(&item),
            Found::Gap(..) => talk.is_over = true,
        }
    });
    talks
}

/// Inspects every connection of the captures; gives the number of frames.
fn inspect_captures(twin: &mut Twin) -> usize {
    let mut frames = 0;
    for path in captures() {
        for talk in talks(&path) {
            let Some(opened) = talk.opened() else { continue };
            twin.open(opened);
            for (from, bytes, expected) in &talk.frames {
                let entries = twin.receive([ObservedKind::Bytes(*from, bytes)]);
                let explained = twin.explain(&entries[0]);
                let from = explained.find(r#""from":"#).expect("the sender comes first");
                assert_eq!(format!("{{{}", &explained[from..]), *expected, "{}", path.display());
                frames += 1;
            }
            twin.end();
        }
    }
    frames
}

/// Opens every capture as a file; gives the number of frames. Their explanations are those of `tickwire explain`.
fn open_captures(twin: &mut Twin) -> usize {
    let (mut frames, mut linked) = (0, 0);
    // `sealed.pcapng` has only sealed datagrams, which only Wireshark opens.
    for path in captures().into_iter().filter(|path| !path.ends_with("sealed.pcapng")) {
        let bytes = std::fs::read(&path).expect("the capture can be read");
        let found = capture::read(&bytes).expect("a capture");
        let codes =
            PacketTables::for_capture(found.tables().expect("whole tables"), None).expect("good tables");
        let native = codes.dialects().find(|dialect| dialect.name() == "native").expect("built in");
        let mut expected = Vec::new();
        let mut file = opening::open(bytes.clone()).expect("a capture");
        twin.note(b'F', &bytes, file.summary_json().to_string());
        let datagrams = capture_walk::datagrams(&found);
        capture_walk::walk((&found.connections(), &datagrams), &codes, (None, native), None, |found| {
            match found.what {
                Found::Item(item) => {
                    expected.push((found.client, found.packet, Some((item.json(), item.names()))))
                }
                Found::Gap(..) => expected.push((found.client, found.packet, None)),
                Found::Begin { .. } => {}
            }
        });
        while file.advance(5000) {}
        twin.note(b'k', &[], file.summary_json().to_string());
        let all = rows_of(&file, 2 * expected.len());
        // The inspector adds rows for missing datagrams.
        let rows: Vec<(usize, &Json)> =
            all.iter().enumerate().filter(|(_, row)| !is_missing_datagram(row)).collect();
        assert_eq!(rows.len(), expected.len(), "{}", path.display());
        // From the last to the first, so that each is explained from a checkpoint.
        for ((at, row), (client, packet, item)) in rows.into_iter().zip(&expected).rev() {
            let here = format!("{}, packet {packet}", path.display());
            assert_eq!((&row["client"], &row["tick"]), (&json!(client), &json!(packet)), "{here}");
            let Some((item, names)) = item else {
                assert!(row["gap"].is_string(), "{here}");
                continue;
            };
            let explained = file.explain(at as u64 + 1);
            let from = explained.find(r#""from":"#).expect("the sender comes first");
            assert_eq!(format!("{{{}", &explained[from..]), *item, "{here}");
            for name in ["packet", "rule"]
                .iter()
                .filter_map(|name| row[name].as_str())
                .filter(|name| *name != "incomplete")
            {
                assert!(names.iter().any(|known| known == name), "{here}: {name}");
            }
            // Datagrams have no links.
            if row["datagram"].is_null() {
                linked += usize::from(reads_alike_from_a_link(&mut file, at as u64 + 1, &explained, &here));
                frames += 1;
            }
            twin.note(b'e', &(at as u64 + 1).to_be_bytes(), explained);
        }
        let wish = r#"{"text":"tick > 3 or hex 81 or name ~ a"}"#;
        file.filter(&ListRequest::read(&serde_json::from_str(wish).expect("JSON")).expect("a filter"));
        twin.note(b'l', wish.as_bytes(), "{}");
        while file.advance(777) {}
        twin.note(b'k', &[], file.summary_json().to_string());
        twin.note(b'R', &[], json!({ "rows": file.list().rows(0, 50) }).to_string());
        twin.note(b'X', &[], "");
    }
    assert!(linked * 10 > frames * 9, "{linked} of {frames} frames read alike from a link");
    frames
}

/// Returns up to `max` rows of a capture's list.
fn rows_of(file: &CaptureFile, max: usize) -> Vec<Json> {
    let page = |first| file.list().rows(first, 50).as_array().expect("rows").clone();
    (0..max).step_by(50).flat_map(page).collect()
}

fn is_missing_datagram(row: &Json) -> bool {
    row["gap"].as_str().is_some_and(|gap| gap.starts_with('D'))
}

/// Whether a link to a frame of a capture has the same line: not where the verdict depends on the connection, such as after its close.
fn reads_alike_from_a_link(file: &mut CaptureFile, n: u64, explained: &str, here: &str) -> bool {
    let link = file.link(n).unwrap_or_else(|error| panic!("{here}: {error}"));
    let mut inspector = Inspector::default();
    // A capture may carry the tables of an older server, which a page does not have.
    if let Err(error) = inspector.open_link(&link) {
        assert!(error.to_string().contains("other packet tables"), "{here}: {error}");
        return true;
    }
    let [one, other] =
        [explained, &inspector.explain(1)].map(|json| serde_json::from_str::<Json>(json).expect("JSON"));
    assert_eq!(one["raw"], other["raw"], "{here}");
    one["frames"][0]["line"] == other["frames"][0]["line"]
}

/// Numbers that look random, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut Dice) {
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len().max(1)).min(bytes.len());
        match rng.below(6) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            3 => bytes.insert(at, rng.below(256) as u8),
            4 => bytes.truncate(at),
            5 if !bytes.is_empty() => bytes[0] ^= frame::FIN,
            _ => {}
        }
    }
}

/// Inspects mutants of the fixtures' packets in every dialect; gives the number of frames.
fn inspect_mutants(twin: &mut Twin) -> usize {
    let (mut rng, mut frames) = (Dice(1), 0);
    let rows: Vec<Vec<&str>> = include_str!("../fixtures/packets.tsv")
        .lines()
        .skip(1)
        .map(|row| row.split('\t').collect())
        .collect();
    for dialect in PacketTables::builtin().dialects().map(|dialect| dialect.name()) {
        let target = format!("/play?dialect={dialect}");
        let accept = handshake::accept_key(KEY);
        twin.open(Handshake {
            address: ADDRESS.parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            dialect: dialect.to_owned(),
            json: false,
            request: handshake::request("localhost:3000", &target, KEY, &[]),
            response: format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            )
            .into_bytes(),
        });
        for row in rows.iter().filter(|row| row[0] == dialect) {
            let from = if row[1] == "to_server" { Side::Client } else { Side::Server };
            let payload = hex::parse(row[4]).expect("hexadecimal");
            for mutant in 0..MUTANTS {
                let mut bytes = Vec::new();
                let key = (from == Side::Client).then_some([1, 2, 3, mutant as u8]);
                frame::write(&mut bytes, Opcode::Binary, key, &payload);
                mutate(&mut bytes, &mut rng);
                let lost = (rng.below(4) == 0).then_some(ObservedKind::Lost(1));
                let entries = twin.receive(lost.into_iter().chain([ObservedKind::Bytes(from, &bytes)]));
                for entry in entries.as_array().expect("a list") {
                    twin.explain(entry);
                    frames += 1;
                }
            }
        }
        twin.end();
    }
    frames
}

#[test]
fn the_inspector_says_of_captured_frames_what_the_explainer_says() {
    let frames = inspect_captures(&mut Twin::new());
    assert!(frames > 300, "{frames} frames");
}

#[test]
fn a_capture_file_has_the_frames_and_verdicts_of_explain() {
    let frames = open_captures(&mut Twin::new());
    assert!(frames > 900, "{frames} frames");
}

#[test]
fn the_page_s_webassembly_gives_the_bytes_of_the_native_build() {
    let mut twin = Twin::new();
    let (captured, mutants) = (inspect_captures(&mut twin), inspect_mutants(&mut twin));
    open_captures(&mut twin);
    assert!(captured > 300 && mutants > 2500, "{captured} captured frames, {mutants} mutants");
    if std::env::var_os(TOOLS).is_none() {
        eprintln!("{TOOLS} is not set: src/web/wasm/tickwire.wasm was not run");
        return;
    }
    let found = twin.in_wasm();
    assert_eq!(found.len(), twin.answers.len());
    for (call, (found, expected)) in found.iter().zip(&twin.answers).enumerate() {
        let [found, expected] = [found, expected].map(|bytes| String::from_utf8_lossy(bytes));
        assert_eq!(found, expected, "call {call}: {REFRESH}");
    }
    println!("{captured} captured frames and {mutants} mutants, {} answers: the same", found.len());
}
