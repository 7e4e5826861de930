//! Why a connection ended, and the close frame that reports it.

use std::fmt;

use super::Endpoint;
use crate::game::Breach;
use crate::packet::PacketError;
use crate::ws::close::{self, CloseCode};
use crate::ws::frame::{self, Opcode};
use crate::ws::violation::Violation;

/// See the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The client broke a rule of RFC 6455.
    Violation(Violation),
    /// The client sent MessagePack or JSON that is broken, or a first `hello` with a wrong argument.
    Packet(PacketError),
    /// The client broke a rule of the server, or the server closed it for another reason.
    Breach(Breach),
    /// The client sent a close frame with this code.
    PeerClosed(Option<CloseCode>),
    /// The connection broke, or ended without a close frame.
    PeerLost,
}

impl Ending {
    /// The rule's name, for log, metrics and close reason.
    pub fn name(&self) -> &'static str {
        match self {
            Ending::Violation(violation) => violation.name(),
            Ending::Packet(error) => error.name(),
            Ending::Breach(breach) => breach.name(),
            Ending::PeerClosed(_) => "peer_closed",
            Ending::PeerLost => "peer_lost",
        }
    }

    /// Whether the player stays for a while, so that its client can come back to it: not if the client
    /// has said that it leaves, or the operator has removed it.
    pub fn may_come_back(&self) -> bool {
        match self {
            Ending::PeerClosed(code) => *code != Some(CloseCode::NORMAL),
            Ending::Breach(breach) => !matches!(breach, Breach::Kicked | Breach::Banned),
            Ending::Violation(_) | Ending::Packet(_) | Ending::PeerLost => true,
        }
    }

    /// The code with which the server closes; `None` if the peer ended the connection.
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            Ending::Violation(violation) => violation.close_code(),
            Ending::Packet(error) if error.closes_connection() => Some(CloseCode::INVALID_PAYLOAD),
            Ending::Packet(_) => Some(CloseCode::POLICY_VIOLATION),
            Ending::Breach(breach) => CloseCode::new(breach.close_code()),
            Ending::PeerClosed(_) | Ending::PeerLost => None,
        }
    }

    /// The server's last frames: none for a lost peer; the peer's own code for a peer that closed
    /// (RFC 6455 5.5.1); otherwise a close frame with the rule's code and name, and after a wrong `hello`
    /// with what is wrong.
    ///
    /// Clients of the MooMoo dialects do not show the reason of a close frame, but that of the
    /// packet `disconnect`: it goes before the close frame, unless the client broke a rule.
    pub fn frames(&self, endpoint: &Endpoint) -> Vec<u8> {
        let (mut frames, mut body) = (Vec::new(), Vec::new());
        match self {
            Ending::PeerLost => return frames,
            Ending::PeerClosed(code) => close::encode(*code, "", &mut body),
            Ending::Packet(error) if !error.closes_connection() => {
                close::encode(self.close_code(), &format!("{}: {error}", self.name()), &mut body);
            }
            _ => close::encode(self.close_code(), self.name(), &mut body),
        }
        if matches!(self, Ending::Breach(breach) if !breach.is_of_the_client()) {
            endpoint.write_named(&mut frames, "disconnect", &[("reason", self.name().into())]);
        }
        frame::write(&mut frames, Opcode::Close, None, &body);
        frames
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Violation(violation) => {
                write!(out, "{violation} (RFC {} section {})", violation.rfc(), violation.section())
            }
            Ending::Packet(error) => write!(out, "{error}"),
            Ending::Breach(breach) => write!(out, "{breach}"),
            Ending::PeerClosed(Some(code)) => write!(out, "the peer closed with {code}"),
            Ending::PeerClosed(None) => write!(out, "the peer closed without a code"),
            Ending::PeerLost => write!(out, "the connection broke"),
        }
    }
}
