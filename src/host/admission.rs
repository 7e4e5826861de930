//! Admission: decides which connection gets a thread.
//!
//! An accepted connection gets a [`Permit`], or the reason for a 503 or 403. A refusal costs no
//! thread unless the request head had to be read first. A permit counts as *pending* until its
//! request is answered, or until it becomes a *client* or a *watcher*; dropping the permit gives
//! its place back. [`pool`](super::pool) decides which connection gets a place, and which
//! connection loses its place to a new one. Only pending connections are displaced: the listener
//! cuts them.
//!
//! A connection from a trusted proxy counts for no address until its head names the client's
//! address, so clients behind a proxy do not share one budget. Bans and shares apply to a
//! household: an IPv4 address, or a /64 of IPv6.

// `core`: an address is a value; the sockets are in `std::net`.
use core::net::IpAddr;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::pool::{NoPlace, Pool, Shares};
use crate::household::Household;
use crate::limits;
use crate::sync::{Condvar, Mutex};

/// The reason for turning a connection away, as named in the log and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusedBy {
    /// Too many requests are being read, in total.
    HeadsPending,
    /// Too many requests are being read for this address.
    HeadsPendingForAddress,
    /// A newcomer took the place of this unfinished request.
    Displaced,
    /// The server is full.
    Clients,
    /// This address has reached its limit of clients.
    ClientsForAddress,
    /// The limit of watchers at `/wire` is reached.
    Watchers,
    /// This address has reached its limit of watchers.
    WatchersForAddress,
    /// The server is stopping or could not start a thread.
    Unavailable,
    /// The operator bans this address.
    Banned,
}

impl RefusedBy {
    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            RefusedBy::HeadsPending => "heads_pending",
            RefusedBy::HeadsPendingForAddress => "heads_pending_for_address",
            RefusedBy::Displaced => "displaced",
            RefusedBy::Clients => "clients",
            RefusedBy::ClientsForAddress => "clients_for_address",
            RefusedBy::Watchers => "watchers",
            RefusedBy::WatchersForAddress => "watchers_for_address",
            RefusedBy::Unavailable => "unavailable",
            RefusedBy::Banned => "banned",
        }
    }

    /// The status of the response: 403 for a ban, which is permanent, otherwise 503, which is
    /// temporary.
    pub fn status(self) -> u16 {
        if self == RefusedBy::Banned { 403 } else { 503 }
    }
}

/// The caps in force: those of [`limits`], the flags and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Clients in total.
    pub clients: usize,
    /// Clients of one address.
    pub clients_per_address: usize,
    /// Whether addresses share the places of clients. If not, the first addresses to connect may
    /// hold all of them.
    pub shares_clients: bool,
    /// Unfinished requests in total.
    pub pending: usize,
    /// Unfinished requests of one address.
    pub pending_per_address: usize,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Admission {
    counts: Mutex<Counts>,
    /// A place for an unfinished request is free again.
    place_is_back: Condvar,
}

#[derive(Debug)]
struct Counts {
    /// Counts connections of this start of the server.
    next_number: u64,
    pending: Pool,
    clients: Pool,
    watchers: Pool,
    banned: BTreeSet<Household>,
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
    household: Option<Household>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Pending,
    Client,
    Watcher,
}

impl Counts {
    fn pool(&mut self, role: Role) -> &mut Pool {
        match role {
            Role::Pending => &mut self.pending,
            Role::Client => &mut self.clients,
            Role::Watcher => &mut self.watchers,
        }
    }

    fn next_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}

impl Role {
    fn refused_by(self, why: NoPlace) -> RefusedBy {
        match (self, why) {
            (Role::Pending, NoPlace::Full) => RefusedBy::HeadsPending,
            (Role::Pending, NoPlace::ForAddress) => RefusedBy::HeadsPendingForAddress,
            (Role::Client, NoPlace::Full) => RefusedBy::Clients,
            (Role::Client, NoPlace::ForAddress) => RefusedBy::ClientsForAddress,
            (Role::Watcher, NoPlace::Full) => RefusedBy::Watchers,
            (Role::Watcher, NoPlace::ForAddress) => RefusedBy::WatchersForAddress,
        }
    }
}

impl Admission {
    /// Admission with these caps and no connections.
    pub fn new(caps: Caps) -> Arc<Admission> {
        let pending = Shares {
            places: caps.pending,
            per_address: caps.pending_per_address,
            is_shared: true,
            displaces: true,
        };
        let clients = Shares {
            places: caps.clients,
            per_address: caps.clients_per_address,
            is_shared: caps.shares_clients,
            displaces: false,
        };
        let watchers = limits::WATCHERS;
        let watchers = Shares { places: watchers, per_address: watchers, is_shared: true, displaces: false };
        let counts = Counts {
            next_number: 0,
            pending: Pool::new(pending),
            clients: Pool::new(clients),
            watchers: Pool::new(watchers),
            banned: BTreeSet::new(),
        };
        Arc::new(Admission { counts: Mutex::new(counts), place_is_back: Condvar::new() })
    }

