//! A shell: its flight and its hits.

use tickwire_sim::PlayerId;
use tickwire_sim::fields;
use tickwire_sim::fixed::{Angle, Fixed, is_within};
use tickwire_sim::trig::{cosine, sine};

use super::map::Map;
use super::rules::{MUZZLE, SHELL_RADIUS, STEP_PX, ShellKind, TANK_RADIUS, TICK_HZ};
use super::tank::{Tank, TankPosition};

/// A shell in flight.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell {
    /// ID, unique among the shells in flight.
    pub id: u16,
    pub owner: PlayerId,
    pub x: Fixed,
    pub y: Fixed,
    pub way: Angle,
    pub kind: ShellKind,
    /// Rewind of lag compensation, in ticks: the shell is tested against the positions that its
    /// player saw.
    pub delay: u32,
}

fields!(Shell: id: u16, owner: PlayerId, x: Fixed, y: Fixed, way: Angle, kind: ShellKind, delay: u32);

/// The result of one tick of a shell's flight.
#[derive(Debug, PartialEq)]
pub enum ShellHit {
    Nothing,
    Wall,
    /// A tank, by index.
    Tank(usize),
}

impl Shell {
    /// A shell at the muzzle of a tank.
    pub fn fired(id: u16, tank: &Tank, kind: ShellKind) -> Shell {
        let Tank { player: owner, x, y, turret: way, delay, .. } = *tank;
        let mut shell = Shell { id, owner, x, y, way, kind, delay };
        shell.advance(MUZZLE);
        shell
    }

    fn advance(&mut self, length: Fixed) {
        self.x = self.x.saturating_add(length.scaled(cosine(self.way)));
        self.y = self.y.saturating_add(length.scaled(sine(self.way)));
    }

    /// Flies for one tick, in steps, until the shell hits something.
    pub fn fly(&mut self, map: &Map, tanks: &[Tank]) -> ShellHit {
        let speed = self.kind.shells().speed_px;
        let steps = speed / (TICK_HZ as i32 * STEP_PX) + 1;
        let step = Fixed(speed * 65_536 / TICK_HZ as i32 / steps);
        for taken in 0..=steps {
            if taken > 0 {
                self.advance(step);
            }
            if map.is_blocked(self.x, self.y, SHELL_RADIUS) {
                return ShellHit::Wall;
            }
            let hit = tanks.iter().position(|tank| {
                let reach = TANK_RADIUS.saturating_add(SHELL_RADIUS).0 as u32;
                let is_near =
                    |at: TankPosition| is_within(at.x.distance(self.x), at.y.distance(self.y), reach);
                let is_target = tank.is_alive() && tank.player != self.owner;
                is_target && tank.history.at_ticks_ago(self.delay).is_some_and(is_near)
            });
            if let Some(at) = hit {
                return ShellHit::Tank(at);
            }
        }
        ShellHit::Nothing
    }
}
