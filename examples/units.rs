//! Units: each player has six units, and one command sends many of them to a position. The server
//! refuses each unit of another player separately, and the other units march.
//!
//! ```text
//! cargo run --release --example units          the game at http://127.0.0.1:3000/
//! ```

use std::process::ExitCode;

use tickwire::game::simple::{Joining, NamedValues, Simple, SimpleGame, TickContext};
use tickwire::packet::DecodedPacket;
use tickwire::sim::{PlayerId, WorldParams, fields};

const WIDTH: i32 = 640;
const HEIGHT: i32 = 480;
/// Speed of a unit, px/s.
const SPEED: i32 = 120;
const UNITS_EACH: i32 = 6;
/// Maximum number of units in a command. The packet table rejects a packet with more.
const TARGETS: usize = 64;

/// The action of a player: send units to a position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct March {
    /// The numbers of the units.
    pub targets: Vec<u16>,
    /// The destination, px.
    pub x: u16,
    /// As `x`.
    pub y: u16,
}

fields!(March: targets: Vec<u16>, x: u16, y: u16);

/// A unit, with its position and its destination.
#[derive(Clone, Debug, PartialEq)]
struct Unit {
    number: u16,
    owner: PlayerId,
    x: i32,
    y: i32,
    to_x: i32,
    to_y: i32,
}

fields!(Unit: number: u16, owner: PlayerId, x: i32, y: i32, to_x: i32, to_y: i32);

/// The whole state of the game.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Sorted by number.
    units: Vec<Unit>,
    next: u16,
}

fields!(Units: units: Vec<Unit>, next: u16);

impl SimpleGame for Units {
    const NAME: &'static str = "units";
    const DIALECT: &'static str = "units";
    const TABLE: (&'static str, &'static str) = ("units.tsv", include_str!("units.tsv"));
    const PAGE: &'static str = include_str!("units.html");
    const TICK_RATES: &'static [u32] = &[20];

    type Action = March;

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

    fn action(packet: &DecodedPacket<'_>) -> Option<March> {
        let number =
            |value: &tickwire::packet::Value| value.as_u64().and_then(|number| u16::try_from(number).ok());
        let targets = packet.get("targets")?.as_array()?.iter().map(number).collect::<Option<Vec<u16>>>()?;
        let (x, y) = (packet.integer("x")?, packet.integer("y")?);
        Some(March { targets, x, y })
            .filter(|march| packet.row.name == "march" && march.targets.len() <= TARGETS)
    }

    fn apply(
        &mut self,
        player: PlayerId,
        march: March,
        context: &mut TickContext<'_>,
    ) -> Result<(), &'static str> {
        let (to_x, to_y) = (i32::from(march.x).min(WIDTH), i32::from(march.y).min(HEIGHT));
        for number in march.targets {
            let found = self.units.iter_mut().find(|unit| unit.number == number);
            match found {
                Some(unit) if unit.owner == player => (unit.to_x, unit.to_y) = (to_x, to_y),
                other => context.send_to(player, "refused", |row| {
                    row.set("unit", number);
                    row.set("rule", if other.is_some() { "not_owned" } else { "unknown_unit" });
                }),
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

    fn write_state(&self, row: &mut NamedValues) {
        let unit = |one: &Unit| [one.number.into(), one.owner.0.into(), one.x.into(), one.y.into()];
        row.list("units", self.units.iter().map(unit));
    }
}

fn main() -> ExitCode {
    tickwire::serve::<Simple<Units>>()
}
