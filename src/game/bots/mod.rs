//! Agents play a game as clients do. They use no I/O and no clock.
//!
//! ```text
//!   packets of the server ─► Agent::on_packet ─► faults, by rule
//!                  time   ─► Agent::act  ─► packets to send
//! ```
//!
//! An agent receives packets, checks them, and decides which packets to send.
//! [`client::bots`](crate::client::bots) connects it to a server; `tickwire bots`, `tickwire
//! simulate` and the server in a browser run several. A game provides [`GameBots`], and for the
//! simulator [`GameChecks`].

pub(crate) mod ack_checker;
mod game_bots;
pub(super) mod hooks;
pub mod names;
pub(super) mod rng;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::packet::{DecodedPacket, Dialect};

pub use game_bots::{GameBots, GameChecks};
pub use hooks::{
    BotHooks, ClientVariant, CompareAbsence, CompareView, GameCheckHooks, OperatorEvent, OperatorInput,
    StateMismatch, StressPacket,
};

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

/// The results of one call of an agent. The caller clears them.
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
    /// Whether the agent currently receives no updates, for example because its player is dead.
    pub is_waiting: bool,
}

/// A reason for a checking bot to tolerate an apparent fault of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tolerance {
    /// The address is shared with other clients, which may use up its rate limits.
    SharedAddress,
    /// The connection had faults, so packets may arrive late.
    Network,
    /// The operator granted resources to the player.
    OperatorGift,
    /// The client has resumed, so its player may already have possessions.
    Resumed,
    /// The client has a lane for datagrams, which overtake the packets of the stream.
    Lane,
    /// The server has a journal with `--durability tick`: acks come after the update that shows the
    /// effect of their commands.
    LateAcks,
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
        let mut all = out.debug_struct("BotStats");
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

    /// Called for each packet received by datagram. Its state may be older or newer than the state
    /// in the stream. The agent tolerates [`Tolerance::Lane`].
    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        self.on_packet(packet, now, out);
    }

    /// Called at least about ten times per second while the agent plays.
    fn act(&mut self, now: Duration, out: &mut AgentOutput);

    /// Whether the agent's player has, or had, a body.
    fn is_playing(&self) -> bool;

    /// Statistics of the agent's view.
    fn view_stats(&self) -> ViewStats;

    /// Tolerates faults with this cause from now on.
    fn tolerate(&mut self, reason: Tolerance) {
        let _ = reason;
    }

    /// Returns the statistics since the last call.
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }

    /// Hashes of the reliable packets that the agent received, in order; see
    /// `GameChecks::event_hashes`.
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

    fn on_datagram_packet(&mut self, packet: &DecodedPacket<'_>, now: Duration, out: &mut AgentOutput) {
        (**self).on_datagram_packet(packet, now, out);
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

    fn tolerate(&mut self, reason: Tolerance) {
        (**self).tolerate(reason);
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
#[non_exhaustive]
pub struct BotSpec {
    /// Index in the crowd, starting at 0.
    pub index: usize,
    /// Size of the crowd.
    pub count: usize,
    /// Seed of this agent.
    pub seed: u64,
    /// Seed shared by the crowd.
    pub crowd_seed: u64,
    /// The behaviour of the bot.
    pub behavior: BotBehavior,
    /// The name of the agent's player. `None`: see [`BotSpec::player_name`].
    pub name: Option<String>,
    /// Whether the agent plays with people: it attacks players outside the crowd only in
    /// retaliation, and sends only packets that a person would send.
    pub spares_visitors: bool,
    /// Whether the agent checks the received packets, if this build can.
    pub is_checking: bool,
    /// The dialect of the client.
    pub dialect: Arc<Dialect>,
}

impl BotSpec {
    /// Creates the parameters of a single agent that plays and checks nothing.
    pub fn new(dialect: Arc<Dialect>, seed: u64) -> BotSpec {
        BotSpec {
            index: 0,
            count: 1,
            seed,
            crowd_seed: seed,
            behavior: BotBehavior::Play,
            name: None,
            spares_visitors: true,
            is_checking: false,
            dialect,
        }
    }

    /// Returns the name of the agent's player: by default `bot` and the index.
    pub fn player_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("bot {}", self.index))
    }
}
