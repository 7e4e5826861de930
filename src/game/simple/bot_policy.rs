//! The policy of a simple game's bots.

use tickwire_sim::PlayerId;

use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::packet::DecodedPacket;

/// Decides how a bot plays, if random packets are not enough.
pub trait BotPolicy<A>: Send {
    /// Processes a received packet. Appends the faults that it finds.
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let _ = (packet, out);
    }

    /// Returns the next action of this player, if any. Called about ten times a second.
    fn decide(&mut self, own: PlayerId, dice: &mut BotRng) -> Option<A>;

    /// Returns the number of other players in view.
    fn visible_players(&self) -> usize {
        0
    }

    /// Takes the statistics of its player since the last call.
    fn take_stats(&mut self) -> BotStats {
        BotStats::default()
    }
}
