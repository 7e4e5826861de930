//! Capture files: arbitrary bytes are read or refused, everything that was read can be written and
//! read again, and a recorded session can be replayed.
//!
//! The input is a file. An error has a position within the file; all packets, connections and world
//! records are accessible; packets written with our writer have the same time, direction, bytes and
//! comment when read back; a truncated file is read up to its end; a replay ends with a report or
//! an error, the same in parts and with a world that runs meanwhile.

use tickwire::capture::{self, Capture, Packet, WorldRecord};
use tickwire::explain::capture_walk;
use tickwire::game::Game as _;
use tickwire::games::moo::Moo;
use tickwire::internal::tools::capture::pcapng::{PacketMeta, write_interface, write_packet, write_section};
use tickwire::internal::tools::capture::{packet, world_record};
use tickwire::packet::PacketTables;
use tickwire::replay::{self, ReplayInput, ReplayOptions, WorldResults, WorldRunner};

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    let found = match capture::read(bytes) {
        Ok(found) => found,
        Err(error) => {
            assert!(error.offset <= bytes.len() && !error.to_string().is_empty(), "{error}");
            return;
        }
    };
    assert!(found.truncated_at.is_none_or(|at| at > 0 && at < bytes.len()));
    for (index, packet) in found.packets.iter().enumerate() {
        assert_eq!(packet.number, index + 1);
        assert!(packet.original_length >= packet.bytes.len());
        segment(packet);
    }
    connections(&found, bytes.len());
    records(&found);
    written_again(&found);
    cut_off(&found, bytes);
    if !found.packets.is_empty() {
        understood(&found, bytes);
    }
}

/// What a packet holds, written as our recorder writes it, comes back.
fn segment(packet: &Packet<'_>) {
    let Some(segment) = packet::decode(packet) else { return };
    let mut bytes = Vec::new();
    let taken = packet::encode(&mut bytes, &segment.head, segment.payload);
    assert!(taken <= segment.payload.len());
    // Whether a family of the two ends differs, the writer decides by the first.
    let (from, to) = (segment.head.from.ip().to_canonical(), segment.head.to.ip().to_canonical());
    if from.is_ipv4() != to.is_ipv4() {
        return;
    }
    let written = Packet {
        link: packet::LINK_RAW,
        bytes: &bytes,
        original_length: bytes.len(),
        comments: Vec::new(),
        ..*packet
    };
    let again = packet::decode(&written).expect("our own packet");
    assert_eq!(again.payload, &segment.payload[..taken]);
    assert_eq!((again.head.sequence, again.head.flags), (segment.head.sequence, segment.head.flags));
    let ends = [again.head.from, again.head.to].map(|end| (end.ip().to_canonical(), end.port()));
    assert_eq!(ends, [(from, segment.head.from.port()), (to, segment.head.to.port())]);
}

fn connections(found: &Capture<'_>, file_bytes: usize) {
    let mut said = 0;
    for connection in found.connections() {
        for piece in &connection.pieces {
            assert!((1..=found.packets.len()).contains(&piece.packet));
            said += piece.bytes.len();
        }
        assert!(connection.gaps.iter().all(|gap| gap.bytes > 0));
    }
    assert!(said <= file_bytes, "more bytes than the file has");
}

fn records(found: &Capture<'_>) {
    for (packet, record) in found.records() {
        match record {
            Ok((room, record)) => {
                let mut bytes = Vec::new();
                world_record::encode(&mut bytes, room.raw(), &record);
                if let WorldRecord::Tick { frame, .. } = record {
                    let _ = tickwire::games::moo::world::command::decode_frame(frame);
                }
                assert_eq!(world_record::decode(&bytes), Ok((room, record)), "from {:02x?}", packet.bytes);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn written_again(found: &Capture<'_>) {
    let mut links: Vec<u32> = found.packets.iter().map(|packet| packet.link).collect();
    links.sort_unstable();
    links.dedup();
    let mut bytes = Vec::new();
    write_section(&mut bytes, "fuzz");
    for link in &links {
        write_interface(&mut bytes, u16::try_from(*link).unwrap_or(u16::MAX), "any");
    }
    for packet in &found.packets {
        let interface = links.iter().position(|link| *link == packet.link).expect("one of them") as u32;
        let comment = packet.comments.first().map_or("", |comment| comment.raw());
        let meta = PacketMeta { interface, at_ns: packet.at_ns, inbound: packet.inbound, comment };
        write_packet(&mut bytes, &meta, packet.bytes);
    }
    let again = capture::read(&bytes).expect("our own file");
    assert_eq!((again.packets.len(), again.truncated_at), (found.packets.len(), None));
    for (written, packet) in again.packets.iter().zip(&found.packets) {
        assert_eq!((written.bytes, written.at_ns), (packet.bytes, packet.at_ns));
        assert_eq!(written.inbound, packet.inbound);
        let comment = packet.comments.first().copied().filter(|comment| !comment.is_empty());
        assert_eq!(written.comments.first().copied(), comment);
    }
}

/// Whoever wrote it was ended in the middle: the packets before are there.
fn cut_off(found: &Capture<'_>, bytes: &[u8]) {
    let end = bytes.len() - bytes.len() / 3;
    if let Ok(part) = capture::read(&bytes[..end]) {
        assert_eq!(part.packets, found.packets[..part.packets.len()], "cut at {end}");
    }
}

/// What `explain` and `replay` make of it.
fn understood(found: &Capture<'_>, bytes: &[u8]) {
    let carried = found.tables().unwrap_or_else(|error| {
        assert!(!error.to_string().is_empty());
        None
    });
    let codes = PacketTables::for_capture(carried, None).unwrap_or_else(|error| {
        assert!(!error.to_string().is_empty());
        PacketTables::builtin()
    });
    let otherwise = codes.default_dialect().expect("every table has a dialect");
    let mut items = 0;
    let (connections, datagrams) = (found.connections(), capture_walk::datagrams(found));
    capture_walk::walk((&connections, &datagrams), &codes, (None, otherwise), None, |_| items += 1);
    let (games, options) = ([Moo::INFO], ReplayOptions::default());
    let whole = ReplayInput::read(bytes, None).expect("it was read");
    let replayed = replay::replay(&whole, &games, options, WorldResults::default);
    let (mut input, mut worlds) = (ReplayInput::new(None), WorldRunner::new(&games, options));
    let mut rest = Vec::new();
    for part in bytes.chunks(bytes.len().div_ceil(3)) {
        rest.extend_from_slice(part);
        let used = input.receive(&rest).expect("it was read");
        rest.drain(..used);
        worlds.run(&input.new_records());
    }
    input.finish(&rest).expect("it was read");
    assert_eq!(replay::replay(&input, &games, options, || worlds.results()), replayed, "in parts");
    match replayed {
        Ok(rooms) => assert!(rooms.iter().all(|(_, report)| report.ticks as usize <= found.packets.len())),
        Err(reason) => assert!(!reason.to_string().is_empty()),
    }
}
