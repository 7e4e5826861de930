//! What plays a game from outside: an agent, without I/O and without a clock.
//!
//! ```text
//!   packets of the server ─► Agent::hear ─► faults, by rule
//!                  time   ─► Agent::act  ─► packets to send
//! ```
//!
//! An agent receives packets, checks them, and decides which packets to send. [`client::bots`](crate::client::bots)
//! connects it to a server; `tickwire bots`, `tickwire simulate` and the server in a browser run several. A
//! game provides [`Bots`].

pub(crate) mod ack_checker;
pub(super) mod rng;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{Encoded, PlayerId};

use self::rng::Dice;
use super::dyn_tick::Tick;
use crate::packet::{Decoded, Dialect};

/// A packet of a client, as a game types it.
pub trait Said {
    /// Encodes the packet in a dialect; empty if the dialect does not have it.
    fn encode(&self, dialect: &Dialect) -> Vec<u8>;
}

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The rule's name.
    pub rule: &'static str,
    /// The packet and what is wrong with it, in a few words.
    pub detail: String,
}

/// What an agent does in one call. The caller empties it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Packets to send, as MessagePack, in order.
    pub packets: Vec<Vec<u8>>,
    /// Broken rules.
    pub faults: Vec<Fault>,
    /// Whether the packet was an update of the state.
    pub is_update: bool,
}

impl Outcome {
    /// Adds a broken rule.
    pub fn fault(&mut self, rule: &'static str, detail: impl Into<String>) {
        self.faults.push(Fault { rule, detail: detail.into() });
    }
}

/// What an agent sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sight {
    /// Other players in view.
    pub others: usize,
    /// Whether it is sent no updates for now, such as a dead player.
    pub waits: bool,
}

/// Why what an agent is told may look wrong although the server is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excuse {
    /// Its address is shared with clients that misbehave.
    SharedAddress,
    /// Its connection had faults: packets may arrive late.
    Network,
    /// The operator gave its player something.
    Gift,
    /// Its client has come back: its player may have things from the beginning.
    Return,
}

/// Counts of what a player did: a name, the words for people, and the count.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Deeds(pub Vec<(&'static str, &'static str, u64)>);

impl Deeds {
    /// Adds other counts.
    pub fn add(&mut self, other: &Deeds) {
        for (name, words, more) in &other.0 {
            match self.0.iter_mut().find(|(own, ..)| own == name) {
                Some((.., count)) => *count += more,
                None => self.0.push((name, words, *more)),
            }
        }
    }

    /// Whether there is nothing to count.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(.., count)| *count == 0)
    }
}

impl fmt::Debug for Deeds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = out.debug_struct("Deeds");
        self.0.iter().for_each(|(name, _, count)| _ = all.field(name, count));
        all.finish()
    }
}

/// See the [module](self).
pub trait Agent: Any + Send {
    /// The name under which it plays.
    fn name(&self) -> &str;

    /// The connection is open.
    fn begin(&mut self, out: &mut Outcome);

    /// A packet has arrived.
    fn hear(&mut self, packet: &Decoded<'_>, now: Duration, out: &mut Outcome);

    /// Time has passed. Called about ten times a second or more often, once it plays.
    fn act(&mut self, now: Duration, out: &mut Outcome);

    /// Whether it has a body, or had one.
    fn is_playing(&self) -> bool;

    /// What it sees.
    fn sight(&self) -> Sight;

    /// From now on, this excuses the server.
    fn excuse(&mut self, excuse: Excuse) {
        let _ = excuse;
    }

    /// What it did since the last call.
    fn take_deeds(&mut self) -> Deeds {
        Deeds::default()
    }

    /// Marks of the reliable packets that it was told, in order: see [`Bots::marks`].
    fn marks(&self) -> &[u32] {
        &[]
    }
}

impl Agent for Box<dyn Agent> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn begin(&mut self, out: &mut Outcome) {
        (**self).begin(out);
    }

    fn hear(&mut self, packet: &Decoded<'_>, now: Duration, out: &mut Outcome) {
        (**self).hear(packet, now, out);
    }

    fn act(&mut self, now: Duration, out: &mut Outcome) {
        (**self).act(now, out);
    }

    fn is_playing(&self) -> bool {
        (**self).is_playing()
    }

