//! The start of a connection, in a thread of its own: reads request heads, then responds or turns
//! the connection into a [client](super::client_thread).
//!
//! ```text
//!  accept ─► head ─┬─ from a trusted proxy ─► address? slot? rate? ─► as below
//!                  ├─ no Upgrade ─► page, then the next head or close
//!                  ├─ POST /admin ─► body, commands, response, close
//!                  ├─ Upgrade to /wire ─► access? slot? ─► 101 ─► inspector
//!                  ├─ violation ─► 4xx, close
//!                  └─ Upgrade ─► wire format? origin? slot? ─┬─► 101 ─► client thread
//!                                                            └─ another process ─► relay
//! ```
//!
//! A request that fails a check (`?`) is refused with a status. [`limits::HEAD_TIMEOUT`] is an
//! absolute deadline for the head and for the body of `POST /admin`; [`keep_alive`] decides whether
//! a further head may follow a page. Every slot is released when the connection ends, and no panic
//! leaves this thread.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tracing::{debug, error, info};

use super::accept::Registration;
use super::access;
use super::any_room;
use super::blocking_io::write_all;
use super::bots;
use super::client_thread::{ClientThread, HeldByClient};
use super::cluster::placement::{self, Placement};
use super::cluster::relay;
use super::console::http_admin;
use super::drain;
use super::forwarded;
use super::inspector;
use super::keep_alive;
use super::metrics::Metrics;
use super::pages;
use super::request::{ReceivedHead, read_head, respond_and_close, write_response};
use super::rooms::{RoomPermit, RunningRoom};
use super::rooms_on_demand;
use super::server_state::ServerState;
use super::tap::{EventKind, EventSource};
use super::tcp_client::{ClientStream, TcpClient};
use crate::limits;
use crate::packet::routes::{self, RouteError, redact_room_name};
use crate::server::admission::Permit;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::{AcceptedClient, SUBPROTOCOLS, UpgradeCheck};
use crate::server::cluster::Holder;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::handshake;
use crate::ws::http::{HeadReader, RequestHead};

/// Entry point of a connection's thread.
pub fn run(
    host: &Arc<ServerState>,
    stream: Arc<TcpStream>,
    address: SocketAddr,
    (permit, registration): (Permit, Registration<ServerState>),
) {
    match catch_unwind(AssertUnwindSafe(|| serve_requests(host, &stream, address, permit))) {
        Ok(None) => {}
        Ok(Some(((client, permits), early_bytes))) => {
            let held = HeldByClient { permits, registration };
            ClientThread::register(Arc::clone(host), stream, client, held).run_setup(early_bytes);
        }
        Err(_) => {
            host.metrics.panics.inc();
            error!(%address, "a panic ended this connection; this is a bug in the server");
        }
    }
}

/// A connection that has become a client, with its slots.
type Upgraded = (Arc<TcpClient>, (Permit, RoomPermit));

/// The state of a connection after a response.
enum AfterResponse {
    /// The connection is a client.
    Client(Arc<TcpClient>, RoomPermit),
    /// A further request may follow.
    Open,
    Closed,
}

/// Reads heads and responds. Returns the client and the bytes after the head if the connection has
/// become a client. `peer` is the other end of the socket, possibly a proxy.
fn serve_requests(
    host: &Arc<ServerState>,
    stream: &Arc<TcpStream>,
    peer: SocketAddr,
    mut permit: Permit,
) -> Option<(Upgraded, Vec<u8>)> {
    let mut received = Vec::new();
    for count in 1..=limits::MAX_REQUESTS_PER_CONNECTION {
        let reader = HeadReader::with_body_rule(limits::HEAD_LIMITS, http_admin::has_commands);
        let (deadline, mut address) = (Instant::now() + limits::HEAD_TIMEOUT, peer);
        let answered =
            read_head(stream, reader, std::mem::take(&mut received), deadline, None).and_then(|read| {
                let Some(ReceivedHead { head, raw, early_bytes }) = read else {
                    return Ok((AfterResponse::Closed, Vec::new()));
                };
                let request = (&head, raw, &*early_bytes);
                let entered = resolve_client_address(host, &head, &mut address, &mut permit)
                    .and_then(|()| count_further_request(host, address, count))
                    .and_then(|()| {
                        respond(host, stream, request, count, (peer, address), &mut permit, deadline)
                    });
                entered.map_err(|refused| refused.to(&head)).map(|after| (after, early_bytes))
            });
        match answered {
            Ok((AfterResponse::Client(client, presence), early_bytes)) => {
                return Some(((client, (permit, presence)), early_bytes));
            }
            Ok((AfterResponse::Open, early_bytes)) if !early_bytes.is_empty() => received = early_bytes,
            Ok((AfterResponse::Open, _)) => {
                received = keep_alive::await_request(stream, &permit, || host.is_stopping())?;
            }
            Ok((AfterResponse::Closed, _)) => return None,
            Err(refused) => {
                refuse(host, stream, address, &refused);
                return None;
            }
        }
    }
    None
}

