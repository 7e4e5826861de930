//! Reports of a game with one changed scalar.

use tickwire_sim::state_tree::{StateTree, corrupt_one_scalar};
use tickwire_sim::{Command, Sim as _, StepResult};

use super::*;
use crate::game::simple::SimpleAction;

/// A game of eight tanks with random controls, after some ticks.
fn played(ticks: u32) -> SimpleWorld<Tanks> {
    let mut world = SimpleWorld::<Tanks>::new(&WorldParams::default_for::<SimpleWorld<Tanks>>(5));
    let (mut random, mut stepped) = (Rng::new(5, 9), StepResult::default());
    let command = |player: u16, sequence: u32, action| Command {
        player: PlayerId(player),
        sequence: sequence.into(),
        action,
    };
    let join = |player| {
        command(0, player, SimpleAction::Join(PlayerId(player as u16), format!("player {player}"), None))
    };
    world.step(&mut (1..=8).map(join).collect(), &mut stepped);
    for tick in 1..=ticks {
        let mut way = || random.between(-1, 1) as i8;
        let control = Control { drive: way(), turn: way(), fires: true, ..Control::default() };
        let player = random.between(1, 8) as u16;
        world.step(&mut vec![command(player, tick, SimpleAction::Act(control))], &mut stepped);
        assert_eq!(stepped.rejected, []);
    }
    world
}

#[test]
fn a_thousand_corruptions_are_each_named_rightly_and_alone() {
    let world = played(130);
    assert!(!world.game().shells.is_empty(), "something flies");
    let (before, mut named) = (StateTree::of(&world), BTreeSet::new());
    for seed in 0..1_000 {
        let (mut other, changed) =
            corrupt_one_scalar(&world, &mut Rng::new(seed, 1)).expect("something can change");
        assert_eq!(before.differences(&StateTree::of(&other), 100), std::slice::from_ref(&changed));
        // At most the bytes of one scalar differ, apart from the checksum at the end.
        let (ours, theirs) = (world.snapshot(), other.snapshot());
        assert_eq!(ours.len(), theirs.len());
        let differing: Vec<usize> = (0..ours.len() - 8).filter(|at| ours[*at] != theirs[*at]).collect();
        assert!(differing[differing.len() - 1] - differing[0] < 8, "{changed}: {differing:?}");
        let (list, _) = changed.entity.split_once('[').unwrap_or((&changed.entity, ""));
        let field = changed.field.split('[').next().unwrap_or_default();
        named.insert(format!("{list} {field}"));
        other.step(&mut Vec::new(), &mut StepResult::default());
    }
    assert!(named.len() >= 25, "{named:?}");
    for place in [
        "tanks x",
        "tanks name",
        "tanks control.aim",
        "shells way",
        "seats sequence",
        "round left",
        "random ",
    ] {
        assert!(named.contains(place), "{place} is not in {named:?}");
    }
}
