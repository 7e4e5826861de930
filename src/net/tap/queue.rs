//! The bounded queue of a listener of the tap, and how far the listener follows each client.
//!
//! Any thread adds events; the listener takes all of them at once as [`Taken`]. A full queue
//! accepts no more events until it is emptied, so the missing events lie between the taken events
//! and the later ones. After bytes of a client are missing, the listener resumes that client at the
//! start of a message; the number of skipped bytes is reported first, and no other client is
//! affected. The queue never blocks, never exceeds its limit, and never holds half a message after
//! a gap.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::seen::{Missed, Seen, What};
use crate::limits;
use crate::peer::receiver::Piece;
use crate::sync::{Condvar, Mutex};
use crate::ws::Side;

/// The events that a listener missed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// The number of missed events.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The tick at which it began.
    pub since_tick: u32,
    /// Bytes of each client's connection that are missing: what it sent, what it was sent.
    pub connections: BTreeMap<u64, [u64; 2]>,
    /// Clients that arrived and must be introduced.
    pub opened: BTreeSet<u64>,
    /// Clients that left. A client that both arrived and left is in neither set.
    pub ended: BTreeSet<u64>,
}

impl Lost {
    fn add(&mut self, seen: &Seen) {
        let it = match seen.what {
            What::Missed(missed) => missed,
            _ => Missed { messages: 1, bytes: seen.what.bytes() as u64, since_tick: seen.tick },
        };
        if self.messages == 0 {
            self.since_tick = it.since_tick;
        }
        self.messages += it.messages;
        self.bytes += it.bytes;
        match seen.what {
            What::Bytes { from: Side::Server, .. } => {
                self.connections.entry(seen.client).or_default()[1] += it.bytes;
            }
            What::Bytes { .. } | What::Missed(_) => {
                self.connections.entry(seen.client).or_default()[0] += it.bytes;
            }
            What::Opened { .. } => drop(self.opened.insert(seen.client)),
            What::Ended { .. } if self.opened.remove(&seen.client) => {
                self.connections.remove(&seen.client);
            }
            What::Ended { .. } => drop(self.ended.insert(seen.client)),
            What::Session(_) | What::World { .. } | What::Tick { .. } => {}
        }
    }
}

/// The events taken from a queue.
#[derive(Debug, Default)]
pub struct Taken {
    /// The events, in order.
    pub items: Vec<Arc<Seen>>,
    /// The events missing after them.
    pub lost: Lost,
    /// No more events will follow.
    pub over: bool,
}

/// How far a listener follows a client's bytes. A client that is not listed is followed again at
/// the start of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// From the beginning, or from a place that the listener knows; `is_whole` if no message is
    /// unfinished.
    All { is_whole: bool },
    /// All, but the listener is to be told the session first.
    Anew,
    /// Bytes are missing, also these, which are skipped until a message begins.
    Torn(Missed),
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Queue {
    only: Option<u64>,
    bound_bytes: usize,
    wants_world: bool,
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    items: Vec<Arc<Seen>>,
    /// What the items count towards the bound.
    bytes: usize,
    lost: Lost,
    follows: HashMap<u64, (Arc<str>, Follows)>,
    /// It is to be shown the world of each room.
    is_new: bool,
    /// It waits for the worlds before anything else.
    is_first: bool,
    /// The worlds that it has been shown, while it waits for those of other rooms. Later events of
    /// these rooms are held: they come after all worlds.
    worlds: Vec<Arc<Seen>>,
    held: Vec<Arc<Seen>>,
    held_bytes: usize,
    over: bool,
}

impl Queue {
    /// See [`super::Listener::take`].
    pub(super) fn take(&self, wait: Duration) -> Taken {
        let mut state = self.state.lock();
        if !state.has_something() {
            self.filled.wait_for(&mut state, wait);
        }
        if !state.has_something() {
            return Taken::default();
        }
        state.bytes = 0;
        let over = state.over;
        Taken { items: mem::take(&mut state.items), lost: mem::take(&mut state.lost), over }
    }

