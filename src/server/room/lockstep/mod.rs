//! The journal of a room for lockstep clients: snapshots, all later command frames, and the
//! comparison of checksums.
//!
//! ```text
//!   snapshot ─► frame frame frame report frame …        the journal; a client has a position in it
//!      tick 600     600   601   602          603
//! ```
//!
//! The journal records nothing while the room has no lockstep client. A client begins with a
//! snapshot and then receives every later [`JournalEntry`] once and in order. Each entry is encoded
//! once for all clients with the same wire format. At each checksum tick a client sends the
//! checksum of its world. If it differs from the room's, the client restarts from a snapshot and
//! reports the differing fields; all lockstep clients then receive a [`DesyncReport`].
//!
//! The server decides when a client may have a snapshot, because its rooms share a rate limit.

mod checksum_rounds;
mod journal_entry;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tickwire_sim::state_tree::FieldDiff;

use checksum_rounds::{ChecksumClaim, ChecksumRounds};
pub use journal_entry::{DesyncReport, EntryContent, FormatKey, JournalEntry};

use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// Which clients may join in lockstep. Lockstep reveals the whole world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LockstepAccess {
    /// None.
    Off,
    /// Clients with a player token, and clients on the server's own machine.
    #[default]
    Token,
    /// All clients.
    Open,
}

/// Lockstep settings of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockstepConfig {
    /// Which clients may join in lockstep.
    pub access: LockstepAccess,
    /// Ticks between two snapshots.
    pub snapshot_ticks: u32,
    /// Ticks between two checksums.
    pub checksum_ticks: u32,
}

impl Default for LockstepConfig {
    fn default() -> LockstepConfig {
        LockstepConfig {
            access: LockstepAccess::default(),
            snapshot_ticks: limits::LOCKSTEP_SNAPSHOT_TICKS,
            checksum_ticks: limits::LOCKSTEP_CHECKSUM_TICKS,
        }
    }
}

/// The entries to send to a client next.
#[derive(Debug, Default)]
pub struct NextEntries {
    /// The snapshot with which the client starts or restarts.
    pub snapshot: Option<Arc<JournalEntry>>,
    /// The entries after the client's position, each with its number. They reach the requested
    /// total size unless the journal ends first.
    pub parts: Vec<(u64, Arc<JournalEntry>)>,
    /// The client's position once all of them are sent.
    pub end: u64,
}

/// Counts since the start of the room.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LockstepCounts {
    /// Lockstep clients at present.
    pub followers: u64,
    /// Snapshots sent.
    pub syncs: u64,
    /// Client checksums compared.
    pub checksums: u64,
    /// Client checksums that differed.
    pub desyncs: u64,
    /// Clients closed because the snapshot exceeds the maximum size.
    pub too_large: u64,
}

/// Entries and checksums of a room for its lockstep clients.
#[derive(Debug)]
pub struct Journal {
    rules: LockstepConfig,
    followers: AtomicUsize,
    syncs: AtomicU64,
    checksums: AtomicU64,
    desyncs: AtomicU64,
    too_large: AtomicU64,
    inner: Mutex<JournalState>,
}

#[derive(Debug, Default)]
struct JournalState {
    followers: BTreeMap<u64, FollowerState>,
    /// Ticks per second.
    tick_hz: u32,
    /// Ticks completed.
    tick: u32,
    /// Whether the current tick is recorded.
    is_on: bool,
    /// The entries, each with the number of ticks completed when it was added. The first entry has
    /// the number `first_entry`.
    entries: VecDeque<(u32, Arc<JournalEntry>)>,
    first_entry: u64,
    /// Total bytes of the entries after the newest snapshot.
    bytes: usize,
    /// Snapshots, each with the tick before which it was taken, and the number of the entry after
    /// it.
    snapshots: VecDeque<(u32, u64, Arc<JournalEntry>)>,
    /// The tick of the last snapshot, even if this snapshot was dropped.
    last_snapshot_tick: Option<u32>,
    rounds: ChecksumRounds,
}

#[derive(Debug)]
struct FollowerState {
    prefix: AddressPrefix,
    /// The room's tick when the client received its first snapshot; `u32::MAX` before. The client
    /// sends checksums from this tick on.
    since: u32,
    /// The number of the client's next entry.
    next_entry: u64,
    /// Reports before this entry were already sent, or were recorded before the client joined.
    reports_from: u64,
    /// Set while the client waits for a snapshot. If possible, the snapshot is not after this tick.
    requested_not_after: Option<u32>,
}

