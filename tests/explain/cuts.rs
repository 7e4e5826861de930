//! Captures that begin in the middle: the committed captures, truncated at seeded positions,
//! compared with the results for the whole captures.

use std::collections::VecDeque;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use tickwire::capture::{self, Capture, TcpSide};
use tickwire::explain::capture_walk::{self, CaptureItemKind};
use tickwire::explain::{Content, Explanation};
use tickwire::internal::limits;
use tickwire::internal::tools::explain::dialect_guess::DialectGuess;
use tickwire::packet::{Dialect, Direction, PacketTables};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Opcode};

use super::capture::Writer;

/// How often each connection is cut.
const CUTS: u64 = 20;
/// The most bytes of a short capture.
const SHORT: usize = 100;
const SEED: u64 = 11;

/// A connection of a committed capture: what both sides sent, in order, and its dialect.
struct Session {
    name: String,
    dialect: String,
    pieces: Vec<(Side, Vec<u8>)>,
    packets: Vec<Packet>,
}

#[derive(Clone, Debug, PartialEq)]
struct Packet {
    from: Side,
    /// Where its frames lie in what this side sent.
    place: Range<usize>,
    line: String,
    opcode: Opcode,
    message: Vec<u8>,
    /// Whether a candidate of a guess reads it otherwise.
    is_unsure: bool,
}

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["scripts/wireshark/samples", "docs/lessons"].map(|directory| root.join(directory));
    let entries = folders.iter().flat_map(|directory| fs::read_dir(directory).expect("a folder"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pcapng"));
    files.sort();
    files
}

fn side(end: TcpSide) -> Side {
    if end == TcpSide::Client { Side::Client } else { Side::Server }
}

/// What a capture of one connection is read as.
struct Reading<'c> {
    packets: Vec<Packet>,
    dialect: String,
    guess: Option<DialectGuess<'c>>,
}

/// Reads a connection, of whose sides so many bytes were skipped.
fn read<'c>(
    capture: &Capture<'_>,
    codes: &'c PacketTables,
    number: usize,
    skipped: [usize; 2],
) -> Reading<'c> {
    let native = codes.dialects().find(|dialect| dialect.name() == "native").expect("built in");
    let (mut items, mut guess) = (Vec::new(), None);
    let tallies =
        capture_walk::walk((&capture.connections(), &[]), codes, (None, native), Some(number), |found| {
            match found.what {
                CaptureItemKind::Begin { guess: begun, .. } => guess = begun,
                CaptureItemKind::Item(item) => items.push(item),
                CaptureItemKind::Gap(..) => {}
            }
        });
    Reading { packets: packets(items, skipped), dialect: tallies[0].1.dialect.clone(), guess }
}

fn index(from: Side) -> usize {
    usize::from(from == Side::Server)
}

/// The packets that were decoded.
fn packets(items: Vec<Explanation<'_>>, skipped: [usize; 2]) -> Vec<Packet> {
    let mut at = skipped;
    // Where the message that is under way began.
    let mut begun = at;
    let mut found = Vec::new();
    for item in items {
        let side = index(item.from);
        let begin = at[side];
        at[side] += item.bytes.len();
        let [frame] = &item.frames[..] else { panic!("an item is one frame") };
        let opcode = frame.header.map_or(Opcode::Close, |header| header.opcode);
        if !opcode.is_control() && opcode != Opcode::Continuation {
            begun[side] = begin;
        }
        let Content::Packet(Some(_), Some(line)) = &frame.content else { continue };
        let (opcode, message) = match &frame.message {
            Some(whole) => (whole.opcode, whole.payload.clone()),
            None => (opcode, frame.payload.clone()),
        };
        let place = begun[side]..at[side];
        let is_unsure = !frame.alternatives.is_empty();
        found.push(Packet { from: item.from, place, line: line.clone(), opcode, message, is_unsure });
    }
    found
}

