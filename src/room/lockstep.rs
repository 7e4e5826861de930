//! What clients in lockstep need of a room: a snapshot, everything since, and whether their worlds
//! agree with it.
//!
//! ```text
//!   snapshot ─► frame frame frame report frame …        the log: a client has a place in it
//!      tick 600     600   601   602          603
//! ```
//!
//! Nothing is kept while nobody follows. A client begins at a snapshot and then gets every [`Part`]
//! behind it, once and in order; each part is encoded once for all clients that speak alike. At each
//! checksum tick a client sends the checksum of its world. One that differs from the room's begins
//! again at a snapshot, says which fields differ, and all are sent a [`Report`].

mod part;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub use part::{Content, Field, Form, Part, Report};

use crate::household::Household;
use crate::limits;
use crate::sync::Mutex;

/// Which clients may follow a room in lockstep: it shows them the whole world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
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
pub struct Rules {
    /// Which clients may follow.
    pub access: Access,
    /// Ticks between two snapshots.
    pub snapshot_ticks: u32,
    /// Ticks between two checksums.
    pub checksum_ticks: u32,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            access: Access::default(),
            snapshot_ticks: limits::LOCKSTEP_SNAPSHOT_TICKS,
            checksum_ticks: limits::LOCKSTEP_CHECKSUM_TICKS,
        }
    }
}

/// What a client is sent next.
#[derive(Debug, Default)]
pub struct Next {
    /// The snapshot with which it begins, or begins again.
    pub snapshot: Option<Arc<Part>>,
    /// The parts behind its place.
    pub parts: Vec<Arc<Part>>,
}

/// Counts since the room began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Clients that follow in lockstep now.
    pub followers: u64,
    /// Snapshots that clients were sent.
    pub syncs: u64,
    /// Checksums of clients that were compared.
    pub checksums: u64,
    /// Of these, those that differed.
    pub desyncs: u64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Journal {
    rules: Rules,
    followers: AtomicUsize,
    syncs: AtomicU64,
    checksums: AtomicU64,
    desyncs: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    followers: BTreeMap<u64, Follower>,
    budgets: BTreeMap<Household, Budget>,
    /// Ticks per second.
    tick_hz: u32,
    /// Ticks completed.
    tick: u32,
    /// Whether the present tick is kept.
    is_on: bool,
    /// The log; its first part has the number `first`.
    log: VecDeque<Arc<Part>>,
    first: u64,
    /// Of the parts behind the newest snapshot.
    bytes: usize,
    /// With the tick before which it was taken, and the number of the part behind it.
    snapshots: VecDeque<(u32, u64, Arc<Part>)>,
    rounds: BTreeMap<u32, Round>,
}

#[derive(Debug)]
struct Follower {
    household: Household,
    /// Since when it sends checksums.
    since: u32,
    /// The number of its next part.
    place: u64,
    /// It begins again at a snapshot not after this tick.
    wants_snapshot: Option<u32>,
}

/// A token bucket, in ticks.
#[derive(Debug, Clone, Copy)]
struct Budget {
    left: u32,
    at: u32,
}

/// The checksums of one tick.
#[derive(Debug, Default)]
struct Round {
    room: Option<u64>,
    said: BTreeMap<u64, Said>,
    /// Since when a world is known to differ.
    differs_since: Option<u32>,
    is_reported: bool,
}

#[derive(Debug)]
struct Said {
    label: String,
    checksum: u64,
    /// What differs; it is asked for if it begins again at a snapshot.
    fields: Option<Vec<Field>>,
}

/// What a tick is to make for those who follow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    /// The command frame.
    pub frame: bool,
    /// The checksum.
    pub checksum: bool,
    /// The snapshot.
    pub snapshot: bool,
}

impl Journal {
    /// The journal of a room whose world has this tick rate.
    pub fn new(rules: Rules, tick_hz: u32) -> Journal {
        Journal {
            rules,
            followers: AtomicUsize::new(0),
            syncs: AtomicU64::new(0),
            checksums: AtomicU64::new(0),
            desyncs: AtomicU64::new(0),
            inner: Mutex::new(Inner { tick_hz, ..Inner::default() }),
        }
    }

