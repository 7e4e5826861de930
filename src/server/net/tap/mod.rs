//! The tap: copies the traffic between clients and server to subscriptions.
//!
//! ```text
//!  connection: opened ───┐                               ┌─► bounded queue ─► recorder's thread
//!  driver: messages ─────┼─► any subscription? ─► copy ──┼─► bounded queue ─► an inspector
//!  sender: our bytes ────┤   one relaxed load            └─► …
//!  world: ticks ─────────┘
//! ```
//!
//! The tap copies bytes as they are sent and received. A client's bytes are copied after the frame
//! reader, one message with all of its frames at a time. The server's bytes are copied when they
//! are queued, under the queue's lock, and so in the order in which they are sent. A subscriber
//! takes [`TapEvent`] values from its [`Subscription`]. A later subscription first gets the
//! handshake of each connected client, and then only whole messages. The tap never waits for a
//! subscriber, copies nothing without a subscription, and never passes on a secret from a request.

mod event;
mod queue;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tickwire_sim::MembershipChange;

use crate::connection::ObservedBytes;
use crate::datagram::DatagramError;
use crate::server::room::{TickRequest, WorldSnapshot};
use crate::util::sync::{Condvar, Mutex};
pub use crate::ws::Side;
use event::WORLD_ID;
pub use event::{EventKind, LostEvents, Run, SkippedTraffic, TapBatch, TapEvent};
use queue::SubscriberQueue;

/// Value of [`TapState::subscribed_client`] for no client.
const NO_CLIENT: u64 = 0;
/// Value of [`TapState::subscribed_client`] for several clients.
const MANY_CLIENTS: u64 = u64::MAX;

/// Source and time of a client's event.
#[derive(Debug, Clone, Copy)]
pub struct EventSource {
    /// Id of the client.
    pub client: u64,
    /// Player number of the client; 0 without a player.
    pub player: u16,
    /// Time on the server's clock.
    pub at: Duration,
    /// Ticks completed by the world.
    pub tick: u32,
}

impl EventSource {
    fn event(self, room: &Arc<str>, run: u64, what: EventKind) -> TapEvent {
        let EventSource { client, player, at, tick } = self;
        TapEvent { client, player, room: Arc::clone(room), run, at, tick, kind: what }
    }
}

/// Copies traffic to subscriptions. A clone is another handle to the same tap.
#[derive(Debug, Clone, Default)]
pub struct Tap {
    inner: Arc<TapState>,
}

/// Called when a subscription needs the worlds of all rooms.
pub type WorldRequestHook = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct TapState {
    on_world_requested: OnceLock<WorldRequestHook>,
    /// The client with a subscription, [`NO_CLIENT`] or [`MANY_CLIENTS`].
    subscribed_client: AtomicU64,
    has_world_subscriber: AtomicBool,
    state: Mutex<Subscribers>,
}

#[derive(Debug, Default)]
struct Subscribers {
    queues: BTreeMap<u64, SubscriberQueue>,
    next_queue: u64,
    /// Connected clients, as their [`EventKind::Opened`] events.
    clients: BTreeMap<u64, Arc<TapEvent>>,
    /// Room names of the current runs.
    runs: BTreeMap<u64, Arc<str>>,
    is_over: bool,
}

impl fmt::Debug for TapState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TapState").field("state", &self.state).finish_non_exhaustive()
    }
}

impl TapState {
    /// Makes sleeping rooms tick, so that they deliver their worlds. Called without the lock.
    fn request_worlds(&self) {
        if let Some(wanted) = self.on_world_requested.get() {
            wanted();
        }
    }

    /// Updates the flags that producers of events check without the lock.
    fn set_flags(&self, state: &Subscribers) {
        let present = || state.queues.values().filter(|queue| !queue.is_over);
        let wanted = present().map(|queue| queue.only.unwrap_or(MANY_CLIENTS));
        let wanted = wanted.reduce(|one, other| if one == other { one } else { MANY_CLIENTS });
        self.subscribed_client.store(wanted.unwrap_or(NO_CLIENT), Ordering::Relaxed);
        self.has_world_subscriber.store(present().any(|queue| queue.wants_world), Ordering::Relaxed);
    }

