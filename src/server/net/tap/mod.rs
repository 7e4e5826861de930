//! The tap: passes the traffic between clients and server to listeners.
//!
//! ```text
//!  connection: opened ───┐                                  ┌─► listener ─ bounded queue ─► the recorder's thread
//!  receiver: messages ───┼─► is anyone listening? ─► shared ┼─► listener ─ bounded queue ─► a watcher's inspector
//!  sender: our bytes ────┤    one relaxed load              └─► …
//!  world: ticks ─────────┘
//! ```
//!
//! The tap sees the bytes as they are on the wire. It copies a client's bytes after the frame
//! reader, one message with all of its frames at a time. It copies the server's bytes when they are
//! queued, under the queue's lock, so that they have the order of the wire. A listener receives
//! [`TapEvent`] values through its [`Subscription`]. A listener that joins later first receives a
//! description of each connected client, and then only whole messages. The tap never waits for a
//! listener, copies nothing if nobody listens, and never passes on a secret that a request
//! contains.

mod event;
mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tickwire_sim::MembershipChange;

use crate::connection::receiver::ObservedBytes;
use crate::server::room::{TickRequest, WorldSnapshot};
use crate::util::sync::{Condvar, Mutex};
pub use crate::ws::Side;
use event::WORLD_ID;
pub use event::{EventKind, LostEvents, Run, SkippedTraffic, TapBatch, TapEvent};
use queue::SubscriberQueue;

/// Stand for the client that is listened to if there is none, or more than one.
const NO_CLIENT: u64 = 0;
const MANY_CLIENTS: u64 = u64::MAX;

/// The origin and time that accompany each event of a client.
#[derive(Debug, Clone, Copy)]
pub struct EventSource {
    /// The client's number.
    pub client: u64,
    /// Its body, 0 without one.
    pub player: u16,
    /// When, on the server's clock.
    pub at: Duration,
    /// Ticks that the world had completed.
    pub tick: u32,
}

impl EventSource {
    fn seen(self, room: &Arc<str>, run: u64, what: EventKind) -> TapEvent {
        let EventSource { client, player, at, tick } = self;
        TapEvent { client, player, room: Arc::clone(room), run, at, tick, what }
    }
}

/// See the [module](self). A clone is another handle to the same tap.
#[derive(Debug, Clone, Default)]
pub struct Tap {
    inner: Arc<TapState>,
}

/// Called when a listener waits for the worlds of all rooms.
pub type WorldRequestHook = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct TapState {
    on_world_requested: OnceLock<WorldRequestHook>,
    /// The client that is listened to, [`NOBODY`] or [`SEVERAL`].
    subscribed_client: AtomicU64,
    has_world_subscriber: AtomicBool,
    state: Mutex<Subscribers>,
}

#[derive(Debug, Default)]
struct Subscribers {
    queues: BTreeMap<u64, SubscriberQueue>,
    next_queue: u64,
    /// The clients that are there, as they were opened.
    clients: BTreeMap<u64, Arc<TapEvent>>,
    /// The runs that tick, with the name of their room.
    runs: BTreeMap<u64, Arc<str>>,
    is_over: bool,
}

impl fmt::Debug for TapState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Inner").field("state", &self.state).finish_non_exhaustive()
    }
}

impl TapState {
    /// Has the rooms that sleep show their worlds. Called without the lock.
    fn request_worlds(&self) {
        if let Some(wanted) = self.on_world_requested.get() {
            wanted();
        }
    }

    /// Updates what the threads that have something to show look at.
    fn set_flags(&self, state: &Subscribers) {
        let present = || state.queues.values().filter(|queue| !queue.is_over);
        let wanted = present().map(|queue| queue.only.unwrap_or(MANY_CLIENTS));
        let wanted = wanted.reduce(|one, other| if one == other { one } else { MANY_CLIENTS });
        self.subscribed_client.store(wanted.unwrap_or(NO_CLIENT), Ordering::Relaxed);
        self.has_world_subscriber.store(present().any(|queue| queue.wants_world), Ordering::Relaxed);
    }

    /// Passes an event of a client to the listeners that want it; it is made only if there is one.
    fn dispatch(
        queues: &mut BTreeMap<u64, SubscriberQueue>,
        client: u64,
        seen: impl Fn() -> Arc<TapEvent>,
        put: impl Fn(&mut SubscriberQueue, &Arc<TapEvent>),
    ) {
        let mut made = None;
        for queue in queues.values_mut().filter(|queue| queue.accepts(client)) {
            put(queue, made.get_or_insert_with(&seen));
            queue.filled.notify_one();
        }
    }
}

impl Tap {
    /// Whether there is a listener: one relaxed load.
    pub fn is_on(&self) -> bool {
        self.inner.subscribed_client.load(Ordering::Relaxed) != NO_CLIENT
    }

