//! The roster: which player numbers are taken.
//!
//! Comes in: joins and the news that a player has left the world. Goes out: the lowest free number, since small
//! numbers take one byte on the wire. A number rests for a while before it is given again, so that a late packet about the one
//! who left cannot be taken for the one who came. Never: two players with one number.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::sync::Mutex;
use crate::limits;
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
    /// Takes the lowest free number; `None` when all [`limits::PLAYERS`] are taken or resting.
    pub fn take(&self, now: Duration) -> Option<PlayerId> {
        let mut state = self.state.lock();
        while let Some(&(since, number)) = state.resting.front() {
            if now.saturating_sub(since) < limits::PLAYER_NUMBER_REST {
                break;
            }
            state.resting.pop_front();
            state.free.insert(number);
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

    /// Gives a number back, to be taken again after [`limits::PLAYER_NUMBER_REST`].
    pub fn give_back(&self, player: PlayerId, now: Duration) {
        self.state.lock().resting.push_back((now, player.0));
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
    fn a_full_roster_says_so() {
        let roster = Roster::default();
        for _ in 0..limits::PLAYERS {
            assert!(roster.take(Duration::ZERO).is_some());
        }
        assert_eq!(roster.take(Duration::ZERO), None);
    }
}
