//! Admission: decides which connections get a thread.
//!
//! An accepted connection gets a [`Permit`] for one slot, or a refusal with 503 or 403. The slot is
//! *pending* until the last response is sent, or until the connection becomes a *client* or an
//! *inspector*. Dropping the permit releases the slot. [`pool`] decides which connection gets a
//! slot, and which pending connection is displaced by a new one.
//!
//! A connection from a trusted proxy counts toward no address until its head names the client's
//! address. So clients behind a proxy do not share one limit.

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

/// The purpose of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotKind {
    /// A request without a response yet.
    Pending,
    /// A client of a room.
    Client,
    /// An inspector at `/wire`.
    Inspector,
}

/// Why a connection is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// No slot is free, in total or for this address prefix.
    NoSlot(SlotKind, NoSlot),
    /// A new connection displaced this pending request.
    Displaced,
    /// The server is stopping or could not start a thread.
    Unavailable,
    /// The address prefix is banned.
    Banned,
}

impl RefusalReason {
    /// Returns the name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            RefusalReason::NoSlot(SlotKind::Pending, NoSlot::Full) => "heads_pending",
            RefusalReason::NoSlot(SlotKind::Pending, NoSlot::AddressLimit) => "heads_pending_for_address",
            RefusalReason::NoSlot(SlotKind::Client, NoSlot::Full) => "clients",
            RefusalReason::NoSlot(SlotKind::Client, NoSlot::AddressLimit) => "clients_for_address",
            RefusalReason::NoSlot(SlotKind::Inspector, NoSlot::Full) => "inspectors",
            RefusalReason::NoSlot(SlotKind::Inspector, NoSlot::AddressLimit) => "inspectors_for_address",
            RefusalReason::Displaced => "displaced",
            RefusalReason::Unavailable => "unavailable",
            RefusalReason::Banned => "banned",
        }
    }

    /// Returns the status: 403 for a ban, because a retry does not help, otherwise 503.
    pub fn status(self) -> u16 {
        if self == RefusalReason::Banned { 403 } else { 503 }
    }
}

/// The caps in use, derived from [`limits`], the flags and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Maximum number of clients.
    pub clients: usize,
    /// Maximum number of clients per address prefix.
    pub clients_per_address: usize,
    /// Whether client slots are shared fairly among addresses. If not, the first addresses to
    /// connect may take all of them.
    pub divides_client_slots: bool,
    /// Maximum number of pending requests.
    pub pending: usize,
    /// Maximum number of pending requests per address prefix.
    pub pending_per_address: usize,
}

/// The slots of all connections of a server.
#[derive(Debug)]
pub struct Admission {
    counts: Mutex<AdmissionState>,
    /// Signaled when the slot of a pending request is released.
    slot_released: Condvar,
}

#[derive(Debug)]
struct AdmissionState {
    /// Number of the latest connection.
    last_number: u64,
    /// Indexed by [`SlotKind`].
    pools: [Pool; 3],
    banned: BTreeSet<AddressPrefix>,
}

/// An admitted connection.
#[derive(Debug)]
pub struct Admitted {
    /// The connection's slot.
    pub permit: Permit,
    /// Number of the displaced connection. The caller must shut it down.
    pub displaced: Option<u64>,
}

/// A slot, released when the permit is dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    number: u64,
    /// `None` until a trusted proxy names the client's address.
    prefix: Option<AddressPrefix>,
    place: SlotKind,
}

impl AdmissionState {
    fn pool(&mut self, place: SlotKind) -> &mut Pool {
        &mut self.pools[place as usize]
    }

    /// Checks that the address prefix is not banned and that the pending request was not displaced.
    fn check(&mut self, number: u64, prefix: AddressPrefix) -> Result<(), RefusalReason> {
        if self.banned.contains(&prefix) {
            return Err(RefusalReason::Banned);
        }
        if self.pool(SlotKind::Pending).holds(number) { Ok(()) } else { Err(RefusalReason::Displaced) }
    }
}

