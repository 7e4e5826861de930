//! The running rooms of a server: their list, their clients, and when their threads sleep.
//!
//! A room has a name and one or more *runs*: after a panic it restarts with another epoch and
//! world. A [`RunningRoom`] is one run; its clients stay with it until they are closed. The room's
//! thread sleeps while no client is in the room and no tick is due; suspended seats do not keep it
//! awake. Code that queues something for the room wakes it with [`RunningRoom::wake`].
//!
//! ```text
//!  reserve ─► name reserved, lock released ─► publish: listed, the requesting client is in it
//!  listed ─► enter, enter, … ─► all clients have left ─► end: removed from the list, name is free
//! ```
//!
//! A client that wants any room gets the fullest that fits, or the reservation of a new one, under
//! the same lock. While a public room is being created, it waits: the new room may fit.
//!
//! Clients are added under the lock of the list, and rooms on demand are removed from the list
//! under the same lock. So no client enters a room that has ended.

mod running_room;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use self::running_room::{RoomPermit, RunningRoom};
use super::metrics::Metrics;
use super::tap::Tap;
use crate::game::RoomConditions;
use crate::packet::routes;
use crate::server::room::RoomHandle;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::{Condvar, Mutex};

/// The list of all rooms of a server.
#[derive(Debug, Default)]
pub struct Rooms {
    listed: Mutex<RoomList>,
    /// Signaled when a reserved room has been listed or given up.
    made: Condvar,
    next_number: AtomicU64,
}

#[derive(Debug, Default)]
struct RoomList {
    /// The current run of each room, by its name in paths. The default room's name is empty.
    present: BTreeMap<Arc<str>, Arc<RunningRoom>>,
    /// Reserved rooms, with the address prefix of the client that requested each.
    reserved: BTreeMap<Arc<str>, AddressPrefix>,
}

/// Limits on rooms on demand.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// Maximum number in total.
    pub rooms: usize,
    /// Maximum number per address prefix; `None` for no such limit.
    pub of_address: Option<usize>,
}

/// The room that a client gets if it wants any.
#[derive(Debug)]
pub enum AnyRoom<'a> {
    /// A slot in an existing room.
    Entered(Arc<RunningRoom>, RoomPermit),
    /// No room fits; this one can be created.
    Reserved(RoomReservation<'a>),
    /// No room fits, and none is to be created; or its name exists.
    None,
}

/// Why a room cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRoomError {
    /// The maximum number of rooms exists.
    Full,
    /// The address prefix has its maximum number of rooms, or at least as many rooms as the server
    /// can still create.
    AddressLimit,
}

impl RoomList {
    /// Adds a client to the fullest room of this game that fits and has a free slot. Of equally
    /// full rooms, the first by name.
    fn enter_fullest(&self, game: &str, wanted: &RoomConditions) -> Option<AnyRoom<'static>> {
        let rooms = self.present.values().filter(|room| room.is_open_to(game, wanted));
        let mut rooms: Vec<_> = rooms.map(|room| (Reverse(room.occupied()), room)).collect();
        rooms.sort_by_key(|(occupied, _)| *occupied);
        rooms.into_iter().find_map(|(_, room)| Some(AnyRoom::Entered(Arc::clone(room), room.enter()?)))
    }

    /// Iterates over the creators of the rooms on demand.
    fn creators(&self) -> impl Iterator<Item = AddressPrefix> {
        let present = self.present.values().filter_map(|room| room.created_by);
        present.chain(self.reserved.values().copied())
    }

    fn check_create(&self, creator: AddressPrefix, limits: RoomLimits) -> Result<(), CreateRoomError> {
        let own = self.creators().filter(|other| *other == creator).count();
        let all = self.creators().count();
        let left = limits.rooms.saturating_sub(all);
        match limits.of_address {
            _ if left == 0 => Err(CreateRoomError::Full),
            Some(of_address) if own > 0 && own >= left.min(of_address) => Err(CreateRoomError::AddressLimit),
            _ => Ok(()),
        }
    }
}

/// A reserved room: its name is taken until this is dropped.
#[derive(Debug)]
pub struct RoomReservation<'a> {
    rooms: &'a Rooms,
    name: Arc<str>,
    creator: AddressPrefix,
    number: u64,
}

impl RoomReservation<'_> {
    /// Returns the room's name in paths.
    pub fn path_name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the room's public name: an alias for a private room.
    pub fn public_name(&self) -> Arc<str> {
        match routes::is_private(&self.name) {
            true => routes::public_alias(&self.name, self.number).into(),
            false => Arc::clone(&self.name),
        }
    }

    /// Creates the run of the room, not listed yet, and a slot in it for the requesting client.
    pub fn create_run(
        &self,
        handle: Arc<RoomHandle>,
        metrics: &Metrics,
        now: Duration,
    ) -> (Arc<RunningRoom>, Option<RoomPermit>) {
        let names = (Arc::clone(&self.name), Some(self.creator));
        let room = Arc::new(RunningRoom::new(self.number, names, handle, metrics, now));
        let presence = room.enter();
        (room, presence)
    }

    /// Lists the room, so that other clients can enter.
    pub fn publish(self, room: &Arc<RunningRoom>) {
        self.rooms.listed.lock().present.insert(Arc::clone(&self.name), Arc::clone(room));
    }
}

impl Drop for RoomReservation<'_> {
    fn drop(&mut self) {
        self.rooms.listed.lock().reserved.remove(&self.name);
        self.rooms.made.notify_all();
    }
}

impl Rooms {
    /// Lists a room that is not on demand, and returns its run.
    pub fn add(&self, handle: Arc<RoomHandle>, metrics: &Metrics, now: Duration) -> Arc<RunningRoom> {
        let names = (Arc::clone(&handle.options.name), None);
        self.list(RunningRoom::new(self.next_number(), names, handle, metrics, now))
    }