/// Every connection of the committed captures whose request says the dialect.
fn sessions(codes: &PacketTables) -> Vec<Session> {
    let mut sessions = Vec::new();
    for path in files() {
        let bytes = fs::read(&path).expect("a file");
        let capture = capture::read(&bytes).expect("a capture");
        for (index, connection) in capture.connections().iter().enumerate() {
            let Reading { packets, dialect, guess } = read(&capture, codes, index + 1, [0; 2]);
            if guess.is_some() || packets.is_empty() {
                continue;
            }
            let name = format!("{}, connection {}", path.display(), index + 1);
            let pieces = connection.pieces.iter();
            let pieces = pieces.map(|piece| (side(piece.from), piece.bytes.to_vec())).collect();
            sessions.push(Session { name, dialect, pieces, packets });
        }
    }
    sessions
}

/// A number from 0 to below `max`: xorshift, as good as it has to be.
fn next(state: &mut u64, max: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % max as u64) as usize
}

/// The pieces behind the request and the response in another order: each side's in its own, and both mixed by chance.
fn mixed(session: &Session, state: &mut u64) -> Vec<(Side, Vec<u8>)> {
    let (heads, rest) = session.pieces.split_at(2);
    let of = |side| rest.iter().filter(move |(from, _)| *from == side).cloned();
    let mut sides = [of(Side::Client).collect::<VecDeque<_>>(), of(Side::Server).collect()];
    let mut pieces = heads.to_vec();
    while let Some(max) = sides.iter().map(VecDeque::len).sum::<usize>().checked_sub(1) {
        let is_server = next(state, max + 1) >= sides[0].len();
        pieces.extend(sides[usize::from(is_server)].pop_front());
    }
    pieces
}

/// A capture of some of a connection's bytes, counted over both sides, and which bytes of each side these are.
fn cut(pieces: &[(Side, Vec<u8>)], window: &Range<usize>) -> (Vec<u8>, [Range<usize>; 2]) {
    let mut writer = Writer::new();
    let mut talk = writer.midway("127.0.0.2:50001");
    let (mut at, mut sent, mut kept) = (0, [0, 0], [None, None]);
    for (from, bytes) in pieces {
        let part = window.start.clamp(at, at + bytes.len()) - at..window.end.clamp(at, at + bytes.len()) - at;
        if !part.is_empty() {
            writer.say(&mut talk, *from, &bytes[part.clone()], true);
            let side = index(*from);
            let begin = kept[side].as_ref().map_or(sent[side] + part.start, |kept: &Range<usize>| kept.start);
            kept[side] = Some(begin..sent[side] + part.end);
        }
        at += bytes.len();
        sent[index(*from)] += bytes.len();
    }
    (writer.file, kept.map(Option::unwrap_or_default))
}

/// Whether all dialects read a message as the same packet with the same values, or none of them reads it.
fn reads_alike(dialects: &[&Dialect], packet: &Packet) -> bool {
    let direction = if packet.from == Side::Client { Direction::ToServer } else { Direction::ToClient };
    let read = |dialect: &&Dialect| {
        let read = match packet.opcode {
            Opcode::Text => dialect.decode_json(direction, std::str::from_utf8(&packet.message).ok()?),
            _ => dialect.decode(direction, &packet.message),
        };
        read.ok().map(|read| read.to_string())
    };
    let lines: Vec<Option<String>> = dialects.iter().map(read).collect();
    lines.windows(2).all(|two| two[0] == two[1])
}