    /// Whether a listener may want this client: one relaxed load. Listening to a single client costs
    /// the other clients nothing more.
    pub fn has_subscriber(&self, client: u64) -> bool {
        [client, MANY_CLIENTS].contains(&self.inner.subscribed_client.load(Ordering::Relaxed))
    }

    /// Whether a listener also wants the world.
    pub fn wants_world(&self) -> bool {
        self.inner.has_world_subscriber.load(Ordering::Relaxed)
    }

    /// Starts listening to one client, or to all. At most `bound_bytes` are queued; events beyond
    /// the limit are lost, and counted.
    pub fn subscribe(&self, only: Option<u64>, bound_bytes: usize) -> Subscription {
        self.add(only, bound_bytes, false)
    }

    /// As [`Tap::listen`], and also to the world: its state before the next tick, and then each
    /// tick.
    pub fn subscribe_with_world(&self, only: Option<u64>, bound_bytes: usize) -> Subscription {
        let listener = self.add(only, bound_bytes, true);
        self.inner.request_worlds();
        listener
    }

    /// Sets what is called when a listener begins to wait for the worlds of all rooms: those that do
    /// not tick must then tick once.
    pub fn set_world_request_hook(&self, wanted: WorldRequestHook) {
        let _ = self.inner.on_world_requested.set(wanted);
    }

    fn add(&self, only: Option<u64>, bound_bytes: usize, wants_world: bool) -> Subscription {
        let mut state = self.inner.state.lock();
        let mut queue = SubscriberQueue::new(only, bound_bytes, wants_world, &state.runs);
        for seen in state.clients.values() {
            if queue.accepts(seen.client) {
                queue.put(seen);
            }
        }
        queue.is_over = state.is_over;
        state.next_queue += 1;
        let (number, filled) = (state.next_queue, Arc::clone(&queue.filled));
        state.queues.insert(number, queue);
        self.inner.set_flags(&state);
        Subscription { number, filled, tap: Arc::clone(&self.inner) }
    }

    /// For a listener that has lost the handshakes of these clients: introduces the clients that
    /// are still connected. Later bytes of a client may arrive before this call, but its handshake
    /// may not.
    pub fn reintroduce(&self, opened: &BTreeSet<u64>) -> Vec<Arc<TapEvent>> {
        let state = self.inner.state.lock();
        opened.iter().filter_map(|client| state.clients.get(client).map(Arc::clone)).collect()
    }

    /// Records that a client was upgraded, by [`EventKind::opened`]; from now on its bytes are seen.
    /// Whether it has a player is reported with its next event.
    pub fn record_open(&self, who: EventSource, run: &Run, what: EventKind) {
        let seen = Arc::new(who.seen(&run.room, run.number, what));
        let state = &mut *self.inner.state.lock();
        TapState::dispatch(&mut state.queues, who.client, || Arc::clone(&seen), SubscriberQueue::push_open);
        state.clients.insert(who.client, seen);
    }

    /// Records that a client's connection has ended, for this reason. Nothing more of it is seen.
    pub fn record_close(&self, who: EventSource, rule: &'static str) {
        let state = &mut *self.inner.state.lock();
        if let Some(opened) = state.clients.remove(&who.client) {
            let seen = || Arc::new(who.seen(&opened.room, opened.run, EventKind::Ended { rule }));
            TapState::dispatch(&mut state.queues, who.client, seen, SubscriberQueue::push_close);
        }
    }

    /// Records whole frames queued for a client. Called under the lock of its queue.
    pub fn said(&self, who: EventSource, frames: &[u8]) {
        let bytes = || EventKind::Bytes {
            from: Side::Server,
            bytes: frames.to_vec(),
            is_injected: false,
            slack: Duration::ZERO,
        };
        self.bytes(who, bytes, |queue, seen| _ = queue.put(seen));
    }

    /// Records bytes from a client; `saved` returns the state of its receiver before them.
    pub fn record_received(&self, who: EventSource, piece: ObservedBytes<'_>, saved: &dyn Fn() -> Vec<u8>) {
        let ObservedBytes { bytes, is_injected, slack, .. } = piece;
        let bytes = || EventKind::Bytes { from: Side::Client, bytes: bytes.to_vec(), is_injected, slack };
        self.bytes(who, bytes, |queue, seen| {
            queue.push_bytes(seen, piece.starts_message, || {
                who.seen(&seen.room, seen.run, EventKind::Session(saved()))
            });
        });
    }

    fn bytes(
        &self,
        who: EventSource,
        what: impl Fn() -> EventKind,
        put: impl Fn(&mut SubscriberQueue, &Arc<TapEvent>),
    ) {
        if !self.has_subscriber(who.client) {
            return;
        }
        let Subscribers { queues, clients, .. } = &mut *self.inner.state.lock();
        if let Some(opened) = clients.get(&who.client) {
            let seen = || Arc::new(who.seen(&opened.room, opened.run, what()));
            TapState::dispatch(queues, who.client, seen, put);
        }
    }

