//! The start of a connection, in its own thread: read the request head, then answer with a page or
//! become a client.
//!
//! ```text
//!  accept ─► head (absolute deadline) ─┬─ from a trusted proxy ─► client's address, or 400; place, or 403, 503 ─► as below
//!                                      ├─ no Upgrade ─► page, close
//!                                      ├─ POST /admin ─► body (the same deadline), commands, answer, close
//!                                      ├─ Upgrade to /wire ─► access? place? ─► 101 ─► watcher
//!                                      ├─ broken rule ─► 4xx, close
//!                                      └─ Upgrade ─► endpoint, origin, place? ─► 101 ─► conversation
//! ```
//!
//! A head that takes longer than [`limits::HEAD_TIMEOUT`] to arrive is refused, a place is never kept
//! after the connection ends, and a panic never leaves this thread.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tracing::{debug, error, info};

use super::access;
use super::blocking_io::{drain, read, write_all};
use super::client_thread;
use super::console::http_admin;
use super::forwarded;
use super::inspector;
use super::metrics::Metrics;
use super::pages;
use super::rooms::{RoomPermit, RunningRoom};
use super::rooms_on_demand;
use super::server_state::ServerState;
use super::tap::{EventKind, EventSource};
use super::tcp_client::{TcpClient, TcpTransport};
use crate::limits;
use crate::packet::credentials;
use crate::packet::routes::{self, RouteError, redact_room_name};
use crate::server::admission::Permit;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::{AcceptedClient, SUBPROTOCOLS, UpgradeCheck};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os::Suspended;
use crate::ws::handshake;
use crate::ws::http::{HeadReader, RequestHead};

/// The entry point of a connection's thread.
pub fn run(host: &Arc<ServerState>, stream: Arc<TcpStream>, address: SocketAddr, permit: Permit) {
    let lived = catch_unwind(AssertUnwindSafe(|| {
        if let Some((client, places, rest)) = begin(host, stream, address, permit) {
            client_thread::run(host, &client, &rest);
            drop(places);
        }
    }));
    if lived.is_err() {
        host.metrics.panics.inc();
        error!(%address, "a panic ended this connection; this is a bug in the server");
    }
}

/// The places that a client has until it leaves, in the host and in its room.
type ClientPermits = (Permit, RoomPermit);

/// Reads the head and answers it. `Some` when the connection has become a client. `peer` is the
/// other end, which may be a proxy.
#[inline(never)] // Its buffers would stay on the stack of the conversation: a page of memory per client.
fn begin(
    host: &Arc<ServerState>,
    stream: Arc<TcpStream>,
    peer: SocketAddr,
    mut permit: Permit,
) -> Option<(Arc<TcpClient>, ClientPermits, Vec<u8>)> {
    let (deadline, mut address) = (Instant::now() + limits::HEAD_TIMEOUT, peer);
    let answered = read_head(&stream, deadline).and_then(|read| {
        let Some((head, raw, rest)) = read else { return Ok(None) };
        whose(host, &head, &mut address, &mut permit).map_err(|refused| refused.to(&head))?;
        let entered = respond(host, &stream, (&head, raw, &rest), (peer, address), &mut permit, deadline);
        entered.map_err(|refused| refused.to(&head)).map(|entered| entered.zip(Some(rest)))
    });
    match answered {
        Ok(entered) => entered.map(|((client, presence), rest)| (client, (permit, presence), rest)),
        Err(refused) => {
            Metrics::count(&host.metrics.refused, "rule", refused.rule);
            if refused.is_cap {
                Metrics::count(&host.metrics.refused_connections, "cap", refused.rule);
            }
            let Refusal { status, rule, detail, .. } = &refused;
            info!(%address, status, rule, detail = Some(detail).filter(|text| !text.is_empty()), "request refused");
            answer(&stream, &refused.response, b"");
            None
        }
    }
}

/// Answers a request with the answers to operator commands, a page or a watcher's conversation, or
/// makes a client of it. `rest` is the bytes after it, and `address` the client's.
fn respond(
    host: &Arc<ServerState>,
    stream: &Arc<TcpStream>,
    (head, raw, rest): (&RequestHead, Vec<u8>, &[u8]),
    (peer, address): (SocketAddr, SocketAddr),
    permit: &mut Permit,
    deadline: Instant,
) -> Result<Option<(Arc<TcpClient>, RoomPermit)>, Refusal> {
    if http_admin::brings_lines(head) {
        let response = http_admin::respond(host, stream, (head, rest.to_vec()), address, deadline)?;
        answer(stream, &response, b"");
        return Ok(None);
    }
    if inspector::is_meant(head) {
        return inspector::serve(host, stream, (head, rest.to_vec()), address, permit).map(|()| None);
    }
    if !head.has_upgrade_headers() {
        let response = pages::respond(host, head, address);
        // The path alone: a query may hold a token.
        debug!(%address, status = response.status, path = &*redact_room_name(head.path()), "page");
        answer(stream, &response.head, &response.body);
        return Ok(None);
    }
    let mut raw = raw;
    let (entry, hosted, presence) = enter(host, head, address, permit)?;
    if write_all(stream, &entry.response, limits::HEAD_TIMEOUT).is_err() {
        return Ok(None);
    }
    let id = host.next_client.fetch_add(1, Ordering::Relaxed);
    let AcceptedClient { room, endpoint, response, .. } = &entry;
    let (dialect, json) = (endpoint.dialect.name(), endpoint.is_json);
    info!(client = id, %address, room = hosted.label(), dialect, json, "client connected");
    if !entry.declined.is_empty() {
        let (offered, known) = (credentials::shown_list(&entry.declined), SUBPROTOCOLS.join(", "));
        info!(client = id, offered, known, "{}", handshake::DECLINED);
    }
    let (now, local) = (host.now(), stream.local_addr().unwrap_or(host.config.bind));
    // A capture shows the connection as it is, with the proxy at its other end.
    hosted.cover_name(&mut raw);
    let what = EventKind::opened((peer, local), room.about, (dialect, json), raw, response.clone());
    let who = EventSource { client: id, player: 0, at: now, tick: room.tick() };
    host.tap.opened(who, &hosted.run(), what);
    let (tap, bytes_out) = (host.tap.clone(), host.metrics.bytes_out.clone());
    let (stream, suspended) = (Arc::clone(stream), Suspended::start());
    let socket = TcpTransport { stream, suspended, tap, bytes_out, room: hosted };
    Ok(Some((Arc::new(TcpClient::new((id, address), socket, entry, now)), presence)))
}

