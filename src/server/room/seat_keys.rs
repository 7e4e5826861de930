//! Keys of seats. A client resumes its seat from another connection by sending the key.
//!
//! A seat without a connection is *suspended*. Suspended seats count against the address prefix of
//! their last connection, even across a restart, so that a client cannot occupy seats by
//! reconnecting.

use std::collections::BTreeMap;
#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeSet;
use std::fmt;

use tickwire_sim::PlayerId;

#[cfg(not(target_family = "wasm"))]
use super::hashed_seat::{HashedSeat, SeatChange, SeatKeyHash};
use crate::limits;
use crate::util::address_prefix::AddressPrefix;

/// Key with which a client resumes its seat. `Debug` hides it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeatKey(pub [u8; 16]);

impl fmt::Debug for SeatKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SeatKey(…)")
    }
}

/// The key of a seat and the address prefix of the seat's last connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyedSeat {
    /// The key.
    pub key: SeatKey,
    /// The player number of the seat.
    pub player: PlayerId,
    /// Address prefix of the last connection.
    pub from: AddressPrefix,
}

/// Maps keys to seats and counts the suspended seats.
#[derive(Debug, Default)]
pub struct SeatKeys {
    players: BTreeMap<SeatKey, PlayerId>,
    /// Keyed seats by player. The flag is set while the seat is suspended.
    seats: BTreeMap<PlayerId, (KeyedSeat, bool)>,
    /// By player: the number of ticks completed when the keyed seat was taken.
    taken: BTreeMap<PlayerId, u32>,
    /// Number of suspended seats by address prefix and in total. Prefixes with none have no entry.
    by_address: BTreeMap<AddressPrefix, usize>,
    absent: usize,
    /// Seats of a recovered journal until their clients resume: the key is known by its hash only.
    #[cfg(not(target_family = "wasm"))]
    hashed: BTreeMap<SeatKeyHash, PlayerId>,
    /// Players with changed seats since the last call of [`SeatKeys::take_changes`]. `None` if the
    /// room has no journal.
    #[cfg(not(target_family = "wasm"))]
    changed: Option<BTreeSet<PlayerId>>,
}

impl SeatKeys {
    /// Assigns a key to the seat of a connection. Removes an earlier key of the seat and an earlier
    /// seat of the key. `tick` is the number of ticks completed when the seat was taken.
    pub fn insert(&mut self, keyed: KeyedSeat, tick: u32) {
        self.remove(keyed.player);
        if let Some(before) = self.player(keyed.key) {
            self.remove(before);
        }
        self.players.insert(keyed.key, keyed.player);
        self.seats.insert(keyed.player, (keyed, false));
        self.taken.insert(keyed.player, tick);
        self.note_change(keyed.player);
    }

    fn note_change(&mut self, _player: PlayerId) {
        #[cfg(not(target_family = "wasm"))]
        self.changed.as_mut().map(|changed| changed.insert(_player));
    }

    /// Removes the key of a player's seat.
    pub fn remove(&mut self, player: PlayerId) {
        self.taken.remove(&player);
        if let Some((keyed, is_absent)) = self.seats.remove(&player) {
            self.players.remove(&keyed.key);
            #[cfg(not(target_family = "wasm"))]
            self.hashed.retain(|_, other| *other != player);
            if is_absent {
                self.uncount(keyed.from);
            }
            self.note_change(player);
        }
    }

    /// Returns the seat of a key.
    pub fn player(&self, key: SeatKey) -> Option<PlayerId> {
        let found = self.players.get(&key).copied();
        #[cfg(not(target_family = "wasm"))]
        if found.is_none() && !self.hashed.is_empty() {
            return self.hashed.get(&SeatKeyHash::of(key.0)).copied();
        }
        found
    }

    /// Returns the number of ticks completed when a keyed seat was taken.
    pub fn taken_at(&self, player: PlayerId) -> Option<u32> {
        self.taken.get(&player).copied()
    }

    /// Iterates over all keyed seats in the order of player numbers.
    pub fn iter(&self) -> impl Iterator<Item = KeyedSeat> {
        self.seats.values().map(|(keyed, _)| *keyed)
    }

    /// Suspends the seat of a closed connection. Returns whether the seat stays reserved. The seat
    /// must have a key, and fewer than [`limits::MAX_SUSPENDED_SEATS`] seats may be suspended. The
    /// seat's address prefix must have fewer suspended seats than `per_address`, and fewer than are
    /// still free in total. The last condition reserves seats for prefixes without any. If
    /// `per_address` is `usize::MAX`, neither limit per prefix applies.
    pub fn mark_suspended(&mut self, player: PlayerId, per_address: usize) -> bool {
        let Some((KeyedSeat { from, .. }, is_absent)) = self.seats.get_mut(&player) else { return false };
        if *is_absent {
            return true;
        }
        let of_address = self.by_address.get(from).copied().unwrap_or_default();
        if !may_wait(of_address, limits::MAX_SUSPENDED_SEATS.saturating_sub(self.absent), per_address) {
            return false;
        }
        *is_absent = true;
        *self.by_address.entry(*from).or_default() += 1;
        self.absent += 1;
        true
    }

