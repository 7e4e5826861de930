//! Whether a world of any game is a function of its identity and its commands.

use tickwire::game::ActionOf;
use tickwire::game::{Game, JoinRequest};
use tickwire::sim::{Command, EncodedAction, PlayerId, Rng, Sim, StepResult, WorldParams, command_frame};

/// Players who come and go.
const PLAYERS: u32 = 6;
/// Of the ticks in which something is asked, so many in a hundred begin or end a player's stay.
const MOVES_PERCENT: u32 = 3;

/// Runs a world with random commands in three ways: as they come; in another order, by way of a command
/// frame; and from a snapshot that is taken every thousand ticks. Returns the checksum at the end, which
/// is the same for all. `act` makes an action of a player.
pub fn three_ways<G: Game>(seed: u32, ticks: u32, mut act: impl FnMut(&mut Rng) -> ActionOf<G>) -> u64 {
    let identity = WorldParams::default_for::<G::Sim>(seed);
    let mut worlds: [G::Sim; 3] = [(); 3].map(|()| G::Sim::new(&identity));
    let (mut random, mut stepped) = (Rng::new(seed, 1), StepResult::default());
    let mut sequence = 0;
    for tick in 0..ticks {
        let commands = commands::<G>(&worlds[0], &mut random, &mut sequence, &mut act);
        let mut bytes = Vec::new();
        let reversed: Vec<_> = commands.iter().rev().map(Command::encoded).collect();
        command_frame::encode_raw(tick, &reversed, &mut bytes).expect("few commands");
        let decoded = command_frame::decode(&bytes).expect("our own frame").commands;
        if tick % 1_000 == 999 {
            worlds[2] = G::Sim::restore(&worlds[2].snapshot()).expect("our own snapshot");
        }
        for (world, commands) in worlds.iter_mut().zip([commands.clone(), decoded, commands]) {
            world.step(&mut { commands }, &mut stepped);
        }
        if tick % 100 == 0 {
            let [one, other, restored] = [0, 1, 2].map(|at| worlds[at].checksum());
            assert!(
                one == other && one == restored,
                "tick {tick}: {one:016x}, {other:016x}, {restored:016x}"
            );
        }
    }
    assert_eq!(worlds[0].checksum(), worlds[2].checksum());
    worlds[0].checksum()
}

/// The commands of a tick: of some players, and now and then the operator lets one in or makes one leave.
fn commands<G: Game>(
    world: &G::Sim,
    random: &mut Rng,
    sequence: &mut u64,
    act: &mut impl FnMut(&mut Rng) -> ActionOf<G>,
) -> Vec<Command<ActionOf<G>>> {
    let mut next = || {
        *sequence += 1;
        *sequence
    };
    let mut commands = Vec::new();
    for number in 1..=PLAYERS {
        let player = PlayerId(number as u16);
        let is_there = world.players().any(|own| own == player);
        if random.below(100) < MOVES_PERCENT {
            let actions = if is_there {
                vec![G::leave(player)]
            } else {
                G::join(player, &JoinRequest::new(format!("p{number}"), EncodedAction::new(&[])))
            };
            let command = |action| Command { player: PlayerId::OPERATOR, sequence: next(), action };
            commands.extend(actions.into_iter().map(command));
        } else if is_there && random.below(4) == 0 {
            commands.push(Command { player, sequence: next(), action: act(random) });
        }
    }
    commands
}
