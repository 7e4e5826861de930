//! `tickwire explain --received FILE.pcapng`: the clients of a capture that received each entity.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::game::simple::{EntityLayout, ReceivedEntities};
use crate::packet::grammar::Shape;
use crate::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value, json};
use crate::tools::explain::capture_walk::{CaptureItem, CaptureItemKind, ConnectionSummary};
use crate::tools::explain::{Content, Explanation};
use crate::util::escape;
use crate::util::plural::count_noun;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Nanoseconds per second.
const NANOSECONDS: f64 = 1e9;

/// The entities to print: of all lists, of one list, or one entity of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityFilter {
    list: Option<String>,
    id: Option<u32>,
}

impl EntityFilter {
    /// Parses `LIST`, `LIST:ID` or nothing.
    ///
    /// # Errors
    /// Names the text that is no id.
    pub fn parse(text: &str) -> Result<EntityFilter, String> {
        let (list, id) = text.split_once(':').map_or((text, None), |(list, id)| (list, Some(id)));
        let id =
            id.map(|id| id.parse().map_err(|_| format!("the id {id:?}: must be from 0 to {}", u32::MAX)));
        Ok(EntityFilter { list: Some(list.to_owned()).filter(|list| !list.is_empty()), id: id.transpose()? })
    }

    fn includes(&self, list: &str, id: u32) -> bool {
        self.list.as_ref().is_none_or(|own| own == list) && self.id.is_none_or(|own| own == id)
    }

    /// The entities in a sentence.
    fn describe(&self) -> String {
        match (&self.list, self.id) {
            (Some(list), Some(id)) => format!("the entity {list}:{id}"),
            (Some(list), None) => format!("an entity of {list}"),
            (None, Some(id)) => format!("an entity with the id {id}"),
            (None, None) => "an entity".to_owned(),
        }
    }
}

/// How a client received an entity.
#[derive(Debug, Default, PartialEq)]
struct ReceivedEntity {
    /// Number of times that the entity entered the client's view.
    enters: usize,
    /// Number in the file, and time, of the packet that sent it first.
    first: (usize, u64),
    /// Number in the file of the packet after which the client did not see it; `None` if it still
    /// sees it at the end of the capture.
    left: Option<usize>,
    /// The newest values that the client received: names, and values as JSON.
    values: Vec<(String, String)>,
}

/// The client of a connection.
#[derive(Debug, Default)]
struct ReceivingClient {
    lists: BTreeMap<String, ReceivedEntities>,
    /// Its player, according to its newest `spawned` packet.
    player: Option<u16>,
    /// Number of packets that contradict the ones before them.
    contradictions: usize,
}

/// The entities that the clients of a capture have received.
#[derive(Debug)]
pub struct ReceivedTable {
    filter: EntityFilter,
    clients: BTreeMap<usize, ReceivingClient>,
    /// By list, id and client.
    entities: BTreeMap<(String, u32, usize), ReceivedEntity>,
}

impl ReceivedTable {
    /// Creates an empty table.
    ///
    /// # Errors
    /// The tables lack the list of the filter.
    pub fn new(filter: EntityFilter, codes: &PacketTables) -> Result<ReceivedTable, String> {
        let lists =
            codes.dialects().flat_map(|dialect| EntityLayout::all(dialect)).map(|layout| layout.packet);
        let mut lists: Vec<String> = lists.collect();
        lists.sort_unstable();
        lists.dedup();
        let list = filter.list.as_ref().map_or("", |list| list);
        if lists.is_empty() {
            return Err("the packet tables have no entity list: no packet has the argument enter".to_owned());
        }
        if !list.is_empty() && !lists.iter().any(|own| own == list) {
            let lists = lists.join(", ");
            return Err(format!("--received: {list:?} is no entity list of the packet tables: {lists}"));
        }
        Ok(ReceivedTable { filter, clients: BTreeMap::new(), entities: BTreeMap::new() })
    }

