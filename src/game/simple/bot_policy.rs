//! The policy of a simple game's bots.

use std::collections::BTreeMap;

use tickwire_sim::PlayerId;

use super::entities::ReceivedEntities;

use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::packet::DecodedPacket;

/// What a bot has received.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BotView<'a> {
    /// The bot's player.
    pub player: PlayerId,
    entities: &'a BTreeMap<String, ReceivedEntities>,
}

impl<'a> BotView<'a> {
    /// Creates the view of a player with these entity lists, by the names of their packets.
    pub fn new(player: PlayerId, entities: &'a BTreeMap<String, ReceivedEntities>) -> BotView<'a> {
        BotView { player, entities }
    }

    /// Returns the visible entities of a list. `None` if the table has no such list.
    pub fn entities(&self, packet: &str) -> Option<&'a ReceivedEntities> {
        self.entities.get(packet)
    }
}

/// Decides how a bot plays, if random packets are not enough.
pub trait BotPolicy<A>: Send {
    /// Processes a received packet. Appends the faults that it finds.
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let _ = (packet, out);
    }

    /// Returns the next action of the bot's player, if any. Called about ten times a second.
    fn decide(&mut self, view: &BotView<'_>, random: &mut BotRng) -> Option<A>;

    /// Returns the number of other players in view.
    fn visible_players(&self) -> usize {
        0
    }

    /// Takes the statistics of its player since the last call.
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }
}
