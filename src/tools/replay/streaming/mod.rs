//! Replays a capture in one pass over the file. The bytes arrive in parts and are not stored.
//!
//! ```text
//!   file ─► StreamingReplay ─┬─ client bytes, replies ─► commands ─────────┬─► equal? ─► reports
//!                            └─ world records ─► WorldRunner ─► checksums ─┘
//! ```
//!
//! Nearly all bytes of a capture are updates, which a replay does not need: [`StreamingReplay`]
//! drops them. [`WorldRunner`] runs the worlds with the **recorded** commands, possibly on another
//! thread, without waiting for the clients' bytes. At the end, the recorded commands are compared
//! with the decoded ones. If all are equal, the result is the same as from
//! [`replay`](super::replay).
//!
//! If anything differs, is invalid or is out of order, the result is [`NeedsFullReplay`]:
//! [`replay`](super::replay) must read the file, and reports the reason.

mod needs_full_replay;
mod worlds;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::decoded_commands::{DecodedCommands, count_issued, count_unmatched, explain};
use super::recording::{self, Recording};
use super::replay_client::{self, ReplayContext};
use super::server_replies::{FilterProgress, ReplyFilter};
use super::{Report, codes};
use crate::connection::WireFormat;
use crate::game::GameInfo;
use crate::packet::PacketTables;
use crate::tools::capture::Untrusted;
use crate::tools::capture::packet::LINK_WORLD;
use crate::tools::capture::{
    Capture, Packet, PayloadChunk, StreamPiece, StreamReader, StreamingReassembler, TcpConnection, TcpSide,
    WorldRecord, world_record,
};
use crate::ws::http::RequestHead;
pub use needs_full_replay::NeedsFullReplay;
pub use worlds::{StoredRecord, WorldResults, WorldRunner};

/// A replay in one pass over the file.
pub struct StreamingReplay {
    games: Vec<&'static GameInfo>,
    given: Option<Arc<PacketTables>>,
    arriving: StreamReader,
    passing: StreamingReassembler,
    /// The packet tables and the filter made from them, once traffic has been received.
    codes: Option<(Arc<PacketTables>, ReplyFilter)>,
    records: Vec<Arc<StoredRecord>>,
    /// The number of records that [`StreamingReplay::records`] has returned.
    taken: usize,
    talks: Vec<BufferedConnection>,
    /// Completed ticks and slack by packet number. 0 for packets that are not from clients.
    times: Vec<(u32, Duration)>,
}

/// The stored pieces of one connection.
#[derive(Default)]
struct BufferedConnection {
    bytes: Vec<u8>,
    pieces: Vec<BufferedPiece>,
    sifted: FilterProgress,
}

struct BufferedPiece {
    from: TcpSide,
    at_ns: u64,
    packet: usize,
    bytes: Range<usize>,
}

impl StreamingReplay {
    /// Creates a replay before the first byte of the file. `games` is as in
    /// [`replay`](super::replay), `given` as in [`codes`].
    pub fn new(games: &[&'static GameInfo], given: Option<Arc<PacketTables>>) -> StreamingReplay {
        StreamingReplay {
            games: games.to_vec(),
            given,
            arriving: StreamReader::default(),
            passing: StreamingReassembler::default(),
            codes: None,
            records: Vec::new(),
            taken: 0,
            talks: Vec::new(),
            times: Vec::new(),
        }
    }

    /// Receives the next bytes of the file, and returns the number of bytes used. The next call
    /// must start with the unused bytes.
    ///
    /// # Errors
    /// [`NeedsFullReplay`]: [`replay`](super::replay) must read the file.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<usize, NeedsFullReplay> {
        let mut arriving = std::mem::take(&mut self.arriving);
        let mut taken = Ok(());
        let used = arriving.receive(bytes, &mut |packet| {
            if taken.is_ok() {
                taken = self.take(packet);
            }
        })?;
        self.arriving = arriving;
        taken.map(|()| used)
    }

    fn take(&mut self, packet: &Packet<'_>) -> Result<(), NeedsFullReplay> {
        if packet.link == LINK_WORLD {
            let is_table = matches!(world_record::decode(packet.bytes), Ok((_, WorldRecord::Table { .. })));
            if packet.bytes.len() < packet.original_length || is_table && self.codes.is_some() {
                return Err(NeedsFullReplay);
            }
            let (number, at_ns, bytes) = (packet.number, packet.at_ns, packet.bytes.to_vec());
            self.records.push(Arc::new(StoredRecord { number, at_ns, bytes }));
            return Ok(());
        }
        let Some(PayloadChunk { connection, from, bytes }) = self.passing.receive(packet)? else {
            return Ok(());
        };
        if self.codes.is_none() {
            let codes = codes(&self.world(), self.given.clone())?;
            let sieve = ReplyFilter::new(&codes);
            self.codes = Some((codes, sieve));
        }
        let Some((_, sieve)) = &self.codes else { return Err(NeedsFullReplay) };
        if self.talks.len() <= connection {
            self.talks.resize_with(connection + 1, BufferedConnection::default);
        }
        let talk = &mut self.talks[connection];
        if from == TcpSide::Server && !sieve.is_needed(&mut talk.sifted, bytes) {
            return Ok(());
        }
        if from == TcpSide::Client {
            self.times.resize(packet.number, (0, Duration::ZERO));
            self.times.push(replay_client::said_time(&packet.comments));
        }
        let begin = talk.bytes.len();
        talk.bytes.extend_from_slice(bytes);
        let bytes = begin..talk.bytes.len();
        talk.pieces.push(BufferedPiece { from, at_ns: packet.at_ns, packet: packet.number, bytes });
        Ok(())
    }

