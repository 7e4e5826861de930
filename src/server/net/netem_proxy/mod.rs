//! `tickwire netem`: forwards connections to a server under emulated network conditions.
//!
//! ```text
//!  client ◄──► proxy: up ─► [link] ─► down, one thread per client ◄──► server
//! ```
//!
//! Each connection of a client has its own connection to the server, over its own
//! [`link`](crate::util::netem). The request of a remote client gets a line with its address
//! ([`forwarded_header`]); no other byte is changed. On Linux, with a server on this machine, each
//! client connects from its own loopback address ([`loopback_address_for`]), so that the server's
//! limits per address still apply. [`datagrams`] forwards the datagrams of lanes.

mod datagrams;
mod forward;
mod forwarded_header;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tickwire_sim::rng::Rng;
use tracing::{debug, warn};

use self::forward::{forward_bytes, is_reset};
use self::forwarded_header::Forward;
use super::accept::{self, AcceptLoop, ConnectionHandler, Connections, Registration};
use super::registry::Registry;
use crate::limits;
use crate::util::netem::{Conditions, DatagramLink, DelayHistogram, DuplexLink, SegmentCounts};
use crate::util::os;
use crate::util::os::threads;
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
    /// Datagrams of both directions.
    pub datagrams: u64,
    /// Lost datagrams of both directions.
    pub lost_datagrams: u64,
}

/// A running netem proxy. Its threads continue if it is dropped without [`NetemProxy::stop`].
#[derive(Debug)]
pub struct NetemProxy {
    accept_loop: AcceptLoop<ProxyState>,
    address: SocketAddr,
    /// The address for datagrams, and the thread that forwards them.
    datagrams: Option<(SocketAddr, JoinHandle<()>)>,
}

/// State shared by all threads.
#[derive(Debug)]
struct ProxyState {
    options: ProxyConfig,
    max_connections: usize,
    totals: Mutex<ProxyStats>,
    connections: Connections,
    /// Sockets to the server, which a stop shuts down.
    servers: Registry<Arc<TcpStream>>,
}

impl NetemProxy {
    /// Starts the proxy.
    ///
    /// # Errors
    /// The machine supports too few connections, the address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(options: ProxyConfig) -> io::Result<NetemProxy> {
        let connections = os::ceilings().check()?;
        let listener = accept::bind(options.listen)?;
        let address = listener.local_addr()?;
        let state = Arc::new(ProxyState {
            options,
            // Each client needs two sockets.
            max_connections: limits::NETEM_PROXY_MAX_CLIENTS.min(connections / 2),
            totals: Mutex::default(),
            connections: Connections::default(),
            servers: Registry::default(),
        });
        let accept_loop = AcceptLoop::start(listener, Arc::clone(&state))?;
        let socket = datagrams::bind(address.ip(), options.to);
        let forwarder = socket.map(|socket| {
            let address = socket.local_addr()?;
            let thread = threads::spawn("lanes", move || state.forward_datagrams(&socket))?;
            Ok::<_, io::Error>((address, thread))
        });
        Ok(NetemProxy { accept_loop, address, datagrams: forwarder.transpose()? })
    }

    /// Returns the address on which the proxy listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address at which the proxy forwards datagrams: its own address with the port of
    /// the server. `None` if that is the server's address, or is in use.
    pub fn datagrams(&self) -> Option<SocketAddr> {
        self.datagrams.as_ref().map(|(address, _)| *address)
    }

    /// Accepts no new connections and shuts down the open ones. Returns the statistics.
    pub fn stop(self) -> ProxyStats {
        let state = Arc::clone(self.accept_loop.handler());
        self.accept_loop.stop_accepting();
        for server in state.servers.all() {
            let _ = server.shutdown(Shutdown::Both);
        }
        state.connections.close_all(Duration::ZERO);
        if let Some((_, thread)) = self.datagrams {
            let _ = thread.join();
        }
        state.totals.lock().clone()
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

impl ConnectionHandler for ProxyState {
    const THREAD_NAME: &'static str = "relay";
    /// The number of the connection.
    type Permit = u64;

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn admit(&self, stream: &TcpStream, _: SocketAddr) -> Option<(u64, u64)> {
        let totals = &mut *self.totals.lock();
        let number = totals.connections;
        totals.connections += 1;
        if self.connections.count() < self.max_connections {
            return Some((number, number));
        }
        totals.refused += 1;
        let _ = os::set_reset_on_close(stream);
        None
    }

    fn serve(
        self: &Arc<ProxyState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        number: u64,
        _registration: Registration<ProxyState>,
    ) {
        let _unregister = ServerGuard { state: self, number };
        self.forward(&stream, address, number);
    }
}

impl ProxyState {
    /// Carries the datagrams of all clients.
    fn forward_datagrams(&self, socket: &UdpSocket) {
        let ProxyConfig { to, conditions, seed, .. } = self.options;
        let connect = |client: SocketAddr, number: u64| {
            let from: IpAddr = match to {
                _ if preserves_addresses(to) => loopback_address_for(client.ip()).into(),
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let server = UdpSocket::bind((from, 0))?;
            server.connect(to)?;
            server.set_nonblocking(true)?;
            Ok((server, DatagramLink::new(&conditions, Rng::from_state(!seed ^ number << 32).next_u64())))
        };
        datagrams::forward_datagrams(socket, &self.connections, connect, |is_lost| {
            let totals = &mut *self.totals.lock();
            totals.datagrams += 1;
            totals.lost_datagrams += u64::from(is_lost);
        });
    }

    /// Connects to the server, and carries bytes between it and the client.
    fn forward(&self, client: &TcpStream, address: SocketAddr, number: u64) {
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
        if client.set_nonblocking(true).is_err() {
            return; // The client has already disconnected.
        }
        self.servers.add(number, Arc::clone(&server));
        let link = DuplexLink::new(&conditions, Rng::from_state(seed ^ number << 32).next_u64());
        let on_progress = |direction: usize, bytes: usize, counts: SegmentCounts, delay: Option<Duration>| {
            let totals = &mut *self.totals.lock();
            totals.bytes[direction] += bytes as u64;
            totals.counts.add(counts);
            delay.into_iter().for_each(|delay| totals.delays.add(delay));
        };
        let forward = Forward::new(address.ip());
        match forward_bytes([client, &server], link, forward, &self.connections, on_progress) {
            Ok(()) => {}
            Err(error) if is_reset(&error) => debug!(%address, "reset"),
            Err(error) => warn!(%address, "connection lost: {error}"),
        }
    }
}

/// Unregisters the socket to the server when its thread ends or panics.
struct ServerGuard<'a> {
    state: &'a ProxyState,
    number: u64,
}

impl Drop for ServerGuard<'_> {
    fn drop(&mut self) {
        self.state.servers.remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_before_its_connection_to_the_server_exists() {
        let listener = accept::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let conditions = Conditions::default();
        let state = ProxyState {
            options: ProxyConfig { listen: address, to: address, conditions, seed: 1 },
            max_connections: 1,
            totals: Mutex::default(),
            connections: Connections::default(),
            servers: Registry::default(),
        };
        let stream = TcpStream::connect(address).expect("a connection");
        assert_eq!(state.admit(&stream, address), Some((0, 0)));
        state.connections.add(0, Arc::new(stream.try_clone().expect("a socket")));
        assert_eq!(state.admit(&stream, address), None);
        let totals = state.totals.lock();
        assert_eq!((totals.connections, totals.refused), (2, 1));
    }

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
