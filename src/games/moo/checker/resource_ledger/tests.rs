//! Tests of the ledger: which rises of resources have a cause.

use super::*;
use crate::games::moo::bot::received::{AddedPlayer, Animal, Object, Pose};
use crate::games::moo::checker::PacketChecker;

const TREE: u32 = 70;
const GOLD: u32 = 71;

fn pose(player: u32) -> Pose {
    Pose { player, x_px: 500.0, y_px: 500.0, heading: 0 }
}

fn born() -> Vec<ServerPacket> {
    let added = AddedPlayer {
        id: "1".into(),
        pose: pose(1),
        name: String::new(),
        health: 100,
        max_health: 100,
        is_you: true,
    };
    let thing = |id, kind| {
        let kind = Some(kind);
        Object { id, kind, x_px: 600.0, y_px: 500.0, scale_px: 80.0, structure: None }
    };
    let things = vec![thing(TREE, 0), thing(GOLD, 3)];
    vec![
        ServerPacket::Setup { player: 1 },
        ServerPacket::AddPlayer(added),
        ServerPacket::Objects(things),
        turn(),
    ]
}

fn turn() -> ServerPacket {
    ServerPacket::Players(vec![pose(1).into()])
}

fn swing(player: u32) -> ServerPacket {
    ServerPacket::Swings(vec![Swing { player, weapon: 0, hit: true }])
}

fn has(kind: usize, amount: u32) -> ServerPacket {
    ServerPacket::Value { what: MoomooValue::Resource(kind), amount }
}

/// Spawns a player, and checks `more` without delay. Returns the broken rules and the
/// statistics.
fn run_checks(more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
    run_checks_every(Duration::ZERO, more)
}

/// Like `run_checks`, but each packet arrives `time` after the previous one.
fn run_checks_every(time: Duration, more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
    let mut check = PacketChecker::new(false);
    let packets =
        [ServerPacket::IoInit, ServerPacket::InitData].into_iter().chain(born()).chain(more.iter().cloned());
    let faults =
        packets.enumerate().flat_map(|(number, packet)| check.check_packet(&packet, time * number as u32));
    (faults.map(|fault| fault.rule).collect(), check.take_stats())
}

#[test]
fn a_rise_is_earned_before_its_turn_or_right_after_it() {
    let shake = |object| ServerPacket::ObjectHits(vec![object]);
    let before = [swing(1), shake(TREE), has(0, 1), turn(), turn()];
    assert_eq!(run_checks(&before), (vec![], MooBotStats { hits: 1, gathered: 1, ..MooBotStats::default() }));
    assert_eq!(run_checks(&[has(0, 1), turn(), swing(1), shake(TREE), turn()]).0, []);
    assert_eq!(run_checks(&[swing(1), shake(GOLD), has(3, 5), turn(), turn()]).0, []);
}

#[test]
fn resources_without_a_cause_are_a_fault() {
    let shake = |object| ServerPacket::ObjectHits(vec![object]);
    let unearned = [CheckRule::GainUnearned];
    assert_eq!(run_checks(&[has(0, 1), turn(), turn()]).0, unearned);
    assert_eq!(run_checks(&[swing(1), shake(GOLD), has(0, 1), turn(), turn()]).0, unearned);
    let too_much = has(0, max_gathered() + 1);
    assert_eq!(run_checks(&[swing(1), shake(TREE), too_much, turn(), turn()]).0, unearned);
    let long_ago = [swing(1), shake(TREE), turn(), has(0, 1), turn(), turn()];
    assert_eq!(run_checks(&long_ago).0, unearned);
    let by_another = [swing(1), has(3, 0), shake(TREE), has(0, 1), turn(), turn()];
    assert_eq!(run_checks(&by_another).0, unearned);
}