    /// Adds an item of the capture.
    pub fn add(&mut self, found: &CaptureItem<'_>) {
        self.clients.entry(found.client).or_default();
        if let CaptureItemKind::Item(explanation) = &found.what
            && explanation.from == Side::Server
        {
            self.add_packets(found, explanation);
        }
    }

    fn add_packets(&mut self, found: &CaptureItem<'_>, explanation: &Explanation<'_>) {
        for frame in &explanation.frames {
            let Content::Packet(Some(_), Some(_)) = frame.content else { continue };
            let payload = frame.message.as_ref().map_or(&frame.payload, |message| &message.payload);
            let dialect = explanation.dialect;
            let opcode = frame.message.as_ref().map(|message| message.opcode);
            let packet = match opcode.or(frame.header.as_ref().map(|header| header.opcode)) {
                Some(Opcode::Text) => {
                    str::from_utf8(payload).ok().map(|text| dialect.decode_json(Direction::ToClient, text))
                }
                _ => Some(dialect.decode(Direction::ToClient, payload)),
            };
            if let Some(Ok(packet)) = packet {
                self.add_packet(found, dialect, &packet);
            }
        }
    }

    fn add_packet(&mut self, found: &CaptureItem<'_>, dialect: &Dialect, packet: &DecodedPacket<'_>) {
        let client = self.clients.entry(found.client).or_default();
        let name = &packet.row.name;
        if name == "spawned" {
            client.player = packet.integer("player");
        }
        if !client.lists.contains_key(name) {
            client.lists.extend(ReceivedEntities::new(dialect, name).map(|list| (name.clone(), list)));
        }
        let Some(list) = client.lists.get_mut(name) else { return };
        let key = |id| (name.clone(), id, found.client);
        let is_included = |id: &u32| self.filter.includes(name, *id);
        let (left, entered) = changed_ids(packet);
        for id in left.iter().filter(|id| is_included(id)) {
            if let Some(entity) = self.entities.get_mut(&key(*id)) {
                entity.left = Some(found.packet);
                entity.values = values(list, *id);
            }
        }
        for id in entered.into_iter().filter(is_included) {
            let is_new = left.contains(&id) || list.values(id).is_none();
            let entity = self.entities.entry(key(id)).or_default();
            if entity.enters == 0 {
                entity.first = (found.packet, found.at_ns);
            }
            entity.enters += usize::from(is_new);
            entity.left = None;
        }
        client.contradictions += usize::from(list.apply(packet).is_err());
    }

    /// Completes the table at the end of the capture: sets the newest values of the entities that
    /// are still visible.
    pub fn finish(&mut self) {
        for ((list, id, client), entity) in
            self.entities.iter_mut().filter(|(_, entity)| entity.left.is_none())
        {
            let lists = self.clients.get(client).map(|client| &client.lists);
            if let Some(list) = lists.and_then(|lists| lists.get(list)) {
                entity.values = values(list, *id);
            }
        }
    }

    /// Formats the table, or a line of JSON for each entity and client.
    ///
    /// # Errors
    /// No client received such an entity.
    pub fn print(&self, begin_ns: u64, is_json: bool) -> Result<String, String> {
        if self.entities.is_empty() {
            let clients = match self.clients.keys().collect::<Vec<_>>()[..] {
                [client] => format!("client {client} did not receive"),
                ref clients => format!("none of {} received", count_noun(clients.len(), "client")),
            };
            return Err(format!("{clients} {}", self.filter.describe()));
        }
        let rows = self.entities.iter();
        Ok(match is_json {
            true => rows.map(|((list, id, client), entity)| self.json(list, *id, *client, entity)).collect(),
            false => self.text(begin_ns),
        })
    }

