//! Reports of the processes of a cluster about their rooms: for `/rooms`, for `?room=any`, and for
//! the creation of rooms when a process has its maximum.
//!
//! ```text
//!  every half second:  public rooms on demand ─► report ─► store, for 3 s
//!  /rooms, ?room=any:  store, at most once a second ─► reports of the others
//! ```
//!
//! A report is JSON. It has no private rooms, and not the default room, which each process has.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::game::{PropertyValue, RoomConditions};
use crate::limits;
use crate::packet::json::json_object;
use crate::packet::routes::{is_private, is_room_name};
use crate::server::cluster::Holder;
use crate::server::net::rooms::RunningRoom;

/// A public room of another process.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomReport {
    /// The name.
    pub name: String,
    /// The name of the game.
    pub game: String,
    /// The epoch of the run.
    pub epoch: String,
    /// Number of players in the world.
    pub players: u64,
    /// Number of clients.
    pub clients: u64,
    /// Number of bots of the server.
    pub bots: u64,
    /// Number of clients and suspended players.
    pub occupied: u64,
    /// Whether a client that wants any room may enter.
    pub is_open: bool,
    /// The properties: of a room of this process in the order of the game, otherwise by name.
    pub properties: Vec<(String, Value)>,
}

/// The report of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessReport {
    /// The process.
    pub holder: Holder,
    /// Number of rooms on demand that it can still create.
    pub rooms_left: u64,
    /// Number of its rooms, including private ones and the default room.
    pub rooms: u64,
    /// Number of players in all of its rooms.
    pub players: u64,
    /// Its public rooms on demand, at most [`limits::CLUSTER_REPORT_ROOMS`].
    pub listed: Vec<RoomReport>,
}

impl RoomReport {
    /// Describes a room of this process. `is_draining`: the process accepts no new clients.
    pub fn of(room: &RunningRoom, is_draining: bool) -> RoomReport {
        RoomReport {
            name: room.name().to_owned(),
            game: room.game().to_owned(),
            epoch: room.handle.options.epoch.clone(),
            players: room.players() as u64,
            clients: room.clients() as u64,
            bots: room.metrics.bots.get().try_into().unwrap_or(0),
            occupied: room.occupied() as u64,
            is_open: !is_draining && room.has_free_place(),
            properties: properties_of(room),
        }
    }

    /// Returns the properties as an object.
    pub fn properties_json(&self) -> Map<String, Value> {
        json_object(self.properties.iter().cloned())
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "game": self.game,
            "epoch": self.epoch,
            "players": self.players,
            "clients": self.clients,
            "bots": self.bots,
            "occupied": self.occupied,
            "open": self.is_open,
            "properties": self.properties_json(),
        })
    }

    /// Reads a room. `None` if a field is missing or malformed, or the room is private.
    fn from_json(value: &Value) -> Option<RoomReport> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let number = |name: &str| value[name].as_u64();
        let report = RoomReport {
            name: text("name")?,
            game: text("game")?,
            epoch: text("epoch")?,
            players: number("players")?,
            clients: number("clients")?,
            bots: number("bots")?,
            occupied: number("occupied")?,
            is_open: value["open"].as_bool()?,
            properties: value["properties"].as_object()?.clone().into_iter().collect(),
        };
        (is_room_name(&report.name) && !is_private(&report.name)).then_some(report)
    }

    /// Whether a client that wants any room of this game may enter.
    fn fits(&self, game: &str, wanted: &RoomConditions) -> bool {
        let text = |name: &str| {
            let (_, value) = self.properties.iter().find(|(known, _)| known == name)?;
            Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        self.is_open && self.game == game && wanted.fit_texts(text)
    }
}

