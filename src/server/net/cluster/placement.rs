//! Placement: finds the process that has a room, or acquires the room for this one.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use tracing::debug;

use super::acquisition::{self, OWNER_AWAY, STORE_AWAY, TOO_MANY_WAIT};
use super::membership::Cluster;
use super::{relay, room_reports};
use crate::game::RoomConditions;
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::cluster::Holder;
use crate::server::net::rooms_on_demand::{self, JoinedRoom, NewRoom, ROOMS_FULL};
use crate::server::net::server_state::ServerState;
use crate::util::address_prefix::AddressPrefix;

/// The process that serves a client of a room.
#[derive(Debug)]
pub enum Placement {
    /// This process.
    Here(JoinedRoom),
    /// Another process, with a connection to it.
    Elsewhere(Holder, TcpStream),
}

/// The result of one attempt.
enum Attempt {
    Done(Placement),
    /// The attempt can be repeated. The rule is for the refusal after the last one.
    Again(&'static str),
}

/// Finds or creates the room of this name. Waits at most [`limits::CLUSTER_ROOM_WAIT`] until the
/// lease of a dead process has ended. `is_relayed`: another process has sent the request,
/// which is not relayed again. `admit` checks whether the client may create a room.
///
/// # Errors
/// The refusal.
pub fn place(
    host: &Arc<ServerState>,
    cluster: &Cluster,
    (name, creator, is_relayed): (&str, AddressPrefix, bool),
    admit: impl Fn() -> Result<(), Refusal>,
) -> Result<Placement, Refusal> {
    let deadline = Instant::now() + limits::CLUSTER_ROOM_WAIT;
    let mut waiting = None;
    loop {
        let rule = match attempt(host, cluster, (name, creator, is_relayed), &admit)? {
            Attempt::Done(placement) => return Ok(placement),
            Attempt::Again(rule) => rule,
        };
        if Instant::now() >= deadline || host.is_stopping() {
            return Err(Refusal::with_headers(503, rule, &[("Retry-After", "1")]));
        }
        if waiting.is_none() {
            waiting = Some(Waiting::begin(cluster)?);
        }
        thread::sleep(limits::CLUSTER_ROOM_POLL_INTERVAL);
    }
}

/// A request that waits for its room.
struct Waiting<'a>(&'a Cluster);

impl Waiting<'_> {
    fn begin(cluster: &Cluster) -> Result<Waiting<'_>, Refusal> {
        let waiting = Waiting(cluster);
        if cluster.waiting.fetch_add(1, Ordering::AcqRel) >= limits::CLUSTER_WAITING_REQUESTS {
            return Err(Refusal { is_capacity: true, ..Refusal::from_rule(503, TOO_MANY_WAIT) });
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

fn attempt(
    host: &Arc<ServerState>,
    cluster: &Cluster,
    (name, creator, is_relayed): (&str, AddressPrefix, bool),
    admit: &impl Fn() -> Result<(), Refusal>,
) -> Result<Attempt, Refusal> {
    if let Some(joined) = host.rooms.enter(name) {
        return Ok(Attempt::Done(Placement::Here(joined)));
    }
    let found = match cluster.look_up(name) {
        Ok(found) => found,
        Err(error) => {
            debug!(%error, "the lease store does not respond");
            return Ok(Attempt::Again(STORE_AWAY));
        }
    };
    if let Some(owner) = found {
        return Ok(connect(cluster, &owner, is_relayed));
    }
    admit()?;
    let reservation = match rooms_on_demand::reserve(host, name, creator) {
        Ok(Some(reservation)) => reservation,
        Ok(None) => return Ok(Attempt::Again(OWNER_AWAY)),
        Err(refused) => return create_elsewhere(host, is_relayed, refused).map(Attempt::Done),
    };
    match acquisition::acquire(host, cluster, name)? {
        Ok(lease) => {
            let new = NewRoom { lease: Some(lease), ..NewRoom::new(reservation, creator) };
            rooms_on_demand::create(host, new).map(|joined| Attempt::Done(Placement::Here(joined)))
        }
        Err(rule) => Ok(Attempt::Again(rule)),
    }
}

/// Connects to the process with the fullest room of this game that meets the conditions, if it is
/// fuller than each room of this process.
pub fn any_elsewhere(host: &ServerState, game: &str, wanted: &RoomConditions) -> Option<Placement> {
    let cluster = host.cluster.as_ref()?;
    let reports = cluster.others().reports;
    let occupied = host.rooms.fullest_occupied(game, wanted);
    connect_to(room_reports::fullest(&reports, game, wanted, occupied)?)
}

/// Connects to the process that can create the most rooms, if this one has refused to create a room
/// because it has its maximum. `is_relayed`: another process has already done so.
///
/// # Errors
/// The refusal, if it has another reason or no process can create a room.
pub fn create_elsewhere(
    host: &ServerState,
    is_relayed: bool,
    refused: Refusal,
) -> Result<Placement, Refusal> {
    let Some(cluster) = host.cluster.as_ref().filter(|_| refused.rule == ROOMS_FULL && !is_relayed) else {
        return Err(refused);
    };
    let reports = cluster.others().reports;
    room_reports::roomiest(&reports).and_then(connect_to).ok_or(refused)
}

fn connect_to(process: &Holder) -> Option<Placement> {
    match relay::connect(process) {
        Ok(stream) => Some(Placement::Elsewhere(process.clone(), stream)),
        Err(error) => {
            debug!(address = process.address, %error, "a process cannot be reached");
            None
        }
    }
}

/// Connects to the process that has a room. After its death, the lease remains for a while.
fn connect(cluster: &Cluster, owner: &Holder, is_relayed: bool) -> Attempt {
    // An earlier process at the address of this one: a connection would reach this process.
    if is_relayed || owner.address == cluster.address() {
        return Attempt::Again(OWNER_AWAY);
    }
    connect_to(owner).map_or(Attempt::Again(OWNER_AWAY), Attempt::Done)
}
