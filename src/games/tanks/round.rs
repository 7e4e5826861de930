//! Rounds: the clock, the winner, and the pause before the next round.

use tickwire_sim::{PlayerId, fields};

use super::rules::{ROUND_PAUSE_TICKS, TICK_HZ};
use super::tank::Tank;
use crate::game::simple::NamedValues;

/// The round that is played, or that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Of every round, in ticks.
    length: u32,
    /// From 1.
    number: u16,
    is_over: bool,
    /// Ticks until the round is over, or until the next one begins.
    left: u32,
    /// Of the round that is over.
    winner: Option<PlayerId>,
}

fields!(Round: length: u32, number: u16, is_over: bool, left: u32, winner: Option<PlayerId>);

impl Round {
    /// The first round, of so many seconds.
    pub fn first(seconds: u32) -> Round {
        let length = seconds * TICK_HZ;
        Round { length, number: 1, is_over: false, left: length, winner: None }
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// A client hears whether the round is over; when that changes, it hears again.
    pub fn apply_update(&mut self, is_over: bool) {
        (self.is_over, self.left) = (is_over, u32::MAX);
    }

    /// A tick of the round passes. Whether the round is over now.
    pub fn run(&mut self, tanks: &[Tank]) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            (self.is_over, self.left, self.winner) = (true, ROUND_PAUSE_TICKS, winner(tanks));
        }
        self.is_over
    }

    /// A tick of the pause passes. Whether the next round begins now.
    pub fn wait(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let number = self.number.wrapping_add(1);
            *self = Round { length: self.length, number, is_over: false, left: self.length, winner: None };
        }
        !self.is_over
    }

    /// The number, whether it is over, seconds until its end or the next one, and who has won.
    pub fn clock(&self) -> (u16, bool, u32, Option<PlayerId>) {
        (self.number, self.is_over, self.left.div_ceil(TICK_HZ), self.winner)
    }

    pub fn show(&self, row: &mut NamedValues) {
        let (number, is_over, left_s, winner) = self.clock();
        row.set("round", number);
        row.set("over", is_over);
        row.set("left_s", left_s);
        row.set_or_nil("winner", winner.map(|player| player.0));
    }
}

/// Who has the most points; of several, who has lost the fewest tanks; nobody, if that is equal too
/// or nobody has a point.
fn winner(tanks: &[Tank]) -> Option<PlayerId> {
    let rank = |tank: &Tank| (tank.score, u16::MAX - tank.deaths);
    let best = tanks.iter().max_by_key(|tank| rank(tank)).filter(|tank| tank.score > 0)?;
    let is_alone = tanks.iter().filter(|tank| rank(tank) == rank(best)).count() == 1;
    Some(best.player).filter(|_| is_alone)
}
