//! Runs the worlds of a capture's rooms with the recorded commands, while records arrive.
//!
//! A [`WorldRunner`] can run on another thread than the [`ReplayInput`](super::ReplayInput). If all
//! decoded commands of a room equal the recorded ones, [`replay`](super::replay) takes the result
//! instead of running the world itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::replay_input::StoredRecord;
use super::report::{ReplayOptions, StateListing};
use crate::game::{DynWorld, GameInfo};
use crate::tools::capture::{WorldRecord, world_record};
use crate::tools::replay::recording;

/// Runs the worlds of a capture's rooms.
pub struct WorldRunner {
    games: Vec<&'static GameInfo>,
    options: ReplayOptions,
    rooms: BTreeMap<String, RoomRun>,
}

enum RoomRun {
    /// Before the first tick: the records so far.
    Buffering(Vec<Arc<StoredRecord>>),
    Running(RunningWorld),
    /// The world cannot be run, or its checksum differs from the recorded one.
    Failed,
}

struct RunningWorld {
    info: &'static GameInfo,
    world: Box<dyn DynWorld>,
    ticks: u32,
}

/// The result of a room whose recorded checksums all equal the computed ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoomResult {
    /// The number of ticks run.
    pub ticks: u32,
    /// The checksum of the world after the last tick.
    pub checksum: u64,
    /// The final state, if requested.
    pub state: Option<StateListing>,
}

/// The results by room. Without a result, [`replay`](super::replay) runs the world itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldResults(BTreeMap<String, RoomResult>);

impl WorldRunner {
    /// Creates a runner without rooms. `games` and `options` are as in [`replay`](super::replay).
    pub fn new(games: &[&'static GameInfo], options: ReplayOptions) -> WorldRunner {
        WorldRunner { games: games.to_vec(), options, rooms: BTreeMap::new() }
    }

    /// Runs the ticks of the next records.
    pub fn run(&mut self, records: &[Arc<StoredRecord>]) {
        for stored in records {
            let Ok((name, record)) = world_record::decode(&stored.bytes) else { continue };
            // Tables apply to all rooms.
            if matches!(record, WorldRecord::Table { .. }) {
                continue;
            }
            if !self.rooms.contains_key(name.raw()) {
                self.rooms.insert(name.raw().to_owned(), RoomRun::Buffering(Vec::new()));
            }
            if let Some(room) = self.rooms.get_mut(name.raw())
                && room.add(&self.games, self.options.to_tick, stored, &record).is_none()
            {
                *room = RoomRun::Failed;
            }
        }
    }

    /// The results so far.
    pub fn results(&self) -> WorldResults {
        let results = self.rooms.iter().filter_map(|(name, room)| match room {
            RoomRun::Buffering(_) | RoomRun::Failed => None,
            RoomRun::Running(RunningWorld { world, ticks, .. }) => {
                let state = self.options.state.then(|| world.state().entities_with_fields());
                Some((name.clone(), RoomResult { ticks: *ticks, checksum: world.checksum(), state }))
            }
        });
        WorldResults(results.collect())
    }
}

impl RoomRun {
    /// Adds a record, and runs its tick. Returns `None` if that is not possible.
    fn add(
        &mut self,
        games: &[&'static GameInfo],
        to_tick: Option<u32>,
        stored: &Arc<StoredRecord>,
        record: &WorldRecord<'_>,
    ) -> Option<()> {
        if let RoomRun::Buffering(records) = self {
            records.push(Arc::clone(stored));
        }
        // `recording` reads other records after the first tick.
        let WorldRecord::Tick { checksum, frame } = record else { return Some(()) };
        if let RoomRun::Buffering(records) = self {
            let records = records.iter().map(|stored| ((stored.number, stored.at_ns), &stored.bytes[..]));
            let (info, world) = recording::read_start(records, games).ok()?;
            *self = RoomRun::Running(RunningWorld { info, world, ticks: 0 });
        }
        let RoomRun::Running(RunningWorld { info, world, ticks }) = self else { return None };
        let frame = (info.frame)(frame).ok()?;
        let is_at_end = to_tick.is_some_and(|last| last <= world.tick());
        if is_at_end && frame.tick > world.tick() {
            return Some(());
        }
        if frame.tick != world.tick() || *checksum != world.checksum() {
            return None;
        }
        if !is_at_end {
            world.step(&frame.commands);
            *ticks += 1;
        }
        Some(())
    }
}

impl WorldResults {
    /// Removes the result of a room.
    pub(super) fn take(&mut self, room: &str) -> Option<RoomResult> {
        self.0.remove(room)
    }
}
