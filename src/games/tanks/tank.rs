//! A tank: what its player asks for, and how it moves. It looks at no other tank.

use std::sync::Arc;

use tickwire_sim::fixed::{Angle, Fixed};
use tickwire_sim::trig::{cosine, sine};
use tickwire_sim::{PlayerId, fields};

use super::map::Map;
use super::rules::{
    BACKWARDS, FORWARDS, HEALTH, HULL_TURN_PER_TICK, MAX_REWIND_TICKS, RELOAD_TICKS, SHELLS, ShellKind,
    TANK_RADIUS, TURRET_TURN_PER_TICK,
};
use crate::game::simple::{NamedValues, RewindBuffer};

/// What a player asks of the own tank, until it asks for something else. It names no tank, no place
/// and no speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Control {
    /// Forwards (1), backwards (-1) or not at all.
    pub drive: i8,
    /// Which way the hull turns: right (1), left (-1) or not at all.
    pub turn: i8,
    /// Where the turret shall point.
    pub aim: u16,
    /// Whether the tank fires whenever it has reloaded.
    pub fires: bool,
    /// The kind of its next shell.
    pub kind: ShellKind,
    /// The ticks after which the other tanks were as the player saw them; `None` without lag
    /// compensation.
    pub seen: Option<u32>,
}

fields!(Control: drive: i8, turn: i8, aim: u16, fires: bool, kind: ShellKind, seen: Option<u32>);

/// A place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TankPosition {
    pub x: Fixed,
    pub y: Fixed,
}

fields!(TankPosition: x: Fixed, y: Fixed);

/// Where a tank was after each of the last ticks in which it could be hit.
pub type TankHistory = RewindBuffer<TankPosition, MAX_REWIND_TICKS>;

/// The tank of a player.
#[derive(Clone, Debug, PartialEq)]
pub struct Tank {
    pub player: PlayerId,
    pub name: Arc<str>,
    pub control: Control,
    /// How many ticks before its own time its player saw the others when it asked for that.
    pub delay: u32,
    /// Its centre.
    pub x: Fixed,
    pub y: Fixed,
    pub history: TankHistory,
    pub hull: Angle,
    pub turret: Angle,
    /// 0 for a destroyed tank.
    pub health: u8,
    /// What it carries of each kind of shell.
    pub shells: [u8; 2],
    /// Ticks until it can fire.
    pub reload: u8,
    /// Ticks until it returns, if it is destroyed.
    pub respawn: u16,
    pub score: u16,
    pub kills: u16,
    pub deaths: u16,
}

fields!(Tank: player: PlayerId, name: Arc<str>, control: Control, delay: u32, x: Fixed, y: Fixed,
    history: TankHistory, hull: Angle, turret: Angle, health: u8, shells: [u8; 2], reload: u8, respawn: u16, score: u16, kills: u16,
    deaths: u16);

impl Tank {
    /// The tank of a player who comes. It has no place yet.
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

    /// Puts a whole tank, fully supplied, at a place. Its turret points like its hull until its player
    /// asks for something.
    pub fn spawn(&mut self, (x, y): (Fixed, Fixed), heading: Angle) {
        (self.x, self.y, self.hull, self.turret) = (x, y, heading, heading);
        (self.health, self.reload, self.respawn) = (HEALTH, 0, 0);
        self.history.clear();
        self.shells = SHELLS.map(|shells| shells.most);
        if self.control == Control::default() {
            self.control.aim = heading.0;
        }
    }

    pub fn is_alive(&self) -> bool {
        self.health > 0
    }

    /// The values of the packet `own`.
    pub fn show(&self, row: &mut NamedValues) {
        row.set("x", self.x.0);
        row.set("y", self.y.0);
        row.set("hull", self.hull.0);
        row.set("turret", self.turret.0);
        row.set("reload", self.reload);
        row.set("health", self.health);
        let [regular, piercing] = self.shells;
        row.set("shells", regular);
        row.set("piercing", piercing);
    }

    /// The controller: one tick of turning, driving and reloading.
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

    /// Notes where it is, so that shells meet it there later. A tank that a client knows from the server's
    /// news is never hit there: the server says who was.
    pub fn record_position(&mut self) {
        if self.is_alive() && self.respawn == 0 {
            self.history.push(TankPosition { x: self.x, y: self.y });
        }
    }

    /// Moves along each axis on its own, so that a tank slides along a wall.
    pub fn move_by(&mut self, map: &Map, dx: Fixed, dy: Fixed) {
        if !map.is_blocked(self.x.saturating_add(dx), self.y, TANK_RADIUS) {
            self.x = self.x.saturating_add(dx);
        }
        if !map.is_blocked(self.x, self.y.saturating_add(dy), TANK_RADIUS) {
            self.y = self.y.saturating_add(dy);
        }
    }

    /// Takes a shell if the tank fires now, and begins to reload. The kind is the other one if none
    /// of the wanted kind is left.
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

    /// Adds shells of a kind, up to what a tank can carry.
    pub fn add_shells(&mut self, kind: ShellKind, count: u8) {
        let own = &mut self.shells[kind as usize];
        *own = own.saturating_add(count).min(kind.shells().most);
    }
}

/// An angle that has turned towards another one, the short way round and at most so far.
fn rotate_towards(from: Angle, to: Angle, most: u16) -> Angle {
    let off = to.0.wrapping_sub(from.0);
    Angle(match off {
        0 => to.0,
        1..=0x8000 => from.0.wrapping_add(off.min(most)),
        _ => from.0.wrapping_sub(off.wrapping_neg().min(most)),
    })
}
