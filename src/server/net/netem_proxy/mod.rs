//! `tickwire net`: forwards connections to a server under emulated network conditions.
//!
//! ```text
//!  client ◄──► proxy: up ─► [link] ─► down, one thread per client ◄──► server
//! ```
//!
//! Each connection of a client has its own connection to the server, over its own
//! [`link`](crate::util::netem). The request of a remote client gets a line with its address
//! ([`forwarded_header`]); no other byte is changed. On Linux, with a server on this machine, each
//! client connects from its own loopback address ([`loopback_address_for`]), so that the server's
//! limits per address still apply.

mod forward;
mod forwarded_header;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tickwire_sim::rng::Rng;
use tracing::{debug, warn};

use self::forward::{forward_bytes, is_reset};
use self::forwarded_header::Forward;
use super::accept::{self, AcceptErrors};
use super::registry::Registry;
use crate::limits;
use crate::util::netem::{Conditions, DelayHistogram, DuplexLink, SegmentCounts};
use crate::util::os;
use crate::util::sync::Mutex;

/// Settings of a netem proxy.
#[derive(Debug, Clone, Copy)]
pub struct ProxyConfig {
    /// Address to listen on; port 0 for any free port.
    pub listen: SocketAddr,
    /// Address of the server.
    pub to: SocketAddr,
    /// Network conditions of each connection.
    pub conditions: Conditions,
    /// Seed for losses and jitter.
    pub seed: u64,
}

/// Statistics of a netem proxy.
#[derive(Debug, Clone, Default)]
pub struct ProxyStats {
    /// Accepted connections.
    pub connections: u64,
    /// Accepted connections that were reset because there were too many.
    pub refused: u64,
    /// Accepted connections that were reset because the server could not be reached.
    pub failed: u64,
    /// Delivered bytes: `[to the server, to clients]`.
    pub bytes: [u64; 2],
    /// Segments and losses of both directions.
    pub counts: SegmentCounts,
    /// Time from reading to delivery, for each delivery.
    pub delays: DelayHistogram,
}

/// A running netem proxy. Its threads continue if it is dropped without [`NetemProxy::stop`].
#[derive(Debug)]
pub struct NetemProxy {
    shared: Arc<ProxyState>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// State shared by all threads.
#[derive(Debug)]
struct ProxyState {
    options: ProxyConfig,
    most: usize,
    is_stopping: AtomicBool,
    totals: Mutex<ProxyStats>,
    /// Sockets of all connections, which a stop shuts down.
    connections: Registry<Arc<TcpStream>>,
}

impl NetemProxy {
    /// Starts the proxy.
    ///
    /// # Errors
    /// The machine supports too few connections, the address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(options: ProxyConfig) -> io::Result<NetemProxy> {
        let connections = os::ceilings().check()?;
        let listener = Arc::new(TcpListener::bind(options.listen)?);
        os::widen_backlog(&listener)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ProxyState {
            options,
            // Each client needs two sockets.
            most: limits::NETEM_PROXY_MAX_CLIENTS.min(connections / 2),
            is_stopping: AtomicBool::new(false),
            totals: Mutex::default(),
            connections: Registry::default(),
        });
        let for_thread = (Arc::clone(&shared), Arc::clone(&listener));
        let accepting = thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || accept_all(&for_thread.0, &for_thread.1))?;
        Ok(NetemProxy { shared, listener, address, accepting })
    }

    /// Returns the address on which the proxy listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no new connections and shuts down all others. Returns the statistics.
    pub fn stop(self) -> ProxyStats {
        self.shared.is_stopping.store(true, Ordering::Release);
        os::wake_acceptor(&self.listener);
        let _ = self.accepting.join();
        for stream in self.shared.connections.all() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.shared.connections.wait_until_empty(Instant::now() + limits::SHUTDOWN_JOIN_TIMEOUT);
        self.shared.totals.lock().clone()
    }
}

/// Whether each client of a proxy to this server gets its own source address.
pub fn preserves_addresses(to: SocketAddr) -> bool {
    os::CAN_BIND_SOURCE && matches!(to.ip(), IpAddr::V4(ip) if ip.is_loopback())
}

