//! What a tick of the world costs: microseconds and allocations.
//!
//! `cargo bench --bench world_tick`, or only what has these words in its name: `cargo bench --bench world_tick -- fight
//! walk`. An allocation in the steady state ends it with an error; a time over the budget is printed as such, since it
//! also depends on what else the machine does.
#![allow(
    unsafe_code,
    reason = "an allocator that counts can only be written with it; no product code is here"
)]
#![allow(clippy::print_stdout, reason = "printing is what a benchmark is for")]

mod counting;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tickwire::internal::games::moo::world::rng::Rng;
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Resource, Selection, Spawned, TickHz, World, WorldEvent,
};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

const WARM_UP_TICKS: u32 = 300;
const TICKS: u32 = 3_000;
/// Who is dead plays again in one of so many ticks.
const RESPAWN_EVERY: u32 = 90;
/// Turrets along one side of the map.
const TURRETS_PER_SIDE: u32 = 10;

struct Case {
    name: &'static str,
    players: u16,
    map_size_px: u32,
    /// A player changes its direction every so many ticks; 0 for never, all stand.
    turns_every: u32,
    /// Everyone has built something, swings all the time, and plays again some seconds after death; turrets of nobody shoot
    /// at all of them.
    fights: bool,
    budget: Option<Budget>,
}

/// What a tick may cost.
#[derive(Clone, Copy)]
enum Budget {
    /// On average.
    Mean(Duration),
    /// In 99 of a hundred ticks.
    P99(Duration),
}

const SMALL: Option<Budget> = Some(Budget::Mean(Duration::from_micros(33)));
const LARGE: Option<Budget> = Some(Budget::P99(Duration::from_millis(3)));

const CASES: [Case; 8] = [
    case("50 walk", 50, 14_400, 6, false, SMALL),
    case("50 stand", 50, 14_400, 0, false, None),
    case("50 fight", 50, 14_400, 6, true, SMALL),
    case("2,000 walk", 2_000, 14_400, 6, false, LARGE),
    case("2,000 stand", 2_000, 14_400, 0, false, None),
    case("2,000 fight", 2_000, 14_400, 6, true, LARGE),
    case("2,000 in a crush", 2_000, 3_600, 6, false, LARGE),
    case("2,000 in a brawl", 2_000, 3_600, 6, true, LARGE),
];

const fn case(
    name: &'static str,
    players: u16,
    map_size_px: u32,
    turns_every: u32,
    fights: bool,
    budget: Option<Budget>,
) -> Case {
    Case { name, players, map_size_px, turns_every, fights, budget }
}

