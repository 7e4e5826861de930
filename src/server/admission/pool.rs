//! A pool of slots shared by all addresses: decides which address gets a slot, and which address
//! loses one when few are left. Pending requests, clients and inspectors have one pool each.
//!
//! ```text
//!  slots   │ held by A │ held by B │ C │        spare         │ reserve │
//!            an address that holds k gets another while k < spare,
//!            so N greedy addresses leave 1/(N+1) of the slots spare
//! ```
//!
//! - An address without a slot gets one while any is free, even from the reserve.
//! - In a pool that displaces, if no slot is spare, an address without a slot gets one from the
//!   reserve, and the oldest slot of the address with the most slots is displaced. The displaced
//!   slot becomes free only when its connection has ended, so that the slots in use never exceed
//!   the total. The reserve bridges that time.
//! - In such a pool, an address that has used up its share still gets a slot if the address with
//!   the most slots holds at least twice as many as this one would then hold. The oldest slot of
//!   the address with the most slots is displaced.
//! - Idle connections, which wait for a further request, are displaced first: by a new connection
//!   from the same address if the address has reached its limit, and by any new connection if no
//!   slot is spare.
//! - A connection from a trusted proxy has no address until its request arrives. Until then it does
//!   not count towards the share of an address. All such connections together may hold half of the
//!   pool. If they do, a new one displaces the oldest of them.
//!
//! Slots are held under numbers that the caller assigns in ascending order: the lowest is the
//! oldest. Releasing a number that holds no slot has no effect.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::util::address_prefix::AddressPrefix;

/// Size of a pool, and the rules for sharing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolConfig {
    /// Total number of slots.
    pub slots: usize,
    /// Maximum number of slots per address prefix, even if all others are free.
    pub per_address: usize,
    /// Whether an address prefix is limited to its share. If not, it may hold up to `per_address`
    /// slots.
    pub is_divided: bool,
    /// Whether a new connection may displace another.
    pub allows_displacement: bool,
}

/// Why no slot was assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSlot {
    /// No slot is free.
    Full,
    /// The address prefix has used up its share.
    AddressLimit,
}

/// Owner of a slot: an address prefix, or `None` for proxied connections without a client address
/// yet.
type SlotOwner = Option<AddressPrefix>;

/// The slots of one kind.
#[derive(Debug)]
pub struct Pool {
    shares: PoolConfig,
    owners: BTreeMap<u64, SlotOwner>,
    /// Number of slots per owner. Owners without slots have no entry.
    counts: HashMap<SlotOwner, usize>,
    /// Held slots whose connections wait for a further request.
    idle: BTreeSet<u64>,
    /// Displaced connections that have not ended yet.
    displaced: BTreeSet<u64>,
}

impl Pool {
    /// Creates an empty pool.
    pub fn new(shares: PoolConfig) -> Pool {
        let (idle, displaced) = (BTreeSet::new(), BTreeSet::new());
        Pool { shares, owners: BTreeMap::new(), counts: HashMap::new(), idle, displaced }
    }