    /// Passes an event of a client to its subscriptions. `event` is called only if there is a
    /// subscription.
    fn dispatch(
        queues: &mut BTreeMap<u64, SubscriberQueue>,
        client: u64,
        event: impl Fn() -> Arc<TapEvent>,
        put: impl Fn(&mut SubscriberQueue, &Arc<TapEvent>),
    ) {
        let mut made = None;
        for queue in queues.values_mut().filter(|queue| queue.accepts(client)) {
            put(queue, made.get_or_insert_with(&event));
            queue.filled.notify_one();
        }
    }
}

impl Tap {
    /// Returns the bytes of the queued events, summed over the queues of all subscribers.
    pub fn queued_bytes(&self) -> usize {
        self.inner.state.lock().queues.values().map(SubscriberQueue::bytes).sum()
    }

    /// Whether there is a subscription. One relaxed load.
    pub fn is_on(&self) -> bool {
        self.inner.subscribed_client.load(Ordering::Relaxed) != NO_CLIENT
    }

    /// Whether a subscription may include this client. One relaxed load. A subscription to a single
    /// client causes no further cost for the other clients.
    pub fn has_subscriber(&self, client: u64) -> bool {
        [client, MANY_CLIENTS].contains(&self.inner.subscribed_client.load(Ordering::Relaxed))
    }

    /// Whether a subscription includes the world.
    pub fn wants_world(&self) -> bool {
        self.inner.has_world_subscriber.load(Ordering::Relaxed)
    }

    /// Subscribes to one client or to all. Queues at most `bound_bytes`; further events are lost
    /// and counted.
    pub fn subscribe(&self, only: Option<u64>, bound_bytes: usize) -> Subscription {
        self.add(only, bound_bytes, false)
    }

    /// Like [`Tap::subscribe`], but also subscribes to the world: its state before the next tick,
    /// then each tick.
    pub fn subscribe_with_world(&self, only: Option<u64>, bound_bytes: usize) -> Subscription {
        let listener = self.add(only, bound_bytes, true);
        self.inner.request_worlds();
        listener
    }

    /// Sets the hook that is called when a subscription needs the worlds of all rooms. Rooms that
    /// do not tick must then tick once.
    pub fn set_world_request_hook(&self, wanted: WorldRequestHook) {
        let _ = self.inner.on_world_requested.set(wanted);
    }

    fn add(&self, only: Option<u64>, bound_bytes: usize, wants_world: bool) -> Subscription {
        let mut state = self.inner.state.lock();
        let mut queue = SubscriberQueue::new(only, bound_bytes, wants_world, &state.runs);
        for event in state.clients.values() {
            if queue.accepts(event.client) {
                queue.enqueue(event);
            }
        }
        queue.is_over = state.is_over;
        state.next_queue += 1;
        let (number, filled) = (state.next_queue, Arc::clone(&queue.filled));
        state.queues.insert(number, queue);
        self.inner.set_flags(&state);
        Subscription { number, filled, tap: Arc::clone(&self.inner) }
    }

    /// Returns the handshakes of these clients if they are still connected, for a subscription that
    /// has lost them. Later bytes of a client may already be queued, but not its handshake.
    pub fn reintroduce(&self, opened: &BTreeSet<u64>) -> Vec<Arc<TapEvent>> {
        let state = self.inner.state.lock();
        opened.iter().filter_map(|client| state.clients.get(client).map(Arc::clone)).collect()
    }

    /// Records the upgrade of a client, created by [`EventKind::opened`]. From here on the client's
    /// bytes are recorded. Later events carry the client's player number.
    pub fn record_open(&self, source: EventSource, run: &Run, what: EventKind) {
        let event = Arc::new(source.event(&run.room, run.number, what));
        let state = &mut *self.inner.state.lock();
        TapState::dispatch(
            &mut state.queues,
            source.client,
            || Arc::clone(&event),
            SubscriberQueue::push_open,
        );
        state.clients.insert(source.client, event);
    }

