//! Bot hooks of simple games, for load tests and the simulator.

use tickwire_sim::PlayerId;

use super::published::{SimpleEvents, SimpleState};
use super::random_bot::{RandomBot, is_event, message_hash};
use super::random_packet::{self, COMMON};
use super::simple_game::SimpleGame;
use crate::game::bots::{Agent, BotHooks, BotSpec, StressPacket};
use crate::game::{BotRng, DynTick};
use crate::packet::{Dialect, Direction, Value};

/// The argument that the server sets itself.
const TICK_ARGUMENT: &str = "tick";

/// Returns the hooks of a simple game.
pub const fn bot_hooks<S: SimpleGame>() -> BotHooks {
    BotHooks {
        agent: agent::<S>,
        compare_view: compare_view::<S>,
        stress_packet: nuisance,
        event_hashes: marks,
        ..BotHooks::NONE
    }
}

#[allow(clippy::unnecessary_wraps, reason = "the signature is that of all games")]
fn agent<S: SimpleGame>(part: &BotSpec) -> Option<Box<dyn Agent>> {
    Some(Box::new(RandomBot::<S>::new(part)))
}

/// Checks that the values of the agent's last `state` packet equal the published ones.
fn compare_view<S: SimpleGame>(
    agent: &dyn Agent,
    player: Option<PlayerId>,
    published: &dyn DynTick,
) -> Result<bool, String> {
    let state = published.state().downcast_ref::<SimpleState>();
    let Some((guest, state)) = RandomBot::<S>::of(agent).zip(state) else { return Ok(false) };
    let is_there = |player: &PlayerId| state.players.iter().any(|(own, _)| own == player);
    let Some(player) = player.filter(is_there) else { return Ok(false) };
    if guest.player != Some(player) {
        return Err(format!("the client plays as {:?}, but it is {player:?}", guest.player));
    }
    let Some(row) = guest.dialect.row(Direction::ToClient, "state") else { return Ok(false) };
    let Some(told) = guest.last_packets.get("state") else { return Err("no state was told".to_owned()) };
    let message = state.row.encode(&guest.dialect, "state")?;
    let is = guest.dialect.decode(Direction::ToClient, &message).map_err(|error| error.to_string())?;
    for (argument, (told, is)) in row.arguments.iter().zip(told.iter().zip(&is.values)) {
        if argument.name != TICK_ARGUMENT && told != is {
            return Err(format!("state: {} is {is}, but the client was told {told}", argument.name));
        }
    }
    Ok(true)
}

fn nuisance(dialect: &Dialect, nuisance: StressPacket) -> Vec<u8> {
    let hello = |mode: u8| vec![("version", 1.into()), ("mode", mode.into()), ("name", "bot 1".into())];
    let act = |sequence: u32| vec![("sequence", sequence.into()), ("tick", Value::Nil)];
    let acts = || dialect.rows(Direction::ToServer).find(|row| !COMMON.contains(&&*row.name));
    let hellos = || dialect.row(Direction::ToServer, "hello");
    let (row, values, seed) = match nuisance {
        StressPacket::Enter => (hellos(), hello(1), 0),
        StressPacket::Spectate => (hellos(), hello(0), 0),
        StressPacket::Act(sequence, bits) => (acts(), act(sequence), bits),
        StressPacket::Share(sequence, _) => (acts(), act(sequence), sequence.into()),
        StressPacket::Follow(_) => return Vec::new(),
    };
    let packet =
        row.and_then(|row| random_packet::packet(dialect, row, &values, &mut BotRng::new(seed), false));
    packet.unwrap_or_default()
}

/// Returns the marks of the events of a tick for the client of a player.
fn marks(tick: &dyn DynTick, player: Option<PlayerId>, dialect: &Dialect) -> Vec<u32> {
    let events = tick.events();
    let Some(events) = events.downcast_ref::<SimpleEvents>() else { return Vec::new() };
    let meant = events.events.iter().filter(|told| told.to.is_none() || told.to == player);
    let messages = meant.filter_map(|told| told.row.encode(dialect, told.packet).ok());
    let has_ack_packets = |message: &Vec<u8>| {
        dialect.decode(Direction::ToClient, message).is_ok_and(|packet| is_event(&packet))
    };
    messages.filter(has_ack_packets).map(|message| message_hash(&message)).collect()
}
