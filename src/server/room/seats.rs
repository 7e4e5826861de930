//! The seats: which player numbers are taken, and by which connections.
//!
//! A seat is a player as the room knows it; it may outlive its connection for a while, and another
//! connection may then take it. A join takes the lowest free number, because small numbers take one
//! byte on the wire. After a player has left, its number is not reused for a while, so that a late
//! packet about the old player cannot be attributed to a new one. The wait is shorter if no other
//! number is free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::limits;

/// The state of a seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// The connection of this number plays.
    Connected(u64),
    /// No connection plays. At `until` the player leaves, unless a connection has taken the seat.
    Suspended {
        /// On the host's clock.
        until: Duration,
    },
    /// The player's leave is queued.
    Leaving,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Seats {
    taken: BTreeMap<u16, Seat>,
    /// Seats without a connection, by their time. A seat that was taken again is still here.
    waiting: BTreeSet<(Duration, u16)>,
    free: BTreeSet<u16>,
    resting: VecDeque<(Duration, u16)>,
    highest: u16,
}

impl Seats {
    /// The seats of these players, which have no connection and wait until this time. The numbers
    /// between them are free.
    pub fn resume(players: impl Iterator<Item = PlayerId>, until: Duration) -> Seats {
        let taken: BTreeMap<u16, Seat> =
            players.map(|player| (player.0, Seat::Suspended { until })).collect();
        let highest = taken.last_key_value().map_or(0, |(number, _)| *number);
        Seats {
            waiting: taken.keys().map(|number| (until, *number)).collect(),
            free: (1..highest).filter(|number| !taken.contains_key(number)).collect(),
            resting: VecDeque::new(),
            highest,
            taken,
        }
    }

    /// Takes the lowest free number for this connection; `None` if all [`limits::PLAYERS`] numbers
    /// are taken or were given back too recently.
    pub fn take(&mut self, connection: u64, now: Duration) -> Option<PlayerId> {
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

    /// Makes a seat wait until this time, without a connection.
    pub fn wait(&mut self, player: PlayerId, until: Duration) {
        if let Some(seat @ (Seat::Connected(_) | Seat::Suspended { .. })) = self.taken.get_mut(&player.0) {
            *seat = Seat::Suspended { until };
            self.waiting.insert((until, player.0));
        }
    }

    /// Gives a seat that has not been left to this connection, and returns the one that had it. `None`
    /// if its player leaves already.
    pub fn take_over(&mut self, player: PlayerId, connection: u64) -> Option<Seat> {
        let seat = self.taken.get_mut(&player.0).filter(|seat| **seat != Seat::Leaving)?;
        Some(std::mem::replace(seat, Seat::Connected(connection)))
    }

    /// The next player whose seat has waited long enough; the caller queues its leave.
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

    /// How long no seat needs a tick: until the first absent player leaves, or for ever without players.
    /// `None` if a player is connected or leaves.
    pub fn idle_until(&self) -> Option<Duration> {
        self.taken.values().try_fold(Duration::MAX, |least, seat| match seat {
            Seat::Suspended { until } => Some(least.min(*until)),
            Seat::Connected(_) | Seat::Leaving => None,
        })
    }

    /// The seat of a player.
    pub fn get(&self, player: PlayerId) -> Option<Seat> {
        self.taken.get(&player.0).copied()
    }

    /// Counts the numbers: taken, free, resting, and given so far.
    pub fn counts(&self) -> [usize; 4] {
        [self.taken.len(), self.free.len(), self.resting.len(), self.highest.into()]
    }

    /// Gives a number back. It can be reused after [`limits::PLAYER_ID_COOLDOWN`] or, if no other
    /// number is free, after [`limits::MIN_PLAYER_ID_COOLDOWN`].
    pub fn give_back(&mut self, player: PlayerId, now: Duration) {
        if self.taken.remove(&player.0).is_some() {
            self.resting.push_back((now, player.0));
        }
    }

    /// Frees the numbers that have rested for so long.
    fn end_cooldowns(&mut self, now: Duration, rest: Duration) {
        while let Some((_, number)) =
            self.resting.pop_front_if(|(since, _)| now.saturating_sub(*since) >= rest)
        {
            self.free.insert(number);
        }
    }
}