fn main() -> ExitCode {
    println!(
        "{:<18} {:>9} {:>9} {:>9} {:>9}   budget        allocations per tick",
        "players", "mean µs", "p50 µs", "p99 µs", "max µs"
    );
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted =
        |case: &&Case| wanted.is_empty() || wanted.iter().any(|words| case.name.contains(words.as_str()));
    if !CASES.iter().any(|case| is_wanted(&case)) {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        println!("no case is named so; there are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let allocations: u64 = CASES.iter().filter(is_wanted).map(measure).sum();
    if wanted.is_empty() {
        costs_beside_the_tick();
    }
    if allocations > 0 {
        println!("FAILED: a tick in the steady state must not allocate");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn crowded(case: &Case) -> World {
    let mut world = World::new(Identity { seed: 1, map_size_px: case.map_size_px, tick_hz: TickHz::Hz30 });
    for id in 1..=case.players {
        let action = Action::Join { player: PlayerId(id), name: format!("p{id}"), skin: 0 };
        world.step(&mut vec![Command { player: PlayerId(0), sequence: u64::from(id), action }]);
    }
    if case.fights {
        set_up_turrets(&mut world, case);
        (1..=case.players).for_each(|id| build_around(&mut world, id));
    }
    world
}

/// Lets the operator set up turrets all over the map, where there is room.
fn set_up_turrets(world: &mut World, case: &Case) {
    let step_px = case.map_size_px / TURRETS_PER_SIDE;
    for number in 0..TURRETS_PER_SIDE * TURRETS_PER_SIDE {
        let px = |part: u32| (part * step_px + step_px / 2) as u16;
        let (x_px, y_px) = (px(number % TURRETS_PER_SIDE), px(number / TURRETS_PER_SIDE));
        let action = Action::Spawn { what: Spawned::Item(17), x_px, y_px };
        let sequence = 10_000 + u64::from(number);
        world.step(&mut vec![Command { player: PlayerId(0), sequence, action }]);
    }
}

/// Lets a player build what it can around itself: walls, spikes, windmills.
fn build_around(world: &mut World, id: u16) {
    let player = PlayerId(id);
    for resource in Resource::ALL {
        let sequence = 1_000_000 + u64::from(id) * 4 + resource as u64;
        let action = Action::Grant { player, resource, amount: 1_000 };
        world.step(&mut vec![Command { player: PlayerId(0), sequence, action }]);
    }
    for step in 0..16 {
        let sequence = 1 + step * 3;
        let item = [3, 6, 10][step as usize % 3];
        let actions = [
            Action::Select { what: Selection::Item(item) },
            Action::Aim { heading: Angle((step * 4_096) as u16) },
            Action::Attack { on: true },
        ];
        let commands = actions.into_iter().zip(sequence..);
        let mut commands = commands.map(|(action, sequence)| Command { player, sequence, action }).collect();
        world.step(&mut commands);
    }
    let action = Action::Select { what: Selection::Weapon(0) };
    world.step(&mut vec![Command { player, sequence: 100, action }]);
}

/// The commands of a tick: every player turns once in `turns_every` ticks, each in its own. Who fights looks where it goes
/// and holds the button.
fn commands(case: &Case, world: &World, rng: &mut Rng, out: &mut Vec<Command>) {
    let tick = world.tick();
    for view in world.players() {
        let mut sequence = view.sequence;
        let mut push = |action| {
            sequence += 1;
            out.push(Command { player: view.id, sequence, action });
        };
        if !view.alive {
            if !(tick + u32::from(view.id.0)).is_multiple_of(RESPAWN_EVERY) {
                continue;
            }
            push(Action::Respawn { name: view.name.to_string(), skin: 0 });
        }
        if case.turns_every > 0 && (tick + u32::from(view.id.0)).is_multiple_of(case.turns_every) {
            let angle = Angle(rng.next_u64() as u16);
            push(Action::Move { direction: Some(angle) });
            if case.fights {
                push(Action::Aim { heading: angle });
            }
        }
        if case.fights && !view.attacking {
            push(Action::Attack { on: true });
        }
    }
}

/// What happened, to see that the case is what it says.
#[derive(Default)]
struct Happened {
    strokes: u64,
    hits: u64,
    deaths: u64,
    shots: u64,
}

impl Happened {
    fn count(&mut self, events: &[WorldEvent]) {
        for event in events {
            match event {
                WorldEvent::Swung { hit, .. } => {
                    self.strokes += 1;
                    self.hits += u64::from(*hit);
                }
                WorldEvent::Died { .. } => self.deaths += 1,
                WorldEvent::Shot { .. } => self.shots += 1,
                _ => {}
            }
        }
    }
}

/// Prints one case's row and returns how often it allocated.
fn measure(case: &Case) -> u64 {
    let mut world = crowded(case);
    let mut rng = Rng::new(2, 2);
    let mut list = Vec::with_capacity(4 * usize::from(case.players));
    let mut happened = Happened::default();
    let mut times = Vec::with_capacity(TICKS as usize);
    let mut allocations = 0;
    for tick in 0..WARM_UP_TICKS + TICKS {
        commands(case, &world, &mut rng, &mut list);
        let before = counting::allocations();
        let start = Instant::now();
        black_box(world.step(&mut list));
        let time = start.elapsed();
        if tick >= WARM_UP_TICKS {
            times.push(time);
            allocations += counting::allocations() - before;
            happened.count(&world.outcome().events);
        }
    }
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>() / TICKS;
    let at = |percent: usize| micros(times[(times.len() - 1) * percent / 100]);
    let verdict = match case.budget {
        None => "-".to_string(),
        Some(Budget::Mean(max)) => format!("mean {:.0} {}", micros(max), judged(mean <= max)),
        Some(Budget::P99(max)) => format!("p99 {:.0} {}", micros(max), judged(at(99) <= micros(max))),
    };
    println!(
        "{:<18} {:>9.2} {:>9.2} {:>9.2} {:>9.2}   {verdict:<13} {:<6} {:.2} strokes, {:.2} hits, {:.2} shots, {:.3} deaths a tick; {} structures left",
        case.name,
        micros(mean),
        at(50),
        at(99),
        at(100),
        per_tick(allocations),
        per_tick(happened.strokes),
        per_tick(happened.hits),
        per_tick(happened.shots),
        per_tick(happened.deaths),
        world.structures().count(),
    );
    allocations
}

/// What is done now and then, not in each tick.
fn costs_beside_the_tick() {
    let world = crowded(&CASES[0]);
    let snapshot = world.snapshot();
    let times = |mut work: Box<dyn FnMut() + '_>| {
        let start = Instant::now();
        (0..100).for_each(|_| work());
        micros(start.elapsed() / 100)
    };
    let checksum = times(Box::new(|| {
        black_box(world.checksum());
    }));
    let taken = times(Box::new(|| drop(black_box(world.snapshot()))));
    let restored = times(Box::new(|| drop(black_box(World::restore(&snapshot)))));
    let made = times(Box::new(|| drop(black_box(World::new(*world.identity())))));
    println!(
        "with 50 players: checksum {checksum:.0} µs, snapshot {taken:.0} µs ({} bytes), restore {restored:.0} µs, new {made:.0} µs",
        snapshot.len()
    );
}

fn judged(is_kept: bool) -> &'static str {
    if is_kept { "ok" } else { "OVER" }
}

fn per_tick(count: u64) -> f64 {
    count as f64 / f64::from(TICKS)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
