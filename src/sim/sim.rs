//! A world, as a room drives it.

use std::fmt::Debug;

use crate::fields::Sink;
use crate::migrate::NamedState;
use crate::{Action, Checksum, Command, PlayerId};

/// An option of a game: part of a world's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Its name, in words joined by `_`, with its unit at the end: `map_size_px`.
    pub name: &'static str,
    /// Its name on a command line: `map-size`.
    pub flag: &'static str,
    /// Its unit, as it is printed behind the value; empty without one.
    pub unit: &'static str,
    /// What it sets, in a few words.
    pub meaning: &'static str,
    /// Its value if nothing is said.
    pub default: u32,
    /// The least value.
    pub min: u32,
    /// The greatest value.
    pub max: u32,
}

/// The parameters of a world. Equal identities and equal commands give equal worlds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldParams {
    /// Seed of everything random.
    pub seed: u32,
    /// Ticks per second.
    pub tick_hz: u32,
    /// The options of the game, by name, in the order in which the game declares them.
    pub options: Vec<(&'static str, u32)>,
}

impl WorldParams {
    /// The identity with the defaults of a game.
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

    /// An option by its name.
    pub fn option(&self, name: &str) -> Option<u32> {
        self.options.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }
}

/// What became of the commands of a tick, as far as a room must know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepResult {
    /// Players that left the world.
    pub departed: Vec<PlayerId>,
    /// Commands that were rejected.
    pub rejected: Vec<RejectedCommand>,
}

/// A command that the world rejected. It leaves no trace in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedCommand {
    /// Its issuer.
    pub player: PlayerId,
    /// Its sequence.
    pub sequence: u64,
    /// The player that it would have let in, if it is a join.
    pub joining: Option<PlayerId>,
    /// The reason's name in logs, metrics and the `command_rejected` packet.
    pub reason: &'static str,
}

impl StepResult {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.departed.clear();
        self.rejected.clear();
    }
}

/// A deterministic world: a function of its identity and the commands of each tick.
pub trait Sim: Sized + Debug + Send + 'static {
    /// What its commands ask for.
    type Action: Action;

    /// The options of the game.
    const OPTIONS: &'static [OptionSpec];

    /// The tick rates with which the game works, in Hz. The first is the default.
    const TICK_RATES: &'static [u32];

    /// A world that begins. Options that the identity lacks have their default, and no value is out
    /// of its bounds: [`Sim::identity`] says what holds.
    fn new(identity: &WorldParams) -> Self;

    /// The parameters from which it was made.
    fn identity(&self) -> WorldParams;

    /// Number of completed ticks.
    fn tick(&self) -> u32;

    /// The sequence of the last operator command applied; the operator of a restored world goes on
    /// from here.
    fn operator_sequence(&self) -> u64;

    /// The players in the world.
    fn players(&self) -> impl Iterator<Item = PlayerId>;

    /// Runs one tick with these commands, whose order does not matter, and empties the list. `out`
    /// is cleared first.
    fn step(&mut self, commands: &mut Vec<Command<Self::Action>>, out: &mut StepResult);

    /// Passes every field of the state to the sink, by name: all that decides what the world does next, and
    /// nothing else. Fields outside of all others are those of the state.
    fn write(&self, sink: &mut impl Sink);

    /// A checksum over every field of the state.
    fn checksum(&self) -> u64 {
        let mut checksum = Checksum::new();
        self.write(&mut checksum);
        checksum.get()
    }

    /// The state as bytes: what names the game, the rules and their version; then the scalars of
    /// [`Sim::write`]; then their checksum, in 8 bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// Whether bytes begin like a snapshot of this world, of whatever version and rules.
    fn is_snapshot(bytes: &[u8]) -> bool;

    /// The world of a snapshot, which goes on exactly like the one that was saved.
    ///
    /// # Errors
    /// Why the bytes are no snapshot of this world and these rules, in words.
    fn restore(bytes: &[u8]) -> Result<Self, String>;

    /// The state as bytes with the names of its fields ([`carry::Writer`](crate::migrate::NamedWriter)), for a program whose fields and
    /// rules may differ.
    fn save_named(&self) -> Vec<u8>;

    /// The world of such bytes with these parameters: fields that still exist keep their value, new
    /// ones have that of a world that begins. The sequences of players begin again, because so do
    /// their connections.
    ///
    /// # Errors
    /// Why there is no such world with the rules of this program, in words.
    fn migrate(identity: &WorldParams, saved: &NamedState) -> Result<Self, String>;
}
