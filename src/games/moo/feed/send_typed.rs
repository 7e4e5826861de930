//! Writes typed packets into a client's messages.

use crate::game::MessageWriter;
use crate::games::moo::feed::outgoing_packet::OutgoingPacket;

/// Writes typed packets.
pub trait SendTyped {
    /// Appends a packet.
    fn packet(&mut self, packet: &OutgoingPacket<'_>);
}

impl SendTyped for MessageWriter<'_> {
    fn packet(&mut self, packet: &OutgoingPacket<'_>) {
        self.send_encoded(packet.name(), |dialect, out| packet.encode_into(dialect, out));
    }
}
