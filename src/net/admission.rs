//! Admission: which connection may have a thread.
//!
//! An accepted connection gets a [`Permit`], or a reason for a 503 or 403, which costs no thread unless a head had to be read first. A
//! permit counts as *pending* until its request is answered, or until it becomes a *client* or a *watcher*; dropping it gives the place
//! back. Who gets a place, and who loses one to a newcomer, is decided by [`pool`](super::pool). Only a pending connection is ever
//! displaced: the listener cuts it. A trusted proxy's connections count for no address until their head has said whose they are: its
//! clients do not share one budget. Bans and shares are for a household: an IPv4 address, or a /64 of IPv6.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::household::Household;
use super::pool::{NoPlace, Pool, Shares};
use super::sync::{Condvar, Mutex};
use crate::limits;

/// Why a connection is turned away, in the words of the log and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnedAway {
    /// Too many requests are being read, in all.
    HeadsPending,
    /// Too many requests are being read for this address.
    HeadsPendingForAddress,
    /// A newcomer took the place of this unfinished request.
    Displaced,
    /// The server is full.
    Clients,
    /// This address has all the clients it may have.
    ClientsForAddress,
    /// Enough others watch at `/wire`.
    Watchers,
    /// This address has all the watchers it may have.
    WatchersForAddress,
    /// The server is stopping or could not start a thread.
    Unavailable,
    /// The operator bans this address.
    Banned,
}

impl TurnedAway {
    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            TurnedAway::HeadsPending => "heads_pending",
            TurnedAway::HeadsPendingForAddress => "heads_pending_for_address",
            TurnedAway::Displaced => "displaced",
            TurnedAway::Clients => "clients",
            TurnedAway::ClientsForAddress => "clients_for_address",
            TurnedAway::Watchers => "watchers",
            TurnedAway::WatchersForAddress => "watchers_for_address",
            TurnedAway::Unavailable => "unavailable",
            TurnedAway::Banned => "banned",
        }
    }

    /// The status of the answer: a ban is for good, the others pass.
    pub fn status(self) -> u16 {
        if self == TurnedAway::Banned { 403 } else { 503 }
    }
}

/// The caps in force: those of [`limits`], the flags and the machine.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Clients in all.
    pub clients: usize,
    /// Clients of one address. As many as in all, or more, say that one address may have all of them.
    pub clients_per_address: usize,
    /// Unfinished requests in all.
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

/// A connection that is let in.
#[derive(Debug)]
pub struct Admitted {
    /// Its place.
    pub permit: Permit,
    /// The number of the connection whose place it took, which is to be cut.
    pub displaced: Option<u64>,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    number: u64,
    /// Unknown while a proxy has not said whose it is.
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
    fn turned_away(self, why: NoPlace) -> TurnedAway {
        match (self, why) {
            (Role::Pending, NoPlace::Full) => TurnedAway::HeadsPending,
            (Role::Pending, NoPlace::ForAddress) => TurnedAway::HeadsPendingForAddress,
            (Role::Client, NoPlace::Full) => TurnedAway::Clients,
            (Role::Client, NoPlace::ForAddress) => TurnedAway::ClientsForAddress,
            (Role::Watcher, NoPlace::Full) => TurnedAway::Watchers,
            (Role::Watcher, NoPlace::ForAddress) => TurnedAway::WatchersForAddress,
        }
    }
}

impl Admission {
    /// Admission with these caps, and nobody there.
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
            // Whoever lets one address have all clients wants no shares.
            is_shared: caps.clients_per_address < caps.clients,
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

