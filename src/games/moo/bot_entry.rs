//! What bots, crowds and the simulator need of this game.

use super::bot::agent::Actor;
use super::bot::play_policy::{Meeting, Player};
use super::bot::policy::{Policy, Still, Wanderer};
use super::bot::world_model::Picture;
use crate::game::bots::{Agent, Bots, Manner, Part};

/// See the [module](self). In a browser, agents check nothing.
#[cfg(target_family = "wasm")]
pub const BOTS: Bots = Bots { agent, ..Bots::NONE };

/// See the [module](self).
#[cfg(not(target_family = "wasm"))]
pub const BOTS: Bots = Bots { agent, ..super::simulation_hooks::BOTS };

#[allow(clippy::unnecessary_wraps, reason = "the signature is that of all games")]
fn agent(part: &Part) -> Option<Box<dyn Agent>> {
    let Part { index, count, seed, crowd_seed, manner, .. } = *part;
    let policy: Box<dyn Policy> = match manner {
        Manner::Still => Box::new(Still),
        Manner::Walk => Box::new(Wanderer::new(seed, count)),
        Manner::Play => {
            let player = Player::new(seed, Meeting::new(crowd_seed, count));
            Box::new(if part.spares_visitors { player.sparing_visitors() } else { player })
        }
    };
    let dialect = part.dialect.clone();
    #[cfg(not(target_family = "wasm"))]
    if part.checks {
        let checked = super::checking_observer::Checked::new(dialect.name() == "native");
        return Some(Box::new(Actor::new(index, dialect, policy, checked)));
    }
    Some(Box::new(Actor::new(index, dialect, policy, Picture::new())))
}
