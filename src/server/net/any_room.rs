//! `?room=any`: an upgrade request that lets the server choose the room.
//!
//! ```text
//!  ?room=any&where=state:lobby ─► the fullest room that fits ─► entered at once
//!                                 ├─ of another process ─► relayed, and chosen again there
//!                                 └─ none ─► a new room on demand, if it fits ─► entered
//! ```
//!
//! The server chooses and enters in one step, so there is no reservation that an address could
//! hold, and two clients never get the last slot. The response names the room in the header
//! [`ROOM_HEADER`]. A browser does not reveal this header; a page finds its room in the list of
//! rooms, by the `epoch` of `welcome`.

use std::net::SocketAddr;
use std::sync::Arc;

use super::cluster::placement::{self, Placement};
use super::drain;
use super::rooms::RunningRoom;
use super::rooms_on_demand;
use super::server_state::ServerState;
use crate::game::{CloseReason, RoomConditions};
use crate::packet::routes::{self, ROOM_HEADER};
use crate::server::admission::refusal::Refusal;
use crate::server::admission::upgrade_check::UpgradeCheck;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::http::RequestHead;

/// Query field by which a client wants any room.
const ROOM_FIELD: &str = "room";
/// The only value of this field.
const ANY: &str = "any";
const NOT_ANY: &str = "the value of room must be any; a room called NAME is at /r/NAME/play";
/// Query field with the conditions.
const CONDITIONS_FIELD: &str = "where";
const WITHOUT_ANY: &str = "conditions need room=any";

/// Returns the conditions of a request for any room. `None` for a request for the room of its path.
///
/// # Errors
/// The field that breaks a rule.
pub fn conditions(head: &RequestHead) -> Result<Option<RoomConditions>, Refusal> {
    let malformed = |sentence: &str, value: &str| Refusal::of_value(400, "where_malformed", sentence, value);
    match (head.query(ROOM_FIELD).as_deref(), head.query(CONDITIONS_FIELD)) {
        (None, None) => Ok(None),
        (None, Some(text)) => Err(malformed(WITHOUT_ANY, &text)),
        (Some(ANY), text) => RoomConditions::parse(text.as_deref().unwrap_or_default())
            .map(Some)
            .map_err(|error| malformed(&error.to_string(), &error.part)),
        (Some(name), _) => {
            // It may be the name of a private room.
            Err(Refusal::of_value(400, "room_not_any", NOT_ANY, &routes::redact_room_name(name)))
        }
    }
}

/// Enters the fullest room that meets the conditions, of the game of the request's path, or creates
/// one. In a cluster, connects to the process that has the fullest one, unless the request is
/// relayed.
///
/// # Errors
/// The refusal. The connection is upgraded and closed with the reason `no_room_fits` if no room
/// fits and none can be created, because a page cannot read a status.
pub fn enter(
    host: &Arc<ServerState>,
    head: &RequestHead,
    address: SocketAddr,
    upgrade_check: &UpgradeCheck<'_>,
    (wanted, is_relayed): (&RoomConditions, bool),
) -> Result<Placement, Refusal> {
    let (name, _) = routes::split_room_path(head.path());
    let created = || rooms_on_demand::can_create(host, name).then(|| host.room());
    let of_path = host.rooms.find(name).or_else(created);
    let (accepted, format) =
        UpgradeCheck { room: of_path.as_ref().map(|room| &room.handle), ..*upgrade_check }.check(head)?;
    let Some(of_path) = of_path.filter(|_| !upgrade_check.is_stopping) else {
        return Err(Refusal::from_rule(503, "stopping"));
    };
    drain::check(host)?;
    let closed = |close_reason| Refusal::closed(accepted.response.clone(), &format, close_reason);
    let admit = || rooms_on_demand::admit(host, head, address).map_err(closed);
    let (game, prefix) = (of_path.handle.game, AddressPrefix::from_ip(address.ip()));
    if let Some(elsewhere) =
        (!is_relayed).then(|| placement::any_elsewhere(host, game.name, wanted)).flatten()
    {
        return Ok(elsewhere);
    }
    let entered = rooms_on_demand::join_any_or_create(host, game, wanted, prefix, admit);
    let placed = entered
        .map(Placement::Here)
        .or_else(|refused| placement::create_elsewhere(host, is_relayed, refused));
    placed.map_err(|refused| {
        let Refusal { rule, is_capacity, status, .. } = refused;
        match status {
            101 => refused,
            _ => Refusal { rule, is_capacity, ..closed(CloseReason::NoRoomFits) },
        }
    })
}

/// Adds the header with the path of a room to the response that accepts an upgrade.
pub fn add_header(response: &mut Vec<u8>, room: &RunningRoom) {
    // The response ends with an empty line.
    response.truncate(response.len() - b"\r\n".len());
    response.extend(format!("{ROOM_HEADER}: {}\r\n\r\n", routes::room_path(room.name())).bytes());
}