    /// Takes a slot under this number. `holder` is `None` for a proxied connection without a client
    /// address yet. Returns the number of the displaced connection, if any; the caller must end it.
    ///
    /// # Errors
    /// Why no slot was assigned.
    pub fn take(&mut self, number: u64, holder: Option<AddressPrefix>) -> Result<Option<u64>, NoSlot> {
        let free = self.free();
        let spare = self.unreserved(free);
        let own_idle = self.reclaimable(holder, spare);
        let held = self.held_by(holder) - usize::from(own_idle.is_some());
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
        } else if let Some(number) = own_idle {
            Some(self.displace(number))
        } else if holder.is_none() && is_above_share {
            self.displace_oldest(None)
        } else if is_above_share || spare == 0 {
            let idle = self.idle.first().copied();
            idle.map(|number| self.displace(number)).or_else(|| self.displace_from_largest())
        } else {
            None
        };
        self.hold(number, holder);
        Ok(displaced)
    }

    /// Attributes a slot to an address prefix. A slot that already has an address prefix keeps it.
    ///
    /// # Errors
    /// Why this address prefix may not have the slot, which is then unchanged. [`NoSlot::Full`] if
    /// the number holds no slot.
    pub fn set_address(&mut self, number: u64, address: AddressPrefix) -> Result<(), NoSlot> {
        if self.owners.get(&number).ok_or(NoSlot::Full)?.is_none() {
            // The slot already held counts as spare for this check.
            self.check_share(self.held_by(Some(address)), self.unreserved(self.free() + 1))?;
            self.remove(number);
            self.hold(number, Some(address));
        }
        Ok(())
    }

    /// Attributes a slot to another address prefix, which the connection's request names.
    ///
    /// # Errors
    /// As for [`Pool::set_address`].
    pub fn move_to_address(&mut self, number: u64, address: AddressPrefix) -> Result<(), NoSlot> {
        let owner = *self.owners.get(&number).ok_or(NoSlot::Full)?;
        if owner != Some(address) {
            self.check_share(self.held_by(Some(address)), self.unreserved(self.free() + 1))?;
            self.remove(number);
            self.hold(number, Some(address));
        }
        Ok(())
    }

    /// Releases the slot held under this number, even if it was displaced. Returns whether it was
    /// still held.
    pub fn release(&mut self, number: u64) -> bool {
        self.displaced.remove(&number);
        self.remove(number)
    }

    /// Sets whether the connection of a held slot waits for a further request. Returns whether the
    /// slot is still held.
    pub fn set_idle(&mut self, number: u64, is_idle: bool) -> bool {
        let is_held = self.holds(number);
        if is_idle && is_held {
            self.idle.insert(number);
        } else {
            self.idle.remove(&number);
        }
        is_held
    }

    /// Returns the numbers of the idle connections.
    pub fn idle(&self) -> Vec<u64> {
        self.idle.iter().copied().collect()
    }

    /// Whether this number holds a slot.
    pub fn holds(&self, number: u64) -> bool {
        self.owners.contains_key(&number)
    }

    /// Whether a slot will soon be free, because a displaced connection has not ended yet.
    pub fn has_displaced(&self) -> bool {
        !self.displaced.is_empty()
    }

    /// Returns the number of held slots.
    pub fn held(&self) -> usize {
        self.owners.len()
    }

    /// Returns the number of slots of this owner.
    pub fn held_by(&self, holder: Option<AddressPrefix>) -> usize {
        self.counts.get(&holder).copied().unwrap_or(0)
    }

    /// Returns the number of slots that are neither held nor occupied by displaced connections.
    pub fn free(&self) -> usize {
        self.shares.slots.saturating_sub(self.owners.len() + self.displaced.len())
    }

    fn check_share(&self, held: usize, spare: usize) -> Result<(), NoSlot> {
        let takes_over = self.shares.allows_displacement && self.largest_holding() >= 2 * (held + 1);
        let is_within = !self.shares.is_divided || held == 0 || held < spare || takes_over;
        if held < self.shares.per_address && is_within { Ok(()) } else { Err(NoSlot::AddressLimit) }
    }

    /// Returns the number of free slots above the reserve.
    fn unreserved(&self, free: usize) -> usize {
        let reserve = if self.shares.allows_displacement { (self.shares.slots / 8).max(1) } else { 0 };
        free.saturating_sub(reserve)
    }

    /// Returns the largest number of slots of one owner.
    fn largest_holding(&self) -> usize {
        self.counts.values().copied().max().unwrap_or(0)
    }

    /// Returns the oldest idle connection of this owner, if the owner has used up its share and can
    /// take another slot once that connection is displaced.
    fn reclaimable(&self, holder: SlotOwner, spare: usize) -> Option<u64> {
        let held = self.held_by(holder);
        let is_needed = holder.is_some() && self.check_share(held, spare).is_err();
        let number = self.idle.iter().find(|number| self.owners.get(number) == Some(&holder))?;
        (is_needed && self.check_share(held - 1, spare).is_ok()).then_some(*number)
    }

    fn displace_from_largest(&mut self) -> Option<u64> {
        let most = self.largest_holding();
        let holder = *self.owners.values().find(|holder| self.held_by(**holder) == most)?;
        self.displace_oldest(holder)
    }

    fn displace_oldest(&mut self, of: SlotOwner) -> Option<u64> {
        let number = *self.owners.iter().find(|(_, holder)| **holder == of)?.0;
        Some(self.displace(number))
    }

    fn displace(&mut self, number: u64) -> u64 {
        self.remove(number);
        self.displaced.insert(number);
        number
    }

    fn hold(&mut self, number: u64, holder: SlotOwner) {
        self.owners.insert(number, holder);
        *self.counts.entry(holder).or_default() += 1;
    }

    fn remove(&mut self, number: u64) -> bool {
        let Some(holder) = self.owners.remove(&number) else { return false };
        self.idle.remove(&number);
        if let Entry::Occupied(mut count) = self.counts.entry(holder) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        true
    }
}
