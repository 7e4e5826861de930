//! Replays a captured session: decodes the clients' bytes, steps the world with the resulting
//! commands, and compares the checksum after each tick with the recorded one.
//!
//! ```text
//!   capture ─┬─ clients' bytes ─► frames, packets, session ─► commands ─┐  by player and sequence
//!            └─ world records ─► snapshot, command frames ──────────────┴─► world ─► checksums
//! ```
//!
//! The result is a [`Report`] for each room, or a [`ReplayError`]. The world is stepped with the
//! commands that were **decoded** from the clients' bytes; the recorded commands only determine the
//! tick of each. A recorded command is executed itself if it is from the server or the operator,
//! was sent before the capture began, or is from a client that is not captured. Missing data is
//! never guessed.

mod bisect;
mod decoded_commands;
mod error;
mod field_diff;
pub mod json;
pub mod recording;
mod replay_client;
mod report;
mod server_replies;
mod streaming;

use core::net::SocketAddr;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tickwire_sim::RawCommand;

use crate::game::GameInfo;
use crate::packet::PacketTables;
use crate::tools::capture::packet::{self, LINK_WORLD};
use crate::tools::capture::{Capture, Gap, Packet, TcpConnection, TcpSide, Untrusted};
use crate::util::plural::count_noun;
pub use bisect::{BisectReport, Divergence, ForeignChecksum};
use decoded_commands::{DecodedCommands, count_issued, count_unmatched, explain};
pub use error::ReplayError;
pub use field_diff::FieldDiffs;
use field_diff::RecordedWorld;
use recording::Recording;
use replay_client::{ReplayContext, RouteFn};
pub use report::{CommandDiff, ReplayDiff, ReplayOptions, Report, StateListing};
pub use server_replies::{ReplyDiff, ReplyFrame};
pub use streaming::{
    NeedsFullReplay, StoredRecord, StreamingReplay, WorldResults, WorldRunner, replay_whole_file,
};

/// Returns the packet tables for a capture: [its own](PacketTables::for_capture) if it has any,
/// otherwise `given` or the built-in tables.
///
/// # Errors
/// [`ReplayError`]: the capture's tables are invalid, or differ from `given`.
pub fn codes(
    capture: &Capture<'_>,
    given: Option<Arc<PacketTables>>,
) -> Result<Arc<PacketTables>, ReplayError> {
    let codes = capture.tables().and_then(|carried| PacketTables::for_capture(carried, given));
    codes.map_err(|reason| ReplayError { reason: reason.into(), place: None, client: None })
}

/// Replays each room of a capture independently, and returns the names of the rooms with their
/// reports. The game of a room is the recorded one or, if the capture lacks its name, the first of
/// `games` that recognizes the snapshot. `find` returns the wire format that a request selects;
/// `None` if it is not for the game.
///
/// # Errors
/// [`ReplayError`]: data is missing, or the rules of the recorded world differ from this program's.
pub fn replay(
    capture: &Capture<'_>,
    games: &[&'static GameInfo],
    find: RouteFn<'_>,
    asked: ReplayOptions,
) -> Result<Vec<(Untrusted, Report)>, ReplayError> {
    let (before, truncated_at) = before_truncation(capture);
    let capture = before.as_ref().unwrap_or(capture);
    let connections = capture.connections();
    let recordings = recording::read(capture, games, &connections)
        .map_err(|refused| truncated_at.map_or(refused, beginning_truncated))?;
    if let Some(tick) = asked.to_tick {
        check_tick_recorded(tick, &recordings)?;
    }
    if let Some((client, hole)) = first_gap(&connections) {
        let from = if hole.from == TcpSide::Client { "the client" } else { "the server" };
        let reason = format!("the capture lacks {} from {from}", count_noun(hole.bytes, "byte"));
        let refused = ReplayError::at(capture, (hole.packet, hole.at_ns), reason);
        return Err(ReplayError { client: Some(client), ..refused });
    }
    let rooms: Vec<Untrusted> = connections.iter().map(replay_client::room_of).collect();
    let hearing = ReplayContext { capture, find, time_of: &|packet| replay_client::time_of(capture, packet) };
    let replayed = recordings.into_iter().map(|(name, recording)| {
        let theirs =
            connections.iter().zip(&rooms).filter(|(_, room)| room.raw() == name.raw()).map(|(one, _)| one);
        let decoded = DecodedCommands::of_room(&hearing, &recording, theirs)?;
        let cut_at = capture.truncated_at;
        Ok((name.to_owned(), Report { ends_at_byte: cut_at, truncated_at, ..run(recording, decoded, asked) }))
    });
    replayed.collect()
}

/// Compares the rooms of two captures by their command frames and checksums.
///
/// # Errors
/// [`ReplayError`]: a capture lacks data, or the captures have nothing in common.
pub fn bisect(
    ours: &Capture<'_>,
    theirs: &Capture<'_>,
    games: &[&'static GameInfo],
) -> Result<BisectReport, ReplayError> {
    let refused = |reason: String| ReplayError { reason: reason.into(), place: None, client: None };
    let ((before_ours, our_cut), (before_theirs, their_cut)) =
        (before_truncation(ours), before_truncation(theirs));
    let (ours, theirs) = (before_ours.as_ref().unwrap_or(ours), before_theirs.as_ref().unwrap_or(theirs));
    let first = recording::read(ours, games, &ours.connections())
        .map_err(|refused| our_cut.map_or(refused, beginning_truncated))?;
    let second = recording::read(theirs, games, &theirs.connections())
        .map_err(|refused| their_cut.map_or(refused, beginning_truncated))?;
    let mut second: HashMap<_, _> = second.into_iter().collect();
    let (cut_at, truncated_at) = ([ours.truncated_at, theirs.truncated_at], [our_cut, their_cut]);
    let mut bisected = BisectReport { cut_at, truncated_at, ..BisectReport::default() };
    for (name, recording) in first {
        let Some(other) = second.remove(name.raw()) else {
            bisected.unmatched_rooms[0].push(name.to_owned());
            continue;
        };
        let parting = bisect::part(recording, other);
        let parting = parting.map_err(|why| refused(format!("room {name:?} of the recordings: {why}")))?;
        bisected.rooms.push((name.to_owned(), parting));
    }
    bisected.unmatched_rooms[1] = second.into_keys().map(|name| name.to_owned()).collect();
    bisected.unmatched_rooms[1].sort_unstable();
    if bisected.rooms.is_empty() {
        return Err(refused("the recordings have no room in common".to_owned()));
    }
    Ok(bisected)
}

/// Returns the packets before the first truncated one, and the number of that packet; `None` if no
/// packet is truncated. World records must be complete, TCP packets only in their payload.
fn before_truncation<'a>(capture: &Capture<'a>) -> (Option<Capture<'a>>, Option<usize>) {
    let is_truncated = |packet: &Packet<'_>| {
        packet.bytes.len() < packet.original_length
            && (packet.link == LINK_WORLD
                || packet::decode(packet).is_none_or(|segment| segment.missing_bytes > 0))
    };
    let Some(first) = capture.packets.iter().position(is_truncated) else { return (None, None) };
    let (packets, names) = (capture.packets[..first].to_vec(), capture.names.clone());
    let number = capture.packets[first].number;
    (Some(Capture { packets, names, truncated_at: capture.truncated_at }), Some(number))
}