    /// Replaces a room's current run in the list by a new run, and returns the new run.
    pub fn replace(
        &self,
        room: &RunningRoom,
        handle: Arc<RoomHandle>,
        metrics: &Metrics,
        now: Duration,
    ) -> Arc<RunningRoom> {
        let names = (Arc::clone(&room.path_name), room.created_by);
        self.list(RunningRoom::new(self.next_number(), names, handle, metrics, now))
    }

    fn list(&self, room: RunningRoom) -> Arc<RunningRoom> {
        let room = Arc::new(room);
        self.listed.lock().present.insert(Arc::clone(&room.path_name), Arc::clone(&room));
        room
    }

    fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks whether an address prefix may create another room on demand.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn may_make(&self, creator: AddressPrefix, limits: RoomLimits) -> Result<(), CreateRoomError> {
        self.listed.lock().check_create(creator, limits)
    }

    /// Returns the number of rooms on demand, including reserved ones.
    pub fn on_demand_count(&self) -> usize {
        self.listed.lock().creators().count()
    }

    /// Returns the number of clients and suspended players in the fullest room of this game that
    /// meets the conditions and has a free place.
    pub fn fullest_occupied(&self, game: &str, wanted: &RoomConditions) -> Option<usize> {
        let rooms = self.all().into_iter();
        let open = rooms.filter(|room| room.is_open_to(game, wanted) && room.has_free_place());
        open.map(|room| room.occupied()).max()
    }

    /// Reserves the name of a new room. Returns `None` if the room exists. While another client's
    /// reservation of the name exists, waits for its end.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn reserve(
        &self,
        name: &str,
        creator: AddressPrefix,
        limits: RoomLimits,
    ) -> Result<Option<RoomReservation<'_>>, CreateRoomError> {
        let mut listed = self.listed.lock();
        while listed.reserved.contains_key(name) {
            self.made.wait(&mut listed);
        }
        if listed.present.contains_key(name) {
            return Ok(None);
        }
        listed.check_create(creator, limits)?;
        Ok(Some(self.reserve_name(&mut listed, name, creator)))
    }

    fn reserve_name(&self, listed: &mut RoomList, name: &str, creator: AddressPrefix) -> RoomReservation<'_> {
        let name: Arc<str> = name.into();
        listed.reserved.insert(Arc::clone(&name), creator);
        RoomReservation { rooms: self, name, creator, number: self.next_number() }
    }

    /// Removes a room from the list, which frees its name. The room must be ending, or have no
    /// clients and nothing to do in its next tick. Returns whether the room has ended.
    pub fn end(&self, room: &Arc<RunningRoom>, metrics: &Metrics, tap: &Tap) -> bool {
        let mut listed = self.listed.lock();
        let is_unused = || room.clients() == 0 && room.handle.is_idle();
        if !room.is_ending() && !is_unused() {
            return false;
        }
        room.is_ending.store(true, Ordering::Release);
        if room.has_ended.swap(true, Ordering::Relaxed) {
            return true;
        }
        // Under the lock, so that the tap receives this end before the start of the next room with
        // this name.
        tap.remove_room(&room.run());
        metrics.forget_room(room.name());
        let is_present = listed.present.get(&room.path_name).is_some_and(|other| Arc::ptr_eq(other, room));
        if is_present {
            listed.present.remove(&room.path_name);
        }
        true
    }

    /// Finds a room of this game that meets the conditions, and enters it. Otherwise reserves
    /// `new_room`, if there is one: its name, the creator, and the limits.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn enter_any(
        &self,
        game: &str,
        wanted: &RoomConditions,
        new_room: Option<(&str, AddressPrefix, RoomLimits)>,
    ) -> Result<AnyRoom<'_>, CreateRoomError> {
        let mut listed = self.listed.lock();
        loop {
            if let Some(entered) = listed.enter_fullest(game, wanted) {
                return Ok(entered);
            }
            if listed.reserved.keys().all(|name| routes::is_private(name)) {
                break;
            }
            self.made.wait(&mut listed);
        }
        let Some((name, creator, limits)) = new_room else { return Ok(AnyRoom::None) };
        if listed.present.contains_key(name) || listed.reserved.contains_key(name) {
            return Ok(AnyRoom::None);
        }
        listed.check_create(creator, limits)?;
        Ok(AnyRoom::Reserved(self.reserve_name(&mut listed, name, creator)))
    }

    /// Returns the room of this name, and a slot in it unless the room is full.
    pub fn enter(&self, name: &str) -> Option<(Arc<RunningRoom>, Option<RoomPermit>)> {
        let listed = self.listed.lock();
        let room = listed.present.get(name)?;
        Some((Arc::clone(room), room.enter()))
    }

    /// Returns the room of this name.
    pub fn find(&self, name: &str) -> Option<Arc<RunningRoom>> {
        self.listed.lock().present.get(name).map(Arc::clone)
    }

    /// Returns all rooms ordered by name, the default room first.
    pub fn all(&self) -> Vec<Arc<RunningRoom>> {
        self.listed.lock().present.values().map(Arc::clone).collect()
    }

    /// Returns a line for each room that neither ticks nor sleeps. Empty if the server is healthy.
    pub fn health_problems(&self, now: Duration) -> String {
        let problem =
            |room: &RunningRoom| room.health_problem(now).map(|why| format!("{} {why}\n", room.title()));
        self.all().iter().filter_map(|room| problem(room)).collect()
    }

    /// Wakes the threads of all rooms.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|room| room.wake());
    }
}
