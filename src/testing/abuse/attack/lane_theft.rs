//! A stranger that sends the datagrams of a client from another address.
//!
//! One attacker is both: the client, whose lane it is, and the stranger, who has captured each
//! datagram of the client. In the first half of a second the stranger sends them before the client
//! does, in the second half after it. A server must never send the stranger more bytes than came
//! from it, and must answer the client again.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use super::datagram_flood::granted_lane;
use crate::datagram::LaneEndpoint;
use crate::limits;
use crate::packet::Dialect;
use crate::testing::abuse::client;

/// Number of datagrams of the client in a second.
const PER_SECOND: u32 = 100;

/// Counts of the datagrams of one attacker, since its last ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TheftCounts {
    /// Datagrams that the kernel accepted, of both.
    pub(super) sent: u64,
    /// Datagrams of the server that the client has opened.
    pub(super) answers: u64,
    /// Bytes that the stranger received beyond its own.
    pub(super) stolen_bytes: u64,
}

/// The two sockets of one attacker.
pub(super) struct LaneTheft {
    client: UdpSocket,
    stranger: UdpSocket,
    to: SocketAddr,
    lane: Option<LaneEndpoint>,
    native: Arc<Dialect>,
    datagrams: u32,
    /// Bytes that the stranger may still receive.
    allowed: u64,
}

impl LaneTheft {
    pub(super) fn new(from: IpAddr, to: SocketAddr) -> io::Result<LaneTheft> {
        let socket = || {
            let socket = UdpSocket::bind((from, 0))?;
            socket.set_nonblocking(true)?;
            io::Result::Ok(socket)
        };
        let (client, stranger) = (socket()?, socket()?);
        Ok(LaneTheft { client, stranger, to, lane: None, native: client::native(), datagrams: 0, allowed: 0 })
    }

    /// Uses the lane if the message grants one.
    pub(super) fn on_message(&mut self, message: &[u8]) {
        if let Some((lane, port)) = granted_lane(&self.native, message) {
            self.to.set_port(port);
            self.lane = Some(lane);
        }
    }

    /// Receives at both sockets, and sends a datagram from both.
    pub(super) fn send(&mut self) -> TheftCounts {
        let mut counts = TheftCounts::default();
        let Some(lane) = &mut self.lane else { return counts };
        let mut buffer = [0; limits::DATAGRAM_BYTES];
        while let Ok(read) = self.stranger.recv(&mut buffer) {
            let read = read as u64;
            counts.stolen_bytes += read.saturating_sub(self.allowed);
            self.allowed = self.allowed.saturating_sub(read);
        }
        while let Ok(read) = self.client.recv(&mut buffer) {
            counts.answers += u64::from(lane.open(&buffer[..read], Duration::ZERO).is_ok());
        }
        self.datagrams += 1;
        let datagram = lane.seal(b"", None, Duration::ZERO);
        let is_stranger_first = self.datagrams % PER_SECOND < PER_SECOND / 2;
        for is_stranger in [is_stranger_first, !is_stranger_first] {
            let socket = if is_stranger { &self.stranger } else { &self.client };
            let is_sent = socket.send_to(&datagram, self.to).is_ok();
            counts.sent += u64::from(is_sent);
            self.allowed += if is_stranger && is_sent { datagram.len() as u64 } else { 0 };
        }
        counts
    }
}
