//! Runs the worlds of a capture's rooms with the recorded commands, while records arrive.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::needs_full_replay::NeedsFullReplay;
use crate::game::{DynWorld, GameInfo};
use crate::tools::capture::packet::LINK_WORLD;
use crate::tools::capture::{Packet, WorldRecord, world_record};
use crate::tools::replay::recording;

/// A stored world record.
#[derive(Debug)]
pub struct StoredRecord {
    pub(super) number: usize,
    pub(super) at_ns: u64,
    pub(super) bytes: Vec<u8>,
}

impl StoredRecord {
    /// The record as a packet of a capture.
    pub(super) fn packet(&self) -> Packet<'_> {
        Packet {
            number: self.number,
            at_ns: self.at_ns,
            link: LINK_WORLD,
            bytes: &self.bytes,
            original_length: self.bytes.len(),
            inbound: None,
            comments: Vec::new(),
        }
    }
}

/// Runs the worlds of a capture's rooms.
pub struct WorldRunner {
    games: Vec<&'static GameInfo>,
    rooms: BTreeMap<String, RoomReplay>,
}

enum RoomReplay {
    /// Before the first tick: the records so far.
    Buffering(Vec<Arc<StoredRecord>>),
    Running {
        about: &'static GameInfo,
        world: Box<dyn DynWorld>,
        ticks: u32,
    },
}

/// For each room, the number of ticks run, and the final checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldResults(BTreeMap<String, (u32, u64)>);

impl WorldRunner {
    /// Creates a runner without rooms.
    pub fn new(games: &[&'static GameInfo]) -> WorldRunner {
        WorldRunner { games: games.to_vec(), rooms: BTreeMap::new() }
    }

    /// Runs the ticks of the next records.
    ///
    /// # Errors
    /// [`NeedsFullReplay`]: a world cannot be run, or its checksum differs from the recorded one.
    pub fn run(&mut self, records: &[Arc<StoredRecord>]) -> Result<(), NeedsFullReplay> {
        records.iter().try_for_each(|kept| self.take(kept))
    }

    fn take(&mut self, kept: &Arc<StoredRecord>) -> Result<(), NeedsFullReplay> {
        let (name, record) = world_record::decode(&kept.bytes).map_err(|_| NeedsFullReplay)?;
        // Tables apply to all rooms.
        if matches!(record, WorldRecord::Table { .. }) {
            return Ok(());
        }
        if !self.rooms.contains_key(name.raw()) {
            self.rooms.insert(name.raw().to_owned(), RoomReplay::Buffering(Vec::new()));
        }
        let Some(room) = self.rooms.get_mut(name.raw()) else { return Err(NeedsFullReplay) };
        if let RoomReplay::Buffering(records) = room {
            records.push(Arc::clone(kept));
        }
        // `StreamingReplay` reads other records after the first tick.
        let WorldRecord::Tick { checksum, frame } = record else { return Ok(()) };
        if let RoomReplay::Buffering(records) = room {
            let records = records.iter().map(|kept| ((kept.number, kept.at_ns), &kept.bytes[..]));
            let (about, world) = recording::read_start(records, &self.games).map_err(|_| NeedsFullReplay)?;
            *room = RoomReplay::Running { about, world, ticks: 0 };
        }
        let RoomReplay::Running { about, world, ticks } = room else { return Err(NeedsFullReplay) };
        let frame = (about.frame)(frame).map_err(|_| NeedsFullReplay)?;
        if frame.tick != world.tick() || checksum != world.checksum() {
            return Err(NeedsFullReplay);
        }
        world.step(&frame.commands);
        *ticks += 1;
        Ok(())
    }

    /// The results so far.
    pub fn results(&self) -> WorldResults {
        let ran = self.rooms.iter().filter_map(|(name, room)| match room {
            RoomReplay::Buffering(_) => None,
            RoomReplay::Running { world, ticks, .. } => Some((name.clone(), (*ticks, world.checksum()))),
        });
        WorldResults(ran.collect())
    }
}

impl WorldResults {
    /// The checksum of a room after exactly `ticks` ticks.
    pub(super) fn checksum(&self, room: &str, ticks: u32) -> Result<u64, NeedsFullReplay> {
        self.0
            .get(room)
            .filter(|(ran, _)| *ran == ticks)
            .map(|(_, checksum)| *checksum)
            .ok_or(NeedsFullReplay)
    }
}