    /// A place for a connection whose request is yet to be read; `None` for one of a trusted proxy: whose it is comes later, by
    /// [`Permit::belongs_to`]. When only displaced connections are in the way, waits for the end of one, at most for
    /// [`limits::DISPLACED_TIME`]: their threads have nothing to do but to end.
    ///
    /// # Errors
    /// The cap that is reached, or the ban.
    pub fn admit(self: &Arc<Admission>, address: Option<IpAddr>) -> Result<Admitted, TurnedAway> {
        let household = address.map(Household::of);
        let mut counts = self.counts.lock();
        if household.is_some_and(|household| counts.banned.contains(&household)) {
            return Err(TurnedAway::Banned);
        }
        let number = counts.next_number();
        let deadline = Instant::now() + limits::DISPLACED_TIME;
        let displaced = loop {
            let taken = match household {
                Some(household) => counts.pending.take(number, household.prefix()),
                None => counts.pending.take_unknown(number),
            };
            match taken {
                Err(NoPlace::Full) if counts.pending.is_anyone_leaving() => {
                    if self.place_is_back.wait_until(&mut counts, deadline).timed_out() {
                        return Err(TurnedAway::HeadsPending);
                    }
                }
                Err(why) => return Err(Role::Pending.turned_away(why)),
                Ok(displaced) => break displaced,
            }
        };
        let permit = Permit { admission: Arc::clone(self), number, household, role: Role::Pending };
        Ok(Admitted { permit, displaced })
    }

    /// Lets nobody of this address's household in from now on. Tells whether that is news; `None` when [`limits::BANS`] is reached.
    pub fn ban(&self, address: IpAddr) -> Option<bool> {
        let household = Household::of(address);
        let mut counts = self.counts.lock();
        if counts.banned.len() >= limits::BANS && !counts.banned.contains(&household) {
            return None;
        }
        Some(counts.banned.insert(household))
    }

    /// Lets the household of this address in again. Tells whether it was banned.
    pub fn unban(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.remove(&Household::of(address))
    }

    /// What is banned, in its order.
    pub fn bans(&self) -> Vec<Household> {
        self.counts.lock().banned.iter().copied().collect()
    }

    /// Whether an address is banned.
    pub fn is_banned(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.contains(&Household::of(address))
    }

    /// Clients at the moment.
    pub fn clients(&self) -> usize {
        self.counts.lock().clients.held()
    }
}

