//! Simple games in crowds and in the simulator.

use tickwire_sim::PlayerId;

use super::Simple;
use super::entities::Viewer;
use super::published::SimpleState;
use super::random_bot::RandomBot;
use super::simple_game::SimpleGame;
use crate::game::DynTick;
use crate::game::bots::{Agent, BotSpec, GameBots, StateMismatch};
use crate::packet::Direction;

/// Name of the argument that the server sets itself; it is not compared.
const TICK_ARGUMENT: &str = "tick";

impl<S: SimpleGame> GameBots for Simple<S> {
    fn agent(spec: &BotSpec) -> Box<dyn Agent> {
        Box::new(RandomBot::<S>::new(spec))
    }

    fn has_policy() -> bool {
        S::bot_policy().is_some()
    }

    /// Compares the state rows that the agent received last with the published ones.
    fn compare_view(
        agent: &dyn Agent,
        player: Option<PlayerId>,
        published: &dyn DynTick,
    ) -> Result<bool, StateMismatch> {
        let state = published.state().downcast_ref::<SimpleState<S>>();
        let Some((bot, state)) = RandomBot::<S>::of(agent).zip(state) else { return Ok(false) };
        let is_visible = |player: &PlayerId| state.players.iter().any(|(own, _)| own == player);
        let Some(player) = player.filter(is_visible) else { return Ok(false) };
        if bot.player != Some(player) {
            return Err(format!("the client plays as {:?}, but it is {player:?}", bot.player).into());
        }
        for state in &state.rows {
            let packet = state.values.packet();
            let Some(received) = bot.received.newest.get(packet) else {
                return Err(format!("no packet {packet} was received").into());
            };
            let message =
                state.values.encode(&bot.dialect, &[("tick", 0)]).map_err(|error| error.to_string())?;
            let is = bot.dialect.decode(Direction::ToClient, &message).map_err(|error| error.to_string())?;
            for (argument, (value, is)) in is.row.arguments.iter().zip(received.iter().zip(&is.values)) {
                if argument.name != TICK_ARGUMENT && value != is {
                    let name = &argument.name;
                    return Err(format!("{packet}: {name} is {is}, but the client received {value}").into());
                }
            }
        }
        if let Some(frame) = &state.entities {
            let viewer = Viewer { player: Some(player), spectated: None };
            bot.received
                .entities
                .values()
                .try_for_each(|received| frame.compare_received(viewer, received, &bot.dialect))?;
        }
        Ok(true)
    }
}
