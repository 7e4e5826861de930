//! Admission: who may have a thread.
//!
//! Comes in: the address of each accepted connection, and the addresses that the operator bans. Goes out: a [`Permit`], or the
//! reason for a 503 or 403, which costs no thread unless a head had to be read first. A permit counts as *pending* until its request head is complete, then as
//! *client*; dropping it gives the place back. A trusted proxy's connections count in all, and for no address until their head has
//! said whose they are: its clients do not share one budget. Never: a connection past the caps of the machine, or of a banned address.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use super::console::gate::household;
use super::sync::Mutex;
use crate::limits;

/// Why a connection is turned away, in the words of the log and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnedAway {
    /// Too many requests are being read, in all.
    HeadsPending,
    /// Too many requests are being read for this address.
    HeadsPendingForAddress,
    /// The server is full.
    Clients,
    /// This address has all the clients it may have.
    ClientsForAddress,
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
            TurnedAway::Clients => "clients",
            TurnedAway::ClientsForAddress => "clients_for_address",
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
    /// Clients of one address.
    pub clients_per_address: usize,
    /// Unfinished requests in all.
    pub pending: usize,
    /// Unfinished requests of one address.
    pub pending_per_address: usize,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Admission {
    caps: Caps,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    pending: usize,
    clients: usize,
    /// By IPv4 address, or by /64 of IPv6, since whoever has one address of it has all.
    by_address: HashMap<IpAddr, AddressCounts>,
    banned: BTreeSet<IpAddr>,
}

#[derive(Debug, Default, Clone, Copy)]
struct AddressCounts {
    pending: usize,
    clients: usize,
}

/// A place; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    admission: Arc<Admission>,
    /// Whose it is, exactly, since bans are; unknown while a proxy has not said so.
    address: Option<IpAddr>,
    is_client: bool,
}

impl Admission {
    /// An empty house with these caps.
    pub fn new(caps: Caps) -> Arc<Admission> {
        Arc::new(Admission { caps, counts: Mutex::default() })
    }

    /// A place for a connection whose request is yet to be read.
    ///
    /// # Errors
    /// The cap that is reached.
    pub fn admit(self: &Arc<Admission>, address: IpAddr) -> Result<Permit, TurnedAway> {
        let mut permit = self.admit_proxy()?;
        permit.belongs_to(address)?;
        Ok(permit)
    }

    /// The same for a connection of a trusted proxy: whose it is comes later, by [`Permit::belongs_to`].
    ///
    /// # Errors
    /// The cap that is reached.
    pub fn admit_proxy(self: &Arc<Admission>) -> Result<Permit, TurnedAway> {
        let mut counts = self.counts.lock();
        if counts.pending >= self.caps.pending {
            return Err(TurnedAway::HeadsPending);
        }
        counts.pending += 1;
        drop(counts);
        Ok(Permit { admission: Arc::clone(self), address: None, is_client: false })
    }

    /// Lets nobody of this address in from now on. Tells whether that is news; `None` when [`limits::BANS`] is reached.
    pub fn ban(&self, address: IpAddr) -> Option<bool> {
        let mut counts = self.counts.lock();
        if counts.banned.len() >= limits::BANS && !counts.banned.contains(&address) {
            return None;
        }
        Some(counts.banned.insert(address))
    }

    /// Lets this address in again. Tells whether it was banned.
    pub fn unban(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.remove(&address)
    }

    /// The banned addresses in their order.
    pub fn bans(&self) -> Vec<IpAddr> {
        self.counts.lock().banned.iter().copied().collect()
    }

    /// Whether an address is banned.
    pub fn is_banned(&self, address: IpAddr) -> bool {
        self.counts.lock().banned.contains(&address)
    }

    /// Clients at the moment.
    pub fn clients(&self) -> usize {
        self.counts.lock().clients
    }
}

