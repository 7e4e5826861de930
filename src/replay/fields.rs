//! Which entities and fields differ: between a replay and its recording, and between two recordings.

use tickwire_sim::Raw;
use tickwire_sim::state::Difference as Place;

use super::recording::{Recording, Tick};
use crate::game::{About, Replica};

/// Places that are named.
const NAMED: usize = 16;

/// The fields in which the world of the decoded commands differs from that of the recorded command
/// frames, both run by this program from the world at the beginning of the capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// The first tick after which they differ; `None` if they never do.
    pub tick: Option<u32>,
    /// What differs after it: `ours` is recorded, `theirs` replayed.
    pub places: Vec<Place>,
    /// The first tick after which the recorded frames lead to another checksum than the recorded one:
    /// the recording is of another program, and its state after that tick cannot be known.
    pub foreign: Option<u32>,
}

/// Runs the recorded frames beside a replay.
pub(super) struct Beside {
    world: Box<dyn Replica>,
    /// What was found so far.
    pub found: Fields,
}

impl Beside {
    /// Begins with the world of a recording.
    pub fn new(about: &About, world: &dyn Replica) -> Option<Beside> {
        let world = (about.restore)(&world.snapshot()).ok()?;
        Some(Beside { world, found: Fields::default() })
    }

    /// The replay has run this tick, and the next one begins with this recorded checksum.
    pub fn step(&mut self, tick: &Tick, recorded: Option<u64>, replayed: &dyn Replica) {
        self.world.step(&tick.frame.commands);
        let (checksum, at) = (self.world.checksum(), tick.frame.tick);
        if self.found.tick.is_none() && checksum != replayed.checksum() {
            self.found.tick = Some(at);
            self.found.places = self.world.state().differences(&replayed.state(), NAMED);
        }
        if recorded.is_some_and(|recorded| recorded != checksum) {
            self.found.foreign.get_or_insert(at);
        }
    }
}

/// Where two recordings of what should be the same world part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parting {
    /// The first tick that both have.
    pub first_tick: u32,
    /// Ticks that were compared.
    pub ticks: u32,
    /// The first tick whose commands differ, and those that only one of them has, in words: of the
    /// first, and of the second.
    pub commands: Option<(u32, [Vec<String>; 2])>,
    /// The first tick after which the worlds differ, their checksums, and the places: `ours` is the first
    /// recording. The tick before the first one if they differ from the beginning.
    pub worlds: Option<(u32, [u64; 2], Vec<Place>)>,
}

impl Parting {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.commands.is_none() && self.worlds.is_none()
    }
}

/// Compares two recordings, up to the first tick after which the worlds differ.
///
/// # Errors
/// They are of different games, or have no tick in common, in words.
pub(super) fn part(ours: Recording<'_>, theirs: Recording<'_>) -> Result<Parting, String> {
    if ours.about != theirs.about {
        return Err(format!("one is of {}, the other of {}", ours.about.name, theirs.about.name));
    }
    let about = ours.about;
    let (mut one, mut two) = (Side::new(ours), Side::new(theirs));
    let first_tick = one.world.tick().max(two.world.tick());
    if !one.run_to(first_tick) || !two.run_to(first_tick) {
        return Err("they have no tick in common".to_owned());
    }
    let mut parting = Parting { first_tick, ticks: 0, commands: None, worlds: None };
    loop {
        let checksums = [one.world.checksum(), two.world.checksum()];
        if checksums[0] != checksums[1] {
            let places = one.world.state().differences(&two.world.state(), NAMED);
            parting.worlds = Some((one.world.tick().saturating_sub(1), checksums, places));
            return Ok(parting);
        }
        let (Some(first), Some(second)) = (one.next(), two.next()) else { return Ok(parting) };
        if parting.commands.is_none() {
            let only = [alone(about, first, second), alone(about, second, first)];
            if only.iter().any(|only| !only.is_empty()) {
                parting.commands = Some((first.frame.tick, only));
            }
        }
        one.step();
        two.step();
        parting.ticks += 1;
    }
}

