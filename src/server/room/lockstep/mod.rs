//! What clients in lockstep need of a room: a snapshot, everything since, and whether their worlds
//! agree with it.
//!
//! ```text
//!   snapshot ─► frame frame frame report frame …        the log: a client has a place in it
//!      tick 600     600   601   602          603
//! ```
//!
//! Nothing is kept while nobody follows. A client begins at a snapshot and then gets every [`JournalEntry`]
//! behind it, once and in order; each part is encoded once for all clients that speak alike. At each
//! checksum tick a client sends the checksum of its world. One that differs from the room's begins
//! again at a snapshot, says which fields differ, and all are sent a [`Report`].
//!
//! Whether a client may have a snapshot now is up to the host, whose rooms share a budget.

mod checksum_rounds;
mod journal_entry;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use checksum_rounds::{ChecksumClaim, ChecksumRounds};
pub use journal_entry::{DesyncReport, EntryContent, FieldDiff, FormatKey, JournalEntry};

use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// Which clients may follow a room in lockstep: it shows them the whole world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LockstepAccess {
    /// None.
    Off,
    /// Those with a player's token, and those on the server's own machine.
    #[default]
    Token,
    /// All.
    Open,
}

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockstepConfig {
    /// Which clients may follow.
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

/// What a client is sent next.
#[derive(Debug, Default)]
pub struct NextEntries {
    /// The snapshot with which it begins, or begins again.
    pub snapshot: Option<Arc<JournalEntry>>,
    /// The parts behind its place, each with its number: at least as many as fit what was asked for.
    pub parts: Vec<(u64, Arc<JournalEntry>)>,
    /// Its place once it is sent all of them.
    pub end: u64,
}

/// Counts since the room began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LockstepCounts {
    /// Clients that follow in lockstep now.
    pub followers: u64,
    /// Snapshots that clients were sent.
    pub syncs: u64,
    /// Checksums of clients that were compared.
    pub checksums: u64,
    /// Of these, those that differed.
    pub desyncs: u64,
    /// Clients that were closed because the snapshot is larger than a message may be.
    pub too_large: u64,
}

/// See the [module](self).
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
    /// Whether the present tick is kept.
    is_on: bool,
    /// The log: each part with the ticks that were completed when it was added. The first part has the number
    /// `first`.
    entries: VecDeque<(u32, Arc<JournalEntry>)>,
    first: u64,
    /// Of the parts behind the newest snapshot.
    bytes: usize,
    /// With the tick before which it was taken, and the number of the part behind it.
    snapshots: VecDeque<(u32, u64, Arc<JournalEntry>)>,
    /// The tick of the last snapshot, even if it is forgotten.
    last_snapshot_tick: Option<u32>,
    rounds: ChecksumRounds,
}

#[derive(Debug)]
struct FollowerState {
    household: AddressPrefix,
    /// Since when it sends checksums.
    since: u32,
    /// The number of its next part.
    place: u64,
    /// Reports before this part were told, or were of others before it came.
    reports_from: u64,
    /// It begins again at a snapshot not after this tick.
    requested_not_after: Option<u32>,
}

impl FollowerState {
    /// Whether it has a world.
    fn has_world(&self) -> bool {
        self.since != u32::MAX
    }

    /// It begins again at a snapshot not after this tick, nor after one that it waits for.
    fn request_snapshot(&mut self, not_after: u32) {
        self.requested_not_after =
            Some(self.requested_not_after.map_or(not_after, |tick| tick.min(not_after)));
    }
}

/// What a tick is to make for those who follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TickRequest {
    /// The command frame.
    pub frame: bool,
    /// The checksum.
    pub checksum: bool,
    /// The snapshot.
    pub snapshot: bool,
}

impl Journal {
    /// The journal of a room whose world has this tick rate.
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

    /// The settings.
    pub fn rules(&self) -> LockstepConfig {
        self.rules
    }

    /// Counts, for the metrics.
    pub fn counts(&self) -> LockstepCounts {
        LockstepCounts {
            followers: self.followers.load(Ordering::Relaxed) as u64,
            syncs: self.syncs.load(Ordering::Relaxed),
            checksums: self.checksums.load(Ordering::Relaxed),
            desyncs: self.desyncs.load(Ordering::Relaxed),
            too_large: self.too_large.load(Ordering::Relaxed),
        }
    }

