//! A bot that plays tanks, and checks the received packets against the rules of the game.
//!
//! The bot drives about, aims at the nearest tank and fires whenever it can. For each visible tank
//! it checks that the tank does not exceed the maximum speed, fire before it has reloaded, or lose
//! health without a hit.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::ops::RangeInclusive;

use tickwire_sim::PlayerId;

use super::rules;
use super::rules::ShellKind;
use super::tank::Control;
use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::game::simple::{BotPolicy, BotView};
use crate::packet::{DecodedPacket, Value};

/// Maximum distance that a tank drives per tick, in half px, rounded up.
const MAX_STEP_HPX: i64 = 4;
/// Maximum additional distance by which other tanks push a tank, in half px.
const MAX_PUSH_HPX: i64 = 40;
/// Valid coordinates of a tank's centre, in half px: at least a tile and a radius from the edges of
/// the map.
const VALID_POSITIONS_HPX: RangeInclusive<i64> = 139..=5861;
/// Number of values per tank in a `state` packet: its player ID, and the values of [`VisibleTank`].
const NUMBERS: usize = 9;
/// Maximum number of ticks between two states that are compared.
const MAX_COMPARE_TICKS: i64 = 60;
/// Minimum and maximum number of ticks between two `control` packets.
const STEER_INTERVAL_TICKS: [u32; 2] = [10, 50];

/// The values of a tank in a `state` packet: x, y, hull, turret, health, regular shells,
/// armour-piercing shells, reload.
type VisibleTank = [i64; NUMBERS - 1];

/// A change of a tank's health between two states.
#[derive(Debug, Clone, Copy)]
struct HealthChange {
    from: i64,
    to: i64,
    /// Maximum health that the tank can have regained.
    repaired: i64,
    /// Damage reported before the state, which the state must therefore include.
    due: i64,
}

/// Damage of `hit` packets that no state has included yet. A state may show a repair in place of a
/// part of the damage, so only bounds are known.
#[derive(Debug, Default, Clone, Copy)]
struct ReportedDamage {
    min: i64,
    max: i64,
}

/// Plays tanks, and checks the states and hits that it receives.
#[derive(Debug, Default)]
pub struct TanksBotPolicy {
    tick: i64,
    round: i64,
    tanks: BTreeMap<i64, VisibleTank>,
    /// Damage of `hit` packets that no state has included yet, by player.
    damage: BTreeMap<i64, ReportedDamage>,
    /// Changes of health in the last state, by player. They are checked at the next state, because
    /// the hits of an update follow its state.
    changes: BTreeMap<i64, HealthChange>,
    /// Earliest possible tick of each player's last shot.
    fired: BTreeMap<i64, i64>,
    steers: i64,
    /// Number of visible shots of all players.
    shots: u64,
    /// Number of visible hits by all players.
    hits: u64,
    /// Number of visible tanks that were destroyed.
    kills: u64,
}

impl BotPolicy<Control> for TanksBotPolicy {
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        match packet.row.name.as_str() {
            "hit" => self.hit(packet, out),
            "state" => self.state(packet, out),
            _ => {}
        }
    }

    fn decide(&mut self, view: &BotView<'_>, rng: &mut BotRng) -> Option<Control> {
        if self.tick < self.steers {
            return None;
        }
        self.steers = self.tick
            + i64::from(
                STEER_INTERVAL_TICKS[0] + rng.below(STEER_INTERVAL_TICKS[1] - STEER_INTERVAL_TICKS[0]),
            );
        let (drive, turn) = (rng.below(3).min(1) as i8, rng.below(3) as i8 - 1);
        let aim = self.aim(view.player);
        let kind = if rng.below(4) == 0 { ShellKind::Piercing } else { ShellKind::Regular };
        let seen = u32::try_from(self.tick).ok();
        Some(Control { drive, turn, aim, fires: true, kind, seen })
    }

    fn visible_players(&self) -> usize {
        self.tanks.len().saturating_sub(1)
    }

    fn take_stats(&mut self) -> BotStats {
        let counts = [&mut self.shots, &mut self.hits, &mut self.kills].map(std::mem::take);
        let names = [("shots_seen", "shots seen"), ("hits_seen", "hits seen"), ("kills_seen", "kills seen")];
        BotStats(names.into_iter().zip(counts).map(|((name, words), count)| (name, words, count)).collect())
    }
}

