//! A room in the process that has its lease: the room, its journal and its held acks. It does the
//! same as `server::net::journal` with threads and files.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::migrate::NamedState;
use tickwire_sim::{Rng, Sim as _, WorldParams};

use super::scenario::{ClusterFault, Scenario};
use super::tally::Tally;
use crate::game::simple::SimpleWorld;
use crate::game::{Game as _, Simple, UpdateRates};
use crate::limits;
use crate::server::cluster::LeaseGuard;
use crate::server::journal::model_disk::ModelDisk;
use crate::server::journal::{
    Inspection, JournalError, JournalReplay, JournalRun, JournalSnapshot, JournalWriter, RecordBody,
    Retention, WorldIdentity, highest_fence, named_world,
};
use crate::server::room::lockstep::{LockstepAccess, LockstepConfig};
use crate::server::room::{
    CommandAcks, HashedSeat, Room, RoomConfig, RoomHandle, SeatChange, TickRequest, TickResult,
};

/// The world of a room.
pub type TallyWorld = SimpleWorld<Tally>;

/// Time for which a seat without a connection remains, by the clock of the process.
const SEAT_TIME: Duration = Duration::from_secs(600);
/// Bytes of the files of a room, so that retention removes some.
const RETAINED_BYTES: u64 = 2 * 1024 * 1024;
/// Bytes of a segment, so that some runs have several.
const SEGMENT_BYTES: u64 = 64 * 1024;

/// A tick that the journal writes.
struct JournaledTick {
    tick: u32,
    snapshot: Option<(Arc<[u8]>, u64, Vec<HashedSeat>)>,
    checksum: Option<u64>,
    seats: Vec<SeatChange>,
    frame: Arc<[u8]>,
}

/// Acks that wait for the sync of their tick.
pub struct HeldAcks {
    /// The tick.
    tick: u32,
    /// The sequence after the records of the tick.
    pub sequence: u64,
    /// The acks.
    pub acks: Option<Arc<CommandAcks>>,
}

enum Journal {
    /// The room has not ticked yet.
    Open(ModelDisk),
    Running(Box<JournalWriter<ModelDisk>>),
    /// Another process has the room.
    Ended,
}

/// A room, its journal and its held acks.
pub struct OwnedRoom {
    /// The fence of the lease.
    pub fence: u64,
    /// The validity of the lease.
    pub guard: Arc<LeaseGuard>,
    /// The players that are connected to the room.
    pub players: BTreeSet<usize>,
    room: Room<Simple<Tally>>,
    disk: ModelDisk,
    journal: Journal,
    identity: WorldIdentity,
    last_run: u32,
    salt: u32,
    snapshot_at: Duration,
    queue: Vec<JournaledTick>,
    /// The last tick of the batch that is being written, and whether the checks were made before.
    batch: Option<(u32, bool)>,
    held: VecDeque<HeldAcks>,
    /// The sequence of the first record.
    first_sequence: u64,
    /// The sequence after the records of the last tick.
    next_sequence: u64,
    /// The number of ticks whose acks may be sent.
    confirmed: u32,
}

/// Returns the parameters and the identity of a room's world.
pub fn identity(room: &str) -> (WorldParams, WorldIdentity) {
    let params = WorldParams::default_for::<TallyWorld>(1);
    let info = Simple::<Tally>::INFO;
    let identity = WorldIdentity::new(room, info.name, (info.rules_hash)(), &params);
    (params, identity)
}

/// The world and the seats of a journal.
pub struct RecoveredWorld {
    /// The world.
    pub world: TallyWorld,
    /// The seats.
    pub seats: Vec<HashedSeat>,
    /// The checksum of the world after the last record; `None` for a new world.
    pub checksum: Option<u64>,
    /// Whether the run had stopped, so that its named world is used, as the server does.
    pub is_named: bool,
}

/// Returns the world and the seats of a journal.
///
/// # Errors
/// The journal is refused, or its named world differs from its records.
pub fn recover(disk: &ModelDisk, inspection: &Inspection) -> Result<RecoveredWorld, String> {
    let (params, _) = identity("");
    let Some(snapshot) = &inspection.snapshot else {
        let world = TallyWorld::new(&params);
        return Ok(RecoveredWorld { world, seats: Vec::new(), checksum: None, is_named: false });
    };
    let mut replay = JournalReplay::<TallyWorld>::new(snapshot)?;
    inspection.records.iter().try_for_each(|record| replay.apply(record))?;
    let (world, seats) = replay.finish();
    let checksum = Some(world.checksum());
    let Some(named) = named_world(disk, inspection).map_err(|error| error.to_string())? else {
        return Ok(RecoveredWorld { world, seats, checksum, is_named: false });
    };
    let state = NamedState::new(&named.world).map_err(|error| error.to_string())?;
    let migrated = TallyWorld::migrate(&params, &state).map_err(|error| error.to_string())?;
    // The seats include changes since the last tick.
    if migrated.game() != world.game() {
        return Err("the named world differs from the records".to_owned());
    }
    Ok(RecoveredWorld { world: migrated, seats: named.seats, checksum, is_named: true })
}

