//! Hooks of this game for bots, load tests and the simulator.

use super::bot::agent::MooAgent;
use super::bot::play_policy::{MeetingPoints, PlayPolicy};
use super::bot::policy::{Policy, StandPolicy, WanderPolicy};
use super::bot::world_model::WorldModel;
use crate::game::bots::{Agent, BotBehavior, BotHooks, BotSpec};

/// The hooks of this game. In a browser, agents check nothing.
#[cfg(target_family = "wasm")]
pub const BOTS: BotHooks = BotHooks { agent, ..BotHooks::NONE };

/// The hooks of this game.
#[cfg(not(target_family = "wasm"))]
pub const BOTS: BotHooks = BotHooks { agent, ..super::simulation_hooks::BOT_HOOKS };

#[allow(clippy::unnecessary_wraps, reason = "the signature is that of all games")]
fn agent(part: &BotSpec) -> Option<Box<dyn Agent>> {
    let BotSpec { index, count, seed, crowd_seed, behavior: manner, .. } = *part;
    let policy: Box<dyn Policy> = match manner {
        BotBehavior::Still => Box::new(StandPolicy),
        BotBehavior::Walk => Box::new(WanderPolicy::new(seed, count)),
        BotBehavior::Play => {
            let player = PlayPolicy::new(seed, MeetingPoints::new(crowd_seed, count));
            Box::new(if part.spares_visitors { player.sparing_visitors() } else { player })
        }
    };
    let dialect = part.dialect.clone();
    #[cfg(not(target_family = "wasm"))]
    if part.is_checking {
        let checked = super::checking_observer::CheckingObserver::new(dialect.name() == "native");
        return Some(Box::new(MooAgent::new(index, dialect, policy, checked)));
    }
    Some(Box::new(MooAgent::new(index, dialect, policy, WorldModel::new())))
}
