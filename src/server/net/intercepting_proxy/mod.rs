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
mod proxy_state;
mod relay;
mod traffic_log;

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tracing::warn;

use self::capture::ProxyCapture;
use self::page_server::PageServer;
use self::proxy_state::ProxyState;
pub(crate) use self::proxy_state::{InterceptConfig, InterceptStats, ProxyEvent, ProxyEventKind};
use self::traffic_log::TrafficLog;
use super::accept::{self, AcceptLoop, ConnectionHandler, Connections, Registration};
use super::registry::Registry;
use crate::limits;
use crate::util::os;
use crate::util::sync::Mutex;

/// A running intercepting proxy.
#[derive(Debug)]
pub(crate) struct InterceptingProxy {
    accept_loop: AcceptLoop<ProxyState>,
    address: SocketAddr,
    pages: Option<PageServer>,
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
        let url = client_url(address, config.own_tls.is_some());
        let pages = match config.inspect {
            Some(address) => {
                let codes = Arc::clone(&config.codes);
                Some(PageServer::start(address, Arc::clone(&log), codes, (url, since_1970))?)
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

/// The URL for clients on this machine.
fn client_url(address: SocketAddr, is_tls: bool) -> String {
    let scheme = if is_tls { "wss" } else { "ws" };
    match address.ip().is_unspecified() {
        true => format!("{scheme}://localhost:{}/", address.port()),
        false => format!("{scheme}://{address}/"),
    }
}

impl ConnectionHandler for ProxyState {
    const THREAD_NAME: &'static str = "between";
    /// With a small send buffer, a client's system delays the acknowledgement of a long message by
    /// 40 ms, because the message comes in parts that are smaller than a segment.
    const CONFIGURE: fn(&TcpStream) -> io::Result<()> = |stream| stream.set_nodelay(true);
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

    fn serve(
        self: &Arc<ProxyState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        number: u64,
        _registration: Registration<ProxyState>,
    ) {
        let _unregister = ServerGuard { state: self, number };
        if let Err(error) = relay::serve(self, &stream, address, number) {
            warn!(%address, connection = number, "connection lost: {error}");
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
        self.state.log.end(self.number);
    }
}