    /// A connection follows from now on: it is sent a snapshot as soon as there is one and its host lets
    /// it have it.
    pub fn add_follower(&self, connection: u64, household: AddressPrefix) {
        let mut inner = self.inner.lock();
        let (since, place, told, requested_not_after) = (u32::MAX, 0, 0, Some(u32::MAX));
        inner.followers.insert(
            connection,
            FollowerState { household, since, place, reports_from: told, requested_not_after },
        );
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// A connection no longer follows. What it has said is forgotten, unless a report of it is due.
    pub fn remove_follower(&self, connection: u64) {
        let mut inner = self.inner.lock();
        inner.followers.remove(&connection);
        inner.rounds.leave(connection);
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// A connection asks for a snapshot. Several requests are one until it is sent.
    pub fn request_snapshot(&self, connection: u64) {
        let mut inner = self.inner.lock();
        if let Some(follower) = inner.followers.get_mut(&connection) {
            follower.request_snapshot(u32::MAX);
        }
    }

    /// A participant's checksum of its world after `tick` ticks. Only the first one of each tick counts,
    /// and only of a checksum tick since it has a world, and from the oldest snapshot that is kept to one
    /// interval from now.
    pub fn checksum(&self, connection: u64, label: impl FnOnce() -> String, tick: u32, checksum: u64) {
        let inner = &mut *self.inner.lock();
        let every = self.rules.checksum_ticks;
        let oldest = inner.snapshots.front().map_or(u32::MAX, |(tick, ..)| *tick);
        let is_due = tick.is_multiple_of(every) && (oldest..=inner.tick + every).contains(&tick);
        // The rounds that are over, and that are still kept, have the room's checksum.
        let is_kept = tick >= inner.tick || inner.rounds.has(tick);
        let Some(follower) = inner.followers.get(&connection) else { return };
        if !is_due || !is_kept || tick < follower.since || inner.rounds.has_claim(tick, connection) {
            return;
        }
        let (household, since) = (follower.household, follower.since);
        let claim =
            ChecksumClaim { label: label(), household, world_since_tick: since, checksum, fields: None };
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

    /// What a participant whose world differed after `tick` ticks found different. The first ones count,
    /// and only until that tick is reported.
    pub fn add_desync_details(&self, connection: u64, tick: u32, fields: Vec<FieldDiff>) {
        self.inner.lock().rounds.details(connection, tick, fields);
    }

    /// A tick begins: what it is to make.
    pub(crate) fn begin(&self, tick: u32) -> TickRequest {
        let mut inner = self.inner.lock();
        inner.tick = tick;
        if inner.followers.is_empty() {
            if inner.is_on {
                let (tick_hz, made) = (inner.tick_hz, inner.last_snapshot_tick);
                *inner = JournalState { tick_hz, tick, last_snapshot_tick: made, ..JournalState::default() };
            }
            return TickRequest::default();
        }
        inner.is_on = true;
        let is_past = |made: u32, ticks: u32| tick >= made.saturating_add(ticks);
        let least = limits::LOCKSTEP_MIN_SNAPSHOT_INTERVAL.as_secs() as u32 * inner.tick_hz;
        let is_old = match inner.snapshots.back() {
            Some((newest, ..)) => is_past(*newest, self.rules.snapshot_ticks),
            // Whoever comes and goes has one made no more often than this.
            None => inner.last_snapshot_tick.is_none_or(|made| is_past(made, least)),
        };
        let snapshot = is_old || inner.bytes > limits::LOCKSTEP_JOURNAL_BYTES;
        TickRequest { frame: true, checksum: tick.is_multiple_of(self.rules.checksum_ticks), snapshot }
    }

    /// A tick has run: the world before it as bytes and its checksum, if they were due, and the tick's
    /// commands.
    pub(crate) fn end(&self, snapshot: Option<Arc<[u8]>>, checksum: Option<u64>, frame: Option<Arc<[u8]>>) {
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
            // Whoever follows begins again at the next snapshot.
            None => {
                inner.first += inner.entries.len() as u64 + 1;
                inner.entries.clear();
                inner.snapshots.clear();
            }
        }
        inner.tick += 1;
        inner.report(self.rules.checksum_ticks);
    }

    /// What a connection is sent now: parts that have so many bytes when they are encoded, or more. Whether it
    /// begins at a snapshot that it lacks is asked for with that snapshot. Its place stays what it is, or moves
    /// to the snapshot, until it is [`sent`](Self::sent) something.
    pub fn next(
        &self,
        connection: u64,
        bytes: usize,
        may_sync: impl FnOnce(&JournalEntry) -> bool,
    ) -> NextEntries {
        self.next_until(connection, u32::MAX, bytes, may_sync)
    }

    /// The same, as far as the journal was after `until` ticks. The room may be ahead of a worker, which has
    /// the answers to the commands of these ticks and not those of later ones: a client gets the answer to a
    /// command before the frame in which it runs.
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
        let is_lost = follower.place < inner.first && has_begun;
        let wanted = follower.requested_not_after.or(is_lost.then_some(u32::MAX));
        let snapshot = wanted.and_then(|not_after| inner.snapshot(not_after, until));
        let snapshot = snapshot.filter(|(_, part)| may_sync(part));
        let (end, tick) = (inner.end(), inner.tick);
        let Some(follower) = inner.followers.get_mut(&connection) else { return NextEntries::default() };
        let mut next = NextEntries { end, ..NextEntries::default() };
        if let Some((place, part)) = snapshot {
            follower.reports_from = if has_begun { follower.reports_from } else { end };
            (follower.place, follower.requested_not_after) = (place, None);
            follower.since = follower.since.min(tick);
            next.snapshot = Some(part);
        } else if is_lost || !has_begun {
            return NextEntries::default();
        }
        let told = follower.reports_from;
        let behind = inner.entries.range((follower.place - inner.first) as usize..);
        let is_new = |place: u64, part: &JournalEntry| {
            place >= told || !matches!(part.content, EntryContent::Report(_))
        };
        let mut left = bytes;
        for (place, (completed, part)) in (follower.place..).zip(behind) {
            if left == 0 || *completed > until {
                next.end = place;
                break;
            }
            left = left.saturating_sub(part.bytes().max(1));
            next.parts.extend(is_new(place, part).then(|| (place, Arc::clone(part))));
        }
        next
    }

    /// A connection was sent the snapshot of this, if there is one, and the parts before a place.
    pub fn on_sent(&self, connection: u64, next: &NextEntries, place: u64) {
        self.syncs.fetch_add(u64::from(next.snapshot.is_some()), Ordering::Relaxed);
        let mut inner = self.inner.lock();
        if let Some(follower) = inner.followers.get_mut(&connection) {
            follower.place = follower.place.max(place);
            follower.reports_from = follower.reports_from.max(place);
        }
    }

    /// A client is closed because the snapshot is larger than a message may be.
    pub fn count_too_large(&self) {
        self.too_large.fetch_add(1, Ordering::Relaxed);
    }
}

impl JournalState {
    /// The number of the part that comes next.
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Adds a part, complete after so many ticks.
    fn push(&mut self, completed: u32, content: EntryContent) {
        let part = JournalEntry::new(content);
        self.bytes += part.bytes();
        self.entries.push_back((completed, part));
    }

