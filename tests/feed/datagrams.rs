//! Updates of native clients by datagram. The network loses every third datagram.

use std::collections::BTreeMap;
use std::sync::Arc;

use tickwire::game::{LaneBaseline, Messages, Publisher as _, UpdateRates, View as _};
use tickwire::internal::games::moo::world::{Action, Angle, Command, Identity, PlayerId, TickHz, World};
use tickwire::internal::games::moo::{MooPublisher, MooScratch, MooView};
use tickwire::internal::limits;
use tickwire::packet::{Dialect, Direction, PacketTables, Value};

use crate::lanes::Busy;
use crate::told::{Client, Published};

/// Animals by number, each with its other five values.
type Animals = BTreeMap<i64, Vec<Value>>;

fn apply(known: &mut Animals, gone: &Value, animals: &Value) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let number = |value: &Value| value.as_i64().expect("a number");
    list(gone).iter().for_each(|id| _ = known.remove(&number(id)));
    known.extend(list(animals).chunks(6).map(|animal| (number(&animal[0]), animal[1..].to_vec())));
}

fn has_animals(update: &[Value]) -> bool {
    update.iter().skip(7).any(|list| !list.is_nil())
}

/// A client with a lane.
struct LaneClient {
    view: MooView,
    dialect: Arc<Dialect>,
    scratch: MooScratch,
    animals: Animals,
    newest: u64,
    acked: Option<u32>,
    /// Numbers of updates of the stream with enters, and of updates by datagram with animals.
    entering: usize,
    with_animals: usize,
}

impl LaneClient {
    /// Applies an update that is not older than another.
    fn receive(&mut self, message: &[u8]) -> Vec<Value> {
        let packet = self.dialect.decode(Direction::ToClient, message).expect("by the table");
        assert!(!packet.row.name.starts_with("animals"), "{packet}");
        if packet.row.name != "update" {
            return Vec::new();
        }
        let tick = packet.values[0].as_u64().expect("a tick");
        let list = |at: usize| packet.values.get(at).cloned().unwrap_or(Value::Nil);
        if tick >= self.newest {
            self.newest = tick;
            apply(&mut self.animals, &list(8), &list(7));
        }
        packet.values
    }

    /// Updates the client, by datagram with this baseline, which is lost or arrives at once. Returns
    /// whether the client has the state of this tick.
    fn update(&mut self, published: &Published, lane: Option<LaneBaseline>, is_lost: bool) -> bool {
        let mut messages = Messages::default();
        messages.set_lane(true, lane);
        self.view.update(&[], published, false, &self.dialect, &mut self.scratch, &mut messages);
        for message in messages.iter() {
            let values = self.receive(message);
            let has_enters = values.get(3).and_then(Value::as_array).is_some_and(|enters| !enters.is_empty());
            let is_held = lane.is_some_and(|lane| !lane.is_stream_due);
            assert!(!has_enters || !is_held || values[3][0] == 1.into(), "an enter was not held back");
            self.entering += usize::from(has_enters);
            assert!(lane.is_none() || !has_animals(&values), "animals in the stream beside datagrams");
        }
        for message in messages.datagram().filter(|_| !is_lost) {
            self.with_animals += usize::from(has_animals(&self.receive(message)));
        }
        if !is_lost && lane.is_some() {
            self.acked = Some(published.state.tick);
        }
        lane.is_none() || !is_lost
    }
}

