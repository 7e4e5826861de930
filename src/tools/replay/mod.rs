//! Replays a captured session: decodes the clients' bytes, steps the world with the resulting
//! commands, and compares the checksum after each tick with the recorded one.
//!
//! ```text
//!            ┌─ ReplayInput ─────────────────────────────┐
//!   file ─►  │ clients' bytes ─► frames, packets, session ─► commands ─┐  by player and sequence
//!            │ world records ─► snapshot, command frames ──────────────┴─► world ─► checksums
//!            └──────────┬────────────────────────────────┘
//!                       └─► WorldRunner, meanwhile: world of the recorded commands ─► checksums
//! ```
//!
//! The file arrives in parts, from a pipe or from memory; [`ReplayInput`] stores only the part of
//! the file that a replay needs. The result is a [`Report`] for each room, or a [`ReplayError`].
//! The world is stepped with the commands that were **decoded** from the clients' bytes; the
//! recorded commands only determine the tick of each decoded command. A recorded command is
//! executed itself if it is from the server or the operator, was sent before the capture began, or
//! is from a client that is not captured. Missing data is never guessed.

mod bisect;
mod decoded_commands;
mod error;
mod field_diff;
mod former_names;
pub mod json;
pub mod recording;
mod replay_client;
mod replay_input;
mod report;
mod server_replies;
mod world_runner;

use core::net::SocketAddr;
use std::collections::{BTreeMap, HashMap};

use tickwire_sim::RawCommand;

use crate::connection::WireFormat;
use crate::game::{DynWorld, GameInfo};
use crate::tools::capture::{Gap, TcpConnection, TcpSide, Untrusted};
use crate::util::plural::count_noun;
use crate::ws::http::RequestHead;
pub use bisect::{BisectReport, Divergence, ForeignChecksum};
use decoded_commands::{DecodedCommands, count_issued, count_unmatched, match_command};
pub use error::ReplayError;
pub use field_diff::FieldDiffs;
use field_diff::RecordedWorld;
use recording::{RecordedTick, Recording};
use replay_client::ReplayContext;
pub use replay_input::{ReplayInput, StoredRecord};
pub use report::{CommandDiff, ReplayDiff, ReplayOptions, Report, StateListing};
pub use server_replies::{ReplyDiff, ReplyFrame};
use world_runner::RoomResult;
pub use world_runner::{WorldResults, WorldRunner};

