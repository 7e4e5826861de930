//! A model of a journaled room: its world is a hash of everything that was applied.

// From `core`, because an address is only a value.
use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire_sim::{PlayerId, Rng};

use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{
    Inspection, JournalError, JournalRun, JournalSnapshot, JournalWriter, RecordBody, RecoveryError,
    Retention, WorldIdentity, inspect, named_world, repair,
};
use crate::server::room::{HashedSeat, SeatChange, SeatKeyHash};
use crate::util::address_prefix::AddressPrefix;

/// Bytes of a segment, so that a test has many.
const SEGMENT_BYTES: u64 = 700;
/// Bytes of all files, so that retention removes some.
const RETAINED_BYTES: u64 = 3_000;

/// The identity of the model's world.
pub fn identity() -> WorldIdentity {
    WorldIdentity {
        room: "arena".to_owned(),
        game: "model".to_owned(),
        rules_hash: 7,
        seed: 1,
        tick_hz: 30,
        options: vec![("size".to_owned(), 9)],
    }
}

/// The state of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelState {
    /// The hash of all applied frames.
    pub world: u64,
    /// Ticks completed.
    pub tick: u32,
    /// The hash of the key of each seat.
    pub seats: BTreeMap<u16, [u8; 16]>,
}

impl ModelState {
    /// Applies a record.
    pub fn apply(&mut self, body: &RecordBody) {
        match body {
            RecordBody::Frame(frame) => {
                let bytes = frame.iter().map(|byte| u64::from(*byte) + 1);
                self.world = bytes.fold(self.world, |world, byte| {
                    (world ^ byte).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
                });
                self.tick += 1;
            }
            RecordBody::Checksum(checksum) => assert_eq!(*checksum, self.world, "the checksum record"),
            RecordBody::Seat(SeatChange::Keyed(seat)) => drop(self.seats.insert(seat.player.0, seat.key.0)),
            RecordBody::Seat(SeatChange::Unkeyed(player)) => drop(self.seats.remove(&player.0)),
        }
    }

    /// Restores the state of a journal.
    pub fn recovered(inspection: &Inspection) -> ModelState {
        let mut state = ModelState::default();
        if let Some(snapshot) = &inspection.snapshot {
            assert_eq!(snapshot.world.len() % 8, 0, "the world of a snapshot");
            state.world = snapshot.checksum;
            state.tick = snapshot.tick;
            state.seats = snapshot.seats.iter().map(|seat| (seat.player.0, seat.key.0)).collect();
        }
        for record in &inspection.records {
            assert_eq!(record.tick, state.tick, "the tick of record {}", record.sequence);
            state.apply(&record.body);
        }
        state
    }

    fn snapshot(&self) -> JournalSnapshot {
        let seats = self.seats.iter().map(|(player, key)| seat(*player, *key)).collect();
        JournalSnapshot {
            run: 0,
            epoch: 0,
            fence: 0,
            sequence: 0,
            tick: self.tick,
            checksum: self.world,
            identity: identity(),
            seats,
            world: self.world.to_le_bytes().repeat(3).into(),
        }
    }
}

fn seat(player: u16, key: [u8; 16]) -> HashedSeat {
    let from = AddressPrefix::from_ip(Ipv4Addr::new(203, 0, 113, player as u8).into());
    HashedSeat { player: PlayerId(player), key: SeatKeyHash(key), from }
}

/// A room that writes its journal to a model disk.
#[derive(Debug, Default, Clone)]
pub struct ModelRoom {
    /// The state before each sequence.
    pub states: Vec<ModelState>,
    /// The sequence after the last acknowledged record.
    pub acknowledged: u64,
    /// Number of runs.
    pub runs: u32,
    /// The fence of the next run.
    pub fence: u64,
}

impl ModelRoom {
    /// Creates a room with a new world.
    pub fn new() -> ModelRoom {
        ModelRoom { states: vec![ModelState::default()], ..ModelRoom::default() }
    }

