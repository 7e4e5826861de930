//! Units: each player has six units, and one command sends many of them to a position. The server
//! refuses each unit of another player separately, and the other units march.
//!
//! ```text
//! cargo run --release --example units          the game at http://127.0.0.1:3000/
//! ```

use std::process::ExitCode;

use tickwire::prelude::*;

const WIDTH: i32 = 640;
const HEIGHT: i32 = 480;
/// Speed of a unit, px/s.
const SPEED: i32 = 120;
const UNITS_EACH: i32 = 6;
const TABLE: &str = include_str!("units.tsv");

rows! {
    in TABLE;

    /// The actions of a player.
    pub enum Action {
        /// Sends units to a position.
        March in "march" {
            /// The numbers of the units.
            targets: Vec<u16>,
            /// The destination, px.
            x: u16,
            /// As `x`.
            y: u16,
        },
    }

    /// The state that every client receives.
    struct StateRow in "state" { units: Vec<UnitRow> }
    struct UnitRow { unit: u16, owner: PlayerId, x: i32, y: i32 }

    /// A unit that does not march, and the rule that refuses it.
    struct Refused in "refused" { unit: u16, rule: &'static str }
}

fields! {
    /// A unit, with its position and its destination.
    struct Unit {
        number: u16,
        owner: PlayerId,
        x: i32,
        y: i32,
        to_x: i32,
        to_y: i32,
    }
}

fields! {
    /// The whole state of the game.
    pub struct Units {
        /// Sorted by number.
        units: Vec<Unit>,
        next: u16,
    }
}

impl SimpleGame for Units {
    const NAME: &'static str = "units";
    const DIALECT: &'static str = "units";
    const TABLE: (&'static str, &'static str) = ("units.tsv", TABLE);
    const PAGE: &'static str = include_str!("units.html");
    const TICK_RATES: &'static [u32] = &[20];

    type Action = Action;

    fn new(_: &WorldParams) -> Units {
        Units { units: Vec::new(), next: 1 }
    }

    fn join(&mut self, player: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {
        // Each player has a row; the rows are ordered from top to bottom.
        let y = 40 + i32::from(player.0 % 10) * 40;
        for number in 0..UNITS_EACH {
            let x = 40 + number * 40;
            let unit = Unit { number: self.next, owner: player, x, y, to_x: x, to_y: y };
            self.next = self.next.wrapping_add(1).max(1);
            self.units.push(unit);
        }
        self.units.sort_by_key(|unit| unit.number);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.units.retain(|unit| unit.owner != player);
    }

    fn disconnect(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        for unit in self.units.iter_mut().filter(|unit| unit.owner == player) {
            (unit.to_x, unit.to_y) = (unit.x, unit.y);
        }
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        let Action::March { targets, x, y } = action;
        let (to_x, to_y) = (i32::from(x).min(WIDTH), i32::from(y).min(HEIGHT));
        for number in targets {
            let found = self.units.iter_mut().find(|unit| unit.number == number);
            match found {
                Some(unit) if unit.owner == player => (unit.to_x, unit.to_y) = (to_x, to_y),
                other => {
                    let rule = if other.is_some() { "not_owned" } else { "unknown_unit" };
                    context.send_to(player, Refused { unit: number, rule });
                }
            }
        }
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        let step = SPEED / context.tick_hz as i32;
        let towards = |from: i32, to: i32| from + (to - from).clamp(-step, step);
        for unit in &mut self.units {
            (unit.x, unit.y) = (towards(unit.x, unit.to_x), towards(unit.y, unit.to_y));
        }
    }

    fn write_state(&self, rows: &mut StateRows) {
        let row = |unit: &Unit| UnitRow { unit: unit.number, owner: unit.owner, x: unit.x, y: unit.y };
        rows.push(StateRow { units: self.units.iter().map(row).collect() });
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Units>>()
}