impl Admission {
    /// Creates an admission with these caps and no connections.
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
        let inspectors =
            PoolConfig { slots: places, per_address: places, is_divided: true, allows_displacement: false };
        let pools = [pending, clients, inspectors].map(Pool::new);
        let counts = AdmissionState { last_number: 0, pools, banned: BTreeSet::new() };
        Arc::new(Admission { counts: Mutex::new(counts), slot_released: Condvar::new() })
    }

    /// Takes a slot for a new connection, before its request is read. `prefix` is `None` for a
    /// connection from a trusted proxy; [`Permit::set_address`] then sets the client's address. If
    /// the pool is full and some of its connections were displaced, waits at most
    /// [`limits::DISPLACED_WAIT`] for one of them to end. The wait is short, because the threads of
    /// displaced connections have nothing left to do. No other call of this layer waits.
    ///
    /// # Errors
    /// The cap that is reached, or the ban.
    pub fn admit(self: &Arc<Admission>, prefix: Option<AddressPrefix>) -> Result<Admitted, RefusalReason> {
        let mut counts = self.counts.lock();
        if prefix.is_some_and(|prefix| counts.banned.contains(&prefix)) {
            return Err(RefusalReason::Banned);
        }
        counts.last_number += 1;
        let number = counts.last_number;
        let mut taken = counts.pool(SlotKind::Pending).take(number, prefix);
        while taken == Err(NoSlot::Full) && counts.pool(SlotKind::Pending).has_displaced() {
            if self.slot_released.wait_for(&mut counts, limits::DISPLACED_WAIT).timed_out() {
                break;
            }
            taken = counts.pool(SlotKind::Pending).take(number, prefix);
        }
        let displaced = taken.map_err(|why| RefusalReason::NoSlot(SlotKind::Pending, why))?;
        let permit = Permit { admission: Arc::clone(self), number, prefix, place: SlotKind::Pending };
        Ok(Admitted { permit, displaced })
    }

    /// Bans this address prefix. Returns whether the ban is new; `None` if [`limits::MAX_BANS`] is
    /// reached.
    pub fn ban(&self, prefix: AddressPrefix) -> Option<bool> {
        let banned = &mut self.counts.lock().banned;
        let has_room = banned.len() < limits::MAX_BANS || banned.contains(&prefix);
        has_room.then(|| banned.insert(prefix))
    }

    /// Lifts the ban of this address prefix. Returns whether it was banned.
    pub fn unban(&self, prefix: AddressPrefix) -> bool {
        self.counts.lock().banned.remove(&prefix)
    }

    /// Returns the banned address prefixes, sorted.
    pub fn bans(&self) -> Vec<AddressPrefix> {
        self.counts.lock().banned.iter().copied().collect()
    }

    /// Whether an address prefix is banned.
    pub fn is_banned(&self, prefix: AddressPrefix) -> bool {
        self.counts.lock().banned.contains(&prefix)
    }

    /// Returns the numbers of the connections that wait for a further request.
    pub fn idle(&self) -> Vec<u64> {
        self.counts.lock().pool(SlotKind::Pending).idle()
    }

    /// Returns the number of slots of this kind in use.
    pub fn in_use(&self, place: SlotKind) -> usize {
        self.counts.lock().pool(place).held()
    }
}

impl Permit {
    /// Returns the connection's number, unique in this run of the server.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Attributes the pending request to an address prefix, once. Later calls have no effect.
    ///
    /// # Errors
    /// The cap that is reached, or the ban. The permit is then unchanged.
    pub fn set_address(&mut self, prefix: AddressPrefix) -> Result<(), RefusalReason> {
        if self.prefix.is_some() {
            return Ok(());
        }
        let mut counts = self.admission.counts.lock();
        counts.check(self.number, prefix)?;
        let attributed = counts.pool(SlotKind::Pending).set_address(self.number, prefix);
        attributed.map_err(|why| RefusalReason::NoSlot(SlotKind::Pending, why))?;
        self.prefix = Some(prefix);
        Ok(())
    }

    /// Attributes the pending request to the client of a relay, instead of the relay.
    ///
    /// # Errors
    /// The cap that is reached, or the ban. The permit is then unchanged.
    pub fn move_to_address(&mut self, prefix: AddressPrefix) -> Result<(), RefusalReason> {
        let mut counts = self.admission.counts.lock();
        counts.check(self.number, prefix)?;
        let moved = counts.pool(SlotKind::Pending).move_to_address(self.number, prefix);
        moved.map_err(|why| RefusalReason::NoSlot(SlotKind::Pending, why))?;
        self.prefix = Some(prefix);
        Ok(())
    }

    /// Marks the connection as idle until its next request. A new connection may then displace it.
    /// Returns whether the slot is still held.
    pub fn begin_idle(&self) -> bool {
        self.admission.counts.lock().pool(SlotKind::Pending).set_idle(self.number, true)
    }

    /// Marks the connection as having a request.
    ///
    /// # Errors
    /// The ban, or the displacement.
    pub fn end_idle(&self) -> Result<(), RefusalReason> {
        let prefix = self.prefix.ok_or(RefusalReason::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        counts.pool(SlotKind::Pending).set_idle(self.number, false);
        counts.check(self.number, prefix)
    }

    /// Turns the slot of a pending request into a slot of this kind.
    ///
    /// # Errors
    /// The cap that is reached, the ban, or the displacement. The permit is then unchanged.
    pub fn convert_to(&mut self, place: SlotKind) -> Result<(), RefusalReason> {
        // A proxied connection without a client address counts toward no address, so it cannot
        // become a client.
        let prefix = self.prefix.ok_or(RefusalReason::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        counts.check(self.number, prefix)?;
        let taken = counts.pool(place).take(self.number, Some(prefix));
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
