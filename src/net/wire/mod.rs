//! `/wire`: sends the observed bytes of one client to authorized watchers, live.
//!
//! ```text
//!  tap ─► listener ─► observed messages, at most 20 times a second ─► the page, which explains them
//!                            clients, twice a second at most ───────┘
//! ```
//!
//! A connection starts with an upgrade to `/wire`; PROTOCOL.md, "The inspector", lists the
//! messages. At `/r/NAME/wire` a watcher is shown only the clients of that room. The server explains nothing: that is [`inspector`](crate::inspector)'s work, in the
//! browser. Each watcher runs in its connection's thread, and listens to the tap only while it
//! watches a client; [`ended`] listens to all clients while a watcher is connected. So `/wire` costs
//! nothing while no watcher is connected. The game never waits for a
//! watcher, there are at most [`limits::WATCHERS`] of them, and each must pass the check of
//! [`access`].

pub mod ended;
mod watcher;

use std::net::{SocketAddr, TcpStream};

use tracing::info;

use super::access;
use super::host::Host;
use super::stream::write_all;
use crate::host::admission::{Permit, Place};
use crate::host::refused::Refused;
pub use crate::host::watch::{PATH, SUBPROTOCOL};
use crate::limits;
use crate::packet::credentials;
use crate::packet::endpoint::{NoEndpoint, room_of};
use crate::ws::http::RequestHead;
use crate::ws::upgrade;

/// Whether a request is for `/wire`, of the server or of a room.
pub fn is_meant(head: &RequestHead) -> bool {
    room_of(head.path()).1 == PATH && head.asks_for_upgrade()
}

/// Serves a watcher in the thread of its connection; `rest` is the bytes after its request.
///
/// # Errors
/// The refusal, if it may not watch.
pub fn serve(
    host: &Host,
    stream: &TcpStream,
    (head, rest): (&RequestHead, Vec<u8>),
    address: SocketAddr,
    permit: &mut Permit,
) -> Result<(), Refused> {
    let accepted = upgrade::accept(head, &[SUBPROTOCOL])?;
    access::check(host, head, address)?;
    if !accepted.declined.is_empty() {
        let offered = credentials::shown_list(&accepted.declined);
        info!(%address, offered, known = SUBPROTOCOL, "{}", upgrade::DECLINED);
    }
    let (name, _) = room_of(head.path());
    let room = host.rooms.find(name).ok_or_else(|| Refused::from(NoEndpoint::Room))?;
    if host.is_stopping() {
        return Err(Refused::plain(503, "stopping"));
    }
    permit.becomes(Place::Watcher)?;
    if write_all(stream, &accepted.response, limits::HEAD_TIME).is_ok() {
        let of = room.label();
        info!(%address, room = of, "watcher connected");
        let why = watcher::run(host, &room, stream, &rest);
        info!(%address, room = of, why, "watcher left");
    }
    Ok(())
}
