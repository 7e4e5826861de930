//! Worlds of the simple layer on every machine: `tests/fixtures/games.txt` has a script of commands for each game and
//! the checksums to which it leads. Here the native build is held against it; `tests/wasm/check.mjs` does the same with
//! tanks in `tickwire.wasm`, and `tests/browser/tab-game.mjs` with pong in a module of its own.
//!
//! ```text
//! game NAME SEED         a world, which the following lines step
//! frame HEX              the command frame of its next tick
//! checksum CHECKSUM      its state after that tick
//! ```
//!
//! After an intended change of a game's rules: `TICKWIRE_BLESS=1 cargo test --test server checksums`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use tickwire::game::ActionOf;
use tickwire::game::simple::{Simple, SimpleAction};
use tickwire::game::{Game, JoinRequest};
use tickwire::internal::games::tanks::{Control, ShellKind, Tanks};
use tickwire::sim::{Command, EncodedAction, PlayerId, Rng, Sim, StepResult, WorldParams, command_frame};

use crate::program_of_pong::{Action, Pong};

const SEED: u32 = 7;
const TICKS: u32 = 480;
const CHECKSUM_EVERY: u32 = 40;
const PLAYERS: u16 = 5;
/// Ticks in which a player leaves and comes again.
const LEAVES: [u32; 2] = [200, 260];
/// Of a hundred ticks of a player, so many with a command.
const ACTS_PERCENT: u32 = 8;

/// A script for a game, and where it leads.
fn written<G: Game>(mut act: impl FnMut(&mut Rng) -> ActionOf<G>) -> String {
    let mut text = format!("game {} {SEED}\n", G::NAME);
    let mut world = G::Sim::new(&WorldParams::default_for::<G::Sim>(SEED));
    let (mut random, mut stepped, mut sequence) = (Rng::new(SEED, 9), StepResult::default(), 0);
    for tick in 0..TICKS {
        let mut commands = Vec::new();
        let mut add = |player, action| {
            sequence += 1;
            commands.push(Command { player, sequence, action });
        };
        for number in 1..=PLAYERS {
            let player = PlayerId(number);
            let profile = JoinRequest::new(format!("p{number}"), EncodedAction::new(&[]));
            if tick == 0 || tick == LEAVES[1] && number == 2 {
                G::join(player, &profile).into_iter().for_each(|join| add(PlayerId::OPERATOR, join));
            } else if tick == LEAVES[0] && number == 2 {
                add(PlayerId::OPERATOR, G::leave(player));
            } else if random.below(100) < ACTS_PERCENT {
                add(player, act(&mut random));
            }
        }
        let mut bytes = Vec::new();
        command_frame::encode(tick, &commands, &mut bytes).expect("few commands");
        world.step(&mut commands, &mut stepped);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "frame {hex}");
        if (tick + 1) % CHECKSUM_EVERY == 0 {
            let _ = writeln!(text, "checksum {:016x}", world.checksum());
        }
    }
    text
}

fn control(random: &mut Rng) -> ActionOf<Simple<Tanks>> {
    let mut way = || random.between(-1, 1) as i8;
    let (drive, turn) = (way(), way());
    let (aim, fires) = (random.next_u64() as u16, random.below(3) > 0);
    let kind = if random.below(4) == 0 { ShellKind::Piercing } else { ShellKind::Regular };
    let seen = (random.below(4) > 0).then(|| random.below(TICKS));
    SimpleAction::Act(Control { drive, turn, aim, fires, kind, seen })
}

fn paddle(random: &mut Rng) -> ActionOf<Simple<Pong>> {
    SimpleAction::Act(Action::Paddle { direction: random.between(-1, 1) as i8 })
}

#[test]
fn the_same_commands_lead_to_the_committed_checksums() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/games.txt");
    let now = written::<Simple<Tanks>>(control) + &written::<Simple<Pong>>(paddle);
    if std::env::var_os("TICKWIRE_BLESS").is_some() {
        fs::write(&path, &now).expect("the fixture can be written");
    }
    let before = fs::read_to_string(&path).expect("the fixture");
    let differs = before.lines().zip(now.lines()).position(|(before, now)| before != now);
    assert!(
        differs.is_none() && before.len() == now.len(),
        "tests/fixtures/games.txt: line {differs:?} differs: TICKWIRE_BLESS=1 cargo test --test server checksums"
    );
}
