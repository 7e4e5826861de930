//! `tickwire between`: a proxy between the clients and the server of any WebSocket application.
//!
//! ```text
//!  client ◄──► one thread: upgrade, interceptor, emulated link ◄──► server
//!                     │ observations
//!                     ├─► hook of the program (terminal)
//!                     ├─► capture file
//!                     └─► traffic log ◄── requests ── page server ◄──► /wire
//! ```
//!
//! Each connection of a client has its own connection to the server and its own thread. The proxy
//! changes the request head for the server, and nothing else unless a rule or a person does. Pages
//! read the traffic log at their own pace; a slow page delays no connection.

mod capture;
mod page_requests;
mod page_server;
mod relay;
mod traffic_log;

use std::fs::File;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::warn;

use self::capture::ProxyCapture;
use self::page_server::PageServer;
use self::traffic_log::TrafficLog;
use super::accept::{self, AcceptLoop, ConnectionHandler, Connections};
use super::registry::Registry;
use crate::client::tls;
use crate::client::url::Url;
use crate::limits;
use crate::packet::PacketTables;
use crate::tools::intercept::Observation;
use crate::tools::intercept::rule::Rule;
use crate::tools::intercept::upgrade::{HeadRewrite, UpgradeHeads};
use crate::util::netem::Conditions;
use crate::util::os;
use crate::util::sync::Mutex;

/// The dialect name of a connection whose messages are no packets.
pub const NO_DIALECT: &str = crate::tools::inspector::NO_DIALECT;

/// Settings of an intercepting proxy.
pub(crate) struct InterceptConfig {
    /// Address to listen on, for the clients; port 0 for any free port.
    pub listen: SocketAddr,
    /// Address of the page; `None` for no page.
    pub inspect: Option<SocketAddr>,
    /// URL of the server.
    pub to: Url,
    /// TLS towards the server, for `wss://`.
    pub to_tls: Option<Arc<tls::ClientConfig>>,
    /// TLS towards the clients.
    pub own_tls: Option<Arc<tls::ServerConfig>>,
    /// Changes of each request head.
    pub rewrite: HeadRewrite,
    /// The first rules.
    pub rules: Vec<Rule>,
    /// Network conditions of each connection.
    pub conditions: Conditions,
    /// Seed for losses and jitter.
    pub seed: u64,
    /// Packet tables for messages of tickwire servers.
    pub codes: Arc<PacketTables>,
    /// The dialect of all connections. `None` selects it by the path of the request, and paths of
    /// other servers have none.
    pub dialect: Option<String>,
    /// File for a capture.
    pub capture: Option<File>,
    /// Called for each event, in the thread of its connection. It must not block.
    pub on_event: Box<dyn Fn(&ProxyEvent<'_>) + Send + Sync>,
}

/// An event of a connection.
#[derive(Debug)]
pub(crate) struct ProxyEvent<'a> {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// Time since the start of the proxy.
    pub at: Duration,
    /// The event itself.
    pub kind: ProxyEventKind<'a>,
}

