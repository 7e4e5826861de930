//! The thread of the UDP socket: passes each datagram to the lane of its client.
//!
//! ```text
//!   recv_from ─┬────────────────► connection id ─► client ─► lane: tag, repetition ─► connection
//!              └─► data channel ─────────┘
//!   update worker ─► lane: seal ─┬──────────────────► send_to
//!                                └─► data channel ───────┘
//! ```
//!
//! A datagram whose connection id, tag or number is wrong gets no response. Nothing is sent to a
//! forged address.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tracing::{debug, info, warn};

use super::client_thread;
use super::config::ServerConfig;
use super::data_channels::{ChannelDatagrams, DataChannels};
use super::lane_mode::LaneMode;
use super::lane_socket::LaneSocket;
use super::metrics::Metrics;
use super::server_state::ServerState;
use crate::datagram::DatagramError;
use crate::limits;
use crate::util::os::threads;

/// Binds the UDP socket of the lanes to the address of the listener. Without it, all clients play
/// on their streams alone.
pub fn bind(config: &ServerConfig, address: SocketAddr) -> Option<Arc<LaneSocket>> {
    if config.lane == LaneMode::Off {
        return None;
    }
    if config.self_check {
        warn!("no lanes for datagrams, because --self-check reads the streams alone");
        return None;
    }
    if config.lane.has_webrtc() && !cfg!(feature = "webrtc") {
        warn!("no lanes by WebRTC, because this program was built without the feature `webrtc`");
    }
    match LaneSocket::bind(address, config.lane, config.udp_public) {
        Ok(lanes) => {
            let carriers = match config.lane {
                LaneMode::Off | LaneMode::Udp => "UDP",
                LaneMode::WebRtc => "WebRTC",
                LaneMode::Both => "UDP and WebRTC",
            };
            info!(%address, "lanes for datagrams by {carriers}");
            Some(Arc::new(lanes))
        }
        Err(error) => {
            warn!(%address, "no lanes for datagrams, because the UDP port cannot be used: {error}");
            None
        }
    }
}

/// Starts the thread of the socket. `None` if the server has no socket for lanes.
///
/// # Errors
/// The thread cannot be started.
pub fn start(host: &Arc<ServerState>) -> io::Result<Option<JoinHandle<()>>> {
    let Some(lanes) = host.lanes.clone() else { return Ok(None) };
    let host = Arc::clone(host);
    threads::spawn("lanes", move || receive_all(&host, &lanes)).map(Some)
}

fn receive_all(host: &ServerState, lanes: &LaneSocket) {
    let mut buffer = [0; limits::LANE_PACKET_BUFFER_BYTES];
    let mut timer = ChannelTimer::default();
    while !host.is_stopping() {
        timer.advance(lanes);
        let (bytes, from) = match lanes.receive(&mut buffer) {
            Ok(received) => received,
            // The timeout is for the timers of data channels.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            // Linux reports that an earlier datagram to a closed port was refused.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                warn!("the UDP socket fails: {error}");
                thread::sleep(limits::LANE_ERROR_PAUSE);
                continue;
            }
        };
        // From `LaneSocket::wake`.
        if bytes == 0 {
            continue;
        }
        host.metrics.datagrams_in.inc();
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        receive_packet(host, lanes, &buffer[..bytes], from);
    }
}

/// Runs the timers of the data channels.
#[derive(Debug, Default)]
struct ChannelTimer {
    /// Time of the next run. `None` without channels: the socket then waits without a timeout.
    next: Option<Instant>,
}

impl ChannelTimer {
    fn advance(&mut self, lanes: &LaneSocket) {
        if lanes.channels.is_empty() {
            if self.next.take().is_some() {
                let _ = lanes.set_wait(None);
            }
            return;
        }
        let now = Instant::now();
        if self.next.is_none() {
            let _ = lanes.set_wait(Some(limits::DATA_CHANNEL_TIMER_INTERVAL));
        }
        if self.next.is_none_or(|next| next <= now) {
            self.next = Some(now + limits::DATA_CHANNEL_TIMER_INTERVAL);
            lanes.channels.advance(|to, packet| lanes.send_packet(to, packet));
        }
    }
}

fn receive_packet(host: &ServerState, lanes: &LaneSocket, packet: &[u8], from: SocketAddr) {
    if !DataChannels::is_for_channel(packet) {
        return receive(host, lanes, (packet, None), from);
    }
    let send = |to, packet: &[u8]| lanes.send_packet(to, packet);
    match lanes.channels.receive(packet, from, send) {
        Ok(received) => receive_from_channel(host, lanes, &received, from),
        Err(rule) => {
            Metrics::count(&host.metrics.dropped_datagrams, "rule", rule.name());
            debug!(%from, bytes = packet.len(), rule = rule.name(), "packet dropped: {rule}");
        }
    }
}

fn receive_from_channel(
    host: &ServerState,
    lanes: &LaneSocket,
    received: &ChannelDatagrams,
    from: SocketAddr,
) {
    for datagram in &received.datagrams {
        receive(host, lanes, (datagram, Some(received.connection)), from);
    }
}

/// Passes a datagram to its client, or counts the rule that it breaks. `channel` is the connection
/// id of the data channel that carried it.
fn receive(
    host: &ServerState,
    lanes: &LaneSocket,
    (datagram, channel): (&[u8], Option<u32>),
    from: SocketAddr,
) {
    if let Err(rule) = pass(host, lanes, (datagram, channel), from) {
        Metrics::count(&host.metrics.dropped_datagrams, "rule", rule.name());
        debug!(%from, bytes = datagram.len(), rule = rule.name(), "datagram dropped: {rule}");
    }
}

fn pass(
    host: &ServerState,
    lanes: &LaneSocket,
    (datagram, channel): (&[u8], Option<u32>),
    from: SocketAddr,
) -> Result<(), DatagramError> {
    let number = lanes.client(datagram, channel)?;
    let client = host.clients.get(number).ok_or(DatagramError::UnknownConnection)?;
    client_thread::receive_datagram(host, &client, datagram, from)
}