    /// Keeps a snapshot of the present tick, and forgets what is before the oldest one.
    fn add_snapshot(&mut self, bytes: Arc<[u8]>) {
        let place = self.end();
        self.last_snapshot_tick = Some(self.tick);
        self.snapshots.push_back((
            self.tick,
            place,
            JournalEntry::new(EntryContent::Snapshot(self.tick, bytes)),
        ));
        self.bytes = 0;
        if self.snapshots.len() > limits::LOCKSTEP_SNAPSHOTS {
            self.snapshots.pop_front();
        }
        let oldest = self.snapshots.front().map_or(place, |(_, place, _)| *place);
        self.entries.drain(..(oldest - self.first) as usize);
        self.first = oldest;
    }

    /// Of the snapshots that were made within `until` ticks: the newest that is not after a tick, or the newest
    /// of all.
    fn snapshot(&self, not_after: u32, until: u32) -> Option<(u64, Arc<JournalEntry>)> {
        let newest_first = || self.snapshots.iter().rev().filter(|(tick, ..)| *tick <= until);
        let found = newest_first().find(|(tick, ..)| *tick <= not_after).or_else(|| newest_first().next());
        found.map(|(_, place, part)| (*place, Arc::clone(part)))
    }

    /// Reports the differences of which everything is known, or that waited for one interval and for
    /// details, and forgets the rounds before the oldest snapshot.
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
