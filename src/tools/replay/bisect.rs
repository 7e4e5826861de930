//! Finds where two recordings of the same world diverge: in the commands, in the worlds that this
//! program computes from them, or in the recorded checksums.

use tickwire_sim::state_tree::FieldDiff;
use tickwire_sim::{RawCommand, WorldParams};

use super::field_diff::MAX_REPORTED_FIELDS;
use super::recording::{RecordedTick, Recording};
use crate::game::{DynWorld, GameInfo};
use crate::tools::capture::Untrusted;

/// The comparison of two captures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BisectReport {
    /// The rooms that both captures have, with their divergences.
    pub rooms: Vec<(Untrusted, Divergence)>,
    /// The rooms that only the first, and only the second capture has.
    pub unmatched_rooms: [Vec<Untrusted>; 2],
    /// For each capture, the offset of an incomplete block at the end of the file, in bytes.
    pub cut_at: [Option<usize>; 2],
    /// For each capture, the first packet truncated by the snapshot length. The packets before it
    /// are compared.
    pub truncated_at: [Option<usize>; 2],
}

impl BisectReport {
    /// Whether both captures have the same rooms, and no room diverges.
    pub fn is_same(&self) -> bool {
        self.unmatched_rooms.iter().all(Vec::is_empty)
            && self.rooms.iter().all(|(_, parting)| parting.is_same())
    }
}

/// A recorded checksum that this program does not compute from the recorded command frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignChecksum {
    /// The first tick after which the checksums differ.
    pub tick: u32,
    /// The recorded checksum.
    pub recorded: u64,
    /// The checksum that this program computes.
    pub computed: u64,
}

/// The divergence of two recordings of one room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The first tick that both recordings have.
    pub first_tick: u32,
    /// The number of compared ticks.
    pub ticks: u32,
    /// The completed ticks at the end of each recording.
    pub ends: [u32; 2],
    /// The differing world parameters, as text: seed, tick rate, options. If there are any, no tick
    /// is compared.
    pub identity: Vec<String>,
    /// For each recording, the first recorded checksum that differs from the computed one, within
    /// the compared ticks.
    pub recorded: [Option<ForeignChecksum>; 2],
    /// The first tick with different commands, and the commands that only the first, and only the
    /// second recording has, as text.
    pub commands: Option<(u32, [Vec<Untrusted>; 2])>,
    /// The first tick after which the worlds differ, their checksums, and the differing fields;
    /// `ours` is the first recording. If the worlds already differ before the first common tick
    /// runs, this is the tick before the first common tick.
    pub worlds: Option<(u32, [u64; 2], Vec<FieldDiff>)>,
}

impl Divergence {
    /// Whether the recordings are the same.
    pub fn is_same(&self) -> bool {
        self.commands.is_none()
            && self.worlds.is_none()
            && self.identity.is_empty()
            && self.recorded.iter().all(Option::is_none)
    }
}

/// Compares two recordings, up to the first tick after which the worlds differ.
///
/// # Errors
/// The recordings are of different games, or have no tick in common.
pub(super) fn bisect_room(ours: Recording<'_>, theirs: Recording<'_>) -> Result<Divergence, String> {
    if ours.info != theirs.info {
        return Err(format!("one is of {}, the other of {}", ours.info.name, theirs.info.name));
    }
    let info = ours.info;
    let identity = param_differences(&ours.world.identity(), &theirs.world.identity());
    let (mut one, mut two) = (RecordingRun::new(ours), RecordingRun::new(theirs));
    let first_tick = one.world.tick().max(two.world.tick());
    let ends = [one.end(), two.end()];
    let mut parting = Divergence {
        first_tick,
        ticks: 0,
        ends,
        identity,
        recorded: [None; 2],
        commands: None,
        worlds: None,
    };
    if !parting.identity.is_empty() {
        return Ok(parting);
    }
    if ends.iter().any(|end| *end <= first_tick) {
        let [ours, theirs] = [&one, &two].map(|side| format!("{} to {}", side.world.tick(), side.end()));
        return Err(format!("they have no tick in common: the first has {ours}, the second {theirs}"));
    }
    one.run_to(first_tick);
    two.run_to(first_tick);
    loop {
        one.check_checksum();
        two.check_checksum();
        parting.recorded = [one.foreign, two.foreign];
        let checksums = [one.world.checksum(), two.world.checksum()];
        if checksums[0] != checksums[1] {
            let places = one.world.state().differences(&two.world.state(), MAX_REPORTED_FIELDS);
            parting.worlds = Some((one.world.tick().saturating_sub(1), checksums, places));
            return Ok(parting);
        }
        let (Some(first), Some(second)) = (one.next(), two.next()) else { return Ok(parting) };
        if parting.commands.is_none() {
            let only = [commands_only_in(info, first, second), commands_only_in(info, second, first)];
            if only.iter().any(|only| !only.is_empty()) {
                parting.commands = Some((first.frame.tick, only));
            }
        }
        one.step();
        two.step();
        parting.ticks += 1;
    }
}