/// Another player's hit at the same bush may be taken for a hit of the own player.
#[test]
fn spikes_that_kill_out_of_sight_explain_food_beside_a_swing() {
    let spikes = ServerPacket::Count { group: rules::Group::Spikes as u8, count: 1 };
    let bush = Object { id: 72, kind: Some(1), x_px: 600.0, y_px: 500.0, scale_px: 80.0, structure: None };
    let bushes = ServerPacket::Objects(vec![bush]);
    let shake = || ServerPacket::ObjectHits(vec![72]);
    let before = [swing(1), shake(), has(1, 200), turn(), turn()];
    let after = [has(1, 200), turn(), swing(1), shake(), turn()];
    for order in [before, after] {
        let without = [&[bushes.clone()][..], &order].concat();
        assert_eq!(run_checks(&without).0, [CheckRule::GainUnearned]);
        let with = [&[spikes.clone()][..], &without].concat();
        assert_eq!(run_checks(&with).0, []);
    }
    // Swings explain all the food of the kill, but not its gold.
    let cow = &rules::ANIMALS[0];
    let swings: Vec<_> = (0..cow.food).flat_map(|_| [swing(1), shake()]).collect();
    let paid = [has(1, cow.food), has(3, cow.gold), turn(), turn()];
    let without = [&[bushes][..], &swings, &paid].concat();
    assert_eq!(run_checks(&without).0, [CheckRule::GainUnearned]);
    assert_eq!(run_checks(&[&[spikes.clone()][..], &without].concat()).0, []);
    // The player has eaten in the same update.
    let rise = 200 - max_meal();
    assert_eq!(run_checks(&[spikes, has(1, rise), turn(), turn()]).0, []);
}

#[test]
fn windmills_pay_gold_and_no_more_than_they_can() {
    let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
    let second = Duration::from_secs(1);
    let paid = [mill.clone(), turn(), has(3, 2), turn(), has(3, 4), turn(), turn()];
    let built = MooBotStats { builds: 1, ..MooBotStats::default() };
    assert_eq!(run_checks_every(second, &paid), (vec![], built));
    assert_eq!(run_checks_every(second, &paid[1..]).0, [CheckRule::GainUnearned; 2], "without one");
    let late_packets = [has(3, 2), turn(), mill.clone(), turn(), turn()];
    assert_eq!(run_checks(&late_packets), (vec![], MooBotStats { gathered: 2, ..built }));
    let wood = [mill.clone(), turn(), has(0, 1), turn(), turn()];
    assert_eq!(run_checks_every(second, &wood).0, [CheckRule::GainUnearned]);
    let too_much = [mill, turn(), has(3, 40), turn(), turn()];
    assert_eq!(run_checks_every(second, &too_much).0, [CheckRule::GainUnearned]);
}

#[test]
fn what_a_player_had_when_its_client_came_back_is_not_paid_by_its_windmills() {
    let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
    let mut check = PacketChecker::new(false);
    let begin = [ServerPacket::IoInit, ServerPacket::InitData].into_iter().chain(born());
    assert_eq!(begin.map(|packet| check.check_packet(&packet, Duration::ZERO).len()).sum::<usize>(), 0);
    check.on_resumed();
    let mut check_all = |packets: &[ServerPacket]| {
        let faults =
            packets.iter().flat_map(|packet| check.check_packet(packet, Duration::ZERO)).collect::<Vec<_>>();
        faults.iter().map(|fault| fault.rule).collect::<Vec<_>>()
    };
    assert_eq!(check_all(&[mill, has(0, 90), has(3, 504), turn(), turn()]), [], "it had it before");
    assert_eq!(check_all(&[has(3, 505), turn(), turn()]), [], "the windmill pays");
    assert_eq!(check_all(&[has(0, 91), turn(), turn()]), [CheckRule::GainUnearned]);
}

#[test]
fn the_gold_of_a_kill_leaves_the_pay_of_windmills_for_the_next_turn() {
    let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
    let kill = ServerPacket::Value { what: MoomooValue::Kills, amount: 1 };
    let tick = Duration::from_millis(33);
    let paid = [mill, turn(), kill, has(3, 100), turn(), has(3, 101), turn(), turn()];
    assert_eq!(run_checks_every(tick, &paid).0, []);
    assert_eq!(run_checks_every(tick, &paid[1..]).0, [CheckRule::GainUnearned], "without a windmill");
}

