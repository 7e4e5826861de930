//! What is noted of a conversation: for metrics, log and tap.

use std::time::Duration;

use tickwire_sim::PlayerId;

use crate::packet::PacketError;

/// When bytes were read: all that they lead to is judged by this one time, so that a capture has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadTime {
    /// On the driver's clock.
    pub now: Duration,
    /// Ticks that the room had completed then.
    pub tick: u32,
    /// The slack of a [pause](super::pauses) of the server, in which the bytes may have waited: rate limits
    /// allow for it. Whole milliseconds, so that a capture has all of it.
    pub slack: Duration,
}

/// Bytes of the client that were read.
#[derive(Debug, Clone, Copy)]
pub struct ObservedBytes<'a> {
    /// Whole frames, or the unfinished end of what the client sent.
    pub bytes: &'a [u8],
    /// Whether a message begins with them.
    pub starts_message: bool,
    /// Whether no message is unfinished behind them.
    pub is_whole: bool,
    /// Whether some of them come from a watcher that proved that the client is its own.
    pub is_injected: bool,
    /// The slack by which the bytes are judged.
    pub slack: Duration,
}

/// What is noted of a conversation: for metrics, log and tap.
pub trait ConnectionEvents {
    /// A packet was received.
    fn packet(&self) {}
    /// A packet had no effect.
    fn on_packet_dropped(&self, _rule: &'static str) {}
    /// A packet does not fit the tables, perhaps the first one of this connection. The error shows no text
    /// of the client.
    fn unusable(&self, rule: &'static str, _error: &PacketError, _is_first: bool) {
        self.on_packet_dropped(rule);
    }
    /// The client has spent half of this budget.
    fn on_rate_warning(&self, _rule: &'static str) {}
    /// A budget of the address, or the inbox, has no room for a command.
    fn on_command_rejected(&self, _reason: &'static str) {}
    /// The client has a token of this name.
    fn on_authenticated(&self, _token_name: &str) {}
    /// The client gets a body.
    fn on_join(&self, _player: PlayerId, _name: &str, _tick: u32) {}
    /// Whether [`ConnectionEvents::observed`] wants the client's bytes.
    fn wants_bytes(&self) -> bool {
        false
    }
    /// Shows bytes of the client before they are handled; `saved` makes the state before them.
    fn on_bytes(&self, _at: ReadTime, _piece: ObservedBytes<'_>, _saved: &dyn Fn() -> Vec<u8>) {}
}

/// Nothing is noted.
impl ConnectionEvents for () {}
