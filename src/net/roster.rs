//! The roster: which player numbers are taken.
//!
//! A join takes the lowest free number, because small numbers take one byte on the wire. A number
//! is not reused for a while after its player has left, so that a late packet about the old player
//! cannot be attributed to a new one. If no other number is free, the wait is shorter, so that many
//! clients that join and leave do not lock others out. Two players never have the same number.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use crate::limits;
use crate::sync::Mutex;
use crate::world::PlayerId;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Roster {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeSet<u16>,
    resting: VecDeque<(Duration, u16)>,
    highest: u16,
}

impl Roster {
    /// Takes the lowest free number; `None` if all [`limits::PLAYERS`] numbers are taken or were
    /// given back too recently.
    pub fn take(&self, now: Duration) -> Option<PlayerId> {
        let mut state = self.state.lock();
        state.end_rests(now, limits::PLAYER_NUMBER_REST);
        if state.free.is_empty() && state.highest >= limits::PLAYERS {
            state.end_rests(now, limits::PLAYER_NUMBER_REST_LEAST);
        }
        if let Some(number) = state.free.pop_first() {
            return Some(PlayerId(number));
        }
        if state.highest >= limits::PLAYERS {
            return None;
        }
        state.highest += 1;
        Some(PlayerId(state.highest))
    }

    /// Marks these numbers as taken, and the numbers between them as free, for the players of a
    /// restored world. Call it on a new roster.
    pub fn resume(&self, taken: impl Iterator<Item = PlayerId>) {
        let mut state = self.state.lock();
        let taken: BTreeSet<u16> = taken.map(|player| player.0).collect();
        state.highest = taken.last().copied().unwrap_or(0);
        state.free = (1..state.highest).filter(|number| !taken.contains(number)).collect();
    }

    /// Gives a number back. It can be reused after [`limits::PLAYER_NUMBER_REST`] or, if no other
    /// number is free, after [`limits::PLAYER_NUMBER_REST_LEAST`].
    pub fn give_back(&self, player: PlayerId, now: Duration) {
        self.state.lock().resting.push_back((now, player.0));
    }
}

impl State {
    /// Frees the numbers that have rested for so long.
    fn end_rests(&mut self, now: Duration, rest: Duration) {
        while let Some((_, number)) =
            self.resting.pop_front_if(|(since, _)| now.saturating_sub(*since) >= rest)
        {
            self.free.insert(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_comes_first_and_rests_before_it_comes_again() {
        let roster = Roster::default();
        let start = Duration::from_secs(1);
        assert_eq!(roster.take(start), Some(PlayerId(1)));
        assert_eq!(roster.take(start), Some(PlayerId(2)));
        roster.give_back(PlayerId(1), start);
        assert_eq!(roster.take(start), Some(PlayerId(3)));
        assert_eq!(roster.take(start + limits::PLAYER_NUMBER_REST), Some(PlayerId(1)));
    }

    #[test]
    fn the_numbers_of_a_world_that_goes_on_are_taken() {
        let roster = Roster::default();
        let start = Duration::from_secs(1);
        roster.resume([PlayerId(2), PlayerId(4)].into_iter());
        assert_eq!([1, 2, 3].map(|_| roster.take(start)), [1, 3, 5].map(|number| Some(PlayerId(number))));
        roster.give_back(PlayerId(2), start);
        assert_eq!(roster.take(start), Some(PlayerId(6)), "it rests first");
        assert_eq!(roster.take(start + limits::PLAYER_NUMBER_REST), Some(PlayerId(2)));
    }

    #[test]
    fn a_full_roster_says_so() {
        let roster = Roster::default();
        for _ in 0..limits::PLAYERS {
            assert!(roster.take(Duration::ZERO).is_some());
        }
        assert_eq!(roster.take(Duration::ZERO), None);
    }

    #[test]
    fn when_no_other_is_left_a_number_rests_for_a_shorter_while() {
        let roster = Roster::default();
        for _ in 0..limits::PLAYERS {
            roster.take(Duration::ZERO);
        }
        roster.give_back(PlayerId(7), Duration::ZERO);
        let rested = limits::PLAYER_NUMBER_REST_LEAST;
        assert_eq!(roster.take(rested - Duration::from_millis(1)), None);
        assert_eq!(roster.take(rested), Some(PlayerId(7)));
    }
}
