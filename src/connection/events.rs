//! Events of one connection, for metrics, log and tap.

use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::packet::PacketError;

/// The time of a read. Every check of the read bytes uses this one time, so that a capture can
/// store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTime {
    /// Time of the driver's clock.
    pub now: Duration,
    /// Number of ticks that the room had completed.
    pub tick: u32,
    /// Slack of a [pause](super::pauses) of the server in which the bytes may have waited; rate
    /// limits allow for it. In whole milliseconds, so that a capture stores it exactly.
    pub slack: Duration,
}

/// Bytes read from the client.
#[derive(Debug, Clone, Copy)]
pub struct ObservedBytes<'a> {
    /// Whole frames, or the unfinished end of the client's bytes.
    pub bytes: &'a [u8],
    /// Whether a message starts at the first byte.
    pub starts_message: bool,
    /// Whether no message is unfinished at the end.
    pub is_whole: bool,
    /// Whether some bytes were injected by an inspector with the client's resume key.
    pub is_injected: bool,
    /// Slack for the rate limits that apply to these bytes.
    pub slack: Duration,
}

/// Receives the events of one connection, for metrics, log and tap.
pub trait ConnectionEvents {
    /// A packet was received.
    fn packet(&self) {}
    /// A packet had no effect.
    fn on_packet_dropped(&self, _rule: &'static str) {}
    /// A packet did not fit the packet tables. `_is_first` is set for the first such packet of the
    /// connection. The error contains no text of the client.
    fn unusable(&self, rule: &'static str, _error: &PacketError, _is_first: bool) {
        self.on_packet_dropped(rule);
    }
    /// The client has used half of this rate limit.
    fn on_rate_warning(&self, _rule: &'static str) {}
    /// A command exceeded a rate limit of the address, or the inbox was full.
    fn on_command_rejected(&self, _reason: &'static str) {}
    /// The client was accepted with the token of this name.
    fn on_authenticated(&self, _token_name: &str) {}
    /// The client joined with this player.
    fn on_join(&self, _player: PlayerId, _name: &str, _tick: u32) {}
    /// Whether [`ConnectionEvents::on_bytes`] needs the client's bytes.
    fn wants_bytes(&self) -> bool {
        false
    }
    /// Receives bytes of the client before they are handled. `saved` encodes the receiver's state
    /// before these bytes.
    fn on_bytes(&self, _at: ReadTime, _piece: ObservedBytes<'_>, _saved: &dyn Fn() -> Vec<u8>) {}
}

/// Drops all events.
impl ConnectionEvents for () {}