/// The differing parameters of two worlds, as text.
fn param_differences(ours: &WorldParams, theirs: &WorldParams) -> Vec<String> {
    let numbers = |identity: &WorldParams| {
        let own = [("seed", identity.seed), ("tick_hz", identity.tick_hz)];
        own.into_iter().chain(identity.options.iter().copied()).collect::<Vec<_>>()
    };
    let differing = numbers(ours).into_iter().zip(numbers(theirs)).filter(|(ours, theirs)| ours != theirs);
    differing.map(|((name, ours), (_, theirs))| format!("{name} {ours}, the second {theirs}")).collect()
}

/// The commands of `tick` that `other` lacks, as text.
fn commands_only_in(info: &GameInfo, tick: &RecordedTick, other: &RecordedTick) -> Vec<Untrusted> {
    let mut left: Vec<&RawCommand> = other.frame.commands.iter().collect();
    let mut only = Vec::new();
    for command in &tick.frame.commands {
        match left.iter().position(|other| *other == command) {
            Some(at) => _ = left.swap_remove(at),
            None => {
                let (player, sequence) = (command.player.0, command.sequence);
                let words = (info.describe_action)(&command.action);
                only.push(format!("player {player}, sequence {sequence}: {words}").into());
            }
        }
    }
    only
}

/// Runs one recording by its command frames.
struct RecordingRun {
    world: Box<dyn DynWorld>,
    ticks: Vec<RecordedTick>,
    at: usize,
    foreign: Option<ForeignChecksum>,
}

impl RecordingRun {
    fn new(recording: Recording<'_>) -> RecordingRun {
        RecordingRun { world: recording.world, ticks: recording.ticks, at: 0, foreign: None }
    }

    fn next(&self) -> Option<&RecordedTick> {
        self.ticks.get(self.at)
    }

    /// The completed ticks at the end of the recording.
    fn end(&self) -> u32 {
        self.world.tick() + (self.ticks.len() - self.at) as u32
    }

    /// Compares the checksum of the world with the one recorded before its next tick.
    fn check_checksum(&mut self) {
        let (Some(tick), None) = (self.ticks.get(self.at), self.foreign) else { return };
        let (recorded, computed) = (tick.checksum, self.world.checksum());
        if recorded != computed {
            self.foreign =
                Some(ForeignChecksum { tick: tick.frame.tick.saturating_sub(1), recorded, computed });
        }
    }

    fn step(&mut self) {
        if let Some(tick) = self.ticks.get(self.at) {
            self.world.step(&tick.frame.commands);
            self.at += 1;
        }
    }

