//! Checks projectiles and animals.
//!
//! A projectile is sent when it is fired and when it ends; its ID may then be reused. MooMoo
//! servers send all animals in view with each update. In the native dialect, an update contains
//! only changed and removed animals.

use std::collections::BTreeMap;
use std::time::Duration;

use super::common::{CheckState, reach_px};
use super::rule::CheckRule;
use crate::games::moo::bot::received::{Animal, ServerPacket, Shot, ShotEnd, ShotPlace};
use crate::games::moo::world::rules::{self, AnimalKind};

/// Maximum distance between the player and its own projectile when the projectile is received, in
/// px. The known position is slightly old, and the projectile has flown for a tick.
const OWN_PX: f64 = 250.0;
/// Maximum difference between the projectile's direction and the player's: 2 degrees.
const MAX_AIM_ERROR: u16 = 364;
/// Tolerance for rounded start and end positions, in px.
const ROUNDED_PX: f64 = 3.0;
/// Time added to the interval between two reports of an animal, because a delayed update may arrive
/// directly before the next update.
const MIN_UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// State of these checks in addition to the world model.
#[derive(Debug, Default)]
pub(super) struct AnimalAndShotChecks {
    flying: BTreeMap<u32, Shot>,
    /// Whether the next projectile was announced as a projectile of a turret.
    is_turrets: bool,
    /// MooMoo: the weapon of the client's own player.
    weapon: u8,
    /// Last report of each animal in view: its arrival time, and the time of its tick.
    last_updates: BTreeMap<u32, [Duration; 2]>,
    /// Number of the player's own shots.
    pub(super) shots: u64,
}

