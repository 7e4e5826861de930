//! A client's copy of the world of its room, in lockstep. Without I/O and without a clock.
//!
//! ```text
//!  state_sync, snapshot ─► world ◄─ command_frame    ─► messages: the updates as without lockstep
//!                            └─► checksum at each checksum tick ─► server
//! ```
//!
//! [`LockstepFollower::on_packet`] handles the lockstep packets, steps the world with each command
//! frame, and returns packets to send. If the server finds that the worlds differ, it sends a
//! snapshot from before the difference. The follower restarts from it. At the tick of the
//! difference it compares its old world with the new one and reports the fields.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tickwire_sim::state_tree::FieldDiff;
use tickwire_sim::{PlayerId, RestoreError};

use crate::game::lockstep_packets::{
    CHECKSUM, COMMAND_FRAME, DESYNC_DETAILS, DESYNC_REPORT, SNAPSHOT, STATE_SYNC, STATE_SYNC_REQUEST,
    SnapshotPartError, SnapshotParts,
};
use crate::game::{DynTick, DynWorld, GameInfo, Messages, SpectatorWorld};
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, Value};

/// Number of retained copies of this client's world, one for each of the last checksum ticks.
const RETAINED_WORLDS: usize = 3;

/// The effect of a packet on a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowEvent {
    /// Not a lockstep packet.
    Other,
    /// A snapshot. The world starts or restarts at this tick.
    Synced(u32),
    /// A command frame: this number of ticks is completed.
    Stepped(u32),
    /// A desync.
    Report(DesyncReport),
    /// A lockstep packet without an effect of its own.
    Handled,
}

/// The reason why a follower cannot use a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowError {
    /// The parts of a snapshot are out of order or too long.
    Snapshot(SnapshotPartError),
    /// The snapshot is of another game, or of other rules.
    World(RestoreError),
}

impl fmt::Display for FollowError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowError::Snapshot(error) => error.fmt(out),
            FollowError::World(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for FollowError {}

/// A desync report of the server: after a tick, the worlds of some participants differed from the
/// server's world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DesyncReport {
    /// Number of completed ticks.
    pub tick: u32,
    /// The checksums in 16 hexadecimal digits, the server's first, each with its participants.
    pub groups: Vec<(String, Vec<String>)>,
    /// Number of participants omitted from the list.
    pub omitted: u32,
    /// The fields that differ, each with the participant that reported it.
    pub fields: Vec<(String, FieldDiff)>,
}

impl DesyncReport {
    /// The report in a packet `desync_report`.
    pub(crate) fn of(packet: &DecodedPacket<'_>) -> DesyncReport {
        let list = |name: &str| packet.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let group = |values: &[Value]| {
            let participants = values.get(1).and_then(Value::as_array);
            (text(&values[0]), participants.map(|all| all.iter().map(text).collect()).unwrap_or_default())
        };
        let field = |values: &[Value]| {
            let or_none = |at: usize| values.get(at).and_then(Value::as_str).map(str::to_owned);
            let own = |at: usize| or_none(at).unwrap_or_default();
            (own(0), FieldDiff { entity: own(1), field: own(2), ours: or_none(3), theirs: or_none(4) })
        };
        DesyncReport {
            tick: packet.integer("tick").unwrap_or_default(),
            groups: list("groups").chunks(2).map(group).collect(),
            omitted: packet.integer("omitted").unwrap_or_default(),
            fields: list("fields").chunks(5).map(field).collect(),
        }
    }

    /// Whether the world of this participant, such as `player 3`, differed.
    pub fn includes(&self, participant: &str) -> bool {
        self.groups.iter().skip(1).any(|(_, all)| all.iter().any(|one| one == participant))
    }
}

/// Counts since the follower was created.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FollowerCounts {
    /// Ticks executed.
    pub ticks: u64,
    /// Snapshots from which the world started.
    pub syncs: u64,
    /// Checksums sent.
    pub checksums: u64,
    /// Bytes of snapshots and command frames.
    pub bytes: u64,
    /// Checksum ticks at which this client's world differed from the server's, found after a
    /// restart.
    pub desyncs: u64,
}

/// A client's copy of the world of its room.
#[derive(Debug)]
pub struct LockstepFollower {
    info: &'static GameInfo,
    dialect: Arc<Dialect>,
    world: Option<Box<dyn SpectatorWorld>>,
    parts: SnapshotParts,
    player: Option<PlayerId>,
    spectated: Option<PlayerId>,
    /// Ticks that the server had completed when it sent the last snapshot. Earlier ticks produce no
    /// updates.
    server_tick: u32,
    /// Whether ticks have run since the snapshot, and none of them produced updates yet.
    is_catching_up: bool,
    checksum_ticks: u32,
    /// The newest tick with a sent checksum.
    sent: Option<u32>,
    /// Copies of this client's world at the newest checksum ticks.
    retained: VecDeque<RetainedWorld>,
    /// Whether a requested snapshot has not arrived yet.
    has_requested_snapshot: bool,
    /// Seed for a field to change at the next checksum tick.
    corruption_seed: Option<u64>,
    corrupted: Option<(u32, FieldDiff)>,
    counts: FollowerCounts,
}

