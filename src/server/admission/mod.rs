//! Admission: decides which connection gets a thread.
//!
//! An accepted connection gets a [`Permit`], or the reason for a 503 or 403. A permit counts as
//! *pending* until its request is answered, or until it becomes a *client* or a *watcher*; dropping
//! the permit gives its place back. [`pool`] decides which connection gets a place,
//! and which pending connection loses its place to a new one.
//!
//! A connection from a trusted proxy counts towards no address until its head names the client's
//! address, so clients behind a proxy do not share one budget.

pub mod address_rate_limits;
pub mod auth_limiter;
pub mod pool;
pub mod refusal;
pub mod secret;
pub mod sync_scheduler;
pub mod tokens;
pub mod upgrade_check;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::pool::{NoSlot, Pool, PoolConfig};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::{Condvar, Mutex};

/// The purpose of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotKind {
    /// An unfinished request.
    Pending,
    /// A client.
    Client,
    /// A watcher at `/wire`.
    Inspector,
}

/// The reason for refusing a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// There is no place, in total or for this address.
    NoSlot(SlotKind, NoSlot),
    /// A new connection took the place of this unfinished request.
    Displaced,
    /// The server is stopping or could not start a thread.
    Unavailable,
    /// The operator bans this address.
    Banned,
}

impl RefusalReason {
    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            RefusalReason::NoSlot(SlotKind::Pending, NoSlot::Full) => "heads_pending",
            RefusalReason::NoSlot(SlotKind::Pending, NoSlot::AddressLimit) => "heads_pending_for_address",
            RefusalReason::NoSlot(SlotKind::Client, NoSlot::Full) => "clients",
            RefusalReason::NoSlot(SlotKind::Client, NoSlot::AddressLimit) => "clients_for_address",
            RefusalReason::NoSlot(SlotKind::Inspector, NoSlot::Full) => "watchers",
            RefusalReason::NoSlot(SlotKind::Inspector, NoSlot::AddressLimit) => "watchers_for_address",
            RefusalReason::Displaced => "displaced",
            RefusalReason::Unavailable => "unavailable",
            RefusalReason::Banned => "banned",
        }
    }

    /// The status of the response: 403 for a ban, which is permanent, otherwise 503.
    pub fn status(self) -> u16 {
        if self == RefusalReason::Banned { 403 } else { 503 }
    }
}

/// The caps in use, from [`limits`], the flags and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Clients in total.
    pub clients: usize,
    /// Clients of one address.
    pub clients_per_address: usize,
    /// Whether addresses share the places of clients. If not, the first addresses to connect may
    /// hold all of them.
    pub divides_client_slots: bool,
    /// Unfinished requests in total.
    pub pending: usize,
    /// Unfinished requests of one address.
    pub pending_per_address: usize,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Admission {
    counts: Mutex<AdmissionState>,
    /// A place for an unfinished request is free again.
    slot_released: Condvar,
}

#[derive(Debug)]
struct AdmissionState {
    /// The number of the last connection of this run of the server.
    last_number: u64,
    /// By [`SlotKind`].
    pools: [Pool; 3],
    banned: BTreeSet<AddressPrefix>,
}

/// An admitted connection.
#[derive(Debug)]
pub struct Admitted {
    /// The connection's place.
    pub permit: Permit,
    /// The number of the connection that lost its place to this one; the caller must cut it.
    pub displaced: Option<u64>,
}

/// A place, which is given back when the permit is dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    number: u64,
    /// Unknown until a proxy names the client's address.
    household: Option<AddressPrefix>,
    place: SlotKind,
}

impl AdmissionState {
    fn pool(&mut self, place: SlotKind) -> &mut Pool {
        &mut self.pools[place as usize]
    }

    /// Whether this unfinished request of this address still has its place.
    fn check(&mut self, number: u64, household: AddressPrefix) -> Result<(), RefusalReason> {
        if self.banned.contains(&household) {
            return Err(RefusalReason::Banned);
        }
        if self.pool(SlotKind::Pending).holds(number) { Ok(()) } else { Err(RefusalReason::Displaced) }
    }
}

impl Admission {
    /// Admission with these caps and no connections.
    pub fn new(caps: Capacity) -> Arc<Admission> {
        let pending = PoolConfig {
            slots: caps.pending,
            per_address: caps.pending_per_address,
            is_divided: true,
            allows_displacement: true,
        };
        let clients = PoolConfig {
            slots: caps.clients,
            per_address: caps.clients_per_address,
            is_divided: caps.divides_client_slots,
            allows_displacement: false,
        };
        let places = limits::MAX_INSPECTORS;
        let watchers =
            PoolConfig { slots: places, per_address: places, is_divided: true, allows_displacement: false };
        let pools = [pending, clients, watchers].map(Pool::new);
        let counts = AdmissionState { last_number: 0, pools, banned: BTreeSet::new() };
        Arc::new(Admission { counts: Mutex::new(counts), slot_released: Condvar::new() })
    }

