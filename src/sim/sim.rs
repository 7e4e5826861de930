//! The interface between a world and the room that runs it.

use std::fmt::Debug;
use std::ops::RangeInclusive;

use crate::fields::Sink;
use crate::migrate::NamedState;
use crate::{Action, Checksum, Command, PlayerId, RestoreError};

/// An option of a game: one of the parameters of its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionSpec {
    /// The name, in words joined by `_`, with the unit at the end: `map_size_px`.
    pub name: &'static str,
    /// The name on a command line: `map-size`.
    pub flag: &'static str,
    /// The unit, as it is printed after the value; empty if there is none.
    pub unit: &'static str,
    /// The meaning, in a few words.
    pub meaning: &'static str,
    /// The default value.
    pub default: u32,
    /// The minimum value.
    pub min: u32,
    /// The maximum value.
    pub max: u32,
}

impl OptionSpec {
    /// Creates an option whose name is one word, without a unit.
    pub const fn new(
        name: &'static str,
        meaning: &'static str,
        default: u32,
        range: RangeInclusive<u32>,
    ) -> OptionSpec {
        let (min, max) = (*range.start(), *range.end());
        OptionSpec { name, flag: name, unit: "", meaning, default, min, max }
    }

    /// Sets the name on a command line. Default: the name.
    #[must_use]
    pub const fn with_flag(self, flag: &'static str) -> OptionSpec {
        OptionSpec { flag, ..self }
    }

    /// Sets the unit.
    #[must_use]
    pub const fn with_unit(self, unit: &'static str) -> OptionSpec {
        OptionSpec { unit, ..self }
    }
}

/// The parameters of a world. Equal parameters and equal commands give equal worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldParams {
    /// Seed of all random numbers.
    pub seed: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// The game's options: name and value, in the order in which the game declares them.
    pub options: Vec<(&'static str, u32)>,
}

impl WorldParams {
    /// The default parameters of a game, with this seed.
    pub fn default_for<S: Sim>(seed: u32) -> WorldParams {
        let tick_hz = S::TICK_RATES.first().copied().unwrap_or(30);
        let options = S::OPTIONS.iter().map(|option| (option.name, option.default)).collect();
        WorldParams { seed, tick_hz, options }
    }

    /// Sets an option. A name that the game does not declare has no effect.
    pub fn set(&mut self, name: &str, value: u32) {
        if let Some((_, own)) = self.options.iter_mut().find(|(own, _)| *own == name) {
            *own = value;
        }
    }

    /// The value of an option; `None` if the game does not declare it.
    pub fn option(&self, name: &str) -> Option<u32> {
        self.options.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// The results of a tick that a room needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// Players that left the world.
    pub departed: Vec<PlayerId>,
    /// Commands that were rejected.
    pub rejected: Vec<RejectedCommand>,
}

/// A command that the world rejected. It does not change the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedCommand {
    /// The player that issued the command.
    pub player: PlayerId,
    /// The sequence number of the command.
    pub sequence: u64,
    /// The joining player, if the command is a join.
    pub joining: Option<PlayerId>,
    /// The reason's name in logs, metrics and the `command_rejected` packet.
    pub reason: &'static str,
}

impl StepResult {
    /// Removes all results, but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.departed.clear();
        self.rejected.clear();
    }
}

/// A deterministic world: a function of its parameters and the commands of each tick.
pub trait Sim: Sized + Debug + Send + 'static {
    /// The action of a command.
    type Action: Action;

    /// The options of the game.
    const OPTIONS: &'static [OptionSpec];

    /// The tick rates that the game supports, in Hz. The first is the default.
    const TICK_RATES: &'static [u32];

    /// Creates a new world. Missing options get their default, and values out of bounds are limited
    /// to the bounds. [`Sim::identity`] returns the effective parameters.
    fn new(identity: &WorldParams) -> Self;

    /// The effective parameters of the world.
    fn identity(&self) -> WorldParams;

    /// Number of completed ticks.
    fn tick(&self) -> u32;

    /// The sequence number of the last applied operator command. After a restore, the operator's
    /// commands continue from it.
    fn operator_sequence(&self) -> u64;

    /// The players in the world.
    fn players(&self) -> impl Iterator<Item = PlayerId>;

    /// Executes one tick with these commands, in any order, and clears the list. `out` is cleared
    /// first.
    fn step(&mut self, commands: &mut Vec<Command<Self::Action>>, out: &mut StepResult);

    /// Passes every field of the state to the sink, by name: everything that determines later
    /// ticks, and nothing else. The outermost names are the fields of the state in a
    /// [`state_tree`](crate::state_tree).
    fn write(&self, sink: &mut impl Sink);

    /// Computes a checksum over every field of the state.
    fn checksum(&self) -> u64 {
        let mut checksum = Checksum::new();
        self.write(&mut checksum);
        checksum.get()
    }

    /// Encodes the state: first an identification of the game, its rules and their version, then
    /// the scalars of [`Sim::write`], then the checksum of the scalars, in 8 bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// Whether bytes begin like a snapshot of this world, of any version and with any rules.
    fn is_snapshot(bytes: &[u8]) -> bool;

    /// Restores the world of a snapshot. The restored world continues exactly like the saved one.
    ///
    /// # Errors
    /// The reason why the bytes are not a snapshot of this world with these rules.
    fn restore(bytes: &[u8]) -> Result<Self, RestoreError>;

    /// Encodes the state with the names of its fields
    /// ([`NamedWriter`](crate::migrate::NamedWriter)), for a program with other fields or rules.
    fn save_named(&self) -> Vec<u8>;

    /// Restores a world from a state with names, with these parameters. Fields that still exist
    /// keep their value, and new fields have the value of a new world. The sequence numbers of
    /// players restart, because their connections restart too.
    ///
    /// # Errors
    /// The reason why the rules of this program do not allow such a world.
    fn migrate(identity: &WorldParams, saved: &NamedState) -> Result<Self, RestoreError>;
}
