//! Rooms on demand: a WebSocket upgrade at `/r/NAME/…` creates the room if it does not exist.
//!
//! The room has the game and the options of the default room, but its own seed, epoch and thread.
//! The thread ends the room once it has been empty for [`room_empty_time`]. A page request creates
//! no room, and is served as if the room existed. On a server with player tokens, only a request
//! with a valid token creates a room, and a room without a token holder counts as empty. So clients
//! without permission to play cannot occupy rooms.
//!
//! [`room_empty_time`]: super::config::ServerConfig::room_empty_time

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tickwire_sim::WorldParams;
use tracing::{error, info, warn};

use super::cluster::membership::RoomLease;
use super::cluster::{acquisition, ending};
use super::config::new_epoch;
use super::drain;
use super::room_thread;
use super::rooms::{AnyRoom, CreateRoomError, RoomLimits, RoomPermit, RoomReservation, RunningRoom};
use super::server_state::ServerState;
use super::{TcpGameFactory, TcpRoom};
use crate::game::{CloseReason, GameInfo, RoomConditions};
use crate::limits;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::admission::RefusalReason;
use crate::server::admission::address_rate_limits::LimitedAction;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::tokens::{OfferedToken, Permission};
use crate::server::room::RoomConfig;
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::util::os::threads;
use crate::ws::http::RequestHead;

/// A room, and a client's slot in it unless the room is full.
pub type JoinedRoom = (Arc<RunningRoom>, Option<RoomPermit>);

/// Rule if no room meets the conditions of a client, and none can be created that does.
pub const NO_ROOM_FITS: &str = "no_room_fits";

/// Rule if this process has its maximum number of rooms.
pub const ROOMS_FULL: &str = "rooms_full";

/// Number of random characters in the name of a room that `?room=any` creates.
const NEW_NAME_CHARS: usize = 8;
/// The 32 characters of this part of the name, without those that are easily confused.
const NEW_NAME_ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Whether a request can create a room of this name.
pub fn can_create(host: &ServerState, name: &str) -> bool {
    host.config.rooms_on_demand > 0 && is_room_name(name) && !is_alias(name)
}

/// Checks whether this request may create a room.
///
/// # Errors
/// The reason to close the client's connection.
pub fn admit(host: &ServerState, head: &RequestHead, address: SocketAddr) -> Result<(), CloseReason> {
    let offered = OfferedToken::of(head);
    match host.authenticator.authenticate(
        address.ip(),
        offered.as_ref().map(|OfferedToken(token)| token.as_str()),
        host.now(),
    ) {
        Ok(Permission::Anyone | Permission::Holder(_)) => Ok(()),
        Ok(Permission::Spectator) | Err(CloseReason::TokenMissing) => Err(CloseReason::RoomTokenMissing),
        Err(close_reason) => Err(close_reason),
    }
}

fn room_limits(host: &ServerState) -> RoomLimits {
    let of_address = host.config.address_rate_limits.then_some(limits::ADDRESS_ROOMS);
    RoomLimits { rooms: host.config.rooms_on_demand, of_address }
}

/// Checks whether this address prefix may create another room now, without creating one or
/// consuming the rate limit.
///
/// # Errors
/// The refusal for the limit that is reached.
pub fn check(host: &ServerState, creator: AddressPrefix) -> Result<(), Refusal> {
    drain::check(host)?;
    host.rooms.may_make(creator, room_limits(host)).map_err(refused)
}

fn refused(unmade: CreateRoomError) -> Refusal {
    let (status, rule) = match unmade {
        CreateRoomError::Full => (503, ROOMS_FULL),
        CreateRoomError::AddressLimit => (429, "address_rooms"),
    };
    Refusal { is_capacity: true, ..Refusal::from_rule(status, rule) }
}

