//! The reason why a connection ended, and the close frame that reports it.

use std::fmt;

use super::WireFormat;
use crate::game::CloseReason;
use crate::packet::PacketError;
use crate::ws::close::{self, CloseCode};
use crate::ws::frame::{self, Opcode};
use crate::ws::violation::Violation;

/// The reason why a connection ended.
#[derive(Debug, Clone, PartialEq)]
pub enum DisconnectReason {
    /// The client broke a rule of RFC 6455.
    Violation(Violation),
    /// The client sent invalid MessagePack or JSON, or a first `hello` with a wrong argument.
    Packet(PacketError),
    /// The client broke a rule of the server, or the server closed the connection for another
    /// reason.
    Closed(CloseReason),
    /// The client sent a close frame with this code.
    PeerClosed(Option<CloseCode>),
    /// The transport failed, or ended without a close frame.
    PeerLost,
}

impl DisconnectReason {
    /// The name of the rule, for the log, the metrics and the close frame.
    pub fn name(&self) -> &'static str {
        match self {
            DisconnectReason::Violation(violation) => violation.name(),
            DisconnectReason::Packet(error) => error.name(),
            DisconnectReason::Closed(close_reason) => close_reason.name(),
            DisconnectReason::PeerClosed(_) => "peer_closed",
            DisconnectReason::PeerLost => "peer_lost",
        }
    }

    /// Whether the seat is suspended, so that the client can resume. False if the client closed
    /// with code 1000, or was kicked or banned.
    pub fn allows_resume(&self) -> bool {
        match self {
            DisconnectReason::PeerClosed(code) => *code != Some(CloseCode::NORMAL),
            DisconnectReason::Closed(close_reason) => {
                !matches!(close_reason, CloseReason::Kicked | CloseReason::Banned)
            }
            DisconnectReason::Violation(_) | DisconnectReason::Packet(_) | DisconnectReason::PeerLost => true,
        }
    }

    /// The close code that the server sends; `None` if the peer ended the connection.
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            DisconnectReason::Violation(violation) => violation.close_code(),
            DisconnectReason::Packet(error) if error.closes_connection() => Some(CloseCode::INVALID_PAYLOAD),
            DisconnectReason::Packet(_) => Some(CloseCode::POLICY_VIOLATION),
            DisconnectReason::Closed(close_reason) => CloseCode::new(close_reason.close_code()),
            DisconnectReason::PeerClosed(_) | DisconnectReason::PeerLost => None,
        }
    }

    /// Encodes the server's last frames. A lost peer gets no frame. A peer that sent a close frame
    /// gets its own code back (RFC 6455, section 5.5.1). In all other cases, the close frame
    /// contains the code and the name of the rule, and for a wrong `hello` also the error text.
    ///
    /// MooMoo clients display the reason of the packet `disconnect`, not of the close frame.
    /// Therefore that packet precedes the close frame, unless the client broke a rule.
    pub fn frames(&self, format: &WireFormat) -> Vec<u8> {
        let (mut frames, mut body) = (Vec::new(), Vec::new());
        match self {
            DisconnectReason::PeerLost => return frames,
            DisconnectReason::PeerClosed(code) => close::encode(*code, "", &mut body),
            DisconnectReason::Packet(error) if !error.closes_connection() => {
                close::encode(self.close_code(), &format!("{}: {error}", self.name()), &mut body);
            }
            _ => close::encode(self.close_code(), self.name(), &mut body),
        }
        if matches!(self, DisconnectReason::Closed(close_reason) if !close_reason.is_client_fault()) {
            format.write_packet(&mut frames, "disconnect", &[("reason", self.name().into())]);
        }
        frame::write(&mut frames, Opcode::Close, None, &body);
        frames
    }
}

impl fmt::Display for DisconnectReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DisconnectReason::Violation(violation) => {
                write!(out, "{violation} (RFC {} section {})", violation.rfc(), violation.section())
            }
            DisconnectReason::Packet(error) => write!(out, "{error}"),
            DisconnectReason::Closed(close_reason) => write!(out, "{close_reason}"),
            DisconnectReason::PeerClosed(Some(code)) => write!(out, "the peer closed with {code}"),
            DisconnectReason::PeerClosed(None) => write!(out, "the peer closed without a code"),
            DisconnectReason::PeerLost => write!(out, "the connection broke"),
        }
    }
}