impl ProcessReport {
    /// Encodes the report. Leaves out rooms above [`limits::CLUSTER_REPORT_ROOMS`] or longer than
    /// [`limits::CLUSTER_ROOM_REPORT_BYTES`], closed and empty ones first.
    pub fn encode(&self) -> String {
        let Holder { process, address, relay_key, public_url } = &self.holder;
        let mut listed: Vec<&RoomReport> = self.listed.iter().collect();
        listed.sort_by_key(|room| Reverse((room.is_open, room.occupied)));
        let rooms = listed.into_iter().map(RoomReport::to_json);
        let rooms = rooms.filter(|room| room.to_string().len() <= limits::CLUSTER_ROOM_REPORT_BYTES);
        let rooms: Vec<Value> = rooms.take(limits::CLUSTER_REPORT_ROOMS).collect();
        json!({
            "process": process,
            "address": address,
            "relay_key": relay_key,
            "public_url": public_url,
            "rooms_left": self.rooms_left,
            "rooms": self.rooms,
            "players": self.players,
            "listed": rooms,
        })
        .to_string()
    }

    /// Decodes a report. `None` if it is malformed; malformed rooms are left out.
    pub fn decode(text: &str) -> Option<ProcessReport> {
        const MAX_BYTES: usize = (limits::CLUSTER_REPORT_ROOMS + 1) * limits::CLUSTER_ROOM_REPORT_BYTES;
        let text = Some(text).filter(|text| text.len() <= MAX_BYTES)?;
        let value: Value = serde_json::from_str(text).ok()?;
        let field = |name: &str| value[name].as_str().map(str::to_owned);
        let number = |name: &str| value[name].as_u64();
        let holder = Holder {
            process: field("process")?,
            address: field("address")?,
            relay_key: field("relay_key")?,
            public_url: field("public_url")?,
        };
        let listed = value["listed"].as_array()?.iter().filter_map(RoomReport::from_json);
        Some(ProcessReport {
            holder,
            rooms_left: number("rooms_left")?,
            rooms: number("rooms")?,
            players: number("players")?,
            listed: listed.take(limits::CLUSTER_REPORT_ROOMS).collect(),
        })
    }
}

fn properties_of(room: &RunningRoom) -> Vec<(String, Value)> {
    let value = |value: &PropertyValue| match value {
        PropertyValue::Number(number) => json!(number),
        PropertyValue::Flag(flag) => json!(flag),
        PropertyValue::Text(text) => json!(text),
    };
    room.handle.properties.get().iter().map(|(name, set)| (name.to_owned(), value(set))).collect()
}

/// Returns the process with the fullest room that fits, if that room is fuller than `occupied`, the
/// clients of the fullest one of this process. Of equally full rooms, the first by name.
pub fn fullest<'a>(
    reports: &'a [ProcessReport],
    game: &str,
    wanted: &RoomConditions,
    occupied: Option<usize>,
) -> Option<&'a Holder> {
    let rooms = reports.iter().flat_map(|report| report.listed.iter().map(move |room| (report, room)));
    let fitting = rooms.filter(|(_, room)| room.fits(game, wanted));
    let (report, room) = fitting.min_by_key(|(_, room)| (Reverse(room.occupied), &*room.name))?;
    occupied.is_none_or(|occupied| room.occupied > occupied as u64).then_some(&report.holder)
}

/// Returns the process that can create the most rooms, if any can create one.
pub fn roomiest(reports: &[ProcessReport]) -> Option<&Holder> {
    let with_room = reports.iter().filter(|report| report.rooms_left > 0);
    with_room.max_by_key(|report| report.rooms_left).map(|report| &report.holder)
}