    /// Lists a run of a room, which ticks from now on. A listener of the world waits for its world; if the listener has had the
    /// world of an earlier run of the room, for the worlds of all rooms, since a file of a capture has one run of each room.
    /// Called without the lock of the rooms.
    pub fn add_room(&self, run: &Run) {
        {
            let Subscribers { queues, runs, .. } = &mut *self.inner.state.lock();
            runs.insert(run.number, Arc::clone(&run.room));
            queues.values_mut().for_each(|queue| queue.run_begins(run));
        }
        if self.wants_world() {
            self.inner.request_worlds();
        }
    }

    /// Removes a run, which does not tick any more.
    pub fn remove_room(&self, run: &Run) {
        let Subscribers { queues, runs, .. } = &mut *self.inner.state.lock();
        runs.remove(&run.number);
        for queue in queues.values_mut() {
            queue.run_ends(run.number);
            queue.filled.notify_one();
        }
    }

    /// Parts of the next tick of a run that listeners need. The world is needed only while a
    /// listener lacks it.
    pub fn world_request(&self, run: u64) -> TickRequest {
        let wants = self.wants_world();
        let awaits = |queue: &SubscriberQueue| queue.accepts(WORLD_ID) && queue.awaits_world_of(run);
        let snapshot = wants && self.inner.state.lock().queues.values().any(awaits);
        TickRequest { frame: wants, checksum: wants, snapshot }
    }

    /// Records a tick of a run: when it began, and the ticks completed before it. A listener that
    /// does not have the world yet waits for a tick with a `snapshot`.
    pub fn record_tick(
        &self,
        (run, at, tick): (&Run, Duration, u32),
        checksum: u64,
        (frame, changes): (Arc<[u8]>, Vec<MembershipChange>),
        snapshot: Option<Arc<WorldSnapshot>>,
    ) {
        let who = EventSource { client: WORLD_ID, player: 0, at, tick };
        let world =
            snapshot.map(|snapshot| Arc::new(who.seen(&run.room, run.number, EventKind::World { snapshot })));
        let tick = Arc::new(who.seen(&run.room, run.number, EventKind::Tick { checksum, frame, changes }));
        let queues = &mut self.inner.state.lock().queues;
        TapState::dispatch(
            queues,
            WORLD_ID,
            || Arc::clone(&tick),
            |queue, tick| queue.tick(tick, world.as_ref()),
        );
    }

    /// Records a tick that cannot be shown.
    pub fn record_lost_tick(&self, (run, at, tick): (&Run, Duration, u32)) {
        let what = EventKind::Tick { checksum: 0, frame: Arc::default(), changes: Vec::new() };
        let who = EventSource { client: WORLD_ID, player: 0, at, tick };
        let seen = Arc::new(who.seen(&run.room, run.number, what));
        let lose = |queue: &mut SubscriberQueue, seen: &Arc<TapEvent>| queue.drop_event(seen);
        TapState::dispatch(&mut self.inner.state.lock().queues, WORLD_ID, || Arc::clone(&seen), lose);
    }

    /// Ends the tap: each listener finds the end after its queued events.
    pub fn end(&self) {
        let mut state = self.inner.state.lock();
        state.is_over = true;
        for queue in state.queues.values_mut() {
            queue.end();
            queue.filled.notify_one();
        }
        self.inner.set_flags(&state);
    }
}

/// The reading end of a queue. The tap removes the queue when this is dropped.
#[derive(Debug)]
pub struct Subscription {
    number: u64,
    filled: Arc<Condvar>,
    tap: Arc<TapState>,
}

impl Subscription {
    /// Takes all queued events, after waiting at most this long for the first. A listener to the
    /// world gets no events before the world.
    pub fn take(&self, wait: Duration) -> TapBatch {
        let mut state = self.tap.state.lock();
        let is_empty = |state: &mut Subscribers| !state.queues[&self.number].is_ready();
        if is_empty(&mut state) {
            self.filled.wait_while_for(&mut state, is_empty, wait);
        }
        let queue = state.queues.get_mut(&self.number).filter(|queue| queue.is_ready());
        queue.map(SubscriberQueue::take).unwrap_or_default()
    }

    /// Requests the world of each room again: it arrives before the room's next tick, followed by the
    /// session of each of its clients before that client's next bytes.
    pub fn request_worlds(&self) {
        self.change(SubscriberQueue::renew);
        self.tap.request_worlds();
    }

    /// Stops listening: the next take finds the end.
    pub fn close(&self) {
        self.change(SubscriberQueue::end);
        self.filled.notify_one();
    }

    fn change(&self, change: impl FnOnce(&mut SubscriberQueue)) {
        let mut state = self.tap.state.lock();
        state.queues.get_mut(&self.number).map(change);
        self.tap.set_flags(&state);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.tap.state.lock();
        let queue = state.queues.remove(&self.number);
        self.tap.set_flags(&state);
        // What it holds is freed after the lock.
        drop((state, queue));
    }
}
