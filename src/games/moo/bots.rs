//! The bots of this game. The bots of a browser build check nothing.

use super::Moo;
use super::bot::agent::MooAgent;
use super::bot::play_policy::{MeetingPoints, PlayPolicy};
use super::bot::policy::{Policy, StandPolicy, WanderPolicy};
use super::bot::world_model::WorldModel;
#[cfg(not(target_family = "wasm"))]
use super::{
    bot::agent::PacketObserver as _, checking_observer::CheckingObserver, compare_to_published,
    published::PublishedState, world::PlayerId,
};
#[cfg(not(target_family = "wasm"))]
use crate::game::DynTick;
#[cfg(not(target_family = "wasm"))]
use crate::game::bots::StateMismatch;
use crate::game::bots::{Agent, BotBehavior, BotSpec, GameBots};

impl GameBots for Moo {
    fn agent(spec: &BotSpec) -> Box<dyn Agent> {
        let BotSpec { index, count, seed, crowd_seed, behavior, .. } = *spec;
        let policy: Box<dyn Policy> = match behavior {
            BotBehavior::Still => Box::new(StandPolicy),
            BotBehavior::Walk => Box::new(WanderPolicy::new(seed, count)),
            BotBehavior::Play => {
                let player = PlayPolicy::new(seed, MeetingPoints::new(crowd_seed, count));
                Box::new(if spec.spares_visitors { player.sparing_visitors() } else { player })
            }
        };
        let dialect = spec.dialect.clone();
        #[cfg(not(target_family = "wasm"))]
        if spec.is_checking {
            let checked = CheckingObserver::new(dialect.name() == "native");
            return Box::new(MooAgent::new(index, dialect, policy, checked).with_name(spec.player_name()));
        }
        Box::new(MooAgent::new(index, dialect, policy, WorldModel::new()).with_name(spec.player_name()))
    }

    #[cfg(not(target_family = "wasm"))]
    fn compare_view(
        agent: &dyn Agent,
        own: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, StateMismatch> {
        let agent = agent as &dyn std::any::Any;
        let checked = agent.downcast_ref::<MooAgent<CheckingObserver>>();
        let model = checked.map(|agent| agent.observer.world_model());
        let model =
            model.or_else(|| Some(agent.downcast_ref::<MooAgent<WorldModel>>()?.observer.world_model()));
        let Some((model, state)) = model.zip(published.state().downcast_ref::<PublishedState>()) else {
            return Ok(false);
        };
        Ok(compare_to_published::compare_to_published(model, own, state)?)
    }
}