/// Enters the room of this name, creating it if necessary.
///
/// # Errors
/// The refusal for the limit that is reached.
pub fn join_or_create(
    host: &Arc<ServerState>,
    name: &str,
    creator: AddressPrefix,
) -> Result<JoinedRoom, Refusal> {
    loop {
        if let Some(entered) = host.rooms.enter(name) {
            return Ok(entered);
        }
        drain::check(host)?;
        if let Some(reservation) = reserve(host, name, creator)? {
            return create(host, NewRoom::new(reservation, creator));
        }
    }
}

/// Enters the fullest room of this game that meets the conditions. Otherwise creates one, if rooms
/// on demand have this game and a new one meets the conditions. `admit` checks whether the client
/// may create a room.
///
/// # Errors
/// The refusal for the limit that is reached, [`NO_ROOM_FITS`], or the one of `admit`.
pub fn join_any_or_create(
    host: &Arc<ServerState>,
    game: &GameInfo,
    conditions: &RoomConditions,
    creator: AddressPrefix,
    admit: impl FnOnce() -> Result<(), Refusal>,
) -> Result<JoinedRoom, Refusal> {
    let none = || Refusal::from_rule(503, NO_ROOM_FITS);
    if let AnyRoom::Entered(room, permit) =
        host.rooms.enter_any(game.name, conditions, None).map_err(refused)?
    {
        return Ok((room, Some(permit)));
    }
    if host.config.rooms_on_demand == 0 || host.room().handle.game.name != game.name {
        return Err(none());
    }
    admit()?;
    loop {
        let name = new_name();
        let new_room = Some((&*name, creator, room_limits(host)));
        match host.rooms.enter_any(game.name, conditions, new_room).map_err(refused)? {
            AnyRoom::Entered(room, permit) => return Ok((room, Some(permit))),
            AnyRoom::Reserved(reservation) => {
                let lease = acquisition::acquire_unnamed(host, &name)?;
                let conditions = conditions.clone();
                return create(host, NewRoom { reservation, creator, conditions, lease });
            }
            // A room has this name.
            AnyRoom::None => {}
        }
    }
}

/// Returns the name of a room that a client creates without choosing a name: 40 random bits, so
/// that a link to an ended room does not lead to another one.
fn new_name() -> String {
    let bits: [u8; NEW_NAME_CHARS] = os::random();
    let ch = |byte: &u8| char::from(NEW_NAME_ALPHABET[usize::from(*byte) % NEW_NAME_ALPHABET.len()]);
    format!("room-{}", bits.iter().map(ch).collect::<String>())
}

/// A room to create.
#[derive(Debug)]
pub struct NewRoom<'a> {
    /// The reserved name.
    pub reservation: RoomReservation<'a>,
    /// Address prefix of the client that requests the room.
    pub creator: AddressPrefix,
    /// Conditions that the room must meet.
    pub conditions: RoomConditions,
    /// The lease of the room, in a cluster.
    pub lease: Option<RoomLease>,
}

impl NewRoom<'_> {
    /// A room without conditions and without a lease.
    pub fn new(reservation: RoomReservation<'_>, creator: AddressPrefix) -> NewRoom<'_> {
        NewRoom { reservation, creator, conditions: RoomConditions::default(), lease: None }
    }
}

/// Whether a room continues from its journal. It has already counted toward the limits of the
/// address that created it, and a client of any address may be the first to return.
fn is_recovery(host: &ServerState, name: &str) -> bool {
    host.config.journal.as_ref().is_some_and(|journal| journal.has_world(name))
}

/// Reserves the name of a room. Returns `None` if the room exists.
///
/// # Errors
/// The refusal for the limit that is reached.
pub fn reserve<'a>(
    host: &'a ServerState,
    name: &str,
    creator: AddressPrefix,
) -> Result<Option<RoomReservation<'a>>, Refusal> {
    let mut limits = room_limits(host);
    limits.of_address = limits.of_address.filter(|_| !is_recovery(host, name));
    host.rooms.reserve(name, creator, limits).map_err(refused)
}