    /// See [`super::Listener::renew`].
    pub(super) fn renew(&self) {
        self.state.lock().is_new = true;
    }

    pub(super) fn new(only: Option<u64>, bound_bytes: usize, wants_world: bool) -> Queue {
        let state = State { is_new: wants_world, is_first: wants_world, ..State::default() };
        Queue { only, bound_bytes, wants_world, state: Mutex::new(state), filled: Condvar::new() }
    }

    pub(super) fn only(&self) -> Option<u64> {
        self.only
    }

    pub(super) fn wants(&self, client: u64) -> bool {
        self.only.is_none_or(|only| only == client)
    }

    pub(super) fn wants_world(&self) -> bool {
        self.wants_world
    }

    pub(super) fn is_new_to(&self, room: &str) -> bool {
        self.state.lock().is_new_to(room)
    }

    /// A client that was there before.
    pub(super) fn introduce(&self, seen: Arc<Seen>) {
        self.state.lock().put(&seen, self.bound_bytes);
    }

    /// A client that comes now: everything of it is heard, unless this itself is lost.
    pub(super) fn open(&self, seen: &Arc<Seen>) {
        let mut state = self.state.lock();
        if state.put(seen, self.bound_bytes) {
            state.follow(seen, Follows::All { is_whole: true });
        }
        self.filled.notify_one();
    }

    /// A client that goes.
    pub(super) fn close(&self, seen: &Arc<Seen>) {
        let mut state = self.state.lock();
        if let Some((_, Follows::Torn(missed))) = state.follows.remove(&seen.client) {
            state.tell_missed(seen, missed, self.bound_bytes);
        }
        state.put(seen, self.bound_bytes);
        self.filled.notify_one();
    }

    pub(super) fn push(&self, seen: &Arc<Seen>) {
        self.state.lock().put(seen, self.bound_bytes);
        self.filled.notify_one();
    }

    /// Something that cannot be told is lost, as if there were no room for it.
    pub(super) fn lose(&self, seen: &Seen) {
        self.state.lock().lose(seen);
        self.filled.notify_one();
    }

    /// Adds bytes of a client if the listener can use them: a listener that lacks the preceding
    /// bytes waits for the start of a message.
    pub(super) fn hear(&self, seen: &Arc<Seen>, piece: Piece<'_>, session: impl FnOnce() -> Arc<Seen>) {
        let Piece { begins, is_whole, .. } = piece;
        let mut state = self.state.lock();
        let follows = state.follows.get(&seen.client).map(|(_, follows)| *follows);
        match follows {
            Some(Follows::All { .. } | Follows::Anew) => {}
            Some(Follows::Torn(missed)) if begins => state.tell_missed(seen, missed, self.bound_bytes),
            // What others say has room all the same, so this is no loss of the queue.
            Some(Follows::Torn(missed)) => {
                state.follow(seen, Follows::Torn(missed.and(seen)));
                return;
            }
            None if begins => {}
            None => return,
        }
        let is_told = matches!(follows, Some(Follows::All { .. })) || !self.wants_world;
        if !is_told && state.lost.messages == 0 {
            state.put(&session(), self.bound_bytes);
        }
        // Behind what is lost nothing is taken, so the bytes are not taken either if the session was not.
        let is_taken = state.put(seen, self.bound_bytes);
        let follows = if is_taken { Follows::All { is_whole } } else { Follows::Torn(Missed::default()) };
        state.follow(seen, follows);
        self.filled.notify_one();
    }