    /// The settings.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Counts, for the metrics.
    pub fn counts(&self) -> Counts {
        Counts {
            followers: self.followers.load(Ordering::Relaxed) as u64,
            syncs: self.syncs.load(Ordering::Relaxed),
            checksums: self.checksums.load(Ordering::Relaxed),
            desyncs: self.desyncs.load(Ordering::Relaxed),
        }
    }

    /// A connection follows from now on: it is sent a snapshot as soon as there is one and its address
    /// may have it.
    pub fn follow(&self, connection: u64, household: Household) {
        let mut inner = self.inner.lock();
        let follower = Follower { household, since: u32::MAX, place: 0, wants_snapshot: Some(u32::MAX) };
        inner.followers.insert(connection, follower);
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// A connection no longer follows.
    pub fn leave(&self, connection: u64) {
        let mut inner = self.inner.lock();
        inner.followers.remove(&connection);
        self.followers.store(inner.followers.len(), Ordering::Relaxed);
    }

    /// A connection asks for a snapshot. Several requests are one until it is sent.
    pub fn ask(&self, connection: u64) {
        let mut inner = self.inner.lock();
        if let Some(follower) = inner.followers.get_mut(&connection) {
            follower.wants_snapshot.get_or_insert(u32::MAX);
        }
    }

    /// A participant's checksum of its world after `tick` ticks. Only the first one of each tick counts,
    /// and only of a checksum tick from the oldest snapshot that is kept to one interval from now.
    pub fn checksum(&self, connection: u64, label: impl FnOnce() -> String, tick: u32, checksum: u64) {
        let inner = &mut *self.inner.lock();
        let every = self.rules.checksum_ticks;
        let oldest = inner.snapshots.front().map_or(u32::MAX, |(tick, ..)| *tick);
        let is_due = tick.is_multiple_of(every) && (oldest..=inner.tick + every).contains(&tick);
        // The rounds that are over, and that are still kept, have the room's checksum.
        let is_kept = tick >= inner.tick || inner.rounds.contains_key(&tick);
        if !is_due || !is_kept || !inner.followers.contains_key(&connection) {
            return;
        }
        let round = inner.rounds.entry(tick).or_default();
        if round.said.contains_key(&connection) {
            return;
        }
        round.said.insert(connection, Said { label: label(), checksum, fields: None });
        if let Some(room) = round.room {
            self.compare(inner, connection, tick, room == checksum);
        }
    }

    fn compare(&self, inner: &mut Inner, connection: u64, tick: u32, is_same: bool) {
        self.checksums.fetch_add(1, Ordering::Relaxed);
        if !is_same {
            self.desyncs.fetch_add(1, Ordering::Relaxed);
            if let Some(round) = inner.rounds.get_mut(&tick) {
                round.differs_since.get_or_insert(inner.tick);
            }
            if let Some(follower) = inner.followers.get_mut(&connection) {
                follower.wants_snapshot.get_or_insert(tick);
            }
        }
    }

    /// What a participant whose world differed after `tick` ticks found different. The first ones count.
    pub fn details(&self, connection: u64, tick: u32, mut fields: Vec<Field>) {
        let mut inner = self.inner.lock();
        let said = inner.rounds.get_mut(&tick).and_then(|round| round.said.get_mut(&connection));
        if let Some(said) = said.filter(|said| said.fields.is_none()) {
            fields.truncate(limits::LOCKSTEP_FIELDS);
            said.fields = Some(fields);
        }
    }

    /// A tick begins: what it is to make.
    pub(crate) fn begin(&self, tick: u32) -> Due {
        let mut inner = self.inner.lock();
        inner.tick = tick;
        if inner.followers.is_empty() {
            if inner.is_on {
                let (tick_hz, budgets) = (inner.tick_hz, std::mem::take(&mut inner.budgets));
                *inner = Inner { tick_hz, tick, budgets, ..Inner::default() };
            }
            return Due::default();
        }
        inner.is_on = true;
        let newest = inner.snapshots.back().map(|(tick, ..)| *tick);
        let is_old = newest.is_none_or(|newest| tick >= newest.saturating_add(self.rules.snapshot_ticks));
        let snapshot = is_old || inner.bytes > limits::LOCKSTEP_LOG_BYTES;
        Due { frame: true, checksum: tick.is_multiple_of(self.rules.checksum_ticks), snapshot }
    }

    /// A tick has run: the world before it as bytes and its checksum, if they were due, and the tick's
    /// commands.
    pub(crate) fn end(&self, snapshot: Option<Arc<[u8]>>, checksum: Option<u64>, frame: Option<Arc<[u8]>>) {
        let inner = &mut *self.inner.lock();
        if !inner.is_on {
            return;
        }
        if let Some(bytes) = snapshot {
            inner.keep(bytes);
        }
        if let Some(checksum) = checksum {
            let tick = inner.tick;
            let round = inner.rounds.entry(tick).or_default();
            round.room = Some(checksum);
            let said: Vec<_> = round.said.iter().map(|(one, said)| (*one, said.checksum)).collect();
            said.iter().for_each(|(one, own)| self.compare(inner, *one, tick, *own == checksum));
        }
        match frame {
            Some(frame) => inner.push(Content::Frame(frame)),
            // Whoever follows begins again at the next snapshot.
            None => {
                inner.first += inner.log.len() as u64 + 1;
                inner.log.clear();
                inner.snapshots.clear();
            }
        }
        inner.tick += 1;
        inner.report(self.rules.checksum_ticks);
    }

    /// What a connection is sent now, about so many bytes besides a snapshot; its place moves behind
    /// it.
    pub fn next(&self, connection: u64, bytes: usize) -> Next {
        let inner = &mut *self.inner.lock();
        let Some(follower) = inner.followers.get(&connection) else { return Next::default() };
        let is_lost = follower.place < inner.first && follower.since != u32::MAX;
        let wanted = follower.wants_snapshot.or(is_lost.then_some(u32::MAX));
        let household = follower.household;
        let snapshot = wanted.and_then(|not_after| inner.snapshot(not_after));
        let snapshot = snapshot.filter(|_| inner.may_sync(household));
        let (end, tick) = (inner.first + inner.log.len() as u64, inner.tick);
        let Some(follower) = inner.followers.get_mut(&connection) else { return Next::default() };
        let mut next = Next::default();
        // Reports that it has been told, or that were of others before it came, are not told again.
        let mut told = follower.place;
        if let Some((place, part)) = snapshot {
            self.syncs.fetch_add(1, Ordering::Relaxed);
            told = if follower.since == u32::MAX { end } else { told };
            (follower.place, follower.wants_snapshot) = (place, None);
            follower.since = follower.since.min(tick);
            next.snapshot = Some(part);
        } else if is_lost || follower.since == u32::MAX {
            return next;
        }
        let behind = (follower.place..end).zip(inner.log.range((follower.place - inner.first) as usize..));
        let is_new = |place: u64, part: &Part| place >= told || !matches!(part.content, Content::Report(_));
        let mut left = bytes;
        for (place, part) in behind.take_while(|(_, part)| {
            let is_room = left > 0;
            left = left.saturating_sub(part.bytes());
            is_room
        }) {
            follower.place = place + 1;
            next.parts.extend(is_new(place, part).then(|| Arc::clone(part)));
        }
        next
    }
}

impl Inner {
    fn push(&mut self, content: Content) {
        let part = Part::new(content);
        self.bytes += part.bytes();
        self.log.push_back(part);
    }