/// Creates the room and enters it. A room that does not meet the conditions is not listed. The room
/// is recovered from its journal if it has one.
///
/// # Errors
/// The refusal. The lease is then released.
pub fn create(host: &Arc<ServerState>, new: NewRoom<'_>) -> Result<JoinedRoom, Refusal> {
    let name = Arc::clone(new.reservation.path_name());
    let created = create_reserved(host, new);
    if created.is_err() {
        ending::abandon_room(host, &name);
    }
    created
}

fn create_reserved(host: &Arc<ServerState>, new: NewRoom<'_>) -> Result<JoinedRoom, Refusal> {
    let NewRoom { reservation, creator, conditions, lease } = new;
    if !is_recovery(host, reservation.path_name()) {
        let taken = host.address_limits().take(creator, LimitedAction::Room, host.now());
        taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Room, wait))?;
    }
    let mut core = new_core(host, &reservation, lease)?;
    if !conditions.fit(&core.handle().properties.get()) {
        return Err(Refusal::from_rule(503, NO_ROOM_FITS));
    }
    let seed = core.handle().identity.seed;
    let (room, presence) = reservation.create_run(Arc::clone(core.handle()), &host.metrics, host.now());
    host.tap.add_room(&room.run());
    // A capture must contain the initial world before any bytes of a client.
    if host.tap.wants_world() {
        room_thread::tick(host, &room, &mut *core, None);
    }
    room_thread::report_start(host, &room);
    let (for_thread, of_thread) = (Arc::clone(host), Arc::clone(&room));
    let run = move || {
        let name = Arc::clone(&of_thread.path_name);
        room_thread::run_instance(&for_thread, of_thread, core);
        ending::end_room(&for_thread, &name);
        for_thread.room_threads.leave();
    };
    match threads::spawn(&format!("world {}", room.name()), run) {
        Ok(thread) => host.room_threads.add(thread),
        Err(error) => {
            error!(room = room.label(), %error, "a room on demand has no thread");
            room.request_end();
            room_thread::end_run(host, &room);
            host.rooms.end(&room, &host.metrics, &host.tap);
            return Err(Refusal::from(RefusalReason::Unavailable));
        }
    }
    info!(room = room.label(), address = %creator, seed, "room made on demand");
    reservation.publish(&room);
    room.wake();
    Ok((room, presence))
}

/// Creates the world of a room: a new one, or the one of its journal.
fn new_core(
    host: &Arc<ServerState>,
    reservation: &RoomReservation<'_>,
    lease: Option<RoomLease>,
) -> Result<Box<TcpRoom>, Refusal> {
    let like = host.room();
    let game = TcpGameFactory::find(&host.config.games, like.handle.game).unwrap_or(host.config.game);
    let identity = WorldParams { seed: u32::from_le_bytes(os::random()), ..like.handle.identity.clone() };
    let options =
        RoomConfig { name: reservation.public_name(), epoch: new_epoch(), ..like.handle.options.clone() };
    let Some(journal) = &host.config.journal else {
        return Ok((game.new_room)(&identity, options));
    };
    let lease = lease.map(|lease| (lease.fence, lease.guard));
    let room = (&**reservation.path_name(), options);
    // In a thread with a larger stack, because the ticks of the journal are replayed.
    let open = || journal.open_room(&game, &identity, room, lease, host.now());
    let opened = thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, open);
        thread.map_or_else(|error| Ok(Err(error)), |thread| thread.join())
    });
    match opened.unwrap_or_else(|_| Err(io::Error::other("a panic of the recovery"))) {
        Ok((core, is_recovered)) => {
            let is_takeover = is_recovered && host.cluster.is_some();
            host.metrics.cluster_takeovers.inc_by(is_takeover.into());
            Ok(core)
        }
        // The journals are in Redis.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => {
            warn!("a room cannot be recovered now: {error}");
            Err(Refusal::with_headers(503, acquisition::STORE_AWAY, &[("Retry-After", "1")]))
        }
        Err(error) => {
            error!("a room cannot be recovered: {error}");
            Err(Refusal::from_rule(503, acquisition::UNRECOVERABLE))
        }
    }
}