/// The reports of the other processes, as read from the store at most once per
/// [`limits::CLUSTER_REPORT_READ_INTERVAL`].
#[derive(Debug, Clone, Default)]
pub struct ReportCache {
    /// The reports, ordered by the addresses of the processes.
    pub reports: Arc<Vec<ProcessReport>>,
    /// Whether the store responded to the last attempt to read them.
    pub is_fresh: bool,
    /// Time of the last attempt.
    pub tried_at: Option<Duration>,
    /// Time of the last read.
    pub read_at: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(name: &str, occupied: u64, is_open: bool) -> RoomReport {
        let properties = [("map", json!(3)), ("state", json!("lobby"))];
        RoomReport {
            name: name.to_owned(),
            game: "moo".to_owned(),
            epoch: format!("epoch of {name}"),
            players: occupied + 1,
            clients: occupied,
            bots: 1,
            occupied,
            is_open,
            properties: properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }

    fn report(process: &str, rooms_left: u64, listed: Vec<RoomReport>) -> ProcessReport {
        let holder = Holder {
            process: process.to_owned(),
            address: format!("{process}:3000"),
            relay_key: "key".to_owned(),
            public_url: String::new(),
        };
        ProcessReport { holder, rooms_left, rooms: listed.len() as u64 + 1, players: 5, listed }
    }

    #[test]
    fn a_decoded_report_is_the_encoded_one_without_private_and_malformed_rooms() {
        let private = format!("p-{}", "a".repeat(24));
        let mut own = report("a", 3, vec![room("hall", 2, true), room(&private, 1, true)]);
        let text = own.encode();
        own.listed.pop();
        assert_eq!(ProcessReport::decode(&text), Some(own));
        let malformed = text.replace("\"occupied\":2", "\"occupied\":-2");
        assert_eq!(ProcessReport::decode(&malformed).expect("a report").listed, []);
        for text in ["", "{}", "[]", &text.replace("rooms_left", "left"), &text[1..]] {
            assert_eq!(ProcessReport::decode(text), None, "{text}");
        }
    }

    #[test]
    fn a_report_has_a_limited_number_of_rooms_and_the_open_and_fullest_first() {
        let count = limits::CLUSTER_REPORT_ROOMS as u64 + 5;
        let mut listed: Vec<_> = (0..count).map(|at| room(&format!("room-{at}"), at, at != 300)).collect();
        listed[7].epoch = "x".repeat(limits::CLUSTER_ROOM_REPORT_BYTES);
        let decoded = ProcessReport::decode(&report("a", 0, listed).encode()).expect("a report");
        assert_eq!(decoded.listed.len(), limits::CLUSTER_REPORT_ROOMS);
        assert_eq!(decoded.listed[0].occupied, count - 1);
        assert!(decoded.listed.iter().all(|room| room.occupied != 7));
    }

    #[test]
    fn the_longest_room_fits_a_report() {
        let mut longest = room(&"x".repeat(limits::ROOM_NAME_CHARS), u64::MAX - 1, true);
        let name = |at: usize| format!("{at:x>width$}", width = limits::ROOM_PROPERTY_NAME_CHARS);
        let text = "\u{1f409}".repeat(limits::ROOM_PROPERTY_TEXT_CHARS);
        longest.properties = (0..limits::ROOM_PROPERTIES).map(|at| (name(at), json!(text))).collect();
        longest.epoch = "0".repeat(32);
        assert!(longest.to_json().to_string().len() <= limits::CLUSTER_ROOM_REPORT_BYTES);
    }

    #[test]
    fn any_room_is_the_fullest_open_one_that_fits_unless_this_process_has_one_as_full() {
        let reports = [
            report("a", 0, vec![room("hall", 4, true), room("full", 9, false)]),
            report("b", 0, vec![room("arena", 4, true), room("den", 1, true)]),
        ];
        let process = |game, conditions, occupied| {
            let wanted = RoomConditions::parse(conditions).expect("conditions");
            fullest(&reports, game, &wanted, occupied).map(|holder| &*holder.process)
        };
        assert_eq!(process("moo", "", None), Some("b"), "the first by name");
        assert_eq!(process("moo", "state:lobby,map:3", Some(3)), Some("b"));
        assert_eq!(process("moo", "", Some(4)), None);
        assert_eq!((process("moo", "map:4", None), process("tanks", "", None)), (None, None));
    }

    #[test]
    fn a_room_is_created_by_the_process_that_can_create_the_most() {
        let reports = [report("a", 0, vec![]), report("b", 2, vec![]), report("c", 1, vec![])];
        assert_eq!(roomiest(&reports).map(|holder| &*holder.process), Some("b"));
        assert_eq!((roomiest(&reports[..1]), roomiest(&[])), (None, None));
    }
}
