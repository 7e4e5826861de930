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

use super::TcpGameFactory;
use super::config::new_epoch;
use super::room_thread;
use super::rooms::{CreateRoomError, RoomLimits, RoomPermit, RoomReservation, RunningRoom};
use super::server_state::ServerState;
use crate::game::CloseReason;
use crate::limits;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::admission::RefusalReason;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::tokens::{OfferedToken, Permission};
use crate::server::room::RoomConfig;
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::ws::http::RequestHead;

/// A room, and a client's place in it unless it is full.
pub type JoinedRoom = (Arc<RunningRoom>, Option<RoomPermit>);

/// Whether a path could make a room of this name.
pub fn is_possible(host: &ServerState, name: &str) -> bool {
    host.config.rooms_on_demand > 0 && is_room_name(name) && !is_alias(name)
}

/// Whether this request may make a room: by the token in the request, because no hello has come yet.
///
/// # Errors
/// The reason to close the client.
pub fn admit(host: &ServerState, head: &RequestHead, address: SocketAddr) -> Result<(), CloseReason> {
    let said = OfferedToken::of(head);
    match host.guard.admit(address.ip(), said.as_ref().map(|OfferedToken(said)| said.as_str()), host.now()) {
        Ok(Permission::Anyone | Permission::Holder(_)) => Ok(()),
        Ok(Permission::Spectator) | Err(CloseReason::TokenMissing) => Err(CloseReason::RoomTokenMissing),
        Err(breach) => Err(breach),
    }
}

fn most(host: &ServerState) -> RoomLimits {
    let of_address = host.config.address_budgets.then_some(limits::ADDRESS_ROOMS);
    RoomLimits { rooms: host.config.rooms_on_demand, of_address }
}

/// Whether this address may make another room now. Makes none, and spends nothing.
///
/// # Errors
/// The refusal if it may not.
pub fn check(host: &ServerState, by: AddressPrefix) -> Result<(), Refusal> {
    host.rooms.may_make(by, most(host)).map_err(refused)
}

fn refused(unmade: CreateRoomError) -> Refusal {
    let (status, rule) = match unmade {
        CreateRoomError::Full => (503, "rooms_full"),
        CreateRoomError::OfAddress => (429, "address_rooms"),
    };
    Refusal { is_cap: true, ..Refusal::plain(status, rule) }
}

/// Enters the room of this name, which is made if it is not there.
///
/// # Errors
/// The refusal if the address may not make it.
pub fn enter(host: &Arc<ServerState>, name: &str, by: AddressPrefix) -> Result<JoinedRoom, Refusal> {
    loop {
        if let Some(entered) = host.rooms.enter(name) {
            return Ok(entered);
        }
        if let Some(making) = host.rooms.begin_making(name, by, most(host)).map_err(refused)? {
            let taken = host.budgets().take(by, LimitedAction::Room, host.now());
            taken.map_err(|wait| Refusal::too_often(LimitedAction::Room, wait))?;
            return make(host, making, by);
        }
    }
}

/// Makes the room, with its maker in it.
fn make(
    host: &Arc<ServerState>,
    making: RoomReservation<'_>,
    by: AddressPrefix,
) -> Result<JoinedRoom, Refusal> {
    let like = host.room();
    let game = TcpGameFactory::find(&host.config.games, like.handle.about).unwrap_or(host.config.game);
    let identity = WorldParams { seed: u32::from_le_bytes(os::random()), ..like.handle.identity.clone() };
    let options = RoomConfig { name: making.shown_name(), epoch: new_epoch(), ..like.handle.options.clone() };
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
            return Err(Refusal::from(RefusalReason::Unavailable));
        }
    }
    info!(room = room.label(), address = %by, seed = identity.seed, "room made on demand");
    making.finish(&room);
    room.rouse();
    Ok((room, presence))
}
