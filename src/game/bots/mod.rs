//! Interfaces for bots that play a game as clients, without I/O and without a clock.
//!
//! ```text
//!   packets of the server ─► Agent::on_packet ─► faults, by rule
//!                  time   ─► Agent::act  ─► packets to send
//! ```
//!
//! An agent receives packets, checks them, and decides which packets to send.
//! [`client::bots`](crate::client::bots) connects it to a server. `tickwire bots`, `tickwire
//! simulate` and the server in a browser run several agents. A game provides [`BotHooks`].

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

/// A typed client packet of a game.
pub trait EncodePacket {
    /// Encodes the packet in a dialect. Empty if the dialect lacks the packet.
    fn encode(&self, dialect: &Dialect) -> Vec<u8>;
}

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFault {
    /// Name of the rule.
    pub rule: &'static str,
    /// The packet and the fault, in one line.
    pub detail: String,
}

/// The results of one call of an agent. The caller empties it.
#[derive(Debug, Default)]
pub struct AgentOutput {
    /// Packets to send, in order, as MessagePack.
    pub packets: Vec<Vec<u8>>,
    /// Rules that the server broke.
    pub faults: Vec<ServerFault>,
    /// Whether the received packet was an update of the state.
    pub saw_update: bool,
}

impl AgentOutput {
    /// Appends a broken rule.
    pub fn add_fault(&mut self, rule: &'static str, detail: impl Into<String>) {
        self.faults.push(ServerFault { rule, detail: detail.into() });
    }
}

/// Statistics of an agent's view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewStats {
    /// Number of other players in view.
    pub visible_players: usize,
    /// Whether it receives no updates at the moment, for example because its player is dead.
    pub is_waiting: bool,
}

/// A reason for a checking bot to tolerate an apparent fault of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerance {
    /// The address is shared with misbehaving clients.
    SharedAddress,
    /// The connection had faults, so packets may arrive late.
    Network,
    /// The operator granted resources to the player.
    OperatorGift,
    /// The client has resumed, so its player may already have possessions.
    Resumed,
}

/// Statistics of a bot: name, description and count of each kind of action.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BotStats(pub Vec<(&'static str, &'static str, u64)>);

impl BotStats {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &BotStats) {
        for (name, words, more) in &other.0 {
            match self.0.iter_mut().find(|(own, ..)| own == name) {
                Some((.., count)) => *count += more,
                None => self.0.push((name, words, *more)),
            }
        }
    }

    /// Whether all counts are 0.
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

/// A bot: receives packets, checks them, and decides which packets to send.
pub trait Agent: Any + Send {
    /// The player's name.
    fn name(&self) -> &str;

    /// Called when the connection is open.
    fn on_open(&mut self, out: &mut AgentOutput);

    /// Called for each received packet.
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput);

    /// Called at least about ten times per second while the agent plays.
    fn act(&mut self, now: Duration, out: &mut AgentOutput);

    /// Whether its player has, or had, a body.
    fn is_playing(&self) -> bool;

    /// Statistics of its view.
    fn view_stats(&self) -> ViewStats;

    /// Tolerates faults with this cause from now on.
    fn tolerate(&mut self, excuse: Tolerance) {
        let _ = excuse;
    }

    /// Returns the statistics since the last call.
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }

    /// Marks of the received reliable packets, in order; see [`BotHooks::marks`].
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

/// The behaviour of a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotBehavior {
    /// Does not move or chat.
    Still,
    /// Moves about.
    Walk,
    /// Performs all actions of a player.
    Play,
}

/// The parameters of one agent in a crowd.
#[derive(Debug, Clone)]
pub struct BotSpec {
    /// Index in the crowd, starting at 0.
    pub index: usize,
    /// Size of the crowd.
    pub count: usize,
    /// Seed of this agent.
    pub seed: u64,
    /// Seed shared by the crowd.
    pub crowd_seed: u64,
    /// Behaviour.
    pub behavior: BotBehavior,
    /// Whether it attacks players outside the crowd only in retaliation.
    pub spares_visitors: bool,
    /// Whether it checks the received packets, if this build can.
    pub is_checking: bool,
    /// Dialect.
    pub dialect: Arc<Dialect>,
}

/// A client variant in a simulation: the dialect, the path, and whether it uses JSON.
pub type ClientVariant = (&'static str, &'static str, bool);

/// A packet of a misbehaving client, or of a client that uses its limits to the full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StressPacket {
    /// Joins as a player, with the name of another player.
    Enter,
    /// Joins as a spectator.
    Spectate,
    /// Sends a harmless command. The values are its sequence number and random bits.
    Act(u32, u64),
    /// Sends a command that is visible to other clients, and therefore limited per address. The
    /// values are its sequence number, and whether it starts or ends something.
    Share(u32, bool),
    /// Spectates a player; `None` for the leader.
    Follow(Option<u16>),
}

/// An action of the operator in a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorEvent {
    /// Name under which it is counted.
    pub name: &'static str,
    /// The command.
    pub action: EncodedAction,
    /// Whether it grants resources to the player; see [`Tolerance::Gift`].
    pub is_gift: bool,
    /// Whether it sends a numbered notice to every client. The number is one of the client's marks.
    pub is_notice: bool,
}

/// Input for an operator action: a random number below 400, excluding the reserved 0 to 6; a
/// player; the number of the next notice; and the last published tick.
pub type OperatorInput<'a> = (u32, Option<PlayerId>, u32, Option<&'a dyn DynTick>);

/// Compares an agent's world model with the published state; see [`BotHooks::agrees`].
pub type CompareView = fn(&dyn Agent, Option<PlayerId>, &dyn DynTick) -> Result<bool, String>;

/// Compares a player's possessions before and after a suspension; see [`BotHooks::keeps`].
pub type CompareAbsence = fn(&dyn DynTick, &dyn DynTick, PlayerId) -> Result<bool, String>;

/// Hooks of a game for bots, load tests and the simulator.
#[derive(Clone, Copy)]
pub struct BotHooks {
    /// Creates an agent; `None` if the game has none.
    pub agent: fn(&BotSpec) -> Option<Box<dyn Agent>>,
    /// Client variants of a simulation, assigned to its bots in turn. Empty for the game's first
    /// path with MessagePack and with JSON.
    pub variants: &'static [ClientVariant],
    /// Compares the world model of a player's agent with the published state. Returns `false` if
    /// there is nothing to compare. The error describes the difference.
    pub compare_view: CompareView,
    /// Compares a player before and after a suspension, at these two ticks. Returns `false` if
    /// there is nothing to compare. The error describes the difference.
    pub compare_absence: CompareAbsence,
    /// Chooses the operator's action for an input.
    pub operator_event: fn(OperatorInput<'_>, &mut BotRng) -> Option<OperatorEvent>,
    /// Encodes a stress packet; empty if the game has none.
    pub stress_packet: fn(&Dialect, StressPacket) -> Vec<u8>,
    /// Marks of the reliable packets with which a player's client receives the events of a tick.
    pub event_hashes: fn(&dyn DynTick, Option<PlayerId>, &Dialect) -> Vec<u32>,
}

impl BotHooks {
    /// The hooks of a game without bots.
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
