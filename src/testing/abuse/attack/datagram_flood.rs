//! The datagrams of an attacker: repeated, forged, and without a lane.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use crate::datagram::{LaneEndpoint, LaneKey};
use crate::game::BotRng;
use crate::packet::{Dialect, Direction, Value, lane_packets};
use crate::testing::abuse::client;
use crate::testing::hostile::{garbage, write_frame};
use crate::ws::frame::Opcode;

/// Number of repeated datagrams in a block, of forged ones, and of those without a lane.
const EACH: usize = 8;
/// Offset of the lower byte of the sequence number in a datagram.
const SEQUENCE_OFFSET: usize = 5;
/// Bytes of a datagram without a lane.
const STRANGER_BYTES: usize = 100;

/// Joins and requests a lane.
pub(super) fn opening() -> Vec<u8> {
    let mut opening = client::hello();
    let request = client::native().encode(Direction::ToServer, lane_packets::REQUEST, &[]);
    write_frame(&mut opening, Opcode::Binary, &request.expect("every dialect with hello has it"));
    opening
}

/// The client's end of the lane that a message grants, and the port of the server.
pub(super) fn granted_lane(native: &Dialect, message: &[u8]) -> Option<(LaneEndpoint, u16)> {
    let packet = native.decode(Direction::ToClient, message).ok()?;
    if packet.row.name != lane_packets::OFFER {
        return None;
    }
    let key = packet.get("key").and_then(Value::as_slice).and_then(|key| key.try_into().ok())?;
    let connection = packet.integer("connection")?;
    let lane = LaneEndpoint::new(Direction::ToServer, connection, Some(&LaneKey(key)));
    Some((lane, packet.integer("port")?))
}

/// The datagrams of one attacker.
pub(super) struct DatagramFlood {
    socket: UdpSocket,
    to: SocketAddr,
    sender: Sender,
    native: Arc<Dialect>,
}

/// The attacker's end of its lane.
struct Sender {
    lane: Option<LaneEndpoint>,
    rng: BotRng,
}

impl DatagramFlood {
    pub(super) fn new(index: usize, from: IpAddr, to: SocketAddr) -> io::Result<DatagramFlood> {
        let socket = UdpSocket::bind((from, 0))?;
        socket.set_nonblocking(true)?;
        let sender = Sender { lane: None, rng: BotRng::new(index as u64) };
        Ok(DatagramFlood { socket, to, sender, native: client::native() })
    }

    /// Uses the lane if the message grants one.
    pub(super) fn on_message(&mut self, message: &[u8]) {
        if let Some((lane, port)) = granted_lane(&self.native, message) {
            self.to.set_port(port);
            self.sender.lane = Some(lane);
        }
    }

    /// Sends a block. Returns the number of datagrams that the kernel accepted.
    pub(super) fn send(&mut self) -> u64 {
        let block = self.sender.block();
        block.iter().filter(|datagram| self.socket.send_to(datagram, self.to).is_ok()).count() as u64
    }
}

impl Sender {
    /// A new datagram, which is then repeated, forged with another number, and mixed with datagrams
    /// without a lane. Before a lane is granted, all datagrams are without one.
    fn block(&mut self) -> Vec<Vec<u8>> {
        let own = match &mut self.lane {
            Some(lane) => lane.seal(b"", None, Duration::ZERO),
            None => self.stranger(),
        };
        let mut block = vec![own.clone()];
        for _ in 0..EACH {
            let mut forged = own.clone();
            forged[SEQUENCE_OFFSET] = forged[SEQUENCE_OFFSET].wrapping_add(1);
            block.extend([own.clone(), forged, self.stranger()]);
        }
        block
    }

    fn stranger(&mut self) -> Vec<u8> {
        garbage(&mut self.rng, STRANGER_BYTES).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_datagram_of_a_block_is_valid() {
        let key = LaneKey([7; 32]);
        let mut server = LaneEndpoint::new(Direction::ToClient, 5, Some(&key));
        let lane = LaneEndpoint::new(Direction::ToServer, 5, Some(&key));
        let mut sender = Sender { lane: Some(lane), rng: BotRng::new(1) };
        let results: Vec<_> = sender
            .block()
            .iter()
            .map(|datagram| server.open(datagram, Duration::ZERO).err().map(|rule| rule.name()))
            .collect();
        let each =
            [Some("datagram_repeated"), Some("datagram_wrong_tag"), Some("datagram_unknown_connection")];
        let expected: Vec<_> = [None].into_iter().chain(each.repeat(EACH)).collect();
        assert_eq!(results, expected);
    }
}
