//! Simulations with a few seeds, and the injected bugs that they find.

use std::sync::atomic::{AtomicU16, Ordering};

use tickwire_sim::fields::Field;
use tickwire_sim::{PlayerId, WorldParams};

use super::*;
use crate::game::simple::{Joining, SimpleGame, StateRows, TickContext};
use crate::game::{Game, Simple};
use crate::games::moo::Moo;
use crate::games::tanks::Tanks;

fn plan(seed: u64, peers: usize, seconds: u64) -> SimulationPlan {
    plan_of::<Moo>(seed, peers, seconds)
}

fn plan_of<G: Game>(seed: u64, peers: usize, seconds: u64) -> SimulationPlan {
    SimulationPlan {
        game: SimGameFactory::for_game::<G>(),
        seed,
        peers,
        time: Duration::from_secs(seconds),
        rooms: 2,
        lanes_percent: 50,
        net: None,
    }
}

/// Faults that a simulation of a few minutes injects, and their required effects.
const INJECTED: [&str; 63] = [
    "bot: json",
    "bot: msgpack",
    "burst of joins",
    "command rejected by the world",
    "cut: by a second connection",
    "cut: closed with 1001",
    "cut: half open",
    "cut: vanished",
    "cut: without a close frame",
    "clients compared with the published state",
    "ended: broke a rule of RFC 6455",
    "ended: banned",
    "ended: going_away",
    "ended: hello_late",
    "ended: kicked",
    "ended: message_rate",
    "ended: slow_client",
    "ended: taken_over",
    "ended: the peer closed",
    "ended: the peer was lost",
    "half open",
    "hostile: at-budget",
    "hostile: broken-packets",
    "hostile: spam",
    "hostile: false-checksums",
    "hostile: message-flood",
    "hostile: garbage",
    "hostile: half-frame",
    "hostile: slowloris",
    "hostile: late-hello",
    "hostile: no-hello",
    "hostile: churn",
    "hostile: seat-holders",
    "hostile: spectator",
    "left with a close frame",
    "left without a close frame",
    "line stalled",
    "lockstep: changed fields named",
    "lockstep: checksums",
    "lockstep: reports",
    "lockstep: snapshots",
    "lockstep: ticks",
    "lockstep: worlds changed",
    "lockstep: worlds compared",
    "operator: ban",
    "operator: grant",
    "operator: kick",
    "operator: announce",
    "operator: spawn",
    "messages split at any byte",
    "refused: no place for a client",
    "resume: began with a key",
    "resume: came back",
    "resume: came back after a restart",
    "resume: came back from another address",
    "resume: its time was over",
    "resume: things compared",
    "resume: too many absent players of an address",
    "resume: took its player over",
    "room restarted from its snapshot",
    "slow reader",
    "state held back",
    "vanished",
];

