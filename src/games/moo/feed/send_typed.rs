//! Typed packets among a client's messages.

use crate::game::Writer;
use crate::games::moo::feed::outgoing_packet::ServerPacket;

/// Appends typed packets.
pub trait Typed {
    /// Appends a packet.
    fn packet(&mut self, packet: &ServerPacket<'_>);
}

impl Typed for Writer<'_> {
    fn packet(&mut self, packet: &ServerPacket<'_>) {
        self.whole(packet.name(), |dialect, out| packet.encode_into(dialect, out));
    }
}