/// Counts a refusal, logs it and sends it.
fn refuse(host: &ServerState, stream: &TcpStream, address: SocketAddr, refused: &Refusal) {
    Metrics::count(&host.metrics.refused, "rule", refused.rule);
    if refused.is_capacity {
        Metrics::count(&host.metrics.refused_connections, "limit", refused.rule);
    }
    let Refusal { status, rule, detail, .. } = refused;
    info!(%address, status, rule, detail = Some(detail).filter(|text| !text.is_empty()), "request refused");
    respond_and_close(stream, &refused.response, b"");
}

/// Charges each request of a connection, except the first, to the address's rate limit of
/// connections.
fn count_further_request(host: &ServerState, address: SocketAddr, count: u32) -> Result<(), Refusal> {
    if count == 1 {
        return Ok(());
    }
    let prefix = AddressPrefix::from_ip(address.ip());
    let taken = host.address_limits().take(prefix, LimitedAction::Connection, host.now());
    taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Connection, wait))
}

/// Responds to operator commands, serves a page or an inspector, or upgrades the request to a
/// client. `early_bytes` is the bytes after the head, `count` the number of the request on its
/// connection. `address` is the client's, `peer` the other end of the socket.
fn respond(
    host: &Arc<ServerState>,
    stream: &Arc<TcpStream>,
    (head, raw, early_bytes): (&RequestHead, Vec<u8>, &[u8]),
    count: u32,
    (peer, address): (SocketAddr, SocketAddr),
    permit: &mut Permit,
    deadline: Instant,
) -> Result<AfterResponse, Refusal> {
    if http_admin::has_commands(head) {
        let response = http_admin::respond(host, stream, (head, early_bytes.to_vec()), address, deadline)?;
        respond_and_close(stream, &response, b"");
        return Ok(AfterResponse::Closed);
    }
    if inspector::is_inspector_request(head) {
        return inspector::serve(host, stream, (head, early_bytes.to_vec()), address, permit)
            .map(|()| AfterResponse::Closed);
    }
    if !head.has_upgrade_headers() {
        let is_proxied = forwarded::is_trusted(&host.config.trusted_proxies, peer.ip());
        let is_persistent = keep_alive::is_persistent(head, count, is_proxied, host.is_stopping());
        let response = pages::respond(host, head, address, is_persistent);
        // Logs only the path, because the query may contain a token.
        debug!(%address, status = response.status, path = &*redact_room_name(head.path()), "page");
        if is_persistent {
            let is_written = write_response(stream, &response.head, &response.body).is_ok();
            return Ok(if is_written { AfterResponse::Open } else { AfterResponse::Closed });
        }
        respond_and_close(stream, &response.head, &response.body);
        return Ok(AfterResponse::Closed);
    }
    upgrade(host, stream, (head, raw, early_bytes), (peer, address), permit)
}

/// Upgrades the request to a client.
fn upgrade(
    host: &Arc<ServerState>,
    stream: &Arc<TcpStream>,
    (head, mut raw, early_bytes): (&RequestHead, Vec<u8>, &[u8]),
    (peer, address): (SocketAddr, SocketAddr),
    permit: &mut Permit,
) -> Result<AfterResponse, Refusal> {
    let (entry, room, presence) = match accept_client(host, head, address, permit)? {
        Accepted::Here(entry, room, presence) => (*entry, room, presence),
        Accepted::Elsewhere(owner, owner_stream) => {
            info!(%address, to = owner.address, "a client is relayed");
            relay::run(
                host,
                stream,
                (&owner, owner_stream),
                (&raw, early_bytes),
                (permit.number(), address.ip()),
            );
            return Ok(AfterResponse::Closed);
        }
    };
    if write_all(stream, &entry.response, limits::HEAD_TIMEOUT).is_err() {
        return Ok(AfterResponse::Closed);
    }
    let id = host.next_client.fetch_add(1, Ordering::Relaxed);
    let AcceptedClient { room: handle, format, response, .. } = &entry;
    let (dialect, json) = (format.dialect.name(), format.is_json);
    info!(client = id, %address, room = room.label(), dialect, json, "client connected");
    if !entry.declined.is_empty() {
        let (offered, known) = (&*entry.declined, SUBPROTOCOLS.join(", "));
        info!(client = id, offered, known, "{}", handshake::DECLINED);
    }
    let (now, local) = (host.now(), stream.local_addr().unwrap_or(host.config.bind));
    // Captures record the connection as it is, with the proxy as the peer.
    relay::remove_header(&mut raw);
    room.redact_name(&mut raw);
    let what = EventKind::opened((peer, local), handle.game, (dialect, json), raw, response.clone());
    let source = EventSource { client: id, player: 0, at: now, tick: handle.tick() };
    host.tap.record_open(source, &room.run(), what);
    let stream = ClientStream::Socket(Arc::clone(stream));
    let transport = host.transport((id, &entry.format), room, stream);
    Ok(AfterResponse::Client(Arc::new(TcpClient::new((id, address), transport, entry, now)), presence))
}

