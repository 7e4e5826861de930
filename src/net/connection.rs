//! The start of a connection, in its own thread: read the request head, then answer with a page or
//! become a client.
//!
//! ```text
//!  accept ─► head (absolute deadline) ─┬─ behind a trusted proxy ─► whose? 400, its place? 403, 503 ─► as below
//!                                      ├─ no Upgrade ─► page, close
//!                                      ├─ POST /admin ─► body (the same deadline), orders, answer, close
//!                                      ├─ Upgrade to /wire ─► may it? place? ─► 101 ─► watcher
//!                                      ├─ broken rule ─► 4xx, close
//!                                      └─ Upgrade ─► endpoint, origin, place? ─► 101 ─► conversation
//! ```
//!
//! A head that drips for longer than [`limits::HEAD_TIME`] is refused, a place is never kept after
//! the connection ends, and a panic never leaves this thread.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::{debug, error, info};

use super::admission::{Permit, TurnedAway};
use super::budgets::Spending;
use super::client::Client;
use super::console::admin;
use super::conversation;
use super::forwarded;
use super::host::Host;
use super::metrics::Metrics;
use super::pages;
use super::tap::Handshake;
use super::wire;
use crate::household::Household;
use crate::limits;
use crate::packet::endpoint::NoEndpoint;
use crate::packet::endpoint::room_of;
use crate::peer::Endpoint;
use crate::room::Handle;
use crate::ws::http::{self, HeadReader, RequestHead};
use crate::ws::upgrade;

/// The subprotocols we speak: that of the native dialect.
pub const SUBPROTOCOLS: [&str; 1] = ["tickwire.v1"];

/// The entry point of a connection's thread.
pub fn run(shared: &Arc<Host>, stream: Arc<TcpStream>, address: SocketAddr, permit: Permit) {
    let lived = catch_unwind(AssertUnwindSafe(|| {
        if let Some((client, permit, rest)) = begin(shared, stream, address, permit) {
            conversation::run(shared, &client, &rest);
            drop(permit);
        }
    }));
    if lived.is_err() {
        shared.metrics.panics.inc();
        error!(%address, "a panic ended this connection; it is a bug of the server");
    }
}

/// Reads the head and answers it. `Some` when the connection has become a client. `peer` is who connected, which may be a proxy.
fn begin(
    shared: &Arc<Host>,
    stream: Arc<TcpStream>,
    peer: SocketAddr,
    mut permit: Permit,
) -> Option<(Arc<Client>, Permit, Vec<u8>)> {
    let deadline = Instant::now() + limits::HEAD_TIME;
    let (head, raw, rest) = match read_head(&stream, deadline) {
        Ok(complete) => complete?,
        Err(refusal) => {
            refuse(shared, &stream, peer, refusal);
            return None;
        }
    };
    let address = match whose(shared, &head, peer, &mut permit) {
        Ok(address) => address,
        Err(refusal) => {
            refuse(shared, &stream, peer, refusal.to(&head));
            return None;
        }
    };
    if admin::brings_lines(&head) {
        match admin::respond(shared, &stream, (&head, rest), address, deadline) {
            Ok(response) => answer(&stream, &response, b""),
            Err(refused) => refuse(shared, &stream, address, refused),
        }
        return None;
    }
    if wire::is_meant(&head) {
        if let Err(refused) = wire::serve(shared, &stream, (&head, rest), address, &mut permit) {
            refuse(shared, &stream, address, refused.to(&head));
        }
        return None;
    }
    if !head.asks_for_upgrade() {
        let response = pages::respond(shared, &head, address);
        // The path alone: a query may hold a token.
        debug!(%address, status = response.status, path = head.path(), "page");
        answer(&stream, &response.head, &response.body);
        return None;
    }
    match upgrade(shared, &head, Household::of(address.ip()), &mut permit) {
        Ok((room, endpoint, response)) => {
            write_all(&stream, &response, limits::HEAD_TIME).ok()?;
            let id = shared.next_client_id();
            let dialect = endpoint.dialect.name();
            info!(client = id, %address, dialect, json = endpoint.is_json, "client connected");
            let (now, local) = (shared.now(), stream.local_addr().unwrap_or(shared.config.bind));
            let spoken = (Arc::clone(&endpoint.dialect), endpoint.is_json);
            let begun = (Arc::clone(&room.options.name), now, room.tick());
            // A capture shows the connection as it is, with the proxy at its other end.
            shared.tap.opened(id, Handshake::new((peer, local), spoken, begun, raw, response));
            let told = (shared.tap.clone(), shared.metrics.bytes_out.clone());
            let client = Arc::new(Client::new(id, address, stream, room, endpoint, told, now));
            Some((client, permit, rest))
        }
        Err(refusal) => {
            refuse(shared, &stream, address, refusal.to(&head));
            None
        }
    }
}

