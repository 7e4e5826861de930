//! The address of the other end of a lane.
//!
//! ```text
//!   newest datagram from another address ─► unproven: at most as many bytes to it as came from it
//!   it acknowledges a datagram that was sent to this address ─► proven
//!   newest datagram from the last proven address ─► proven again
//! ```
//!
//! The tag of a datagram proves its sender, but not its address: a third party that reads a
//! datagram on its way can send it from another one. Only a client that receives at an address can
//! acknowledge what was sent to it (as in QUIC: RFC 9000, section 8). The client's next datagram
//! then brings the lane back without a new proof (RFC 9000, section 9.3).

use core::net::SocketAddr;

use crate::datagram::LaneEndpoint;

/// The address of the other end, and what it has proven.
#[derive(Debug, Clone, Copy)]
pub struct LanePath {
    /// The address.
    pub address: SocketAddr,
    /// The last sequence number that was sent to another address.
    after: u64,
    is_proven: bool,
    /// The last proven address before this one.
    proven_before: Option<SocketAddr>,
    received_bytes: usize,
    sent_bytes: usize,
}

impl LanePath {
    /// The path after a datagram from this address, whose acknowledgements `endpoint` has. The
    /// address changes only with a datagram that is newer than all others.
    pub fn after_datagram(
        path: Option<LanePath>,
        (address, bytes): (SocketAddr, usize),
        is_newest: bool,
        endpoint: &LaneEndpoint,
    ) -> LanePath {
        match path {
            Some(path) if path.address == address => LanePath {
                is_proven: path.is_proven || endpoint.acked() > path.after,
                received_bytes: path.received_bytes.saturating_add(bytes),
                ..path
            },
            Some(path) if !is_newest => path,
            _ => {
                let proven_before = path.and_then(LanePath::last_proven);
                LanePath {
                    address,
                    after: endpoint.sequence(),
                    is_proven: proven_before == Some(address),
                    proven_before,
                    received_bytes: bytes,
                    sent_bytes: 0,
                }
            }
        }
    }

    fn last_proven(self) -> Option<SocketAddr> {
        if self.is_proven { Some(self.address) } else { self.proven_before }
    }

    /// Whether the other end receives at this address.
    pub fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// Whether a datagram of this length may be sent; counts it if so.
    pub fn take(&mut self, bytes: usize) -> bool {
        let is_allowed = self.is_proven || self.sent_bytes.saturating_add(bytes) <= self.received_bytes;
        self.sent_bytes = self.sent_bytes.saturating_add(if is_allowed { bytes } else { 0 });
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::datagram::LaneKey;
    use crate::packet::Direction;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn an_address_gets_no_more_than_it_sent_until_it_acknowledges_what_it_got() {
        let key = LaneKey([7; 32]);
        let mut server = LaneEndpoint::new(Direction::ToClient, 1, Some(&key));
        let mut client = LaneEndpoint::new(Direction::ToServer, 1, Some(&key));
        let at = |last: u8| SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 5_000));
        let mut path = LanePath::after_datagram(None, (at(1), 60), true, &server);
        assert!(path.take(50));
        assert!(!path.take(11), "61 bytes would exceed 60");
        assert!(path.take(10));
        let mut answer = |server: &mut LaneEndpoint, is_received: bool| {
            let datagram = server.seal(b"", None, NOW);
            if is_received {
                client.open(&datagram, NOW).expect("it is right");
            }
            server.open(&client.seal(b"", None, NOW), NOW).expect("it is right");
        };
        answer(&mut server, true);
        path = LanePath::after_datagram(Some(path), (at(1), 60), true, &server);
        assert!(path.is_proven() && path.take(9_999));
        // An old datagram from elsewhere changes nothing, a new one starts again.
        let same = LanePath::after_datagram(Some(path), (at(2), 60), false, &server);
        assert_eq!((same.address, same.is_proven()), (at(1), true));
        let moved = LanePath::after_datagram(Some(path), (at(2), 60), true, &server);
        assert_eq!((moved.address, moved.is_proven()), (at(2), false));
        // It acknowledges a datagram that was sent to the other address.
        answer(&mut server, false);
        let moved = LanePath::after_datagram(Some(moved), (at(2), 60), true, &server);
        assert!(!moved.is_proven());
        let back = LanePath::after_datagram(Some(moved), (at(1), 60), true, &server);
        assert_eq!((back.address, back.is_proven()), (at(1), true), "it was proven before");
        answer(&mut server, true);
        // The client acknowledges from its own address what was sent to the other one.
        let back = LanePath::after_datagram(Some(moved), (at(1), 60), true, &server);
        assert_eq!(back.last_proven(), Some(at(1)));
        let moved = LanePath::after_datagram(Some(moved), (at(2), 60), true, &server);
        assert!(moved.is_proven());
        let back = LanePath::after_datagram(Some(moved), (at(1), 60), true, &server);
        assert!(!back.is_proven(), "the newest proof counts");
    }
}