    /// Returns a place for a connection whose request is yet to be read. `address` is `None` for a
    /// connection from a trusted proxy, whose client is set later by [`Permit::belongs_to`]. If
    /// only displaced connections occupy the remaining places, waits at most
    /// [`limits::DISPLACED_TIME`] for one of them to end: their threads have nothing left to do. No
    /// other call of this layer waits.
    ///
    /// # Errors
    /// The cap that is reached, or the ban.
    pub fn admit(self: &Arc<Admission>, address: Option<IpAddr>) -> Result<Admitted, RefusedBy> {
        let household = address.map(Household::of);
        let mut counts = self.counts.lock();
        if household.is_some_and(|household| counts.banned.contains(&household)) {
            return Err(RefusedBy::Banned);
        }
        let number = counts.next_number();
        let displaced = loop {
            let taken = match household {
                Some(household) => counts.pending.take(number, household.prefix()),
                None => counts.pending.take_unknown(number),
            };
            match taken {
                Err(NoPlace::Full) if counts.pending.is_anyone_leaving() => {
                    if self.place_is_back.wait_for(&mut counts, limits::DISPLACED_TIME).timed_out() {
                        return Err(RefusedBy::HeadsPending);
                    }
                }
                Err(why) => return Err(Role::Pending.refused_by(why)),
                Ok(displaced) => break displaced,
            }
        };
        let permit = Permit { admission: Arc::clone(self), number, household, role: Role::Pending };
        Ok(Admitted { permit, displaced })
    }

    /// Bans the household of this address. Returns whether the ban is new; `None` if
    /// [`limits::BANS`] is reached.
    pub fn ban(&self, address: IpAddr) -> Option<bool> {
        let household = Household::of(address);
        let mut counts = self.counts.lock();
        if counts.banned.len() >= limits::BANS && !counts.banned.contains(&household) {
            return None;
        }
        Some(counts.banned.insert(household))
    }

    /// Lifts the ban of this address's household. Returns whether it was banned.
    pub fn unban(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.remove(&Household::of(address))
    }

    /// The banned households, sorted.
    pub fn bans(&self) -> Vec<Household> {
        self.counts.lock().banned.iter().copied().collect()
    }

    /// Whether an address is banned.
    pub fn is_banned(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.contains(&Household::of(address))
    }

    /// The current number of unfinished requests.
    pub fn pending(&self) -> usize {
        self.counts.lock().pending.held()
    }

    /// The current number of clients.
    pub fn clients(&self) -> usize {
        self.counts.lock().clients.held()
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
    pub fn belongs_to(&mut self, address: IpAddr) -> Result<(), RefusedBy> {
        if self.household.is_some() {
            return Ok(());
        }
        let household = Household::of(address);
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&household) {
            return Err(RefusedBy::Banned);
        }
        if !counts.pending.holds(self.number) {
            return Err(RefusedBy::Displaced);
        }
        let told = counts.pending.belongs_to(self.number, household.prefix());
        told.map_err(|why| Role::Pending.refused_by(why))?;
        self.household = Some(household);
        Ok(())
    }

    /// Turns the place of an unfinished request into that of a client.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn become_client(&mut self) -> Result<(), RefusedBy> {
        self.becomes(Role::Client)
    }

    /// Turns the place of an unfinished request into that of a watcher.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn become_watcher(&mut self) -> Result<(), RefusedBy> {
        self.becomes(Role::Watcher)
    }

    fn becomes(&mut self, role: Role) -> Result<(), RefusedBy> {
        // A proxy's connection that nobody has asked whose it is counts for nobody, so it cannot be a client either.
        let household = self.household.ok_or(RefusedBy::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&household) {
            return Err(RefusedBy::Banned);
        }
        if !counts.pending.holds(self.number) {
            return Err(RefusedBy::Displaced);
        }
        let taken = counts.pool(role).take(self.number, household.prefix());
        taken.map_err(|why| role.refused_by(why))?;
        counts.pending.give_back(self.number);
        self.admission.place_is_back.notify_one();
        self.role = role;
        Ok(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.counts.lock().pool(self.role).give_back(self.number);
        if self.role == Role::Pending {
            self.admission.place_is_back.notify_one();
        }
    }
}

impl Default for Caps {
    fn default() -> Caps {
        Caps {
            clients: limits::CLIENTS_DEFAULT,
            clients_per_address: limits::CLIENTS_PER_ADDRESS,
            shares_clients: true,
            pending: limits::HEADS_PENDING,
            pending_per_address: limits::HEADS_PENDING_PER_ADDRESS,
        }
    }
}

#[cfg(test)]
mod tests;
