//! The settings, events and shared state of an intercepting proxy.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::capture::ProxyCapture;
use super::traffic_log::TrafficLog;
use crate::client::tls;
use crate::client::url::Url;
use crate::packet::PacketTables;
use crate::server::net::accept::Connections;
use crate::server::net::registry::Registry;
use crate::tools::intercept::Observation;
use crate::tools::intercept::rule::Rule;
use crate::tools::intercept::upgrade::{HeadRewrite, UpgradeHeads};
use crate::util::netem::Conditions;
use crate::util::sync::Mutex;

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
    /// The server could not be reached, or has not answered an upgrade in time.
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

/// State shared by all threads.
pub(crate) struct ProxyState {
    pub(super) config: InterceptConfig,
    pub(super) began: Instant,
    pub(super) max_connections: usize,
    pub(super) totals: Mutex<InterceptStats>,
    pub(super) connections: Connections,
    /// Sockets to the server, which a stop shuts down.
    pub(super) servers: Registry<Arc<TcpStream>>,
    pub(super) log: Arc<TrafficLog>,
    pub(super) capture: Option<ProxyCapture>,
}

impl std::fmt::Debug for ProxyState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ProxyState").field("to", &self.config.to).finish_non_exhaustive()
    }
}

impl ProxyState {
    /// Passes an event to the program.
    pub(super) fn emit(&self, connection: u64, kind: ProxyEventKind<'_>) {
        (self.config.on_event)(&ProxyEvent { connection, at: self.began.elapsed(), kind });
    }
}
