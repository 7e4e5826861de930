//! Reports of a world with one changed scalar.

use std::collections::{BTreeMap, BTreeSet};

use tickwire_sim::state_tree::{corrupt_one_scalar, StateTree};
use tickwire_sim::Sim;

use crate::fields::Sink;
use crate::rng::Rng;
use crate::rules::TickHz;
use crate::tests::state::snapshot::lively;
use crate::world::World;

/// All scalars as bytes, by a path that includes list indices. Collected without [`StateTree`], as
/// an independent check.
#[derive(Default)]
struct Bytewise {
    path: Vec<String>,
    places: Vec<usize>,
    list: BTreeMap<String, Vec<u8>>,
}

impl Sink for Bytewise {
    fn put(&mut self, value: u64, bytes: usize) {
        let path = self.path.join(".").replace(".[", "[");
        self.list.entry(path).or_default().extend(&value.to_le_bytes()[..bytes]);
    }

    fn enter(&mut self, field: &'static str) {
        self.path.push(field.to_owned());
        self.places.push(0);
    }

    fn leave(&mut self) {
        self.path.pop();
        self.places.pop();
    }

    fn item(&mut self) {
        let at = self.places.last_mut().expect("lists are fields");
        self.path.push(format!("[{at}]"));
        *at += 1;
        self.places.push(0);
    }

    fn end_item(&mut self) {
        self.leave();
    }
}

impl Bytewise {
    fn of(world: &World) -> Bytewise {
        let mut out = Bytewise::default();
        Sim::write(world, &mut out);
        out
    }

    /// The only path at which two worlds differ, as written in a report.
    fn only_difference(&self, other: &Bytewise) -> (String, String) {
        assert_eq!(self.list.len(), other.list.len());
        let differing: Vec<&String> = self
            .list
            .iter()
            .filter(|(path, bytes)| other.list[*path] != **bytes)
            .map(|(path, _)| path)
            .collect();
        let [path] = differing[..] else { panic!("{differing:?}") };
        let Some((entity, field)) = path.split_once(']') else {
            return path
                .split_once('.')
                .map_or((path.clone(), String::new()), |(one, two)| (one.into(), two.into()));
        };
        let id = &self.list[&format!("{entity}].id")];
        let id = id.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let (list, _) = entity.split_once('[').expect("an item");
        (format!("{list}[{id}]"), field.trim_start_matches('.').to_owned())
    }
}

#[test]
fn a_thousand_corruptions_are_each_named_rightly_and_alone() {
    let mut named = BTreeSet::new();
    for (round, rate) in (0..).zip(TickHz::ALL) {
        let world = lively(round, 1_440, rate);
        let (before, bytes) = (StateTree::of(&world), Bytewise::of(&world));
        for seed in 0..250 {
            let (other, changed) =
                corrupt_one_scalar(&world, &mut Rng::new(seed, round)).expect("something can change");
            assert_eq!(
                before.differences(&StateTree::of(&other), 100),
                std::slice::from_ref(&changed),
                "{round} {seed}"
            );
            let (entity, field) = bytes.only_difference(&Bytewise::of(&other));
            assert_eq!((&changed.entity, &changed.field), (&entity, &field), "{round} {seed}");
            assert_ne!(Sim::checksum(&other), Sim::checksum(&world));
            let hashes = StateTree::of(&other).hashes();
            let differing: Vec<&String> = before
                .hashes()
                .iter()
                .zip(&hashes)
                .filter(|(ours, theirs)| ours != theirs)
                .map(|(_, (name, _))| name)
                .collect();
            assert_eq!(differing, [&entity], "{round} {seed}");
            named.insert(format!("{} {field}", entity.split('[').next().unwrap_or_default()));
        }
    }
    println!("{} places: {named:?}", named.len());
    assert!(named.len() > 40, "{named:?}");
}

#[test]
fn a_corrupted_world_goes_on() {
    let world = lively(3, 1_440, TickHz::Hz30);
    for seed in 0..100 {
        let (mut other, changed) =
            corrupt_one_scalar(&world, &mut Rng::new(seed, 7)).expect("something can change");
        for _ in 0..5 {
            other.step(&mut Vec::new());
        }
        assert_eq!(other.tick(), world.tick() + 5, "{changed}");
    }
}