    fn sight(&self) -> Sight {
        (**self).sight()
    }

    fn excuse(&mut self, excuse: Excuse) {
        (**self).excuse(excuse);
    }

    fn take_deeds(&mut self) -> Deeds {
        (**self).take_deeds()
    }

    fn marks(&self) -> &[u32] {
        (**self).marks()
    }
}

/// The behaviour of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// It stands still and says nothing.
    Still,
    /// It moves about.
    Walk,
    /// It does all that players do.
    Play,
}

/// The part of an agent in a crowd.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its number in the crowd, from 0.
    pub index: usize,
    /// The size of the crowd.
    pub count: usize,
    /// Its own seed.
    pub seed: u64,
    /// The seed of the crowd.
    pub crowd_seed: u64,
    /// Its behaviour.
    pub manner: Manner,
    /// Whether it leaves players alone that are not of the crowd.
    pub spares_visitors: bool,
    /// Whether it judges what it is told, as far as this build can.
    pub checks: bool,
    /// What it speaks.
    pub dialect: Arc<Dialect>,
}

/// How a bot of a simulation speaks: the dialect, the path, and whether as JSON.
pub type Spoken = (&'static str, &'static str, bool);

/// What a client sends that is a nuisance, or that uses its limits to the full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nuisance {
    /// It comes to play, with the name of another.
    Enter,
    /// It comes to watch.
    Watch,
    /// It acts, harmlessly; the sequence, and random bits.
    Act(u32, u64),
    /// It does what reaches others, for which addresses have a budget; the sequence, and whether it
    /// begins or ends.
    Share(u32, bool),
    /// It watches a player.
    Follow(Option<u16>),
}

/// What the operator of a simulation does.
#[derive(Debug, Clone, PartialEq)]
pub struct Operated {
    /// The name under which it is counted.
    pub name: &'static str,
    /// The command.
    pub action: Encoded,
    /// Whether it gives the player something: [`Excuse::Gift`].
    pub is_gift: bool,
    /// Whether every client is told of the number of the notice: it is one of its marks.
    pub is_notice: bool,
}

/// What the operator of a simulation may do something with: a draw below 400, of which 0 to 6 are
/// taken; a player; the number of the next notice; and the last tick.
pub type Draw<'a> = (u32, Option<PlayerId>, u32, Option<&'a dyn Tick>);

/// Compares what the agent of a player was told with what was published: see [`Bots::agrees`].
pub type Agrees = fn(&dyn Agent, Option<PlayerId>, &dyn Tick) -> Result<bool, String>;

/// Compares what a player has before and after an absence: see [`Bots::keeps`].
pub type Keeps = fn(&dyn Tick, &dyn Tick, PlayerId) -> Result<bool, String>;

/// What bots, crowds and the simulator need of a game.
#[derive(Clone, Copy)]
pub struct Bots {
    /// An agent for a part; `None` if the game has none.
    pub agent: fn(&Part) -> Option<Box<dyn Agent>>,
    /// How the bots of a simulation speak, in turn; empty for the game's first path, as MessagePack
    /// and as JSON.
    pub spoken: &'static [Spoken],
    /// Whether what the agent of this player was told is what was published; `false` if there is
    /// nothing to compare. The error says what differs.
    pub agrees: Agrees,
    /// Whether a player has after an absence what it had before, at these two ticks; `false` if there is
    /// nothing to compare. The error says what differs.
    pub keeps: Keeps,
    /// What the operator does with a draw.
    pub operate: fn(Draw<'_>, &mut Dice) -> Option<Operated>,
    /// The packet of a nuisance; empty if the game has none.
    pub nuisance: fn(&Dialect, Nuisance) -> Vec<u8>,
    /// Marks of the reliable packets by which the client of a player is told of a tick's events.
    pub marks: fn(&dyn Tick, Option<PlayerId>, &Dialect) -> Vec<u32>,
}

impl Bots {
    /// No bots.
    pub const NONE: Bots = Bots {
        agent: |_| None,
        spoken: &[],
        agrees: |_, _, _| Ok(false),
        keeps: |_, _, _| Ok(false),
        operate: |_, _| None,
        nuisance: |_, _| Vec::new(),
        marks: |_, _, _| Vec::new(),
    };
}

impl fmt::Debug for Bots {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Bots")
    }
}