    /// Keeps a snapshot of the present tick, and forgets what is before the oldest one.
    fn keep(&mut self, bytes: Arc<[u8]>) {
        let place = self.first + self.log.len() as u64;
        self.snapshots.push_back((self.tick, place, Part::new(Content::Snapshot(self.tick, bytes))));
        self.bytes = 0;
        if self.snapshots.len() > limits::LOCKSTEP_SNAPSHOTS {
            self.snapshots.pop_front();
        }
        let oldest = self.snapshots.front().map_or(place, |(_, place, _)| *place);
        self.log.drain(..(oldest - self.first) as usize);
        self.first = oldest;
    }

    /// The newest snapshot that is not after a tick, or the newest of all.
    fn snapshot(&self, not_after: u32) -> Option<(u64, Arc<Part>)> {
        let mut newest_first = self.snapshots.iter().rev();
        let found = newest_first.find(|(tick, ..)| *tick <= not_after).or(self.snapshots.back());
        found.map(|(_, place, part)| (*place, Arc::clone(part)))
    }

    /// Takes a snapshot of the budget of an address.
    fn may_sync(&mut self, household: Household) -> bool {
        let every = (limits::LOCKSTEP_SYNC_EVERY.as_secs() as u32 * self.tick_hz).max(1);
        let (now, burst) = (self.tick, limits::LOCKSTEP_SYNC_BURST);
        let filled = |budget: &Budget| {
            let more = now.saturating_sub(budget.at) / every;
            Budget { left: budget.left.saturating_add(more).min(burst), at: budget.at + more * every }
        };
        if self.budgets.len() >= limits::LOCKSTEP_SYNC_ADDRESSES && !self.budgets.contains_key(&household) {
            self.budgets.retain(|_, budget| filled(budget).left < burst);
            if self.budgets.len() >= limits::LOCKSTEP_SYNC_ADDRESSES {
                return false;
            }
        }
        let budget = self.budgets.entry(household).or_insert(Budget { left: burst, at: now });
        *budget = filled(budget);
        let may = budget.left > 0;
        budget.left = budget.left.saturating_sub(1);
        may
    }

