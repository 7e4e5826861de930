//! Simulations from a few seeds, and planted faults that they find.

use super::*;
use crate::games::moo::Moo;

fn plan(seed: u64, peers: usize, seconds: u64) -> Plan {
    let game = Kind::of::<Moo>();
    Plan { game, seed, peers, time: Duration::from_secs(seconds), rooms: 2 }
}

/// The faults that a simulation of a few minutes injects, and their required effects.
const INJECTED: [&str; 40] = [
    "bot: json",
    "bot: msgpack",
    "burst of joins",
    "command rejected by the world",
    "clients compared with the published state",
    "ended: broke a rule of RFC 6455",
    "ended: banned",
    "ended: going_away",
    "ended: hello_late",
    "ended: kicked",
    "ended: message_rate",
    "ended: slow_client",
    "ended: the peer closed",
    "ended: the peer was lost",
    "half open",
    "hostile: at the budget",
    "hostile: broken packets",
    "hostile: clan spam",
    "hostile: flood",
    "hostile: garbage",
    "hostile: half a frame",
    "hostile: half a request",
    "hostile: late hello",
    "hostile: no hello",
    "hostile: reconnect storm",
    "hostile: watcher",
    "left with a close frame",
    "left without a close frame",
    "line stalled",
    "operator: ban",
    "operator: grant",
    "operator: kick",
    "operator: say",
    "operator: spawn",
    "messages split at any byte",
    "refused: no place for a client",
    "room restarted from its snapshot",
    "slow reader",
    "state held back",
    "vanished",
];

#[test]
fn every_promise_holds_and_every_fault_is_injected() {
    let mut all = Counts::default();
    for (seed, peers, seconds) in
        [(1, 10, 60), (2, 10, 60), (3, 10, 60), (4, 60, 60), (5, 60, 60), (6, 60, 60)]
    {
        let (counts, failure) = run(&plan(seed, peers, seconds));
        assert_eq!(failure, None, "seed {seed}, {peers} peers");
        all.merge(&counts);
    }
    let missing: Vec<_> = INJECTED.into_iter().filter(|name| all.of(name) == 0).collect();
    assert_eq!(missing, [""; 0], "{all:?}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let hash = |seed| run(&plan(seed, 10, 20)).0;
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7).hash, hash(8).hash);
}

#[test]
fn each_planted_fault_is_found_within_a_minute_and_again_from_its_seed() {
    for (planted, rule) in [
        (Planted::BudgetKept, "each rate limit has charged exactly what was spent"),
        (Planted::SeatLeaked, "a seat is released when its connection ends"),
        (Planted::MessageDropped, "every reliable message arrives once and in order"),
        (Planted::BytesLost, "every queued byte arrives once and in order"),
    ] {
        for seed in 1..=3 {
            let found = || run_with(&plan(seed, 10, 60), Some(planted)).1;
            let failure = found().unwrap_or_else(|| panic!("{planted:?} is not found from seed {seed}"));
            println!("{planted:?}, seed {seed}: {failure}");
            assert_eq!(Some(&failure), found().as_ref(), "{planted:?}");
            assert!(failure.at <= Duration::from_secs(60), "{failure}");
            let is_named = failure.broken.rule == rule;
            // The effect of a lost message may be noticed before the next notice arrives.
            assert!(is_named || planted == Planted::MessageDropped, "{planted:?}: {failure}");
        }
    }
}
