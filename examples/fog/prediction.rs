//! Prediction of the own soldier: its client runs the rules of a walk before the server's answer.

use tickwire::game::prediction::Position;
use tickwire::game::simple::PredictedGame;
use tickwire::prelude::*;

use super::{Fog, PX, TABLE};

rows! {
    in TABLE;
    /// The own soldier. Coordinates are in 1/16 px.
    pub(crate) struct OwnState in "own_state" { x: i32, y: i32, way: u8, is_alive: bool }
}

impl PredictedGame for Fog {
    type OwnState = OwnState;

    fn own_state(&self, player: PlayerId) -> Option<OwnState> {
        let own = self.soldiers.get(player)?;
        Some(OwnState { x: own.at.0, y: own.at.1, way: own.way, is_alive: own.health > 0 })
    }

    fn apply_own_state(&mut self, player: PlayerId, state: OwnState) -> bool {
        let OwnState { x, y, way, is_alive } = state;
        let Some(own) = self.soldiers.get_mut(player) else { return false };
        (own.at, own.way) = ((x, y), way);
        is_alive
    }

    fn position(&self, player: PlayerId) -> Option<Position> {
        let (x, y) = self.soldiers.get(player)?.at;
        Some((x * (65_536 / PX), y * (65_536 / PX)))
    }

    // Wolves, packs and shots are the server's.
    fn predict_tick(&mut self, player: PlayerId, context: &mut TickContext<'_>) {
        if let Some(own) = self.soldiers.get_mut(player) {
            own.tick(context);
        }
    }
}
