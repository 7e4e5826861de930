//! Encodes the tap's traffic as a capture. Pure: the recorder supplies file, clock and thread.
//!
//! ```text
//!   opened ─► TCP handshake, request, response   session ─► record 3
//!   bytes  ─► segments                           world   ─► record 1, then the clients' handshakes
//!   ended  ─► TCP close                          tick    ─► record 2
//!   begin  ─► record 6: the packet tables        room    ─► record 7, first record of the room
//! ```
//!
//! The input is [`TapEvent`] values in order and the counts of lost events; the output is pcapng
//! blocks. `record 1` and so on are records on the capture's world interface. Bytes of a
//! client are never written before its handshake.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::MembershipChange;

use crate::connection::session::Session;
use crate::game::GameInfo;
use crate::limits;
use crate::packet::PacketTables;
use crate::server::net::tap::{EventKind, LostEvents, Side, SkippedTraffic, TapEvent};
use crate::server::room::WorldSnapshot;
use crate::tools::capture::TcpSide;
use crate::tools::capture::Untrusted;
use crate::tools::capture::lane_packet;
use crate::tools::capture::world_record::{self, WorldRecord};
use crate::tools::capture::writer::{CaptureWriter, TcpFlow};
use crate::ws::frame::Header;

/// A client and its state in the current file.
#[derive(Debug)]
struct CapturedClient {
    opened: Arc<TapEvent>,
    address: SocketAddr,
    /// `None` until the file contains the client's handshake.
    flow: Option<TcpFlow>,
    player: u16,
}

/// Encodes tap events into a capture.
#[derive(Debug)]
pub struct CaptureEncoder {
    /// Writes the blocks and counts the packets.
    pub writer: CaptureWriter,
    /// Messages reported as lost so far.
    pub lost: u64,
    /// Whether to write packets only, without records of the world and packet tables.
    pub is_plain: bool,
    /// Whether a file has been started. Nothing is written before.
    pub has_begun: bool,
    clients: BTreeMap<u64, CapturedClient>,
    /// Player names by room and player number.
    names: HashMap<(Arc<str>, u16), String>,
    /// Addresses with a name record in the current file.
    named_addresses: BTreeSet<IpAddr>,
    /// Rooms with a game record in the current file.
    rooms: BTreeSet<Arc<str>>,
    /// Packet tables, written at the start of each file.
    codes: Arc<PacketTables>,
}

impl CaptureEncoder {
    /// Creates an encoder for a server with these packet tables. `epoch` is the time from 1970 to
    /// the start of the server's clock.
    pub fn new(epoch: Duration, codes: Arc<PacketTables>) -> CaptureEncoder {
        CaptureEncoder {
            writer: CaptureWriter::new(epoch),
            lost: 0,
            is_plain: false,
            has_begun: false,
            clients: BTreeMap::new(),
            names: HashMap::new(),
            named_addresses: BTreeSet::new(),
            rooms: BTreeSet::new(),
            codes,
        }
    }

    /// Starts a file with the packet tables. The first world must follow.
    pub fn begin_file(&mut self, at: Duration) {
        self.has_begun = true;
        self.named_addresses.clear();
        self.rooms.clear();
        self.clients.values_mut().for_each(|captured| captured.flow = None);
        self.writer.begin(!self.is_plain);
        if !self.is_plain {
            self.writer.tables(at, &self.codes.texts());
        }
    }

    /// Encodes one event.
    pub fn write_event(&mut self, event: &Arc<TapEvent>) {
        match &event.kind {
            EventKind::Opened { address, .. } => {
                let captured =
                    CapturedClient { opened: Arc::clone(event), address: *address, flow: None, player: 0 };
                self.clients.insert(event.client, captured);
                if self.has_begun {
                    self.write_handshake(event.client);
                }
            }
            EventKind::Session(session) => self.write_session(event, session),
            EventKind::Bytes { from, bytes, is_injected, .. } => {
                self.bytes(event, *from, bytes, if *is_injected { " injected" } else { "" });
            }
            EventKind::Datagram { from, address, bytes, .. } => self.datagram(event, *from, *address, bytes),
            EventKind::DroppedDatagram { .. } => {}
            EventKind::Skipped(missed) if self.introduced(event.client).is_none() => {
                self.lost += missed.messages
            }
            EventKind::Skipped(missed) => {
                self.write_missing(*missed, &event.room, event.at);
                self.skip(event.client, [missed.bytes, 0]);
            }
            EventKind::Ended { rule } => self.end(event, rule),
            EventKind::World { snapshot } => self.write_snapshot(event, snapshot),
            EventKind::Tick { checksum, frame, changes } => {
                self.learn_names(&event.room, changes);
                self.record(&event.room, event.at, &WorldRecord::Tick { checksum: *checksum, frame });
            }
        }
    }

