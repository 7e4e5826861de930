//! The tap: passes the traffic between clients and server to listeners.
//!
//! ```text
//!  connection: opened ───┐                                  ┌─► listener ─ bounded queue ─► the recorder's thread
//!  receiver: messages ───┼─► is anyone listening? ─► shared ┼─► listener ─ bounded queue ─► somebody's inspector
//!  sender: our bytes ────┤    one relaxed load              └─► …
//!  world: ticks ─────────┘
//! ```
//!
//! The tap sees bytes as they travel: a client's bytes behind the frame reader, one message with all
//! of its frames at a time; the server's bytes when they are queued, under the queue's lock, so that
//! their order is that of the wire. Listeners receive [`Seen`] values through a [`Listener`]. A listener that joins later
//! first gets an introduction of the connected clients, and then only whole messages. The tap never
//! waits for a listener, copies nothing if nobody listens, and never passes on a secret of a
//! request.

mod head;
mod queue;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::packet::Dialect;
use crate::peer::receiver::Piece;
use crate::room::Wants;
use crate::sync::Mutex;
pub use crate::ws::Side;
use queue::Queue;
pub use queue::{Lost, Taken};
pub use seen::{Missed, Seen, What};

/// The handshake of a client, stored compactly for as long as the client is connected.
#[derive(Debug)]
pub struct Handshake {
    address: SocketAddr,
    local: SocketAddr,
    room: Arc<str>,
    dialect: Arc<Dialect>,
    json: bool,
    opened: Duration,
    tick: u32,
    request: Box<[u8]>,
    response: Box<[u8]>,
}

impl Handshake {
    /// The handshake of a client in a room, and when it was, with the ticks that the room had
    /// completed. Overwrites the secrets of the request's head before the head is stored.
    pub fn new(
        (address, local): (SocketAddr, SocketAddr),
        (dialect, json): (Arc<Dialect>, bool),
        (room, opened, tick): (Arc<str>, Duration, u32),
        mut request: Vec<u8>,
        response: Vec<u8>,
    ) -> Handshake {
        head::cover_secrets(&mut request);
        let (request, response) = (request.into_boxed_slice(), response.into_boxed_slice());
        Handshake { address, local, room, dialect, json, opened, tick, request, response }
    }

    /// Whether it has a player is reported with its next event.
    fn seen(&self, client: u64) -> Seen {
        let what = What::Opened {
            address: self.address,
            local: self.local,
            dialect: self.dialect.name().to_owned(),
            json: self.json,
            request: self.request.to_vec(),
            response: self.response.to_vec(),
        };
        let (room, at, tick) = (Arc::clone(&self.room), self.opened, self.tick);
        Seen { client, player: 0, room, at, tick, what }
    }
}

/// The origin and time that accompany each piece of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// The client's number.
    pub client: u64,
    /// Its body, 0 without one.
    pub player: u16,
    /// When, on the server's clock.
    pub at: Duration,
    /// Ticks that the world had completed.
    pub tick: u32,
}

/// See the [module](self). A clone is another handle to the same tap.
#[derive(Debug, Clone, Default)]
pub struct Tap {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    is_on: AtomicBool,
    /// The only client that is listened to; 0 for several or all.
    only: AtomicU64,
    wants_world: AtomicBool,
    /// Copies made of what was seen.
    #[cfg(test)]
    copies: std::sync::atomic::AtomicU32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    listeners: Vec<Arc<Queue>>,
    /// The clients that are there.
    clients: BTreeMap<u64, Handshake>,
    /// The rooms that tick.
    rooms: BTreeSet<Arc<str>>,
    is_over: bool,
}

impl Inner {
    /// Updates the flags that say which clients have listeners.
    fn set_flags(&self, state: &State) {
        let first = state.listeners.first().and_then(|queue| queue.only());
        let is_only = state.listeners.iter().all(|queue| queue.only() == first);
        self.only.store(first.filter(|_| is_only).unwrap_or(0), Ordering::Relaxed);
        self.is_on.store(!state.listeners.is_empty(), Ordering::Relaxed);
        let wants_world = state.listeners.iter().any(|queue| queue.wants_world());
        self.wants_world.store(wants_world, Ordering::Relaxed);
    }