    /// Returns a place for a connection whose request is yet to be read. `household` is `None` for a
    /// connection from a trusted proxy, whose client is set later by [`Permit::belongs_to`]. If
    /// only displaced connections occupy the remaining places, waits at most
    /// [`limits::DISPLACED_WAIT`] for one of them to end: their threads have nothing left to do. No
    /// other call of this layer waits.
    ///
    /// # Errors
    /// The cap that is reached, or the ban.
    pub fn admit(self: &Arc<Admission>, household: Option<AddressPrefix>) -> Result<Admitted, RefusalReason> {
        let mut counts = self.counts.lock();
        if household.is_some_and(|household| counts.banned.contains(&household)) {
            return Err(RefusalReason::Banned);
        }
        counts.last_number += 1;
        let number = counts.last_number;
        let mut taken = counts.pool(SlotKind::Pending).take(number, household);
        while taken == Err(NoSlot::Full) && counts.pool(SlotKind::Pending).has_displaced() {
            if self.slot_released.wait_for(&mut counts, limits::DISPLACED_WAIT).timed_out() {
                break;
            }
            taken = counts.pool(SlotKind::Pending).take(number, household);
        }
        let displaced = taken.map_err(|why| RefusalReason::NoSlot(SlotKind::Pending, why))?;
        let permit = Permit { admission: Arc::clone(self), number, household, place: SlotKind::Pending };
        Ok(Admitted { permit, displaced })
    }

    /// Bans this household. Returns whether the ban is new; `None` if [`limits::MAX_BANS`] is reached.
    pub fn ban(&self, household: AddressPrefix) -> Option<bool> {
        let banned = &mut self.counts.lock().banned;
        let has_room = banned.len() < limits::MAX_BANS || banned.contains(&household);
        has_room.then(|| banned.insert(household))
    }

    /// Lifts the ban of this household. Returns whether it was banned.
    pub fn unban(&self, household: AddressPrefix) -> bool {
        self.counts.lock().banned.remove(&household)
    }

    /// The banned households, sorted.
    pub fn bans(&self) -> Vec<AddressPrefix> {
        self.counts.lock().banned.iter().copied().collect()
    }

    /// Whether a household is banned.
    pub fn is_banned(&self, household: AddressPrefix) -> bool {
        self.counts.lock().banned.contains(&household)
    }

    /// The number of places that are taken for this.
    pub fn in_use(&self, place: SlotKind) -> usize {
        self.counts.lock().pool(place).held()
    }
}

impl Permit {
    /// The number of the connection, unique within this run of the server.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Attributes the unfinished request to this address. The attribution never changes afterwards.
    ///
    /// # Errors
    /// The cap that is reached, or the ban; the permit stays what it was.
    pub fn set_address(&mut self, household: AddressPrefix) -> Result<(), RefusalReason> {
        if self.household.is_some() {
            return Ok(());
        }
        let mut counts = self.admission.counts.lock();
        counts.check(self.number, household)?;
        let attributed = counts.pool(SlotKind::Pending).set_address(self.number, household);
        attributed.map_err(|why| RefusalReason::NoSlot(SlotKind::Pending, why))?;
        self.household = Some(household);
        Ok(())
    }

    /// Turns the place of an unfinished request into that of a client or watcher.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn convert_to(&mut self, place: SlotKind) -> Result<(), RefusalReason> {
        // A proxy's connection whose client is unknown counts for no address, so it cannot be a client.
        let household = self.household.ok_or(RefusalReason::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        counts.check(self.number, household)?;
        let taken = counts.pool(place).take(self.number, Some(household));
        taken.map_err(|why| RefusalReason::NoSlot(place, why))?;
        counts.pool(SlotKind::Pending).release(self.number);
        self.admission.slot_released.notify_one();
        self.place = place;
        Ok(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.counts.lock().pool(self.place).release(self.number);
        if self.place == SlotKind::Pending {
            self.admission.slot_released.notify_one();
        }
    }
}

impl Default for Capacity {
    fn default() -> Capacity {
        Capacity {
            clients: limits::CLIENTS_DEFAULT,
            clients_per_address: limits::CLIENTS_PER_ADDRESS,
            divides_client_slots: true,
            pending: limits::MAX_PENDING_REQUESTS,
            pending_per_address: limits::MAX_PENDING_REQUESTS_PER_ADDRESS,
        }
    }
}
