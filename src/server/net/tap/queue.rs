//! The bounded queue of a listener of the tap, and how far the listener follows each client.
//!
//! ```text
//!  events of a run ─┬─ its world is in the present part ─► items, for the listener to take
//!                   ├─ its world is in a later part ─────► that part, until no run is in one before it
//!                   └─ it has shown no world yet ────────► held, until its world precedes them
//! ```
//!
//! Any thread adds events; the listener takes all of them at once as [`TapBatch`]. A listener of the world receives *parts*: in one
//! part, a room has at most one run, and the events of a run follow its world. A part ends for each run by itself, with the world
//! that begins the next one. A full queue accepts no more events until it is emptied, so all missing events are later than the
//! taken events and earlier than the next ones. After bytes of a client are missing, the listener resumes that client at the start
//! of a message; the number of skipped bytes is reported first, and no other client is affected. The queue never blocks, never
//! exceeds its limit, and never holds half a message after a gap.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;

use super::event::{EventKind, LostEvents, Run, SkippedTraffic, TapBatch, TapEvent, WORLD_ID};
use crate::limits;
use crate::util::sync::Condvar;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct SubscriberQueue {
    pub(super) only: Option<u64>,
    pub(super) wants_world: bool,
    bound_bytes: usize,
    pub(super) filled: Arc<Condvar>,
    /// No more events follow.
    pub(super) is_over: bool,
    items: Vec<Arc<TapEvent>>,
    /// The indices in the items at which a part begins.
    begins: Vec<usize>,
    /// The present part has no world yet.
    awaits_first_world: bool,
    /// Bytes of the items and of those that wait. Worlds do not count: they come only on request.
    bytes: usize,
    lost: LostEvents,
    /// The clients that are followed, with the number of their run: all of their bytes, or, if bytes are missing, those from the
    /// start of a message on. A client that is not listed is followed from there too.
    client_positions: HashMap<u64, (u64, Option<SkippedTraffic>)>,
    /// The number of the present part; the items end in it.
    present: u64,
    /// The parts after the present one.
    later: VecDeque<Vec<Arc<TapEvent>>>,
    /// The runs that tick, and those that have ended in a later part.
    runs: BTreeMap<u64, Followed>,
    /// The last part of each room that has events of it.
    last_parts: BTreeMap<Arc<str>, u64>,
}

/// A run of a room.
#[derive(Debug)]
struct Followed {
    room: Arc<str>,
    place: Place,
    has_ended: bool,
}

/// Destination of the events of a run.
#[derive(Debug)]
enum Place {
    /// The run has shown no world yet.
    Held(Vec<Arc<TapEvent>>),
    /// The part with the run's last world.
    Part(u64),
}

impl SubscriberQueue {
    /// A queue for a listener that joins while these runs tick.
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

    /// Whether events of this client are for this listener.
    pub(super) fn accepts(&self, client: u64) -> bool {
        let is_meant = || self.only.is_none_or(|only| only == client);
        !self.is_over && if client == WORLD_ID { self.wants_world } else { is_meant() }
    }

    /// Whether a take finds something.
    pub(super) fn is_ready(&self) -> bool {
        self.is_over || !self.items.is_empty() || self.lost.missed.messages > 0
    }

    pub(super) fn take(&mut self) -> TapBatch {
        let items = mem::take(&mut self.items);
        self.bytes = self.waiting().map(|seen| cost(seen)).sum();
        let (parts, lost) = (mem::take(&mut self.begins), mem::take(&mut self.lost));
        TapBatch { items, parts, lost, is_closed: self.is_over }
    }

    /// The events that the listener cannot take yet.
    fn waiting(&self) -> impl Iterator<Item = &Arc<TapEvent>> {
        let held = self.runs.values().filter_map(|run| match &run.place {
            Place::Held(held) => Some(held),
            Place::Part(_) => None,
        });
        held.chain(&self.later).flatten()
    }

    /// Adds a client that connects now: all of its events follow, unless this one is lost.
    pub(super) fn push_open(&mut self, seen: &Arc<TapEvent>) {
        if self.put(seen) {
            self.follow(seen, None);
        }
    }