    /// Checks that a recovered state is a prefix with everything that was acknowledged, and
    /// continues from it.
    ///
    /// # Errors
    /// The broken rule.
    pub fn resume(&mut self, inspection: &Inspection) -> Result<(), String> {
        let next = inspection.next_sequence;
        let state = ModelState::recovered(inspection);
        if next < self.acknowledged {
            return Err(format!("{next} records are recovered, but {} were acknowledged", self.acknowledged));
        }
        if self.states.get(next as usize) != Some(&state) {
            return Err(format!("the state before record {next} is no prefix"));
        }
        self.states.truncate(next as usize + 1);
        self.runs = self.runs.max(inspection.last_run) + 1;
        Ok(())
    }

    /// Recovers the room from a disk.
    ///
    /// # Errors
    /// The storage has failed, or the recovery is refused.
    pub fn recover(disk: &mut ModelDisk) -> Result<Inspection, RecoveryError> {
        let inspection = inspect(disk, Some(&identity()))?;
        repair(disk, &inspection, 0)?;
        if let Some(named) = named_world(disk, &inspection)? {
            let state = ModelState::recovered(&inspection);
            assert_eq!((named.tick, named.checksum), (state.tick, state.world), "the named world");
        }
        Ok(inspection)
    }

    /// Runs the room with random actions until the disk fails, or for at most `actions` actions. A
    /// shorter run stops cleanly.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn run(&mut self, disk: &ModelDisk, rng: &mut Rng, actions: u32) -> Result<(), JournalError> {
        let mut writer = self.begin(disk, rng)?;
        for _ in 0..actions {
            if rng.below(100) == 0 {
                writer.write_named(&self.snapshot())?;
                self.acknowledged = self.states.len() as u64 - 1;
                return Ok(());
            }
            if let Some(synced) = self.act(&mut writer, rng)? {
                self.acknowledged = synced;
            }
        }
        Ok(())
    }

    /// Does one random action. Returns the sequence after the last record after a sync.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn act(
        &mut self,
        writer: &mut JournalWriter<ModelDisk>,
        rng: &mut Rng,
    ) -> Result<Option<u64>, JournalError> {
        match rng.below(20) {
            0..12 => self.append(writer, rng)?,
            12..15 => writer.flush()?,
            15..18 => return writer.sync().map(Some),
            18 => writer.snapshot(&self.snapshot(), 0)?,
            _ => {
                let retention = Retention { bytes: RETAINED_BYTES, age_ms: u64::MAX };
                writer.retain(retention, 0)?;
            }
        }
        Ok(None)
    }

    /// Begins a run.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn begin(&self, disk: &ModelDisk, rng: &mut Rng) -> Result<JournalWriter<ModelDisk>, JournalError> {
        let run = JournalRun {
            identity: identity(),
            run: self.runs,
            epoch: 5,
            fence: self.fence,
            salt: rng.next_u64() as u32,
            segment_bytes: SEGMENT_BYTES,
        };
        let sequence = self.states.len() as u64 - 1;
        JournalWriter::begin(disk.clone(), run, sequence, &self.snapshot(), 0)
    }

    /// Appends the records of a tick.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn append(
        &mut self,
        writer: &mut JournalWriter<ModelDisk>,
        rng: &mut Rng,
    ) -> Result<(), JournalError> {
        let player = rng.below(5) as u16;
        let mut bodies = Vec::new();
        match rng.below(8) {
            0 => {
                let keyed = seat(player, [rng.below(256) as u8; 16]);
                bodies.push(RecordBody::Seat(SeatChange::Keyed(keyed)));
            }
            1 => bodies.push(RecordBody::Seat(SeatChange::Unkeyed(PlayerId(player)))),
            2 => bodies.push(RecordBody::Checksum(self.current().world)),
            _ => {}
        }
        let frame: Arc<[u8]> = (0..rng.below(90)).map(|_| rng.below(256) as u8).collect();
        bodies.push(RecordBody::Frame(frame));
        for body in bodies {
            let mut state = self.current();
            writer.append(state.tick, body.clone(), 0)?;
            state.apply(&body);
            self.states.push(state);
        }
        Ok(())
    }

    /// Creates a snapshot of the current state.
    pub fn snapshot(&self) -> JournalSnapshot {
        self.current().snapshot()
    }

    fn current(&self) -> ModelState {
        self.states.last().cloned().unwrap_or_default()
    }
}
