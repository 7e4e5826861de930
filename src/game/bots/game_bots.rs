//! The traits by which a game supports bots and the simulator. Both traits are optional.

use tickwire_sim::PlayerId;

use super::hooks::{
    BotHooks, ClientVariant, CompareView, GameCheckHooks, OperatorEvent, OperatorInput, StateMismatch,
    StressPacket,
};
use super::rng::BotRng;
use super::{Agent, BotSpec};
use crate::game::dyn_tick::DynTick;
use crate::game::game::Game;
use crate::game::info::GameInfo;
use crate::packet::Dialect;

/// Bots of a game. This trait is optional. Without it, `tickwire bots`, the bots of a server and of
/// the browser edition, and the self-check are not available for the game.
/// [`GameInfo::with_bots`] adds it to the game's [`Game::INFO`].
pub trait GameBots: Game {
    /// Creates an agent.
    fn agent(spec: &BotSpec) -> Box<dyn Agent>;

    /// Returns whether the agents play the game, as people do. A server adds only such bots to its
    /// rooms. Agents without a policy send random packets.
    fn has_policy() -> bool {
        true
    }

    /// Compares the agent's view of the world with the published state. Returns whether anything
    /// was compared.
    ///
    /// # Errors
    /// A description of the first difference.
    fn compare_view(
        agent: &dyn Agent,
        player: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, StateMismatch> {
        let _ = (agent, player, published);
        Ok(false)
    }
}

/// Checks of a game in a simulation. Every item has a default, with which nothing is checked.
/// [`GameInfo::with_checks`] adds them to the game's [`Game::INFO`](crate::game::Game::INFO).
pub trait GameChecks: GameBots {
    /// The client variants that the simulator assigns to its bots in turn. An empty list stands for
    /// the game's first path, with MessagePack and with JSON.
    const CLIENT_VARIANTS: &'static [ClientVariant] = &[];

    /// Compares the state of a player in the last tick before its absence with the state in the
    /// first tick after its absence. Returns whether anything was compared.
    ///
    /// # Errors
    /// A description of the first difference.
    fn compare_absence(
        before: &dyn DynTick,
        after: &dyn DynTick,
        player: PlayerId,
    ) -> Result<bool, StateMismatch> {
        let _ = (before, after, player);
        Ok(false)
    }

    /// Chooses a command of the operator.
    fn operator_event(input: OperatorInput<'_>, rng: &mut BotRng) -> Option<OperatorEvent> {
        let _ = (input, rng);
        None
    }

    /// Encodes a stress packet. Returns no bytes if the dialect does not have the packet.
    fn stress_packet(dialect: &Dialect, packet: StressPacket) -> Vec<u8> {
        let _ = (dialect, packet);
        Vec::new()
    }

    /// Returns the hashes of the reliable packets that a player's client receives for a tick's
    /// events, in order.
    fn event_hashes(tick: &dyn DynTick, player: Option<PlayerId>, dialect: &Dialect) -> Vec<u32> {
        let _ = (tick, player, dialect);
        Vec::new()
    }
}

impl GameInfo {
    /// Adds the bots of a game.
    #[must_use]
    pub const fn with_bots<G: GameBots>(mut self) -> GameInfo {
        // Only the self-check and simulations compare views, and neither is in a browser.
        let compare_view: CompareView = match cfg!(target_family = "wasm") {
            true => |_, _, _| Ok(false),
            false => G::compare_view,
        };
        self.bots = Some(BotHooks { agent: G::agent, has_policy: G::has_policy, compare_view });
        self
    }

    /// Creates an agent; `None` if the game has no bots.
    pub fn agent(&self, spec: &BotSpec) -> Option<Box<dyn Agent>> {
        self.bots.map(|bots| (bots.agent)(spec))
    }

    /// Returns whether the game has bots that play it: see [`GameBots::has_policy`].
    pub fn has_bot_policy(&self) -> bool {
        self.bots.is_some_and(|bots| (bots.has_policy)())
    }

    /// Compares an agent's view of the world with the published state. Returns whether anything was
    /// compared.
    ///
    /// # Errors
    /// A description of the first difference.
    pub fn compare_view(
        &self,
        agent: &dyn Agent,
        player: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, StateMismatch> {
        self.bots.map_or(Ok(false), |bots| (bots.compare_view)(agent, player, published))
    }
}

impl GameInfo {
    /// Adds the bots and checks of a game.
    #[must_use]
    pub const fn with_checks<G: GameChecks>(self) -> GameInfo {
        let mut info = self.with_bots::<G>();
        info.checks = GameCheckHooks {
            client_variants: G::CLIENT_VARIANTS,
            compare_absence: G::compare_absence,
            operator_event: G::operator_event,
            stress_packet: G::stress_packet,
            event_hashes: G::event_hashes,
        };
        info
    }
}
