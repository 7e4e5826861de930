//! The outputs of a [`ServerConnection`](super::ServerConnection), and the driver's answers to its
//! requests.

use std::time::Duration;

use tickwire_sim::{PlayerId, RawCommand};

use crate::connection::session::ReportedField;
use crate::game::{CloseReason, JoinRequest, SharedRateLimit};
use crate::packet::PacketError;

/// The time at which the driver read bytes. All checks of these bytes use the same time, so that a
/// capture can store it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadTime {
    /// Time of the driver's clock.
    pub now: Duration,
    /// Number of ticks that the room had completed.
    pub tick: u32,
    /// Slack of a [pause](super::pauses) during which the bytes may have waited. Rate limits allow
    /// for it. In whole milliseconds, so that a capture stores it exactly.
    pub slack: Duration,
}

/// Bytes read from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedBytes<'a> {
    /// Whole frames; at the end of the connection, all remaining bytes.
    pub bytes: &'a [u8],
    /// Whether a message starts at the first byte.
    pub starts_message: bool,
    /// Whether the bytes are a complete message or control frame.
    pub is_whole: bool,
    /// Whether some bytes were injected by an inspector with the client's resume key.
    pub is_injected: bool,
    /// Slack for the rate limits that apply to these bytes.
    pub slack: Duration,
}

/// An output of a connection. Borrowed bytes are valid until the next call.
#[derive(Debug, PartialEq)]
pub enum ConnectionOutput<'c> {
    /// Send these whole frames to the client. The replies to the bytes of one read are one output,
    /// so that they cost one system call.
    Send(&'c [u8]),
    /// Send these messages with the next datagram of the client's lane.
    Datagram(&'c [u8]),
    /// Execute this request. `Authenticate`, `Lockstep`, `Join` and `Command` need an [`Answer`]
    /// before the next output.
    Request(ClientRequest),
    /// Pass these bytes to the observers. Appears only while the connection
    /// [is observed](super::ServerConnection::set_observed), and before the outputs that result
    /// from the bytes.
    Observed {
        /// The bytes of a message or control frame.
        bytes: ObservedBytes<'c>,
        /// [`ServerConnection::save`](super::ServerConnection::save) before these bytes; empty if
        /// no message starts at the first byte.
        saved: &'c [u8],
    },
    /// Count or log this event.
    Event(ConnectionEvent),
}

/// A request to the server or its room that results from the client's packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientRequest {
    /// Authenticate the client by the token of its upgrade request, which the driver has. The
    /// first request of each connection. Needs [`Answer::Authenticated`].
    Authenticate,
    /// Check whether the client may use lockstep. Needs [`Answer::LockstepChecked`].
    Lockstep,
    /// Start updates for the client. All earlier replies were sent.
    StartUpdates {
        /// Whether the updates contain lockstep commands instead of the client's view of the world.
        lockstep: bool,
    },
    /// Assign a player to the client: its previous player if it can resume, otherwise a new one.
    /// Needs [`Answer::Joined`].
    Join {
        /// The profile of the player.
        profile: JoinRequest,
        /// The last tick that a resuming client received. If it is set and the player is new, the
        /// driver informs the client.
        resume_tick: Option<u32>,
    },
    /// Queue a command. Needs [`Answer::CommandQueued`].
    Command {
        /// The command of the client's own player.
        command: RawCommand,
        /// The target tick; `None` is the next tick.
        target_tick: Option<u32>,
        /// The rate limit for this command, shared by all clients of an address.
        shared: Option<&'static SharedRateLimit>,
    },
    /// Report a rejected command in the client's next update.
    RejectCommand {
        /// The sequence number of the command.
        sequence: u64,
        /// The broken rule.
        rule: &'static str,
    },
    /// Set the player that a client without a player spectates. `None` selects the leader.
    Spectate(Option<PlayerId>),
    /// Offer the client a lane.
    Lane {
        /// The client's offer of a data channel.
        offer: Option<String>,
    },
    /// Send a snapshot to a lockstep client.
    Snapshot,
    /// Compare the checksum of a lockstep client.
    Checksum {
        /// Number of ticks that the client's world had completed.
        tick: u32,
        /// The checksum of the client's world.
        checksum: u64,
    },
    /// Record the fields that differ in a lockstep client's world.
    DesyncDetails {
        /// Number of ticks that the client's world had completed.
        tick: u32,
        /// The fields that differ.
        fields: Vec<ReportedField>,
    },
}

/// The result of a [`ClientRequest`].
///
/// The results include the rate limits of addresses, which the driver checks because they depend on
/// other clients. A replay reads the results from its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The result of [`ClientRequest::Authenticate`].
    Authenticated(Result<(), Denial>),
    /// The result of [`ClientRequest::Lockstep`].
    LockstepChecked(Result<(), Denial>),
    /// The result of [`ClientRequest::Join`]: the client's player.
    Joined(Result<PlayerId, Denial>),
    /// The result of [`ClientRequest::Command`].
    CommandQueued(Result<(), Denial>),
}

/// The reason why a driver does not grant a request of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// Sends the client an `error` packet with this rule and remedy, or rejects its command. The
    /// connection stays open.
    Rejected(&'static str, &'static str),
    /// Closes the client.
    Closed(CloseReason),
    /// Sends no reply. On a server, the client is already rejected and will be closed after a
    /// delay. In a replay, the recording contains the reply.
    Silent,
}

/// An event for metrics and log.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionEvent {
    /// A packet was received.
    PacketReceived,
    /// A packet had no effect, because it broke this rule.
    PacketDropped(&'static str),
    /// A packet did not fit the packet tables, and had no effect.
    PacketMisfit {
        /// The error, without text of the client.
        error: PacketError,
        /// Whether it is the first such packet of the connection.
        is_first: bool,
    },
    /// The client has used half of this rate limit.
    RateWarning(&'static str),
    /// Number of messages and control frames that one read completed. They prove that the client is
    /// alive. This event follows all other outputs of the read.
    MessagesHandled(usize),
}
