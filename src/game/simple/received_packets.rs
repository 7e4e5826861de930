//! The packets that a bot's client has received.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::entities::{EntityError, ReceivedEntities};
use super::rows::ReceivedRow;
use crate::game::command_acks::{ACCEPTED, REJECTED};
use crate::game::lockstep_packets;
use crate::packet::{DecodedPacket, Dialect, Direction, Lane, Value, lane_packets};

/// Maximum number of stored events. A bot reads them about ten times a second; the oldest ones are
/// dropped.
const MAX_EVENTS: usize = 1_024;

/// Packets from the server that are not events of the game.
const NON_EVENT_PACKETS: [&str; 11] = [
    "welcome",
    "spawned",
    "pong",
    "error",
    ACCEPTED,
    REJECTED,
    lockstep_packets::STATE_SYNC,
    lockstep_packets::SNAPSHOT,
    lockstep_packets::COMMAND_FRAME,
    lockstep_packets::DESYNC_REPORT,
    lane_packets::OFFER,
];

/// The packets of a client: the entity lists, the newest packet of each name, and the events
/// since the last [`clear_events`](ReceivedPackets::clear_events).
#[derive(Debug, Clone)]
pub struct ReceivedPackets {
    dialect: Arc<Dialect>,
    tick: Option<u32>,
    /// The entity lists, by the names of their packets.
    pub(super) entities: BTreeMap<String, ReceivedEntities>,
    /// The values of the newest packet of each name.
    pub(super) newest: BTreeMap<String, Vec<Value>>,
    /// The names and values of the events, in the order of arrival.
    events: VecDeque<(String, Vec<Value>)>,
}