    fn text(&self, begin_ns: u64) -> String {
        let mut out = format!(
            "{:<16}{:>8}{:>8}{:>8}{:>8}{:>9}{:>12}{:>9}  newest values\n",
            "list", "id", "client", "player", "enters", "packet", "seconds", "until"
        );
        for ((list, id, client), entity) in &self.entities {
            let ReceivedEntity { enters, first: (packet, at_ns), left, values } = entity;
            let seconds = at_ns.saturating_sub(begin_ns) as f64 / NANOSECONDS;
            let until = left.map_or("end".to_owned(), |packet| packet.to_string());
            let player = self.player(*client).map_or("-".to_owned(), |player| player.to_string());
            let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let values = escape::escape_line(&values.join(" ")).into_owned();
            let _ = writeln!(
                out,
                "{list:<16}{id:>8}{client:>8}{player:>8}{enters:>8}{packet:>9}{seconds:>12.6}{until:>9}  {values}"
            );
        }
        out
    }

    fn json(&self, list: &str, id: u32, client: usize, entity: &ReceivedEntity) -> String {
        let ReceivedEntity { enters, first: (packet, at_ns), left, values } = entity;
        let value = |value: &String| serde_json::from_str(value).unwrap_or(Json::Null);
        let values = json::json_object(values.iter().map(|(name, text)| (name.clone(), value(text))));
        let player = self.player(client);
        let line = serde_json::json!({
            "list": list, "id": id, "client": client, "player": player, "enters": enters, "packet": packet,
            "at_ns": at_ns, "until_packet": left, "values": values,
        });
        escape::escape_line(&line.to_string()).into_owned() + "\n"
    }

    fn player(&self, client: usize) -> Option<u16> {
        self.clients.get(&client)?.player
    }

    /// Describes what the table may lack. `None` if each client's packets are complete.
    pub fn incomplete(&self, tallies: &[(usize, ConnectionSummary)]) -> Option<String> {
        let is_incomplete = |(number, tally): &&(usize, ConnectionSummary)| {
            let contradictions = self.clients.get(number).map_or(0, |client| client.contradictions);
            tally.missing_bytes > 0 || tally.broken > 0 || contradictions > 0 || tally.is_guess
        };
        let clients: Vec<String> =
            tallies.iter().filter(is_incomplete).map(|(number, _)| number.to_string()).collect();
        (!clients.is_empty()).then(|| {
            let noun = if clients.len() == 1 { "client" } else { "clients" };
            format!(
                "the capture lacks packets of {noun} {}, or they are broken: the table may lack entities",
                clients.join(", ")
            )
        })
    }
}

/// Returns the names and the values of an entity, as JSON.
fn values(list: &ReceivedEntities, id: u32) -> Vec<(String, String)> {
    let values = list.values(id).into_iter().flatten();
    values.map(|(name, value)| (name.to_owned(), json::to_text(value))).collect()
}