/// The kind of an event.
#[derive(Debug)]
pub(crate) enum ProxyEventKind<'a> {
    /// The server has accepted an upgrade from this address. The secrets of the heads are
    /// overwritten.
    Upgraded(SocketAddr, &'a UpgradeHeads),
    /// The server has refused an upgrade with this status. The secrets are overwritten.
    Refused(SocketAddr, &'a UpgradeHeads, u16),
    /// A message.
    Message(&'a Observation<'a, 'a>),
    /// An upgraded connection has ended, for this reason.
    Ended(&'a str),
    /// The server could not be reached.
    Failed(&'a str),
}

/// Totals of an intercepting proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InterceptStats {
    /// Accepted connections.
    pub connections: u64,
    /// Connections that were reset because there were too many.
    pub refused: u64,
    /// Upgraded connections.
    pub upgraded: u64,
    /// Received messages and control frames: `[from clients, from the server]`.
    pub messages: [u64; 2],
}

/// A running intercepting proxy.
#[derive(Debug)]
pub(crate) struct InterceptingProxy {
    accept_loop: AcceptLoop<ProxyState>,
    address: SocketAddr,
    pages: Option<PageServer>,
}

/// State shared by all threads.
pub(super) struct ProxyState {
    config: InterceptConfig,
    began: Instant,
    max_connections: usize,
    totals: Mutex<InterceptStats>,
    connections: Connections,
    /// Sockets to the server, which a stop shuts down.
    servers: Registry<Arc<TcpStream>>,
    log: Arc<TrafficLog>,
    capture: Option<ProxyCapture>,
}

impl std::fmt::Debug for ProxyState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ProxyState").field("to", &self.config.to).finish_non_exhaustive()
    }
}

impl InterceptingProxy {
    /// Starts the proxy and its page.
    ///
    /// # Errors
    /// The machine supports too few connections, an address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(mut config: InterceptConfig) -> io::Result<InterceptingProxy> {
        let connections = os::ceilings().check()?;
        let listener = accept::bind(config.listen)?;
        let address = listener.local_addr()?;
        let began = Instant::now();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let log = Arc::new(TrafficLog::new(began, std::mem::take(&mut config.rules)));
        let pages = match config.inspect {
            Some(address) => {
                Some(PageServer::start(address, Arc::clone(&log), Arc::clone(&config.codes), since_1970)?)
            }
            None => None,
        };
        let capture = config.capture.take().map(|file| ProxyCapture::start(file, since_1970));
        let state = ProxyState {
            began,
            // Each client needs two sockets.
            max_connections: limits::INTERCEPT_CONNECTIONS.min(connections / 2),
            totals: Mutex::default(),
            connections: Connections::default(),
            servers: Registry::default(),
            log,
            capture: capture.transpose()?,
            config,
        };
        Ok(InterceptingProxy { accept_loop: AcceptLoop::start(listener, Arc::new(state))?, address, pages })
    }

    /// Returns the address for clients, with the actual port if port 0 was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the page, if there is one.
    pub fn page_address(&self) -> Option<SocketAddr> {
        self.pages.as_ref().map(PageServer::address)
    }

    /// Accepts no new connections and shuts down the open ones. Returns the totals.
    ///
    /// # Errors
    /// The capture file could not be written.
    pub fn stop(self) -> io::Result<InterceptStats> {
        let state = Arc::clone(self.accept_loop.handler());
        self.accept_loop.stop_accepting();
        for server in state.servers.all() {
            let _ = server.shutdown(Shutdown::Both);
        }
        state.connections.close_all(Duration::ZERO);
        self.pages.into_iter().for_each(PageServer::stop);
        if let Some(capture) = &state.capture {
            capture.finish()?;
        }
        Ok(*state.totals.lock())
    }
}

impl ConnectionHandler for ProxyState {
    const THREAD_NAME: &'static str = "between";
    /// The number of the connection.
    type Permit = u64;

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn admit(&self, stream: &TcpStream, _: SocketAddr) -> Option<(u64, u64)> {
        let totals = &mut *self.totals.lock();
        totals.connections += 1;
        let number = totals.connections;
        if self.connections.count() < self.max_connections {
            return Some((number, number));
        }
        totals.refused += 1;
        let _ = os::set_reset_on_close(stream);
        None
    }

    fn serve(self: &Arc<ProxyState>, stream: Arc<TcpStream>, address: SocketAddr, number: u64) {
        let _unregister = ServerGuard { state: self, number };
        if let Err(error) = relay::serve(self, &stream, address, number) {
            warn!(%address, connection = number, "connection lost: {error}");
        }
    }
}

impl ProxyState {
    fn emit(&self, connection: u64, kind: ProxyEventKind<'_>) {
        (self.config.on_event)(&ProxyEvent { connection, at: self.began.elapsed(), kind });
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
        self.state.log.end(self.number);
    }
}