    fn run_to(&mut self, tick: u32) {
        while self.world.tick() < tick && self.at < self.ticks.len() {
            self.check_checksum();
            self.step();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tickwire_sim::{Command, PlayerId};

    use super::{RecordedTick, Recording, bisect_room};
    use crate::game::Game as _;
    use crate::games::moo::Moo;
    use crate::games::moo::world::{Action, Angle, Identity, TickHz, World};
    use tickwire_sim::command_frame::CommandFrame;

    /// A recording from tick `first` on, in which a player walks, and changes its direction at a
    /// tick if `turns` is set.
    fn recording(first: usize, turns: Option<(u32, u16)>) -> Recording<'static> {
        let info = Moo::INFO;
        let world = World::new(Identity { seed: 1, map_size_px: 2_000, tick_hz: TickHz::Hz30 });
        let mut world = (info.restore)(&world.snapshot()).expect("a snapshot");
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
            let frame = CommandFrame { tick, commands: vec![command.encoded()] };
            let checksum = world.checksum();
            world.step(&frame.commands);
            ticks.push(RecordedTick { packet: tick as usize, checksum, frame });
        }
        let world = (info.restore)(&begin).expect("a snapshot");
        Recording { info, world, ticks: ticks.split_off(first), clients: HashMap::new() }
    }

    #[test]
    fn two_recordings_part_at_a_command_and_then_in_a_field() {
        let same = bisect_room(recording(0, None), recording(5, None)).expect("of one game");
        assert!(same.is_same());
        assert_eq!((same.first_tick, same.ticks), (5, 35));

        let parting = bisect_room(recording(3, None), recording(0, Some((20, 500)))).expect("of one game");
        let (tick, [ours, theirs]) = parting.commands.as_ref().expect("another command");
        assert_eq!(*tick, 20);
        assert_eq!(ours.len() + theirs.len(), 2);
        assert!(theirs[0].raw().starts_with("player 1, sequence 20: move direction=500 ("), "{theirs:?}");
        let (tick, [ours, theirs], places) = parting.worlds.as_ref().expect("another world");
        assert_eq!(*tick, 20);
        assert_ne!(ours, theirs);
        let words: Vec<String> = places.iter().map(ToString::to_string).collect();
        assert!(words.contains(&"players[1] controller.direction: 0, not 500".to_owned()), "{words:?}");
        assert_eq!(parting.ticks, 18);

        let none = Recording { ticks: Vec::new(), ..recording(5, None) };
        let none = bisect_room(recording(0, None), none).expect_err("nothing was compared");
        assert_eq!(none, "they have no tick in common: the first has 0 to 40, the second 5 to 5");
    }

    #[test]
    fn a_recorded_checksum_that_is_not_computed_is_a_difference_of_that_recording() {
        let with = |mut recording: Recording<'static>, at: usize| {
            recording.ticks[at].checksum ^= 1;
            recording
        };
        // The wrong checksum is after or before the first common tick, in the first or second
        // recording.
        for (side, parting, tick) in [
            (0, bisect_room(with(recording(0, None), 17), recording(5, None)), 16),
            (1, bisect_room(recording(0, None), with(recording(5, None), 17)), 21),
            (0, bisect_room(with(recording(0, None), 3), recording(5, None)), 2),
        ] {
            let parting = parting.expect("of one game");
            assert!(!parting.is_same());
            let foreign = parting.recorded[side].expect("another checksum");
            assert_eq!((foreign.tick, foreign.recorded ^ foreign.computed), (tick, 1));
            assert_eq!((parting.recorded[1 - side], parting.worlds, parting.ticks), (None, None, 35));
        }
        // Only the longer recording has a checksum after the last common tick.
        let mut shorter = recording(0, None);
        shorter.ticks.truncate(39);
        let parting = bisect_room(with(recording(0, None), 39), shorter).expect("of one game");
        assert_eq!(parting.recorded[0].map(|foreign| foreign.tick), Some(38));
        assert_eq!((parting.ticks, parting.ends), (39, [40, 39]));
    }

    #[test]
    fn worlds_of_other_seeds_differ_from_the_beginning() {
        let info = Moo::INFO;
        let other = World::new(Identity { seed: 9, map_size_px: 2_500, tick_hz: TickHz::Hz30 });
        let world = (info.restore)(&other.snapshot()).expect("a snapshot");
        let parting =
            bisect_room(recording(0, None), Recording { world, ..recording(0, None) }).expect("of one game");
        assert!(!parting.is_same());
        assert_eq!(parting.identity, ["seed 1, the second 9", "map_size_px 2000, the second 2500"]);
    }
}