/// What is wrong with the reading of a connection that was cut, if anything.
fn judge(session: &Session, reading: &Reading<'_>, kept: &[Range<usize>; 2]) -> Vec<String> {
    let mut wrong = Vec::new();
    let candidates = reading.guess.as_ref().expect("there is no request").candidates();
    let names: Vec<&str> = candidates.iter().map(|dialect| dialect.name()).collect();
    if !names.contains(&session.dialect.as_str()) {
        wrong.push(format!("{} is not among {names:?}", session.dialect));
    }
    if names.first() != Some(&reading.dialect.as_str()) {
        wrong.push(format!("{} is not the first of {names:?}", reading.dialect));
    }
    let same = |one: &Packet, other: &Packet| one.from == other.from && one.place == other.place;
    for packet in &session.packets {
        let kept = &kept[index(packet.from)];
        let is_there = kept.start <= packet.place.start && packet.place.end <= kept.end;
        let is_sure = reads_alike(&candidates, packet);
        match reading.packets.iter().find(|found| same(found, packet)) {
            None if is_there && is_sure => wrong.push(format!("not decoded: {packet:?}")),
            Some(found) if found.is_unsure == is_sure => wrong.push(format!("sure or not: {found:?}")),
            Some(found) if is_sure && found.line != packet.line => {
                wrong.push(format!("{} instead of {}", found.line, packet.line));
            }
            _ => {}
        }
    }
    for found in reading.packets.iter().filter(|found| !found.is_unsure) {
        if !session.packets.iter().any(|packet| same(found, packet)) {
            wrong.push(format!("decoded where the whole capture has no packet: {found:?}"));
        }
    }
    wrong
}

#[test]
fn a_capture_cut_anywhere_names_the_true_dialect_and_decodes_what_reads_alike_in_all_candidates() {
    let codes = PacketTables::builtin();
    let (mut state, mut cuts, mut unsure, mut wrong) = (SEED, 0, 0, Vec::new());
    let mut spoken: Vec<String> = Vec::new();
    for session in sessions(&codes) {
        // Behind the request and the response.
        let heads: usize = session.pieces[..2].iter().map(|(_, bytes)| bytes.len()).sum();
        let total: usize = session.pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        spoken.push(session.dialect.clone());
        for number in 0..CUTS {
            let begin = heads + next(&mut state, total - heads);
            // Every other capture ends soon, so that little says which dialect it is.
            let end = if number % 2 == 0 { total } else { total.min(begin + 1 + next(&mut state, SHORT)) };
            let (file, kept) = cut(&mixed(&session, &mut state), &(begin..end));
            let capture = capture::read(&file).expect("a capture");
            let reading = read(&capture, &codes, 1, [kept[0].start, kept[1].start]);
            cuts += 1;
            unsure += usize::from(reading.packets.iter().any(|packet| packet.is_unsure));
            let found = judge(&session, &reading, &kept);
            wrong.extend(found.iter().map(|what| format!("{}, {begin}..{end}: {what}", session.name)));
        }
    }
    spoken.sort();
    spoken.dedup();
    assert_eq!((spoken.len(), cuts >= 100), (5, true), "{spoken:?}, {cuts} cuts");
    assert!(unsure > 0, "no cut leaves a packet that two candidates read otherwise: choose another seed");
    assert!(wrong.is_empty(), "seed {SEED}, {cuts} cuts:\n{}", wrong.join("\n"));
}

/// The lines of a capture in which a server sends these segments, midway.
fn lines(segments: &[&[u8]]) -> Vec<String> {
    let mut writer = Writer::new();
    let mut talk = writer.midway("127.0.0.2:50001");
    segments.iter().for_each(|bytes| writer.say(&mut talk, Side::Server, bytes, true));
    super::capture::found(&writer.file, None)
}

fn frame(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, None, payload);
    bytes
}

#[test]
fn the_longest_frame_of_a_server_at_the_front_is_not_given_up() {
    // `structures_gone` with a list of numbers of one byte each.
    let mut payload = vec![0x92, 17, 0x91, 0xdd];
    let numbers = limits::SEND_QUEUE_BYTES - payload.len() - size_of::<u32>();
    payload.extend_from_slice(&(numbers as u32).to_be_bytes());
    payload.resize(limits::SEND_QUEUE_BYTES, 42);
    let (long, pong) = (frame(Opcode::Binary, &payload), frame(Opcode::Binary, &[0x92, 7, 0x92, 4, 7]));
    let segments: Vec<&[u8]> = long.chunks(1448).chain([&pong[..]]).collect();
    let lines = lines(&segments);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains(": structures_gone objects=["), "{}", &lines[1][..80]);
    assert_eq!(lines[2], "1 47: < binary, 5 bytes: pong nonce=4 tick=7");
}

