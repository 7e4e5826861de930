//! Prediction of the local player's tank: a client's copy of the game, simulated with the server's
//! rules.

use tickwire_sim::PlayerId;
use tickwire_sim::fixed::{Angle, Fixed};

use super::Tanks;
use super::rows::OwnStateRow;
use super::rules::TANK_RADIUS;
use super::tank::{Control, Tank};
use crate::game::prediction::{Position, RemotePlayers};
use crate::game::simple::PredictedGame;
use crate::packet::{DecodedPacket, Value};

/// Maximum distance per axis of other tanks that are part of the client's game. The local player's
/// tank can run into these before the next update.
const NEAR: Fixed = Fixed::from_px(300);
/// Respawn timer of tanks in the client's game, because only the server respawns tanks.
const NEVER: u16 = u16::MAX;

impl PredictedGame for Tanks {
    type OwnState = OwnStateRow;

    fn own_state(&self, player: PlayerId) -> Option<OwnStateRow> {
        self.tank(player).map(OwnStateRow::from)
    }

    fn apply_own_state(&mut self, player: PlayerId, own: OwnStateRow) -> bool {
        let Ok(at) = self.tanks.binary_search_by_key(&player, |tank| tank.player) else { return false };
        let tank = &mut self.tanks[at];
        if tank.reload != own.reload {
            // The server has fired in another tick, or not at all.
            self.shells.clear();
        }
        let OwnStateRow { x, y, hull, turret, reload, health, shells, piercing } = own;
        *tank = Tank { x, y, hull, turret, reload, health, shells: [shells, piercing], ..tank.clone() };
        tank.respawn = NEVER;
        true
    }

    fn apply_packet(&mut self, player: PlayerId, packet: &DecodedPacket<'_>) -> bool {
        if packet.row.name != "state" {
            return false;
        }
        self.round.apply_update(packet.bool_value("is_over").unwrap_or(false));
        if self.round.is_over() {
            self.shells.clear();
        }
        self.apply_others(packet, player);
        true
    }

    fn position(&self, player: PlayerId) -> Option<Position> {
        self.tank(player).map(|tank| (tank.x.0, tank.y.0))
    }

    /// Writes the hull and the turret in 1/65,536 turn, the ticks until the tank can fire, and its
    /// health. Then, for each of its shells in flight: ID, x and y in 1/65,536 px, direction in
    /// 1/65,536 turn, kind. Predicted shells stop only at walls, because the server decides about
    /// hits.
    fn export_numbers(&self, player: PlayerId, out: &mut Vec<i32>) {
        let Some(tank) = self.tank(player) else { return };
        let figures = [tank.hull.0, tank.turret.0, tank.reload.into(), tank.health.into()];
        out.extend(figures.map(i32::from));
        for shell in &self.shells {
            out.extend([shell.id.into(), shell.x.0, shell.y.0, shell.way.0.into(), shell.kind as i32]);
        }
    }

    fn collect_remote_players(packet: &DecodedPacket<'_>, own: Option<PlayerId>, others: &mut RemotePlayers) {
        let Some(tick) = packet.integer("tick").filter(|_| packet.row.name == "state") else { return };
        let tanks = packet.get("tanks").and_then(Value::as_array).map(|list| list.chunks_exact(9));
        let tanks: Vec<Tank> = tanks.into_iter().flatten().filter_map(other).collect();
        others
            .retain(|number| tanks.iter().any(|tank| u32::from(tank.player.0) == number && tank.is_alive()));
        for tank in tanks.iter().filter(|tank| Some(tank.player) != own && tank.is_alive()) {
            others.push(tank.player.0.into(), tick, (tank.x.0, tank.y.0));
        }
    }

    fn extrapolate(&self, (x, y): Position, (vx, vy): Position, ticks: u32) -> Position {
        let mut tank = Tank::new(PlayerId(1), "");
        (tank.x, tank.y) = (Fixed(x), Fixed(y));
        (0..ticks).for_each(|_| tank.move_by(&self.map, Fixed(vx), Fixed(vy)));
        (tank.x.0, tank.y.0)
    }
}

impl Tanks {
    /// Replaces the tanks around the local player's tank. The client does not predict their
    /// movement.
    fn apply_others(&mut self, packet: &DecodedPacket<'_>, own: PlayerId) {
        let Some(mine) = self.tank(own).cloned() else { return };
        let (x, y) = (mine.x, mine.y);
        self.tanks = vec![mine];
        let groups = packet.get("tanks").and_then(Value::as_array).map(|list| list.chunks_exact(9));
        for group in groups.into_iter().flatten() {
            let Some(tank) = other(group).filter(|tank| tank.player != own && tank.is_alive()) else {
                continue;
            };
            if tank.x.distance(x) < NEAR.0.unsigned_abs() && tank.y.distance(y) < NEAR.0.unsigned_abs() {
                let at = self.tanks.partition_point(|before| before.player < tank.player);
                self.tanks.insert(at, tank);
            }
        }
    }
}

/// Decodes a tank of the packet `state`.
fn other(group: &[Value]) -> Option<Tank> {
    let number = |at: usize| group.get(at).and_then(Value::as_i64);
    let half_px = |at: usize| Some(Fixed(i32::try_from(number(at)?).ok()?.checked_mul(1 << 15)?));
    let mut tank = Tank::new(PlayerId(u16::try_from(number(0)?).ok()?), "");
    (tank.x, tank.y) = (half_px(1)?, half_px(2)?);
    tank.turret = Angle(u16::try_from(number(4)?).ok()?);
    tank.health = u8::try_from(number(5)?).ok()?;
    tank.respawn = NEVER;
    tank.control = Control { aim: tank.turret.0, ..Control::default() };
    Some(tank)
}

const _: () = assert!(NEAR.0 > 4 * TANK_RADIUS.0, "two tanks that meet know of each other before");
