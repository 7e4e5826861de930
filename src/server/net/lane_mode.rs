//! Carriers of lanes, and the public address of the UDP port.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The public address of the UDP port, for a server with NAT or in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpPublic {
    /// The IP address.
    pub ip: IpAddr,
    /// The port, if it differs from the server's.
    pub port: Option<u16>,
}

impl FromStr for UdpPublic {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<UdpPublic, &'static str> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(UdpPublic { ip: address.ip(), port: Some(address.port()) });
        }
        let ip = text.parse().map_err(|_| "must be an IP address, such as 192.0.2.1 or 192.0.2.1:3000")?;
        Ok(UdpPublic { ip, port: None })
    }
}

/// The carriers of lanes for datagrams that a server offers in addition to WebSockets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaneMode {
    /// No lanes.
    #[default]
    Off,
    /// UDP, on the port number of the server's TCP address.
    Udp,
    /// WebRTC data channels for browsers, on the same UDP port. Needs the crate's feature `webrtc`.
    WebRtc,
    /// UDP and WebRTC on one port: each client chooses.
    Both,
}

impl LaneMode {
    /// Whether the server grants lanes by UDP.
    pub const fn has_udp(self) -> bool {
        matches!(self, LaneMode::Udp | LaneMode::Both)
    }

    /// Whether the server grants lanes by data channels.
    pub const fn has_webrtc(self) -> bool {
        matches!(self, LaneMode::WebRtc | LaneMode::Both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_may_have_a_port() {
        let read = |text: &str| text.parse().map(|UdpPublic { ip, port }| (ip.to_string(), port));
        assert_eq!(read("192.0.2.1"), Ok(("192.0.2.1".to_owned(), None)));
        assert_eq!(read("192.0.2.1:3000"), Ok(("192.0.2.1".to_owned(), Some(3000))));
        assert_eq!(read("2001:db8::1"), Ok(("2001:db8::1".to_owned(), None)));
        assert_eq!(read("[2001:db8::1]:3000"), Ok(("2001:db8::1".to_owned(), Some(3000))));
        for wrong in ["", "example.org", "192.0.2.1:", "192.0.2.1:99999"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
