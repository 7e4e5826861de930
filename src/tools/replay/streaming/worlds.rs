//! The worlds of a file's rooms, run by the recorded commands as the records come.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::needs_full_replay::Unfit;
use crate::game::{About, Replica};
use crate::tools::capture::packet::LINK_WORLD;
use crate::tools::capture::{Packet, Record, world_record};
use crate::tools::replay::recording;

/// A record of the world.
#[derive(Debug)]
pub struct Kept {
    pub(super) number: usize,
    pub(super) at_ns: u64,
    pub(super) bytes: Vec<u8>,
}

impl Kept {
    /// Its packet.
    pub(super) fn packet(&self) -> Packet<'_> {
        Packet {
            number: self.number,
            at_ns: self.at_ns,
            link: LINK_WORLD,
            bytes: &self.bytes,
            whole_bytes: self.bytes.len(),
            inbound: None,
            comments: Vec::new(),
        }
    }
}

/// See the [module](self).
pub struct Worlds {
    games: Vec<&'static About>,
    rooms: BTreeMap<String, Room>,
}

enum Room {
    /// Its first tick has not come: its records so far.
    Coming(Vec<Arc<Kept>>),
    Running {
        about: &'static About,
        world: Box<dyn Replica>,
        ticks: u32,
    },
}

/// What came out: of each room the ticks that were run, and the checksum after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran(BTreeMap<String, (u32, u64)>);

impl Worlds {
    /// Without rooms.
    pub fn new(games: &[&'static About]) -> Worlds {
        Worlds { games: games.to_vec(), rooms: BTreeMap::new() }
    }

    /// Takes the next records, and runs their ticks.
    ///
    /// # Errors
    /// [`Unfit`]: a world cannot be run, or has another checksum than the recorded one.
    pub fn run(&mut self, records: &[Arc<Kept>]) -> Result<(), Unfit> {
        records.iter().try_for_each(|kept| self.take(kept))
    }

    fn take(&mut self, kept: &Arc<Kept>) -> Result<(), Unfit> {
        let (name, record) = world_record::decode(&kept.bytes).map_err(|_| Unfit)?;
        // As in the replay, the tables are of all rooms.
        if matches!(record, Record::Table { .. }) {
            return Ok(());
        }
        if !self.rooms.contains_key(name.raw()) {
            self.rooms.insert(name.raw().to_owned(), Room::Coming(Vec::new()));
        }
        let Some(room) = self.rooms.get_mut(name.raw()) else { return Err(Unfit) };
        if let Room::Coming(records) = room {
            records.push(Arc::clone(kept));
        }
        // What else there is later, the replay reads.
        let Record::Tick { checksum, frame } = record else { return Ok(()) };
        if let Room::Coming(records) = room {
            let records = records.iter().map(|kept| ((kept.number, kept.at_ns), &kept.bytes[..]));
            let (about, world) = recording::beginning(records, &self.games).map_err(|_| Unfit)?;
            *room = Room::Running { about, world, ticks: 0 };
        }
        let Room::Running { about, world, ticks } = room else { return Err(Unfit) };
        let frame = (about.frame)(frame).map_err(|_| Unfit)?;
        if frame.tick != world.tick() || checksum != world.checksum() {
            return Err(Unfit);
        }
        world.step(&frame.commands);
        *ticks += 1;
        Ok(())
    }

    /// What came out so far.
    pub fn ran(&self) -> Ran {
        let ran = self.rooms.iter().filter_map(|(name, room)| match room {
            Room::Coming(_) => None,
            Room::Running { world, ticks, .. } => Some((name.clone(), (*ticks, world.checksum()))),
        });
        Ran(ran.collect())
    }
}

impl Ran {
    /// The checksum of a room after so many ticks.
    pub(super) fn checksum(&self, room: &str, ticks: u32) -> Result<u64, Unfit> {
        self.0.get(room).filter(|(ran, _)| *ran == ticks).map(|(_, checksum)| *checksum).ok_or(Unfit)
    }
}
