//! The thread of the UDP socket: passes each datagram to the lane of its client.
//!
//! ```text
//!   recv_from ─► connection id ─► client ─► lane: tag, repetition ─► connection ─► room
//!   update worker ─► lane: seal ─► send_to
//! ```
//!
//! A datagram whose connection id, tag or number is wrong gets no response. Nothing is sent to a
//! forged address.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tracing::{debug, info, warn};

use super::client_thread;
use super::config::{LaneMode, ServerConfig};
use super::lane_socket::LaneSocket;
use super::metrics::Metrics;
use super::server_state::ServerState;
use crate::datagram::DatagramError;
use crate::limits;

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
    match LaneSocket::bind(address) {
        Ok(lanes) => {
            info!(%address, "lanes for datagrams by UDP");
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
    let thread = thread::Builder::new().name("lanes".to_owned());
    thread.spawn(move || receive_all(&host, &lanes)).map(Some)
}

fn receive_all(host: &ServerState, lanes: &LaneSocket) {
    // One byte more than allowed, so that a longer datagram is seen to be too long.
    let mut buffer = [0; limits::DATAGRAM_BYTES + 1];
    while !host.is_stopping() {
        let (bytes, from) = match lanes.receive(&mut buffer) {
            Ok(received) => received,
            // Linux reports that an earlier datagram to a closed port was refused.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                warn!("the UDP socket fails: {error}");
                thread::sleep(limits::LANE_ERROR_PAUSE);
                continue;
            }
        };
        host.metrics.datagrams_in.inc();
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        if let Err(rule) = receive(host, lanes, &buffer[..bytes], from) {
            Metrics::count(&host.metrics.dropped_datagrams, "rule", rule.name());
            debug!(%from, bytes, rule = rule.name(), "datagram dropped: {rule}");
        }
    }
}

fn receive(
    host: &ServerState,
    lanes: &LaneSocket,
    datagram: &[u8],
    from: SocketAddr,
) -> Result<(), DatagramError> {
    let number = lanes.client(datagram)?;
    let client = host.clients.get(number).ok_or(DatagramError::UnknownConnection)?;
    client_thread::receive_datagram(host, &client, datagram, from)
}
