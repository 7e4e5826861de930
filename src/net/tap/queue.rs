//! The bounded queue of a listener of the tap, and how far the listener follows each client.
//!
//! Any thread adds events; the listener takes all of them at once as [`Taken`]. A full queue
//! accepts no more events until it is emptied, so all missing events are later than the taken
//! events and earlier than the next ones. After bytes of a client are missing, the listener resumes
//! that client at the start of a message; the number of skipped bytes is reported first, and no
//! other client is affected. The queue never blocks, never exceeds its limit, and never holds half
//! a message after a gap.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::Arc;

use super::seen::{Lost, Missed, Seen, THE_WORLD, Taken, What};
use crate::limits;
use crate::sync::Condvar;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) only: Option<u64>,
    pub(super) wants_world: bool,
    bound_bytes: usize,
    pub(super) filled: Arc<Condvar>,
    /// No more events follow.
    pub(super) is_over: bool,
    items: Vec<Arc<Seen>>,
    /// What the items count towards the bound. Worlds do not: they come only when asked for.
    bytes: usize,
    lost: Lost,
    /// The clients that are followed, with their room: all of their bytes, or, if bytes are missing,
    /// those from the start of a message on. A client that is not listed is followed from there too.
    follows: HashMap<u64, (Arc<str>, Option<Missed>)>,
    /// The listener waits for the world of each room.
    pub(super) awaits_worlds: bool,
    /// These are its first ones.
    is_first: bool,
    /// The rooms of which it has the awaited world, while it waits for the others.
    shown: BTreeSet<Arc<str>>,
    /// The rooms of which it has had a world since it waited for those of all rooms.
    had: BTreeSet<Arc<str>>,
    /// The place of the first of these worlds.
    first_shown: usize,
}

impl Queue {
    pub(super) fn new(only: Option<u64>, bound_bytes: usize, wants_world: bool) -> Queue {
        let (awaits_worlds, is_first) = (wants_world, wants_world);
        Queue { only, wants_world, bound_bytes, awaits_worlds, is_first, ..Queue::default() }
    }

    /// Whether events of this client are for this listener.
    pub(super) fn wants(&self, client: u64) -> bool {
        let is_meant = || self.only.is_none_or(|only| only == client);
        !self.is_over && if client == THE_WORLD { self.wants_world } else { is_meant() }
    }

    /// Whether a take finds something. While some rooms have shown their world and others have not,
    /// it finds nothing: the order of what waits is not yet known.
    pub(super) fn has_something(&self) -> bool {
        let is_waiting = self.is_first || !self.shown.is_empty();
        self.is_over || !is_waiting && (!self.items.is_empty() || self.lost.missed.messages > 0)
    }

    pub(super) fn take(&mut self) -> Taken {
        self.bytes = 0;
        Taken { items: mem::take(&mut self.items), lost: mem::take(&mut self.lost), over: self.is_over }
    }

    /// A client that comes now: everything of it is heard, unless this itself is lost.
    pub(super) fn open(&mut self, seen: &Arc<Seen>) {
        if self.put(seen) {
            self.follow(seen, None);
        }
    }

    /// A client that goes.
    pub(super) fn close(&mut self, seen: &Arc<Seen>) {
        if let Some((_, Some(missed))) = self.follows.remove(&seen.client) {
            self.tell_missed(seen, missed);
        }
        self.put(seen);
    }

    /// Adds bytes of a client if the listener can use them: a listener that lacks the preceding
    /// bytes waits for the start of a message.
    pub(super) fn hear(&mut self, seen: &Arc<Seen>, begins: bool, session: impl FnOnce() -> Seen) {
        let torn = match self.follows.get(&seen.client) {
            Some((_, None)) => false,
            None if !begins => return,
            None => true,
            // What others say has room all the same, so this is no loss of the queue.
            Some((_, Some(missed))) if !begins => return self.follow(seen, Some(missed.and(seen))),
            Some((_, Some(missed))) => {
                self.tell_missed(seen, *missed);
                true
            }
        };
        if torn && self.wants_world && self.lost.missed.messages == 0 {
            self.put(&Arc::new(session()));
        }
        // Behind what is lost nothing is taken, so the bytes are not taken either if the session was not.
        let is_taken = self.put(seen);
        if torn || !is_taken {
            self.follow(seen, (!is_taken).then(Missed::default));
        }
    }

    /// Adds a tick of a room, and before it the room's `world` if it is awaited.
    pub(super) fn tick(&mut self, tick: &Arc<Seen>, world: Option<&Arc<Seen>>, rooms: &BTreeSet<Arc<str>>) {
        if self.awaits_world_of(&tick.room) {
            match world {
                Some(world) => self.show(world, rooms),
                // The ticks before the first world are of no use.
                None if self.is_first => return,
                None => {}
            }
        }
        self.put(tick);
    }