impl OwnedRoom {
    /// Creates the room with a recovered world.
    pub fn new(
        (name, disk): (&str, ModelDisk),
        (world, seats): (TallyWorld, Vec<HashedSeat>),
        inspection: &Inspection,
        (fence, guard): (u64, Arc<LeaseGuard>),
        (now, rng): (Duration, &mut Rng),
    ) -> OwnedRoom {
        let tick = world.tick();
        let room = Room::new(world, room_config(name, rng));
        room.handle().restore_hashed_seats(&seats, now);
        room.handle().record_seat_changes();
        OwnedRoom {
            fence,
            guard,
            players: BTreeSet::new(),
            room,
            journal: Journal::Open(disk.clone()),
            disk,
            identity: identity(name).1,
            last_run: inspection.last_run,
            salt: rng.next_u64() as u32,
            snapshot_at: Duration::ZERO,
            queue: Vec::new(),
            batch: None,
            held: VecDeque::new(),
            first_sequence: inspection.next_sequence,
            next_sequence: inspection.next_sequence,
            confirmed: tick,
        }
    }

    /// The part of the room that clients use.
    pub fn handle(&self) -> &RoomHandle {
        self.room.handle()
    }

    /// The world.
    pub fn world(&self) -> &TallyWorld {
        self.room.world()
    }

    /// Executes a tick, and queues its records. Returns the number of commands that the world has
    /// rejected.
    pub fn tick(&mut self, now: Duration) -> usize {
        let tick = self.room.world().tick();
        let snapshot = now >= self.snapshot_at;
        let is_checked = tick.is_multiple_of(limits::JOURNAL_CHECKSUM_TICKS);
        let wants =
            TickRequest { frame: true, checksum: snapshot || is_checked, snapshot, player_events: false };
        let TickResult { frame, checksum, snapshot: world, acks, rejected, .. } = self.room.tick(now, wants);
        let handle = self.room.handle();
        let seats = handle.take_seat_changes();
        if snapshot {
            self.snapshot_at = now + limits::JOURNAL_SNAPSHOT_INTERVAL;
        }
        let snapshot = world.zip(checksum).filter(|_| snapshot);
        let snapshot = snapshot.map(|(world, sum)| (Arc::clone(&world.bytes), sum, handle.hashed_seats()));
        let checksum = checksum.filter(|_| is_checked);
        let records = seats.len() as u64 + u64::from(checksum.is_some()) + 1;
        self.next_sequence += records;
        let frame = frame.unwrap_or_default();
        self.queue.push(JournaledTick { tick, snapshot, checksum, seats, frame });
        self.held.push_back(HeldAcks { tick: tick + 1, sequence: self.next_sequence, acks });
        rejected.len()
    }

