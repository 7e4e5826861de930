//! The listener: accepts connections, requests admission, and starts a thread for each.
//!
//! The listener never reads, never blocks in a write, never starts more threads than the caps
//! allow, and does not spin when the process runs out of descriptors.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use tracing::{debug, warn};

use super::accept::{self, AcceptErrors};
use super::connection;
use super::forwarded;
use super::metrics::Metrics;
use super::server_state::ServerState;
use crate::limits;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::{Admitted, RefusalReason};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;

/// Runs the listener until its socket is shut down.
pub fn run(host: &Arc<ServerState>, listener: &TcpListener) {
    let mut errors = AcceptErrors::default();
    while let Some((stream, address)) =
        accept::next(|| listener.accept(), || host.is_stopping(), &mut errors, thread::sleep)
    {
        take(host, stream, address);
    }
}

fn take(host: &Arc<ServerState>, stream: TcpStream, address: SocketAddr) {
    host.metrics.accepted.inc();
    // A socket bound to `[::]` reports IPv4 peers as `::ffff:127.0.0.1`. Limits and the check for
    // this machine need the IPv4 address.
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let is_proxy = forwarded::is_trusted(&host.config.trusted_proxies, address.ip());
    let household = (!is_proxy).then(|| AddressPrefix::from_ip(address.ip()));
    if let Some(household) = household
        && let Err(wait) = host.budgets().take(household, LimitedAction::Connection, host.now())
    {
        return send_refusal(host, &stream, address, &Refusal::rate_limited(LimitedAction::Connection, wait));
    }
    let Admitted { permit, displaced } = match host.admission.admit(household) {
        Ok(admitted) => admitted,
        Err(cap) => return send_refusal(host, &stream, address, &cap.into()),
    };
    if let Some(displaced) = displaced {
        Metrics::count(&host.metrics.refused_connections, "limit", RefusalReason::Displaced.name());
        debug!(%address, "a new connection displaces an unfinished request");
        host.abort_connection(displaced);
    }
    if os::configure_accepted(&stream).is_err() {
        return; // The peer has already disconnected.
    }
    let (for_thread, stream) = (Arc::clone(host), Arc::new(stream));
    let number = permit.number();
    host.connections.add(number, Arc::clone(&stream));
    let spawned = thread::Builder::new()
        .name("client".to_owned())
        .stack_size(limits::CLIENT_STACK_BYTES)
        .spawn(move || {
            connection::run(&for_thread, stream, address, permit);
            for_thread.connections.remove(number);
        });
    if let Err(error) = spawned {
        host.connections.remove(number);
        warn!("cannot start a thread for a connection: {error}");
        Metrics::count(&host.metrics.refused_connections, "limit", RefusalReason::Unavailable.name());
    }
}

/// Sends a refusal from the listener's thread. The send does not block, because the send buffer of
/// a new connection is empty.
fn send_refusal(host: &ServerState, stream: &TcpStream, address: SocketAddr, refused: &Refusal) {
    Metrics::count(&host.metrics.refused_connections, "limit", refused.rule);
    debug!(%address, limit = refused.rule, "connection refused");
    let _ = os::try_send(stream, [&refused.response[..]].into_iter());
}