/// Returns the ids in the arguments `leave` and `enter` of an entity list.
fn changed_ids(packet: &DecodedPacket<'_>) -> (Vec<u32>, Vec<u32>) {
    let ids = |name: &str| {
        let argument = packet.row.argument(name).map(|at| &packet.row.arguments[at].ty.shape);
        let width = if let Some(Shape::Groups { members, .. }) = argument { members.len() } else { 1 };
        let values = packet.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ids = values.chunks_exact(width).filter_map(|record| record[0].as_u64());
        ids.filter_map(|id| u32::try_from(id).ok()).collect()
    };
    (ids("leave"), ids("enter"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::explain::Conversation;
    use crate::ws::frame;

    const TABLE: &str = "direction\tname\tlane\tcards:int\targuments\tmeaning\n\
        to_server\tplay\treliable\t1\tcard:u8\tplay a card\n\
        to_client\thand\tlatest\t1\ttick:u32.tick shown:[id:u16,card:u8|nil] enter:[id:u16,card:u8|nil] leave:[u16]|nil\ta hand\n\
        to_client\tspawned\tlatest\t2\tplayer:u16\tthe client plays\n";

    /// Returns the table after packets from the server, each with the number of its client.
    fn received(filter: &str, packets: &[(usize, &str)]) -> ReceivedTable {
        let codes = PacketTables::from_texts(&[("cards.tsv", TABLE)]).expect("a table");
        let dialect = codes.dialect("cards").expect("its dialect");
        let filter = EntityFilter::parse(filter).expect("a filter");
        let mut table = ReceivedTable::new(filter, &codes).expect("the list exists");
        for (packet, (client, text)) in (1..).zip(packets) {
            let packet_of = dialect.decode_json(Direction::ToClient, text).expect("by the table");
            let payload = dialect.encode(Direction::ToClient, &packet_of.row.name, &packet_of.values);
            let mut bytes = Vec::new();
            frame::write(&mut bytes, Opcode::Binary, None, &payload.expect("by the table"));
            let mut conversation = Conversation::in_dialect(&dialect);
            conversation.receive_each(Side::Server, &bytes, |item| {
                let (client, at_ns) = (*client, packet as u64 * 500_000_000);
                table.add(&CaptureItem { client, packet, at_ns, what: CaptureItemKind::Item(item) });
            });
        }
        table.finish();
        table
    }

    /// Client 1 plays as player 7 and has the cards 17 and 18. Client 2 receives the card 17 for a
    /// while, and twice.
    const GAME: [(usize, &str); 8] = [
        (1, r#"["spawned",[7]]"#),
        (1, r#"["hand",[1,[],[17,4,18,null]]]"#),
        (2, r#"["hand",[1,[],[1,1]]]"#),
        (2, r#"["hand",[2,[],[17,null]]]"#),
        (2, r#"["hand",[3,[17,9],[]]]"#),
        (2, r#"["hand",[4,[],[],[17]]]"#),
        (2, r#"["hand",[5,[],[17,null]]]"#),
        (2, r#"["hand",[6,[],[],[17]]]"#),
    ];

    #[test]
    fn an_entity_has_a_line_for_each_client_that_received_it() {
        let text = received("hand:17", &GAME).print(0, false).expect("received");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[1..],
            [
                vec!["hand", "17", "1", "7", "1", "2", "1.000000", "end", "id=17", "card=4"],
                vec!["hand", "17", "2", "-", "2", "4", "2.000000", "8", "id=17", "card=null"],
            ]
        );
        let json = received("", &GAME[..6]).print(0, true).expect("received");
        let last = json.lines().find(|line| line.contains(r#""client":2"#) && line.contains(r#""id":17"#));
        assert_eq!(
            last,
            Some(
                r#"{"at_ns":2000000000,"client":2,"enters":1,"id":17,"list":"hand","packet":4,"player":null,"until_packet":6,"values":{"card":9,"id":17}}"#
            )
        );
        assert_eq!(json.lines().count(), 4);
    }

    #[test]
    fn an_entity_that_no_client_received_is_an_error() {
        let error = |filter, packets| received(filter, packets).print(0, false).expect_err("not received");
        assert_eq!(error("hand:19", &GAME[..]), "none of 2 clients received the entity hand:19");
        assert_eq!(error("hand:17", &GAME[2..3]), "client 2 did not receive the entity hand:17");
        let codes = PacketTables::from_texts(&[("cards.tsv", TABLE)]).expect("a table");
        let filter = EntityFilter::parse("hands").expect("a filter");
        let error = ReceivedTable::new(filter, &codes).expect_err("a misspelt list");
        assert_eq!(error, r#"--received: "hands" is no entity list of the packet tables: hand"#);
        assert_eq!(
            EntityFilter::parse("hand:x"),
            Err(r#"the id "x": must be from 0 to 4294967295"#.to_owned())
        );
    }

    #[test]
    fn the_table_of_an_incomplete_capture_has_a_note() {
        let sound = ConnectionSummary::default();
        let lossy = ConnectionSummary { missing_bytes: 9, ..sound.clone() };
        let table = received("", &GAME);
        assert_eq!(table.incomplete(&[(1, sound.clone()), (2, sound.clone())]), None);
        let note = "the capture lacks packets of client 2, or they are broken: the table may lack entities";
        assert_eq!(table.incomplete(&[(1, sound.clone()), (2, lossy)]).as_deref(), Some(note));
        // The packet leaves an entity that never entered.
        let table = received("", &GAME[5..6]);
        assert_eq!(table.incomplete(&[(2, sound)]).as_deref(), Some(note));
    }
}