/// The commands of a tick that another lacks, in words.
fn alone(about: &About, tick: &Tick, other: &Tick) -> Vec<String> {
    let mut left: Vec<&Raw> = other.frame.commands.iter().collect();
    let mut only = Vec::new();
    for command in &tick.frame.commands {
        match left.iter().position(|other| *other == command) {
            Some(at) => _ = left.swap_remove(at),
            None => {
                let (player, sequence) = (command.player.0, command.sequence);
                let words = (about.words)(&command.action);
                only.push(format!("player {player}, sequence {sequence}: {words}"));
            }
        }
    }
    only
}

/// One of two recordings, run by its frames.
struct Side {
    world: Box<dyn Replica>,
    ticks: Vec<Tick>,
    at: usize,
}

impl Side {
    fn new(recording: Recording<'_>) -> Side {
        Side { world: recording.world, ticks: recording.ticks, at: 0 }
    }

    fn next(&self) -> Option<&Tick> {
        self.ticks.get(self.at)
    }

    fn step(&mut self) {
        if let Some(tick) = self.ticks.get(self.at) {
            self.world.step(&tick.frame.commands);
            self.at += 1;
        }
    }

    /// Runs to a tick. Returns whether it came so far.
    fn run_to(&mut self, tick: u32) -> bool {
        while self.world.tick() < tick && self.at < self.ticks.len() {
            self.step();
        }
        self.world.tick() == tick
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tickwire_sim::{Command, PlayerId};

    use super::*;
    use crate::game::Game as _;
    use crate::games::moo::Moo;
    use crate::games::moo::world::{Action, Angle, Identity, TickHz, World};
    use tickwire_sim::frame::Frame;

    /// Ticks of a world in which a player walks, from one tick on another way.
    fn recording(first: usize, turns: Option<(u32, u16)>) -> Recording<'static> {
        let about = Moo::ABOUT;
        let world = World::new(Identity { seed: 1, map_size_px: 2_000, tick_hz: TickHz::Hz30 });
        let mut world = (about.restore)(&world.snapshot()).expect("a snapshot");
        let mut ticks = Vec::new();
        let mut begin = Vec::new();
        for tick in 0..40 {
            let ann = PlayerId(1);
            let walk = |direction| Action::Move { direction: Some(Angle(direction)) };
            let direction = turns.filter(|(from, _)| *from == tick).map_or(0, |(_, direction)| direction);
            let command = match tick {
                0 => {
                    let action = Action::Join { player: ann, name: "Ann".to_owned(), skin: 0 };
                    Command { player: PlayerId::OPERATOR, sequence: 1, action }
                }
                tick => Command { player: ann, sequence: tick.into(), action: walk(direction) },
            };
            if tick as usize == first {
                begin = world.snapshot();
            }
            let frame = Frame { tick, commands: vec![command.encoded()] };
            let checksum = world.checksum();
            world.step(&frame.commands);
            ticks.push(Tick { packet: tick as usize, checksum, frame });
        }
        let world = (about.restore)(&begin).expect("a snapshot");
        Recording { about, world, ticks: ticks.split_off(first), clients: HashMap::new() }
    }

    #[test]
    fn two_recordings_part_at_a_command_and_then_in_a_field() {
        let same = part(recording(0, None), recording(5, None)).expect("of one game");
        assert!(same.is_same());
        assert_eq!((same.first_tick, same.ticks), (5, 35));

        let parting = part(recording(3, None), recording(0, Some((20, 500)))).expect("of one game");
        let (tick, [ours, theirs]) = parting.commands.as_ref().expect("another command");
        assert_eq!(*tick, 20);
        assert_eq!(ours.len() + theirs.len(), 2);
        assert!(theirs[0].starts_with("player 1, sequence 20: move direction=500 ("), "{theirs:?}");
        let (tick, [ours, theirs], places) = parting.worlds.as_ref().expect("another world");
        assert_eq!(*tick, 20);
        assert_ne!(ours, theirs);
        let words: Vec<String> = places.iter().map(ToString::to_string).collect();
        assert!(words.contains(&"players[1] controller.direction: 0, not 500".to_owned()), "{words:?}");
        assert_eq!(parting.ticks, 18);

        let none = part(recording(0, None), Recording { ticks: Vec::new(), ..recording(5, None) });
        assert_eq!(none.map(|parting| parting.ticks), Ok(0));
        let early = Recording { ticks: Vec::new(), ..recording(0, None) };
        assert!(part(early, recording(5, None)).is_err(), "no tick in common");
    }
}
