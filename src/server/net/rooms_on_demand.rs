//! Rooms on demand: a WebSocket upgrade at `/r/NAME/…` makes a room that does not exist.
//!
//! The room has the game and the options of the default room, and a seed, an epoch and a thread of
//! its own. The thread ends it when it has been empty for a while. A request for a page makes no
//! room: it is answered as if the room were there. On a server with tokens, only a request with one of them makes
//! a room, and a room without a player's token in it counts as empty: clients that may not play use up no rooms.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tickwire_sim::WorldParams;
use tracing::{error, info};

use super::Kind;
use super::config::new_epoch;
use super::room_thread;
use super::rooms::{Hosted, Making, Most, Presence, Unmade};
use super::server_state::Host;
use crate::game::Breach;
use crate::limits;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::admission::RefusedBy;
use crate::server::admission::address_rate_limits::Spending;
use crate::server::admission::refusal::Refused;
use crate::server::admission::tokens::{Pass, Said};
use crate::server::room::Options;
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::ws::http::RequestHead;

/// A room, and a client's place in it unless it is full.
pub type Entered = (Arc<Hosted>, Option<Presence>);

/// Whether a path could make a room of this name.
pub fn is_possible(host: &Host, name: &str) -> bool {
    host.config.rooms_on_demand > 0 && is_room_name(name) && !is_alias(name)
}

/// Whether this request may make a room: by the token in the request, because no hello has come yet.
///
/// # Errors
/// The reason to close the client.
pub fn admit(host: &Host, head: &RequestHead, address: SocketAddr) -> Result<(), Breach> {
    let said = Said::of(head);
    match host.guard.admit(address.ip(), said.as_ref().map(|Said(said)| said.as_str()), host.now()) {
        Ok(Pass::Anyone | Pass::Holder(_)) => Ok(()),
        Ok(Pass::Spectator) | Err(Breach::TokenMissing) => Err(Breach::RoomTokenMissing),
        Err(breach) => Err(breach),
    }
}

fn most(host: &Host) -> Most {
    let of_address = host.config.address_budgets.then_some(limits::ADDRESS_ROOMS);
    Most { rooms: host.config.rooms_on_demand, of_address }
}

/// Whether this address may make another room now. Makes none, and spends nothing.
///
/// # Errors
/// The refusal if it may not.
pub fn check(host: &Host, by: AddressPrefix) -> Result<(), Refused> {
    host.rooms.may_make(by, most(host)).map_err(refused)
}

fn refused(unmade: Unmade) -> Refused {
    let (status, rule) = match unmade {
        Unmade::Full => (503, "rooms_full"),
        Unmade::OfAddress => (429, "address_rooms"),
    };
    Refused { is_cap: true, ..Refused::plain(status, rule) }
}

/// Enters the room of this name, which is made if it is not there.
///
/// # Errors
/// The refusal if the address may not make it.
pub fn enter(host: &Arc<Host>, name: &str, by: AddressPrefix) -> Result<Entered, Refused> {
    loop {
        if let Some(entered) = host.rooms.enter(name) {
            return Ok(entered);
        }
        if let Some(making) = host.rooms.begin_making(name, by, most(host)).map_err(refused)? {
            let taken = host.budgets.take(by, Spending::Room, host.now());
            taken.map_err(|wait| Refused::too_often(Spending::Room, wait))?;
            return make(host, making, by);
        }
    }
}

/// Makes the room, with its maker in it.
fn make(host: &Arc<Host>, making: Making<'_>, by: AddressPrefix) -> Result<Entered, Refused> {
    let like = host.room();
    let game = Kind::find(&host.config.games, like.handle.about).unwrap_or(host.config.game);
    let identity = WorldParams { seed: u32::from_le_bytes(os::random()), ..like.handle.identity.clone() };
    let options = Options { name: making.shown_name(), epoch: new_epoch(), ..like.handle.options.clone() };
    let mut core = (game.begin)(&identity, options);
    let (room, presence) = making.begin(Arc::clone(core.handle()), &host.metrics, host.now());
    host.tap.room_begins(&room.run());
    // A capture has the world before whatever its clients say.
    if host.tap.wants_world() {
        room_thread::tick(host, &room, &mut *core);
    }
    let (for_thread, of_thread) = (Arc::clone(host), Arc::clone(&room));
    let named = thread::Builder::new().name(format!("world {}", room.name()));
    let run = move || {
        room_thread::run_as(&for_thread, of_thread, core);
        for_thread.room_threads.leave();
    };
    match named.spawn(run) {
        Ok(thread) => host.room_threads.add(thread),
        Err(error) => {
            error!(room = room.label(), %error, "a room on demand has no thread");
            room.set_ending();
            host.rooms.end(&room, &host.metrics, &host.tap);
            return Err(Refused::from(RefusedBy::Unavailable));
        }
    }
    info!(room = room.label(), address = %by, seed = identity.seed, "room made on demand");
    making.finish(&room);
    room.rouse();
    Ok((room, presence))
}