impl ReceivedPackets {
    /// Creates the state of a client that has received nothing.
    pub fn new(dialect: &Arc<Dialect>) -> ReceivedPackets {
        ReceivedPackets {
            dialect: Arc::clone(dialect),
            tick: None,
            entities: ReceivedEntities::all(dialect),
            newest: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Stores a packet.
    ///
    /// # Errors
    /// A contradiction in a packet of an entity list. The rest of the packet is applied.
    pub fn apply(&mut self, packet: &DecodedPacket<'_>) -> Result<(), EntityError> {
        let name = &packet.row.name;
        self.tick = self.tick.max(packet.integer("tick"));
        if is_event(packet) {
            if self.events.len() == MAX_EVENTS {
                self.events.pop_front();
            }
            self.events.push_back((name.clone(), packet.values.clone()));
        }
        self.newest.insert(name.clone(), packet.values.clone());
        self.entities.get_mut(name).map_or(Ok(()), |list| list.apply(packet))
    }

    /// Removes the events.
    pub fn clear_events(&mut self) {
        self.events.clear();
    }

    /// Returns the newest tick of a packet. `None` before the packet `welcome`.
    pub fn tick(&self) -> Option<u32> {
        self.tick
    }

    /// Returns the newest packet of a name, such as a state row. `None` if there is none.
    pub fn newest<R: ReceivedRow>(&self) -> Option<R> {
        self.read(self.newest.get(R::PACKET)?)
    }

    /// Iterates over the events of a name, in the order of arrival.
    pub fn events<R: ReceivedRow>(&self) -> impl Iterator<Item = R> {
        let events = self.events.iter().filter(|(name, _)| name == R::PACKET);
        events.filter_map(|(_, values)| self.read(values))
    }

    /// Iterates over the visible entities of a list, in ascending order of their ids.
    pub fn entities<R: ReceivedRow>(&self) -> impl Iterator<Item = R> {
        self.entities.get(R::PACKET).into_iter().flat_map(ReceivedEntities::rows)
    }

    /// Returns a visible entity of a list by its id.
    pub fn entity<R: ReceivedRow>(&self, id: u32) -> Option<R> {
        self.entities.get(R::PACKET)?.row(id)
    }

    fn read<R: ReceivedRow>(&self, values: &[Value]) -> Option<R> {
        let row = self.dialect.row(Direction::ToClient, R::PACKET)?;
        R::from_values(|name| values.get(row.argument(name)?))
    }
}

/// Returns whether a packet is an event of the game.
pub(super) fn is_event(packet: &DecodedPacket<'_>) -> bool {
    packet.row.lane == Lane::Reliable && !NON_EVENT_PACKETS.contains(&&*packet.row.name)
}

#[cfg(test)]
mod tests {
    use tickwire_sim::PlayerId;

    use super::*;
    use crate::packet::PacketTables;

    const TABLE: &str = "direction\tname\tlane\tfarm:int\targuments\tmeaning\n\
        to_server\thello\treliable\t1\tversion:u16\tthe first packet\n\
        to_client\tstate\tlatest\t1\ttick:u32.tick is_open:bool winner:u16|nil fields:[player:u16,name:str<=15]\tthe state\n\
        to_client\tcows\tlatest\t2\ttick:u32.tick grown:[id:u16,size:u8] enter:[id:u16,size:u8,name:str<=15|nil] leave:[u16]|nil\tcows in view\n\
        to_client\tfed\treliable\t3\tid:u16 by:u16\ta cow is fed\n";

    crate::rows! {
        in TABLE;
        struct State in "state" { is_open: bool, winner: Option<PlayerId>, fields: Vec<FieldRow> }
        struct FieldRow { player: PlayerId, name: Arc<str> }
        struct Cow in "cows" { id: u16, size: u8, name: Option<Arc<str>> }
        struct Fed in "fed" { id: u16, by: PlayerId }
        struct FedByFew in "fed" { by: u8 }
    }

    /// Applies packets in JSON.
    fn apply(received: &mut ReceivedPackets, packets: &[&str]) {
        let dialect = Arc::clone(&received.dialect);
        for text in packets {
            let packet = dialect.decode_json(Direction::ToClient, text).expect("by the table");
            received.apply(&packet).expect("no contradiction");
        }
    }

    fn farm() -> ReceivedPackets {
        let tables = PacketTables::from_texts(&[("farm.tsv", TABLE)]).expect("a table");
        ReceivedPackets::new(&tables.dialect("farm").expect("its dialect"))
    }

    #[test]
    fn the_newest_state_row_is_read_with_records_and_without_values() {
        let mut farm = farm();
        assert_eq!(farm.newest::<State>(), None);
        apply(&mut farm, &[r#"["state",[6,true,2,[]]]"#, r#"["state",[7,false,null,[1,"Ann",2,"Bob"]]]"#]);
        let fields = [(1, "Ann"), (2, "Bob")];
        let fields =
            fields.map(|(player, name)| FieldRow { player: PlayerId(player), name: name.into() }).to_vec();
        assert_eq!(farm.newest(), Some(State { is_open: false, winner: None, fields }));
        assert_eq!(farm.tick(), Some(7));
    }

    #[test]
    fn entities_are_read_with_their_newest_fields() {
        let mut farm = farm();
        apply(
            &mut farm,
            &[r#"["cows",[6,[],[3,10,null,1,20,"Berta"],[]]]"#, r#"["cows",[8,[3,11],[],[1]]]"#],
        );
        let cow = || Cow { id: 3, size: 11, name: None };
        assert_eq!(farm.entities().collect::<Vec<Cow>>(), [cow()]);
        assert_eq!((farm.entity(3), farm.entity::<Cow>(1)), (Some(cow()), None));
    }

    #[test]
    fn events_are_read_once_and_the_oldest_are_dropped() {
        let mut farm = farm();
        let fed = |id: u16| format!(r#"["fed",[{id},300]]"#);
        apply(&mut farm, &[&fed(1), &fed(2)]);
        let ids = |farm: &ReceivedPackets| farm.events().map(|Fed { id, .. }| id).collect::<Vec<_>>();
        assert_eq!(ids(&farm), [1, 2]);
        // The player 300 fits no u8.
        assert_eq!(farm.events::<FedByFew>().count(), 0);
        farm.clear_events();
        assert_eq!(ids(&farm), [0; 0]);
        (0..=MAX_EVENTS as u16).for_each(|id| apply(&mut farm, &[&fed(id)]));
        assert_eq!((ids(&farm).len(), ids(&farm)[0]), (MAX_EVENTS, 1));
    }
}