    /// Records the end of a client's connection and its rule. Later events of the client are
    /// dropped.
    pub fn record_close(&self, source: EventSource, rule: &'static str) {
        let state = &mut *self.inner.state.lock();
        if let Some(opened) = state.clients.remove(&source.client) {
            let event = || Arc::new(source.event(&opened.room, opened.run, EventKind::Ended { rule }));
            TapState::dispatch(&mut state.queues, source.client, event, SubscriberQueue::push_close);
        }
    }

    /// Records whole frames queued for a client. Called under the lock of the client's queue.
    pub fn record_sent(&self, source: EventSource, frames: &[u8]) {
        let bytes = || EventKind::Bytes {
            from: Side::Server,
            bytes: frames.to_vec(),
            is_injected: false,
            slack: Duration::ZERO,
        };
        self.bytes(source, bytes, |queue, event| _ = queue.enqueue(event));
    }

    /// Records bytes from a client. `saved` returns the state of its connection before these bytes.
    pub fn record_received(
        &self,
        source: EventSource,
        piece: ObservedBytes<'_>,
        saved: &dyn Fn() -> Vec<u8>,
    ) {
        let ObservedBytes { bytes, is_injected, slack, .. } = piece;
        let bytes = || EventKind::Bytes { from: Side::Client, bytes: bytes.to_vec(), is_injected, slack };
        self.bytes(source, bytes, |queue, event| {
            queue.push_bytes(event, piece.starts_message, || {
                source.event(&event.room, event.run, EventKind::Session(saved()))
            });
        });
    }

    /// Records an opened datagram to a client: its header and messages.
    pub fn record_sent_datagram(&self, source: EventSource, address: SocketAddr, bytes: &[u8]) {
        let datagram = || EventKind::Datagram {
            from: Side::Server,
            address,
            bytes: bytes.to_vec(),
            slack: Duration::ZERO,
        };
        self.bytes(source, datagram, |queue, event| _ = queue.enqueue(event));
    }

    /// Records an opened datagram from a client: its header and messages. `saved` returns the state
    /// of its connection before them; `None` in the middle of a message of the stream, where no
    /// capture may begin.
    pub fn record_received_datagram(
        &self,
        source: EventSource,
        (address, bytes, slack): (SocketAddr, &[u8], Duration),
        saved: Option<&[u8]>,
    ) {
        let datagram = || EventKind::Datagram { from: Side::Client, address, bytes: bytes.to_vec(), slack };
        self.bytes(source, datagram, |queue, event| {
            queue.push_bytes(event, saved.is_some(), || {
                let session = EventKind::Session(saved.unwrap_or_default().to_vec());
                source.event(&event.room, event.run, session)
            });
        });
    }

    /// Records a datagram of the client that its lane dropped by this rule. `bytes` are still
    /// sealed.
    pub fn record_dropped_datagram(
        &self,
        source: EventSource,
        address: SocketAddr,
        (rule, bytes): (DatagramError, &[u8]),
    ) {
        let datagram = || EventKind::DroppedDatagram { address, rule, bytes: bytes.to_vec() };
        self.bytes(source, datagram, |queue, event| {
            if queue.only.is_some() && !queue.wants_world {
                queue.enqueue(event);
            }
        });
    }

    fn bytes(
        &self,
        source: EventSource,
        what: impl Fn() -> EventKind,
        put: impl Fn(&mut SubscriberQueue, &Arc<TapEvent>),
    ) {
        if !self.has_subscriber(source.client) {
            return;
        }
        let Subscribers { queues, clients, .. } = &mut *self.inner.state.lock();
        if let Some(opened) = clients.get(&source.client) {
            let event = || Arc::new(source.event(&opened.room, opened.run, what()));
            TapState::dispatch(queues, source.client, event, put);
        }
    }

