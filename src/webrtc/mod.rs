//! WebRTC data channels as carriers of lanes, without I/O.
//!
//! A browser has no UDP sockets, but it has data channels (RFC 8831), and a data channel without
//! order and without retransmission carries datagrams. The browser and the server exchange
//! [session descriptions](session_description) over the open WebSocket, and then, by UDP:
//!
//! ```text
//!   browser                            server
//!   STUN binding request      ──►               proof of the address      RFC 8489, RFC 8445
//!                             ◄──    response
//!   DTLS handshake            ◄──►              keys, certificates        RFC 6347
//!   ┌ DTLS record ────────────────────────────┐
//!   │ ┌ SCTP packet ────────────────────────┐ │ order, loss               RFC 9260, RFC 8261
//!   │ │ ┌ DATA chunk of stream 0 ─────────┐ │ │
//!   │ │ │ header and messages of a lane   │ │ │ see crate::datagram
//!   │ │ └─────────────────────────────────┘ │ │
//!   │ └─────────────────────────────────────┘ │
//!   └─────────────────────────────────────────┘
//! ```
//!
//! The server has a public address, so ICE *lite* is enough: it responds to binding requests and
//! sends none. The crate `dimpl` implements DTLS, and `sctp-proto` implements SCTP. `str0m` uses
//! the same two crates.
//!
//! The first byte of a packet identifies its kind (RFC 7983): 0 to 3 is STUN, 20 to 63 is DTLS. The
//! first byte of a lane's connection id is at least 192.

pub mod certificate;
mod error;
pub mod peer;
pub mod session_description;
pub mod stun;
#[cfg(test)]
pub mod test_browser;

pub use certificate::Certificate;
pub use error::WebRtcError;
pub use peer::Peer;

/// The kind of a UDP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// A STUN message.
    Stun,
    /// A DTLS record.
    Dtls,
    /// A datagram of a lane without a data channel.
    Datagram,
}

impl PacketKind {
    /// Returns the kind of a packet by its first byte (RFC 7983, section 7).
    pub fn from_packet(packet: &[u8]) -> PacketKind {
        match packet.first() {
            Some(0..=3) => PacketKind::Stun,
            Some(20..=63) => PacketKind::Dtls,
            _ => PacketKind::Datagram,
        }
    }
}
