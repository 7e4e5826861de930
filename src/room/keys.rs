//! The keys of seats: with its key a client comes back to its seat from another connection.
//!
//! A seat without a connection is *absent*. Absent seats count against the address of their last
//! connection, so that nobody can hold seats by coming and going.

use std::collections::BTreeMap;

use tickwire_sim::PlayerId;

use crate::household::Household;
use crate::limits;

/// A key by which a client comes back to its seat.
pub type SeatKey = [u8; 16];

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Keys {
    players: BTreeMap<SeatKey, PlayerId>,
    /// The key of each seat that has one and, while it is absent, the address that left it.
    seats: BTreeMap<PlayerId, (SeatKey, Option<Household>)>,
    /// Absent seats by address, and in all. An address without any has no entry.
    by_address: BTreeMap<Household, usize>,
    absent: usize,
}

impl Keys {
    /// Gives a seat a key. A key has one seat, and a seat one key.
    pub fn insert(&mut self, player: PlayerId, key: SeatKey) {
        self.remove(player);
        if let Some(before) = self.players.insert(key, player) {
            self.players.remove(&key);
            self.remove(before);
            self.players.insert(key, player);
        }
        self.seats.insert(player, (key, None));
    }

    /// Forgets the seat of a player who has left.
    pub fn remove(&mut self, player: PlayerId) {
        self.set_back(player);
        if let Some((key, _)) = self.seats.remove(&player) {
            self.players.remove(&key);
        }
    }

    /// The seat of a key.
    pub fn player(&self, key: SeatKey) -> Option<PlayerId> {
        self.players.get(&key).copied()
    }

    /// All keys with their seats.
    pub fn iter(&self) -> impl Iterator<Item = (SeatKey, PlayerId)> {
        self.players.iter().map(|(key, player)| (*key, *player))
    }

    /// The connection of a seat, from this address, is gone. Returns whether the seat may wait: it has
    /// a key, and neither [`limits::ADDRESS_ABSENT_SEATS`] of the address nor [`limits::ABSENT_SEATS`]
    /// in all wait already.
    pub fn set_absent(&mut self, player: PlayerId, from: Household) -> bool {
        let Some((_, absent)) = self.seats.get_mut(&player) else { return false };
        let of_address = self.by_address.get(&from).copied().unwrap_or_default();
        if of_address >= limits::ADDRESS_ABSENT_SEATS || self.absent >= limits::ABSENT_SEATS {
            return false;
        }
        if absent.replace(from).is_none() {
            *self.by_address.entry(from).or_default() += 1;
            self.absent += 1;
        }
        true
    }

    /// The absent seats of an address.
    pub fn absent_of(&self, from: Household) -> Vec<PlayerId> {
        let absent = self.seats.iter().filter(|(_, (_, absent))| *absent == Some(from));
        absent.map(|(player, _)| *player).collect()
    }

    /// The seat has a connection again.
    pub fn set_back(&mut self, player: PlayerId) {
        let Some(from) = self.seats.get_mut(&player).and_then(|(_, absent)| absent.take()) else { return };
        self.absent -= 1;
        if let Some(count) = self.by_address.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(number: u8) -> SeatKey {
        [number; 16]
    }

    fn address(last: u8) -> Household {
        Household::of(std::net::Ipv4Addr::new(203, 0, 113, last).into())
    }

    #[test]
    fn a_key_has_one_seat_and_a_seat_one_key() {
        let mut keys = Keys::default();
        let [one, two] = [1, 2].map(PlayerId);
        keys.insert(one, key(1));
        keys.insert(two, key(1));
        assert_eq!((keys.player(key(1)), keys.set_absent(one, address(1))), (Some(two), false));
        keys.insert(two, key(2));
        assert_eq!([key(1), key(2)].map(|key| keys.player(key)), [None, Some(two)]);
        assert!(keys.iter().eq([(key(2), two)]));
        keys.remove(two);
        assert_eq!(keys.player(key(2)), None);
    }

    #[test]
    fn the_empty_seats_of_an_address_are_few_and_a_return_or_a_leave_makes_place() {
        let mut keys = Keys::default();
        let count = limits::ADDRESS_ABSENT_SEATS as u16;
        let number = |player: u16| u128::from(player).to_le_bytes();
        (0..count + 3).for_each(|player| keys.insert(PlayerId(player), number(player)));
        assert!((0..count).all(|player| keys.set_absent(PlayerId(player), address(1))));
        assert!(!keys.set_absent(PlayerId(count), address(1)), "too many");
        assert!(keys.set_absent(PlayerId(count), address(2)), "another address");
        keys.set_back(PlayerId(0));
        assert!(keys.set_absent(PlayerId(count + 1), address(1)));
        keys.remove(PlayerId(1));
        assert!(keys.set_absent(PlayerId(count + 2), address(1)));
        assert_eq!(keys.absent, usize::from(count) + 1);
        (0..count + 3).for_each(|player| keys.remove(PlayerId(player)));
        assert_eq!((keys.absent, keys.by_address.len(), keys.players.len()), (0, 0, 0));
    }
}
