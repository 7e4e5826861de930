//! Entity lists by datagram, over a network that loses, delays and reorders.

use std::collections::BTreeMap;

use tickwire_sim::{PlayerId, Rng};

use super::super::Simple;
use super::super::world::SimpleAction;
use super::tests::{FAR_SIGHTED, Herd, RATES, TestClient, TestRoom};
use super::{EntityError, Viewer};
use crate::game::{LaneBaseline, Messages, Published, StateOutcome, View};
use crate::limits;
use crate::packet::{Direction, Value};

/// A datagram with one packet in flight, and the step in which it arrives; `None` if it is lost.
struct InFlight {
    tick: u32,
    packet: Vec<u8>,
    arrives: Option<u32>,
}

/// A client with a lane.
struct LaneClient {
    client: TestClient,
    in_flight: Vec<InFlight>,
    /// The newest tick with a packet that has arrived, and the newest that is acknowledged.
    newest: u32,
    acked: Option<u32>,
    /// For each tick, the number of its packets that have not arrived.
    missing: BTreeMap<u32, usize>,
    /// For each entity list, the tick of its newest packet.
    ticks: BTreeMap<String, u32>,
    repeated_leaves: usize,
    compared: usize,
    /// Number of updates with several packets of a list.
    split: usize,
}

impl LaneClient {
    fn new(client: TestClient) -> LaneClient {
        LaneClient {
            client,
            in_flight: Vec::new(),
            newest: 0,
            acked: None,
            missing: BTreeMap::new(),
            ticks: BTreeMap::new(),
            repeated_leaves: 0,
            compared: 0,
            split: 0,
        }
    }

    /// Updates the client by datagram or in the stream, which arrives at once.
    fn update(
        &mut self,
        room: &mut TestRoom,
        published: &Published<Simple<Herd>>,
        has_lane: bool,
        random: &mut Rng,
    ) {
        let mut messages = Messages::default();
        let step = published.tick;
        let baseline = LaneBaseline { acked_tick: self.acked, is_stream_due: true };
        messages.set_lane(true, has_lane.then_some(baseline));
        let view = &mut self.client.view;
        View::<Simple<Herd>>::set_subject(view, self.client.player, None);
        let (dialect, scratch) = (room.dialect.clone(), &mut room.scratch);
        let outcome =
            View::<Simple<Herd>>::update(view, &[], published, false, &dialect, scratch, &mut messages);
        assert_eq!(messages.take_misfits(), []);
        for message in messages.iter() {
            self.apply(room, message, false);
        }
        if outcome == StateOutcome::Written && has_lane {
            for packet in messages.datagram() {
                assert!(packet.len() <= limits::LANE_PACKET_BYTES, "{} bytes", packet.len());
                let arrives = (random.below(5) > 0).then(|| step + random.below(12));
                self.in_flight.push(InFlight { tick: step, packet: packet.to_vec(), arrives });
            }
            self.missing.insert(step, messages.datagram().count());
            self.split += usize::from(messages.datagram().count() > self.client.received.len());
        }
        if outcome == StateOutcome::Written && !has_lane {
            self.newest = step;
            self.compare(room, published);
        }
    }

    /// Receives what has arrived, in any order. After the last packet of the newest update, the
    /// client is compared with what it saw then.
    fn receive(
        &mut self,
        room: &TestRoom,
        history: &BTreeMap<u32, Published<Simple<Herd>>>,
        step: u32,
        random: &mut Rng,
        is_silent: bool,
    ) {
        while let Some(at) = self.in_flight.iter().position(|one| one.arrives.is_none_or(|at| at <= step)) {
            let InFlight { tick, packet, arrives } = self.in_flight.swap_remove(at);
            if arrives.is_none() {
                continue;
            }
            let missing = self.missing.entry(tick).or_default();
            *missing -= 1;
            if tick < self.newest {
                continue;
            }
            self.newest = tick;
            self.apply(room, &packet, true);
            let missing = self.missing.entry(tick).or_default();
            if *missing == 0 {
                self.compare(room, &history[&tick]);
            }
        }
        if random.below(4) == 0 && !is_silent {
            // As `LaneEndpoint` does.
            let newest = Some(self.newest).filter(|newest| self.missing.get(newest) == Some(&0));
            self.acked = self.acked.max(newest);
        }
    }

    fn compare(&mut self, room: &TestRoom, published: &Published<Simple<Herd>>) {
        let viewer = Viewer { player: self.client.player, spectated: None };
        let frame = published.state.entities.as_ref().expect("a game with entity lists");
        for list in &self.client.received {
            frame
                .compare_received(viewer, list, &room.dialect)
                .unwrap_or_else(|error| panic!("tick {}: {error}", published.tick));
        }
        self.compared += 1;
    }

    fn apply(&mut self, room: &TestRoom, message: &[u8], is_datagram: bool) {
        let packet = room.dialect.decode(Direction::ToClient, message).expect("by the table");
        let Some(list) = self.client.received.iter_mut().find(|list| list.packet() == packet.row.name) else {
            return;
        };
        let tick = packet.integer("tick").expect("an entity list has a tick");
        let newest = self.ticks.entry(packet.row.name.clone()).or_default();
        if tick < *newest {
            return;
        }
        *newest = tick;
        match list.apply(&packet) {
            Err(EntityError::UnknownLeave(_)) if is_datagram => self.repeated_leaves += 1,
            // After the lane, the client may know less than the server assumes.
            Err(EntityError::UnknownLeave(_)) => {}
            result => result.expect("the packet fits the ones before"),
        }
        let differences = ["moved", "veered"].map(|list| packet.get(list).and_then(Value::as_array));
        assert!(
            !is_datagram || differences.into_iter().flatten().all(|list| list.is_empty()),
            "{packet}: a difference by datagram"
        );
    }
}

#[test]
fn a_client_sees_what_it_may_after_each_update_by_datagram_that_arrives() {
    for seed in 1..=4 {
        let mut room = TestRoom::new(seed, RATES);
        let mut random = Rng::new(seed, 11);
        let mut history = BTreeMap::new();
        let players = [PlayerId(1), PlayerId(2), FAR_SIGHTED];
        let mut clients = players.map(|player| LaneClient::new(room.client(Some(player.0))));
        for tick in 0..2_000u32 {
            let actions = match tick {
                0..5 => {
                    let name = if tick == 4 { "drover".to_owned() } else { format!("p{tick}") };
                    vec![SimpleAction::Join(PlayerId(tick as u16 + 1), name, None)]
                }
                _ => vec![],
            };
            let published = room.step(actions);
            let step = published.tick;
            for client in clients.iter_mut().filter(|_| tick >= 5) {
                // Sometimes the stream carries everything, and once no acknowledgement arrives for
                // long.
                let has_lane = tick % 500 > 90;
                client.update(&mut room, &published, has_lane, &mut random);
            }
            history.insert(step, published);
            for client in &mut clients {
                client.receive(&room, &history, step, &mut random, (1_200..1_400).contains(&tick));
            }
        }
        for client in &clients {
            let LaneClient { compared, repeated_leaves, split, .. } = client;
            assert!(*compared > 150 && *repeated_leaves > 50, "{compared} {repeated_leaves}");
            let is_far_sighted = client.client.player == Some(FAR_SIGHTED);
            assert_eq!(*split > 100, is_far_sighted, "{split} updates with several packets");
        }
    }
}
