//! A pool of places shared by all addresses: decides which address gets a place, and which address
//! loses one when few are left.
//!
//! The pool is pure: the caller has the lock, the clock and the sockets. Three pools follow this
//! policy: unfinished requests, clients, watchers.
//!
//! ```text
//!  places  │ held by A │ held by B │ C │        spare         │ reserve │
//!            an address that holds k gets another while k < spare,
//!            so N greedy addresses leave 1/(N+1) of the places spare
//! ```
//!
//! - An address without a place gets one as long as any is free, even from the reserve.
//! - In a pool that displaces, an address without a place that finds nothing spare takes the place
//!   of the oldest holding of the address that holds most. The displaced place becomes free only
//!   when its connection has ended, so that the places in use never exceed the total; the reserve
//!   bridges the time until then.
//! - An address above its share displaces a holding of an address that holds at least twice as many
//!   places as it would then hold itself.
//! - A trusted proxy's connection has no address until its request arrives. Until then it needs no
//!   share, and all such connections together may hold half of the pool; beyond that, a new one
//!   displaces the oldest of them.
//!
//! Each holding has a number, which the caller assigns in rising order: the lowest is the oldest.
//! Giving back a number that holds nothing has no effect, so a displaced connection that ends gives
//! its place back only once.

// `core`: an address is a value; the sockets are in `std::net`.
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The number of places, and how they are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Places in total.
    pub places: usize,
    /// The most places that one address may hold, even if all others are free.
    pub per_address: usize,
    /// Whether an address is limited to its share. If not, it may hold as many places as
    /// `per_address` allows.
    pub is_shared: bool,
    /// Whether a connection may displace another.
    pub displaces: bool,
}

/// Why no place was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// None is left.
    Full,
    /// The address has used up its share.
    ForAddress,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Pool {
    shares: Shares,
    /// Who holds a place, by number; `None` for a proxy's connection whose client is not known yet.
    holders: BTreeMap<u64, Option<IpAddr>>,
    by_address: HashMap<IpAddr, usize>,
    unknown: usize,
    /// Displaced holdings whose connections have not ended yet.
    leaving: BTreeSet<u64>,
}

impl Pool {
    /// A pool without holdings.
    pub fn new(shares: Shares) -> Pool {
        Pool {
            shares,
            holders: BTreeMap::new(),
            by_address: HashMap::new(),
            unknown: 0,
            leaving: BTreeSet::new(),
        }
    }

    /// Takes a place for this address under this number. `Some` is the number of the displaced
    /// holding, whose connection the caller must end.
    ///
    /// # Errors
    /// Why no place was given.
    pub fn take(&mut self, number: u64, address: IpAddr) -> Result<Option<u64>, NoPlace> {
        let held = self.held_by(address);
        let free = self.free();
        self.check_share(held, self.spare(free))?;
        if free == 0 {
            return Err(NoPlace::Full);
        }
        let is_above_share = held > 0 && held >= self.spare(free);
        let displaces = self.shares.is_shared && self.shares.displaces;
        let displaced = (displaces && (is_above_share || self.spare(free) == 0))
            .then(|| self.displace_from_greediest())
            .flatten();
        self.hold(number, Some(address));
        Ok(displaced)
    }

    /// Takes a place for a proxy's connection whose client is not known yet.
    ///
    /// # Errors
    /// None is left.
    pub fn take_unknown(&mut self, number: u64) -> Result<Option<u64>, NoPlace> {
        let free = self.free();
        if free == 0 {
            return Err(NoPlace::Full);
        }
        let displaced = if !self.shares.displaces {
            None
        } else if self.unknown >= (self.shares.places / 2).max(1) {
            self.displace_oldest(None)
        } else if self.spare(free) == 0 {
            self.displace_from_greediest()
        } else {
            None
        };
        self.hold(number, None);
        Ok(displaced)
    }

    /// Attributes this holding to an address. A holding that already has an address keeps it.
    ///
    /// # Errors
    /// Why this address may not have it; the holding is then unchanged. [`NoPlace::Full`] for a
    /// number that holds nothing.
    pub fn belongs_to(&mut self, number: u64, address: IpAddr) -> Result<(), NoPlace> {
        match self.holders.get(&number) {
            None => return Err(NoPlace::Full),
            Some(Some(_)) => return Ok(()),
            Some(None) => {}
        }
        // The place that it has is spare as far as this address is concerned.
        self.check_share(self.held_by(address), self.spare(self.free() + 1))?;
        self.give_back(number);
        self.hold(number, Some(address));
        Ok(())
    }

    /// Gives back the place held under this number, even if it was displaced. Returns whether it
    /// was still held.
    pub fn give_back(&mut self, number: u64) -> bool {
        self.leaving.remove(&number);
        self.forget(number)
    }

    /// Whether this number holds a place.
    pub fn holds(&self, number: u64) -> bool {
        self.holders.contains_key(&number)
    }

    /// Whether a place will soon be free: a connection was displaced and has not ended yet.
    pub fn is_anyone_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// The number of held places.
    pub fn held(&self) -> usize {
        self.holders.len()
    }

    /// Whether the pool has no state for any address.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.by_address.is_empty() && self.leaving.is_empty() && self.unknown == 0
    }

    fn check_share(&self, held: usize, spare: usize) -> Result<(), NoPlace> {
        let takes_over = self.shares.displaces && self.greediest() >= 2 * (held + 1);
        let is_within = !self.shares.is_shared || held == 0 || held < spare || takes_over;
        if held < self.shares.per_address && is_within { Ok(()) } else { Err(NoPlace::ForAddress) }
    }

    fn held_by(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).copied().unwrap_or(0)
    }

    fn free(&self) -> usize {
        self.shares.places.saturating_sub(self.holders.len() + self.leaving.len())
    }

    /// Free places above the reserve.
    fn spare(&self, free: usize) -> usize {
        let reserve = if self.shares.displaces { (self.shares.places / 8).max(1) } else { 0 };
        free.saturating_sub(reserve)
    }

    /// What the address that holds most has.
    fn greediest(&self) -> usize {
        self.by_address.values().copied().max().unwrap_or(0).max(self.unknown)
    }

    fn displace_from_greediest(&mut self) -> Option<u64> {
        let most = self.greediest();
        let holds_most =
            |holder: &Option<IpAddr>| holder.map_or(self.unknown, |address| self.held_by(address)) == most;
        let oldest = self.holders.iter().find(|(_, holder)| holds_most(holder))?;
        let holder = *oldest.1;
        self.displace_oldest(holder)
    }

    fn displace_oldest(&mut self, of: Option<IpAddr>) -> Option<u64> {
        let number = *self.holders.iter().find(|(_, holder)| **holder == of)?.0;
        self.forget(number);
        self.leaving.insert(number);
        Some(number)
    }

    fn hold(&mut self, number: u64, holder: Option<IpAddr>) {
        self.holders.insert(number, holder);
        match holder {
            Some(address) => *self.by_address.entry(address).or_default() += 1,
            None => self.unknown += 1,
        }
    }

    fn forget(&mut self, number: u64) -> bool {
        match self.holders.remove(&number) {
            None => return false,
            Some(None) => self.unknown -= 1,
            Some(Some(address)) => {
                if let Some(held) = self.by_address.get_mut(&address) {
                    *held -= 1;
                    if *held == 0 {
                        self.by_address.remove(&address);
                    }
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