/// Returns the loopback address that represents a client. A loopback client keeps its address.
/// Otherwise the first byte is 127, and the last three bytes are taken from the IPv4 address, or
/// from a hash of the IPv6 /64.
pub fn loopback_address_for(client: IpAddr) -> Ipv4Addr {
    let bits = match client.to_canonical() {
        IpAddr::V4(ip) => ip.to_bits(),
        IpAddr::V6(ip) if ip.is_loopback() => Ipv4Addr::LOCALHOST.to_bits(),
        IpAddr::V6(ip) => (Rng::from_state((ip.to_bits() >> 64) as u64).next_u64() >> 32) as u32,
    };
    // Neither the network address nor the broadcast address.
    let host = (bits & 0x00ff_ffff).clamp(1, 0x00ff_fffe);
    Ipv4Addr::from_bits(0x7f00_0000 | host)
}

fn accept_all(shared: &Arc<ProxyState>, listener: &TcpListener) {
    let mut errors = AcceptErrors::default();
    for number in 0.. {
        let accepted =
            accept::next(|| listener.accept(), || shared.is_stopping(), &mut errors, thread::sleep);
        let Some((stream, address)) = accepted else { return };
        let totals = &mut *shared.totals.lock();
        totals.connections += 1;
        if shared.connections.all().len() >= 2 * shared.most {
            totals.refused += 1;
            let _ = os::set_reset_on_close(&stream);
            continue;
        }
        shared.spawn_connection(stream, address, number);
    }
}

impl ProxyState {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    fn spawn_connection(self: &Arc<ProxyState>, stream: TcpStream, address: SocketAddr, number: u64) {
        let stream = Arc::new(stream);
        self.connections.add(2 * number, Arc::clone(&stream));
        let leaving = ConnectionGuard { shared: Arc::clone(self), number };
        let spawned = thread::Builder::new()
            .name("relay".to_owned())
            .stack_size(limits::CLIENT_STACK_BYTES)
            .spawn(move || leaving.shared.serve(&stream, address, number));
        if let Err(error) = spawned {
            warn!("cannot start a thread for a connection: {error}");
        }
    }

    /// Runs the thread of a connection.
    fn serve(&self, client: &TcpStream, address: SocketAddr, number: u64) {
        let ProxyConfig { to, conditions, seed, .. } = self.options;
        let from = preserves_addresses(to).then(|| IpAddr::V4(loopback_address_for(address.ip())));
        // A small receive buffer: the server's sends then block soon after this proxy stops
        // reading.
        let server = match os::connect(to, from, Some(limits::NETEM_QUEUE_BYTES)) {
            Ok(server) => Arc::new(server),
            Err(error) => {
                warn!(%address, "cannot connect to {to}: {error}");
                self.totals.lock().failed += 1;
                let _ = os::set_reset_on_close(client);
                return;
            }
        };
        if os::configure_accepted(client).and_then(|()| client.set_nonblocking(true)).is_err() {
            return; // The client has already disconnected.
        }
        self.connections.add(2 * number + 1, Arc::clone(&server));
        let link = DuplexLink::new(&conditions, Rng::from_state(seed ^ number << 32).next_u64());
        let told = |direction: usize, bytes: usize, counts: SegmentCounts, delay: Option<Duration>| {
            let totals = &mut *self.totals.lock();
            totals.bytes[direction] += bytes as u64;
            totals.counts.add(counts);
            delay.into_iter().for_each(|delay| totals.delays.add(delay));
        };
        let forward = Forward::new(address.ip());
        match forward_bytes([client, &server], link, forward, &self.is_stopping, told) {
            Ok(()) => {}
            Err(error) if is_reset(&error) => debug!(%address, "reset"),
            Err(error) => warn!(%address, "connection lost: {error}"),
        }
    }
}

/// Unregisters the sockets of a connection when its thread ends or panics.
struct ConnectionGuard {
    shared: Arc<ProxyState>,
    number: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shared.connections.remove(2 * self.number);
        self.shared.connections.remove(2 * self.number + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_gets_an_address_of_this_machine_that_can_be_used() {
        for (client, own) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.7.9", "127.0.7.9"),
            ("::1", "127.0.0.1"),
            ("::ffff:127.0.0.5", "127.0.0.5"),
            ("192.168.1.20", "127.168.1.20"),
            ("10.0.0.0", "127.0.0.1"),
            ("10.255.255.255", "127.255.255.254"),
        ] {
            assert_eq!(loopback_address_for(client.parse().expect(client)).to_string(), own, "{client}");
        }
        let own = |client: &str| loopback_address_for(client.parse().expect(client));
        assert_eq!(own("2001:db8::1"), own("2001:db8::2"));
        assert_ne!(own("2001:db8::1"), own("2001:db8:0:1::1"));
        assert!(own("2001:db8::1").is_loopback());
    }
}