#[test]
fn a_client_has_the_animals_of_each_update_by_datagram_that_arrives() {
    let mut busy = Busy::new(3, 30, 1_440);
    let mut reference = Client::new(1, "native");
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let mut view = MooView::new(&dialect);
    view.set_subject(Some(PlayerId(1)), None);
    let mut client = LaneClient {
        view,
        dialect,
        scratch: MooScratch::default(),
        animals: Animals::new(),
        newest: 0,
        acked: None,
        entering: 0,
        with_animals: 0,
    };
    let (mut expected, mut compared) = (Animals::new(), [0, 0]);
    for step in 0..1_500u32 {
        busy.step();
        let published = busy.publisher.publish(&busy.world, &|_| 0);
        reference.hear(&published);
        for (name, values) in reference.heard.drain(..) {
            match name.as_str() {
                "animals" => apply(&mut expected, &Value::Nil, &values[0]),
                "animals_gone" => apply(&mut expected, &values[0], &Value::Nil),
                _ => {}
            }
        }
        let is_stream_due = step % 6 == 0;
        let baseline = LaneBaseline { acked_tick: client.acked, is_stream_due };
        let lane = (step % 400 > 100).then_some(baseline);
        if client.update(&published, lane, step % 3 == 0) {
            assert_eq!(client.animals, expected, "step {step}");
            compared[usize::from(lane.is_some())] += usize::from(!expected.is_empty());
        }
    }
    assert!(compared.iter().all(|count| *count > 100), "{compared:?}");
    assert!(client.entering > 10 && client.with_animals > 100, "{} {}", client.entering, client.with_animals);
}

/// A world of walking players.
struct Crowd {
    world: World,
    publisher: MooPublisher,
    sequence: u64,
}

impl Crowd {
    fn new(players: u16) -> Crowd {
        let mut world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let rates = UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 };
        let publisher = MooPublisher::new(&world, rates);
        let join = |player| {
            let action = Action::Join { player: PlayerId(player), name: format!("p{player}"), skin: 0 };
            Command { player: PlayerId(0), sequence: player.into(), action }
        };
        world.step(&mut (1..=players).map(join).collect());
        Crowd { world, publisher, sequence: 0 }
    }

    fn step(&mut self) -> Published {
        self.sequence += 1;
        let players = self.world.players().count() as u16;
        let walk = |player: u16| {
            let direction = Some(Angle(player.wrapping_mul(900).wrapping_add(self.sequence as u16)));
            Command { player: PlayerId(player), sequence: self.sequence, action: Action::Move { direction } }
        };
        self.world.step(&mut (1..=players).map(walk).collect());
        self.publisher.publish(&self.world, &|_| 0)
    }
}

#[test]
fn an_update_of_a_crowd_is_split_from_near_to_far() {
    let mut crowd = Crowd::new(150);
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let mut view = MooView::new(&dialect);
    view.set_subject(Some(PlayerId(1)), None);
    let (mut scratch, mut messages) = (MooScratch::default(), Messages::default());
    for _ in 0..20 {
        view.update(&[], &crowd.step(), false, &dialect, &mut scratch, &mut messages);
    }
    messages.clear();
    messages.set_lane(true, Some(LaneBaseline { acked_tick: None, is_stream_due: true }));
    let published = crowd.step();
    view.update(&[], &published, false, &dialect, &mut scratch, &mut messages);
    let packets: Vec<Vec<u8>> = messages.datagram().map(<[u8]>::to_vec).collect();
    assert!(packets.len() > 1 && packets.iter().all(|packet| packet.len() <= limits::LANE_PACKET_BYTES));
    let decode = |packet: &Vec<u8>| dialect.decode(Direction::ToClient, packet).expect("by the table").values;
    let updates: Vec<Vec<Value>> = packets.iter().map(decode).collect();
    let center = published.state.living(Some(PlayerId(1))).expect("it lives");
    let center = &published.state.players[center].body;
    let (x, y) = (center.x.to_half_px(), center.y.to_half_px());
    let mut distances = Vec::new();
    for (at, update) in updates.iter().enumerate() {
        assert_eq!((update[0].as_u64(), update[1].is_array()), (updates[0][0].as_u64(), true));
        assert_eq!(update[1].as_array().map(Vec::is_empty), Some(at > 0), "the first has the own body");
        for pose in update[4].as_array().into_iter().flat_map(|full| full.chunks(4)) {
            let off = |value: &Value, own: i32| (value.as_i64().expect("a number") - i64::from(own)).abs();
            distances.push(off(&pose[1], x).max(off(&pose[2], y)));
        }
    }
    let players = distances.len();
    assert!(players > 100, "{players}");
    // The order is by whole px.
    assert!(distances.windows(2).all(|pair| pair[0] <= pair[1] + 4), "{distances:?}");
}
