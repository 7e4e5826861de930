//! A client of the server: with a TCP connection or, for a bot of the server, with one in memory.

use std::hint::black_box;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::key_log::KeyLog;
use super::lane_socket::LaneSocket;
use super::metrics::{PacketHeads, WorkerMetrics};
use super::rooms::RunningRoom;
use super::tap::{EventSource, Tap};
use crate::datagram::header::HEADER_BYTES;
use crate::server::clients::client::{NO_LANE_TEXT, Transport};
use crate::server::clients::client_lane::LaneGrant;
use crate::server::clients::memory_stream::MemoryStream;
use crate::util::os::{self, Suspended};

/// A client of the server.
pub type TcpClient = crate::server::clients::client::Client<TcpTransport>;

/// The stream of a client.
#[derive(Debug)]
pub enum ClientStream {
    /// A socket. Only the client's own thread reads from it.
    Socket(Arc<TcpStream>),
    /// The stream of a bot, which the thread of the bots reads.
    Memory(MemoryStream),
}

/// The transport of a client, with the tap and the metrics that record its bytes.
#[derive(Debug)]
pub struct TcpTransport {
    /// The socket, or the stream of a bot.
    pub stream: ClientStream,
    /// Time for which the machine was suspended since the server started.
    pub suspended: Suspended,
    /// Copies the client's traffic to subscriptions.
    pub tap: Tap,
    /// Metrics of the client's update worker.
    pub metrics: Arc<WorkerMetrics>,
    /// First bytes of the client's packets.
    pub packet_heads: Arc<PacketHeads>,
    /// Zero of the server's clock.
    pub clock_start: Instant,
    /// Start and end of the newest system call that sends, in nanoseconds on the server's clock.
    pub last_send_ns: [AtomicU64; 2],
    /// The client's room.
    pub room: Arc<RunningRoom>,
    /// The socket of the lanes, if the server has one.
    pub lanes: Option<Arc<LaneSocket>>,
    /// The key log, if the server writes one.
    pub key_log: Option<Arc<KeyLog>>,
    /// Datagrams sent to all clients.
    pub datagrams_out: Counter,
}

impl TcpTransport {
    /// Returns the socket; `None` for a bot of the server.
    pub fn socket(&self) -> Option<&Arc<TcpStream>> {
        match &self.stream {
            ClientStream::Socket(socket) => Some(socket),
            ClientStream::Memory(_) => None,
        }
    }

    /// Returns whether the client is a bot of the server.
    pub fn is_bot(&self) -> bool {
        self.socket().is_none()
    }

    /// Returns start and end of the newest system call that sends, on the server's clock. Zero
    /// before the first, and for a bot.
    pub fn last_send(&self) -> [Duration; 2] {
        self.last_send_ns.each_ref().map(|time| Duration::from_nanos(time.load(Ordering::Relaxed)))
    }

    /// Returns the metric that counts the client.
    pub fn client_count(&self) -> &Gauge {
        if self.is_bot() { &self.room.metrics.bots } else { &self.room.metrics.clients }
    }
}

impl Transport for TcpTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> std::io::Result<usize> {
        match &self.stream {
            ClientStream::Socket(socket) => {
                let started = self.clock_start.elapsed();
                let sent = os::try_send(socket, slices);
                let ended = self.clock_start.elapsed();
                for (stored, time) in self.last_send_ns.iter().zip([started, ended]) {
                    stored.store(time.as_nanos() as u64, Ordering::Relaxed);
                }
                self.metrics.sends.record(ended.saturating_sub(started));
                sent
            }
            ClientStream::Memory(stream) => Ok(stream.send(slices)),
        }
    }

    fn on_queued(&self, client: &TcpClient, frames: &[u8], now: Duration) {
        self.metrics.packets.count(&self.packet_heads, frames);
        self.tap.record_sent(client.event_source(now, client.room.tick()), frames);
    }

    fn suspended(&self) -> Duration {
        self.suspended.time()
    }

    fn grant_lane(&self, client: u64, offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        let (lanes, socket) = self.lanes.as_ref().zip(self.socket()).ok_or(NO_LANE_TEXT)?;
        let local = socket.local_addr().map_err(|_| NO_LANE_TEXT)?;
        let grant = lanes.grant(client, local.ip(), offer)?;
        if let (Some(log), Ok(peer)) = (&self.key_log, socket.peer_addr()) {
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

    fn prefetch(&self) {
        self.socket().into_iter().for_each(|socket| os::prefetch(socket));
        black_box(self.last_send_ns[0].load(Ordering::Relaxed));
    }

    fn abort(&self) {
        match &self.stream {
            ClientStream::Socket(socket) => drop(socket.shutdown(Shutdown::Both)),
            ClientStream::Memory(stream) => stream.abort(),
        }
    }
}

impl TcpClient {
    /// Returns the source of the client's bytes for tap subscriptions.
    pub fn event_source(&self, at: Duration, tick: u32) -> EventSource {
        EventSource { client: self.id, player: self.player().map_or(0, |player| player.0), at, tick }
    }
}