    /// Finishes the file. Without any world it contains no traffic, but is still a valid capture.
    pub fn finish(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.writer.begin(!self.is_plain);
        }
    }

    /// Writes the room's game, before the room's first record and the first bytes of its clients.
    fn room(&mut self, room: &Arc<str>, info: &'static GameInfo, at: Duration) {
        if self.has_begun && self.rooms.insert(Arc::clone(room)) {
            let paths =
                info.paths.iter().map(|(path, dialect)| (Untrusted::new(*path), Untrusted::new(*dialect)));
            let (game, paths) = (Untrusted::new(info.name), paths.collect());
            self.record(room, at, &WorldRecord::Room { game, paths });
        }
    }

    /// Records that data is missing from here on. Removes clients that have left; `came` has the
    /// handshakes of clients that connected in the gap and are still connected.
    pub fn write_loss(&mut self, lost: &LostEvents, came: &[Arc<TapEvent>], at: Duration) {
        self.write_missing(lost.missed, "", at);
        self.clients.retain(|client, _| !lost.ended.contains(client));
        came.iter().for_each(|event| self.write_event(event));
        lost.connections.iter().for_each(|(client, bytes)| self.skip(*client, *bytes));
    }

    fn write_missing(
        &mut self,
        SkippedTraffic { messages, bytes, since_tick }: SkippedTraffic,
        room: &str,
        at: Duration,
    ) {
        self.lost += messages;
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        self.record(room, at, &WorldRecord::Lost { messages, bytes, since_tick });
    }

    /// Skips missing bytes of a client's connection: `[received, sent]`.
    fn skip(&mut self, client: u64, bytes: [u64; 2]) {
        if let Some(flow) = self.clients.get_mut(&client).and_then(|captured| captured.flow.as_mut()) {
            flow.count_missing(bytes);
        }
    }

    /// Writes the TCP handshake, the request and the response of a client.
    fn write_handshake(&mut self, client: u64) {
        let Some(opened) = self.clients.get(&client).map(|captured| Arc::clone(&captured.opened)) else {
            return;
        };
        let TapEvent { at, tick, kind: ref what, .. } = *opened;
        let EventKind::Opened { address, local, info: game, dialect, json, request, response } = what else {
            return;
        };
        self.room(&opened.room, game, at);

        let format = if *json { " json" } else { "" };
        let meta = (at, &*format!("tick={tick} client={client} dialect={dialect}{format}"));
        // Ports are reused, so each connection needs a different initial sequence number.
        let first = (client as u32).wrapping_mul(0x9e37_79b1);
        let mut flow = TcpFlow::open(&mut self.writer, [*address, *local], [first, !first], meta);
        flow.bytes(&mut self.writer, TcpSide::Client, request, meta);
        flow.bytes(&mut self.writer, TcpSide::Server, response, meta);
        if let Some(captured) = self.clients.get_mut(&client) {
            captured.flow = Some(flow);
        }
    }

    /// Returns the client if the file contains its handshake. No record is written for other
    /// clients, because their room has no world in the file.
    fn introduced(&mut self, client: u64) -> Option<&mut CapturedClient> {
        self.clients.get_mut(&client).filter(|captured| captured.flow.is_some())
    }

    /// Writes the connection state of a client.
    fn write_session(&mut self, event: &TapEvent, session: &[u8]) {
        let Some(captured) = self.introduced(event.client) else { return };
        captured.player = event.player;
        let opened = Arc::clone(&captured.opened);
        let EventKind::Opened { address, dialect, json, .. } = &opened.kind else { return };
        let (awaits_hello, sequence) = Session::peek_saved(session).unwrap_or_default();
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let address = address.to_string();
        let record = WorldRecord::Client {
            client: event.client,
            address: Untrusted::new(&address),
            dialect: Untrusted::new(dialect),
            player: event.player,
            sequence,
            flags: flag(awaits_hello, world_record::FLAG_AWAITS_HELLO) | flag(*json, world_record::FLAG_JSON),
            session,
        };
        self.record(&event.room, event.at, &record);
        self.name(event.client);
    }

    fn bytes(&mut self, event: &TapEvent, from: Side, bytes: &[u8], mark: &str) {
        self.write_join(event);
        let comment = self.comment(event, mark);
        if let Some(flow) = self.clients.get_mut(&event.client).and_then(|captured| captured.flow.as_mut()) {
            let end = if from == Side::Client { TcpSide::Client } else { TcpSide::Server };
            for segment in segments(bytes, from) {
                flow.bytes(&mut self.writer, end, segment, (event.at, &comment));
            }
        }
    }

    /// Writes an opened datagram of a client.
    fn datagram(&mut self, event: &TapEvent, from: Side, address: SocketAddr, bytes: &[u8]) {
        self.write_join(event);
        let comment = self.comment(event, "");
        let Some(captured) = self.introduced(event.client) else { return };
        let EventKind::Opened { local, .. } = captured.opened.kind else { return };
        let (is_inbound, connection) = (from == Side::Client, captured.address);
        let ends = if is_inbound { [address, local] } else { [local, address] };
        let comment = lane_packet::comment(&comment, connection);
        self.writer.datagram(ends, is_inbound, bytes, (event.at, &comment));
    }

    fn end(&mut self, event: &TapEvent, rule: &str) {
        let comment = self.comment(event, &format!(" {rule}"));
        let is_by_peer = matches!(rule, "peer_closed" | "peer_lost");
        let first = if is_by_peer { TcpSide::Client } else { TcpSide::Server };
        if let Some(flow) = self.clients.remove(&event.client).and_then(|captured| captured.flow) {
            flow.end(&mut self.writer, first, (event.at, &comment));
        }
        // Bounds the memory of a long capture to a pipe, in which many rooms come and go.
        if !self.clients.values().any(|captured| captured.opened.room == event.room) {
            self.rooms.remove(&event.room);
        }
    }

    /// Writes a room's world and the handshakes of its connected clients, which must precede other
    /// data.
    fn write_snapshot(&mut self, event: &TapEvent, snapshot: &WorldSnapshot) {
        self.room(&event.room, snapshot.info, event.at);
        let WorldSnapshot { identity, rules_hash, names, bytes, .. } = snapshot;
        let parts = bytes.chunks(limits::CAPTURE_CHUNK_BYTES);
        // The limits on a world keep it far below 65,535 parts.
        let count = parts.len() as u16;
        for (part, bytes) in (0..count).zip(parts) {
            let record = WorldRecord::World {
                seed: identity.seed,
                tick_hz: identity.tick_hz,
                options: identity
                    .options
                    .iter()
                    .map(|(name, value)| (Untrusted::new(*name), *value))
                    .collect(),
                rules_hash: *rules_hash,
                tick: event.tick,
                part,
                parts: count,
                bytes,
            };
            self.record(&event.room, event.at, &record);
        }
        self.names.retain(|(room, _), _| *room != event.room);
        let names = names.iter().map(|(id, name)| ((Arc::clone(&event.room), id.0), name.clone()));
        self.names.extend(names);
        // The file may already contain handshakes of clients that connected before this world.
        let is_missing =
            |captured: &CapturedClient| captured.opened.run == event.run && captured.flow.is_none();
        let clients = self.clients.iter().filter(|(_, captured)| is_missing(captured));
        for client in clients.map(|(client, _)| *client).collect::<Vec<_>>() {
            self.write_handshake(client);
            self.name(client);
        }
    }

    /// Writes a join record before the first bytes of a client with a new player.
    fn write_join(&mut self, event: &TapEvent) {
        let Some(captured) = self.introduced(event.client) else { return };
        if captured.player == event.player || event.player == 0 {
            return;
        }
        captured.player = event.player;
        let (port, address) = (captured.address.port(), captured.address.to_string());
        let address = Untrusted::new(&*address);
        let record = WorldRecord::Join { client: event.client, player: event.player, port, address };
        self.record(&event.room, event.at, &record);
        self.name(event.client);
    }

    fn learn_names(&mut self, room: &Arc<str>, changes: &[MembershipChange]) {
        for change in changes {
            match change {
                MembershipChange::Joined(player, name) => {
                    self.names.insert((Arc::clone(room), player.0), name.clone());
                    let is_theirs = |captured: &CapturedClient| {
                        captured.player == player.0 && captured.opened.room == *room
                    };
                    let theirs = self.clients.iter().find(|(_, captured)| is_theirs(captured));
                    if let Some(client) = theirs.map(|(client, _)| *client) {
                        self.name(client);
                    }
                }
                MembershipChange::Disconnected(_) | MembershipChange::Reconnected(_) => {}
                MembershipChange::Left(player) => drop(self.names.remove(&(Arc::clone(room), player.0))),
            }
        }
    }

    /// Writes the player's name for the client's address, unless the address already has a name.
    fn name(&mut self, client: u64) {
        let Some(captured) = self.clients.get(&client).filter(|_| self.has_begun) else { return };
        let number = (Arc::clone(&captured.opened.room), captured.player);
        let Some(name) = self.names.get(&number).filter(|name| !name.is_empty()) else { return };
        if self.named_addresses.insert(captured.address.ip()) {
            self.writer.name(captured.address.ip(), name);
        }
    }

    fn comment(&self, event: &TapEvent, more: &str) -> String {
        let mut comment = format!("tick={}", event.tick);
        if let EventKind::Bytes { slack, .. } | EventKind::Datagram { slack, .. } = &event.kind
            && !slack.is_zero()
        {
            comment.push_str(&format!(" slack={}ms", slack.as_millis()));
        }
        if event.player != 0 {
            comment.push_str(&format!(" player={}", event.player));
            if let Some(name) = self.names.get(&(Arc::clone(&event.room), event.player)) {
                comment.push_str(&format!(" {name}"));
            }
        }
        comment + more
    }

    fn record(&mut self, room: &str, at: Duration, record: &WorldRecord<'_>) {
        if self.has_begun && !self.is_plain {
            self.writer.record(room, at, record);
        }
    }
}

