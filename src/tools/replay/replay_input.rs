//! The contents of a capture that a replay needs, collected while the file arrives.
//!
//! Nearly all bytes of a capture are updates, which a replay does not need: [`ReplayInput`] drops
//! them. It stores the world records, the clients' bytes, and the server's pieces that may contain
//! replies.

use core::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::error::ReplayError;
use super::former_names;
use super::server_replies::{FilterProgress, ReplyFilter};
use crate::packet::PacketTables;
use crate::tools::capture::lane_packet::{self, LaneDatagram};
use crate::tools::capture::packet::{self, LINK_WORLD};
use crate::tools::capture::{
    self, Capture, CaptureError, Packet, Payload, StreamPiece, StreamReader, StreamingReassembler,
    TcpConnection, TcpSide, Unread, Untrusted, WorldRecord, world_record,
};

/// The contents of a capture that a replay needs.
pub struct ReplayInput {
    given: Option<Arc<PacketTables>>,
    stream: StreamReader,
    reassembler: StreamingReassembler,
    /// Selects the server's pieces that may contain replies. `None` before the first traffic.
    /// `Some(None)` if the tables were missing or invalid at that time; then no piece is dropped.
    filter: Option<Option<ReplyFilter>>,
    /// The world records. After a truncated packet, only packet tables are stored.
    records: Vec<Arc<StoredRecord>>,
    /// The number of records before the first truncated packet.
    complete: usize,
    /// The number of records that [`ReplayInput::new_records`] has returned.
    returned: usize,
    connections: Vec<BufferedConnection>,
    /// The opened datagrams from clients.
    datagrams: Vec<BufferedDatagram>,
    /// Completed ticks and slack by packet number. 0 for packets that are not from clients.
    times: Vec<(u32, Duration)>,
    /// The earliest time of a packet, in nanoseconds since 1970.
    first_ns: Option<u64>,
    unread: Unread,
    /// The number of the first packet truncated by the snapshot length. Later packets are dropped.
    pub(super) truncated_packet: Option<usize>,
    /// The offset of an incomplete block at the end of the file, in bytes.
    pub(super) ends_at_byte: Option<usize>,
}

/// A stored world record.
#[derive(Debug)]
pub struct StoredRecord {
    pub(super) number: usize,
    pub(super) at_ns: u64,
    pub(super) bytes: Vec<u8>,
    original_length: usize,
}

/// The stored pieces of one connection.
#[derive(Default)]
struct BufferedConnection {
    bytes: Vec<u8>,
    pieces: Vec<BufferedPiece>,
    filtered: FilterProgress,
}

/// A stored datagram from a client.
#[derive(Debug)]
pub(super) struct BufferedDatagram {
    /// The client's end of its TCP connection.
    pub(super) connection: SocketAddr,
    pub(super) at_ns: u64,
    pub(super) packet: usize,
    /// The header and the messages.
    pub(super) bytes: Vec<u8>,
}

struct BufferedPiece {
    from: TcpSide,
    at_ns: u64,
    packet: usize,
    bytes: Range<usize>,
}

impl ReplayInput {
    /// Creates an input before the first byte of the file. `given` are the packet tables for a file
    /// that has none; the default is the built-in ones.
    pub fn new(given: Option<Arc<PacketTables>>) -> ReplayInput {
        ReplayInput {
            given,
            stream: StreamReader::default(),
            reassembler: StreamingReassembler::default(),
            filter: None,
            records: Vec::new(),
            complete: 0,
            returned: 0,
            connections: Vec::new(),
            datagrams: Vec::new(),
            times: Vec::new(),
            first_ns: None,
            unread: Unread::default(),
            truncated_packet: None,
            ends_at_byte: None,
        }
    }

    /// Reads a complete file in memory.
    ///
    /// # Errors
    /// [`CaptureError`] gives the offset of the defect and the violated rule.
    pub fn read(bytes: &[u8], given: Option<Arc<PacketTables>>) -> Result<ReplayInput, CaptureError> {
        let mut input = ReplayInput::new(given);
        let used = input.receive(bytes)?;
        input.finish(&bytes[used..])?;
        Ok(input)
    }