    /// Reports the differences of which everything is known, or that waited for one interval and for
    /// details, and forgets the rounds before the oldest snapshot.
    fn report(&mut self, every: u32) {
        let Inner { rounds, followers, snapshots, tick, tick_hz, .. } = self;
        let details_ticks = limits::LOCKSTEP_DETAILS_TIME.as_secs() as u32 * *tick_hz;
        let mut reports = Vec::new();
        for (at, round) in rounds.iter_mut() {
            let Some(room) = round.room.filter(|_| !round.is_reported) else { continue };
            let is_known = |connection: &u64, follower: &Follower| match round.said.get(connection) {
                None => follower.since > *at,
                Some(said) => said.checksum == room || said.fields.is_some(),
            };
            let is_whole = || followers.iter().all(|(connection, follower)| is_known(connection, follower));
            let Some(since) = round.differs_since else { continue };
            let latest = at.saturating_add(every).max(since.saturating_add(details_ticks));
            if *tick >= latest || is_whole() {
                round.is_reported = true;
                reports.push(round.reported(*at, room));
            }
        }
        let oldest = snapshots.front().map_or(u32::MAX, |(tick, ..)| *tick);
        let is_due = |round: &Round| round.differs_since.is_some() && !round.is_reported;
        rounds.retain(|at, round| *at >= oldest || is_due(round));
        while rounds.len() > limits::LOCKSTEP_ROUNDS {
            rounds.pop_first();
        }
        reports.into_iter().for_each(|report| self.push(Content::Report(report)));
    }
}

impl Round {
    /// What there is to report, if the room has this checksum.
    fn reported(&self, tick: u32, room: u64) -> Report {
        let mut groups = vec![(room, vec!["server".to_owned()])];
        let (mut more, mut fields) = (0, Vec::new());
        for said in self.said.values() {
            let known = groups.iter().position(|(checksum, _)| *checksum == said.checksum);
            match known {
                Some(at) if groups[at].1.len() < limits::LOCKSTEP_PARTICIPANTS => {
                    groups[at].1.push(said.label.clone());
                }
                None if groups.len() < limits::LOCKSTEP_GROUPS => {
                    groups.push((said.checksum, vec![said.label.clone()]));
                }
                _ => more += 1,
            }
            let own = said.fields.iter().flatten().map(|field| (said.label.clone(), field.clone()));
            fields.extend(own.take(limits::LOCKSTEP_FIELDS - fields.len()));
        }
        Report { tick, groups, more, fields }
    }
}
