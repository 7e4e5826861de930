//! Prediction of the own soldier: its client runs the rules of a walk before the server's answer.

use tickwire::game::prediction::Position;
use tickwire::game::simple::{PredictedGame, TickContext};
use tickwire::rows;
use tickwire::sim::PlayerId;

use super::{Fog, PX, TABLE};

rows! {
    in TABLE;
    /// The own soldier. Coordinates are in 1/16 px.
    pub(crate) struct OwnState in "own_state" { x: i32, y: i32, way: u8, is_alive: bool }
}

impl PredictedGame for Fog {
    type OwnState = OwnState;

    fn own_state(&self, player: PlayerId) -> Option<OwnState> {
        let own = self.soldiers.iter().find(|soldier| soldier.player == player)?;
        Some(OwnState { x: own.at.0, y: own.at.1, way: own.way, is_alive: own.health > 0 })
    }

    // The client's game has no other soldier.
    fn apply_own_state(&mut self, _: PlayerId, OwnState { x, y, way, is_alive }: OwnState) -> bool {
        (self.soldiers[0].at, self.soldiers[0].way) = ((x, y), way);
        is_alive
    }

    fn position(&self, _: PlayerId) -> Option<Position> {
        let (x, y) = self.soldiers.first()?.at;
        Some((x * (65_536 / PX), y * (65_536 / PX)))
    }

    // Wolves, packs and shots are the server's.
    fn predict_tick(&mut self, _: PlayerId, context: &mut TickContext<'_>) {
        self.move_soldier(0, context);
    }
}
