//! Replays the records of a journal.

use std::collections::BTreeMap;

use tickwire_sim::{PlayerId, Sim, StepResult, command_frame};

use super::record::{Record, RecordBody};
use super::snapshot::JournalSnapshot;
use crate::server::room::{HashedSeat, SeatChange};

/// The world and the seats of a journal after some of its records.
#[derive(Debug)]
pub struct JournalReplay<S> {
    world: S,
    seats: BTreeMap<PlayerId, HashedSeat>,
    stepped: StepResult,
}

impl<S: Sim> JournalReplay<S> {
    /// Restores the world of a snapshot.
    ///
    /// # Errors
    /// The bytes are no world of this game, or its checksum differs.
    pub fn new(snapshot: &JournalSnapshot) -> Result<JournalReplay<S>, String> {
        let world = S::restore(&snapshot.world).map_err(|error| error.to_string())?;
        let seats = snapshot.seats.iter().map(|seat| (seat.player, *seat)).collect();
        let replay = JournalReplay { world, seats, stepped: StepResult::default() };
        replay.compare(snapshot.checksum, "the snapshot")?;
        Ok(replay)
    }

    /// The world.
    pub fn world(&self) -> &S {
        &self.world
    }

    /// Applies the next record.
    ///
    /// # Errors
    /// The record does not fit the world: it is of another tick, its commands cannot be decoded, or
    /// the checksums differ.
    pub fn apply(&mut self, record: &Record) -> Result<(), String> {
        let (number, tick) = (record.sequence, self.world.tick());
        if record.tick != tick {
            return Err(format!(
                "record {number} is of tick {}, but the world is at tick {tick}",
                record.tick
            ));
        }
        match &record.body {
            RecordBody::Checksum(checksum) => self.compare(*checksum, &format!("record {number}"))?,
            RecordBody::Seat(SeatChange::Keyed(seat)) => drop(self.seats.insert(seat.player, *seat)),
            RecordBody::Seat(SeatChange::Unkeyed(player)) => drop(self.seats.remove(player)),
            RecordBody::Frame(frame) => {
                let frame = command_frame::decode::<S::Action>(frame);
                let mut frame = frame.map_err(|error| format!("record {number}: {error}"))?;
                if frame.tick != tick {
                    return Err(format!("record {number} has the command frame of tick {}", frame.tick));
                }
                self.world.step(&mut frame.commands, &mut self.stepped);
            }
        }
        Ok(())
    }

    /// Returns the world and its seats.
    pub fn finish(self) -> (S, Vec<HashedSeat>) {
        (self.world, self.seats.into_values().collect())
    }

    fn compare(&self, expected: u64, source: &str) -> Result<(), String> {
        let (found, tick) = (self.world.checksum(), self.world.tick());
        if found == expected {
            return Ok(());
        }
        Err(format!("{source}: the world of tick {tick} has the checksum {found:016x}, not {expected:016x}"))
    }
}
