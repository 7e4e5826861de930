//! Parked clients: an update group does not visit a client to which nothing can be sent.
//!
//! ```text
//!  member ──no updates or a quiet view, no player, nothing queued──► parked
//!  member ◄───────────────its next deadline, or unpark────────────── parked
//! ```
//!
//! A parked client costs its worker nothing, and a room without other clients sleeps. Whatever
//! needs a visit before the next deadline unparks the client: the start of updates, a join, a
//! close, unsent bytes, and the end of the reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::connection::pauses::Pauses;
use crate::util::sync::Mutex;

/// State that an update group shares with its clients.
#[derive(Debug, Default)]
pub struct GroupSignals {
    /// The pauses of the group's worker.
    pub pauses: Pauses,
    /// Numbers of the clients that need a visit.
    unparked: Mutex<Vec<u64>>,
}

impl GroupSignals {
    /// Takes the numbers of the clients that need a visit.
    pub fn take_unparked(&self) -> Vec<u64> {
        std::mem::take(&mut self.unparked.lock())
    }
}

/// The part of a client that decides about visits by its update group.
#[derive(Debug, Default)]
pub struct Parking {
    /// Unset until a worker takes the client over.
    group: OnceLock<Arc<GroupSignals>>,
    is_parked: AtomicBool,
    /// Whether the client is counted among the viewers of its room.
    is_viewing: AtomicBool,
}

impl Parking {
    /// Stores the state shared with the client's update group, once.
    pub fn set_group(&self, group: &Arc<GroupSignals>) {
        let _ = self.group.set(Arc::clone(group));
    }

    /// Returns the pauses of the client's worker, once a worker has taken the client over.
    pub fn pauses(&self) -> Option<&Pauses> {
        self.group.get().map(|group| &group.pauses)
    }

    /// Marks the client as parked. Returns false if it is not quiet, and therefore needs visits.
    pub fn park(&self, is_quiet: impl FnOnce() -> bool) -> bool {
        self.is_parked.store(true, Ordering::Relaxed);
        // Either `is_quiet` sees what another thread has changed, or `unpark` sees the mark.
        fence(Ordering::SeqCst);
        let is_quiet = is_quiet();
        if !is_quiet {
            self.is_parked.store(false, Ordering::Relaxed);
        }
        is_quiet
    }

    /// Makes the update group visit the client with this number in its next pass. Called after each
    /// change that a quiet client or a deadline depends on.
    pub fn unpark(&self, client: u64) {
        fence(Ordering::SeqCst);
        if self.is_parked.load(Ordering::Relaxed)
            && self.is_parked.swap(false, Ordering::AcqRel)
            && let Some(group) = self.group.get()
        {
            group.unparked.lock().push(client);
        }
    }

    /// Records that the update group visits the client again.
    pub fn clear(&self) {
        self.is_parked.store(false, Ordering::Relaxed);
    }

    /// Stores whether the client is counted among the viewers of its room. Returns whether that has
    /// changed.
    pub fn set_viewing(&self, is_viewing: bool) -> bool {
        self.is_viewing.swap(is_viewing, Ordering::AcqRel) != is_viewing
    }
}

/// The parked clients of a group, by number and by their next deadline.
#[derive(Debug)]
pub struct ParkedClients<M> {
    members: BTreeMap<u64, (Duration, M)>,
    deadlines: BTreeSet<(Duration, u64)>,
}

impl<M> Default for ParkedClients<M> {
    fn default() -> ParkedClients<M> {
        ParkedClients { members: BTreeMap::new(), deadlines: BTreeSet::new() }
    }
}

impl<M> ParkedClients<M> {
    /// Parks the client with this number until `deadline`, on the server's clock.
    pub fn insert(&mut self, client: u64, deadline: Duration, member: M) {
        self.members.insert(client, (deadline, member));
        self.deadlines.insert((deadline, client));
    }

    /// Moves the clients with these numbers, and those past their deadline, into `members`.
    pub fn take_due(&mut self, unparked: &[u64], now: Duration, members: &mut Vec<M>) {
        for client in unparked {
            if let Some((deadline, member)) = self.members.remove(client) {
                self.deadlines.remove(&(deadline, *client));
                members.push(member);
            }
        }
        while let Some((deadline, client)) = self.deadlines.pop_first() {
            if deadline > now {
                self.deadlines.insert((deadline, client));
                break;
            }
            members.extend(self.members.remove(&client).map(|(_, member)| member));
        }
    }

    /// Returns any parked client.
    pub fn first(&self) -> Option<&M> {
        self.members.first_key_value().map(|(_, (_, member))| member)
    }

    /// Number of parked clients.
    pub fn count(&self) -> usize {
        self.members.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parked_client_returns_at_its_deadline_or_when_it_is_unparked() {
        let second = Duration::from_secs;
        let mut parked = ParkedClients::default();
        for (client, deadline) in [(1, 5), (2, 3), (3, 3), (4, 9)] {
            parked.insert(client, second(deadline), client);
        }
        let mut members = Vec::new();
        parked.take_due(&[], second(2), &mut members);
        assert_eq!((members.len(), parked.count()), (0, 4));
        parked.take_due(&[4, 7], second(3), &mut members);
        assert_eq!(members, [4, 2, 3], "7 is not parked");
        parked.take_due(&[4], second(4), &mut members);
        assert_eq!(members.len(), 3, "4 is no longer parked");
        parked.take_due(&[], second(9), &mut members);
        assert_eq!((members, parked.count(), parked.deadlines.len()), (vec![4, 2, 3, 1], 0, 0));
    }
}
