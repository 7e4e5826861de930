//! The traffic of a tap as a capture: lost bytes are reported and counted, and show as a gap of their size.

use std::sync::Arc;
use std::time::Duration;

use tickwire::capture::{self, Capture, TcpSide, Untrusted, WorldRecord};
use tickwire::internal::connection::ObservedBytes;
use tickwire::internal::games;
use tickwire::internal::games::moo::world::{Identity, TickHz, World, rules_hash};
use tickwire::internal::limits;
use tickwire::internal::server::net::recorder::capture_encoder::CaptureEncoder;
use tickwire::internal::server::net::tap::{LostEvents, Run, Subscription, Tap};
use tickwire::internal::server::room::WorldSnapshot;
use tickwire::packet::PacketTables;

use crate::tap::{open, open_with, run, who};

/// A tap with a world, and a scribe that listens to it.
struct Stage {
    tap: Tap,
    world: World,
    listener: Subscription,
    scribe: CaptureEncoder,
    run: Run,
}

impl Stage {
    /// Begins with these clients and the first tick.
    fn begin(bound_bytes: usize, clients: u64) -> Stage {
        let world = World::new(Identity { seed: 1, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
        let tap = Tap::default();
        let run = run("");
        tap.add_room(&run);
        (1..=clients).for_each(|client| open(&tap, client));
        let listener = tap.subscribe_with_world(None, bound_bytes);
        let scribe = CaptureEncoder::new(Duration::ZERO, PacketTables::builtin());
        let mut stage = Stage { tap, world, listener, scribe, run };
        stage.begin_file();
        stage
    }

    fn begin_file(&mut self) {
        self.scribe.begin_file(who(0).at);
        let snapshot = WorldSnapshot {
            info: games::INFO[0],
            tick: 0,
            identity: (*self.world.identity()).into(),
            rules_hash: rules_hash(),
            names: Vec::new(),
            bytes: self.world.snapshot().into(),
        };
        let frame = ((*b"frame").into(), Vec::new());
        self.tap.record_tick((&self.run, who(0).at, 0), 0, frame, Some(Arc::new(snapshot)));
        assert_eq!(self.write(), LostEvents::default());
    }

    /// Writes what waits; gives what is lost.
    fn write(&mut self) -> LostEvents {
        let taken = self.listener.receive(Duration::ZERO);
        taken.items.iter().for_each(|seen| self.scribe.write_event(seen));
        taken.lost
    }

    fn lose(&mut self, lost: &LostEvents) {
        self.scribe.write_loss(lost, &self.tap.reintroduce(&lost.opened), who(0).at);
    }

    /// Bytes of the first client.
    fn hear(&self, bytes: &[u8], begins: bool) {
        self.tap.record_received(
            who(1),
            ObservedBytes {
                bytes,
                starts_message: begins,
                is_whole: true,
                is_injected: false,
                slack: std::time::Duration::ZERO,
            },
            &|| b"session".to_vec(),
        );
    }

    fn read(&self) -> Capture<'_> {
        capture::read(&self.scribe.writer.blocks).expect("a capture")
    }

    /// The bytes of the first client in the capture, and the holes of its connection.
    fn first(&self) -> (Vec<u8>, Vec<(TcpSide, u64)>) {
        let connection = self.read().connections().swap_remove(0);
        let own = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Client);
        let holes = connection.gaps.iter().map(|hole| (hole.from, hole.bytes)).collect();
        (own.flat_map(|piece| piece.bytes).copied().collect(), holes)
    }
}

#[test]
fn lost_bytes_leave_a_gap_of_their_size_a_record_and_a_comment() {
    let mut stage = Stage::begin(4_000, 1);
    stage.hear(b"\x82\x80keyA", true);
    assert_eq!(stage.write(), LostEvents::default());
    stage.tap.record_sent(who(1), &[7; 5_000]);
    stage.hear(b"\x82\x85keyBhel", true);
    open(&stage.tap, 2);
    let lost = stage.write();
    assert_eq!((lost.missed.messages, lost.connections.get(&1)), (3, Some(&[9, 5_000])));
    stage.lose(&lost);
    stage.hear(b"lo", false);
    stage.hear(b"\x82\x80keyC", true);
    (1..3).for_each(|client| stage.tap.record_sent(who(client), b"\x82\x00"));
    stage.write();

    let (said, holes) = stage.first();
    assert_eq!(holes, [(TcpSide::Client, 11), (TcpSide::Server, 5_000)]);
    assert_eq!(said, b"GET /\x82\x80keyA\x82\x80keyC");
    let read = stage.read();
    assert_eq!(
        read.connections()[1].pieces.len(),
        3,
        "a client that came meanwhile is introduced all the same"
    );
    let comments: String =
        read.packets.iter().flat_map(|packet| &packet.comments).map(Untrusted::raw).collect();
    assert!(comments.contains(" lost=5011 bytes before"), "{comments}");
    let lost = read.records().filter_map(|(_, record)| match record {
        Ok((_, WorldRecord::Lost { messages, bytes, .. })) => Some((messages, bytes)),
        _ => None,
    });
    assert_eq!((lost.collect::<Vec<_>>(), stage.scribe.lost), (vec![(3, 5_009 + 17), (1, 2)], 4));
}