    /// Receives the next bytes of the file, and returns the number of bytes used. The next call
    /// must start with the unused bytes.
    ///
    /// # Errors
    /// [`CaptureError`]: the file is not a capture, or is damaged.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<usize, CaptureError> {
        let mut stream = std::mem::take(&mut self.stream);
        let used = stream.receive(bytes, &mut |packet| self.add(packet));
        self.stream = stream;
        used
    }

    /// Ends the file with its unused bytes.
    ///
    /// # Errors
    /// [`CaptureError`]: the file ends before its first block is complete.
    pub fn finish(&mut self, rest: &[u8]) -> Result<(), CaptureError> {
        if self.stream.offset() == 0 {
            capture::read(rest)?;
        }
        self.ends_at_byte = (!rest.is_empty()).then_some(self.stream.offset());
        Ok(())
    }

    fn add(&mut self, packet: &Packet<'_>) {
        let is_short = packet.bytes.len() < packet.original_length;
        if packet.link == LINK_WORLD {
            return self.add_record(packet, is_short);
        }
        if self.truncated_packet.is_some() {
            return;
        }
        let segment = packet::decode(packet);
        if is_short && segment.as_ref().is_none_or(|segment| segment.missing_bytes > 0) {
            self.truncated_packet = Some(packet.number);
            return;
        }
        self.add_time(packet.at_ns);
        let Some(segment) = segment else {
            if let Some(datagram) = lane_packet::decode(packet) {
                return self.add_datagram(packet, datagram);
            }
            return self.unread.add(packet);
        };
        match self.reassembler.receive(packet, &segment) {
            Some(Payload::InOrder(connection, from)) => {
                self.add_piece(packet, connection, from, segment.payload);
            }
            Some(Payload::Stored) => self.add_client_time(packet),
            None => {}
        }
    }

    fn add_record(&mut self, packet: &Packet<'_>, is_short: bool) {
        if is_short {
            self.truncated_packet.get_or_insert(packet.number);
        }
        let is_table = || matches!(world_record::decode(packet.bytes), Ok((_, WorldRecord::Table { .. })));
        if self.truncated_packet.is_some() && !is_table() {
            return;
        }
        let (number, at_ns, bytes) = (packet.number, packet.at_ns, packet.bytes.to_vec());
        let original_length = packet.original_length;
        self.records.push(Arc::new(StoredRecord { number, at_ns, bytes, original_length }));
        if self.truncated_packet.is_none() {
            self.complete = self.records.len();
            self.add_time(at_ns);
        }
    }

    fn add_piece(&mut self, packet: &Packet<'_>, connection: usize, from: TcpSide, payload: &[u8]) {
        if self.filter.is_none() {
            self.filter = Some(self.tables().ok().map(|tables| ReplyFilter::new(&tables)));
        }
        if self.connections.len() <= connection {
            self.connections.resize_with(connection + 1, BufferedConnection::default);
        }
        let buffered = &mut self.connections[connection];
        if from == TcpSide::Server
            && let Some(Some(filter)) = &self.filter
            && !filter.is_needed(&mut buffered.filtered, payload)
        {
            return;
        }
        let begin = buffered.bytes.len();
        buffered.bytes.extend_from_slice(payload);
        let bytes = begin..buffered.bytes.len();
        buffered.pieces.push(BufferedPiece { from, at_ns: packet.at_ns, packet: packet.number, bytes });
        if from == TcpSide::Client {
            self.add_client_time(packet);
        }
    }

    fn add_datagram(&mut self, packet: &Packet<'_>, datagram: LaneDatagram<'_>) {
        if packet.inbound != Some(true) {
            return;
        }
        let (at_ns, packet_number, bytes) = (packet.at_ns, packet.number, datagram.bytes.to_vec());
        let connection = datagram.connection;
        self.datagrams.push(BufferedDatagram { connection, at_ns, packet: packet_number, bytes });
        self.add_client_time(packet);
    }

    fn add_time(&mut self, at_ns: u64) {
        self.first_ns = Some(self.first_ns.map_or(at_ns, |first| first.min(at_ns)));
    }

    fn add_client_time(&mut self, packet: &Packet<'_>) {
        self.times.resize(packet.number, (0, Duration::ZERO));
        self.times.push(recorded_time(&packet.comments));
    }

    /// The world records received since the last call, for [`WorldRunner::run`].
    ///
    /// [`WorldRunner::run`]: super::WorldRunner::run
    pub fn new_records(&mut self) -> Vec<Arc<StoredRecord>> {
        let new = self.records[self.returned..self.complete].to_vec();
        self.returned = self.complete;
        new
    }

    /// The packet tables: [the file's own](PacketTables::for_capture) if the file has any,
    /// otherwise the given or the built-in tables. The tables have the current names of packets.
    fn tables(&self) -> Result<Arc<PacketTables>, ReplayError> {
        let packets = self.records.iter().map(|record| record.packet()).collect();
        let capture = Capture { packets, ..Capture::default() };
        let carried = capture.tables().map_err(|error| ReplayError::of_file(error.to_string()))?;
        let tables = PacketTables::for_capture(carried, self.given.clone());
        let tables = tables.map_err(|error| ReplayError::of_file(error.to_string()))?;
        Ok(former_names::with_current_names(tables))
    }

    /// The packet tables of the complete file.
    ///
    /// # Errors
    /// [`ReplayError`]: the file's tables are invalid, differ from the given ones, or come too late
    /// to select the replies.
    pub(super) fn codes(&self) -> Result<Arc<PacketTables>, ReplayError> {
        let tables = self.tables()?;
        match &self.filter {
            Some(Some(filter)) if *filter != ReplyFilter::new(&tables) => {
                Err(ReplayError::of_file("the packet tables in the capture come after its first traffic"))
            }
            _ => Ok(tables),
        }
    }

    /// The world records before the first truncated packet.
    pub(super) fn records(&self) -> &[Arc<StoredRecord>] {
        &self.records[..self.complete]
    }

    /// The connections, with the pieces that a replay needs.
    pub(super) fn connections(&self) -> Vec<TcpConnection<'_>> {
        let connection = |number| {
            let assembled = self.reassembler.connection(number);
            let Some(buffered) = self.connections.get(number) else { return assembled };
            let placed = buffered.pieces.iter().map(|piece| {
                let BufferedPiece { from, at_ns, packet, ref bytes } = *piece;
                StreamPiece { from, at_ns, packet, bytes: &buffered.bytes[bytes.clone()], gap_before: false }
            });
            let pieces = placed.chain(assembled.pieces).collect();
            TcpConnection { pieces, ..assembled }
        };
        (0..self.reassembler.len()).map(connection).collect()
    }

    /// The opened datagrams from clients, in order.
    pub(super) fn datagrams(&self) -> &[BufferedDatagram] {
        &self.datagrams
    }

    /// The number of completed ticks and the slack at the time when a packet of a client was
    /// captured.
    pub(super) fn time_of(&self, packet: usize) -> (u32, Duration) {
        self.times.get(packet).copied().unwrap_or_default()
    }

    /// The earliest time of a packet, in nanoseconds since 1970.
    pub(super) fn first_ns(&self) -> u64 {
        self.first_ns.unwrap_or_default()
    }

    /// Describes the packets that contain neither a TCP segment nor a record; `None` if there are
    /// none.
    pub(super) fn unread(&self) -> Option<String> {
        self.unread.words()
    }
}

