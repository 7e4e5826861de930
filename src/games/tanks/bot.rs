//! A bot that plays tanks, and checks what it is told by the rules of the game.
//!
//! It drives about, aims at the nearest tank and fires whenever it can. It judges every tank that it
//! sees: no tank drives faster than it can, fires before it has reloaded, or loses health without a
//! hit.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use tickwire_sim::PlayerId;

use super::rules;
use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::game::simple::{BotPolicy, NamedValues};
use crate::packet::{DecodedPacket, Value};

/// Half pixels that a tank drives in a tick, rounded up, and by which others may push it besides.
const MAX_STEP_HPX: i64 = 4;
const MAX_PUSH_HPX: i64 = 40;
/// Places of a tank's centre on the map, in half pixels: a tile and a radius from its ends.
const VALID_POSITIONS_HPX: RangeInclusive<i64> = 139..=5861;
/// Numbers of a tank in a state: its player, and those of [`VisibleTank`].
const NUMBERS: usize = 9;
/// Two states further apart than this are not compared, in ticks.
const MAX_COMPARE_TICKS: i64 = 60;
/// Ticks between two controls.
const STEER_INTERVAL_TICKS: [u32; 2] = [10, 50];

/// A tank in a state: x, y, hull, turret, health, regular shells, armour-piercing ones, reload.
type VisibleTank = [i64; NUMBERS - 1];

/// A change of a tank's health between two states.
#[derive(Debug, Clone, Copy)]
struct HealthChange {
    from: i64,
    to: i64,
    /// Most health that it can have regained.
    repaired: i64,
    /// Damage that was reported before the state, so that the state must show it.
    due: i64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct TanksBotPolicy {
    tick: i64,
    round: i64,
    tanks: BTreeMap<i64, VisibleTank>,
    /// Damage of `hit` packets that no state has shown yet, by player.
    damage: BTreeMap<i64, i64>,
    /// Changes of health in the last state, by player. They are checked at the next state, because the
    /// hits of an update come after its state.
    changes: BTreeMap<i64, HealthChange>,
    /// The earliest ticks in which the last shots can have been, by player.
    fired: BTreeMap<i64, i64>,
    steers: i64,
    /// Shots, hits and destroyed tanks that it has seen, of all players.
    shots: u64,
    hits: u64,
    kills: u64,
}

impl BotPolicy for TanksBotPolicy {
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        match packet.row.name.as_str() {
            "hit" => self.hit(packet, out),
            "state" => self.state(packet, out),
            _ => {}
        }
    }

    fn act(&mut self, own: PlayerId, dice: &mut BotRng) -> Option<(&'static str, NamedValues)> {
        if self.tick < self.steers {
            return None;
        }
        self.steers = self.tick
            + i64::from(
                STEER_INTERVAL_TICKS[0] + dice.below(STEER_INTERVAL_TICKS[1] - STEER_INTERVAL_TICKS[0]),
            );
        let mut row = NamedValues::default();
        row.set("drive", dice.below(3).min(1));
        row.set("turn", i64::from(dice.below(3)) - 1);
        row.set("aim", self.aim(own));
        row.set("fires", true);
        row.set("kind", u8::from(dice.below(4) == 0));
        row.set("seen", self.tick.max(0));
        Some(("control", row))
    }

    fn others(&self) -> usize {
        self.tanks.len().saturating_sub(1)
    }

    fn take_deeds(&mut self) -> BotStats {
        let seen = [&mut self.shots, &mut self.hits, &mut self.kills].map(std::mem::take);
        let names = [("shots_seen", "shots seen"), ("hits_seen", "hits seen"), ("kills_seen", "kills seen")];
        BotStats(names.into_iter().zip(seen).map(|((name, words), seen)| (name, words, seen)).collect())
    }
}

impl TanksBotPolicy {
    fn hit(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let get = |name| packet.integer::<i64>(name).unwrap_or_default();
        let most = [super::ShellKind::Regular, super::ShellKind::Piercing].map(|kind| kind.shells().damage);
        if get("player") == get("by") || !(1..=most[0].max(most[1]).into()).contains(&get("damage")) {
            out.add_fault("hit", packet.to_string());
        }
        *self.damage.entry(get("player")).or_default() += get("damage");
        self.hits += 1;
        let is_destroyed = packet.get("destroyed").and_then(Value::as_bool).unwrap_or_default();
        self.kills += u64::from(is_destroyed);
    }