impl TanksBotPolicy {
    fn hit(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let get = |name| packet.integer::<i64>(name).unwrap_or_default();
        let damages =
            [super::ShellKind::Regular, super::ShellKind::Piercing].map(|kind| kind.shells().damage);
        if get("player") == get("shooter")
            || !(1..=damages[0].max(damages[1]).into()).contains(&get("damage"))
        {
            out.add_fault("hit", packet.to_string());
        }
        let reported = self.damage.entry(get("player")).or_default();
        reported.min += get("damage");
        reported.max += get("damage");
        self.hits += 1;
        let is_destroyed = packet.bool_value("destroyed").unwrap_or_default();
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

    /// Checks the changes of health in the last state against the reported hits. Reported damage
    /// that exceeds a change is not part of that state yet, so it is retained for the next state.
    fn settle(&mut self, out: &mut AgentOutput) {
        let reported = std::mem::take(&mut self.damage);
        for (player, HealthChange { from, to, repaired, due }) in std::mem::take(&mut self.changes) {
            let ReportedDamage { min, max } = reported.get(&player).copied().unwrap_or_default();
            let (min_loss, max_loss) = ((from - to).max(0), from - to + repaired);
            if max < min_loss || max_loss < due {
                let (tick, detail) = (self.tick, format!("of {from} has {to} after damage {max}"));
                out.add_fault("health", format!("state of tick {tick}: tank {player} {detail}"));
            } else if max > min_loss {
                let min = (min - max_loss.max(0)).max(0);
                self.damage.insert(player, ReportedDamage { min, max: max - min_loss });
            }
        }
    }

    /// Checks the values of a tank, and its changes in `passed` ticks. Returns the broken rule and
    /// a detail.
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
        let maxima = [rules::HEALTH.into(), 40, 5, i64::from(rules::RELOAD_TICKS)];
        if [health, regular, piercing, reload].iter().zip(maxima).any(|(has, max)| *has > max) {
            return Err(("too_much", format!("has {tank:?}")));
        }
        let Some([old_x, old_y, .., old_health, old_regular, old_piercing, _]) = before else {
            return Ok(());
        };
        // A tank stays destroyed for three seconds. Within `MAX_COMPARE_TICKS` it can therefore
        // respawn only if the earlier state shows it as destroyed. A tank in its initial state may
        // belong to a new player with the same ID.
        let is_whole = (health, reload) == (rules::HEALTH.into(), 0);
        if old_health == 0 || passed > MAX_COMPARE_TICKS || is_whole && passed > 1 {
            return Ok(());
        }
        let moved = (x - old_x).abs().max((y - old_y).abs());
        if moved > MAX_STEP_HPX * passed + MAX_PUSH_HPX {
            return Err(("too_fast", format!("moves {moved} half pixels in {passed} ticks")));
        }
        let (repaired, due) =
            (2 * (passed / 30 + 1), self.damage.get(&player).map_or(0, |damage| damage.min));
        self.changes.insert(player, HealthChange { from: old_health, to: health, repaired, due });
        if regular + piercing < old_regular + old_piercing {
            self.shots += 1;
            // The shot was fired after the previous state. The earliest possible tick is recorded.
            let last = self.fired.insert(player, tick - passed + 1);
            if last.is_some_and(|last| tick - last < i64::from(rules::RELOAD_TICKS)) {
                return Err(("reload", format!("fires {} ticks after a shot", tick - last.unwrap_or(tick))));
            }
        }
        Ok(())
    }

    /// The direction to the nearest tank, in 1/65,536 of a turn.
    fn aim(&self, own: PlayerId) -> u16 {
        let own = i64::from(own.0);
        let Some([x, y, ..]) = self.tanks.get(&own) else { return 0 };
        let others = self.tanks.iter().filter(|(other, tank)| **other != own && tank[4] > 0);
        let way = others.map(|(_, tank)| (tank[0] - x, tank[1] - y)).min_by_key(|(dx, dy)| dx * dx + dy * dy);
        let (dx, dy) = way.unwrap_or((1, 0));
        ((dy as f64).atan2(dx as f64) / TAU * 65_536.0).round() as i64 as u16
    }
}
