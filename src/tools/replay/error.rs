//! The reason why a capture cannot be replayed, and its position in the file.

use core::net::SocketAddr;
use std::fmt;
use std::time::Duration;

use crate::tools::capture::Untrusted;

/// The reason why a capture cannot be replayed, and its position in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayError {
    /// The reason, as text.
    pub reason: Untrusted,
    /// The number of the packet, from 1, and its time since the first packet.
    pub location: Option<(usize, Duration)>,
    /// The client, if the error is in its bytes.
    pub client: Option<SocketAddr>,
}

impl ReplayError {
    /// Creates an error about the whole file.
    pub(super) fn of_file(reason: impl Into<Untrusted>) -> ReplayError {
        ReplayError { reason: reason.into(), location: None, client: None }
    }

    /// Creates an error at a packet, given by number and time. `first_ns` is the earliest time of
    /// a packet, in nanoseconds since 1970.
    pub(super) fn at(
        first_ns: u64,
        (packet, at_ns): (usize, u64),
        reason: impl Into<Untrusted>,
    ) -> ReplayError {
        let location = Some((packet, Duration::from_nanos(at_ns.saturating_sub(first_ns))));
        ReplayError { location, ..ReplayError::of_file(reason) }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.reason)?;
        if let Some(client) = self.client {
            write!(out, ", client {client}")?;
        }
        if let Some((packet, after)) = self.location {
            write!(out, ", packet {packet}, {:.3} s after the first", after.as_secs_f64())?;
        }
        Ok(())
    }
}

impl std::error::Error for ReplayError {}
