//! What plays a game from outside: an agent, without I/O and without a clock.
//!
//! ```text
//!   packets of the server ─► Agent::on_packet ─► faults, by rule
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

use tickwire_sim::{EncodedAction, PlayerId};

use self::rng::BotRng;
use super::dyn_tick::DynTick;
use crate::packet::{DecodedPacket, Dialect};

/// A packet of a client, as a game types it.
pub trait EncodePacket {
    /// Encodes the packet in a dialect; empty if the dialect does not have it.
    fn encode(&self, dialect: &Dialect) -> Vec<u8>;
}

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFault {
    /// The rule's name.
    pub rule: &'static str,
    /// The packet and what is wrong with it, in a few words.
    pub detail: String,
}

/// What an agent does in one call. The caller empties it.
#[derive(Debug, Default)]
pub struct AgentOutput {
    /// Packets to send, as MessagePack, in order.
    pub packets: Vec<Vec<u8>>,
    /// Broken rules.
    pub faults: Vec<ServerFault>,
    /// Whether the packet was an update of the state.
    pub saw_update: bool,
}

impl AgentOutput {
    /// Adds a broken rule.
    pub fn add_fault(&mut self, rule: &'static str, detail: impl Into<String>) {
        self.faults.push(ServerFault { rule, detail: detail.into() });
    }
}

/// What an agent sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewStats {
    /// Other players in view.
    pub visible_players: usize,
    /// Whether it is sent no updates for now, such as a dead player.
    pub is_waiting: bool,
}

/// Why what an agent is told may look wrong although the server is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// Its address is shared with clients that misbehave.
    SharedAddress,
    /// Its connection had faults: packets may arrive late.
    Network,
    /// The operator gave its player something.
    OperatorGift,
    /// Its client has come back: its player may have things from the beginning.
    Resumed,
}

/// Counts of what a player did: a name, the words for people, and the count.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BotStats(pub Vec<(&'static str, &'static str, u64)>);

impl BotStats {
    /// Adds other counts.
    pub fn add(&mut self, other: &BotStats) {
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

impl fmt::Debug for BotStats {
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
    fn on_open(&mut self, out: &mut AgentOutput);

    /// A packet has arrived.
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput);

    /// Time has passed. Called about ten times a second or more often, once it plays.
    fn act(&mut self, now: Duration, out: &mut AgentOutput);

    /// Whether it has a body, or had one.
    fn is_playing(&self) -> bool;

    /// What it sees.
    fn view_stats(&self) -> ViewStats;

    /// From now on, this excuses the server.
    fn tolerate(&mut self, excuse: Tolerance) {
        let _ = excuse;
    }

    /// What it did since the last call.
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }

    /// Marks of the reliable packets that it was told, in order: see [`BotHooks::marks`].
    fn reliable_hashes(&self) -> &[u32] {
        &[]
    }
}

impl Agent for Box<dyn Agent> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn on_open(&mut self, out: &mut AgentOutput) {
        (**self).on_open(out);
    }

    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        (**self).on_packet(packet, now, out);
    }

    fn act(&mut self, now: Duration, out: &mut AgentOutput) {
        (**self).act(now, out);
    }

    fn is_playing(&self) -> bool {
        (**self).is_playing()
    }

    fn view_stats(&self) -> ViewStats {
        (**self).view_stats()
    }

    fn tolerate(&mut self, excuse: Tolerance) {
        (**self).tolerate(excuse);
    }

    fn take_stats(&mut self) -> BotStats {
        (**self).take_stats()
    }

    fn reliable_hashes(&self) -> &[u32] {
        (**self).reliable_hashes()
    }
}

/// The behaviour of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotBehavior {
    /// It stands still and says nothing.
    Still,
    /// It moves about.
    Walk,
    /// It does all that players do.
    Play,
}

/// The part of an agent in a crowd.
#[derive(Debug, Clone)]
pub struct BotSpec {
    /// Its number in the crowd, from 0.
    pub index: usize,
    /// The size of the crowd.
    pub count: usize,
    /// Its own seed.
    pub seed: u64,
    /// The seed of the crowd.
    pub crowd_seed: u64,
    /// Its behaviour.
    pub behavior: BotBehavior,
    /// Whether it leaves players alone that are not of the crowd.
    pub spares_visitors: bool,
    /// Whether it judges what it is told, as far as this build can.
    pub is_checking: bool,
    /// What it speaks.
    pub dialect: Arc<Dialect>,
}

/// How a bot of a simulation speaks: the dialect, the path, and whether as JSON.
pub type ClientVariant = (&'static str, &'static str, bool);

/// What a client sends that is a nuisance, or that uses its limits to the full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StressPacket {
    /// It comes to play, with the name of another.
    Enter,
    /// It comes to watch.
    Spectate,
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
pub struct OperatorEvent {
    /// The name under which it is counted.
    pub name: &'static str,
    /// The command.
    pub action: EncodedAction,
    /// Whether it gives the player something: [`Tolerance::Gift`].
    pub is_gift: bool,
    /// Whether every client is told of the number of the notice: it is one of its marks.
    pub is_notice: bool,
}

/// What the operator of a simulation may do something with: a draw below 400, of which 0 to 6 are
/// taken; a player; the number of the next notice; and the last tick.
pub type OperatorInput<'a> = (u32, Option<PlayerId>, u32, Option<&'a dyn DynTick>);

/// Compares what the agent of a player was told with what was published: see [`BotHooks::agrees`].
pub type CompareView = fn(&dyn Agent, Option<PlayerId>, &dyn DynTick) -> Result<bool, String>;

/// Compares what a player has before and after an absence: see [`BotHooks::keeps`].
pub type CompareAbsence = fn(&dyn DynTick, &dyn DynTick, PlayerId) -> Result<bool, String>;

/// What bots, crowds and the simulator need of a game.
#[derive(Clone, Copy)]
pub struct BotHooks {
    /// An agent for a part; `None` if the game has none.
    pub agent: fn(&BotSpec) -> Option<Box<dyn Agent>>,
    /// How the bots of a simulation speak, in turn; empty for the game's first path, as MessagePack
    /// and as JSON.
    pub variants: &'static [ClientVariant],
    /// Whether what the agent of this player was told is what was published; `false` if there is
    /// nothing to compare. The error says what differs.
    pub compare_view: CompareView,
    /// Whether a player has after an absence what it had before, at these two ticks; `false` if there is
    /// nothing to compare. The error says what differs.
    pub compare_absence: CompareAbsence,
    /// What the operator does with a draw.
    pub operator_event: fn(OperatorInput<'_>, &mut BotRng) -> Option<OperatorEvent>,
    /// The packet of a nuisance; empty if the game has none.
    pub stress_packet: fn(&Dialect, StressPacket) -> Vec<u8>,
    /// Marks of the reliable packets by which the client of a player is told of a tick's events.
    pub event_hashes: fn(&dyn DynTick, Option<PlayerId>, &Dialect) -> Vec<u32>,
}

impl BotHooks {
    /// No bots.
    pub const NONE: BotHooks = BotHooks {
        agent: |_| None,
        variants: &[],
        compare_view: |_, _, _| Ok(false),
        compare_absence: |_, _, _| Ok(false),
        operator_event: |_, _| None,
        stress_packet: |_, _| Vec::new(),
        event_hashes: |_, _, _| Vec::new(),
    };
}

impl fmt::Debug for BotHooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Bots")
    }
}
