//! A client whose line is a socket.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use super::rooms::RunningRoom;
use super::tap::{EventSource, Tap};
use crate::server::clients::client::Transport;
use crate::util::os::{self, Suspended};

/// A client of the server.
pub type TcpClient = crate::server::clients::client::Client<TcpTransport>;

/// The socket of a client, and where its bytes are noted.
#[derive(Debug)]
pub struct TcpTransport {
    /// Read by the client's own thread only.
    pub stream: Arc<TcpStream>,
    /// Since the connection began.
    pub suspended: Suspended,
    /// Passes the client's traffic to listeners.
    pub tap: Tap,
    /// Counts what is queued for it, and for all others.
    pub bytes_out: Counter,
    /// The run of the room that it is in.
    pub room: Arc<RunningRoom>,
}

impl Transport for TcpTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> std::io::Result<usize> {
        os::try_send(&self.stream, slices)
    }

    fn on_queued(&self, client: &TcpClient, frames: &[u8], now: Duration) {
        self.bytes_out.inc_by(frames.len() as u64);
        self.tap.said(client.event_source(now, client.room.tick()), frames);
    }

    fn suspended(&self) -> Duration {
        self.suspended.time()
    }

    fn abort(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl TcpClient {
    /// Identifies the client's bytes to the listeners of the tap.
    pub fn event_source(&self, at: Duration, tick: u32) -> EventSource {
        EventSource { client: self.id, player: self.player().map_or(0, |player| player.0), at, tick }
    }
}
