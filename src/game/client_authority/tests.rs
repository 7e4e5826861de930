//! Tests of [client authority](super). The entities are beads on a line; there is no game.

use tickwire_sim::fields::ByteSink;
use tickwire_sim::{Rng, fields};

use super::*;

/// A bead on a line of 1,000 units. `speed` is its extrapolated motion in units per tick.
#[derive(Clone, Debug, PartialEq)]
struct Bead {
    x: i32,
    speed: i32,
}

fields!(Bead: x: i32, speed: i32);

impl OwnedState for Bead {
    const RULES: AuthorityRules = AuthorityRules {
        max_per_player: 3,
        spawn_ticks: 4,
        report_ticks: 2,
        speed: 10,
        slack_ticks: 6,
        extrapolation_ticks: 5,
        timeout_ticks: 20,
        on_timeout: TimeoutAction::Despawn,
        on_disconnect: TimeoutAction::Freeze,
    };

    fn is_valid(&self) -> bool {
        (0..=1_000).contains(&self.x)
    }

    fn position(&self) -> (i32, i32) {
        (self.x, 0)
    }

    fn extrapolate(&mut self) {
        self.x += self.speed;
    }
}

const ANN: PlayerId = PlayerId(1);
const BOB: PlayerId = PlayerId(2);
const MINE: u32 = entity_id(ANN, 7);

fn at(x: i32) -> Bead {
    Bead { x, speed: 0 }
}

/// Returns Ann's bead at position 500 in tick 100. The bead's clock has no lag.
fn one() -> OwnedEntities<Bead> {
    let mut beads = OwnedEntities::default();
    assert_eq!(beads.spawn(ANN, 7, at(440), 100), Ok(MINE));
    assert_eq!(beads.report(ANN, MINE, at(500), 100), Ok(()), "as if both had been held back");
    beads
}

fn bytes(beads: &OwnedEntities<Bead>) -> Vec<u8> {
    let mut bytes = ByteSink::default();
    beads.write(&mut bytes);
    bytes.0
}

fn places(beads: &OwnedEntities<Bead>) -> Vec<i32> {
    beads.iter().map(|one| one.state.x).collect()
}

#[test]
fn each_refusal_names_its_rule_and_changes_nothing() {
    let mut full = one();
    full.spawn(BOB, 7, at(0), 100).expect("the same number, of another");
    full.spawn(ANN, 8, at(0), 104).expect("in time");
    full.spawn(ANN, 9, at(0), 108).expect("in time");
    type Try = fn(&mut OwnedEntities<Bead>) -> Result<(), ReportError>;
    let tries: [(ReportError, Try); 13] = [
        (ReportError::NotYours, |beads| beads.report(BOB, MINE, at(500), 200)),
        (ReportError::NotYours, |beads| beads.remove(BOB, MINE)),
        (ReportError::Unknown, |beads| beads.report(ANN, entity_id(ANN, 6), at(500), 200)),
        (ReportError::Unknown, |beads| beads.remove(ANN, entity_id(PlayerId(9), 7))),
        (ReportError::Taken, |beads| beads.spawn(ANN, 8, at(500), 200).map(drop)),
        (ReportError::TooMany, |beads| beads.spawn(ANN, 10, at(500), 200).map(drop)),
        (ReportError::OutOfBounds, |beads| beads.spawn(BOB, 8, at(1_001), 200).map(drop)),
        (ReportError::OutOfBounds, |beads| beads.report(ANN, MINE, at(-1), 200)),
        (ReportError::TooSoon, |beads| beads.spawn(BOB, 8, at(1), 103).map(drop)),
        (ReportError::TooSoon, |beads| beads.report(ANN, MINE, at(500), 101)),
        (ReportError::TooFast, |beads| beads.report(ANN, MINE, at(521), 102)),
        (ReportError::TooFast, |beads| beads.report(ANN, MINE, at(439), 200)),
        (ReportError::TooFast, |beads| beads.report(ANN, MINE, at(1_000), u32::MAX)),
    ];
    for (refusal, attempt) in tries {
        let mut beads = full.clone();
        assert_eq!(attempt(&mut beads), Err(refusal));
        assert_eq!(beads, full, "{refusal:?}");
    }
    let tried = tries.map(|(refusal, _)| refusal);
    assert!(ReportError::ALL.iter().all(|refusal| tried.contains(refusal)));
    let mut names = ReportError::ALL.map(ReportError::name);
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, next| one < next), "each has a name of its own");
}

