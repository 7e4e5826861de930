//! Rounds: the clock, the winner, and the pause before the next round.

use tickwire_sim::{PlayerId, fields};

use super::rules::{ROUND_PAUSE_TICKS, TICK_HZ};
use super::tank::Tank;

/// The current round, or the pause after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Length of each round, in ticks.
    length: u32,
    /// Number of the round, starting at 1.
    number: u16,
    is_over: bool,
    /// Ticks until the end of the round, or until the next round starts.
    left: u32,
    /// Winner of the ended round.
    winner: Option<PlayerId>,
}

fields!(Round: length: u32, number: u16, is_over: bool, left: u32, winner: Option<PlayerId>);

impl Round {
    /// The first round. All rounds last `seconds`.
    pub fn first(seconds: u32) -> Round {
        let length = seconds * TICK_HZ;
        Round { length, number: 1, is_over: false, left: length, winner: None }
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Applies a server update to a client's copy of the round. The clock of the copy is disabled,
    /// because the server ends and starts rounds.
    pub fn apply_update(&mut self, is_over: bool) {
        (self.is_over, self.left) = (is_over, u32::MAX);
    }

    /// Advances the clock of the round by one tick. Returns whether the round is over now.
    pub fn tick_round(&mut self, tanks: &[Tank]) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            (self.is_over, self.left, self.winner) = (true, ROUND_PAUSE_TICKS, winner(tanks));
        }
        self.is_over
    }

    /// Advances the pause by one tick. Returns whether the next round starts now.
    pub fn tick_pause(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let number = self.number.wrapping_add(1);
            *self = Round { length: self.length, number, is_over: false, left: self.length, winner: None };
        }
        !self.is_over
    }

    /// The number of the round, whether it is over, the seconds until its end or the next start,
    /// and the winner.
    pub fn clock(&self) -> (u16, bool, u32, Option<PlayerId>) {
        (self.number, self.is_over, self.left.div_ceil(TICK_HZ), self.winner)
    }
}

/// The player with the most points. At equal points, the player with the fewest lost tanks wins.
/// `None` for a tie, or if no player has a point.
fn winner(tanks: &[Tank]) -> Option<PlayerId> {
    let rank = |tank: &Tank| (tank.score, u16::MAX - tank.deaths);
    let best = tanks.iter().max_by_key(|tank| rank(tank)).filter(|tank| tank.score > 0)?;
    let is_alone = tanks.iter().filter(|tank| rank(tank) == rank(best)).count() == 1;
    Some(best.player).filter(|_| is_alone)
}
