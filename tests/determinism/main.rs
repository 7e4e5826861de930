//! Checks determinism by running every seed twice: the second time, the commands of a tick arrive
//! in another order, and the world is restored from snapshots now and then.
//!
//! After an intended change of the rules, raise `rules::CODE_VERSION` and write the fixture again
//! with `TICKWIRE_BLESS=1 cargo test --test determinism`. `tests/wasm/check.mjs` checks the
//! browser's build against the same fixture.

#![allow(clippy::print_stdout, reason = "the counts are what this test must show")]

mod fixture;
mod script;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::panic::catch_unwind;

use script::Script;
use tickwire_moo_world::command::ACTION_KINDS;
use tickwire_moo_world::{rules, Identity, TickHz, TickOutcome, World, WorldEvent};
use tickwire_sim::fixed::is_shorter;
use tickwire_sim::state_tree::StateTree;

const SEEDS: u32 = 100;
const TICKS: u32 = 4_000;
/// Ticks between two comparisons of the whole state.
const COMPARE_EVERY: u32 = 50;

/// Seeds take turns at tick rates, and at a crowded and the usual map.
fn identity(seed: u32) -> Identity {
    let tick_hz = TickHz::ALL[seed as usize % TickHz::ALL.len()];
    let map_size_px = if seed.is_multiple_of(3) { 14_400 } else { 1_440 };
    Identity { seed, map_size_px, tick_hz }
}

/// What happened in all runs together.
#[derive(Default)]
struct Counts {
    /// Commands carried out, by kind.
    accepted: [u64; ACTION_KINDS],
    /// Events, by name.
    events: BTreeMap<&'static str, u64>,
}

impl Counts {
    fn add(&mut self, outcome: &TickOutcome) {
        for (count, accepted) in self.accepted.iter_mut().zip(outcome.accepted) {
            *count += u64::from(accepted);
        }
        for event in &outcome.events {
            let name = match event {
                WorldEvent::Joined { .. } => "joined",
                WorldEvent::Left { .. } => "left",
                WorldEvent::Chat { .. } => "said",
                WorldEvent::Swung { hit: true, .. } => "strokes that hit",
                WorldEvent::Swung { hit: false, .. } => "strokes in the air",
                WorldEvent::Struck { .. } => "gathers",
                WorldEvent::Hurt { .. } => "hurts",
                WorldEvent::Healed { .. } => "heals",
                WorldEvent::Died { by: Some(_), .. } => "kills",
                WorldEvent::Died { by: None, .. } => "deaths by nobody",
                WorldEvent::Spawned { .. } => "respawns",
                WorldEvent::Placed { .. } => "builds",
                WorldEvent::Destroyed { .. } => "ruins",
                WorldEvent::Shot { .. } => "shots",
                WorldEvent::ShotEnded { .. } => "ends of shots",
                WorldEvent::AnimalStruck { .. } => "strokes of animals",
                WorldEvent::AnimalHurt { .. } => "hurts of animals",
                WorldEvent::AnimalDied { .. } => "deaths of animals",
                WorldEvent::JoinRequested { .. } => "requests",
                WorldEvent::Pinged { .. } => "pings",
                WorldEvent::NotOffered { .. } => "choices of what is not offered",
                WorldEvent::Announced { .. } => "sayings",
            };
            *self.events.entry(name).or_default() += 1;
        }
    }
}

/// Runs one seed twice, counts what happened, and returns the checksum at the end.
fn run_twice(seed: u32, counts: &mut Counts) -> u64 {
    let mut script = Script::new(seed);
    let mut first = World::new(identity(seed));
    let mut second = first.clone();
    for tick in 0..TICKS {
        let mut commands = script.commands();
        let mut shuffled = script.shuffled(&commands);
        if script.one_in(250) {
            second = World::restore(&second.snapshot()).expect("a snapshot can be restored");
        }
        first.step(&mut commands);
        second.step(&mut shuffled);
        assert_eq!(first.outcome(), second.outcome(), "seed {seed}, tick {tick}");
        counts.add(first.outcome());
        if tick % COMPARE_EVERY == COMPARE_EVERY - 1 && first.checksum() != second.checksum() {
            panic!(
                "seed {seed}, tick {tick}: {}",
                StateTree::of(&first).differences(&StateTree::of(&second), 1)[0]
            );
        }
    }
    assert_eq!(first, second, "seed {seed}: equal checksums of unequal worlds");
    first.checksum()
}

#[test]
fn a_hundred_seeds_come_out_the_same_twice() {
    let mut counts = Counts::default();
    let finals: Vec<u64> = (0..SEEDS).map(|seed| run_twice(seed, &mut counts)).collect();
    let kinds = [
        "joins",
        "leaves",
        "moves",
        "aims",
        "chats",
        "attacks",
        "respawns",
        "grants",
        "upgrades",
        "selects",
        "clans founded",
        "clans left",
        "requests",
        "answers",
        "kicks",
        "pings",
        "spawns",
        "sayings",
        "absences",
    ];
    let accepted = kinds.iter().zip(counts.accepted).map(|(kind, count)| format!("{count} {kind}"));
    println!("{SEEDS} seeds x {TICKS} ticks, accepted: {}", accepted.collect::<Vec<_>>().join(", "));
    println!("events: {:?}", counts.events);
    assert!(
        counts.accepted.iter().all(|count| *count > 100),
        "each kind of command must be carried out many times"
    );
    let often = [
        "strokes that hit",
        "strokes in the air",
        "gathers",
        "hurts",
        "heals",
        "kills",
        "builds",
        "ruins",
        "shots",
        "strokes of animals",
        "hurts of animals",
        "deaths of animals",
        "deaths by nobody",
    ];
    for name in often {
        assert!(counts.events.get(name).is_some_and(|count| *count > 100), "{name} must happen many times");
    }
    // Every seed leads elsewhere, and each of them where it led when the fixture was written: in debug and release.
    let different: std::collections::BTreeSet<&u64> = finals.iter().collect();
    assert_eq!(different.len(), finals.len());
    fixture::check_finals(&finals);
}

#[test]
fn the_committed_commands_lead_to_the_committed_checksums() {
    fixture::check_cases();
}

#[test]
fn an_overflow_panics_in_both_packages_of_the_world_also_in_release() {
    let max = black_box(u32::MAX);
    assert!(
        catch_unwind(|| is_shorter(max - 1, max - 1, max)).is_err(),
        "tickwire-sim: the sum of two squares"
    );
    let max = black_box(u16::MAX);
    assert!(catch_unwind(|| rules::thirds(max)).is_err(), "tickwire-moo-world: three times a u16");
}