#[test]
fn the_gold_of_a_hunt_sent_before_its_animal_is_removed_leaves_the_pay_of_windmills() {
    let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
    let cow = &rules::ANIMALS[0];
    let animal = Animal { id: 9, kind: 0, x_px: 550.0, y_px: 500.0, health: 25 };
    let begin = [mill, ServerPacket::Animals(vec![animal]), turn(), turn()];
    let paid = [has(1, cow.food), has(3, cow.gold), turn()];
    let hunt = [ServerPacket::AnimalsRemoved(vec![9]), turn()];
    let pay = [has(3, cow.gold + 1), turn(), turn()];
    let tick = Duration::from_millis(33);
    assert_eq!(run_checks_every(tick, &[&begin[..], &paid, &hunt, &pay].concat()).0, []);
    let without = run_checks_every(tick, &[&begin[1..], &paid, &hunt, &pay].concat()).0;
    assert_eq!(without, [CheckRule::GainUnearned], "without a windmill");
}

#[test]
fn spikes_and_turrets_feed_their_owner_from_afar() {
    let counted = |group, count| ServerPacket::Count { group: group as u8, count };
    let food = rules::ANIMALS[0].food;
    for group in GUARDS {
        let fed = [counted(group, 1), turn(), counted(group, 0), has(1, food), turn(), turn()];
        assert_eq!(run_checks(&fed).0, []);
        assert_eq!(run_checks(&fed[2..]).0, [CheckRule::GainUnearned], "without one");
        let [first, .., last] = fed;
        assert_eq!(run_checks(&[first, has(1, food + 1), turn(), last]).0, [CheckRule::GainUnearned]);
    }
}

#[test]
fn a_hunt_pays_gold_though_strokes_may_have_earned_its_food() {
    const BUSH: u32 = 72;
    let cow = &rules::ANIMALS[0];
    let object =
        Object { id: BUSH, kind: Some(1), x_px: 600.0, y_px: 500.0, scale_px: 80.0, structure: None };
    let mut course = vec![ServerPacket::Objects(vec![object])];
    for _ in 0..cow.food {
        course.extend([swing(1), ServerPacket::ObjectHits(vec![BUSH])]);
    }
    let animal = Animal { id: 9, kind: 0, x_px: 550.0, y_px: 500.0, health: 25 };
    let paid = [has(1, cow.food), has(3, cow.gold), turn(), turn(), turn()];
    let hunt = [ServerPacket::Animals(vec![animal]), ServerPacket::AnimalsRemoved(vec![9])];
    assert_eq!(run_checks(&[&course[..], &hunt, &paid].concat()).0, []);
    assert_eq!(run_checks(&[&course[..], &paid].concat()).0, [CheckRule::GainUnearned]);
}

#[test]
fn a_thief_takes_gold_and_nothing_else() {
    let victim = AddedPlayer {
        id: "2".into(),
        pose: pose(2),
        name: String::new(),
        health: 100,
        max_health: 100,
        is_you: false,
    };
    let both = || ServerPacket::Players(vec![pose(1).into(), pose(2).into()]);
    let steal = || ServerPacket::Swings(vec![Swing { player: 1, weapon: 14, hit: true }]);
    let steal =
        |kind| [ServerPacket::AddPlayer(victim.clone()), both(), steal(), has(kind, 250), both(), both()];
    assert_eq!(run_checks(&steal(3)).0, []);
    assert_eq!(run_checks(&steal(2)).0, [CheckRule::GainUnearned]);
}

#[test]
fn only_the_known_swing_and_shake() {
    assert_eq!(run_checks(&[swing(9)]).0, [CheckRule::SwingUnknown]);
    assert_eq!(run_checks(&[ServerPacket::ObjectHits(vec![9])]).0, [CheckRule::HitUnknown]);
}

#[test]
fn kills_deaths_and_births_are_counted() {
    let kills = |amount| ServerPacket::Value { what: MoomooValue::Kills, amount };
    let mut course = vec![kills(2), kills(1), ServerPacket::Died];
    course.extend(born());
    let (faults, stats) = run_checks(&course);
    assert_eq!(faults, [CheckRule::KillsDecreased, CheckRule::ObjectTwice, CheckRule::ObjectTwice]);
    assert_eq!(stats, MooBotStats { kills: 2, deaths: 1, respawns: 1, ..MooBotStats::default() });
}
