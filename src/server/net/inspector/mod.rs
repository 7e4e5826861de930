//! `/wire`: sends the observed bytes of one client to authorized watchers, live.
//!
//! ```text
//!  tap ─► listener ─► observed messages, at most 20 times a second ─► the page, which explains them
//!                            clients, twice a second at most ───────┘
//! ```
//!
//! A connection starts with an upgrade to `/wire`; PROTOCOL.md, "The inspector", lists the
//! messages. At `/r/NAME/wire` a watcher is shown only the clients of that room. The server explains nothing: that is [`inspector`](crate::tools::inspector)'s work, in the
//! browser. Each watcher runs in its connection's thread, and listens to the tap only while it
//! watches a client; [`ended_clients`] listens to all clients while a watcher is connected. So `/wire` costs
//! nothing while no watcher is connected. The game never waits for a
//! watcher, there are at most [`limits::MAX_INSPECTORS`] of them, and each must pass the check of
//! [`access`].

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

/// Whether a request is for `/wire`, of the server or of a room.
pub fn is_inspector_request(head: &RequestHead) -> bool {
    split_room_path(head.path()).1 == PATH && head.has_upgrade_headers()
}

/// Serves a watcher in the thread of its connection; `rest` is the bytes after its request.
///
/// # Errors
/// The refusal, if it may not watch.
pub fn serve(
    host: &ServerState,
    stream: &TcpStream,
    (head, rest): (&RequestHead, Vec<u8>),
    address: SocketAddr,
    permit: &mut Permit,
) -> Result<(), Refusal> {
    let accepted = handshake::accept(head, &[SUBPROTOCOL])?;
    access::check(host, head, address)?;
    if !accepted.declined.is_empty() {
        let offered = credentials::shown_list(&accepted.declined);
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
        info!(%address, room = of, "watcher connected");
        let why = connection::run(host, &room, stream, &rest);
        info!(%address, room = of, why, "watcher left");
    }
    Ok(())
}