#[derive(Debug)]
struct RetainedWorld {
    tick: u32,
    checksum: u64,
    snapshot: Vec<u8>,
}

impl LockstepFollower {
    /// A follower of a room of this game, without a world.
    pub fn new(info: &'static GameInfo, dialect: Arc<Dialect>) -> LockstepFollower {
        LockstepFollower {
            info,
            dialect,
            world: None,
            parts: SnapshotParts::default(),
            player: None,
            spectated: None,
            server_tick: 0,
            is_catching_up: false,
            checksum_ticks: limits::LOCKSTEP_CHECKSUM_TICKS,
            sent: None,
            retained: VecDeque::new(),
            has_requested_snapshot: false,
            corruption_seed: None,
            corrupted: None,
            counts: FollowerCounts::default(),
        }
    }

    /// The world; `None` before the first snapshot.
    pub fn world(&self) -> Option<&dyn DynWorld> {
        self.world.as_ref().map(|world| world.world())
    }

    /// The published state of the last tick; `None` if the tick ran without updates.
    pub fn published(&self) -> Option<Arc<dyn DynTick>> {
        self.world.as_ref().and_then(|world| world.published())
    }

    /// The local player; `None` for a spectator.
    pub fn player(&self) -> Option<PlayerId> {
        self.player
    }

    /// Ticks that the server had completed when it sent the last snapshot. Earlier ticks produce no
    /// updates.
    pub(crate) fn present(&self) -> u32 {
        self.server_tick
    }

    /// Removes and returns the world. Without a world, the follower requests a snapshot at the next
    /// command frame.
    pub(crate) fn detach_world(&mut self) -> Option<Box<dyn SpectatorWorld>> {
        self.world.take()
    }

    /// Restores the world that [`LockstepFollower::detach_world`] returned.
    pub(crate) fn attach_world(&mut self, world: Box<dyn SpectatorWorld>) {
        self.world = Some(world);
    }

    /// The spectated player while the client does not play; `None` for the leader.
    pub(crate) fn spectated(&self) -> Option<PlayerId> {
        self.spectated
    }

    /// Sets the spectated player while the client does not play; `None` for the leader.
    pub fn set_spectated(&mut self, player: Option<PlayerId>) {
        self.spectated = player;
    }

    /// Counts since the follower was created.
    pub fn counts(&self) -> FollowerCounts {
        self.counts
    }

    /// At the next checksum tick, changes one field of this client's world, to test the server's
    /// reaction. The seed selects the field.
    pub fn corrupt(&mut self, seed: u64) {
        self.corruption_seed = Some(seed);
    }

    /// The last change by [`LockstepFollower::corrupt`]: the tick, and the field with its value
    /// before and after.
    pub fn corrupted(&self) -> Option<&(u32, FieldDiff)> {
        self.corrupted.as_ref()
    }