    /// Adds the end of a client's connection.
    pub(super) fn push_close(&mut self, seen: &Arc<TapEvent>) {
        if let Some((_, Some(missed))) = self.client_positions.remove(&seen.client) {
            self.push_skipped(seen, missed);
        }
        self.put(seen);
    }

    /// Adds bytes of a client if the listener can use them: a listener that lacks the preceding
    /// bytes waits for the start of a message.
    pub(super) fn push_bytes(
        &mut self,
        seen: &Arc<TapEvent>,
        begins: bool,
        session: impl FnOnce() -> TapEvent,
    ) {
        let torn = match self.client_positions.get(&seen.client) {
            Some((_, None)) => false,
            None if !begins => return,
            None => true,
            // The queue has room for other clients, so this is no loss of the queue.
            Some((_, Some(missed))) if !begins => return self.follow(seen, Some(missed.plus(seen))),
            Some((_, Some(missed))) => {
                self.push_skipped(seen, *missed);
                true
            }
        };
        if torn && self.wants_world && self.lost.missed.messages == 0 {
            self.put(&Arc::new(session()));
        }
        // Nothing is taken after a loss, so the bytes are not taken either if the session was not.
        let is_taken = self.put(seen);
        if torn || !is_taken {
            self.follow(seen, (!is_taken).then(SkippedTraffic::default));
        }
    }

    /// Adds a tick of a run, after the run's `world` if it is awaited.
    pub(super) fn tick(&mut self, tick: &Arc<TapEvent>, world: Option<&Arc<TapEvent>>) {
        if self.awaits_world_of(tick.run) {
            match world {
                Some(world) => self.push_world(world),
                // A run begins with its first world; the ticks before are of no use.
                None if matches!(self.place(tick.run), Some(Place::Held(_))) => return,
                None => {}
            }
        }
        self.put(tick);
    }

    /// Requests the world of each run again, if worlds are wanted at all: a new part begins.
    pub(super) fn renew(&mut self) {
        let is_empty = self.later.back().map_or(self.awaits_first_world, Vec::is_empty);
        if self.wants_world && !is_empty {
            self.later.push_back(Vec::new());
            self.advance();
        }
    }

    /// Adds a run of a room. If the newest part has an earlier run of the room, a new part begins.
    pub(super) fn run_begins(&mut self, run: &Run) {
        if self.last_parts.get(&run.room).is_some_and(|part| *part == self.newest()) {
            self.renew();
        }
        self.add_run(run.number, &run.room);
    }

    fn add_run(&mut self, number: u64, room: &Arc<str>) {
        if self.wants_world {
            let place = Place::Held(Vec::new());
            self.runs.insert(number, Followed { room: Arc::clone(room), place, has_ended: false });
        }
    }

    /// Notes that a run does not tick any more. Without a world, its events are of no use.
    pub(super) fn run_ends(&mut self, number: u64) {
        let Some(run) = self.runs.get_mut(&number) else { return };
        run.has_ended = true;
        if !matches!(run.place, Place::Part(part) if part > self.present) {
            self.runs.remove(&number);
        }
        self.advance();
    }

    /// Whether the run's next tick is to come with its world. Nothing is taken after a loss.
    pub(super) fn awaits_world_of(&self, run: u64) -> bool {
        let is_awaited = match self.place(run) {
            Some(Place::Held(_)) => true,
            Some(Place::Part(part)) => *part < self.newest(),
            None => false,
        };
        is_awaited && self.lost.missed.messages == 0
    }

    fn place(&self, run: u64) -> Option<&Place> {
        self.runs.get(&run).map(|run| &run.place)
    }

    fn newest(&self) -> u64 {
        self.present + self.later.len() as u64
    }