#[test]
fn clients_that_join_or_leave_during_a_loss_are_recorded_once_and_completely() {
    let mut stage = Stage::begin(4_000, 2);
    let tap = stage.tap.clone();
    tap.record_sent(who(1), &[7; 5_000]);
    tap.record_close(who(2), "gone");
    for client in 3..5 {
        open(&tap, client);
        tap.record_sent(who(client), b"\x82\x00");
    }
    tap.record_close(who(4), "gone");
    let lost = stage.write();
    assert_eq!((lost.missed.messages, &lost.opened, &lost.ended), (7, &[3].into(), &[2].into()));
    assert!(!lost.connections.contains_key(&4), "nothing is kept of a client that came and went");
    // What follows happens before the recorder has asked who is there.
    tap.record_sent(who(1), b"\x82\x00");
    tap.record_close(who(1), "gone");
    open(&tap, 5);
    stage.lose(&lost);
    tap.record_sent(who(3), b"\x82\x00");
    assert_eq!(stage.write(), LostEvents::default());
    let told = stage.read().connections().into_iter().map(|connection| {
        let (pieces, holes) = (connection.pieces.len(), connection.gaps.len());
        (connection.client.port() - 50_000, pieces, holes, connection.has_end)
    });
    let expected = [(1, 3, 1, true), (2, 2, 0, false), (3, 3, 1, false), (5, 2, 0, false)];
    assert_eq!(told.collect::<Vec<_>>(), expected);

    let one = tap.subscribe(Some(2), 1);
    (2..4).for_each(|client| open(&tap, client));
    let lost = one.receive(Duration::ZERO).lost;
    let came: Vec<u64> = tap.reintroduce(&lost.opened).iter().map(|seen| seen.client).collect();
    assert_eq!(came, [2], "a listener to one client gets no other introductions");
}

#[test]
fn a_file_that_ends_before_a_tick_is_an_empty_capture() {
    let (tap, mut scribe) = (Tap::default(), CaptureEncoder::new(Duration::ZERO, PacketTables::builtin()));
    let listener = tap.subscribe_with_world(None, 4_000);
    open(&tap, 1);
    listener.close();
    listener.receive(Duration::ZERO).items.iter().for_each(|seen| scribe.write_event(seen));
    scribe.finish();
    let read = capture::read(&scribe.writer.blocks).expect("a capture");
    assert_eq!((read.packets.len(), read.truncated_at, scribe.writer.packets), (0, None, 0));
}

#[test]
fn the_rest_of_a_message_that_a_file_begins_in_is_a_hole_in_it() {
    let mut stage = Stage::begin(1 << 20, 1);
    let (fragment, pong, last) = (b"\x02\x80key1", b"\x8a\x80key2", b"\x80\x80key3");
    stage.hear(&[&fragment[..], pong].concat(), true);
    stage.write();
    stage.listener.request_worlds();
    stage.scribe.writer.blocks.clear();
    stage.begin_file();
    stage.hear(pong, false);
    stage.hear(last, false);
    stage.hear(b"\x82\x80key4", true);
    stage.write();
    assert_eq!(stage.first(), (b"GET /\x82\x80key4".to_vec(), vec![(TcpSide::Client, 12)]));
}

#[test]
fn a_client_of_a_room_without_a_world_is_in_no_file() {
    let mut stage = Stage::begin(1 << 20, 1);
    stage.tap.add_room(&run("two"));
    open_with(&stage.tap, who(2), "two", b"GET /");
    stage.listener.request_worlds();
    stage.write();
    stage.scribe.writer.blocks.clear();
    stage.begin_file();
    stage.tap.record_sent(who(2), b"\x82\x00");
    stage.write();
    assert_eq!(stage.read().connections().len(), 1);
}

#[test]
fn a_client_of_an_ended_run_is_in_no_record_of_the_next_run() {
    let mut stage = Stage::begin(1 << 20, 1);
    stage.tap.remove_room(&stage.run);
    stage.run.number += 1;
    stage.tap.add_room(&stage.run);
    stage.scribe.writer.blocks.clear();
    stage.begin_file();
    stage.hear(b"\x82\x80key1", true);
    stage.write();
    let read = stage.read();
    let records: Vec<_> = read.records().filter_map(|(_, record)| record.ok()).map(|(_, one)| one).collect();
    assert!(
        !records.iter().any(|one| matches!(one, WorldRecord::Client { .. } | WorldRecord::Join { .. })),
        "{records:?}"
    );
    assert_eq!((read.connections().len(), records.len() > 2), (0, true));
}

#[test]
fn a_plain_capture_has_packets_alone() {
    let mut stage = Stage::begin(1 << 20, 1);
    stage.hear(b"\x82\x80key1", true);
    stage.write();
    let whole = stage.first();
    stage.scribe.is_plain = true;
    stage.listener.request_worlds();
    stage.scribe.writer.blocks.clear();
    stage.begin_file();
    stage.hear(b"\x82\x80key1", true);
    stage.write();
    let read = stage.read();
    assert!(read.packets.iter().all(|packet| packet.link == 101) && read.records().count() == 0);
    assert_eq!(stage.first(), whole);
}

#[test]
fn large_messages_are_several_segments_and_a_large_world_several_records() {
    let mut stage = Stage::begin(1 << 20, 1);
    stage.tap.record_sent(who(1), &[7; 150_000]);
    stage.write();
    let read = stage.read();
    let connection = read.connections().swap_remove(0);
    let sizes: Vec<usize> = connection.pieces.iter().skip(2).map(|piece| piece.bytes.len()).collect();
    let max = limits::CAPTURE_SEGMENT_BYTES;
    assert_eq!(sizes, [max, max, 150_000 - 2 * max]);
    assert!(read.packets.iter().all(|packet| packet.bytes.len() < 65_535));
    let snapshot: Vec<u8> = read
        .records()
        .filter_map(|(_, record)| match record {
            Ok((_, WorldRecord::World { bytes, .. })) => Some(bytes.to_vec()),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(snapshot, stage.world.snapshot());
    assert_eq!(stage.scribe.writer.packets, read.packets.len() as u64);
}
