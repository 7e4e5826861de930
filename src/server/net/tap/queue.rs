//! The bounded queue of a subscription, and the gaps in each client's traffic.
//!
//! ```text
//!  events of a run ─┬─ its world is in the current part ─► items, ready to be taken
//!                   ├─ its world is in a later part ─────► that part, until all runs reach it
//!                   └─ no world yet ─────────────────────► held, until its world precedes them
//! ```
//!
//! Any thread adds events; the subscriber takes all of them at once as [`TapBatch`]. With the
//! world, events are divided into *parts*: within a part, a room has at most one run, and the
//! events of a run follow its world. Each run enters a later part individually, with its next
//! world.
//!
//! A full queue drops all further events until it is emptied. So all lost events are between the
//! events of one [`TapBatch`] and the events of the next one. After bytes of a client were lost,
//! its traffic resumes at the start of a message, preceded by the number of skipped bytes; other
//! clients are not affected. The queue never blocks, never exceeds its limit (worlds are not
//! counted), and never holds half a message after a gap.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use super::event::{EventKind, LostEvents, Run, SkippedTraffic, TapBatch, TapEvent, WORLD_ID};
use crate::limits;
use crate::util::sync::Condvar;

/// The queue of one subscription.
#[derive(Debug, Default)]
pub(super) struct SubscriberQueue {
    pub(super) only: Option<u64>,
    pub(super) wants_world: bool,
    bound_bytes: usize,
    pub(super) filled: Arc<Condvar>,
    /// Whether the subscription has ended.
    pub(super) is_over: bool,
    items: Vec<Arc<TapEvent>>,
    /// Indices in `items` at which a part begins; see the module documentation.
    begins: Vec<usize>,
    /// Whether the current part contains no world of any room yet.
    awaits_first_world: bool,
    /// Bytes of all queued events. Worlds do not count, because they are sent only on request.
    bytes: usize,
    lost: LostEvents,
    /// The run of each client, and the state of its traffic: `None` for continuous traffic,
    /// otherwise a gap up to the start of its next message. The traffic of a client without an
    /// entry also resumes at the start of a message.
    client_positions: HashMap<u64, (u64, Option<SkippedTraffic>)>,
    /// Number of the current part: the last part in `items`.
    present: u64,
    /// The parts after the current one.
    later: VecDeque<Vec<Arc<TapEvent>>>,
    /// Current runs, and ended runs with events in a later part.
    runs: BTreeMap<u64, Followed>,
    /// By room: the last part that contains a world of the room.
    last_parts: BTreeMap<Arc<str>, u64>,
}

/// A run of a room.
#[derive(Debug)]
struct Followed {
    room: Arc<str>,
    place: QueuePosition,
    has_ended: bool,
}

/// Destination of a run's events.
#[derive(Debug)]
enum QueuePosition {
    /// Held, because the run has no world yet.
    Held(Vec<Arc<TapEvent>>),
    /// The part with the run's latest world.
    Part(u64),
}

impl SubscriberQueue {
    /// Creates a queue for a subscription that begins during these runs.
    pub(super) fn new(
        only: Option<u64>,
        bound_bytes: usize,
        wants_world: bool,
        runs: &BTreeMap<u64, Arc<str>>,
    ) -> SubscriberQueue {
        let mut queue = SubscriberQueue {
            only,
            wants_world,
            bound_bytes,
            awaits_first_world: wants_world,
            ..SubscriberQueue::default()
        };
        runs.iter().for_each(|(number, room)| queue.add_run(*number, room));
        queue
    }

    /// Whether the subscription includes events of this client.
    pub(super) fn accepts(&self, client: u64) -> bool {
        let is_accepted = || self.only.is_none_or(|only| only == client);
        !self.is_over && if client == WORLD_ID { self.wants_world } else { is_accepted() }
    }

    /// Whether `take` would return an event, a loss or the end.
    pub(super) fn is_ready(&self) -> bool {
        self.is_over || !self.items.is_empty() || self.lost.missed.messages > 0
    }