    /// The world records received since the last call, for [`WorldRunner::run`].
    pub fn records(&mut self) -> Vec<Arc<StoredRecord>> {
        let new = self.records[self.taken..].to_vec();
        self.taken = self.records.len();
        new
    }

    /// The world records as a capture.
    fn world(&self) -> Capture<'_> {
        Capture { packets: self.records.iter().map(|kept| kept.packet()).collect(), ..Capture::default() }
    }

    /// Ends the file; its last `rest` bytes were not used. Returns the reports, as
    /// [`replay`](super::replay) does. `ran` waits until [`WorldRunner`] has run all records.
    ///
    /// # Errors
    /// [`NeedsFullReplay`]: [`replay`](super::replay) must read the file.
    pub fn finish(
        mut self,
        rest: usize,
        ran: impl FnOnce() -> Result<WorldResults, NeedsFullReplay>,
    ) -> Result<Vec<(Untrusted, Report)>, NeedsFullReplay> {
        let ended = std::mem::take(&mut self.passing).finish()?;
        let nothing = BufferedConnection::default();
        let talks = self.talks.iter().chain(std::iter::repeat(&nothing));
        let connections: Vec<_> =
            ended.into_iter().zip(talks).map(|(one, talk)| talk.rebuild_connection(one)).collect();
        let capture = self.world();
        let codes = match &self.codes {
            Some((codes, _)) => Arc::clone(codes),
            None => codes(&capture, self.given.clone())?,
        };
        let recordings = recording::read(&capture, &self.games, &connections)?;
        let rooms: Vec<Untrusted> = connections.iter().map(replay_client::room_of).collect();
        let find = |about: &GameInfo, head: &RequestHead| WireFormat::find(&codes, about.paths, head).ok();
        let time_of = |packet: usize| self.times.get(packet).copied().unwrap_or_default();
        let hearing = ReplayContext { capture: &capture, find: &find, time_of: &time_of };
        let mut reports = Vec::new();
        for (name, recording) in recordings {
            let theirs = connections.iter().zip(&rooms).filter(|(_, room)| room.raw() == name.raw());
            let decoded = DecodedCommands::of_room(&hearing, &recording, theirs.map(|(one, _)| one))?;
            let cut_at = (rest > 0).then_some(self.arriving.offset());
            reports.push((
                name.to_owned(),
                Report { ends_at_byte: cut_at, ..matching_report(recording, decoded)? },
            ));
        }
        let ran = ran()?;
        for (name, report) in &mut reports {
            report.checksum = ran.checksum(name.raw(), report.ticks)?;
        }
        Ok(reports)
    }
}

impl BufferedConnection {
    /// Restores a connection with its stored pieces.
    fn rebuild_connection<'a>(&'a self, ended: TcpConnection<'static>) -> TcpConnection<'a> {
        let piece = |part: &BufferedPiece| {
            let BufferedPiece { from, at_ns, packet, ref bytes } = *part;
            StreamPiece { from, at_ns, packet, bytes: &self.bytes[bytes.clone()], gap_before: false }
        };
        TcpConnection { pieces: self.pieces.iter().map(piece).collect(), ..ended }
    }
}

/// The report of a room, if the recorded commands and replies match its clients' bytes.
fn matching_report(
    recording: Recording<'_>,
    mut decoded: DecodedCommands,
) -> Result<Report, NeedsFullReplay> {
    let Recording { about, world, ticks, .. } = recording;
    let mut report = decoded.report(&*world);
    for tick in &ticks {
        let [server, operator] = count_issued(about, &tick.frame.commands);
        (report.server, report.operator) = (report.server + server, report.operator + operator);
        for recorded in &tick.frame.commands {
            if explain(recorded, tick, &mut decoded, &mut report).as_ref() != Some(recorded) {
                return Err(NeedsFullReplay);
            }
        }
        decoded.record_leaves(about, tick);
        report.ticks += 1;
    }
    count_unmatched(about, &ticks, world.identity().tick_hz, &decoded, &mut report);
    if report.is_same() { Ok(report) } else { Err(NeedsFullReplay) }
}

/// Replays a complete file in one call, on the current thread.
///
/// # Errors
/// [`NeedsFullReplay`]: [`replay`](super::replay) must read the file.
pub fn replay_whole_file(
    bytes: &[u8],
    games: &[&'static GameInfo],
    given: Option<Arc<PacketTables>>,
) -> Result<Vec<(Untrusted, Report)>, NeedsFullReplay> {
    let (mut pass, mut worlds) = (StreamingReplay::new(games, given), WorldRunner::new(games));
    let used = pass.receive(bytes)?;
    worlds.run(&pass.records())?;
    pass.finish(bytes.len() - used, || Ok(worlds.results()))
}
