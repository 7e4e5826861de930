//! How the bots of a simple game play.

use tickwire_sim::PlayerId;

use super::named_values::NamedValues;
use crate::game::BotRng;
use crate::game::bots::{AgentOutput, BotStats};
use crate::packet::DecodedPacket;

/// How the bots of a game play, if random packets are not enough.
pub trait BotPolicy: Send {
    /// A packet of the game has arrived. Appends what is wrong with it.
    fn on_packet(&mut self, packet: &DecodedPacket<'_>, out: &mut AgentOutput) {
        let _ = (packet, out);
    }

    /// What the bot of this player sends now, if anything: a packet's name and its values. The
    /// sequence is set by the bot. Called about ten times a second.
    fn act(&mut self, own: PlayerId, dice: &mut BotRng) -> Option<(&'static str, NamedValues)>;

    /// How many other players it sees.
    fn others(&self) -> usize {
        0
    }

    /// What it has seen its player do since the last call.
    fn take_deeds(&mut self) -> BotStats {
        BotStats::default()
    }
}