    /// Bytes of the queued events. Worlds do not count.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&mut self) -> TapBatch {
        let items = mem::take(&mut self.items);
        self.bytes = self.waiting().map(|event| cost(event)).sum();
        let (parts, lost) = (mem::take(&mut self.begins), mem::take(&mut self.lost));
        TapBatch { items, parts, lost, is_closed: self.is_over }
    }

    /// Events that cannot be taken yet.
    fn waiting(&self) -> impl Iterator<Item = &Arc<TapEvent>> {
        let held = self.runs.values().filter_map(|run| match &run.place {
            QueuePosition::Held(held) => Some(held),
            QueuePosition::Part(_) => None,
        });
        held.chain(&self.later).flatten()
    }

    /// Adds a client that connects now. Its traffic is continuous unless this event is lost.
    pub(super) fn push_open(&mut self, event: &Arc<TapEvent>) {
        if self.enqueue(event) {
            self.follow(event, None);
        }
    }

    /// Adds the end of a client's connection.
    pub(super) fn push_close(&mut self, event: &Arc<TapEvent>) {
        if let Some((_, Some(missed))) = self.client_positions.remove(&event.client) {
            self.push_skipped(event, missed);
        }
        self.enqueue(event);
    }

    /// Adds bytes of a client. After a gap, drops them up to the start of a message.
    pub(super) fn push_bytes(
        &mut self,
        event: &Arc<TapEvent>,
        begins: bool,
        session: impl FnOnce() -> TapEvent,
    ) {
        let torn = match self.client_positions.get(&event.client) {
            Some((_, None)) => false,
            None if !begins => return,
            None => true,
            // Not a loss, because the queue still has space. Only this client's traffic has a gap.
            Some((_, Some(missed))) if !begins => return self.follow(event, Some(missed.plus(event))),
            Some((_, Some(missed))) => {
                self.push_skipped(event, *missed);
                true
            }
        };
        if torn && self.wants_world && self.lost.missed.messages == 0 {
            self.enqueue(&Arc::new(session()));
        }
        // After a loss nothing is queued, so if the session was lost, the bytes are too.
        let is_taken = self.enqueue(event);
        if torn || !is_taken {
            self.follow(event, (!is_taken).then(SkippedTraffic::default));
        }
    }

    /// Adds a tick of a run, preceded by `world` if the run needs one.
    pub(super) fn push_tick(&mut self, tick: &Arc<TapEvent>, world: Option<&Arc<TapEvent>>) {
        if self.awaits_world_of(tick.run) {
            match world {
                Some(world) => self.push_world(world),
                // A run starts with its first world; earlier ticks are useless.
                None if matches!(self.place(tick.run), Some(QueuePosition::Held(_))) => return,
                None => {}
            }
        }
        self.enqueue(tick);
    }

    /// Requests the world of each run again, in a new part, if the subscription includes the world.
    pub(super) fn renew(&mut self) {
        let is_empty = self.later.back().map_or(self.awaits_first_world, Vec::is_empty);
        if self.wants_world && !is_empty {
            self.later.push_back(Vec::new());
            self.advance();
        }
    }

    /// Adds a run of a room. Starts a new part if the newest part has an earlier run of the room.
    pub(super) fn run_begins(&mut self, run: &Run) {
        if self.last_parts.get(&run.room).is_some_and(|part| *part == self.newest()) {
            self.renew();
        }
        self.add_run(run.number, &run.room);
    }

    fn add_run(&mut self, number: u64, room: &Arc<str>) {
        if self.wants_world {
            let place = QueuePosition::Held(Vec::new());
            self.runs.insert(number, Followed { room: Arc::clone(room), place, has_ended: false });
        }
    }

    /// Records the end of a run. Events held for its world are dropped.
    pub(super) fn run_ends(&mut self, number: u64) {
        let Some(run) = self.runs.get_mut(&number) else { return };
        run.has_ended = true;
        if !matches!(run.place, QueuePosition::Part(part) if part > self.present) {
            self.runs.remove(&number);
        }
        self.advance();
    }

    /// Whether the run's next tick needs a world. False after a loss, because nothing is queued
    /// then.
    pub(super) fn awaits_world_of(&self, run: u64) -> bool {
        let is_awaited = match self.place(run) {
            Some(QueuePosition::Held(_)) => true,
            Some(QueuePosition::Part(part)) => *part < self.newest(),
            None => false,
        };
        is_awaited && self.lost.missed.messages == 0
    }

    fn place(&self, run: u64) -> Option<&QueuePosition> {
        self.runs.get(&run).map(|run| &run.place)
    }

    fn newest(&self) -> u64 {
        self.present + self.later.len() as u64
    }

    /// Moves a run to the newest part. If it had a world before, sessions are sent again, and the
    /// rest of each unfinished message is skipped.
    fn push_world(&mut self, world: &Arc<TapEvent>) {
        let newest = self.newest();
        let Some(run) = self.runs.get_mut(&world.run) else { return };
        let before = mem::replace(&mut run.place, QueuePosition::Part(newest));
        self.last_parts.insert(Arc::clone(&run.room), newest);
        self.push(world);
        match before {
            QueuePosition::Held(held) => held.iter().for_each(|event| self.push(event)),
            QueuePosition::Part(_) => {
                for (_, torn) in self.client_positions.values_mut().filter(|(run, _)| *run == world.run) {
                    *torn = torn.or(Some(SkippedTraffic::default()));
                }
            }
        }
        self.advance();
    }

    /// Advances to the next part while no current run has its latest world in the current part or
    /// an earlier part.
    fn advance(&mut self) {
        let is_in = |run: &Followed, part: u64| matches!(run.place, QueuePosition::Part(in_) if in_ <= part);
        while !self.later.is_empty()
            && !self.runs.values().any(|run| !run.has_ended && is_in(run, self.present))
        {
            self.next_part();
        }
    }

    fn next_part(&mut self) {
        let Some(next) = self.later.pop_front() else { return };
        self.present += 1;
        self.awaits_first_world = true;
        next.iter().for_each(|event| self.push_item(event));
        let present = self.present;
        self.runs.retain(|_, run| {
            !run.has_ended || matches!(run.place, QueuePosition::Part(part) if part > present)
        });
        self.last_parts.retain(|_, part| *part >= present);
    }

    /// Makes all parts available. Drops events that are held without a world.
    pub(super) fn end(&mut self) {
        self.is_over = true;
        while !self.later.is_empty() {
            self.next_part();
        }
        self.runs.clear();
    }

    fn follow(&mut self, event: &TapEvent, torn: Option<SkippedTraffic>) {
        self.client_positions.insert(event.client, (event.run, torn));
    }

    /// Adds the skipped traffic of a client before its next event.
    fn push_skipped(&mut self, before: &TapEvent, missed: SkippedTraffic) {
        if missed.messages > 0 {
            let what = EventKind::Skipped(missed);
            self.enqueue(&Arc::new(TapEvent { kind: what, room: Arc::clone(&before.room), ..*before }));
        }
    }

    /// Counts an event as lost. If events wait for a world, makes all parts available before the
    /// loss, counts held events as lost as well, and requests the worlds of all runs again.
    pub(super) fn drop_event(&mut self, event: &TapEvent) {
        let is_waiting = self.waiting().next().is_some();
        self.lost.add(event);
        if !is_waiting {
            return;
        }
        while !self.later.is_empty() {
            self.next_part();
        }
        for run in self.runs.values_mut() {
            match &mut run.place {
                QueuePosition::Held(held) => held.drain(..).for_each(|event| self.lost.add(&event)),
                // The run's later events belong to the part that reports the loss.
                QueuePosition::Part(part) => *part = self.present,
            }
        }
        self.later.push_back(Vec::new());
        self.advance();
    }

    /// Enqueues the event, or counts it as lost if the queue is full or lost one before. Returns
    /// whether it was enqueued.
    pub(super) fn enqueue(&mut self, event: &Arc<TapEvent>) -> bool {
        let cost = cost(event);
        let fits = self.lost.missed.messages == 0 && self.bytes + cost <= self.bound_bytes;
        if fits {
            self.bytes += cost;
            self.push(event);
        } else {
            self.drop_event(event);
        }
        fits
    }

    /// Adds an event to the destination of its run.
    fn push(&mut self, event: &Arc<TapEvent>) {
        match self.runs.get_mut(&event.run).map(|run| &mut run.place) {
            Some(QueuePosition::Held(held)) => held.push(Arc::clone(event)),
            Some(QueuePosition::Part(part)) if *part > self.present => {
                let later = (*part - self.present - 1) as usize;
                self.later[later].push(Arc::clone(event));
            }
            _ => self.push_item(event),
        }
    }

    fn push_item(&mut self, event: &Arc<TapEvent>) {
        if self.awaits_first_world && matches!(event.kind, EventKind::World { .. }) {
            self.awaits_first_world = false;
            self.begins.push(self.items.len());
        }
        self.items.push(Arc::clone(event));
    }
}

/// Size of an event in bytes, for the queue limit.
fn cost(event: &TapEvent) -> usize {
    match event.kind {
        EventKind::World { .. } => 0,
        _ => event.kind.bytes() + limits::TAP_ITEM_BYTES,
    }
}