#[test]
fn every_promise_holds_and_every_fault_is_injected() {
    let mut all = SimulationCounts::default();
    // The fewest runs that inject all faults, and one more.
    for (seed, peers, seconds) in [(1, 10, 60), (5, 60, 60), (18, 10, 60), (29, 10, 60)] {
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
    for (injected_bug, rule) in [
        (InjectedBug::BudgetOvercharged, "each rate limit has charged exactly what was spent"),
        (InjectedBug::SeatLeaked, "a seat is released when its connection ends"),
        (InjectedBug::BodyLost, "an absent player stays in the world until its time is over"),
        (InjectedBug::MessageDropped, "every reliable message arrives once and in order"),
        (InjectedBug::BytesLost, "every queued byte arrives once and in order"),
        (InjectedBug::FrameSkipped, "frame_order"),
        (InjectedBug::SnapshotWrong, "a world in lockstep is that of the room after each tick"),
    ] {
        for seed in 2..=3 {
            let found = || run_with(&plan(seed, 10, 60), Some(injected_bug)).1;
            let failure = found().unwrap_or_else(|| panic!("{injected_bug:?} is not found from seed {seed}"));
            println!("{injected_bug:?}, seed {seed}: {failure}");
            assert_eq!(Some(&failure), found().as_ref(), "{injected_bug:?}");
            assert!(failure.at <= Duration::from_secs(60), "{failure}");
            let is_named = failure.broken.rule == rule;
            // The effect of a lost message may be noticed before the next notice arrives.
            assert!(is_named || injected_bug == InjectedBug::MessageDropped, "{injected_bug:?}: {failure}");
        }
    }
}

/// Injected bugs of lanes, and the rules that may detect each. The first wrong packet may break a
/// rule of the game before the worlds are compared.
const LANE_BUGS: [(InjectedBug, &[&str]); 4] = [
    (InjectedBug::DatagramIgnored, &["a client's world model matches the published state"]),
    (
        InjectedBug::DatagramAsStream,
        &[
            "a client's world model matches the published state",
            "tick_not_increased",
            "update_unknown",
            "spawn_order",
        ],
    ),
    (InjectedBug::CommandRepeated, &["every command runs once and in order", "answer"]),
    (InjectedBug::DatagramsDoubled, &["an unproven address is sent no more bytes than came from it"]),
];

#[test]
fn each_injected_bug_of_a_lane_is_detected_and_reproduced_from_its_seed() {
    for (injected_bug, rules) in LANE_BUGS {
        let plans = [plan(1, 24, 60), plan_of::<Simple<Tanks>>(1, 24, 60)];
        // A simple game sends the same packets by datagram and in the stream.
        let count = if injected_bug == InjectedBug::DatagramAsStream { 1 } else { 2 };
        for plan in plans.into_iter().take(count) {
            let plan = SimulationPlan { lanes_percent: 100, ..plan };
            let (game, run) = (plan.game.info.name, || run_with(&plan, Some(injected_bug)));
            let (counts, failure) = run();
            let failure =
                failure.unwrap_or_else(|| panic!("{injected_bug:?} is not found in {game}: {counts:?}"));
            println!("{injected_bug:?} in {game}: {failure}");
            assert!(rules.contains(&failure.broken.rule.as_str()), "{injected_bug:?}: {failure}");
            assert_eq!(Some(failure), run().1);
        }
    }
}

#[test]
fn clients_with_and_without_lanes_see_the_same_world() {
    let mut all = SimulationCounts::default();
    for seed in 1..=3 {
        for plan in [plan(seed, 16, 40), plan_of::<Simple<Tanks>>(seed, 16, 30)] {
            let (counts, failure) = run(&plan);
            assert_eq!(failure, None, "seed {seed}");
            all.merge(&counts);
        }
    }
    let with_lane = all.of("clients with a lane compared with the published state");
    let names = ["lost", "repeated", "opened by the server", "copied by an attacker"];
    let datagrams = names.map(|name| all.of(&format!("lane: datagrams {name}")));
    let faults = ["outages", "addresses changed"].map(|name| all.of(&format!("lane: {name}")));
    assert!(with_lane > 20 && with_lane < all.of("clients compared with the published state"), "{all:?}");
    assert!(datagrams.iter().chain(&faults).all(|count| *count > 0), "{all:?}");
}

#[test]
fn a_simple_game_is_simulated_and_its_bots_receive_what_is_published() {
    let mut never =
        vec!["clients compared with the published state", "bot: json", "operator: kick", "resume: came back"];
    for seed in 1..=3 {
        let run = || run(&plan_of::<Simple<Tanks>>(seed, 16, 30));
        let (counts, failure) = run();
        assert_eq!(failure, None, "seed {seed}");
        assert_eq!(run().0, counts);
        never.retain(|name| counts.of(name) == 0);
        assert!(counts.stats.0.iter().any(|(name, _, seen)| *name == "shots_seen" && *seen > 0));
    }
    assert_eq!(never, [""; 0], "these never came");
}

#[test]
fn each_planted_fault_is_found_in_a_simple_game() {
    for (injected_bug, rule) in [
        (InjectedBug::BudgetOvercharged, "each rate limit has charged exactly what was spent"),
        (InjectedBug::SeatLeaked, "a seat is released when its connection ends"),
        (InjectedBug::BodyLost, "an absent player stays in the world until its time is over"),
        (InjectedBug::MessageDropped, "every reliable message arrives once and in order"),
        (InjectedBug::BytesLost, "every queued byte arrives once and in order"),
        (InjectedBug::FrameSkipped, "frame_order"),
        (InjectedBug::SnapshotWrong, "a world in lockstep is that of the room after each tick"),
    ] {
        let failure = run_with(&plan_of::<Simple<Tanks>>(1, 10, 60), Some(injected_bug)).1;
        let failure = failure.unwrap_or_else(|| panic!("{injected_bug:?} is not found"));
        println!("{injected_bug:?}: {failure}");
        // The rules of the game may reveal a lost hit before the next event arrives.
        let is_early = injected_bug == InjectedBug::MessageDropped && failure.broken.rule == "health";
        assert!(failure.broken.rule == rule || is_early, "{injected_bug:?}: {failure}");
    }
}

/// A game with a bug in its rules.
#[derive(Debug, Clone, PartialEq)]
struct Mistaken<const WHICH: u8> {
    steps: u16,
}

/// State outside the world. The rules of a game must not read such state.
static OUTSIDE: AtomicU16 = AtomicU16::new(0);

impl<const WHICH: u8> Field for Mistaken<WHICH> {
    const MIN_BYTES: usize = u16::MIN_BYTES;

    fn write(&self, sink: &mut impl tickwire_sim::fields::Sink) {
        self.steps.write(sink);
    }

    fn read(reader: &mut tickwire_sim::Reader<'_>) -> Result<Self, tickwire_sim::Malformed> {
        u16::read(reader).map(|steps| Mistaken { steps })
    }
}

const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
    to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tfirst\n\
    to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoin\n\
    to_server\tping\treliable\t3\tnonce:u32\tping\n\
    to_server\tstep\treliable\t4\tsequence:u32 tick:u32.tick|nil by:u8\ta step\n\
    to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\twelcome\n\
    to_client\tspawned\tlatest\t2\tplayer:u16\tplays\n\
    to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tpong\n\
    to_client\terror\treliable\t4\trule:str detail:str\terror\n\
    to_client\tstate\tlatest\t5\ttick:u32.tick steps:u16\tthe state\n";

crate::game::simple::rows! {
    in TABLE;

    enum Action { Step in "step" { by: u8 } }
    struct StateRow in "state" { steps: u16 }
}

impl<const WHICH: u8> SimpleGame for Mistaken<WHICH> {
    const NAME: &'static str = "mistaken";
    const TABLE: (&'static str, &'static str) = ("mistaken.tsv", TABLE);
    const DIALECT: &'static str = "test";
    const PAGE: &'static str = "";

    type Action = Action;

    fn new(_: &WorldParams) -> Self {
        Mistaken { steps: 0 }
    }

    fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}

    fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}

    fn apply(&mut self, _: PlayerId, action: Action, _: &mut TickContext<'_>) -> Result<(), &'static str> {
        let Action::Step { by } = action;
        let by = if WHICH == 1 { OUTSIDE.fetch_add(1, Ordering::Relaxed) } else { by.into() };
        self.steps = self.steps.wrapping_add(by);
        Ok(())
    }

    fn tick(&mut self, _: &mut TickContext<'_>) {}

    fn write_state(&self, rows: &mut StateRows) {
        rows.push(StateRow { steps: self.steps });
    }
}

#[test]
fn a_mistake_of_a_games_author_is_found() {
    let sound = run(&plan_of::<Simple<Mistaken<0>>>(1, 8, 20));
    assert_eq!(sound.1, None);
    assert!(sound.0.of("clients compared with the published state") > 0);
    let failure = run(&plan_of::<Simple<Mistaken<1>>>(1, 8, 20)).1.expect("a rule that looks outside");
    assert_eq!(failure.broken.rule, "a second world with the same command frames stays identical");
}

#[test]
fn every_promise_holds_under_network_conditions_too() {
    for net in ["train", "delay=150ms,jitter=30ms,loss=2%"] {
        let net = Some(net.parse().expect("conditions"));
        let run = |net| run(&SimulationPlan { net, ..plan(11, 12, 40) });
        let (counts, failure) = run(net);
        assert_eq!(failure, None);
        assert_eq!(run(net).0, counts, "the same seed gives the same run");
        for name in ["segments lost", "clients compared with the published state"] {
            assert!(counts.of(name) > 0, "{name}: {counts:?}");
        }
        assert_eq!(run(None).0.of("segments"), 0);
    }
}