    fn forget(&self, queue: &Arc<Queue>) {
        let mut state = self.state.lock();
        state.listeners.retain(|known| !Arc::ptr_eq(known, queue));
        self.set_flags(&state);
    }
}

impl Tap {
    /// Whether there is a listener: one relaxed load.
    pub fn is_on(&self) -> bool {
        self.inner.is_on.load(Ordering::Relaxed)
    }

    /// Whether a listener may want this client: two relaxed loads. Listening to a single client
    /// costs the other clients nothing more.
    pub fn wants(&self, client: u64) -> bool {
        let only = self.inner.only.load(Ordering::Relaxed);
        self.is_on() && (only == 0 || only == client)
    }

    /// Whether a listener also wants the world.
    pub fn wants_world(&self) -> bool {
        self.inner.wants_world.load(Ordering::Relaxed)
    }

    /// Starts listening to one client, or to all. At most `bound_bytes` are queued; events beyond
    /// the limit are lost, and counted.
    pub fn listen(&self, only: Option<u64>, bound_bytes: usize) -> Arc<Listener> {
        self.add(Queue::new(only, bound_bytes, false))
    }

    /// As [`Tap::listen`], and also to the world: its state before the next tick, and then each
    /// tick.
    pub fn listen_with_world(&self, only: Option<u64>, bound_bytes: usize) -> Arc<Listener> {
        self.add(Queue::new(only, bound_bytes, true))
    }

    fn add(&self, queue: Queue) -> Arc<Listener> {
        let queue = Arc::new(queue);
        let mut state = self.inner.state.lock();
        for (client, handshake) in &state.clients {
            if queue.wants(*client) {
                queue.introduce(Arc::new(handshake.seen(*client)));
            }
        }
        if state.is_over {
            queue.end();
        } else {
            state.listeners.push(Arc::clone(&queue));
        }
        self.inner.set_flags(&state);
        drop(state);
        Arc::new(Listener { queue, tap: Arc::downgrade(&self.inner) })
    }

    /// For a listener that has lost the handshakes of these clients: introduces the clients that
    /// are still connected. Later bytes of a client may arrive before this call, but its handshake
    /// may not.
    pub fn introduce(&self, opened: &BTreeSet<u64>) -> Vec<Seen> {
        let state = self.inner.state.lock();
        let there = opened.iter().filter_map(|client| state.clients.get_key_value(client));
        there.map(|(client, handshake)| handshake.seen(*client)).collect()
    }

    /// Records that a client was upgraded; from now on its bytes are seen.
    pub fn opened(&self, client: u64, handshake: Handshake) {
        let mut state = self.inner.state.lock();
        if !state.listeners.is_empty() {
            let seen = Arc::new(handshake.seen(client));
            state.listeners.iter().filter(|queue| queue.wants(client)).for_each(|queue| queue.open(&seen));
        }
        state.clients.insert(client, handshake);
    }

    /// Records that a client's connection has ended, for this reason. Nothing more of it is seen.
    pub fn ended(&self, who: Who, rule: &'static str) {
        let mut state = self.inner.state.lock();
        if let Some(Handshake { room, .. }) = state.clients.remove(&who.client) {
            let seen = self.seen(who, &room, What::Ended { rule });
            state
                .listeners
                .iter()
                .filter(|queue| queue.wants(who.client))
                .for_each(|queue| queue.close(&seen));
        }
    }

    /// Records whole frames queued for a client. Called under the lock of its queue.
    pub fn said(&self, who: Who, frames: &[u8]) {
        if !self.wants(who.client) {
            return;
        }
        let state = self.inner.state.lock();
        let Some(Handshake { room, .. }) = state.clients.get(&who.client) else { return };
        let mut seen = None;
        for queue in state.listeners.iter().filter(|queue| queue.wants(who.client)) {
            queue.push(seen.get_or_insert_with(|| self.bytes((who, room), Side::Server, frames, true)));
        }
    }

    /// Records bytes from a client; `saved` returns the state of its receiver before them.
    pub fn heard(&self, who: Who, piece: Piece<'_>, saved: &dyn Fn() -> Vec<u8>) {
        if !self.wants(who.client) {
            return;
        }
        let state = self.inner.state.lock();
        let Some(Handshake { room, .. }) = state.clients.get(&who.client) else { return };
        let mut seen = None;
        for queue in state.listeners.iter().filter(|queue| queue.wants(who.client)) {
            let seen = seen
                .get_or_insert_with(|| self.bytes((who, room), Side::Client, piece.bytes, piece.is_whole));
            queue.hear(seen, piece, || self.seen(who, room, What::Session(saved())));
        }
    }