/// Splits bytes into segments of at most [`limits::CAPTURE_SEGMENT_FRAMES`] frames. A client's
/// bytes may begin within a frame. All bytes after a header that cannot be decoded are one segment.
fn segments(mut bytes: &[u8], from: Side) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (segment, rest) = bytes.split_at(end_of_frames(bytes, from));
        bytes = rest;
        (!segment.is_empty()).then_some(segment)
    })
}

/// Returns the offset after the first [`limits::CAPTURE_SEGMENT_FRAMES`] frames, or the length.
fn end_of_frames(bytes: &[u8], from: Side) -> usize {
    let mut end: usize = 0;
    for _ in 0..limits::CAPTURE_SEGMENT_FRAMES {
        let Some(Ok(Some((header, size)))) =
            bytes.get(end..).map(|rest| Header::decode_with(rest, from, true))
        else {
            return bytes.len();
        };
        end = end.saturating_add(size).saturating_add(usize::try_from(header.length).unwrap_or(usize::MAX));
    }
    end.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::frame;

    /// Encodes `count` frames of a client or a server.
    fn frames(count: usize, from: Side) -> Vec<u8> {
        let key = (from == Side::Client).then_some([0x37, 0xfa, 0x21, 0x3d]);
        let mut bytes = Vec::new();
        (0..count).for_each(|at| frame::write(&mut bytes, frame::Opcode::Binary, key, &[0; 130][..at % 131]));
        bytes
    }

    #[test]
    fn segments_have_a_bounded_number_of_frames_and_all_bytes() {
        for from in [Side::Client, Side::Server] {
            for count in [0, 1, 200, 201, 584] {
                let bytes = frames(count, from);
                let parts: Vec<&[u8]> = segments(&bytes, from).collect();
                assert_eq!(parts.concat(), bytes, "{count} frames");
                assert_eq!(parts.len(), count.div_ceil(limits::CAPTURE_SEGMENT_FRAMES), "{count} frames");
                let first = parts.first().copied().unwrap_or_default();
                assert_eq!(first, frames(count.min(limits::CAPTURE_SEGMENT_FRAMES), from), "{count} frames");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_whole_frames_stay_in_one_segment() {
        let bytes = frames(584, Side::Server);
        for bytes in [
            &bytes[..130],
            &bytes[1..],
            &[0xff; 9_000],
            &[0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(segments(bytes, Side::Server).collect::<Vec<_>>().concat(), bytes);
        }
        assert_eq!(segments(&[0xff; 9_000], Side::Server).count(), 1);
    }
}