    /// Returns the number of suspended seats.
    pub fn suspended(&self) -> usize {
        self.absent
    }

    /// Returns the suspended seats of an address prefix.
    pub fn suspended_of(&self, from: AddressPrefix) -> Vec<PlayerId> {
        let absent = self.seats.values().filter(|(keyed, is_absent)| *is_absent && keyed.from == from);
        absent.map(|(keyed, _)| keyed.player).collect()
    }

    /// Marks the seat as connected from this address prefix.
    pub fn mark_connected(&mut self, player: PlayerId, from: AddressPrefix) {
        let Some((keyed, is_absent)) = self.seats.get_mut(&player) else { return };
        let (before, was_absent) = (std::mem::replace(&mut keyed.from, from), std::mem::take(is_absent));
        if was_absent {
            self.uncount(before);
        }
        if before != from {
            self.note_change(player);
        }
    }

    /// Subtracts one suspended seat of this address prefix.
    fn uncount(&mut self, from: AddressPrefix) {
        self.absent -= 1;
        if let Some(count) = self.by_address.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&from);
            }
        }
    }
}

#[cfg(not(target_family = "wasm"))]
impl SeatKeys {
    /// Adds a seat of a recovered journal. A client with the hashed key can resume it.
    pub fn insert_hashed(&mut self, seat: HashedSeat, tick: u32) {
        let HashedSeat { player, key, from } = seat;
        self.remove(player);
        // The hash stands in for the key, and `players` does not contain it: it resumes no seat.
        self.seats.insert(player, (KeyedSeat { key: SeatKey(key.0), player, from }, false));
        self.hashed.insert(key, player);
        self.taken.insert(player, tick);
        self.note_change(player);
    }

    /// Stores the key of a resumed seat if only its hash was known.
    pub fn learn(&mut self, key: SeatKey, player: PlayerId) {
        let is_hashed = !self.hashed.is_empty() && self.hashed.remove(&SeatKeyHash::of(key.0)).is_some();
        if is_hashed && let Some((keyed, _)) = self.seats.get_mut(&player) {
            keyed.key = key;
            self.players.insert(key, player);
        }
    }

    /// Starts to record changes of seats for a journal.
    pub fn record_changes(&mut self) {
        self.changed = Some(BTreeSet::new());
    }

    /// Returns the changes since the last call, at most one for each player.
    pub fn take_changes(&mut self) -> Vec<SeatChange> {
        let changed = self.changed.as_mut().map(std::mem::take).unwrap_or_default();
        let change = |player: PlayerId| match self.seats.get(&player) {
            Some((keyed, _)) => SeatChange::Keyed(self.with_hash(keyed)),
            None => SeatChange::Unkeyed(player),
        };
        changed.into_iter().map(change).collect()
    }

    /// Returns all keyed seats with hashed keys.
    pub fn hashed_seats(&self) -> Vec<HashedSeat> {
        self.seats.values().map(|(keyed, _)| self.with_hash(keyed)).collect()
    }

    fn with_hash(&self, keyed: &KeyedSeat) -> HashedSeat {
        let KeyedSeat { key: SeatKey(bytes), player, from } = *keyed;
        let is_hash = self.hashed.get(&SeatKeyHash(bytes)) == Some(&player);
        HashedSeat { player, key: if is_hash { SeatKeyHash(bytes) } else { SeatKeyHash::of(bytes) }, from }
    }
}