    /// Handles a packet. Appends the packets to send to `outgoing`, in MessagePack. Appends to
    /// `messages` the updates that the server would send to a client without lockstep.
    ///
    /// # Errors
    /// The snapshot is of another game or other rules, or its parts are out of order. The client
    /// can then only play without lockstep.
    pub fn on_packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        outgoing: &mut Vec<Vec<u8>>,
        messages: &mut Messages,
    ) -> Result<FollowEvent, FollowError> {
        match packet.row.name.as_str() {
            STATE_SYNC => {
                let interrupted = self.parts.interrupt(STATE_SYNC);
                self.player = packet.integer("player").map(PlayerId);
                self.server_tick = packet.integer("tick").unwrap_or(0);
                self.checksum_ticks =
                    packet.integer("checksum_ticks").filter(|ticks| *ticks > 0).unwrap_or(1);
                self.reset_sync_request(interrupted)?;
                Ok(FollowEvent::Handled)
            }
            "spawned" => {
                self.player = packet.integer("player").map(PlayerId);
                Ok(FollowEvent::Handled)
            }
            SNAPSHOT => {
                let part = packet.get("state").and_then(Value::as_slice).unwrap_or_default();
                let added = self.parts.add(packet.integer("tick").unwrap_or_default(), part);
                let whole = self.reset_sync_request(added)?;
                whole.map_or(Ok(FollowEvent::Handled), |snapshot| self.sync_to(&snapshot))
            }
            COMMAND_FRAME => {
                let interrupted = self.parts.interrupt(COMMAND_FRAME);
                self.reset_sync_request(interrupted)?;
                let bytes = packet.get("frame").and_then(Value::as_slice).unwrap_or_default();
                Ok(self.step(bytes, outgoing, messages))
            }
            DESYNC_REPORT => Ok(FollowEvent::Report(DesyncReport::of(packet))),
            _ => Ok(FollowEvent::Other),
        }
    }

    /// Returns the result unchanged. After an error, allows another snapshot request, because the
    /// requested snapshot will not arrive.
    fn reset_sync_request<T>(&mut self, result: Result<T, SnapshotPartError>) -> Result<T, FollowError> {
        self.has_requested_snapshot &= result.is_ok();
        result.map_err(FollowError::Snapshot)
    }

    fn sync_to(&mut self, snapshot: &[u8]) -> Result<FollowEvent, FollowError> {
        let world = (self.info.new_spectator_world)(snapshot, &self.dialect).map_err(FollowError::World)?;
        self.counts.syncs += 1;
        self.counts.bytes += snapshot.len() as u64;
        self.has_requested_snapshot = false;
        self.is_catching_up = false;
        let tick = world.world().tick();
        self.world = Some(world);
        Ok(FollowEvent::Synced(tick))
    }

    /// Runs one command frame. A frame that is not for the next tick causes a single request for a
    /// snapshot.
    fn step(&mut self, bytes: &[u8], outgoing: &mut Vec<Vec<u8>>, messages: &mut Messages) -> FollowEvent {
        self.counts.bytes += bytes.len() as u64;
        let frame = (self.info.frame)(bytes).ok();
        let is_next = |world: &dyn DynWorld| frame.as_ref().is_some_and(|frame| frame.tick == world.tick());
        if !self.world().is_some_and(is_next) {
            if !self.has_requested_snapshot {
                self.has_requested_snapshot = true;
                self.outgoing(STATE_SYNC_REQUEST, &[], outgoing);
            }
            return FollowEvent::Handled;
        }
        self.check_checksum_tick(outgoing);
        let (Some(world), Some(frame)) = (&mut self.world, frame) else { return FollowEvent::Handled };
        self.counts.ticks += 1;
        if frame.tick + 1 < self.server_tick {
            self.is_catching_up = true;
            world.world_mut().step(&frame.commands);
            return FollowEvent::Stepped(world.world().tick());
        }
        if std::mem::take(&mut self.is_catching_up) {
            // The first update describes the current state, as for a new client.
            let synced = (self.info.new_spectator_world)(&world.world().snapshot(), &self.dialect);
            synced.into_iter().for_each(|fresh| *world = fresh);
        }
        world.step(&frame.commands, self.player, self.spectated, messages);
        FollowEvent::Stepped(world.world().tick())
    }

    /// At a checksum tick, sends the checksum. If the checksum of this tick was already sent,
    /// compares the world with the retained one instead. Skips ticks that the server had completed
    /// before it sent the snapshot.
    fn check_checksum_tick(&mut self, outgoing: &mut Vec<Vec<u8>>) {
        let Some(world) = &mut self.world else { return };
        let tick = world.world().tick();
        if !tick.is_multiple_of(self.checksum_ticks) {
            return;
        }
        if self.sent.is_some_and(|sent| tick <= sent) {
            self.compare(tick, outgoing);
            return;
        }
        if tick < self.server_tick {
            // Skipped, because many checksums at once would exceed the message rate limit. The next
            // checksum also reveals a difference.
            return;
        }
        if let Some(seed) = self.corruption_seed.take() {
            self.corrupted = world.world_mut().corrupt(seed).map(|difference| (tick, difference));
        }
        let (checksum, snapshot) = (world.world().checksum(), world.world().snapshot());
        self.retained.push_back(RetainedWorld { tick, checksum, snapshot });
        if self.retained.len() > RETAINED_WORLDS {
            self.retained.pop_front();
        }
        self.sent = Some(tick);
        self.counts.checksums += 1;
        self.outgoing(CHECKSUM, &[tick.into(), format!("{checksum:016x}").into()], outgoing);
    }

    fn compare(&mut self, tick: u32, outgoing: &mut Vec<Vec<u8>>) {
        let Some(world) = &self.world else { return };
        let Some(at) = self.retained.iter().position(|retained| retained.tick == tick) else { return };
        if self.retained[at].checksum == world.world().checksum() {
            return;
        }
        let Some(before) = self.retained.remove(at) else { return };
        self.counts.desyncs += 1;
        let Ok(before) = (self.info.restore)(&before.snapshot) else { return };
        let found = world.world().state().differences(&before.state(), limits::LOCKSTEP_FIELDS);
        let text = |text: &str| -> Value {
            text.chars().take(limits::LOCKSTEP_FIELD_CHARS).collect::<String>().into()
        };
        let or_nil = |value: &Option<String>| value.as_deref().map_or(Value::Nil, text);
        let fields = found
            .iter()
            .flat_map(|one| [text(&one.entity), text(&one.field), or_nil(&one.ours), or_nil(&one.theirs)]);
        let fields = Value::Array(fields.collect());
        self.outgoing(DESYNC_DETAILS, &[tick.into(), fields], outgoing);
    }

    fn outgoing(&self, name: &str, values: &[Value], outgoing: &mut Vec<Vec<u8>>) {
        // A dialect without the packet has no lockstep.
        outgoing.extend(self.dialect.encode(Direction::ToServer, name, values));
    }
}
