//! `/wire`: what one client and the server say to each other, told to whoever may watch, as it happens.
//!
//! ```text
//!  tap ─► listener ─► cutter ─► ring ─► explain ─┬─► entries, at most 20 times a second
//!                                │               └─► bytes by packet and field, once a second
//!                     wishes ────┴─► one frame explained, a capture of all that are kept
//! ```
//!
//! Comes in: an upgrade to `/wire`, and then wishes (`says`). Goes out: JSON, and captures as binary messages. Each watcher has the thread of
//! its connection, a ring of its own, and hears the tap only while it watches a client, so nobody pays when nobody watches. Never: the game
//! made to wait for a watcher; more than [`limits::WATCHERS`] of them; one who may not ([`access`]).

pub mod access;
mod cutter;
mod fields;
mod ring;
mod save;
mod says;
mod watcher;

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::info;

use super::connection::{self, Refused};
use super::shared::Shared;
use crate::limits;
use crate::ws::http::RequestHead;
use crate::ws::upgrade;

/// The path of the page and of the endpoint.
pub const PATH: &str = "/wire";

/// The subprotocol of watchers.
pub const SUBPROTOCOL: &str = "tickwire.wire";

/// Whether a request wants to watch.
pub fn is_meant(head: &RequestHead) -> bool {
    head.path() == PATH && head.asks_for_upgrade()
}

/// A watcher's whole life, in the thread of its connection; `rest` is what came behind its request.
///
/// # Errors
/// Why it may not watch.
pub fn serve(
    shared: &Shared,
    stream: &TcpStream,
    (head, rest): (&RequestHead, Vec<u8>),
    address: SocketAddr,
) -> Result<(), Refused> {
    let accepted = upgrade::accept(head, &[SUBPROTOCOL])?;
    access::check(shared, head, address)?;
    if shared.is_stopping() {
        return Err(Refused::plain(503, "stopping"));
    }
    let place = shared.watching.take().ok_or_else(|| Refused::plain(503, "watchers"))?;
    if connection::write_all(stream, &accepted.response, limits::HEAD_TIME).is_ok() {
        info!(%address, "watcher connected");
        let why = watcher::run(shared, stream, &rest);
        info!(%address, why, "watcher left");
    }
    drop(place);
    Ok(())
}

/// Places for watchers.
#[derive(Debug, Default)]
pub struct Places {
    taken: AtomicUsize,
}

/// A watcher's place; given back when dropped.
#[derive(Debug)]
struct Place<'a>(&'a Places);

impl Places {
    fn take(&self) -> Option<Place<'_>> {
        let next = |taken| (taken < limits::WATCHERS).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).ok()?;
        Some(Place(self))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let places = Places::default();
        let mut held: Vec<_> = (0..limits::WATCHERS).filter_map(|_| places.take()).collect();
        assert_eq!(held.len(), limits::WATCHERS);
        assert!(places.take().is_none());
        held.pop();
        assert!(places.take().is_some());
    }
}