    /// Lists a room, which ticks from now on.
    pub fn room_begins(&self, room: &Arc<str>) {
        self.inner.state.lock().rooms.insert(Arc::clone(room));
    }

    /// Removes a room, which does not tick any more.
    pub fn room_ends(&self, room: &str) {
        let mut state = self.inner.state.lock();
        state.rooms.remove(room);
        state.listeners.iter().for_each(|queue| queue.begin_if_complete(&state.rooms));
    }

    /// What the listeners want of the next tick of a room: the world itself only if one does not
    /// have it yet.
    pub fn wants_of_world(&self, room: &str) -> Wants {
        let wants = self.wants_world();
        let is_new = |queue: &Arc<Queue>| queue.wants_world() && queue.is_new_to(room);
        let snapshot = wants && self.inner.state.lock().listeners.iter().any(is_new);
        Wants { frame: wants, checksum: wants, snapshot }
    }

    /// Records a tick of a room: when it began, and the ticks completed before it. A listener that
    /// does not have the world yet waits for a tick with a `snapshot`.
    pub fn ticked(
        &self,
        (room, at, tick): (&Arc<str>, Duration, u32),
        checksum: u64,
        frame: Arc<[u8]>,
        snapshot: Option<Arc<[u8]>>,
    ) {
        let world = |what| Arc::new(Seen { client: 0, player: 0, room: Arc::clone(room), at, tick, what });
        let state = self.inner.state.lock();
        let (tick, snapshot) =
            (world(What::Tick { checksum, frame }), snapshot.map(|snapshot| world(What::World { snapshot })));
        for queue in state.listeners.iter().filter(|queue| queue.wants_world()) {
            queue.tick(&tick, snapshot.as_ref(), &state.rooms);
        }
    }

    /// Records a tick that cannot be shown.
    pub fn tick_is_lost(&self, (room, at, tick): (&Arc<str>, Duration, u32)) {
        let what = What::Tick { checksum: 0, frame: Arc::default() };
        let seen = Seen { client: 0, player: 0, room: Arc::clone(room), at, tick, what };
        let state = self.inner.state.lock();
        state.listeners.iter().filter(|queue| queue.wants_world()).for_each(|queue| queue.lose(&seen));
    }

    /// Ends the tap: each listener finds the end after its queued events.
    pub fn end(&self) {
        let mut state = self.inner.state.lock();
        state.is_over = true;
        state.listeners.drain(..).for_each(|queue| queue.end());
        self.inner.set_flags(&state);
    }

    /// A copy: only made when somebody is given it.
    fn bytes(&self, (who, room): (Who, &Arc<str>), from: Side, bytes: &[u8], whole: bool) -> Arc<Seen> {
        self.seen(who, room, What::Bytes { from, bytes: bytes.to_vec(), whole })
    }

    fn seen(&self, who: Who, room: &Arc<str>, what: What) -> Arc<Seen> {
        #[cfg(test)]
        self.inner.copies.fetch_add(1, Ordering::Relaxed);
        let Who { client, player, at, tick } = who;
        Arc::new(Seen { client, player, room: Arc::clone(room), at, tick, what })
    }
}

/// The reading end of a queue. The tap removes the queue when this is dropped.
#[derive(Debug)]
pub struct Listener {
    queue: Arc<Queue>,
    tap: Weak<Inner>,
}

impl Listener {
    fn forget(&self) {
        if let Some(tap) = self.tap.upgrade() {
            tap.forget(&self.queue);
        }
    }

    /// Takes all queued events, after waiting at most this long for the first. A listener to the
    /// world gets no events before the world.
    pub fn take(&self, wait: Duration) -> Taken {
        self.queue.take(wait)
    }

    /// Requests the world of each room again: it arrives before the room's next tick, followed by the
    /// session of each of its clients before that client's next bytes.
    pub fn renew(&self) {
        self.queue.renew();
    }

    /// Stops listening: the next take finds the end.
    pub fn close(&self) {
        self.forget();
        self.queue.end();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests;
