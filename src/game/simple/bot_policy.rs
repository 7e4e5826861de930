//! The policy of a simple game's bots.

use tickwire_sim::PlayerId;

use super::received_packets::ReceivedPackets;
use super::rows::ReceivedRow;
use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::packet::DecodedPacket;

/// The packets that a bot has received, as types of [`rows!`](crate::rows!).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BotView<'a> {
    /// The bot's player.
    pub player: PlayerId,
    received: &'a ReceivedPackets,
}

impl<'a> BotView<'a> {
    /// Creates the view of a player whose client has received these packets.
    pub fn new(player: PlayerId, received: &'a ReceivedPackets) -> BotView<'a> {
        BotView { player, received }
    }

    /// Returns the newest tick of a packet. `None` before the packet `welcome`.
    pub fn tick(&self) -> Option<u32> {
        self.received.tick()
    }

    /// Returns the newest state row of a packet, such as `state`. `None` if there is none yet.
    pub fn newest<R: ReceivedRow>(&self) -> Option<R> {
        self.received.newest()
    }

    /// Iterates over the events of a packet since the last [`BotPolicy::decide`], in the order of
    /// arrival.
    pub fn events<R: ReceivedRow>(&self) -> impl Iterator<Item = R> + use<'a, R> {
        self.received.events()
    }

    /// Iterates over the visible entities of a list, in ascending order of their ids.
    pub fn entities<R: ReceivedRow>(&self) -> impl Iterator<Item = R> + use<'a, R> {
        self.received.entities()
    }

    /// Returns a visible entity of a list by its id.
    pub fn entity<R: ReceivedRow>(&self, id: impl Into<u32>) -> Option<R> {
        self.received.entity(id.into())
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