#[test]
fn a_frame_is_not_sought_within_the_frame_at_the_front_that_is_still_coming() {
    let inner = frame(Opcode::Binary, &[0x92, 7, 0x92, 4, 7]);
    // A third value of the envelope, which nobody reads: bytes that look like a frame and the front of another.
    let payload = [&[0x93, 7, 0x92, 1, 2, 0xc4, 9][..], &inner, &[0x82, 5]].concat();
    let outer = frame(Opcode::Binary, &payload);
    let (first, last) = outer.split_at(outer.len() - 1);
    assert_eq!(lines(&[first, last])[1..], ["1 2: < binary, 16 bytes: pong nonce=1 tick=2"]);
}

#[test]
fn pings_and_fragments_at_the_front_are_read() {
    let pong = frame(Opcode::Binary, &[0x92, 7, 0x92, 4, 7]);
    let parts = [&[0x02, 2, 0x92, 7][..], &[0x80, 3, 0x92, 4, 7]].concat();
    let expected =
        |first: &str| vec![first.to_owned(), "1 1: < binary, 5 bytes: pong nonce=4 tick=7".to_owned()];
    let ping = frame(Opcode::Ping, b"");
    assert_eq!(lines(&[&[&ping[..], &pong].concat()])[1..], expected("1 1: < ping, 0 bytes"));
    let lines = lines(&[&[&parts[..], &pong].concat()]);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[2].contains("ends a binary message, 2 frames, 5 bytes: pong nonce=4 tick=7"), "{lines:?}");
}

/// What the program prints of a capture.
fn printed(file: &[u8], arguments: &[&str]) -> String {
    let path =
        std::env::temp_dir().join(format!("tickwire-guess-{}-{}", std::process::id(), arguments.len()));
    fs::write(&path, file).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    command.env_remove("TICKWIRE_CODES").arg("explain").arg(&path).args(arguments);
    let output = command.output().expect("the program runs");
    fs::remove_file(&path).expect("removed");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_command_names_the_candidates_and_marks_what_is_a_guess_in_every_form() {
    let mut writer = Writer::new();
    let mut talk = writer.midway("127.0.0.2:50001");
    writer.say(&mut talk, Side::Server, &frame(Opcode::Binary, b"\x92\xa1\x61\x91\x90"), true);
    writer.say(&mut talk, Side::Server, &frame(Opcode::Binary, b"\x92\xa7io-init\x91\xa1s"), true);
    let words = "dialect: a guess, letters, legacy, letters-2024 or letters-2023\n";
    for arguments in [&[][..], &["--line"], &["--full"]] {
        let text = printed(&writer.file, arguments);
        assert_eq!(text.matches(words).count(), 1, "{text}");
        let marked = "update_players players=[] [a guess: reads differently in legacy]\n";
        assert_eq!(text.matches(marked).count(), 1, "{text}");
        assert_eq!(text.matches("io_init socket_id=\"s\"\n").count(), 1, "{text}");
        assert!(text.contains("\n1       letters? "), "{text}");
    }
    let json = printed(&writer.file, &["--json"]);
    let items: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let all = serde_json::json!(["letters", "legacy", "letters-2024", "letters-2023"]);
    assert!(items.len() == 2 && items.iter().all(|item| item["candidates"] == all), "{json}");
    assert_eq!(items[0]["frames"][0]["otherwise"], serde_json::json!(["legacy"]));
    assert_eq!(items[1]["frames"][0].get("otherwise"), None);
}