    /// Requests the world of each room again, if it is wanted at all.
    pub(super) fn renew(&mut self) {
        self.awaits_worlds = self.wants_world;
        self.had.clear();
    }

    /// A room begins, besides `rooms`: its world is awaited, and those of all rooms if it is not the
    /// first of this room.
    pub(super) fn room_begins(&mut self, room: &Arc<str>, rooms: &BTreeSet<Arc<str>>) {
        if self.had.contains(room) {
            self.forget_shown();
            self.renew();
        } else if self.wants_world && !self.awaits_worlds {
            self.awaits_worlds = true;
            self.first_shown = self.items.len();
            self.shown = rooms.iter().filter(|other| *other != room).cloned().collect();
        }
    }

    /// The wait for worlds begins anew.
    fn forget_shown(&mut self) {
        if !mem::take(&mut self.shown).is_empty() {
            let since = self.items.split_off(self.first_shown);
            self.items.extend(since.into_iter().filter(|seen| !matches!(seen.what, What::World { .. })));
        }
    }

    /// Whether the room's next tick is to come with its world. Behind what is lost nothing is taken,
    /// but the first worlds stand before all else.
    pub(super) fn awaits_world_of(&self, room: &str) -> bool {
        let has_room = self.is_first || self.lost.missed.messages == 0;
        self.awaits_worlds && !self.shown.contains(room) && has_room
    }

    /// The first worlds stand before all that was heard since the listener joined, of which the
    /// ticks before know nothing. Before a later one stands what was heard until now: behind it
    /// sessions are told anew, and of a client in the middle of a message the rest is skipped.
    fn show(&mut self, world: &Arc<Seen>, rooms: &BTreeSet<Arc<str>>) {
        if self.shown.is_empty() {
            self.first_shown = if self.is_first { 0 } else { self.items.len() };
        }
        if self.is_first {
            self.items.insert(self.shown.len(), Arc::clone(world));
        } else {
            self.items.push(Arc::clone(world));
            for (_, torn) in self.follows.values_mut().filter(|(room, _)| *room == world.room) {
                *torn = torn.or(Some(Missed::default()));
            }
        }
        self.shown.insert(Arc::clone(&world.room));
        self.had.insert(Arc::clone(&world.room));
        self.begin_if_complete(rooms);
    }

    /// Ends the wait for worlds if these rooms have all shown theirs.
    pub(super) fn begin_if_complete(&mut self, rooms: &BTreeSet<Arc<str>>) {
        if !self.shown.is_empty() && rooms.iter().all(|room| self.shown.contains(room)) {
            (self.awaits_worlds, self.is_first) = (false, false);
            self.sort();
        }
    }

    pub(super) fn end(&mut self) {
        self.is_over = true;
        self.sort();
    }

    /// Moves what each room's world is followed by behind what other rooms showed before theirs.
    fn sort(&mut self) {
        if mem::take(&mut self.shown).is_empty() {
            return;
        }
        let (mut after, mut shown) = (Vec::new(), BTreeSet::new());
        for seen in self.items.split_off(self.first_shown) {
            if matches!(seen.what, What::World { .. }) {
                shown.insert(Arc::clone(&seen.room));
            }
            if shown.contains(&seen.room) { after.push(seen) } else { self.items.push(seen) }
        }
        self.items.append(&mut after);
    }

    fn follow(&mut self, seen: &Seen, torn: Option<Missed>) {
        self.follows.insert(seen.client, (Arc::clone(&seen.room), torn));
    }

    /// How much of a client was skipped comes before what is heard of it again.
    fn tell_missed(&mut self, before: &Seen, missed: Missed) {
        if missed.messages > 0 {
            let what = What::Missed(missed);
            self.put(&Arc::new(Seen { what, room: Arc::clone(&before.room), ..*before }));
        }
    }

    /// Counts something as lost. The wait for worlds begins anew behind it.
    pub(super) fn lose(&mut self, seen: &Seen) {
        self.lost.add(seen);
        if !self.is_first {
            self.forget_shown();
        }
    }

    /// Takes something, or counts it as lost; says which. Behind what is lost nothing is taken.
    pub(super) fn put(&mut self, seen: &Arc<Seen>) -> bool {
        let bytes = seen.what.bytes() + limits::TAP_ITEM_BYTES;
        let fits = self.lost.missed.messages == 0 && self.bytes + bytes <= self.bound_bytes;
        if fits {
            self.bytes += bytes;
            self.items.push(Arc::clone(seen));
        } else {
            self.lose(seen);
        }
        fits
    }
}