    fn state(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let get = |name| packet.integer::<i64>(name).unwrap_or_default();
        let (tick, round) = (get("tick"), get("round"));
        let list = packet.get("tanks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let numbers: Vec<i64> = list.iter().filter_map(Value::as_i64).collect();
        let mut tanks = BTreeMap::new();
        for tank in numbers.chunks_exact(NUMBERS) {
            let own: VisibleTank = tank[1..].try_into().unwrap_or_default();
            if tanks.last_key_value().is_some_and(|(last, _)| *last >= tank[0]) {
                out.add_fault("order", format!("state: tank {} is not in order", tank[0]));
            }
            tanks.insert(tank[0], own);
        }
        self.settle(out);
        let passed = tick - self.tick;
        for (player, tank) in &tanks {
            let before = self.tanks.get(player).copied().filter(|_| self.round == round);
            if let Err((rule, detail)) = self.check((*player, tank), before, (tick, passed)) {
                out.add_fault(rule, format!("state of tick {tick}: tank {player} {detail}"));
            }
        }
        (self.tick, self.round, self.tanks) = (tick, round, tanks);
    }

    /// Checks the changes of health in the last state against the hits that were reported for it. Hits
    /// beyond a change came without a state, and belong to the next one.
    fn settle(&mut self, out: &mut AgentOutput) {
        let reported = std::mem::take(&mut self.damage);
        for (player, HealthChange { from, to, repaired, due }) in std::mem::take(&mut self.changes) {
            let damage = reported.get(&player).copied().unwrap_or_default();
            let shown = damage.min(from - to + repaired);
            if shown < from - to || shown < due {
                let (tick, detail) = (self.tick, format!("of {from} has {to} after damage {damage}"));
                out.add_fault("health", format!("state of tick {tick}: tank {player} {detail}"));
            } else if damage > shown {
                self.damage.insert(player, damage - shown);
            }
        }
    }

    /// What cannot happen to a tank within so many ticks: a rule, and what is wrong.
    fn check(
        &mut self,
        (player, tank): (i64, &VisibleTank),
        before: Option<VisibleTank>,
        (tick, passed): (i64, i64),
    ) -> Result<(), (&'static str, String)> {
        let [x, y, .., health, regular, piercing, reload] = *tank;
        let is_new = health == 0 && regular == 0;
        let is_on_map = VALID_POSITIONS_HPX.contains(&x) && VALID_POSITIONS_HPX.contains(&y);
        if !is_new && !is_on_map {
            return Err(("off_map", format!("is at {x}, {y} half pixels")));
        }
        let most = [rules::HEALTH.into(), 40, 5, i64::from(rules::RELOAD)];
        if [health, regular, piercing, reload].iter().zip(most).any(|(has, most)| *has > most) {
            return Err(("too_much", format!("has {tank:?}")));
        }
        let Some([old_x, old_y, .., old_health, old_regular, old_piercing, _]) = before else {
            return Ok(());
        };
        // A tank that is destroyed stays so for three seconds. One that is as new may be another's.
        let is_whole = (health, reload) == (rules::HEALTH.into(), 0);
        if old_health == 0 || passed > MAX_COMPARE_TICKS || is_whole && passed > 1 {
            return Ok(());
        }
        let moved = (x - old_x).abs().max((y - old_y).abs());
        if moved > MAX_STEP_HPX * passed + MAX_PUSH_HPX {
            return Err(("too_fast", format!("moves {moved} half pixels in {passed} ticks")));
        }
        let (repaired, due) = (2 * (passed / 30 + 1), self.damage.get(&player).copied().unwrap_or_default());
        self.changes.insert(player, HealthChange { from: old_health, to: health, repaired, due });
        if regular + piercing < old_regular + old_piercing {
            self.shots += 1;
            // The shot came after the state before, and so did the one of which an earlier state told.
            let last = self.fired.insert(player, tick - passed + 1);
            if last.is_some_and(|last| tick - last < i64::from(rules::RELOAD)) {
                return Err(("reload", format!("fires {} ticks after a shot", tick - last.unwrap_or(tick))));
            }
        }
        Ok(())
    }

    /// The way to the nearest tank, in 1/65,536 of a turn.
    fn aim(&self, own: PlayerId) -> u16 {
        let own = i64::from(own.0);
        let Some([x, y, ..]) = self.tanks.get(&own) else { return 0 };
        let others = self.tanks.iter().filter(|(other, tank)| **other != own && tank[4] > 0);
        let way = others.map(|(_, tank)| (tank[0] - x, tank[1] - y)).min_by_key(|(dx, dy)| dx * dx + dy * dy);
        let (dx, dy) = way.unwrap_or((1, 0));
        ((dy as f64).atan2(dx as f64) / TAU * 65_536.0).round() as i64 as u16
    }
}
