//! The datagrams of lanes, under the same conditions as the connections.
//!
//! ```text
//!  client ◄──► one UDP socket ─► [link] ─► a UDP socket for each client ◄──► server
//! ```
//!
//! A client sends its datagrams to the server's port, at the address of its WebSocket. So the proxy
//! listens at that port, and needs another address than the server.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tickwire_sim::rng::Rng;
use tracing::debug;

use super::{ProxyConfig, ProxyState, loopback_address_for, preserves_addresses};
use crate::limits;
use crate::util::netem::{DatagramLink, DelayedDatagrams};

/// The datagrams of one client.
struct LaneClient {
    server: UdpSocket,
    link: DatagramLink,
    /// Time of the last datagram from the client.
    last_received: Duration,
}

/// Binds the socket for the clients' datagrams; `None` if the proxy and the server have the same
/// address, or the port is in use.
pub fn bind(listen: IpAddr, to: SocketAddr) -> Option<UdpSocket> {
    (listen != to.ip()).then(|| UdpSocket::bind((listen, to.port())).ok()).flatten()
}

/// Carries datagrams between the clients and the server until the proxy stops.
pub fn forward_datagrams(state: &ProxyState, socket: &UdpSocket) {
    let (began, mut buffer) = (Instant::now(), vec![0; limits::RELAY_READ_BYTES]);
    let mut clients = BTreeMap::<SocketAddr, LaneClient>::new();
    while !state.connections.is_stopping() {
        let wait = if clients.is_empty() { limits::NETEM_LANES_WAIT } else { limits::NETEM_LANE_WAIT };
        let received = socket.set_read_timeout(Some(wait)).and_then(|()| socket.recv_from(&mut buffer));
        let now = began.elapsed();
        if let Ok((bytes, from)) = received {
            if !clients.contains_key(&from) && clients.len() < limits::NETEM_PROXY_MAX_CLIENTS {
                match LaneClient::new(&state.options, from, clients.len() as u64) {
                    Ok(client) => drop(clients.insert(from, client)),
                    Err(error) => debug!(%from, "no socket for datagrams: {error}"),
                }
            }
            if let Some(client) = clients.get_mut(&from) {
                client.last_received = now;
                send(state, &mut client.link.up, &buffer[..bytes], now);
            }
        }
        for (address, client) in &mut clients {
            while let Ok(bytes) = client.server.recv(&mut buffer) {
                send(state, &mut client.link.down, &buffer[..bytes], now);
            }
            while let Some(datagram) = client.link.up.receive(now) {
                let _ = client.server.send(&datagram);
            }
            while let Some(datagram) = client.link.down.receive(now) {
                let _ = socket.send_to(&datagram, address);
            }
        }
        clients.retain(|_, client| now.saturating_sub(client.last_received) < limits::NETEM_LANE_TIMEOUT);
    }
}

impl LaneClient {
    fn new(options: &ProxyConfig, client: SocketAddr, number: u64) -> io::Result<LaneClient> {
        let ProxyConfig { to, conditions, seed, .. } = options;
        let from: IpAddr = match to {
            _ if preserves_addresses(*to) => loopback_address_for(client.ip()).into(),
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let server = UdpSocket::bind((from, 0))?;
        server.connect(to)?;
        server.set_nonblocking(true)?;
        let link = DatagramLink::new(conditions, Rng::from_state(!seed ^ number << 32).next_u64());
        Ok(LaneClient { server, link, last_received: Duration::ZERO })
    }
}

/// Sends a datagram in one direction, and counts it.
fn send(state: &ProxyState, way: &mut DelayedDatagrams, datagram: &[u8], now: Duration) {
    let lost = way.counts().1;
    way.send(datagram.to_vec(), now);
    let totals = &mut *state.totals.lock();
    totals.datagrams += 1;
    totals.lost_datagrams += way.counts().1 - lost;
}