/// Lets a request become a client of the room of its path, and wakes the room.
fn enter(
    host: &Arc<ServerState>,
    head: &RequestHead,
    address: SocketAddr,
    permit: &mut Permit,
) -> Result<(AcceptedClient, Arc<RunningRoom>, RoomPermit), Refusal> {
    let (name, _) = routes::split_room_path(head.path());
    let household = AddressPrefix::from_ip(address.ip());
    let door = UpgradeCheck {
        origins: &host.config.allowed_origins,
        codes: &host.config.codes,
        room: None,
        is_full: false,
        budgets: host.budgets(),
        is_stopping: host.is_stopping(),
    };
    // Counted first: of two clients that come at once, one gets the last place.
    let mut entered = host.rooms.enter(name);
    if entered.is_none() && rooms_on_demand::is_possible(host, name) && !door.is_stopping {
        // What makes no client makes no room.
        let (accepted, endpoint) = UpgradeCheck { room: Some(&host.room().handle), ..door }.check(head)?;
        rooms_on_demand::admit(host, head, address)
            .map_err(|breach| Refusal::closed(accepted.response, &endpoint, breach))?;
        entered = Some(rooms_on_demand::enter(host, name, household)?);
    }
    let (hosted, presence) = entered.unzip();
    let is_full = matches!(presence, Some(None));
    let door = UpgradeCheck { room: hosted.as_ref().map(|hosted| &hosted.handle), is_full, ..door };
    let mut entry = door.enter(head, household, permit, host.now())?;
    entry.is_local = access::is_at_this_machine(head, address, &host.config.trusted_proxies);
    let entered = hosted.zip(presence.flatten());
    let (hosted, presence) = entered.ok_or_else(|| Refusal::from(RouteError::Room))?;
    hosted.rouse();
    Ok((entry, hosted, presence))
}

/// A head that was read, its bytes, and those that came after it.
type ReadHead = (RequestHead, Vec<u8>, Vec<u8>);

/// The head and the bytes after it; `Ok(None)` if the peer left before the head was complete, or has
/// sent nothing in time.
fn read_head(stream: &TcpStream, deadline: Instant) -> Result<Option<ReadHead>, Refusal> {
    let (mut reader, mut buffer) =
        (HeadReader::with_body_rule(limits::HEAD_LIMITS, http_admin::brings_lines), [0; limits::READ_BYTES]);
    let mut raw = Vec::new();
    loop {
        // A time for each read begins anew: only the remaining time makes the deadline absolute.
        let left = deadline.saturating_duration_since(Instant::now());
        let count = match read(stream, &mut buffer, left) {
            Ok(None) if !reader.has_begun() => return Ok(None),
            Ok(None) => return Err(Refusal::plain(408, "head_late")),
            Ok(Some(0)) | Err(_) => return Ok(None),
            Ok(Some(count)) => count,
        };
        raw.extend_from_slice(&buffer[..count]);
        if let Some(head) = reader.receive(&buffer[..count])? {
            raw.truncate(raw.len() - reader.rest().len());
            return Ok(Some((head, raw, reader.rest().to_vec())));
        }
    }
}

/// Replaces the peer's address by the client's: behind a trusted proxy, the address that the proxy
/// names, with the port of the proxy's connection. From now on the request counts for this address.
fn whose(
    host: &ServerState,
    head: &RequestHead,
    address: &mut SocketAddr,
    permit: &mut Permit,
) -> Result<(), Refusal> {
    let (proxies, peer) = (&host.config.trusted_proxies, address.ip());
    let client = forwarded::client(proxies, peer, head)
        .map_err(|entry| Refusal::of_value(400, forwarded::MALFORMED, forwarded::SENTENCE, entry))?;
    address.set_ip(client);
    permit.belongs_to(AddressPrefix::from_ip(client))?;
    // The listener has counted a connection that no proxy made.
    if forwarded::is_trusted(proxies, peer) {
        let taken =
            host.budgets().take(AddressPrefix::from_ip(client), LimitedAction::Connection, host.now());
        taken.map_err(|wait| Refusal::too_often(LimitedAction::Connection, wait))?;
    }
    Ok(())
}

/// Writes a response of one or two parts, and closes the connection such that the peer can read it.
fn answer(stream: &TcpStream, response: &[u8], rest: &[u8]) {
    let deadline = Instant::now() + limits::PAGE_WRITE_TIMEOUT;
    let written = write_all(stream, response, limits::PAGE_WRITE_TIMEOUT)
        .and_then(|()| write_all(stream, rest, deadline.saturating_duration_since(Instant::now())));
    if written.is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
        drain(stream, limits::CLOSE_TIMEOUT, limits::MAX_DRAIN_BYTES, |_| {});
    }
}
