//! The client's end of a lane, without I/O.
//!
//! ```text
//!   command ─► queue ─┬─► every datagram, until it is acknowledged ─► server
//!                     └─► the stream, if it is overdue
//!   datagram ─► packets ─► prediction
//! ```

use std::time::Duration;

pub use crate::datagram::LaneStats;
use crate::datagram::command_queue::CommandQueue;
use crate::datagram::endpoint::MESSAGES_BYTES;
use crate::datagram::message::{self, MESSAGE_HEAD_BYTES};
use crate::datagram::{LaneEndpoint, LaneKey, Message};
use crate::limits;
use crate::packet::{DecodedPacket, Direction, Value};

/// The client's end of a lane.
#[derive(Debug)]
pub struct ClientLane {
    endpoint: LaneEndpoint,
    port: u16,
    commands: CommandQueue,
    /// Messages for the next datagram.
    pending: Vec<u8>,
    /// Time of the last datagram to the server.
    sent: Option<Duration>,
    /// Whether a command was queued since the last datagram.
    has_news: bool,
}

impl ClientLane {
    /// Creates the lane that a packet `lane_offer` grants. `None` if the packet is not one.
    pub(super) fn new(offer: &DecodedPacket<'_>) -> Option<ClientLane> {
        let key = offer.get("key").and_then(Value::as_slice)?.try_into().ok()?;
        Some(ClientLane {
            endpoint: LaneEndpoint::new(
                Direction::ToServer,
                offer.integer("connection")?,
                Some(&LaneKey(key)),
            ),
            port: offer.integer("port")?,
            commands: CommandQueue::default(),
            pending: Vec::new(),
            sent: None,
            has_news: false,
        })
    }

    /// The UDP port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The counts of the client's end.
    pub fn stats(&self) -> LaneStats {
        self.endpoint.stats()
    }

    /// Whether datagrams arrive in both directions.
    pub fn is_usable(&self, now: Duration) -> bool {
        self.endpoint.is_usable(now)
    }

    /// Empties the command queue for a new player. Passes packets that only the lane has carried to
    /// `stream`.
    pub(super) fn restart(&mut self, stream: impl FnMut(&[u8])) {
        self.commands.restart(stream);
    }

    /// Queues a command. Passes the packets that the stream must carry to `stream`.
    pub(super) fn command(
        &mut self,
        (sequence, tick): (u32, Option<u32>),
        packet: &[u8],
        now: Duration,
        stream: impl FnMut(&[u8]),
    ) {
        self.has_news = true;
        self.commands.push(sequence, tick, packet, now, stream);
    }

    /// Adds a packet that is not a command to the next datagram. It may be lost.
    pub(super) fn send(&mut self, packet: &[u8]) {
        message::write_packet(&mut self.pending, packet);
        self.has_news = true;
    }

    /// Opens a datagram of the server, and calls `packet` with each of its packets. The datagrams
    /// of an update arrive in any order: a packet is late if a newer one of its kind has arrived.
    pub(super) fn receive(&mut self, datagram: &[u8], now: Duration, mut packet: impl FnMut(&[u8])) {
        let Ok(opened) = self.endpoint.open(datagram, now) else { return };
        for message in message::read(&opened.messages) {
            match message {
                Ok(Message::Packet(bytes)) => packet(bytes),
                Ok(Message::Received(sequence)) => self.commands.acknowledge(sequence),
                _ => {}
            }
        }
    }

    /// Advances to `now`: makes the datagram that is due, and passes the packets that the stream
    /// must carry to `stream`.
    pub(super) fn advance(&mut self, now: Duration, stream: impl FnMut(&[u8])) -> Option<Vec<u8>> {
        let patience = self.endpoint.round_trip().unwrap_or_default() + limits::LANE_PATIENCE;
        let patience = if self.is_usable(now) { patience } else { Duration::ZERO };
        self.commands.take_overdue(now, patience, stream);
        let since = self.sent.map(|sent| now.saturating_sub(sent));
        let is_repetition_due = since.is_none_or(|since| since >= limits::LANE_REPEAT_INTERVAL);
        let is_ack_due = since.is_none_or(|since| since >= limits::LANE_CLIENT_ACK_INTERVAL);
        let is_due = self.has_news || is_ack_due || is_repetition_due && !self.commands.is_empty();
        if !is_due {
            return None;
        }
        self.has_news = false;
        self.sent = Some(now);
        let mut messages = std::mem::take(&mut self.pending);
        if !self.commands.is_empty() {
            let max = MESSAGES_BYTES.saturating_sub(messages.len() + MESSAGE_HEAD_BYTES);
            message::write_commands(&mut messages, |out| _ = self.commands.write(max, out));
        }
        Some(self.endpoint.seal(&messages, None, now))
    }
}
