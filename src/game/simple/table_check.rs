//! Checks of a packet table for a simple game, at the start of a server.

use tickwire_sim::WorldParams;

use super::entities::{Entities, EntityLayout, check_layouts};
use super::random_packet::COMMON;
use super::world::SimpleWorld;
use super::{RowValues, SimpleGame, StateRows};
use crate::game::lockstep_packets::has_lockstep;
use crate::game::room_properties::RoomProperties;
use crate::packet::{Dialect, Direction, Lane, PacketTables, TableError};

/// The packet with the exact state of the client's player.
pub const OWN_STATE_PACKET: &str = "own_state";

/// Packets of the lane `latest` besides state rows and entity lists. All other packets to clients
/// are events.
const LATEST: [&str; 2] = [OWN_STATE_PACKET, "spawned"];

/// Checks that every packet of a player has a sequence number, that every packet to clients is in
/// the required lane, that the entity lists have the required form, and that the state rows
/// of a new world fit the table.
///
/// # Errors
/// Names the row and the rule.
pub fn check<S: SimpleGame>(codes: &PacketTables) -> Result<(), TableError> {
    codes.dialect(S::DIALECT).map_or(Ok(()), |dialect| Ok(check_dialect::<S>(&dialect)?))
}

fn check_dialect<S: SimpleGame>(dialect: &Dialect) -> Result<(), String> {
    let mut packets = dialect.rows(Direction::ToServer);
    let bare = packets.find(|row| !COMMON.contains(&&*row.name) && row.argument("sequence").is_none());
    if let Some(row) = bare {
        return Err(format!(
            "the packet {} must begin with the arguments sequence:u32 and tick:u32.tick|nil, as all in which a player acts",
            row.name
        ));
    }
    let params = WorldParams::default_for::<SimpleWorld<S>>(0);
    let mut state = StateRows::new(params.tick_hz);
    S::new(&params).write_state(&mut state);
    state.rows.iter().try_for_each(|row| {
        row.encode(dialect, &[("tick", 0)])
            .map(drop)
            .map_err(|why| format!("the game {} has a state that does not fit: {why}", S::NAME))
    })?;
    check_lanes(dialect, &state.rows)?;
    check_entities::<S>(dialect)?;
    if S::PREDICTION.is_some() {
        check_own_state(dialect).map_err(|why| format!("the table of {} {why}", S::NAME))?;
    }
    let mut room = RoomProperties::default();
    S::new(&params).write_room(&mut room);
    match room.misfit() {
        Some(rule) => Err(format!("the game {} writes of its room {rule}", S::NAME)),
        None => Ok(()),
    }
}

/// Checks the packet of prediction. The server sets three of its arguments.
fn check_own_state(dialect: &Dialect) -> Result<(), String> {
    let row = dialect.row(Direction::ToClient, OWN_STATE_PACKET);
    let row =
        row.ok_or_else(|| format!("must have the packet {OWN_STATE_PACKET}, which prediction needs"))?;
    let missing = ["tick", "sequence", "margin"].into_iter().find(|name| row.argument(name).is_none());
    match missing {
        Some(name) => Err(format!(
            "lacks the argument {name} of the packet {OWN_STATE_PACKET}: it must begin with tick:u32.tick sequence:u32 margin:i16"
        )),
        None => Ok(()),
    }
}

/// Checks the entity lists of a table, and that a table with entity lists has the packets of
/// lockstep only if the game sets [`SimpleGame::ALLOWS_LOCKSTEP`].
fn check_entities<S: SimpleGame>(dialect: &Dialect) -> Result<(), String> {
    let params = WorldParams::default_for::<SimpleWorld<S>>(0);
    let mut entities = Entities::new(params.tick_hz);
    S::new(&params).write_entities(&mut entities);
    check_layouts(dialect, &entities)?;
    let has_lists = !EntityLayout::all(dialect).is_empty();
    if has_lists && !S::ALLOWS_LOCKSTEP && has_lockstep(dialect) {
        return Err(format!(
            "the table of {} has entity lists and the packets of lockstep, in which a client receives the complete state: remove these packets, or set ALLOWS_LOCKSTEP if the game hides nothing",
            S::NAME
        ));
    }
    Ok(())
}

/// Checks that each packet to clients has the lane in which the game sends it.
fn check_lanes(dialect: &Dialect, state: &[RowValues]) -> Result<(), String> {
    for row in dialect.rows(Direction::ToClient) {
        let is_state = state.iter().any(|state| state.packet() == row.name);
        let is_latest = is_state || LATEST.contains(&&*row.name) || EntityLayout::of(row).is_some();
        let (lane, reason) = match is_latest {
            true => (Lane::Latest, "a newer one replaces it"),
            false => (Lane::Reliable, "it is an event, and every event arrives"),
        };
        if row.lane != lane {
            return Err(format!(
                "the packet {} to clients has the lane {}: must be {}, because {reason}; change the lane in its row of the table",
                row.name,
                row.lane.name(),
                lane.name()
            ));
        }
    }
    Ok(())
}