    /// Appends the queued ticks. Returns whether there are any. With `writes_now`, the bytes are
    /// visible to other processes at once, otherwise only before the sync.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn begin_batch(
        &mut self,
        writes_now: bool,
        scenario: &Scenario,
        now: Duration,
    ) -> Result<bool, JournalError> {
        if self.batch.is_some() || self.queue.is_empty() || matches!(self.journal, Journal::Ended) {
            return Ok(false);
        }
        for tick in std::mem::take(&mut self.queue) {
            self.batch = Some((tick.tick + 1, false));
            self.write_tick(tick)?;
        }
        if writes_now && let Journal::Running(writer) = &mut self.journal {
            writer.flush()?;
        }
        let may_acknowledge = self.may_acknowledge(scenario, now);
        if let Some((_, was_valid)) = &mut self.batch {
            *was_valid = may_acknowledge;
        }
        Ok(true)
    }

    fn write_tick(&mut self, tick: JournaledTick) -> Result<(), JournalError> {
        if let Some((world, checksum, seats)) = tick.snapshot {
            self.write_snapshot((tick.tick, checksum), seats, world)?;
        }
        let Journal::Running(writer) = &mut self.journal else { return Err(JournalError::Failed) };
        for change in tick.seats {
            writer.append(tick.tick, RecordBody::Seat(change), 0)?;
        }
        if let Some(checksum) = tick.checksum {
            writer.append(tick.tick, RecordBody::Checksum(checksum), 0)?;
        }
        writer.append(tick.tick, RecordBody::Frame(tick.frame), 0)
    }

    fn write_snapshot(
        &mut self,
        (tick, checksum): (u32, u64),
        seats: Vec<HashedSeat>,
        world: Arc<[u8]>,
    ) -> Result<(), JournalError> {
        let snapshot = self.unplaced((tick, checksum), seats, world);
        match std::mem::replace(&mut self.journal, Journal::Ended) {
            Journal::Open(disk) => {
                let run = JournalRun {
                    identity: self.identity.clone(),
                    run: self.last_run + 1,
                    epoch: self.fence,
                    fence: self.fence,
                    salt: self.salt,
                    segment_bytes: SEGMENT_BYTES,
                };
                let writer = JournalWriter::begin(disk, run, self.first_sequence, &snapshot, 0)?;
                self.journal = Journal::Running(Box::new(writer));
            }
            Journal::Running(mut writer) => {
                writer.snapshot(&snapshot, 0)?;
                writer.retain(Retention { bytes: RETAINED_BYTES, age_ms: u64::MAX }, 0)?;
                self.journal = Journal::Running(writer);
            }
            Journal::Ended => return Err(JournalError::Failed),
        }
        Ok(())
    }

    fn unplaced(
        &self,
        (tick, checksum): (u32, u64),
        seats: Vec<HashedSeat>,
        world: Arc<[u8]>,
    ) -> JournalSnapshot {
        let identity = self.identity.clone();
        JournalSnapshot { run: 0, epoch: 0, fence: 0, sequence: 0, tick, checksum, identity, seats, world }
    }

    /// Syncs the batch, and confirms its ticks if the process still has the room. The order
    /// matters: see `crate::server::cluster`. Returns whether the ticks are confirmed.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn end_batch(&mut self, scenario: &Scenario, now: Duration) -> Result<bool, JournalError> {
        let Some((tick, was_valid)) = self.batch.take() else { return Ok(true) };
        let Journal::Running(writer) = &mut self.journal else { return Ok(true) };
        writer.sync()?;
        let checks_now = scenario.fault != Some(ClusterFault::CheckBeforeSync);
        if checks_now && (self.guard.is_lost() || scenario.checks_storage && self.has_higher_fence()) {
            self.lose();
            return Ok(false);
        }
        let is_valid = if checks_now { self.may_acknowledge(scenario, now) } else { was_valid };
        if is_valid {
            self.confirmed = tick;
        }
        Ok(is_valid)
    }

    fn may_acknowledge(&self, scenario: &Scenario, now: Duration) -> bool {
        (!scenario.checks_lease || self.guard.is_valid(now))
            && (!scenario.checks_storage || !self.has_higher_fence())
    }

    /// Returns whether another process has claimed the directory. Without the disk, this process
    /// has ended.
    pub fn has_higher_fence(&self) -> bool {
        highest_fence(&self.disk).is_ok_and(|highest| highest > self.fence)
    }

    /// Ends the journal, because another process has the room.
    pub fn lose(&mut self) {
        self.guard.set_lost();
        self.journal = Journal::Ended;
    }

    /// Removes the acks that may be sent.
    pub fn release(&mut self) -> Vec<HeldAcks> {
        let mut released = Vec::new();
        while let Some(held) = self.held.pop_front_if(|held| held.tick <= self.confirmed) {
            released.push(held);
        }
        released
    }

    /// Returns the number of ticks whose acks are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Stops the room: writes all ticks and the named world. Returns whether all ticks are
    /// confirmed.
    ///
    /// # Errors
    /// The disk has failed.
    pub fn stop(&mut self, scenario: &Scenario, now: Duration) -> Result<bool, JournalError> {
        let was_confirmed = self.end_batch(scenario, now)?;
        self.begin_batch(true, scenario, now)?;
        let is_confirmed = self.end_batch(scenario, now)? && was_confirmed;
        let (world, seats) = (self.room.world(), self.room.handle().hashed_seats());
        let named = self.unplaced((world.tick(), 0), seats, world.save_named().into());
        if let Journal::Running(writer) = &mut self.journal
            && !self.guard.is_lost()
        {
            writer.write_named(&named)?;
        }
        Ok(is_confirmed)
    }
}

/// The configuration of a room.
fn room_config(name: &str, rng: &mut Rng) -> RoomConfig {
    let tick_hz = identity(name).0.tick_hz;
    RoomConfig {
        name: name.into(),
        epoch: format!("{:016x}", rng.next_u64()),
        secret: rng.next_u64(),
        rates: UpdateRates { tick_hz, update_hz: tick_hz, foreign_hz: tick_hz },
        delay_ticks: 0,
        resume_time: SEAT_TIME,
        absent_per_address: usize::MAX,
        max_clients: usize::MAX,
        lockstep: LockstepConfig { access: LockstepAccess::Off, snapshot_ticks: 1, checksum_ticks: 1 },
    }
}
