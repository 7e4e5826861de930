//! The server's listener: limits and admission of each connection, and the start of its thread.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use tracing::debug;

use super::accept::{ConnectionHandler, Connections, Registration};
use super::connection;
use super::forwarded;
use super::metrics::Metrics;
use super::request::refuse_at_accept;
use super::server_state::ServerState;
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::admit_connection;
use crate::server::admission::{Admitted, Permit, RefusalReason};
use crate::util::address_prefix::AddressPrefix;

impl ConnectionHandler for ServerState {
    const THREAD_NAME: &'static str = "connection";
    const STACK_BYTES: usize = limits::CONNECTION_STACK_BYTES;
    type Permit = Permit;

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn admit(&self, stream: &TcpStream, address: SocketAddr) -> Option<(u64, Permit)> {
        self.metrics.accepted.inc();
        match self.admit_address(address) {
            Ok(Admitted { permit, displaced }) => {
                if let Some(displaced) = displaced {
                    Metrics::count(
                        &self.metrics.refused_connections,
                        "limit",
                        RefusalReason::Displaced.name(),
                    );
                    debug!(%address, "a new connection displaces an unfinished request");
                    self.connections.abort(displaced);
                }
                Some((permit.number(), permit))
            }
            Err(refusal) => {
                Metrics::count(&self.metrics.refused_connections, "limit", refusal.rule);
                debug!(%address, limit = refusal.rule, "connection refused");
                refuse_at_accept(stream, &refusal);
                None
            }
        }
    }

    fn serve(
        self: &Arc<ServerState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        permit: Permit,
        registration: Registration<ServerState>,
    ) {
        connection::run(self, stream, address, (permit, registration));
    }

    fn on_thread_error(&self) {
        Metrics::count(&self.metrics.refused_connections, "limit", RefusalReason::Unavailable.name());
    }
}

impl ServerState {
    /// Charges the connection to its address and takes a slot. A connection from a trusted proxy
    /// counts toward no address until its request arrives.
    fn admit_address(&self, address: SocketAddr) -> Result<Admitted, Refusal> {
        let is_proxy = forwarded::is_trusted(&self.config.trusted_proxies, address.ip());
        let prefix = (!is_proxy).then(|| AddressPrefix::from_ip(address.ip()));
        admit_connection(&self.admission, self.address_limits(), prefix, self.now())
    }
}