impl AnimalAndShotChecks {
    /// Checks a packet. `now` contains the arrival time of the packet and, in dialects with ticks,
    /// the time of its tick. `is_all` states that an animal list is complete. Returns the food of
    /// each animal that was removed because it died or left the view.
    pub(super) fn check_packet(
        &mut self,
        packet: &ServerPacket,
        now: [Duration; 2],
        is_all: bool,
        common: &mut CheckState,
    ) -> Vec<u32> {
        let is_turrets = std::mem::take(&mut self.is_turrets);
        match packet {
            ServerPacket::Shots(shots) => shots.iter().for_each(|shot| self.begin(shot, is_turrets, common)),
            ServerPacket::ShotEnds(ends) => ends.iter().for_each(|end| self.end(end, common)),
            ServerPacket::TurretShot => self.is_turrets = true,
            ServerPacket::Players(players) => {
                let own = players
                    .iter()
                    .find(|player| Some(player.pose.player) == common.world_model.own_player_id);
                self.weapon = own.map_or(self.weapon, |own| own.weapon);
            }
            ServerPacket::Animals(animals) => {
                animals.iter().for_each(|animal| self.animal(animal, now, common));
                if is_all {
                    let known = common.world_model.animals.keys().copied();
                    let gone: Vec<u32> =
                        known.filter(|id| animals.iter().all(|animal| animal.id != *id)).collect();
                    return self.remove_animals(&gone, common);
                }
            }
            ServerPacket::AnimalsRemoved(gone) => return self.remove_animals(gone, common),
            ServerPacket::AnimalAttacks(animals) => {
                for id in animals.iter().filter(|id| !self.last_updates.contains_key(id)) {
                    common.fault(CheckRule::AnimalUnknown, format!("animal {id} strikes"));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn begin(&mut self, shot: &Shot, is_turrets: bool, common: &mut CheckState) {
        let Shot { id, kind, x_px, y_px, .. } = *shot;
        common.check_on_map(&format!("shot {id}"), x_px, y_px, 0.0);
        if self.flying.insert(id, *shot).is_some() || rules::projectile(kind).is_none() {
            common.fault(CheckRule::ShotTwice, format!("{shot:?}"));
        }
        let is_own_swing = match shot.shooter {
            Some(shooter) => common.world_model.own_player_id == Some(shooter),
            None => !is_turrets && self.may_be_own_shot(shot, common),
        };
        self.shots += u64::from(is_own_swing);
    }

    /// Whether a projectile may be the player's own. MooMoo servers do not name the shooter, so the
    /// weapon, the distance and the direction must match.
    fn may_be_own_shot(&self, shot: &Shot, common: &CheckState) -> bool {
        let shoots = rules::weapon(self.weapon).and_then(|weapon| weapon.shoots);
        common.world_model.own().is_some_and(|me| {
            let off = me.heading.wrapping_sub(shot.heading);
            shoots == Some(shot.kind)
                && (shot.x_px - me.x_px).hypot(shot.y_px - me.y_px) < OWN_PX
                && off.min(off.wrapping_neg()) <= MAX_AIM_ERROR
        })
    }

    fn end(&mut self, end: &ShotEnd, common: &mut CheckState) {
        let Some(shot) = self.flying.remove(&end.id) else {
            return common.fault(CheckRule::ShotEnd, format!("shot {} is not in flight", end.id));
        };
        let way_px = match end.place {
            ShotPlace::At(x_px, y_px) => (x_px - shot.x_px).hypot(y_px - shot.y_px),
            ShotPlace::After(way_px) => way_px,
        };
        if way_px > shot.range_px + ROUNDED_PX {
            common.fault(CheckRule::ShotEnd, format!("{shot:?} after {way_px:.1} px"));
        }
    }

    fn animal(&mut self, animal: &Animal, now: [Duration; 2], common: &mut CheckState) {
        let Animal { id, kind, x_px, y_px, health } = *animal;
        common.check_on_map(&format!("animal {id}"), x_px, y_px, 0.0);
        let max_health = AnimalKind::from_number(kind).map_or(0, |kind| u32::from(kind.animal().health));
        if health > max_health {
            common.fault(CheckRule::Animal, format!("{animal:?}, at most {max_health}"));
        }
        let previous = self.last_updates.insert(id, now);
        let before = common.world_model.animals.get(&id).copied();
        let Some((previous, before)) = previous.zip(before) else { return };
        let way_px = (x_px - before.x_px).hypot(y_px - before.y_px);
        // A deferred state arrives directly before the next state, and not every update has a tick,
        // so the longer of both intervals counts.
        let passed = now[0].saturating_sub(previous[0]).max(now[1].saturating_sub(previous[1]));
        let time_s = (passed + MIN_UPDATE_INTERVAL).as_secs_f64();
        if way_px > reach_px(time_s) {
            common.fault(CheckRule::TooFast, format!("animal {id}: {way_px:.1} px in {time_s:.3} s"));
        }
    }

    fn remove_animals(&mut self, gone: &[u32], common: &mut CheckState) -> Vec<u32> {
        let mut food = Vec::new();
        for id in gone {
            self.last_updates.remove(id);
            match common.world_model.animals.get(id) {
                Some(animal) => {
                    food.extend(AnimalKind::from_number(animal.kind).map(|kind| kind.animal().food));
                }
                None => common.fault(CheckRule::AnimalUnknown, format!("animal {id} is gone")),
            }
        }
        food
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::bot::received::{AddedPlayer, MoomooPlayer, MoomooValue, Pose, Update, Welcome};
    use crate::games::moo::checker::{MooBotStats, PacketChecker};

    const ME: Pose = Pose { player: 1, x_px: 500.0, y_px: 500.0, heading: 0 };

    fn shot(id: u32) -> Shot {
        Shot { id, kind: 0, shooter: None, x_px: 600.0, y_px: 500.0, heading: 100, range_px: 900.0 }
    }

    fn begins(shot: Shot) -> ServerPacket {
        ServerPacket::Shots(vec![shot])
    }

    fn ends(id: u32, way_px: f64) -> ServerPacket {
        ServerPacket::ShotEnds(vec![ShotEnd { id, place: ShotPlace::After(way_px) }])
    }

    fn cow(id: u32, x_px: f64) -> Animal {
        Animal { id, kind: 0, x_px, y_px: 500.0, health: 500 }
    }

    fn cows(cows: &[Animal]) -> ServerPacket {
        ServerPacket::Animals(cows.to_vec())
    }

    fn turn() -> ServerPacket {
        ServerPacket::Players(vec![MoomooPlayer { weapon: 9, ..ME.into() }])
    }

    fn food(amount: u32) -> ServerPacket {
        ServerPacket::Value { what: MoomooValue::Resource(1), amount }
    }

    /// Spawns a player with a bow, and checks `more` at intervals of a tenth of a second. Returns
    /// the broken rules and the statistics.
    fn run_checks(more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
        let mut check = PacketChecker::new(false);
        let (id, name, health) = ("1".to_owned(), String::new(), 100);
        let added = AddedPlayer { id, pose: ME, name, health, max_health: health, is_you: true };
        let born = [
            ServerPacket::IoInit,
            ServerPacket::InitData,
            ServerPacket::Setup { player: 1 },
            ServerPacket::AddPlayer(added),
            turn(),
        ];
        let packets = born.into_iter().chain(more.iter().cloned()).enumerate();
        let tenth = Duration::from_millis(100);
        let faults = packets.flat_map(|(number, packet)| check.check_packet(&packet, tenth * number as u32));
        (faults.map(|fault| fault.rule).collect(), check.take_stats())
    }

    #[test]
    fn a_shot_begins_and_ends_once_and_flies_no_further_than_it_can() {
        assert_eq!(run_checks(&[begins(shot(0)), ends(0, 902.0), begins(shot(0)), ends(0, 10.0)]).0, []);
        assert_eq!(run_checks(&[begins(shot(0)), begins(shot(0))]).0, [CheckRule::ShotTwice]);
        assert_eq!(run_checks(&[begins(Shot { kind: 4, ..shot(0) })]).0, [CheckRule::ShotTwice]);
        assert_eq!(run_checks(&[begins(Shot { x_px: -1.0, ..shot(0) })]).0, [CheckRule::OffMap]);
        assert_eq!(run_checks(&[ends(0, 10.0)]).0, [CheckRule::ShotEnd]);
        assert_eq!(run_checks(&[begins(shot(0)), ends(0, 910.0)]).0, [CheckRule::ShotEnd]);
    }

    #[test]
    fn a_shot_is_the_players_own_if_it_is_near_flies_in_its_direction_and_no_turret_fires() {
        let shots = |more: &[ServerPacket]| run_checks(more).1.shots;
        assert_eq!(shots(&[begins(shot(0)), begins(shot(1))]), 2);
        assert_eq!(shots(&[ServerPacket::TurretShot, begins(shot(0)), begins(shot(1))]), 1);
        assert_eq!(shots(&[begins(Shot { x_px: 900.0, ..shot(0) })]), 0);
        assert_eq!(shots(&[begins(Shot { heading: 400, ..shot(0) })]), 0);
        assert_eq!(shots(&[begins(Shot { kind: 2, ..shot(0) })]), 0);
        let by = |shooter| shots(&[begins(Shot { shooter: Some(shooter), heading: 400, ..shot(0) })]);
        assert_eq!((by(1), by(2)), (1, 0));
    }

    #[test]
    fn animals_are_on_the_map_no_faster_and_no_healthier_than_they_can_be() {
        let walks = [cows(&[cow(3, 600.0)]), cows(&[cow(3, 650.0), cow(4, 90.0)]), cows(&[])];
        assert_eq!(run_checks(&walks).0, []);
        assert_eq!(run_checks(&[cows(&[cow(3, 600.0)]), cows(&[cow(3, 1_400.0)])]).0, [CheckRule::TooFast]);
        assert_eq!(run_checks(&[cows(&[cow(3, 20_000.0)])]).0, [CheckRule::OffMap]);
        assert_eq!(run_checks(&[cows(&[Animal { health: 501, ..cow(3, 600.0) }])]).0, [CheckRule::Animal]);
        assert_eq!(run_checks(&[cows(&[Animal { kind: 3, ..cow(3, 600.0) }])]).0, [CheckRule::Animal]);
    }

    #[test]
    fn an_animal_has_the_time_of_the_ticks_that_a_held_back_state_spans() {
        let faults = |tick| {
            let mut check = PacketChecker::new(true);
            let welcome = Welcome {
                version: 1,
                rules_hash: String::new(),
                seed: 1,
                map_size_px: 14_400,
                tick_hz: 30,
                update_hz: 30,
                epoch: String::new(),
                tick: 1,
            };
            let update = |tick| ServerPacket::Update(Update { tick, ..Update::default() });
            let far = cows(&[cow(3, 1_754.0)]);
            let packets =
                [ServerPacket::Welcome(welcome), update(10), cows(&[cow(3, 600.0)]), update(tick), far];
            let faults = packets.iter().flat_map(|packet| check.check_packet(packet, Duration::ZERO));
            faults.map(|fault| fault.rule).collect::<Vec<CheckRule>>()
        };
        assert_eq!(faults(134), []);
        assert_eq!(faults(11), [CheckRule::TooFast]);
    }

    #[test]
    fn only_animals_in_view_strike_and_are_gone() {
        assert_eq!(run_checks(&[cows(&[cow(3, 600.0)]), ServerPacket::AnimalAttacks(vec![3])]).0, []);
        assert_eq!(
            run_checks(&[cows(&[cow(3, 600.0)]), cows(&[]), ServerPacket::AnimalAttacks(vec![3])]).0,
            [CheckRule::AnimalUnknown]
        );
        assert_eq!(run_checks(&[ServerPacket::AnimalsRemoved(vec![3])]).0, [CheckRule::AnimalUnknown]);
    }

    #[test]
    fn an_animal_that_is_gone_may_have_left_its_food() {
        let hunt = [cows(&[cow(3, 600.0)]), cows(&[]), food(50), turn(), turn()];
        let lived = MooBotStats { animals: 1, gathered: 50, ..MooBotStats::default() };
        assert_eq!(run_checks(&hunt), (vec![], lived));
        let right_before = [cows(&[cow(3, 600.0)]), food(50), turn(), cows(&[]), turn()];
        assert_eq!(run_checks(&right_before), (vec![], lived));
        assert_eq!(run_checks(&[food(50), turn(), turn()]).0, [CheckRule::GainUnearned]);
        let wolf = || Animal { id: 9, kind: 4, health: 300, ..cow(9, 600.0) };
        let both = [cows(&[cow(3, 600.0), wolf()]), cows(&[]), food(200), turn(), turn()];
        assert_eq!(
            (run_checks(&both).0, run_checks(&both).1.animals),
            (vec![], 1),
            "the cow went out of view"
        );
        let in_turn = [
            cows(&[cow(3, 600.0), wolf()]),
            cows(&[wolf()]),
            food(200),
            turn(),
            cows(&[]),
            turn(),
            food(400),
            turn(),
            turn(),
        ];
        assert_eq!(run_checks(&in_turn).0, [CheckRule::GainUnearned], "one wolf feeds once");
        let left = [cows(&[cow(3, 600.0)]), cows(&[]), turn(), turn(), turn()];
        assert_eq!(run_checks(&left).1, MooBotStats::default(), "it went out of view");
    }
}