impl StoredRecord {
    /// The record as a packet of a capture.
    fn packet(&self) -> Packet<'_> {
        Packet {
            number: self.number,
            at_ns: self.at_ns,
            link: LINK_WORLD,
            bytes: &self.bytes,
            original_length: self.original_length,
            inbound: None,
            comments: Vec::new(),
        }
    }
}

/// Parses the number of completed ticks and the slack from the comments of a packet; 0 if missing.
/// The slack must follow the tick directly, because a player's name may contain the same text.
fn recorded_time(comments: &[Untrusted<&str>]) -> (u32, Duration) {
    let mut words = comments.iter().flat_map(|comment| comment.raw().split(' '));
    let tick = words.find_map(|word| word.strip_prefix("tick=")?.parse().ok());
    let slack = words.next().and_then(|word| word.strip_prefix("slack=")?.strip_suffix("ms")?.parse().ok());
    (tick.unwrap_or_default(), slack.map_or(Duration::ZERO, Duration::from_millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_states_tick_and_slack_and_a_name_states_neither() {
        let ms = Duration::from_millis;
        for (comments, expected) in [
            (&["tick=9 slack=5000ms player=3 Ann"][..], (9, ms(5000))),
            (&["tick=9 player=3 slack=5000ms"], (9, ms(0))),
            (&["lost=7 bytes before", "tick=9 slack=1ms"], (9, ms(1))),
            (&["tick=9 slack=1"], (9, ms(0))),
            (&[], (0, ms(0))),
        ] {
            let comments: Vec<_> = comments.iter().copied().map(Untrusted::new).collect();
            assert_eq!(recorded_time(&comments), expected, "{comments:?}");
        }
    }
}
