//! What plays a game from outside: an agent, without I/O and without a clock.
//!
//! ```text
//!   packets of the server ─► Agent::on_packet ─► faults, by rule
//!                  time   ─► Agent::act  ─► packets to send
//! ```
//!
//! An agent receives packets, checks them, and decides which packets to send. [`client::bots`](crate::client::bots)
//! connects it to a server; `tickwire bots`, `tickwire simulate` and the server in a browser run several. A
//! game provides [`GameBots`], and for the simulator [`GameChecks`].

pub(crate) mod ack_checker;
#[cfg(not(target_family = "wasm"))]
mod game_checks;
pub(super) mod rng;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::PlayerId;

use super::dyn_tick::DynTick;
use super::game::Game;
use super::info::GameInfo;
use crate::packet::{DecodedPacket, Dialect};

#[cfg(not(target_family = "wasm"))]
pub use game_checks::{
    CheckHooks, ClientVariant, CompareAbsence, GameChecks, OperatorEvent, OperatorInput, StressPacket,
};

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
    fn excuse(&mut self, excuse: Tolerance) {
        let _ = excuse;
    }

    /// What it did since the last call.
    fn take_deeds(&mut self) -> BotStats {
        BotStats::default()
    }

    /// Marks of the reliable packets that it was told, in order: see `GameChecks::event_hashes`.
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

    fn excuse(&mut self, excuse: Tolerance) {
        (**self).excuse(excuse);
    }

    fn take_deeds(&mut self) -> BotStats {
        (**self).take_deeds()
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

/// Bots of a game. A game may leave this out: then `tickwire bots`, the bots of the browser edition and the
/// self-check are not available for it. [`GameInfo::with_bots`] adds it to the game's [`Game::INFO`].
pub trait GameBots: Game {
    /// Creates an agent.
    fn agent(spec: &BotSpec) -> Box<dyn Agent>;

    /// Compares the agent's view of the world with the published state. Returns whether anything was compared.
    ///
    /// # Errors
    /// A description of the first difference.
    fn compare_view(
        agent: &dyn Agent,
        player: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, String> {
        let _ = (agent, player, published);
        Ok(false)
    }
}

/// The functions of [`GameBots`], without the game's type.
#[derive(Debug, Clone, Copy)]
pub struct BotHooks {
    /// See [`GameBots::agent`].
    pub agent: fn(&BotSpec) -> Box<dyn Agent>,
    /// See [`GameBots::compare_view`].
    pub compare_view: CompareView,
}

/// The type of [`GameBots::compare_view`].
pub type CompareView = fn(&dyn Agent, Option<PlayerId>, &dyn DynTick) -> Result<bool, String>;

impl GameInfo {
    /// Adds the bots of a game.
    #[must_use]
    pub const fn with_bots<G: GameBots>(mut self) -> GameInfo {
        self.bots = Some(BotHooks { agent: G::agent, compare_view: G::compare_view });
        self
    }

    /// Creates an agent; `None` if the game has no bots.
    pub fn agent(&self, spec: &BotSpec) -> Option<Box<dyn Agent>> {
        self.bots.map(|bots| (bots.agent)(spec))
    }

    /// Compares an agent's view of the world with the published state. Returns whether anything was compared.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn compare_view(
        &self,
        agent: &dyn Agent,
        player: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, String> {
        self.bots.map_or(Ok(false), |bots| (bots.compare_view)(agent, player, published))
    }
}
