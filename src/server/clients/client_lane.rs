//! The server's end of a client's lane: the datagrams of its updates.

use std::time::Duration;

use super::client::{Client, Transport};
use crate::datagram::endpoint::MESSAGES_BYTES;
use crate::datagram::message::{MESSAGE_HEAD_BYTES, write_packet, write_received};
use crate::datagram::{DatagramError, LaneEndpoint, LaneKey, LaneStats};
use crate::game::{LaneBaseline, Messages};
use crate::limits;
use crate::packet::Direction;

/// What the server grants with a lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneGrant {
    /// The number of the lane in datagrams.
    pub connection: u32,
    /// The key of the lane.
    pub key: LaneKey,
    /// The UDP port of the server; 0 if the transport needs none.
    pub port: u16,
}

/// The server's end of a client's lane.
#[derive(Debug)]
pub struct ClientLane {
    endpoint: LaneEndpoint,
    /// Messages for the next datagram.
    replies: Vec<u8>,
    /// Sequence number of the last command that the client knows the server has.
    acknowledged: u64,
    /// Time of the last datagram to the client.
    sent: Option<Duration>,
}

impl ClientLane {
    /// Creates the lane of a grant.
    pub fn new(grant: &LaneGrant) -> ClientLane {
        ClientLane {
            endpoint: LaneEndpoint::new(Direction::ToClient, grant.connection, &grant.key),
            replies: Vec::new(),
            acknowledged: 0,
            sent: None,
        }
    }

    /// Opens a datagram of the client. Returns its messages.
    ///
    /// # Errors
    /// The rule that the datagram breaks.
    pub fn open(&mut self, datagram: &[u8], now: Duration) -> Result<Vec<u8>, DatagramError> {
        Ok(self.endpoint.open(datagram, now)?.messages)
    }

    /// Adds messages to the next datagram, as far as they fit into one.
    pub fn add(&mut self, messages: &[u8]) {
        if self.replies.len() + messages.len() <= limits::LANE_REPLY_BYTES {
            self.replies.extend_from_slice(messages);
        }
    }

    /// Returns the baseline of updates by datagram. `None` while the lane is not in use.
    pub fn baseline(&self, now: Duration) -> Option<LaneBaseline> {
        self.endpoint.is_usable(now).then(|| LaneBaseline { acked_tick: self.endpoint.acked_tick() })
    }

    /// Forgets which states the client has.
    pub fn forget_states(&mut self) {
        self.endpoint.forget_states();
    }

    /// The counts of the server's end.
    pub fn stats(&self) -> LaneStats {
        self.endpoint.stats()
    }

    /// Makes the datagrams of an update, or one without a state for acknowledgements. `sequence` is
    /// the last command that the server has.
    pub fn seal(
        &mut self,
        state: Option<(&Messages, u32)>,
        sequence: u64,
        now: Duration,
        mut send: impl FnMut(&[u8]),
    ) {
        let is_silent = self.sent.is_none_or(|sent| now.saturating_sub(sent) >= limits::LANE_ACK_INTERVAL);
        let has_state = state.is_some_and(|(messages, _)| messages.datagram().next().is_some());
        if !has_state && self.replies.is_empty() && self.acknowledged == sequence && !is_silent {
            return;
        }
        let mut content = std::mem::take(&mut self.replies);
        write_received(&mut content, u32::try_from(sequence).unwrap_or(u32::MAX));
        (self.acknowledged, self.sent) = (sequence, Some(now));
        let tick = state.map(|(_, tick)| tick);
        for packet in state.into_iter().flat_map(|(messages, _)| messages.datagram()) {
            // The table's rows are shorter than a datagram only as far as the game splits them.
            if content.len() + MESSAGE_HEAD_BYTES + packet.len() > MESSAGES_BYTES {
                send(&self.endpoint.seal(&content, tick, now));
                content.clear();
            }
            write_packet(&mut content, packet);
        }
        send(&self.endpoint.seal(&content, tick, now));
    }
}

impl<L: Transport> Client<L> {
    /// Replaces the client's lane, and returns its grant. `None` if the transport has no datagrams.
    pub fn grant_lane(&self) -> Option<LaneGrant> {
        let grant = self.transport.grant_lane(self.id)?;
        *self.lane.lock() = Some(ClientLane::new(&grant));
        Some(grant)
    }

    /// Sends the part of an update that goes by datagram, and acknowledgements.
    pub fn send_datagrams(&self, messages: &Messages, tick: u32, now: Duration) {
        // A client without a lane needs no second lock.
        if self.lane.lock().is_none() {
            return;
        }
        let sequence = self.connection.lock().sequence();
        if let Some(lane) = &mut *self.lane.lock() {
            let state = messages.lane().map(|_| (messages, tick));
            lane.seal(state, sequence, now, |datagram| self.transport.send_datagram(datagram));
        }
    }
}