    /// Registers a run of a room, which ticks from now on. A subscription with the world waits for
    /// the run's world. If it already has the world of an earlier run of the room, it waits for the
    /// worlds of all rooms, because a capture file has one run per room. Called without the lock of
    /// the rooms.
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

    /// Removes a run that has ended.
    pub fn remove_room(&self, run: &Run) {
        let Subscribers { queues, runs, .. } = &mut *self.inner.state.lock();
        runs.remove(&run.number);
        for queue in queues.values_mut() {
            queue.run_ends(run.number);
            queue.filled.notify_one();
        }
    }

    /// Returns which parts of a run's next tick the subscriptions need. The world is needed only
    /// while a subscription lacks it.
    pub fn world_request(&self, run: u64) -> TickRequest {
        let wants = self.wants_world();
        let awaits = |queue: &SubscriberQueue| queue.accepts(WORLD_ID) && queue.awaits_world_of(run);
        let snapshot = wants && self.inner.state.lock().queues.values().any(awaits);
        TickRequest { frame: wants, checksum: wants, snapshot, ..TickRequest::default() }
    }

    /// Records a tick of a run: `at` is its start, `tick` the ticks completed before it. A
    /// subscription that has no world of this run drops the tick, unless there is a `snapshot`.
    pub fn record_tick(
        &self,
        (run, at, tick): (&Run, Duration, u32),
        checksum: u64,
        (frame, changes): (Arc<[u8]>, Vec<MembershipChange>),
        snapshot: Option<Arc<WorldSnapshot>>,
    ) {
        let source = EventSource { client: WORLD_ID, player: 0, at, tick };
        let world = snapshot
            .map(|snapshot| Arc::new(source.event(&run.room, run.number, EventKind::World { snapshot })));
        let tick =
            Arc::new(source.event(&run.room, run.number, EventKind::Tick { checksum, frame, changes }));
        let queues = &mut self.inner.state.lock().queues;
        TapState::dispatch(
            queues,
            WORLD_ID,
            || Arc::clone(&tick),
            |queue, tick| queue.push_tick(tick, world.as_ref()),
        );
    }

    /// Records a tick that cannot be encoded as a command frame.
    pub fn record_lost_tick(&self, (run, at, tick): (&Run, Duration, u32)) {
        let what = EventKind::Tick { checksum: 0, frame: Arc::default(), changes: Vec::new() };
        let source = EventSource { client: WORLD_ID, player: 0, at, tick };
        let event = Arc::new(source.event(&run.room, run.number, what));
        let lose = |queue: &mut SubscriberQueue, event: &Arc<TapEvent>| queue.drop_event(event);
        TapState::dispatch(&mut self.inner.state.lock().queues, WORLD_ID, || Arc::clone(&event), lose);
    }

    /// Ends the tap. Each subscription ends after its queued events.
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

/// The reading end of a queue. Dropping it removes the queue from the tap.
#[derive(Debug)]
pub struct Subscription {
    number: u64,
    filled: Arc<Condvar>,
    tap: Arc<TapState>,
}

impl Subscription {
    /// Takes all queued events. If there are none, waits for at most `wait`. In a subscription with
    /// the world, no event of a run precedes the run's world.
    pub fn receive(&self, wait: Duration) -> TapBatch {
        let mut state = self.tap.state.lock();
        let is_empty = |state: &mut Subscribers| !state.queues[&self.number].is_ready();
        if is_empty(&mut state) {
            self.filled.wait_while_for(&mut state, is_empty, wait);
        }
        let queue = state.queues.get_mut(&self.number).filter(|queue| queue.is_ready());
        queue.map(SubscriberQueue::take).unwrap_or_default()
    }

    /// Requests the world of each room again. Each world arrives before the room's next tick. The
    /// session of each client follows, before the client's next bytes.
    pub fn request_worlds(&self) {
        self.change(SubscriberQueue::renew);
        self.tap.request_worlds();
    }

    /// Ends the subscription: the next [`Subscription::receive`] returns the remaining events and
    /// the end.
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
        // Freed after the lock is released.
        drop((state, queue));
    }
}