impl Permit {
    /// The number of the connection, which no other one of this start of the server has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Says whose the unfinished request is: from now on it counts for this address. Whose it is once never changes.
    ///
    /// # Errors
    /// The cap that is reached, or the ban; the permit stays what it was.
    pub fn belongs_to(&mut self, address: IpAddr) -> Result<(), TurnedAway> {
        if self.household.is_some() {
            return Ok(());
        }
        let household = Household::of(address);
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&household) {
            return Err(TurnedAway::Banned);
        }
        if !counts.pending.holds(self.number) {
            return Err(TurnedAway::Displaced);
        }
        let told = counts.pending.belongs_to(self.number, household.prefix());
        told.map_err(|why| Role::Pending.turned_away(why))?;
        self.household = Some(household);
        Ok(())
    }

    /// Turns the place of an unfinished request into that of a client.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn become_client(&mut self) -> Result<(), TurnedAway> {
        self.becomes(Role::Client)
    }

    /// Turns the place of an unfinished request into that of a watcher.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn become_watcher(&mut self) -> Result<(), TurnedAway> {
        self.becomes(Role::Watcher)
    }

    fn becomes(&mut self, role: Role) -> Result<(), TurnedAway> {
        // A proxy's connection that nobody has asked whose it is counts for nobody, so it cannot be a client either.
        let household = self.household.ok_or(TurnedAway::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&household) {
            return Err(TurnedAway::Banned);
        }
        if !counts.pending.holds(self.number) {
            return Err(TurnedAway::Displaced);
        }
        let taken = counts.pool(role).take(self.number, household.prefix());
        taken.map_err(|why| role.turned_away(why))?;
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
            pending: limits::HEADS_PENDING,
            pending_per_address: limits::HEADS_PENDING_PER_ADDRESS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));
    const NEAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 10));
    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn admit(admission: &Arc<Admission>, address: IpAddr) -> Result<Permit, TurnedAway> {
        admission.admit(Some(address)).map(|admitted| admitted.permit)
    }

    fn is_empty(admission: &Admission) -> bool {
        let counts = admission.counts.lock();
        counts.pending.is_empty() && counts.clients.is_empty() && counts.watchers.is_empty()
    }

    #[test]
    fn pending_caps_hold_in_all_and_per_address() {
        let admission = Admission::new(Caps { pending: 3, pending_per_address: 1, ..Caps::default() });
        let first = admit(&admission, FAR).unwrap();
        assert_eq!(admit(&admission, FAR).unwrap_err(), TurnedAway::HeadsPendingForAddress);
        let _others = [HERE, NEAR].map(|address| admission.admit(Some(address)).unwrap());
        let [v4, v6] = ["203.0.113.11", "2001:db8::1"].map(|text| text.parse().expect("an address"));
        assert_eq!(admit(&admission, v4).unwrap_err(), TurnedAway::HeadsPending);
        drop(first);
        assert!(admit(&admission, v6).is_ok());
    }

    #[test]
    fn a_displaced_request_becomes_nothing_and_gives_its_place_back_once() {
        let admission = Admission::new(Caps { pending: 4, ..Caps::default() });
        let mut greedy = [FAR, FAR].map(|address| admit(&admission, address).unwrap());
        let near = admit(&admission, NEAR).unwrap();
        let Admitted { mut permit, displaced } = admission.admit(Some(HERE)).unwrap();
        assert_eq!(displaced, Some(greedy[0].number()), "the oldest of the address that has most");
        assert_eq!(greedy[0].become_client(), Err(TurnedAway::Displaced));
        assert_eq!(greedy[0].become_watcher(), Err(TurnedAway::Displaced));
        greedy[1].become_client().unwrap();
        permit.become_client().unwrap();
        drop((greedy, near, permit));
        assert!(is_empty(&admission));
    }

    #[test]
    fn a_newcomer_waits_for_the_end_of_a_displaced_connection() {
        let admission = Admission::new(Caps { pending: 2, ..Caps::default() });
        let first = admit(&admission, FAR).unwrap();
        let Admitted { permit: second, displaced } = admission.admit(Some(NEAR)).unwrap();
        assert!(displaced.is_some(), "the second place is the reserve");
        let admitted = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| admission.admit(Some(HERE)));
            // The thread of a displaced connection, which ends when it may.
            std::thread::yield_now();
            drop(first);
            waiting.join().expect("no panic")
        });
        assert_eq!(admitted.unwrap().displaced, Some(second.number()));
    }

    #[test]
    fn clients_and_watchers_are_never_displaced() {
        let admission = Admission::new(Caps { pending: 2, ..Caps::default() });
        let address = |number: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
        let mut kept = Vec::new();
        for number in 0..40 {
            let Admitted { mut permit, displaced } = admission.admit(Some(address(number))).unwrap();
            assert_eq!(displaced, None);
            if number % 10 == 0 { permit.become_watcher() } else { permit.become_client() }.unwrap();
            kept.push(permit);
        }
        drop(kept);
        assert!(is_empty(&admission));
    }

    #[test]
    fn one_address_has_half_of_the_watchers() {
        let admission = Admission::new(Caps::default());
        let watch = |address| {
            admit(&admission, address).and_then(|mut permit| permit.become_watcher().map(|()| permit))
        };
        let here: Vec<_> = (0..limits::WATCHERS / 2).map(|_| watch(HERE).unwrap()).collect();
        assert_eq!(watch(HERE).unwrap_err(), TurnedAway::WatchersForAddress);
        assert!(watch(FAR).is_ok());
        drop(here);
        assert!(watch(HERE).is_ok() && is_empty(&admission));
    }

    #[test]
    fn a_proxys_requests_count_for_who_is_behind_it() {
        let admission = Admission::new(Caps {
            pending: 16,
            pending_per_address: 1,
            clients_per_address: 1,
            ..Caps::default()
        });
        let mut permits = [(); 4].map(|()| admission.admit(None).unwrap().permit);
        admission.ban(HERE);
        let [first, second, third, fourth] = &mut permits;
        assert_eq!(first.become_client(), Err(TurnedAway::Unavailable), "whose it is comes first");
        first.belongs_to(FAR).unwrap();
        first.belongs_to(FAR).unwrap();
        assert_eq!(second.belongs_to(FAR), Err(TurnedAway::HeadsPendingForAddress));
        assert_eq!(third.belongs_to(HERE), Err(TurnedAway::Banned));
        fourth.belongs_to(NEAR).unwrap();
        first.become_client().unwrap();
        second.belongs_to(FAR).unwrap();
        assert_eq!(second.become_client(), Err(TurnedAway::ClientsForAddress));
        fourth.become_client().unwrap();
        drop(permits);
        assert!(is_empty(&admission));
    }

    #[test]
    fn a_banned_address_gets_no_place_and_turns_no_request_into_a_client() {
        let admission = Admission::new(Caps::default());
        let mut before = admit(&admission, FAR).unwrap();
        assert_eq!([admission.ban(FAR), admission.ban(FAR)], [Some(true), Some(false)]);
        assert_eq!(admit(&admission, FAR).unwrap_err(), TurnedAway::Banned);
        assert_eq!(before.become_client(), Err(TurnedAway::Banned));
        assert!(admit(&admission, NEAR).is_ok() && admission.is_banned(FAR) && !admission.is_banned(NEAR));
        assert_eq!(admission.bans(), [Household::of(FAR)]);
        assert_eq!([admission.unban(FAR), admission.unban(FAR)], [true, false]);
        assert!(admit(&admission, FAR).is_ok() && before.become_client().is_ok());
    }

    #[test]
    fn a_network_of_ipv6_has_the_places_and_the_ban_of_one_address() {
        let admission =
            Admission::new(Caps { pending_per_address: 2, clients_per_address: 1, ..Caps::default() });
        let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
        let mut permits = ["2001:db8::1", "2001:db8::2"].map(|text| admit(&admission, ip(text)).unwrap());
        assert_eq!(admit(&admission, ip("2001:db8::3")).unwrap_err(), TurnedAway::HeadsPendingForAddress);
        permits[0].become_client().unwrap();
        assert_eq!(permits[1].become_client(), Err(TurnedAway::ClientsForAddress));
        assert_eq!(admission.ban(ip("2001:db8::9")), Some(true));
        assert_eq!(admission.ban(ip("2001:db8::8")), Some(false), "one ban for all of the /64");
        assert_eq!(admit(&admission, ip("2001:db8::ffff:1")).unwrap_err(), TurnedAway::Banned);
        assert!(admission.is_banned(ip("2001:db8::3")) && admit(&admission, ip("2001:db8:0:1::1")).is_ok());
        assert!(admission.unban(ip("2001:db8::7")) && admit(&admission, ip("2001:db8::9")).is_ok());
        drop(permits);
        assert!(is_empty(&admission));
    }

    #[test]
    fn bans_are_bounded_and_one_again_is_no_more() {
        let admission = Admission::new(Caps::default());
        let address = |number: usize| IpAddr::V4(std::net::Ipv4Addr::from_bits(number as u32));
        for number in 0..limits::BANS {
            assert_eq!(admission.ban(address(number)), Some(true));
        }
        assert_eq!(admission.ban(address(limits::BANS)), None);
        assert_eq!(admission.ban(address(0)), Some(false));
    }

    #[test]
    fn client_caps_hold_and_places_come_back() {
        let admission = Admission::new(Caps { clients: 2, clients_per_address: 1, ..Caps::default() });
        let mut permits = [FAR, FAR, NEAR].map(|address| admit(&admission, address).unwrap());
        permits[0].become_client().unwrap();
        assert_eq!(permits[1].become_client(), Err(TurnedAway::ClientsForAddress));
        let mut here = admit(&admission, HERE).unwrap();
        here.become_client().unwrap();
        assert_eq!(permits[2].become_client(), Err(TurnedAway::Clients));
        assert_eq!(admission.clients(), 2);
        drop((permits, here));
        assert!(admission.clients() == 0 && is_empty(&admission), "an address that left is forgotten");
    }

    #[test]
    fn addresses_that_want_all_clients_leave_room_for_others() {
        let admission = Admission::new(Caps { clients: 200, clients_per_address: 64, ..Caps::default() });
        let address = |number: u32| IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
        let join = |number| {
            let mut permit = admit(&admission, address(number)).ok()?;
            permit.become_client().ok().map(|()| permit)
        };
        let greedy: Vec<_> = (0..200).flat_map(|_| (0..7).map(join).collect::<Vec<_>>()).flatten().collect();
        let others: Vec<_> = (100..125).filter_map(join).collect();
        assert_eq!(others.len(), 25, "{} are greedy", greedy.len());
    }
}