impl FollowerState {
    /// Returns whether the client has received a snapshot.
    fn has_world(&self) -> bool {
        self.since != u32::MAX
    }

    /// Requests a snapshot not after this tick. An earlier request remains if it is for an older
    /// snapshot.
    fn request_snapshot(&mut self, not_after: u32) {
        self.requested_not_after =
            Some(self.requested_not_after.map_or(not_after, |tick| tick.min(not_after)));
    }
}

/// Outputs of a tick that the journal needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalRequest {
    /// The command frame.
    pub frame: bool,
    /// The checksum.
    pub checksum: bool,
    /// The snapshot.
    pub snapshot: bool,
}

impl Journal {
    /// Creates the journal of a room with this tick rate.
    pub fn new(rules: LockstepConfig, tick_hz: u32) -> Journal {
        Journal {
            rules,
            followers: AtomicUsize::new(0),
            syncs: AtomicU64::new(0),
            checksums: AtomicU64::new(0),
            desyncs: AtomicU64::new(0),
            too_large: AtomicU64::new(0),
            inner: Mutex::new(JournalState { tick_hz, ..JournalState::default() }),
        }
    }

    /// Returns the settings.
    pub fn rules(&self) -> LockstepConfig {
        self.rules
    }

    /// Returns the bytes of all entries and snapshots, with their cached encodings.
    pub fn stored_bytes(&self) -> usize {
        let inner = self.inner.lock();
        let entries = inner.entries.iter().map(|(_, entry)| entry);
        let snapshots = inner.snapshots.iter().map(|(.., entry)| entry);
        entries.chain(snapshots).map(|entry| entry.stored_bytes()).sum()
    }

    /// Returns the counts for the metrics.
    pub fn counts(&self) -> LockstepCounts {
        LockstepCounts {
            followers: self.followers.load(Ordering::Relaxed) as u64,
            syncs: self.syncs.load(Ordering::Relaxed),
            checksums: self.checksums.load(Ordering::Relaxed),
            desyncs: self.desyncs.load(Ordering::Relaxed),
            too_large: self.too_large.load(Ordering::Relaxed),
        }
    }

