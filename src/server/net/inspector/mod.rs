//! `/wire`: sends the observed bytes of one client to an authorized inspector, live.
//!
//! ```text
//!  tap ─► subscription ─► observed messages, at most 20 times a second ─► page: explains them
//!                               client list, at most twice a second ───────┘
//! ```
//!
//! A connection starts with an upgrade to `/wire`; PROTOCOL.md, "The inspector", lists the
//! messages. At `/r/NAME/wire` only clients of that room can be observed. The server explains
//! nothing: that is the work of [`inspector`](crate::tools::inspector), in the browser.
//!
//! Each inspector is served by its connection's thread, and subscribes to the tap only while it
//! observes a client. [`ended_clients`] subscribes to all clients while an inspector is connected.
//! So `/wire` costs nothing without inspectors. The game never waits for an inspector, there are at
//! most [`limits::MAX_INSPECTORS`] of them, and each must pass the check of [`access`].

mod connection;
pub mod ended_clients;

use std::net::{SocketAddr, TcpStream};

use tracing::info;

use super::access;
use super::blocking_io::write_all;
use super::server_state::ServerState;
use crate::limits;
use crate::packet::credentials;
use crate::packet::routes::{RouteError, split_room_path};
use crate::server::admission::refusal::Refusal;
use crate::server::admission::{Permit, SlotKind};
pub use crate::server::clients::inspector_session::{PATH, SUBPROTOCOL};
use crate::ws::handshake;
use crate::ws::http::RequestHead;

/// Whether a request is an upgrade to `/wire`, of the server or of a room.
pub fn is_inspector_request(head: &RequestHead) -> bool {
    split_room_path(head.path()).1 == PATH && head.has_upgrade_headers()
}

/// Serves an inspector in the thread of its connection. `early_bytes` are the bytes after its
/// request.
///
/// # Errors
/// The refusal, if the handshake is invalid, access is denied or no slot is free.
pub fn serve(
    host: &ServerState,
    stream: &TcpStream,
    (head, early_bytes): (&RequestHead, Vec<u8>),
    address: SocketAddr,
    permit: &mut Permit,
) -> Result<(), Refusal> {
    let accepted = handshake::accept(head, &[SUBPROTOCOL])?;
    access::check(host, head, address)?;
    if !accepted.declined.is_empty() {
        let offered = credentials::redact_list(&accepted.declined);
        info!(%address, offered, known = SUBPROTOCOL, "{}", handshake::DECLINED);
    }
    let (name, _) = split_room_path(head.path());
    let room = host.rooms.find(name).ok_or_else(|| Refusal::from(RouteError::Room))?;
    if host.is_stopping() {
        return Err(Refusal::from_rule(503, "stopping"));
    }
    permit.convert_to(SlotKind::Inspector)?;
    if write_all(stream, &accepted.response, limits::HEAD_TIMEOUT).is_ok() {
        let of = room.label();
        info!(%address, room = of, "inspector connected");
        let reason = connection::run(host, &room, stream, &early_bytes);
        info!(%address, room = of, reason, "inspector disconnected");
    }
    Ok(())
}