/// Returns whether an address prefix with `of_address` suspended seats may have another, if `free`
/// are free in total.
pub fn may_wait(of_address: usize, free: usize, per_address: usize) -> bool {
    let is_within_share = of_address == 0 || of_address < free || per_address == usize::MAX;
    free > 0 && of_address < per_address && is_within_share
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(number: u8) -> SeatKey {
        SeatKey([number; 16])
    }

    fn address(last: u8) -> AddressPrefix {
        AddressPrefix::from_ip(std::net::Ipv4Addr::new(203, 0, 113, last).into())
    }

    fn keyed(player: u16, number: u8, last: u8) -> KeyedSeat {
        KeyedSeat { key: key(number), player: PlayerId(player), from: address(last) }
    }

    #[test]
    fn a_key_has_one_seat_and_a_seat_one_key() {
        let mut keys = SeatKeys::default();
        let [one, two] = [1, 2].map(PlayerId);
        keys.insert(keyed(1, 1, 1), 5);
        keys.insert(keyed(2, 1, 1), 6);
        assert_eq!((keys.player(key(1)), keys.mark_suspended(one, 9)), (Some(two), false));
        keys.insert(keyed(2, 2, 1), 7);
        assert_eq!([key(1), key(2)].map(|key| keys.player(key)), [None, Some(two)]);
        assert!(keys.iter().eq([keyed(2, 2, 1)]));
        assert_eq!([one, two].map(|player| keys.taken_at(player)), [None, Some(7)]);
        keys.remove(two);
        assert_eq!(keys.player(key(2)), None);
    }

    #[test]
    fn an_address_has_as_many_absent_seats_as_the_rule_allows_and_a_return_or_a_leave_frees_one() {
        let mut keys = SeatKeys::default();
        let count = 40;
        let set_absent =
            |keys: &mut SeatKeys, player| keys.mark_suspended(PlayerId(player), usize::from(count));
        let number = |player: u16| u128::from(player).to_le_bytes();
        (0..count + 3).for_each(|player| {
            keys.insert(
                KeyedSeat { key: SeatKey(number(player)), player: PlayerId(player), from: address(1) },
                1,
            );
        });
        assert!((0..count).all(|player| set_absent(&mut keys, player)));
        assert!(!set_absent(&mut keys, count), "too many");
        keys.mark_connected(PlayerId(count), address(2));
        assert!(set_absent(&mut keys, count), "another address");
        keys.mark_connected(PlayerId(0), address(1));
        assert!(set_absent(&mut keys, count + 1));
        keys.remove(PlayerId(1));
        assert!(set_absent(&mut keys, count + 2));
        assert_eq!(keys.absent, usize::from(count) + 1);
        (0..count + 3).for_each(|player| keys.remove(PlayerId(player)));
        assert_eq!((keys.absent, keys.by_address.len(), keys.players.len()), (0, 0, 0));
    }

    #[test]
    fn a_hashed_seat_is_resumed_by_its_key_and_not_by_its_hash_and_changes_are_recorded_once() {
        let mut keys = SeatKeys::default();
        let seat = HashedSeat { player: PlayerId(1), key: SeatKeyHash::of([1; 16]), from: address(1) };
        keys.insert_hashed(seat, 5);
        assert!(keys.take_changes().is_empty(), "nothing is recorded before `record_changes`");
        keys.record_changes();
        assert_eq!(keys.player(SeatKey(seat.key.0)), None);
        assert_eq!((keys.player(key(1)), keys.hashed_seats()), (Some(PlayerId(1)), vec![seat]));
        keys.learn(key(1), PlayerId(1));
        assert_eq!((keys.player(key(1)), keys.hashed_seats()), (Some(PlayerId(1)), vec![seat]));
        keys.mark_connected(PlayerId(1), address(2));
        keys.insert(keyed(2, 2, 1), 6);
        keys.remove(PlayerId(2));
        let moved = SeatChange::Keyed(HashedSeat { from: address(2), ..seat });
        assert_eq!(keys.take_changes(), [moved, SeatChange::Unkeyed(PlayerId(2))]);
        assert!(keys.take_changes().is_empty());
        keys.insert_hashed(seat, 7);
        keys.remove(PlayerId(1));
        assert_eq!(keys.player(key(1)), None);
    }

    /// Suspends up to `each` seats for each address, as far as the limits allow.
    fn absent_of_each(addresses: u32, each: u32, per_address: usize) -> SeatKeys {
        let mut keys = SeatKeys::default();
        for number in 0..addresses * each {
            let from =
                AddressPrefix::from_ip(std::net::Ipv4Addr::from(0x0a00_0000 + number % addresses).into());
            let player = PlayerId(number as u16);
            keys.insert(KeyedSeat { key: SeatKey(u128::from(number).to_le_bytes()), player, from }, 1);
            keys.mark_suspended(player, per_address);
        }
        keys
    }

    #[test]
    fn addresses_that_take_all_they_can_leave_absent_seats_for_an_address_without_any() {
        for (addresses, each, per_address) in [(160, 64, 64), (1, 10_000, 10_000), (300, 40, 64)] {
            let mut keys = absent_of_each(addresses, each, per_address);
            let spare = limits::MAX_SUSPENDED_SEATS - keys.absent;
            assert!(
                spare >= limits::MAX_SUSPENDED_SEATS / (addresses as usize + 1),
                "{spare} of {addresses}"
            );
            keys.insert(keyed(60_000, 1, 1), 1);
            assert!(keys.mark_suspended(PlayerId(60_000), per_address), "{addresses} addresses");
        }
        let lifted = absent_of_each(1, 6_000, usize::MAX);
        assert_eq!(lifted.absent, limits::MAX_SUSPENDED_SEATS, "the limits per address are lifted");
    }
}
