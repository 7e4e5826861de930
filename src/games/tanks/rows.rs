//! The packets of the game.

use std::sync::Arc;

use tickwire_sim::PlayerId;
use tickwire_sim::fixed::{Angle, Fixed};

use super::rules::ShellKind;
use super::shell::Shell;
use super::tank::{Control, Tank};
use crate::game::simple::{ActionField as _, GameAction, RowField as _, RowValues};
use crate::packet::DecodedPacket;

/// The packet table.
pub const TABLE: &str = include_str!("../../../packet_codes/tanks/tanks.tsv");

crate::game::simple::rows! {
    in TABLE;

    /// All that every client sees.
    pub struct StateRow in "state" {
        round: u16,
        is_over: bool,
        left_s: u32,
        winner: Option<PlayerId>,
        tanks: Vec<TankRow>,
        shells: Vec<ShellRow>,
    }

    /// A tank. Coordinates are in half px.
    pub struct TankRow {
        player: PlayerId,
        x: i32,
        y: i32,
        hull: u8,
        turret: Angle,
        health: u8,
        shells: u8,
        piercing: u8,
        reload: u8,
    }

    /// A shell in flight. Coordinates are in half px.
    pub struct ShellRow { id: u16, x: i32, y: i32, way: u8, kind: u8, player: PlayerId }

    /// The exact state of the client's own tank.
    pub struct OwnStateRow in "own_state" {
        x: Fixed,
        y: Fixed,
        hull: Angle,
        turret: Angle,
        reload: u8,
        health: u8,
        shells: u8,
        piercing: u8,
    }

    /// The players of the round.
    pub struct Roster in "roster" { players: Vec<RosterRow> }

    /// A player of the round.
    pub struct RosterRow { player: PlayerId, name: Arc<str>, score: u16, kills: u16, deaths: u16 }

    /// A hit of a shell on a tank.
    pub struct Hit in "hit" { player: PlayerId, shooter: PlayerId, damage: u8, destroyed: bool }
}

/// An angle in 1/256 turn, rounded.
fn turn8(angle: Angle) -> u8 {
    (angle.0.wrapping_add(0x80) >> 8) as u8
}

impl From<&Tank> for TankRow {
    fn from(tank: &Tank) -> TankRow {
        let [shells, piercing] = tank.shells;
        TankRow {
            player: tank.player,
            x: tank.x.to_half_px(),
            y: tank.y.to_half_px(),
            hull: turn8(tank.hull),
            turret: tank.turret,
            health: tank.health,
            shells,
            piercing,
            reload: tank.reload,
        }
    }
}

impl From<&Tank> for OwnStateRow {
    fn from(tank: &Tank) -> OwnStateRow {
        let Tank { x, y, hull, turret, reload, health, shells: [shells, piercing], .. } = *tank;
        OwnStateRow { x, y, hull, turret, reload, health, shells, piercing }
    }
}

impl From<&Tank> for RosterRow {
    fn from(tank: &Tank) -> RosterRow {
        let Tank { player, score, kills, deaths, .. } = *tank;
        RosterRow { player, name: Arc::clone(&tank.name), score, kills, deaths }
    }
}

impl From<&Shell> for ShellRow {
    fn from(shell: &Shell) -> ShellRow {
        let (x, y) = (shell.x.to_half_px(), shell.y.to_half_px());
        let (way, kind) = (turn8(shell.way), shell.kind as u8);
        ShellRow { id: shell.id, x, y, way, kind, player: shell.owner }
    }
}

/// The packet `control`.
impl GameAction for Control {
    fn from_packet(packet: &DecodedPacket<'_>) -> Option<Control> {
        let way = |name| packet.integer::<i8>(name).filter(|way| (-1..=1).contains(way));
        let control = Control {
            drive: way("drive")?,
            turn: way("turn")?,
            aim: packet.angle("aim")?,
            fires: packet.bool_value("is_firing")?,
            kind: ShellKind::from_number(packet.integer("kind")?)?,
            seen: Option::from_argument(packet, "render_tick")?,
        };
        Some(control).filter(|_| packet.row.name == "control")
    }

    fn to_packet(&self) -> RowValues {
        let Control { drive, turn, aim, fires, kind, seen } = *self;
        let fields = &["drive", "turn", "aim", "is_firing", "kind", "render_tick"];
        let values = vec![
            drive.into_value(),
            turn.into_value(),
            aim.into_value(),
            fires.into_value(),
            (kind as u8).into_value(),
            seen.into_value(),
        ];
        RowValues::new("control", fields, values)
    }
}
