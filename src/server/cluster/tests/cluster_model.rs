//! A simulated cluster in virtual time: processes with clocks and pauses of their own, a lease
//! store that delays and loses requests and replies, and a journal on shared storage. One room.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::Rng;

use crate::limits;
use crate::server::cluster::model_store::{ModelStore, StoreFault};
use crate::server::cluster::{AcquireReply, Holder, LeaseGuard, Leases, RenewReply};

const ROOM: &str = "arena";
const TICK_MS: u64 = 50;

/// A scenario: the events of a cluster, the checks of its processes, and a planted fault.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// Acks need a valid lease.
    pub checks_lease: bool,
    /// Acks need the highest fence of the storage.
    pub checks_storage: bool,
    /// Processes are paused, and separated from the store.
    pub has_pauses: bool,
    /// The store stops, and starts with or without its records.
    pub loses_records: bool,
    /// Clocks run at half to double speed, otherwise at 98 to 102 %.
    pub has_bad_clocks: bool,
    /// The planted fault.
    pub fault: Option<Fault>,
}

/// A fault of a process or of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The store renews a lease after its end, although another process has had the room.
    RenewsAfterEnd,
    /// A lease is valid from the arrival of the reply on.
    CountsFromReply,
    /// The checks are made before the sync, not after it.
    ChecksBeforeSync,
    /// A process acquires at once through a new connection.
    AcquiresAtOnce,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The broken promise: an acknowledged command that an owner does not have.
    pub lost: Option<String>,
    /// Acknowledged commands.
    pub acknowledged: usize,
    /// Acks that were held because a check failed.
    pub held: usize,
    /// Recoveries of the room.
    pub recoveries: usize,
    /// Longest time, in ms, from the death of an owner to the next recovery, without another event.
    pub slowest_takeover_ms: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A process renews, or looks for the room.
    Act(usize, u32),
    Tick(usize, u32),
    /// The store executes a request, if it has not started again since: a request belongs to a
    /// connection. The last number counts the starts of the store.
    Execute(usize, u32, StoreRequest, u32),
    /// A reply arrives. `None` after the time of a request.
    Reply(usize, u32, StoreRequest, Option<u64>),
    /// The records are synced. The flag is the result of checks before the sync.
    Synced(usize, u32, u64, Vec<u64>, bool),
    Trouble,
}

/// The time is of the process's clock, before the request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StoreRequest {
    Acquire(Duration),
    Renew(Duration, u64),
}

struct Process {
    /// The number of starts. Events of an earlier start are ignored.
    start: u32,
    clock_percent: u64,
    paused_until: u64,
    separated_until: u64,
    leases: Leases,
    connection: Option<u64>,
    owned: Option<OwnedRoom>,
    next_record: Vec<u64>,
}

struct OwnedRoom {
    fence: u64,
    guard: Arc<LeaseGuard>,
}

/// A simulated cluster.
pub struct ClusterModel {
    rng: Rng,
    scenario: Scenario,
    now_ms: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    event_number: u64,
    store: ModelStore,
    store_down_until: u64,
    store_start: u32,
    connections: u64,
    processes: Vec<Process>,
    /// The records in the journal by the fence of their run, with the recovered ones.
    branches: BTreeMap<u64, Vec<u64>>,
    acknowledged: BTreeSet<u64>,
    commands: u64,
    /// Time of the death of the owner, until another event.
    died_at: Option<u64>,
    outcome: Outcome,
}