    /// Moves a run to the newest part. If it comes from an earlier one, sessions follow again, and the rest of a message that a
    /// client has begun is skipped.
    fn push_world(&mut self, world: &Arc<TapEvent>) {
        let newest = self.newest();
        let Some(run) = self.runs.get_mut(&world.run) else { return };
        let before = mem::replace(&mut run.place, Place::Part(newest));
        self.last_parts.insert(Arc::clone(&run.room), newest);
        self.push(world);
        match before {
            Place::Held(held) => held.iter().for_each(|seen| self.push(seen)),
            Place::Part(_) => {
                for (_, torn) in self.client_positions.values_mut().filter(|(run, _)| *run == world.run) {
                    *torn = torn.or(Some(SkippedTraffic::default()));
                }
            }
        }
        self.advance();
    }

    /// Makes the next parts the present one, while no run that ticks is in a part before.
    fn advance(&mut self) {
        let is_in = |run: &Followed, part: u64| matches!(run.place, Place::Part(in_) if in_ <= part);
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
        next.iter().for_each(|seen| self.push_item(seen));
        let present = self.present;
        self.runs.retain(|_, run| !run.has_ended || matches!(run.place, Place::Part(part) if part > present));
        self.last_parts.retain(|_, part| *part >= present);
    }

    /// Makes all parts available. Events that are held are of no use without a world.
    pub(super) fn end(&mut self) {
        self.is_over = true;
        while !self.later.is_empty() {
            self.next_part();
        }
        self.runs.clear();
    }

    fn follow(&mut self, seen: &TapEvent, torn: Option<SkippedTraffic>) {
        self.client_positions.insert(seen.client, (seen.run, torn));
    }

    /// Adds the amount of a client's traffic that was skipped, before its next event.
    fn push_skipped(&mut self, before: &TapEvent, missed: SkippedTraffic) {
        if missed.messages > 0 {
            let what = EventKind::Skipped(missed);
            self.put(&Arc::new(TapEvent { what, room: Arc::clone(&before.room), ..*before }));
        }
    }

    /// Counts an event as lost. If other events wait for a world, their parts become available before the loss, events that are
    /// held are lost too, and the worlds of all runs are requested again.
    pub(super) fn drop_event(&mut self, seen: &TapEvent) {
        let is_waiting = self.waiting().next().is_some();
        self.lost.add(seen);
        if !is_waiting {
            return;
        }
        while !self.later.is_empty() {
            self.next_part();
        }
        for run in self.runs.values_mut() {
            match &mut run.place {
                Place::Held(held) => held.drain(..).for_each(|seen| self.lost.add(&seen)),
                // Later events of the run are in the part that reports the loss.
                Place::Part(part) => *part = self.present,
            }
        }
        self.later.push_back(Vec::new());
        self.advance();
    }

    /// Takes an event, or counts it as lost. Returns whether it was taken. Nothing is taken after a loss.
    pub(super) fn put(&mut self, seen: &Arc<TapEvent>) -> bool {
        let cost = cost(seen);
        let fits = self.lost.missed.messages == 0 && self.bytes + cost <= self.bound_bytes;
        if fits {
            self.bytes += cost;
            self.push(seen);
        } else {
            self.drop_event(seen);
        }
        fits
    }

    /// Adds an event where the events of its run go.
    fn push(&mut self, seen: &Arc<TapEvent>) {
        match self.runs.get_mut(&seen.run).map(|run| &mut run.place) {
            Some(Place::Held(held)) => held.push(Arc::clone(seen)),
            Some(Place::Part(part)) if *part > self.present => {
                let later = (*part - self.present - 1) as usize;
                self.later[later].push(Arc::clone(seen));
            }
            _ => self.push_item(seen),
        }
    }

    fn push_item(&mut self, seen: &Arc<TapEvent>) {
        if self.awaits_first_world && matches!(seen.what, EventKind::World { .. }) {
            self.awaits_first_world = false;
            self.begins.push(self.items.len());
        }
        self.items.push(Arc::clone(seen));
    }
}

/// The bytes of an event as the bound counts them.
fn cost(seen: &TapEvent) -> usize {
    match seen.what {
        EventKind::World { .. } => 0,
        _ => seen.what.bytes() + limits::TAP_ITEM_BYTES,
    }
}
