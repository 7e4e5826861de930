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
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tracing::debug;

use crate::limits;
use crate::server::net::accept::Connections;
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

/// Carries datagrams between the clients and the server until the proxy stops. `connect` returns a
/// socket to the server and a link for a client, from its address and the number of earlier
/// clients, which seeds the link. Each datagram calls `on_datagram` with whether it is lost.
pub fn forward_datagrams(
    socket: &UdpSocket,
    connections: &Connections,
    connect: impl Fn(SocketAddr, u64) -> io::Result<(UdpSocket, DatagramLink)>,
    on_datagram: impl Fn(bool),
) {
    let (began, mut buffer) = (Instant::now(), vec![0; limits::RELAY_READ_BYTES]);
    let mut clients = BTreeMap::<SocketAddr, LaneClient>::new();
    let mut number = 0;
    while !connections.is_stopping() {
        let wait = if clients.is_empty() { limits::NETEM_LANES_WAIT } else { limits::NETEM_LANE_WAIT };
        let received = socket.set_read_timeout(Some(wait)).and_then(|()| socket.recv_from(&mut buffer));
        let now = began.elapsed();
        if let Ok((bytes, from)) = received {
            if !clients.contains_key(&from) && clients.len() < limits::NETEM_PROXY_MAX_CLIENTS {
                match connect(from, number) {
                    Ok((server, link)) => {
                        number += 1;
                        clients.insert(from, LaneClient { server, link, last_received: now });
                    }
                    Err(error) => debug!(%from, "no socket for datagrams: {error}"),
                }
            }
            if let Some(client) = clients.get_mut(&from) {
                client.last_received = now;
                on_datagram(is_lost(&mut client.link.up, &buffer[..bytes], now));
            }
        }
        for (address, client) in &mut clients {
            while let Ok(bytes) = client.server.recv(&mut buffer) {
                on_datagram(is_lost(&mut client.link.down, &buffer[..bytes], now));
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

/// Sends a datagram in one direction. Returns whether it is lost.
fn is_lost(way: &mut DelayedDatagrams, datagram: &[u8], now: Duration) -> bool {
    let lost = way.counts().1;
    way.send(datagram.to_vec(), now);
    way.counts().1 > lost
}