impl Permit {
    /// Says whose the unfinished request is: from now on it counts for this address. Whose it is once never changes.
    ///
    /// # Errors
    /// The cap that is reached, or the ban; the permit stays what it was.
    pub fn belongs_to(&mut self, address: IpAddr) -> Result<(), TurnedAway> {
        if self.address.is_some() {
            return Ok(());
        }
        let cap = self.admission.caps.pending_per_address;
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&address) {
            return Err(TurnedAway::Banned);
        }
        // Only then is an entry made: one that counts nothing would never be forgotten.
        if counts.by_address.get(&household(address)).is_some_and(|of_address| of_address.pending >= cap) {
            return Err(TurnedAway::HeadsPendingForAddress);
        }
        counts.by_address.entry(household(address)).or_default().pending += 1;
        self.address = Some(address);
        Ok(())
    }

    /// Turns the place of an unfinished request into that of a client.
    ///
    /// # Errors
    /// The cap that is reached; the permit stays what it was.
    pub fn become_client(&mut self) -> Result<(), TurnedAway> {
        let caps = self.admission.caps;
        // A proxy's connection that nobody has asked whose it is counts for nobody, so it cannot be a client either.
        let address = self.address.ok_or(TurnedAway::Unavailable)?;
        let mut counts = self.admission.counts.lock();
        if counts.banned.contains(&address) {
            return Err(TurnedAway::Banned);
        }
        if counts.clients >= caps.clients {
            return Err(TurnedAway::Clients);
        }
        let of_address = counts.by_address.entry(household(address)).or_default();
        if of_address.clients >= caps.clients_per_address {
            return Err(TurnedAway::ClientsForAddress);
        }
        of_address.clients += 1;
        of_address.pending -= 1;
        counts.clients += 1;
        counts.pending -= 1;
        self.is_client = true;
        Ok(())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.admission.counts.lock();
        if let Some(address) = self.address {
            let address = household(address);
            let of_address = counts.by_address.entry(address).or_default();
            let count = if self.is_client { &mut of_address.clients } else { &mut of_address.pending };
            *count -= 1;
            if of_address.clients + of_address.pending == 0 {
                counts.by_address.remove(&address);
            }
        }
        let count = if self.is_client { &mut counts.clients } else { &mut counts.pending };
        *count -= 1;
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

    #[test]
    fn pending_caps_hold_in_all_and_per_address() {
        let admission = Admission::new(Caps { pending: 3, pending_per_address: 1, ..Caps::default() });
        let first = admission.admit(FAR).unwrap();
        assert_eq!(admission.admit(FAR).unwrap_err(), TurnedAway::HeadsPendingForAddress);
        let _others = (admission.admit(HERE).unwrap(), admission.admit(NEAR).unwrap());
        assert_eq!(admission.admit(HERE).unwrap_err(), TurnedAway::HeadsPending);
        drop(first);
        assert!(admission.admit(FAR).is_ok());
    }

    #[test]
    fn a_proxys_requests_count_for_who_is_behind_it() {
        let admission = Admission::new(Caps {
            pending: 4,
            pending_per_address: 1,
            clients_per_address: 1,
            ..Caps::default()
        });
        let mut permits = [(); 4].map(|()| admission.admit_proxy().unwrap());
        assert_eq!(
            admission.admit_proxy().unwrap_err(),
            TurnedAway::HeadsPending,
            "in all they count at once"
        );
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
        let counts = admission.counts.lock();
        assert_eq!((counts.pending, counts.clients, counts.by_address.len()), (0, 0, 0));
    }

    #[test]
    fn a_banned_address_gets_no_place_and_turns_no_request_into_a_client() {
        let admission = Admission::new(Caps::default());
        let mut before = admission.admit(FAR).unwrap();
        assert_eq!([admission.ban(FAR), admission.ban(FAR)], [Some(true), Some(false)]);
        assert_eq!(admission.admit(FAR).unwrap_err(), TurnedAway::Banned);
        assert_eq!(before.become_client(), Err(TurnedAway::Banned));
        assert!(admission.admit(NEAR).is_ok() && admission.is_banned(FAR) && !admission.is_banned(NEAR));
        assert_eq!(admission.bans(), [FAR]);
        assert_eq!([admission.unban(FAR), admission.unban(FAR)], [true, false]);
        assert!(admission.admit(FAR).is_ok() && before.become_client().is_ok());
    }

    #[test]
    fn a_network_of_ipv6_has_the_places_of_one_address() {
        let admission =
            Admission::new(Caps { pending_per_address: 2, clients_per_address: 1, ..Caps::default() });
        let admit = |text: &str| admission.admit(text.parse().expect("an address"));
        let mut permits = ["2001:db8::1", "2001:db8::2"].map(|text| admit(text).unwrap());
        assert_eq!(admit("2001:db8::3").unwrap_err(), TurnedAway::HeadsPendingForAddress);
        permits[0].become_client().unwrap();
        assert_eq!(permits[1].become_client(), Err(TurnedAway::ClientsForAddress));
        admission.ban("2001:db8::9".parse().expect("an address"));
        assert!(admit("2001:db8::3").is_ok() && admit("2001:db8:0:1::1").is_ok(), "a ban is for one address");
        drop(permits);
        assert!(admission.counts.lock().by_address.is_empty());
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
        let mut permits = [FAR, FAR, NEAR].map(|address| admission.admit(address).unwrap());
        permits[0].become_client().unwrap();
        assert_eq!(permits[1].become_client(), Err(TurnedAway::ClientsForAddress));
        let mut here = admission.admit(HERE).unwrap();
        here.become_client().unwrap();
        assert_eq!(permits[2].become_client(), Err(TurnedAway::Clients));
        assert_eq!(admission.clients(), 2);
        drop((permits, here));
        assert_eq!(admission.clients(), 0);
        assert!(admission.counts.lock().by_address.is_empty(), "an address that left is forgotten");
    }
}
