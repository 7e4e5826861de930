//! A pool of places shared by all addresses: decides which address gets a place, and which address
//! loses one when few are left. Unfinished requests, clients and watchers have a pool each.
//!
//! ```text
//!  places  │ held by A │ held by B │ C │        spare         │ reserve │
//!            an address that holds k gets another while k < spare,
//!            so N greedy addresses leave 1/(N+1) of the places spare
//! ```
//!
//! - An address without a place gets one as long as any is free, even from the reserve.
//! - In a pool that displaces, if nothing is spare, an address without a place gets one from the
//!   reserve, and the oldest holding of the address with the most places is displaced. The
//!   displaced place becomes free only when its connection has ended, so that the places in use
//!   never exceed the total; the reserve bridges the time until then.
//! - In such a pool, an address that has used up its share still gets a place if the address with
//!   the most places holds at least twice as many as this one would then hold; the oldest holding
//!   of the address with the most places is displaced.
//! - A trusted proxy's connection has no address until its request arrives. Until then it needs no
//!   share, and all such connections together may hold half of the pool; beyond that, a new one
//!   displaces the oldest of them.
//!
//! Each holding has a number, which the caller assigns in rising order: the lowest is the oldest.
//! Giving back a number that holds nothing has no effect.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::util::address_prefix::AddressPrefix;

/// The number of places, and how they are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolConfig {
    /// Places in total.
    pub slots: usize,
    /// The most places that one address may hold, even if all others are free.
    pub per_address: usize,
    /// Whether an address is limited to its share, or may hold as many places as `per_address`.
    pub is_divided: bool,
    /// Whether a connection may displace another.
    pub allows_displacement: bool,
}

/// Why no place was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSlot {
    /// None is left.
    Full,
    /// The address has used up its share.
    AddressLimit,
}

/// Who holds a place: an address, or `None` for the proxies' connections whose clients are not
/// known yet.
type SlotOwner = Option<AddressPrefix>;

/// See the [module](self).
#[derive(Debug)]
pub struct Pool {
    shares: PoolConfig,
    owners: BTreeMap<u64, SlotOwner>,
    /// How many places each holder has; none without a place.
    counts: HashMap<SlotOwner, usize>,
    /// Displaced holdings whose connections have not ended yet.
    displaced: BTreeSet<u64>,
}

impl Pool {
    /// A pool without holdings.
    pub fn new(shares: PoolConfig) -> Pool {
        Pool { shares, owners: BTreeMap::new(), counts: HashMap::new(), displaced: BTreeSet::new() }
    }

    /// Takes a place under this number; `None` is a proxy's connection whose client is not known
    /// yet. `Some` is the number of the displaced holding, whose connection the caller must end.
    ///
    /// # Errors
    /// Why no place was given.
    pub fn take(&mut self, number: u64, holder: Option<AddressPrefix>) -> Result<Option<u64>, NoSlot> {
        let (held, free) = (self.held_by(holder), self.free());
        let spare = self.unreserved(free);
        let is_above_share = match holder {
            Some(_) => {
                self.check_share(held, spare)?;
                held > 0 && held >= spare
            }
            None => held >= (self.shares.slots / 2).max(1),
        };
        if free == 0 {
            return Err(NoSlot::Full);
        }
        let displaced = if !self.shares.allows_displacement {
            None
        } else if holder.is_none() && is_above_share {
            self.displace_oldest(None)
        } else if is_above_share || spare == 0 {
            self.displace_from_largest()
        } else {
            None
        };
        self.hold(number, holder);
        Ok(displaced)
    }

    /// Attributes this holding to an address. A holding that already has an address keeps it.
    ///
    /// # Errors
    /// Why this address may not have it; the holding is then unchanged. [`NoSlot::Full`] for a
    /// number that holds nothing.
    pub fn set_address(&mut self, number: u64, address: AddressPrefix) -> Result<(), NoSlot> {
        if self.owners.get(&number).ok_or(NoSlot::Full)?.is_none() {
            // The place that it has is spare as far as this address is concerned.
            self.check_share(self.held_by(Some(address)), self.unreserved(self.free() + 1))?;
            self.remove(number);
            self.hold(number, Some(address));
        }
        Ok(())
    }

    /// Gives back the place held under this number, even if it was displaced. Returns whether it
    /// was still held.
    pub fn release(&mut self, number: u64) -> bool {
        self.displaced.remove(&number);
        self.remove(number)
    }

    /// Whether this number holds a place.
    pub fn holds(&self, number: u64) -> bool {
        self.owners.contains_key(&number)
    }

    /// Whether a place will soon be free: a connection was displaced and has not ended yet.
    pub fn has_displaced(&self) -> bool {
        !self.displaced.is_empty()
    }

    /// The number of held places.
    pub fn held(&self) -> usize {
        self.owners.len()
    }

    /// The number of places that this holder has.
    pub fn held_by(&self, holder: Option<AddressPrefix>) -> usize {
        self.counts.get(&holder).copied().unwrap_or(0)
    }

    /// The number of places that are neither held nor of a displaced connection.
    pub fn free(&self) -> usize {
        self.shares.slots.saturating_sub(self.owners.len() + self.displaced.len())
    }

    fn check_share(&self, held: usize, spare: usize) -> Result<(), NoSlot> {
        let takes_over = self.shares.allows_displacement && self.largest_holding() >= 2 * (held + 1);
        let is_within = !self.shares.is_divided || held == 0 || held < spare || takes_over;
        if held < self.shares.per_address && is_within { Ok(()) } else { Err(NoSlot::AddressLimit) }
    }

    /// Free places above the reserve.
    fn unreserved(&self, free: usize) -> usize {
        let reserve = if self.shares.allows_displacement { (self.shares.slots / 8).max(1) } else { 0 };
        free.saturating_sub(reserve)
    }

    /// What the holder that holds most has.
    fn largest_holding(&self) -> usize {
        self.counts.values().copied().max().unwrap_or(0)
    }

    fn displace_from_largest(&mut self) -> Option<u64> {
        let most = self.largest_holding();
        let holder = *self.owners.values().find(|holder| self.held_by(**holder) == most)?;
        self.displace_oldest(holder)
    }

    fn displace_oldest(&mut self, of: SlotOwner) -> Option<u64> {
        let number = *self.owners.iter().find(|(_, holder)| **holder == of)?.0;
        self.remove(number);
        self.displaced.insert(number);
        Some(number)
    }

    fn hold(&mut self, number: u64, holder: SlotOwner) {
        self.owners.insert(number, holder);
        *self.counts.entry(holder).or_default() += 1;
    }

    fn remove(&mut self, number: u64) -> bool {
        let Some(holder) = self.owners.remove(&number) else { return false };
        if let Entry::Occupied(mut count) = self.counts.entry(holder) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        true
    }
}
