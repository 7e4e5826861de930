//! Lost bytes are reported and counted, and show as a gap of their size.

use std::sync::Arc;

use super::*;
use crate::capture::{self, End};
use crate::net::tap::{Handshake, Tap, Who};
use crate::packet::Codes;
use crate::peer::receiver::Piece;
use crate::world::{Identity, TickHz};

const AT: Duration = Duration::from_secs(3);

fn who(client: u64) -> Who {
    Who { client, player: 0, at: AT, tick: 0 }
}

/// Bytes of the first client.
fn hear(tap: &Tap, bytes: &[u8], begins: bool, is_whole: bool) {
    tap.heard(who(1), Piece { bytes, begins, is_whole }, &|| b"session".to_vec());
}

fn open(tap: &Tap, client: u64) {
    let ends = (format!("192.0.2.7:{}", 50_000 + client), "[2001:db8::1]:3000");
    let ends = (ends.0.parse().expect("an address"), ends.1.parse().expect("an address"));
    let dialect = Codes::builtin().dialect("native").expect("built in");
    tap.opened(
        client,
        Handshake::new(ends, (dialect, false), ("".into(), AT, 0), b"GET /".to_vec(), b"HTTP/1.1".to_vec()),
    );
}

fn begin_tick(tap: &Tap, world: &World, tick: u32) {
    tap.ticked((&"".into(), AT, tick), 0, (*b"frame").into(), Some(world.snapshot().into()));
}

/// Takes all that waits, and writes it down.
fn write(listener: &crate::net::tap::Listener, scribe: &mut Scribe, out: &mut Vec<u8>) -> Lost {
    let taken = listener.take(Duration::ZERO);
    taken.items.iter().for_each(|seen| scribe.take(seen, out));
    taken.lost
}