impl ClusterModel {
    /// Creates a cluster of three processes.
    pub fn new(seed: u32, scenario: Scenario) -> ClusterModel {
        let mut model = ClusterModel {
            rng: Rng::new(seed, 1),
            scenario,
            now_ms: 0,
            events: BinaryHeap::new(),
            event_number: 0,
            store: ModelStore::default(),
            store_down_until: 0,
            store_start: 0,
            connections: 0,
            processes: Vec::new(),
            branches: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            commands: 0,
            died_at: None,
            outcome: Outcome::default(),
        };
        model.store.fault =
            (scenario.fault == Some(Fault::RenewsAfterEnd)).then_some(StoreFault::RenewsAfterEnd);
        for at in 0..3 {
            let clock_percent = match scenario.has_bad_clocks {
                true => 50 + u64::from(model.rng.below(150)),
                false => 98 + u64::from(model.rng.below(5)),
            };
            model.processes.push(Process {
                start: 0,
                clock_percent,
                paused_until: 0,
                separated_until: 0,
                leases: Leases::default(),
                connection: None,
                owned: None,
                next_record: Vec::new(),
            });
            model.begin(at);
        }
        model.push(3_000, Event::Trouble);
        model
    }

    /// Runs the cluster for this time.
    pub fn run(mut self, ms: u64) -> Outcome {
        while let Some(Reverse((at_ms, _, event))) = self.events.pop() {
            if at_ms > ms || self.outcome.lost.is_some() {
                break;
            }
            self.now_ms = at_ms;
            // A paused process handles its events after the pause. The store executes meanwhile.
            let paused_until = match &event {
                Event::Act(at, _) | Event::Tick(at, _) | Event::Reply(at, ..) | Event::Synced(at, ..) => {
                    self.processes[*at].paused_until
                }
                Event::Execute(..) | Event::Trouble => 0,
            };
            if paused_until > at_ms {
                let event_number = self.next_number();
                self.events.push(Reverse((paused_until, event_number, event)));
            } else {
                self.handle(event);
            }
        }
        self.outcome.acknowledged = self.acknowledged.len();
        self.outcome
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Act(at, start) if self.is_current(at, start) => self.act(at),
            Event::Tick(at, start) if self.is_current(at, start) => self.tick(at),
            Event::Reply(at, start, request, reply) if self.is_current(at, start) => {
                self.on_reply(at, request, reply);
            }
            Event::Synced(at, start, fence, commands, was_valid) if self.is_current(at, start) => {
                self.on_synced(at, fence, &commands, was_valid);
            }
            Event::Execute(at, start, request, store_start) if store_start == self.store_start => {
                self.execute(at, start, request);
            }
            Event::Trouble => self.trouble(),
            _ => {}
        }
    }

    fn is_current(&self, at: usize, start: u32) -> bool {
        self.processes[at].start == start
    }

    fn next_number(&mut self) -> u64 {
        self.event_number += 1;
        self.event_number
    }

    fn push(&mut self, after_ms: u64, event: Event) {
        let number = self.next_number();
        self.events.push(Reverse((self.now_ms + after_ms, number, event)));
    }

    /// The clock of a process.
    fn clock(&self, at: usize) -> Duration {
        Duration::from_millis(self.now_ms * self.processes[at].clock_percent / 100 + at as u64 * 100_000)
    }

    fn holder(&self, at: usize) -> Holder {
        let process = format!("{at}.{}", self.processes[at].start);
        Holder { process, address: String::new(), relay_key: String::new(), public_url: String::new() }
    }

    fn begin(&mut self, at: usize) {
        let start = self.processes[at].start;
        let delay = u64::from(self.rng.below(100));
        self.push(delay, Event::Act(at, start));
        self.push(delay, Event::Tick(at, start));
    }

    fn can_reach_store(&self, at: usize) -> bool {
        self.now_ms >= self.store_down_until && self.now_ms >= self.processes[at].separated_until
    }

    /// Renews the lease of an owner; another process requests the lease.
    fn act(&mut self, at: usize) {
        let (now, start) = (self.clock(at), self.processes[at].start);
        let interval = limits::CLUSTER_RENEW_INTERVAL.as_millis() as u64;
        self.push(if self.processes[at].owned.is_some() { interval } else { 200 }, Event::Act(at, start));
        if !self.can_reach_store(at) {
            self.processes[at].connection = None;
            return;
        }
        if self.processes[at].connection.is_none() {
            self.connections += 1;
            self.processes[at].connection = Some(self.connections);
        }
        let connection = self.connections;
        let process = &mut self.processes[at];
        process.leases.on_connection(process.connection.unwrap_or(connection), now);
        let may_acquire = process.leases.acquire_wait(now) == Some(Duration::ZERO)
            || self.scenario.fault == Some(Fault::AcquiresAtOnce);
        let request = match &process.owned {
            Some(owned) => StoreRequest::Renew(now, owned.fence),
            None if may_acquire && process.leases.held().is_empty() => StoreRequest::Acquire(now),
            None => return,
        };
        if self.rng.below(50) > 0 {
            let delay = self.delay();
            let store_start = self.store_start;
            self.push(delay, Event::Execute(at, start, request, store_start));
        }
    }

    /// The time of a message: mostly short.
    fn delay(&mut self) -> u64 {
        u64::from(if self.rng.below(10) == 0 { self.rng.below(450) } else { self.rng.below(4) })
    }

    fn execute(&mut self, at: usize, start: u32, request: StoreRequest) {
        if self.now_ms < self.store_down_until {
            return;
        }
        let process = Holder { process: format!("{at}.{start}"), ..self.holder(at) };
        let now = Duration::from_millis(self.now_ms);
        let reply = match request {
            StoreRequest::Acquire(_) => match self.store.acquire(&process, ROOM, self.highest_fence(), now) {
                AcquireReply::Acquired { fence } => Some(fence),
                AcquireReply::Held { .. } => None,
            },
            StoreRequest::Renew(_, fence) => {
                let reply = self.store.renew(&process, ROOM, fence, now);
                (reply == RenewReply::Renewed).then_some(fence)
            }
        };
        if self.rng.below(50) > 0 {
            let delay = self.delay();
            self.push(delay, Event::Reply(at, start, request, reply));
        }
    }

    fn highest_fence(&self) -> u64 {
        self.branches.last_key_value().map_or(0, |(fence, _)| *fence)
    }

    fn on_reply(&mut self, at: usize, request: StoreRequest, reply: Option<u64>) {
        let now = self.clock(at);
        let counted_from = |sent: Duration| match self.scenario.fault {
            Some(Fault::CountsFromReply) => now,
            _ => sent,
        };
        match (request, reply) {
            (StoreRequest::Acquire(sent), Some(fence)) if !self.processes[at].leases.holds(ROOM) => {
                let guard = self.processes[at].leases.on_acquired(ROOM, fence, counted_from(sent));
                self.recover(at, fence, guard);
            }
            (StoreRequest::Renew(sent, fence), reply) => {
                let reply = if reply.is_some() { RenewReply::Renewed } else { RenewReply::Taken };
                let sent = counted_from(sent);
                self.processes[at].leases.on_renewed(ROOM, fence, reply, sent);
                if !self.processes[at].leases.lost().is_empty() {
                    self.end(at);
                }
            }
            _ => {}
        }
    }

    /// Creates the fence, and reads the records of the fence before it.
    fn recover(&mut self, at: usize, fence: u64, guard: Arc<LeaseGuard>) {
        if self.highest_fence() >= fence {
            return self.end(at);
        }
        let records = self.branches.last_key_value().map(|(_, records)| records.clone()).unwrap_or_default();
        self.branches.insert(fence, records);
        self.processes[at].owned = Some(OwnedRoom { fence, guard });
        self.processes[at].next_record.clear();
        self.outcome.recoveries += 1;
        if let Some(died_at) = self.died_at.take() {
            self.outcome.slowest_takeover_ms = self.outcome.slowest_takeover_ms.max(self.now_ms - died_at);
        }
        let acknowledged: Vec<u64> = self.acknowledged.iter().copied().collect();
        self.check_promise(&acknowledged, &format!("process {at} recovers with fence {fence}"));
    }

    fn end(&mut self, at: usize) {
        let process = &mut self.processes[at];
        process.owned = None;
        process.leases.remove(ROOM);
    }

    /// Executes a command, and begins a sync.
    fn tick(&mut self, at: usize) {
        let start = self.processes[at].start;
        self.push(TICK_MS, Event::Tick(at, start));
        let now = self.clock(at);
        let Some(OwnedRoom { fence, guard }) = &self.processes[at].owned else { return };
        let (fence, was_valid) = (*fence, self.may_acknowledge(*fence, guard, now));
        self.commands += 1;
        let slow = if self.rng.below(40) == 0 { 900 } else { 20 };
        let took = 1 + u64::from(self.rng.below(slow));
        self.push(took, Event::Synced(at, start, fence, vec![self.commands], was_valid));
    }

    fn may_acknowledge(&self, fence: u64, guard: &LeaseGuard, now: Duration) -> bool {
        let has_lease = !self.scenario.checks_lease || guard.is_valid(now);
        has_lease && (!self.scenario.checks_storage || self.highest_fence() == fence)
    }

    fn on_synced(&mut self, at: usize, fence: u64, commands: &[u64], was_valid: bool) {
        // Records that arrive late are appended to the files of their fence.
        self.branches.entry(fence).or_default().extend(commands);
        let now = self.clock(at);
        let Some(owned) = self.processes[at].owned.as_ref().filter(|owned| owned.fence == fence) else {
            return;
        };
        let is_valid = match self.scenario.fault {
            Some(Fault::ChecksBeforeSync) => was_valid,
            _ => self.may_acknowledge(fence, &owned.guard, now),
        };
        self.processes[at].next_record.extend(commands);
        if !is_valid {
            self.outcome.held += 1;
            return;
        }
        let acknowledged = std::mem::take(&mut self.processes[at].next_record);
        // The records of the newest owner begin with the records that it has recovered.
        if fence != self.highest_fence() {
            self.check_promise(&acknowledged, &format!("process {at} acknowledges with fence {fence}"));
        }
        self.acknowledged.extend(acknowledged);
    }

    /// Checks that the newest owner has these acknowledged commands.
    fn check_promise(&mut self, acknowledged: &[u64], event: &str) {
        let Some((fence, records)) = self.branches.last_key_value() else { return };
        let records: BTreeSet<u64> = records.iter().copied().collect();
        if let Some(missing) = acknowledged.iter().find(|command| !records.contains(command)) {
            let at_ms = self.now_ms;
            self.outcome.lost = Some(format!(
                "{at_ms} ms: {event}: command {missing} is not in the records of fence {fence}"
            ));
        }
    }

    /// Ends a process, and starts another one.
    fn kill(&mut self, at: usize) {
        let process = &mut self.processes[at];
        process.start += 1;
        (process.leases, process.connection) = (Leases::default(), None);
        let was_owner = process.owned.take().is_some();
        // A takeover is measured if another process may acquire leases.
        let may_acquire = |other: &usize| {
            let wait = self.processes[*other].leases.acquire_wait(self.clock(*other));
            self.processes[*other].connection.is_some() && wait == Some(Duration::ZERO)
        };
        let is_measured = was_owner && (0..3).filter(|other| *other != at).any(|other| may_acquire(&other));
        self.died_at = is_measured.then_some(self.now_ms);
        self.begin(at);
    }

    /// Causes the next event from outside.
    fn trouble(&mut self) {
        let next = 500 + u64::from(self.rng.below(6_000));
        self.push(next, Event::Trouble);
        let (at, long) = (self.rng.below(3) as usize, u64::from(self.rng.below(8_000)));
        self.died_at = None;
        match self.rng.below(5) {
            0 | 1 if self.scenario.has_pauses => self.processes[at].paused_until = self.now_ms + long,
            2 if self.scenario.has_pauses => {
                self.processes[at].separated_until = self.now_ms + long;
                self.processes[at].connection = None;
            }
            3 => {
                self.store_down_until = self.now_ms + long / 2;
                self.store_start += 1;
                self.processes.iter_mut().for_each(|process| process.connection = None);
                if self.scenario.loses_records {
                    self.store.wipe();
                }
            }
            _ => self.kill(at),
        }
    }
}