/// A refused request: what to log and count, and the whole response.
pub struct Refused {
    status: u16,
    rule: &'static str,
    response: Vec<u8>,
}

impl From<http::Refusal> for Refused {
    fn from(refusal: http::Refusal) -> Refused {
        Refused { status: refusal.status, rule: refusal.violation.name(), response: refusal.response() }
    }
}

impl From<NoEndpoint> for Refused {
    fn from(missing: NoEndpoint) -> Refused {
        let (status, rule) = missing.status();
        Refused::plain(status, rule)
    }
}

impl Refused {
    /// A refusal whose body is the rule's name.
    pub fn plain(status: u16, rule: &'static str) -> Refused {
        Refused::with(status, rule, &[])
    }

    /// As the answer to this request: `HEAD` gets none of the body (RFC 9110 section 9.3.2).
    fn to(mut self, head: &RequestHead) -> Refused {
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        if let (true, Some(end)) = (head.method == "HEAD", end) {
            self.response.truncate(end + 4);
        }
        self
    }

    /// The whole response.
    pub fn response(&self) -> &[u8] {
        &self.response
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The rule's name.
    pub fn rule(&self) -> &'static str {
        self.rule
    }

    /// The same with additional headers.
    pub fn with(status: u16, rule: &'static str, more: &[(&str, &str)]) -> Refused {
        let body = format!("{rule}\n");
        let response = http::response(status, "text/plain; charset=utf-8", more, body.as_bytes());
        Refused { status, rule, response }
    }
}

/// A head that was read, its bytes, and those that came after it.
type Head = (RequestHead, Vec<u8>, Vec<u8>);

/// The head and the bytes after it; `Ok(None)` if the peer left before the head was complete.
fn read_head(stream: &TcpStream, deadline: Instant) -> Result<Option<Head>, Refused> {
    let (mut reader, mut buffer) = (HeadReader::with_bodies(admin::brings_lines), [0; limits::READ_BYTES]);
    let mut raw = Vec::new();
    loop {
        // `SO_RCVTIMEO` begins anew with each read: only the remaining time makes the deadline absolute.
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Refused::plain(408, "head_late"));
        }
        if stream.set_read_timeout(Some(left)).is_err() {
            return Ok(None);
        }
        match (&mut &*stream).read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(count) => {
                raw.extend_from_slice(&buffer[..count]);
                if let Some(head) = reader.receive(&buffer[..count])? {
                    raw.truncate(raw.len() - reader.rest().len());
                    return Ok(Some((head, raw, reader.rest().to_vec())));
                }
            }
            Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
}

/// The client's address: behind a trusted proxy, the address that the proxy names with the port of
/// the proxy's connection; otherwise the peer's own address. From now on the request counts for
/// this address.
fn whose(
    shared: &Host,
    head: &RequestHead,
    peer: SocketAddr,
    permit: &mut Permit,
) -> Result<SocketAddr, Refused> {
    let client = forwarded::client(&shared.config.trusted_proxies, peer.ip(), head);
    let client = client.map_err(|rule| Refused::plain(400, rule))?;
    if let Err(cap) = permit.belongs_to(client) {
        debug!(%client, cap = cap.name(), "behind a proxy: turned away");
        return Err(turned_away(shared, cap));
    }
    // The listener has counted a connection that no proxy made.
    if forwarded::is_trusted(&shared.config.trusted_proxies, peer.ip()) {
        let taken = shared.budgets.take(Household::of(client), Spending::Connection, shared.now());
        taken.map_err(|wait| too_often(shared, Spending::Connection, wait))?;
    }
    Ok(SocketAddr::new(client, peer.port()))
}