/// An accepted upgrade request.
enum Accepted {
    /// A client of a room of this process.
    Here(Box<AcceptedClient>, Arc<RunningRoom>, RoomPermit),
    /// A client of a room of another process.
    Elsewhere(Holder, TcpStream),
}

/// Checks an upgrade request, enters the room of its path and wakes the room.
fn accept_client(
    host: &Arc<ServerState>,
    head: &RequestHead,
    address: SocketAddr,
    permit: &mut Permit,
) -> Result<Accepted, Refusal> {
    let (name, _) = routes::split_room_path(head.path());
    let prefix = AddressPrefix::from_ip(address.ip());
    let upgrade_check = UpgradeCheck {
        origins: &host.config.allowed_origins,
        codes: &host.config.codes,
        compression: host.compression.as_ref(),
        room: None,
        is_room_full: false,
        address_limits: host.address_limits(),
        is_stopping: host.is_stopping(),
    };
    // Enters before the checks, so that only one of two simultaneous clients gets the last slot.
    let wanted = any_room::conditions(head)?;
    let is_relayed = relay::client_address(host, head)?.is_some();
    let mut placed = match &wanted {
        Some(wanted) => Some(any_room::enter(host, head, address, &upgrade_check, (wanted, is_relayed))?),
        None => host.rooms.enter(name).map(Placement::Here),
    };
    if placed.is_none() && rooms_on_demand::can_create(host, name) && !upgrade_check.is_stopping {
        // Checked before the room is created: a request that would be refused must not create one.
        let (accepted, format) =
            UpgradeCheck { room: Some(&host.room().handle), ..upgrade_check }.check(head)?;
        let admit = || {
            rooms_on_demand::admit(host, head, address)
                .map_err(|close_reason| Refusal::closed(accepted.response.clone(), &format, close_reason))
        };
        placed = Some(match &host.cluster {
            Some(cluster) => placement::place(host, cluster, (name, prefix, is_relayed), admit)?,
            None => {
                admit()?;
                Placement::Here(rooms_on_demand::join_or_create(host, name, prefix)?)
            }
        });
    }
    let entered = match placed {
        Some(Placement::Elsewhere(owner, stream)) => {
            upgrade_check.admit_client(prefix, permit, host.now())?;
            return Ok(Accepted::Elsewhere(owner, stream));
        }
        Some(Placement::Here(joined)) => Some(joined),
        None => None,
    };
    let (room, presence) = entered.unzip();
    let is_full = matches!(presence, Some(None));
    let upgrade_check =
        UpgradeCheck { room: room.as_ref().map(|room| &room.handle), is_room_full: is_full, ..upgrade_check };
    drain::check_upgrade(host, head, address, &upgrade_check)?;
    let mut entry = upgrade_check.accept(head, prefix, permit, host.now())?;
    entry.is_local = !is_relayed && access::is_local_request(head, address, &host.config.trusted_proxies);
    let entered = room.zip(presence.flatten());
    let (room, presence) = entered.ok_or_else(|| Refusal::from(RouteError::Room))?;
    if wanted.is_some() {
        any_room::add_header(&mut entry.response, &room);
    }
    room.wake();
    bots::make_room(host, &room);
    Ok(Accepted::Here(Box::new(entry), room, presence))
}

/// Replaces the peer's IP address with the client's, as named by a trusted proxy. The port remains
/// the proxy's. From here on the request counts toward the client's address.
fn resolve_client_address(
    host: &ServerState,
    head: &RequestHead,
    address: &mut SocketAddr,
    permit: &mut Permit,
) -> Result<(), Refusal> {
    let (proxies, peer) = (&host.config.trusted_proxies, address.ip());
    if let Some(client) = relay::client_address(host, head)? {
        return resolve_relayed_address(host, (address, client), permit);
    }
    let client = forwarded::client_address(proxies, peer, head)
        .map_err(|entry| Refusal::of_value(400, forwarded::MALFORMED_RULE, forwarded::SENTENCE, entry))?;
    address.set_ip(client);
    permit.set_address(AddressPrefix::from_ip(client))?;
    // The listener has already counted connections that do not come from a trusted proxy.
    if forwarded::is_trusted(proxies, peer) {
        let taken =
            host.address_limits().take(AddressPrefix::from_ip(client), LimitedAction::Connection, host.now());
        taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Connection, wait))?;
    }
    Ok(())
}

/// Replaces the address of another process of the cluster with the address of its client. The
/// listener has counted the connection toward the process.
fn resolve_relayed_address(
    host: &ServerState,
    (address, client): (&mut SocketAddr, IpAddr),
    permit: &mut Permit,
) -> Result<(), Refusal> {
    let (relay, prefix) = (AddressPrefix::from_ip(address.ip()), AddressPrefix::from_ip(client));
    address.set_ip(client);
    permit.move_to_address(prefix)?;
    host.address_limits().refund(relay, LimitedAction::Connection);
    let taken = host.address_limits().take(prefix, LimitedAction::Connection, host.now());
    taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Connection, wait))
}