    /// Adds a lockstep client. It receives a snapshot as soon as there is one and the server
    /// permits it.
    pub fn add_follower(&self, connection: u64, prefix: AddressPrefix) {
        let mut inner = self.inner.lock();
        let (since, next_entry, reports_from, requested_not_after) = (u32::MAX, 0, 0, Some(u32::MAX));
        inner.followers.insert(
            connection,
            FollowerState { prefix, since, next_entry, reports_from, requested_not_after },
        );
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// Removes a lockstep client and its checksums, except checksums with a pending report.
    pub fn remove_follower(&self, connection: u64) {
        let mut inner = self.inner.lock();
        inner.followers.remove(&connection);
        inner.rounds.leave(connection);
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// Requests a snapshot for a connection. Further requests before the snapshot is sent have no
    /// effect.
    pub fn request_snapshot(&self, connection: u64) {
        let mut inner = self.inner.lock();
        if let Some(follower) = inner.followers.get_mut(&connection) {
            follower.request_snapshot(u32::MAX);
        }
    }

    /// Stores a participant's checksum of its world after `tick` ticks, and compares it. Ignored
    /// unless `tick` is a checksum tick, is at most one interval ahead, and is not before the
    /// room's oldest snapshot or the tick at which the participant received its first snapshot.
    /// Only the first checksum of a tick counts.
    pub fn checksum(&self, connection: u64, label: impl FnOnce() -> String, tick: u32, checksum: u64) {
        let inner = &mut *self.inner.lock();
        let every = self.rules.checksum_ticks;
        let oldest = inner.snapshots.front().map_or(u32::MAX, |(tick, ..)| *tick);
        let is_due = tick.is_multiple_of(every) && (oldest..=inner.tick + every).contains(&tick);
        // For a past tick, only an existing round has the room's checksum.
        let is_stored = tick >= inner.tick || inner.rounds.has(tick);
        let Some(follower) = inner.followers.get(&connection) else { return };
        if !is_due || !is_stored || tick < follower.since || inner.rounds.has_claim(tick, connection) {
            return;
        }
        let (address_prefix, since) = (follower.prefix, follower.since);
        let claim = ChecksumClaim {
            label: label(),
            prefix: address_prefix,
            world_since_tick: since,
            checksum,
            fields: None,
        };
        if let Some(room) = inner.rounds.claim(tick, connection, claim) {
            self.compare(inner, connection, tick, room == checksum);
        }
    }

    fn compare(&self, inner: &mut JournalState, connection: u64, tick: u32, is_same: bool) {
        self.checksums.fetch_add(1, Ordering::Relaxed);
        if !is_same {
            self.desyncs.fetch_add(1, Ordering::Relaxed);
            inner.rounds.mark_differing(tick, inner.tick);
            if let Some(follower) = inner.followers.get_mut(&connection) {
                follower.request_snapshot(tick);
            }
        }
    }

    /// Stores the differing fields of a participant for `tick`. Only the first call counts, and
    /// only before the report.
    pub fn add_desync_details(&self, connection: u64, tick: u32, fields: Vec<FieldDiff>) {
        self.inner.lock().rounds.details(connection, tick, fields);
    }

    /// Begins a tick. Returns the outputs that the journal needs.
    pub(crate) fn begin_tick(&self, tick: u32) -> JournalRequest {
        let mut inner = self.inner.lock();
        inner.tick = tick;
        if inner.followers.is_empty() {
            if inner.is_on {
                let (tick_hz, made) = (inner.tick_hz, inner.last_snapshot_tick);
                *inner = JournalState { tick_hz, tick, last_snapshot_tick: made, ..JournalState::default() };
            }
            return JournalRequest::default();
        }
        inner.is_on = true;
        let is_past = |made: u32, ticks: u32| tick >= made.saturating_add(ticks);
        let min_ticks = limits::LOCKSTEP_MIN_SNAPSHOT_INTERVAL.as_secs() as u32 * inner.tick_hz;
        let is_old = match inner.snapshots.back() {
            Some((newest, ..)) => is_past(*newest, self.rules.snapshot_ticks),
            // Limits the snapshots that are made when lockstep clients repeatedly join and leave.
            None => inner.last_snapshot_tick.is_none_or(|made| is_past(made, min_ticks)),
        };
        let snapshot = is_old || inner.bytes > limits::LOCKSTEP_JOURNAL_BYTES;
        JournalRequest { frame: true, checksum: tick.is_multiple_of(self.rules.checksum_ticks), snapshot }
    }

    /// Ends a tick. Stores the command frame and, if requested, the snapshot and the checksum of
    /// the world before the tick.
    pub(crate) fn end_tick(
        &self,
        snapshot: Option<Arc<[u8]>>,
        checksum: Option<u64>,
        frame: Option<Arc<[u8]>>,
    ) {
        let inner = &mut *self.inner.lock();
        if !inner.is_on {
            return;
        }
        if let Some(bytes) = snapshot {
            inner.add_snapshot(bytes);
        }
        if let Some(checksum) = checksum {
            let tick = inner.tick;
            let claims = inner.rounds.set_room_checksum(tick, checksum);
            claims.iter().for_each(|(one, own)| self.compare(inner, *one, tick, *own == checksum));
        }
        match frame {
            Some(frame) => inner.push(inner.tick + 1, EntryContent::Frame(frame)),
            // Without the frame the journal has a gap. All clients restart from the next snapshot.
            None => {
                inner.first_entry += inner.entries.len() as u64 + 1;
                inner.entries.clear();
                inner.snapshots.clear();
            }
        }
        inner.tick += 1;
        inner.report(self.rules.checksum_ticks);
    }

    /// Returns the entries to send to a connection now: as many as reach `bytes` bytes, unless the
    /// journal ends first. If the client needs a snapshot, `may_sync` decides whether the snapshot
    /// is returned. The client's position then moves to the snapshot. Otherwise the position
    /// changes only in [`on_sent`](Self::on_sent).
    pub fn next(
        &self,
        connection: u64,
        bytes: usize,
        may_sync: impl FnOnce(&JournalEntry) -> bool,
    ) -> NextEntries {
        self.next_until(connection, u32::MAX, bytes, may_sync)
    }

    /// Like [`next`](Self::next), but only with the entries that existed after `until` ticks. The
    /// room may be ahead of an update worker, which has the acks up to that tick only. So a client
    /// receives the ack of a command before the frame that executes it.
    pub fn next_until(
        &self,
        connection: u64,
        until: u32,
        bytes: usize,
        may_sync: impl FnOnce(&JournalEntry) -> bool,
    ) -> NextEntries {
        let inner = &mut *self.inner.lock();
        let Some(follower) = inner.followers.get(&connection) else { return NextEntries::default() };
        let has_begun = follower.has_world();
        let is_lost = follower.next_entry < inner.first_entry && has_begun;
        let wanted = follower.requested_not_after.or(is_lost.then_some(u32::MAX));
        let snapshot = wanted.and_then(|not_after| inner.snapshot(not_after, until));
        let snapshot = snapshot.filter(|(_, part)| may_sync(part));
        let (end, tick) = (inner.end(), inner.tick);
        let Some(follower) = inner.followers.get_mut(&connection) else { return NextEntries::default() };
        let mut next = NextEntries { end, ..NextEntries::default() };
        if let Some((entry, part)) = snapshot {
            follower.reports_from = if has_begun { follower.reports_from } else { end };
            (follower.next_entry, follower.requested_not_after) = (entry, None);
            follower.since = follower.since.min(tick);
            next.snapshot = Some(part);
        } else if is_lost || !has_begun {
            return NextEntries::default();
        }
        let reports_from = follower.reports_from;
        let behind = inner.entries.range((follower.next_entry - inner.first_entry) as usize..);
        let is_new = |number: u64, part: &JournalEntry| {
            number >= reports_from || !matches!(part.content, EntryContent::Report(_))
        };
        let mut left = bytes;
        for (number, (completed, part)) in (follower.next_entry..).zip(behind) {
            if left == 0 || *completed > until {
                next.end = number;
                break;
            }
            left = left.saturating_sub(part.bytes().max(1));
            next.parts.extend(is_new(number, part).then(|| (number, Arc::clone(part))));
        }
        next
    }

    /// Records that a connection was sent the snapshot of `next`, if any, and the entries before
    /// `end`.
    pub fn on_sent(&self, connection: u64, next: &NextEntries, end: u64) {
        self.syncs.fetch_add(u64::from(next.snapshot.is_some()), Ordering::Relaxed);
        let mut inner = self.inner.lock();
        if let Some(follower) = inner.followers.get_mut(&connection) {
            follower.next_entry = follower.next_entry.max(end);
            follower.reports_from = follower.reports_from.max(end);
        }
    }

    /// Counts a client that was disconnected because the snapshot exceeds the maximum size.
    pub fn count_too_large(&self) {
        self.too_large.fetch_add(1, Ordering::Relaxed);
    }
}

impl JournalState {
    /// Returns the number of the next entry.
    fn end(&self) -> u64 {
        self.first_entry + self.entries.len() as u64
    }

    /// Adds an entry that is complete after this many ticks.
    fn push(&mut self, completed: u32, content: EntryContent) {
        let part = JournalEntry::new(content);
        self.bytes += part.bytes();
        self.entries.push_back((completed, part));
    }

    /// Stores a snapshot of the current tick, and drops the entries before the oldest snapshot.
    fn add_snapshot(&mut self, bytes: Arc<[u8]>) {
        let entry = self.end();
        self.last_snapshot_tick = Some(self.tick);
        self.snapshots.push_back((
            self.tick,
            entry,
            JournalEntry::new(EntryContent::Snapshot(self.tick, bytes)),
        ));
        self.bytes = 0;
        if self.snapshots.len() > limits::LOCKSTEP_SNAPSHOTS {
            self.snapshots.pop_front();
        }
        let oldest = self.snapshots.front().map_or(entry, |(_, entry, _)| *entry);
        self.entries.drain(..(oldest - self.first_entry) as usize);
        self.first_entry = oldest;
    }

    /// Returns the newest snapshot that is not after the tick `not_after`. If there is none,
    /// returns the newest snapshot. Considers only snapshots of the first `until` ticks.
    fn snapshot(&self, not_after: u32, until: u32) -> Option<(u64, Arc<JournalEntry>)> {
        let newest_first = || self.snapshots.iter().rev().filter(|(tick, ..)| *tick <= until);
        let found = newest_first().find(|(tick, ..)| *tick <= not_after).or_else(|| newest_first().next());
        found.map(|(_, entry, part)| (*entry, Arc::clone(part)))
    }

    /// Adds the reports of the rounds that are complete or have timed out, and drops the rounds
    /// before the oldest snapshot.
    fn report(&mut self, every: u32) {
        let details_ticks = limits::LOCKSTEP_DETAILS_TIMEOUT.as_secs() as u32 * self.tick_hz;
        let since: BTreeMap<u64, u32> = match self.rounds.is_any_due() {
            true => self.followers.iter().map(|(one, follower)| (*one, follower.since)).collect(),
            false => BTreeMap::new(),
        };
        let reports = self.rounds.report(self.tick, every, details_ticks, &since);
        let oldest = self.snapshots.front().map_or(u32::MAX, |(tick, ..)| *tick);
        self.rounds.forget_before(oldest);
        reports.into_iter().for_each(|report| self.push(self.tick, EntryContent::Report(report)));
    }
}
