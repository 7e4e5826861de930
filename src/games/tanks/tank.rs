//! A tank: its controls and its movement. This module does not depend on other tanks.

use std::sync::Arc;

use tickwire_sim::fixed::{Angle, Fixed};
use tickwire_sim::trig::{cosine, sine};
use tickwire_sim::{PlayerId, fields};

use super::map::Map;
use super::rules::{
    BACKWARDS, FORWARDS, HEALTH, HULL_TURN_PER_TICK, MAX_REWIND_TICKS, RELOAD_TICKS, SHELLS, ShellKind,
    TANK_RADIUS, TURRET_TURN_PER_TICK,
};
use crate::game::simple::RewindBuffer;

/// The controls of a player's tank, valid until the next `control` packet. The controls contain no
/// tank ID, position or speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Control {
    /// Drive: forwards (1), backwards (-1) or stop (0).
    pub drive: i8,
    /// Turn of the hull: right (1), left (-1) or none (0).
    pub turn: i8,
    /// Target direction of the turret, in 1/65,536 turn.
    pub aim: u16,
    /// Whether the tank fires whenever it has reloaded.
    pub fires: bool,
    /// Preferred kind of the next shell.
    pub kind: ShellKind,
    /// The tick at which the player sees the other tanks; `None` without lag compensation.
    pub seen: Option<u32>,
}

fields!(Control: drive: i8, turn: i8, aim: u16, fires: bool, kind: ShellKind, seen: Option<u32>);

/// Position of a tank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TankPosition {
    pub x: Fixed,
    pub y: Fixed,
}

fields!(TankPosition: x: Fixed, y: Fixed);

/// Positions of a tank after each of the last ticks, for lag compensation.
pub type TankHistory = RewindBuffer<TankPosition, MAX_REWIND_TICKS>;

/// A player's tank.
#[derive(Clone, Debug, PartialEq)]
pub struct Tank {
    pub player: PlayerId,
    pub name: Arc<str>,
    pub control: Control,
    /// Rewind of lag compensation for shots, in ticks, as of the last `control` packet.
    pub delay: u32,
    /// x coordinate of the centre.
    pub x: Fixed,
    /// y coordinate of the centre.
    pub y: Fixed,
    pub history: TankHistory,
    pub hull: Angle,
    pub turret: Angle,
    /// Health points; 0 for a destroyed tank.
    pub health: u8,
    /// Number of shells of each kind.
    pub shells: [u8; 2],
    /// Ticks until the tank can fire.
    pub reload: u8,
    /// Ticks until a destroyed tank respawns.
    pub respawn: u16,
    pub score: u16,
    pub kills: u16,
    pub deaths: u16,
}

fields!(Tank: player: PlayerId, name: Arc<str>, control: Control, delay: u32, x: Fixed, y: Fixed,
    history: TankHistory, hull: Angle, turret: Angle, health: u8, shells: [u8; 2], reload: u8, respawn: u16, score: u16, kills: u16,
    deaths: u16);

impl Tank {
    /// The tank of a new player. It has no position until it spawns.
    pub fn new(player: PlayerId, name: &str) -> Tank {
        Tank {
            player,
            name: name.into(),
            control: Control::default(),
            delay: 0,
            x: Fixed::ZERO,
            y: Fixed::ZERO,
            history: TankHistory::default(),
            hull: Angle(0),
            turret: Angle(0),
            health: 0,
            shells: [0; 2],
            reload: 0,
            respawn: 0,
            score: 0,
            kills: 0,
            deaths: 0,
        }
    }

    /// Spawns the tank at a position, with full health and supply. The turret points in the
    /// direction of the hull until the first `control` packet.
    pub fn spawn(&mut self, (x, y): (Fixed, Fixed), heading: Angle) {
        (self.x, self.y, self.hull, self.turret) = (x, y, heading, heading);
        (self.health, self.reload, self.respawn) = (HEALTH, 0, 0);
        self.history.clear();
        self.shells = SHELLS.map(|shells| shells.max_count);
        if self.control == Control::default() {
            self.control.aim = heading.0;
        }
    }

    pub fn is_alive(&self) -> bool {
        self.health > 0
    }

    /// Turns, drives and reloads for one tick.
    pub fn drive(&mut self, map: &Map) {
        let Control { drive, turn, aim, .. } = self.control;
        self.hull = match turn {
            1 => Angle(self.hull.0.wrapping_add(HULL_TURN_PER_TICK)),
            -1 => Angle(self.hull.0.wrapping_sub(HULL_TURN_PER_TICK)),
            _ => self.hull,
        };
        self.turret = rotate_towards(self.turret, Angle(aim), TURRET_TURN_PER_TICK);
        let speed = match drive {
            1 => FORWARDS,
            -1 => Fixed(-BACKWARDS.0),
            _ => Fixed::ZERO,
        };
        self.move_by(map, speed.scaled(cosine(self.hull)), speed.scaled(sine(self.hull)));
        self.reload = self.reload.saturating_sub(1);
    }

    /// Records the position for lag compensation. In a client's copy of the game, tanks have no
    /// history and cannot be hit, because only the server decides about hits.
    pub fn record_position(&mut self) {
        if self.is_alive() && self.respawn == 0 {
            self.history.push(TankPosition { x: self.x, y: self.y });
        }
    }

    /// Moves along each axis separately, so that the tank slides along walls.
    pub fn move_by(&mut self, map: &Map, dx: Fixed, dy: Fixed) {
        if !map.is_blocked(self.x.saturating_add(dx), self.y, TANK_RADIUS) {
            self.x = self.x.saturating_add(dx);
        }
        if !map.is_blocked(self.x, self.y.saturating_add(dy), TANK_RADIUS) {
            self.y = self.y.saturating_add(dy);
        }
    }

    /// Fires if possible: removes a shell and restarts the reload timer. Uses the other kind if no
    /// shell of the preferred kind is left.
    pub fn fire(&mut self) -> Option<ShellKind> {
        let wanted = self.control.kind;
        if !self.control.fires || !self.is_alive() || self.reload > 0 {
            return None;
        }
        let kind = [wanted, wanted.other()].into_iter().find(|kind| self.shells[*kind as usize] > 0)?;
        self.shells[kind as usize] -= 1;
        self.reload = RELOAD_TICKS;
        Some(kind)
    }

    /// Adds shells of a kind, up to the maximum per tank.
    pub fn add_shells(&mut self, kind: ShellKind, count: u8) {
        let own = &mut self.shells[kind as usize];
        *own = own.saturating_add(count).min(kind.shells().max_count);
    }
}

/// Turns an angle towards another angle, the short way round and by at most `max_turn`.
fn rotate_towards(from: Angle, to: Angle, max_turn: u16) -> Angle {
    let off = to.0.wrapping_sub(from.0);
    Angle(match off {
        0 => to.0,
        1..=0x8000 => from.0.wrapping_add(off.min(max_turn)),
        _ => from.0.wrapping_sub(off.wrapping_neg().min(max_turn)),
    })
}