    /// Adds a tick of a room, and before it the room's `world` if it is wanted. A world has room
    /// whatever waits: it comes only when it was asked for. The first time the worlds stand before all
    /// that was heard since, of which the ticks before know nothing; later, sessions are told anew
    /// after them, and of a client in the middle of a message the rest is skipped.
    pub(super) fn tick(&self, tick: &Arc<Seen>, world: Option<&Arc<Seen>>, rooms: &BTreeSet<Arc<str>>) {
        let state = &mut *self.state.lock();
        if state.is_new_to(&tick.room) {
            match world {
                Some(world) => state.show(world, rooms),
                None if state.is_first => return,
                None => {}
            }
        }
        state.put(tick, self.bound_bytes);
        self.filled.notify_one();
    }

    /// Ends the wait for worlds if these rooms have all shown theirs.
    pub(super) fn begin_if_complete(&self, rooms: &BTreeSet<Arc<str>>) {
        self.state.lock().begin_if_complete(rooms);
        self.filled.notify_one();
    }

    pub(super) fn end(&self) {
        self.state.lock().over = true;
        self.filled.notify_one();
    }
}

impl State {
    fn has_something(&self) -> bool {
        self.over || !self.is_first && (!self.items.is_empty() || self.lost.messages > 0)
    }

    fn has_world_of(&self, room: &str) -> bool {
        self.worlds.iter().any(|world| *world.room == *room)
    }

    /// Behind what is lost nothing is taken; the first time the world stands before all.
    fn is_new_to(&self, room: &str) -> bool {
        self.is_new && !self.has_world_of(room) && (self.is_first || self.lost.messages == 0)
    }

    fn follow(&mut self, seen: &Seen, follows: Follows) {
        self.follows.insert(seen.client, (Arc::clone(&seen.room), follows));
    }

    fn show(&mut self, world: &Arc<Seen>, rooms: &BTreeSet<Arc<str>>) {
        self.worlds.push(Arc::clone(world));
        if !self.is_first {
            for (_, follows) in self.follows.values_mut().filter(|(room, _)| *room == world.room) {
                let Follows::All { is_whole } = *follows else { continue };
                *follows = if is_whole { Follows::Anew } else { Follows::Torn(Missed::default()) };
            }
        }
        self.begin_if_complete(rooms);
    }

    fn begin_if_complete(&mut self, rooms: &BTreeSet<Arc<str>>) {
        if self.worlds.is_empty() || !rooms.iter().all(|room| self.has_world_of(room)) {
            return;
        }
        self.is_new = false;
        if mem::take(&mut self.is_first) {
            self.items.splice(0..0, self.worlds.drain(..));
        } else {
            self.items.append(&mut self.worlds);
            self.release();
        }
    }

    /// Moves what is held to the items.
    fn release(&mut self) {
        self.items.append(&mut self.held);
        self.bytes += mem::take(&mut self.held_bytes);
    }

    /// Counts something as lost. What is held comes before it, so the wait for worlds begins anew.
    fn lose(&mut self, seen: &Seen) {
        self.lost.add(seen);
        if !self.is_first {
            self.worlds.clear();
            self.release();
        }
    }

    /// How much of a client was skipped comes before what is heard of it again.
    fn tell_missed(&mut self, before: &Seen, missed: Missed, bound_bytes: usize) {
        if missed.messages > 0 {
            self.put(&Arc::new(before.but(What::Missed(missed))), bound_bytes);
        }
    }

    /// Takes something, or counts it as lost; says which. Behind what is lost nothing is taken.
    fn put(&mut self, seen: &Arc<Seen>, bound_bytes: usize) -> bool {
        let bytes = seen.what.bytes() + limits::TAP_ITEM_BYTES;
        let fits = self.lost.messages == 0 && self.bytes + self.held_bytes + bytes <= bound_bytes;
        if !fits {
            self.lose(seen);
        } else if !self.is_first && self.has_world_of(&seen.room) {
            self.held_bytes += bytes;
            self.held.push(Arc::clone(seen));
        } else {
            self.bytes += bytes;
            self.items.push(Arc::clone(seen));
        }
        fits
    }
}
