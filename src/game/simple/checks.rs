//! Checks of simple games in a simulation.

use tickwire_sim::PlayerId;

use super::Simple;
use super::entities::Viewer;
use super::published::SimpleEvents;
use super::random_bot::message_hash;
use super::random_packet::{self, COMMON};
use super::received_packets::is_event;
use super::simple_game::SimpleGame;
use crate::game::bots::{GameChecks, StressPacket};
use crate::game::{BotRng, DynTick};
use crate::packet::{Dialect, Direction, Value};

impl<S: SimpleGame> GameChecks for Simple<S> {
    fn stress_packet(dialect: &Dialect, packet: StressPacket) -> Vec<u8> {
        let hello = |mode: u8| vec![("version", 1.into()), ("mode", mode.into()), ("name", "bot 1".into())];
        let act = |sequence: u32| vec![("sequence", sequence.into()), ("tick", Value::Nil)];
        let acts = || dialect.rows(Direction::ToServer).find(|row| !COMMON.contains(&&*row.name));
        let hellos = || dialect.row(Direction::ToServer, "hello");
        let (row, values, seed) = match packet {
            StressPacket::Join => (hellos(), hello(1), 0),
            StressPacket::Watch => (hellos(), hello(0), 0),
            StressPacket::Act(sequence, bits) => (acts(), act(sequence), bits),
            StressPacket::Share(sequence, _) => (acts(), act(sequence), sequence.into()),
            StressPacket::Spectate(_) => return Vec::new(),
        };
        let packet = row.and_then(|row| {
            random_packet::random_packet(dialect, row, &values, &mut BotRng::new(seed), false)
        });
        packet.unwrap_or_default()
    }

    fn event_hashes(tick: &dyn DynTick, player: Option<PlayerId>, dialect: &Dialect) -> Vec<u32> {
        let events = tick.events();
        let Some(events) = events.downcast_ref::<SimpleEvents>() else { return Vec::new() };
        let addressed =
            events.for_viewer(Viewer { player, spectated: None }).filter(|(_, is_addressed)| *is_addressed);
        let messages = addressed.filter_map(|(event, _)| event.row.encode(dialect, &[]).ok());
        let is_game_event = |message: &Vec<u8>| {
            dialect.decode(Direction::ToClient, message).is_ok_and(|packet| is_event(&packet))
        };
        messages.filter(is_game_event).map(|message| message_hash(&message)).collect()
    }
}
