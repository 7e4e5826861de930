//! A client with a TCP connection.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use super::key_log::KeyLog;
use super::lane_socket::LaneSocket;
use super::rooms::RunningRoom;
use super::tap::{EventSource, Tap};
use crate::datagram::header::HEADER_BYTES;
use crate::server::clients::client::{NO_LANE_TEXT, Transport};
use crate::server::clients::client_lane::LaneGrant;
use crate::util::os::{self, Suspended};

/// A client of the server.
pub type TcpClient = crate::server::clients::client::Client<TcpTransport>;

/// The TCP transport of a client, with the tap and the metrics that record its bytes.
#[derive(Debug)]
pub struct TcpTransport {
    /// The socket. Only the client's own thread reads from it.
    pub stream: Arc<TcpStream>,
    /// Time for which the machine was suspended since the connection started.
    pub suspended: Suspended,
    /// Copies the client's traffic to subscriptions.
    pub tap: Tap,
    /// Bytes queued for all clients.
    pub bytes_out: Counter,
    /// The client's room.
    pub room: Arc<RunningRoom>,
    /// The socket of the lanes, if the server has one.
    pub lanes: Option<Arc<LaneSocket>>,
    /// The key log, if the server writes one.
    pub key_log: Option<Arc<KeyLog>>,
    /// Datagrams sent to all clients.
    pub datagrams_out: Counter,
}

impl Transport for TcpTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> std::io::Result<usize> {
        os::try_send(&self.stream, slices)
    }

    fn on_queued(&self, client: &TcpClient, frames: &[u8], now: Duration) {
        self.bytes_out.inc_by(frames.len() as u64);
        self.tap.record_sent(client.event_source(now, client.room.tick()), frames);
    }

    fn suspended(&self) -> Duration {
        self.suspended.time()
    }

    fn grant_lane(&self, client: u64, offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        let lanes = self.lanes.as_ref().ok_or(NO_LANE_TEXT)?;
        let local = self.stream.local_addr().map_err(|_| NO_LANE_TEXT)?;
        let grant = lanes.grant(client, local.ip(), offer)?;
        if let (Some(log), Ok(peer)) = (&self.key_log, self.stream.peer_addr()) {
            log.append(&grant, SocketAddr::new(peer.ip().to_canonical(), peer.port()));
        }
        Ok(grant)
    }

    fn send_datagram(
        &self,
        client: &TcpClient,
        to: Option<SocketAddr>,
        datagram: &[u8],
        messages: &[u8],
        now: Duration,
    ) {
        let Some((lanes, to)) = self.lanes.as_ref().zip(to) else { return };
        self.datagrams_out.inc();
        lanes.send(to, datagram);
        if self.tap.has_subscriber(client.id) {
            let opened = [&datagram[..HEADER_BYTES], messages].concat();
            self.tap.record_sent_datagram(client.event_source(now, client.room.tick()), to, &opened);
        }
    }

    fn abort(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl TcpClient {
    /// Returns the source of the client's bytes for tap subscriptions.
    pub fn event_source(&self, at: Duration, tick: u32) -> EventSource {
        EventSource { client: self.id, player: self.player().map_or(0, |player| player.0), at, tick }
    }
}