/// The error if no room can be replayed before the first truncated packet.
fn beginning_truncated(packet: usize) -> ReplayError {
    let reason = format!(
        "the capture truncated packet {packet} (snapshot length), and the packets before it are no beginning of a session: \
         replay the capture as the server wrote it"
    );
    ReplayError { reason: reason.into(), place: None, client: None }
}

/// Fails if no recording includes the tick.
fn check_tick_recorded(
    tick: u32,
    recordings: &BTreeMap<Untrusted<&str>, Recording<'_>>,
) -> Result<(), ReplayError> {
    let ranges: Vec<_> = recordings.values().map(Recording::range).collect();
    if ranges.iter().any(|range| range.contains(&tick)) {
        return Ok(());
    }
    let words: Vec<String> =
        ranges.iter().map(|range| format!("{} to {}", range.start(), range.end())).collect();
    let reason = format!("tick {tick} is not in this capture, which has the ticks {}", words.join(" and "));
    Err(ReplayError { reason: reason.into(), place: None, client: None })
}

fn first_gap(connections: &[TcpConnection<'_>]) -> Option<(SocketAddr, Gap)> {
    let holes = connections.iter().flat_map(|one| one.holes.iter().map(|hole| (one.client, *hole)));
    holes.min_by_key(|(_, hole)| hole.packet)
}

fn run(recording: Recording<'_>, mut decoded: DecodedCommands, asked: ReplayOptions) -> Report {
    let range = recording.range();
    let Recording { about, mut world, ticks, .. } = recording;
    let mut beside = asked.fields.then(|| RecordedWorld::new(about, &*world)).flatten();
    let run = asked.to_tick.map_or(ticks.len(), |last| last.saturating_sub(world.tick()) as usize);
    let run = run.min(ticks.len());
    let mut report = decoded.report(&*world);
    report.last_tick = asked.to_tick.filter(|tick| !range.contains(tick)).map(|_| *range.end());
    let (mut changed, mut differs): (Option<(u32, CommandDiff)>, _) = (None, None);
    for (at, tick) in ticks[..run].iter().enumerate() {
        let mut commands: Vec<RawCommand> = Vec::new();
        let [server, operator] = count_issued(about, &tick.frame.commands);
        (report.server, report.operator) = (report.server + server, report.operator + operator);
        for recorded in &tick.frame.commands {
            let command = explain(recorded, tick, &mut decoded, &mut report);
            if command.as_ref() != Some(recorded) && changed.is_none() {
                let words = |command: &RawCommand| (about.words)(&command.action);
                let change = CommandDiff {
                    command: (recorded.player, recorded.sequence),
                    recorded: words(recorded).into(),
                    decoded: command.as_ref().map(words).map(Untrusted::new),
                };
                changed = Some((tick.frame.tick, change));
            }
            commands.extend(command);
        }
        decoded.record_leaves(about, tick);
        world.step(&commands);
        report.ticks += 1;
        let replayed = world.checksum();
        let recorded = ticks.get(at + 1).map(|next| next.checksum);
        if let Some(beside) = &mut beside {
            beside.step(tick, recorded, &*world);
        }
        let recorded = recorded.unwrap_or(replayed);
        if recorded != replayed {
            differs = Some((tick.frame.tick, Some((recorded, replayed))));
            break;
        }
    }
    report.fields = beside.map(|beside| beside.found);
    report.state = asked.state.then(|| world.state().entities_with_fields());
    let differs = differs.or_else(|| Some((changed.as_ref()?.0, None)));
    report.difference = differs.map(|(tick, checksums)| ReplayDiff { tick, command: changed, checksums });
    report.checksum = world.checksum();
    count_unmatched(about, &ticks[..run], world.identity().tick_hz, &decoded, &mut report);
    report
}