#[test]
fn lost_bytes_leave_a_gap_of_their_size_a_record_and_a_comment() {
    let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
    let (tap, mut scribe, mut out) = (Tap::default(), Scribe::new(0), Vec::new());
    let listener = tap.listen_with_world(None, 4_000);
    open(&tap, 1);
    let tick = |tick| begin_tick(&tap, &world, tick);
    tick(0);
    hear(&tap, b"\x82\x80keyA", true, true);
    assert_eq!(write(&listener, &mut scribe, &mut out), Lost::default());
    tap.said(who(1), &[7; 5_000]);
    hear(&tap, b"\x82\x85keyBhel", true, false);
    open(&tap, 2);
    let lost = write(&listener, &mut scribe, &mut out);
    assert_eq!((lost.messages, lost.connections.get(&1)), (3, Some(&[9, 5_000])));
    scribe.lose(&lost, &tap.introduce(&lost.opened), AT, &mut out);
    hear(&tap, b"lo", false, true);
    hear(&tap, b"\x82\x80keyC", true, true);
    tap.said(who(1), b"\x82\x00");
    tap.said(who(2), b"\x82\x00");
    write(&listener, &mut scribe, &mut out);

    let read = capture::read(&out).expect("a capture");
    let connections = read.connections();
    let holes: Vec<_> = connections[0].holes.iter().map(|hole| (hole.from, hole.bytes)).collect();
    assert_eq!(holes, [(End::Client, 11), (End::Server, 5_000)]);
    let said: Vec<u8> = connections[0]
        .pieces
        .iter()
        .filter(|piece| piece.from == End::Client)
        .flat_map(|piece| piece.bytes)
        .copied()
        .collect();
    assert_eq!(said, b"GET /\x82\x80keyA\x82\x80keyC");
    assert_eq!(connections[1].pieces.len(), 3, "who came meanwhile is introduced all the same");
    let comments: String = read.packets.iter().flat_map(|packet| &packet.comments).copied().collect();
    assert!(comments.contains(" lost=5011 bytes before"), "{comments}");
    let lost: Vec<_> = read
        .records()
        .filter_map(|(_, record)| match record {
            Ok((_, Record::Lost { messages, bytes, .. })) => Some((messages, bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [(3, 5_009 + 13), (1, 2)]);
}

/// The bytes of a client's connection in a capture, and its holes.
fn client_side(bytes: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let read = capture::read(bytes).expect("a capture");
    let connection = &read.connections()[0];
    let own = connection.pieces.iter().filter(|piece| piece.from == End::Client);
    let holes = connection.holes.iter().map(|hole| hole.bytes).collect();
    (own.flat_map(|piece| piece.bytes).copied().collect(), holes)
}

#[test]
fn clients_that_join_or_leave_during_a_loss_are_recorded_once_and_completely() {
    let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
    let (tap, mut scribe, mut out) = (Tap::default(), Scribe::new(0), Vec::new());
    let listener = tap.listen_with_world(None, 4_000);
    open(&tap, 1);
    open(&tap, 2);
    begin_tick(&tap, &world, 0);
    write(&listener, &mut scribe, &mut out);
    tap.said(who(1), &[7; 5_000]);
    tap.ended(who(2), "gone");
    open(&tap, 3);
    tap.said(who(3), b"\x82\x00");
    open(&tap, 4);
    tap.said(who(4), b"\x82\x00");
    tap.ended(who(4), "gone");
    let lost = write(&listener, &mut scribe, &mut out);
    assert_eq!((lost.messages, &lost.opened, &lost.ended), (7, &[3].into(), &[2].into()));
    assert!(!lost.connections.contains_key(&4), "nothing is kept of who came and went");
    // What follows happens before the recorder has asked who is there.
    tap.said(who(1), b"\x82\x00");
    tap.ended(who(1), "gone");
    open(&tap, 5);
    scribe.lose(&lost, &tap.introduce(&lost.opened), AT, &mut out);
    tap.said(who(3), b"\x82\x00");
    assert_eq!(write(&listener, &mut scribe, &mut out), Lost::default());
    let read = capture::read(&out).expect("a capture");
    let told: Vec<_> = read
        .connections()
        .iter()
        .map(|one| (one.client.port() - 50_000, one.pieces.len(), one.holes.len(), one.has_end))
        .collect();
    assert_eq!(told, [(1, 3, 1, true), (2, 2, 0, false), (3, 3, 1, false), (5, 2, 0, false)]);
}

#[test]
fn a_listener_to_one_client_gets_no_other_introductions_after_a_loss() {
    let tap = Tap::default();
    open(&tap, 1);
    let listener = tap.listen(Some(2), 1);
    (2..4).for_each(|client| open(&tap, client));
    let lost = listener.take(Duration::ZERO).lost;
    let came: Vec<u64> = tap.introduce(&lost.opened).iter().map(|seen| seen.client).collect();
    assert_eq!(came, [2]);
}

#[test]
fn a_file_that_ends_before_a_tick_is_an_empty_capture() {
    let (tap, mut scribe, mut out) = (Tap::default(), Scribe::new(0), Vec::new());
    let listener = tap.listen_with_world(None, 4_000);
    open(&tap, 1);
    listener.close();
    write(&listener, &mut scribe, &mut out);
    scribe.finish(&mut out);
    let read = capture::read(&out).expect("a capture");
    assert_eq!((read.packets.len(), read.cut_at, scribe.packets()), (0, None, 0));
}

#[test]
fn the_rest_of_a_message_that_a_file_begins_in_is_a_hole_in_it() {
    let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
    let (tap, mut scribe, mut out) = (Tap::default(), Scribe::new(0), Vec::new());
    let listener = tap.listen_with_world(None, 1 << 20);
    open(&tap, 1);
    let tick = |tick| begin_tick(&tap, &world, tick);
    tick(0);
    let (fragment, pong, last) = (b"\x02\x80key1", b"\x8a\x80key2", b"\x80\x80key3");
    hear(&tap, &[&fragment[..], pong].concat(), true, false);
    write(&listener, &mut scribe, &mut out);
    listener.renew();
    out.clear();
    tick(1);
    hear(&tap, pong, false, false);
    hear(&tap, last, false, true);
    hear(&tap, b"\x82\x80key4", true, true);
    write(&listener, &mut scribe, &mut out);
    let (said, holes) = client_side(&out);
    assert_eq!((said, holes), ([&b"GET /"[..], b"\x82\x80key4"].concat(), vec![12]));
}

#[test]
fn large_messages_are_several_segments_and_a_large_world_several_records() {
    let world = World::new(Identity { seed: 1, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
    let (tap, mut scribe, mut out) = (Tap::default(), Scribe::new(0), Vec::new());
    let listener = Arc::clone(&tap.listen_with_world(None, 1 << 20));
    open(&tap, 1);
    begin_tick(&tap, &world, 0);
    tap.said(who(1), &[7; 150_000]);
    write(&listener, &mut scribe, &mut out);
    let read = capture::read(&out).expect("a capture");
    let sizes: Vec<usize> =
        read.connections()[0].pieces.iter().skip(2).map(|piece| piece.bytes.len()).collect();
    assert_eq!(
        sizes,
        [
            limits::CAPTURE_SEGMENT_BYTES,
            limits::CAPTURE_SEGMENT_BYTES,
            150_000 - 2 * limits::CAPTURE_SEGMENT_BYTES
        ]
    );
    assert!(read.packets.iter().all(|packet| packet.bytes.len() < 65_535));
    let snapshot: Vec<u8> = read
        .records()
        .filter_map(|(_, record)| match record {
            Ok((_, Record::World { bytes, .. })) => Some(bytes),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    assert_eq!(snapshot, world.snapshot());
    assert_eq!(scribe.packets(), read.packets.len() as u64);
}