#[test]
fn what_is_just_within_the_rules_is_accepted() {
    for (x, tick) in [(520, 102), (480, 102), (560, 106), (440, 1_000), (560, u32::MAX)] {
        let mut beads = one();
        assert_eq!(beads.report(ANN, MINE, at(x), tick), Ok(()), "{x} in tick {tick}");
        assert_eq!(places(&beads), [x]);
    }
    let mut beads = one();
    assert_eq!((beads.remove(ANN, MINE), places(&beads)), (Ok(()), vec![]));
    assert_eq!(beads.spawn(ANN, 7, at(0), 103), Err(ReportError::TooSoon), "nobody jumps so");
    assert_eq!(beads.spawn(ANN, 7, at(0), 104), Ok(MINE));
}

#[test]
fn reports_that_a_line_held_back_are_accepted_at_once_up_to_the_slack() {
    // Three reports arrive in one tick. Together they cover six ticks of motion at full speed.
    let mut beads = one();
    for x in [520, 540, 560] {
        assert_eq!(beads.report(ANN, MINE, at(x), 106), Ok(()), "{x}");
    }
    assert_eq!(beads.report(ANN, MINE, at(560), 106), Err(ReportError::TooSoon));
    assert_eq!(beads.report(ANN, MINE, at(581), 108), Err(ReportError::TooFast));
    assert_eq!(beads.report(ANN, MINE, at(580), 108), Ok(()));
    // The unused time without reports counts only up to the slack.
    for (x, answer) in [(600, Ok(())), (620, Ok(())), (640, Ok(())), (640, Err(ReportError::TooSoon))] {
        assert_eq!(beads.report(ANN, MINE, at(x), 500), answer, "{x}");
    }
}

#[test]
fn without_news_an_entity_is_run_on_and_then_stands_and_then_is_gone() {
    let mut beads = one();
    beads.report(ANN, MINE, Bead { x: 510, speed: 4 }, 102).expect("in time");
    let positions: Vec<_> = (0..22)
        .map(|_| {
            beads.tick();
            places(&beads).first().copied()
        })
        .collect();
    // Extrapolation starts in the tick after the report.
    let mut expected = [510, 514, 518, 522, 526].map(Some).to_vec();
    expected.resize(21, Some(530));
    expected.push(None);
    assert_eq!(positions, expected);
}

#[test]
fn a_controller_is_followed_no_farther_than_its_owner_could_have_come() {
    for (x, speed, to) in [(500, 10, 550), (500, 11, 544), (500, -900, 500), (995, 10, 995)] {
        let mut beads = OwnedEntities::default();
        beads.spawn(ANN, 7, Bead { x, speed }, 100).expect("possible");
        (0..10).for_each(|_| beads.tick());
        assert_eq!(places(&beads), [to], "{speed}");
    }
}

#[test]
fn a_way_on_a_slant_is_rounded_up() {
    for (to, expected) in [((0, 0), 0), ((1, 0), 1), ((1, 1), 2), ((-3, 4), 5), ((3, 5), 6), ((-7, 0), 7)] {
        assert_eq!(distance((0, 0), to), expected, "{to:?}");
    }
    let far = distance((i32::MIN, i32::MIN), (i32::MAX, i32::MAX));
    assert_eq!(far, 1 << 32, "its square is more than 64 bits hold");
}

#[test]
fn an_owner_goes_on_from_where_the_world_has_its_entity() {
    for silent in 1..20 {
        let mut beads = OwnedEntities::default();
        beads.spawn(ANN, 7, Bead { x: 500, speed: 10 }, 100).expect("possible");
        (0..=silent).for_each(|_| beads.tick());
        let corrected = beads.get(MINE).expect("it lives").state.clone();
        let tick = 100 + (silent + 1).max(2);
        assert_eq!(beads.report(ANN, MINE, corrected, tick), Ok(()), "after {silent} ticks");
    }
}