/// Replays each room of a capture independently, and returns the names of the rooms with their
/// reports. The game of a room is the recorded one or, if the capture lacks its name, the first of
/// `games` that recognizes the snapshot. `results` waits until a [`WorldRunner`] with the same
/// options has run all records; without a runner, it returns nothing.
///
/// # Errors
/// [`ReplayError`]: data is missing, or the rules of the recorded world differ from this program's.
pub fn replay(
    input: &ReplayInput,
    games: &[&'static GameInfo],
    options: ReplayOptions,
    results: impl FnOnce() -> WorldResults,
) -> Result<Vec<(Untrusted, Report)>, ReplayError> {
    let codes = input.codes()?;
    let connections = input.connections();
    let recordings = read_recordings(input, games, &connections)?;
    if let Some(tick) = options.to_tick {
        check_tick_recorded(tick, &recordings)?;
    }
    if let Some((client, gap)) = first_gap(&connections) {
        let from = if gap.from == TcpSide::Client { "the client" } else { "the server" };
        let reason = format!("the capture lacks {} from {from}", count_noun(gap.bytes, "byte"));
        let refused = ReplayError::at(input.first_ns(), (gap.packet, gap.at_ns), reason);
        return Err(ReplayError { client: Some(client), ..refused });
    }
    let rooms: Vec<Untrusted> = connections.iter().map(replay_client::room_of).collect();
    let find = |info: &GameInfo, head: &RequestHead| WireFormat::find(&codes, info.paths, head).ok();
    let time_of = |packet| input.time_of(packet);
    let (first_ns, datagrams) = (input.first_ns(), input.datagrams());
    let context = ReplayContext { first_ns, find: &find, datagrams, time_of: &time_of };
    let decoded = recordings.into_iter().map(|(name, recording)| {
        let theirs = connections.iter().zip(&rooms).filter(|(_, room)| room.raw() == name.raw());
        let decoded = DecodedCommands::of_room(&context, &recording, theirs.map(|(one, _)| one))?;
        Ok((name, recording, decoded))
    });
    let decoded: Vec<_> = decoded.collect::<Result<_, ReplayError>>()?;
    let mut results = results();
    let reports = decoded.into_iter().map(|(name, recording, decoded)| {
        let report = run(recording, decoded, options, results.take(name.raw()));
        let (ends_at_byte, truncated_at) = (input.ends_at_byte, input.truncated_packet);
        (name.to_owned(), Report { ends_at_byte, truncated_at, ..report })
    });
    Ok(reports.collect())
}

/// Compares the rooms of two captures by their command frames and checksums.
///
/// # Errors
/// [`ReplayError`]: a capture lacks data, or the captures have nothing in common.
pub fn bisect(
    ours: &ReplayInput,
    theirs: &ReplayInput,
    games: &[&'static GameInfo],
) -> Result<BisectReport, ReplayError> {
    let first = read_recordings(ours, games, &[])?;
    let mut second: HashMap<_, _> = read_recordings(theirs, games, &[])?.into_iter().collect();
    let cut_at = [ours.ends_at_byte, theirs.ends_at_byte];
    let truncated_at = [ours.truncated_packet, theirs.truncated_packet];
    let mut bisected = BisectReport { cut_at, truncated_at, ..BisectReport::default() };
    for (name, recording) in first {
        let Some(other) = second.remove(name.raw()) else {
            bisected.unmatched_rooms[0].push(name.to_owned());
            continue;
        };
        let parting = bisect::bisect_room(recording, other);
        let parting =
            parting.map_err(|why| ReplayError::of_file(format!("room {name:?} of the recordings: {why}")))?;
        bisected.rooms.push((name.to_owned(), parting));
    }
    bisected.unmatched_rooms[1] = second.into_keys().map(|name| name.to_owned()).collect();
    bisected.unmatched_rooms[1].sort_unstable();
    if bisected.rooms.is_empty() {
        return Err(ReplayError::of_file("the recordings have no room in common"));
    }
    Ok(bisected)
}

/// Reads the recordings of all rooms.
fn read_recordings<'a>(
    input: &'a ReplayInput,
    games: &[&'static GameInfo],
    connections: &[TcpConnection<'_>],
) -> Result<BTreeMap<Untrusted<&'a str>, Recording<'a>>, ReplayError> {
    let recordings = recording::read(input, games, connections);
    recordings.map_err(|refused| input.truncated_packet.map_or(refused, beginning_truncated))
}

/// The error if no room can be replayed before the first truncated packet.
fn beginning_truncated(packet: usize) -> ReplayError {
    ReplayError::of_file(format!(
        "the capture truncated packet {packet} (snapshot length), and the packets before it are no beginning of a session: \
         replay the capture as the server wrote it"
    ))
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
    Err(ReplayError::of_file(reason))
}

fn first_gap(connections: &[TcpConnection<'_>]) -> Option<(SocketAddr, Gap)> {
    let gaps = connections.iter().flat_map(|one| one.gaps.iter().map(|gap| (one.client, *gap)));
    gaps.min_by_key(|(_, gap)| gap.packet)
}

/// Matches the decoded commands of a room with its ticks. Without a `result` of the recorded
/// commands, steps the world from the first tick on. With a `result`, steps the world only after a
/// command has differed.
fn run(
    recording: Recording<'_>,
    mut decoded: DecodedCommands,
    options: ReplayOptions,
    result: Option<RoomResult>,
) -> Report {
    let range = recording.range();
    let Recording { info, world, ticks, .. } = recording;
    let run = options.to_tick.map_or(ticks.len(), |last| last.saturating_sub(world.tick()) as usize);
    let run = run.min(ticks.len());
    let mut report = decoded.report(&*world);
    report.last_tick = options.to_tick.filter(|tick| !range.contains(tick)).map(|_| *range.end());
    let hz = world.identity().tick_hz;
    let mut result = result.filter(|result| result.ticks as usize == run);
    let mut replayed = ReplayedWorld { info, world, compared: None };
    if result.is_none() {
        replayed.start(&[], options.fields);
    }
    let (mut changed, mut differs): (Option<(u32, CommandDiff)>, _) = (None, None);
    for (at, tick) in ticks[..run].iter().enumerate() {
        let (commands, change) = match_tick(info, tick, &mut decoded, &mut report);
        if changed.is_none() {
            changed = change.map(|change| (tick.frame.tick, change));
        }
        if changed.is_some() && result.take().is_some() {
            replayed.start(&ticks[..at], options.fields);
        }
        if result.is_some() {
            continue;
        }
        differs = replayed.step(&commands, tick, ticks.get(at + 1).map(|next| next.checksum));
        if differs.is_some() {
            break;
        }
    }
    let (world, compared) = (replayed.world, replayed.compared);
    report.fields = options.fields.then(|| compared.map(|compared| compared.found).unwrap_or_default());
    let differs = differs.map(|(tick, checksums)| (tick, Some(checksums)));
    let differs = differs.or_else(|| Some((changed.as_ref()?.0, None)));
    report.difference = differs.map(|(tick, checksums)| ReplayDiff { tick, command: changed, checksums });
    (report.checksum, report.state) = match result {
        Some(RoomResult { checksum, state, .. }) => (checksum, state),
        None => (world.checksum(), options.state.then(|| world.state().entities_with_fields())),
    };
    count_unmatched(info, &ticks[..run], hz, &decoded, &mut report);
    report
}

/// Returns the commands of a tick to execute, and the first one that differs from the recorded one.
fn match_tick(
    info: &GameInfo,
    tick: &RecordedTick,
    decoded: &mut DecodedCommands,
    report: &mut Report,
) -> (Vec<RawCommand>, Option<CommandDiff>) {
    let (mut commands, mut change) = (Vec::with_capacity(tick.frame.commands.len()), None);
    let [server, operator] = count_issued(info, &tick.frame.commands);
    (report.server, report.operator) = (report.server + server, report.operator + operator);
    for recorded in &tick.frame.commands {
        let command = match_command(recorded, tick, decoded, report);
        if command.as_ref() != Some(recorded) && change.is_none() {
            let words = |command: &RawCommand| (info.describe_action)(&command.action);
            change = Some(CommandDiff {
                command: (recorded.player, recorded.sequence),
                recorded: words(recorded).into(),
                decoded: command.as_ref().map(words).map(Untrusted::new),
            });
        }
        commands.extend(command);
    }
    decoded.record_leaves(info, tick);
    report.ticks += 1;
    (commands, change)
}

/// The world of the decoded commands.
struct ReplayedWorld {
    info: &'static GameInfo,
    world: Box<dyn DynWorld>,
    /// The world of the recorded commands, to compare the fields.
    compared: Option<RecordedWorld>,
}

impl ReplayedWorld {
    /// Steps over ticks whose decoded commands equal the recorded ones. From the next tick on, the
    /// fields are compared if `fields` is set.
    fn start(&mut self, equal: &[RecordedTick], fields: bool) {
        equal.iter().for_each(|tick| self.world.step(&tick.frame.commands));
        self.compared = fields.then(|| RecordedWorld::new(self.info, &*self.world)).flatten();
    }

    /// Runs a tick with the decoded commands. Returns the tick with the recorded and the replayed
    /// checksum after it, if they differ.
    fn step(
        &mut self,
        commands: &[RawCommand],
        tick: &RecordedTick,
        recorded: Option<u64>,
    ) -> Option<(u32, (u64, u64))> {
        self.world.step(commands);
        if let Some(compared) = &mut self.compared {
            compared.step(tick, recorded, &*self.world);
        }
        let (recorded, replayed) = (recorded?, self.world.checksum());
        (recorded != replayed).then_some((tick.frame.tick, (recorded, replayed)))
    }
}