/// The refusal for an address whose budget is spent, with the seconds after which to retry.
pub fn too_often(shared: &Host, spending: Spending, wait: Duration) -> Refused {
    Metrics::count(&shared.metrics.turned_away, "cap", spending.rule());
    let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
    Refused::with(429, spending.rule(), &[("Retry-After", &seconds)])
}

/// Counts and returns the refusal of a request for which there is no place.
pub fn turned_away(shared: &Host, cap: TurnedAway) -> Refused {
    Metrics::count(&shared.metrics.turned_away, "cap", cap.name());
    Refused::plain(cap.status(), cap.name())
}

/// Runs all checks that a request must pass to become a client. The place comes last, because
/// places are scarce.
fn upgrade(
    shared: &Host,
    head: &RequestHead,
    address: Household,
    permit: &mut Permit,
) -> Result<(Arc<Handle>, Endpoint, Vec<u8>), Refused> {
    let accepted = upgrade::accept(head, &SUBPROTOCOLS)?;
    upgrade::check_origin(head, &shared.config.allowed_origins)?;
    let endpoint = Endpoint::find(&shared.config.codes, head)?;
    let room = shared.find_room(room_of(head.path()).0).ok_or(NoEndpoint::Path)?;
    if room.is_over() {
        return Err(Refused::plain(503, "room_over"));
    }
    if shared.is_stopping() {
        return Err(Refused::plain(503, "stopping"));
    }
    let taken = shared.budgets.take(address, Spending::Client, shared.now());
    taken.map_err(|wait| too_often(shared, Spending::Client, wait))?;
    if let Err(cap) = permit.become_client() {
        shared.budgets.give_back(address, Spending::Client);
        return Err(turned_away(shared, cap));
    }
    Ok((Arc::clone(room), endpoint, accepted.response))
}

fn refuse(shared: &Host, stream: &TcpStream, address: SocketAddr, refused: Refused) {
    Metrics::count(&shared.metrics.refused, "rule", refused.rule);
    info!(%address, status = refused.status, rule = refused.rule, "request refused");
    answer(stream, &refused.response, b"");
}

/// Writes a response of one or two parts, and closes the connection such that the peer can read it.
fn answer(stream: &TcpStream, response: &[u8], rest: &[u8]) {
    let deadline = Instant::now() + limits::PAGE_TIME;
    let written = write_all(stream, response, limits::PAGE_TIME)
        .and_then(|()| write_all(stream, rest, deadline.saturating_duration_since(Instant::now())));
    if written.is_ok() {
        let _ = stream.shutdown(Shutdown::Write);
        drain(stream, limits::CLOSE_TIME, limits::DRAIN_BYTES, |_| {});
    }
}

/// Writes everything by an absolute deadline, blocking: for connections that have no worker yet.
pub fn write_all(stream: &TcpStream, mut bytes: &[u8], time: Duration) -> std::io::Result<()> {
    let deadline = Instant::now() + time;
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match (&mut &*stream).write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads and drops the remaining bytes, so that closing does not reset the connection before the
/// peer has read our last frames. Stops after `most_bytes`, so that a flood ends here. Each piece
/// is passed to `seen`.
pub fn drain(stream: &TcpStream, time: Duration, most_bytes: usize, mut seen: impl FnMut(&[u8])) {
    let deadline = Instant::now() + time;
    let (mut buffer, mut dropped) = ([0; limits::READ_BYTES], 0);
    while dropped < most_bytes {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match (&mut &*stream).read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                seen(&buffer[..count]);
                dropped += count;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Whether a read failed because of its timeout.
pub fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
