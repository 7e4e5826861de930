//! Seats: which player numbers are taken, and by which connections.
//!
//! A seat is a player as the room knows it. It outlives its connection for a while, and another
//! connection can take it over. A join takes the lowest free number, because small numbers take one
//! byte on the wire. The number of a player that left is reused only after a cooldown, so that a
//! late packet about the old player is not attributed to a new one. The cooldown is shorter if no
//! other number is free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::limits;

/// The state of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// Played by the connection with this number.
    Connected(u64),
    /// Suspended. The player leaves at `until` unless a connection takes the seat before.
    Suspended {
        /// Time on the server's clock.
        until: Duration,
    },
    /// The player's leave is queued.
    Leaving,
}

/// All player numbers of a room, with their seats.
#[derive(Debug, Default)]
pub struct Seats {
    taken: BTreeMap<u16, Seat>,
    /// Suspended seats by their deadline. The entry of a seat that was resumed stays until the
    /// deadline.
    waiting: BTreeSet<(Duration, u16)>,
    free: BTreeSet<u16>,
    cooling_down: VecDeque<(Duration, u16)>,
    highest: u16,
}

impl Seats {
    /// Creates suspended seats for these players, all with the deadline `until`. The unused numbers
    /// below the highest one are free.
    pub fn restore(players: impl Iterator<Item = PlayerId>, until: Duration) -> Seats {
        let taken: BTreeMap<u16, Seat> =
            players.map(|player| (player.0, Seat::Suspended { until })).collect();
        let highest = taken.last_key_value().map_or(0, |(number, _)| *number);
        Seats {
            waiting: taken.keys().map(|number| (until, *number)).collect(),
            free: (1..highest).filter(|number| !taken.contains_key(number)).collect(),
            cooling_down: VecDeque::new(),
            highest,
            taken,
        }
    }

    /// Takes the lowest free number for this connection. Returns `None` if all [`limits::PLAYERS`]
    /// numbers are taken or in cooldown.
    pub fn assign(&mut self, connection: u64, now: Duration) -> Option<PlayerId> {
        self.end_cooldowns(now, limits::PLAYER_ID_COOLDOWN);
        if self.free.is_empty() && self.highest >= limits::PLAYERS {
            self.end_cooldowns(now, limits::MIN_PLAYER_ID_COOLDOWN);
        }
        let number = match self.free.pop_first() {
            Some(number) => number,
            None if self.highest >= limits::PLAYERS => return None,
            None => {
                self.highest += 1;
                self.highest
            }
        };
        self.taken.insert(number, Seat::Connected(connection));
        Some(PlayerId(number))
    }

    /// Suspends a seat until this time.
    pub fn suspend(&mut self, player: PlayerId, until: Duration) {
        if let Some(seat @ (Seat::Connected(_) | Seat::Suspended { .. })) = self.taken.get_mut(&player.0) {
            *seat = Seat::Suspended { until };
            self.waiting.insert((until, player.0));
        }
    }

    /// Assigns a seat to this connection and returns its previous state. Returns `None` if the
    /// player's leave is queued already.
    pub fn take_over(&mut self, player: PlayerId, connection: u64) -> Option<Seat> {
        let seat = self.taken.get_mut(&player.0).filter(|seat| **seat != Seat::Leaving)?;
        Some(std::mem::replace(seat, Seat::Connected(connection)))
    }

    /// Returns the next player with an expired seat, and marks it as leaving. The caller queues the
    /// leave.
    pub fn next_expired(&mut self, now: Duration) -> Option<PlayerId> {
        while let Some((until, number)) = self.waiting.first().copied().filter(|(until, _)| *until <= now) {
            self.waiting.pop_first();
            match self.taken.get_mut(&number) {
                Some(seat) if *seat == (Seat::Suspended { until }) => {
                    *seat = Seat::Leaving;
                    return Some(PlayerId(number));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the deadline of the first suspended seat, or [`Duration::MAX`] without players. No
    /// seat needs a tick before that time. Returns `None` if a player is connected or leaving.
    pub fn idle_until(&self) -> Option<Duration> {
        self.taken.values().try_fold(Duration::MAX, |earliest, seat| match seat {
            Seat::Suspended { until } => Some(earliest.min(*until)),
            Seat::Connected(_) | Seat::Leaving => None,
        })
    }

    /// Returns the seat of a player.
    pub fn get(&self, player: PlayerId) -> Option<Seat> {
        self.taken.get(&player.0).copied()
    }

    /// Counts of player numbers: taken, free, in cooldown, and the highest used so far.
    pub fn counts(&self) -> [usize; 4] {
        [self.taken.len(), self.free.len(), self.cooling_down.len(), self.highest.into()]
    }

    /// Releases a number. It can be reused after [`limits::PLAYER_ID_COOLDOWN`] or, if no other
    /// number is free, after [`limits::MIN_PLAYER_ID_COOLDOWN`].
    pub fn release(&mut self, player: PlayerId, now: Duration) {
        if self.taken.remove(&player.0).is_some() {
            self.cooling_down.push_back((now, player.0));
        }
    }

    /// Frees the numbers that were released at least `cooldown` ago.
    fn end_cooldowns(&mut self, now: Duration, cooldown: Duration) {
        while let Some((_, number)) =
            self.cooling_down.pop_front_if(|(since, _)| now.saturating_sub(*since) >= cooldown)
        {
            self.free.insert(number);
        }
    }
}