#[test]
fn the_entities_of_an_owner_wait_while_it_is_away_and_go_when_it_leaves() {
    let mut beads = one();
    beads.spawn(BOB, 7, Bead { x: 10, speed: 1 }, 100).expect("possible");
    beads.tick();
    beads.tick();
    beads.disconnect(BOB);
    (0..18).for_each(|_| beads.tick());
    assert_eq!(places(&beads), [500, 11], "Bob's stands where it was");
    (0..100).for_each(|_| beads.tick());
    assert_eq!(places(&beads), [11], "Ann's has lapsed, Bob's waits");
    assert_eq!(beads.report(BOB, entity_id(BOB, 7), Bead { x: 20, speed: 1 }, 300), Ok(()));
    beads.tick();
    beads.tick();
    assert_eq!(places(&beads), [21], "it flies again");
    (0..20).for_each(|_| beads.tick());
    assert_eq!(places(&beads), [0; 0], "and lapses without news");
    let mut beads = one();
    beads.spawn(BOB, 7, at(10), 100).expect("possible");
    beads.leave(ANN);
    assert_eq!((places(&beads), beads.get(MINE)), (vec![10], None));
    assert_eq!(beads.spawn(ANN, 7, at(0), 101), Ok(MINE), "the next player of that number");
}

/// Four clients send random commands for their own and for other entities.
#[test]
fn contradicting_reports_change_nothing_of_others_and_keep_every_bound() {
    for seed in 0..40 {
        let mut random = Rng::new(seed, 3);
        let (mut beads, mut again) = (OwnedEntities::<Bead>::default(), OwnedEntities::<Bead>::default());
        // For each entity: tick of each report, and distance travelled since the spawn.
        let mut ways = std::collections::BTreeMap::<u32, Vec<(u32, i64)>>::new();
        let (mut accepted, mut refused) = (0, 0);
        for tick in 0..600 {
            for _ in 0..random.below(6) {
                let player = PlayerId(1 + random.below(4) as u16);
                let target = entity_id(PlayerId(1 + random.below(4) as u16), random.below(5) as u16);
                let near = beads.get(target).map_or(500, |one| one.last_reported.x);
                let x = near + random.between(-40, 40) + if random.below(9) == 0 { 700 } else { 0 };
                let bead = Bead { x, speed: random.between(-12, 12) };
                let before = beads.clone();
                let kind = random.below(12);
                let act = |beads: &mut OwnedEntities<Bead>| match kind {
                    0..=2 => beads.spawn(player, target as u16, bead.clone(), tick).map(drop),
                    3 => beads.remove(player, target),
                    _ => beads.report(player, target, bead.clone(), tick),
                };
                let result = act(&mut beads);
                assert_eq!(act(&mut again), result);
                let others = |beads: &OwnedEntities<Bead>| {
                    beads.iter().filter(|one| one.owner_of() != player).cloned().collect::<Vec<_>>()
                };
                assert_eq!(others(&beads), others(&before));
                if result.is_err() {
                    refused += 1;
                    assert_eq!(beads, before);
                    continue;
                }
                accepted += 1;
                match kind {
                    0..=2 => _ = ways.insert(entity_id(player, target as u16), vec![(tick, 0)]),
                    3 => _ = ways.remove(&target),
                    _ => {
                        let ways = ways.get_mut(&target).expect("spawned");
                        let (_, way) = ways[ways.len() - 1];
                        ways.push((tick, way + i64::from(near.abs_diff(x))));
                        let is_slow = ways.iter().all(|(from, before)| {
                            ways[ways.len() - 1].1 - before <= 10 * i64::from(tick - from + 6)
                        });
                        assert!(is_slow, "{ways:?}");
                    }
                }
            }
            if random.below(150) == 0 {
                [&mut beads, &mut again].into_iter().for_each(|beads| beads.disconnect(ANN));
            }
            [&mut beads, &mut again].into_iter().for_each(OwnedEntities::tick);
            again = OwnedEntities::read(&mut Reader::new(&bytes(&again))).expect("its own bytes");
            assert_eq!(bytes(&again), bytes(&beads));
            assert!(beads.iter().all(|one| one.state.is_valid()));
            assert!((1..5).all(|player| beads.owned_by(PlayerId(player)).count() <= 3));
        }
        assert!(accepted > 200 && refused > 200, "{accepted} accepted, {refused} refused");
    }
}

#[test]
fn bytes_in_another_order_are_no_entities() {
    let mut beads = one();
    beads.spawn(BOB, 1, at(3), 100).expect("possible");
    type Swap = fn(&mut OwnedEntities<Bead>);
    let swaps: [Swap; 2] = [|beads| beads.list.swap(0, 1), |beads| beads.spawners.swap(0, 1)];
    for swap in swaps {
        let mut wrong = beads.clone();
        swap(&mut wrong);
        assert!(OwnedEntities::<Bead>::read(&mut Reader::new(&bytes(&wrong))).is_err());
    }
    assert_eq!(OwnedEntities::read(&mut Reader::new(&bytes(&beads))), Ok(beads));
}
