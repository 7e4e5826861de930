//! Entity lists by datagram, over a network that loses, delays and reorders.

use std::collections::BTreeMap;

use tickwire_sim::{PlayerId, Rng};

use super::super::Simple;
use super::super::world::SimpleAction;
use super::tests::{Herd, RATES, TestClient, TestRoom};
use super::{EntityError, Viewer};
use crate::game::{LaneBaseline, Messages, Published, StateOutcome, View};
use crate::packet::{Direction, Value};

/// An update in flight: its packets, and the step in which it arrives; `None` if it is lost.
struct InFlight {
    tick: u32,
    packets: Vec<Vec<u8>>,
    arrives: Option<u32>,
}

/// A client with a lane.
struct LaneClient {
    client: TestClient,
    in_flight: Vec<InFlight>,
    /// The newest tick that has arrived, and the newest that the server knows to have arrived.
    newest: u32,
    acked: Option<u32>,
    acks: Vec<(u32, u32)>,
    /// For each entity list, the tick of its newest packet.
    ticks: BTreeMap<String, u32>,
    repeated_leaves: usize,
    compared: usize,
}

impl LaneClient {
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
        self.acks.retain(|(tick, arrives)| {
            if *arrives <= step {
                self.acked = self.acked.max(Some(*tick));
            }
            *arrives > step
        });
        messages.set_lane(has_lane.then_some(LaneBaseline { acked_tick: self.acked }));
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
            let arrives = (random.below(3) > 0).then(|| step + random.below(12));
            let packets = messages.datagram().map(<[u8]>::to_vec).collect();
            self.in_flight.push(InFlight { tick: step, packets, arrives });
        }
        if outcome == StateOutcome::Written && !has_lane {
            self.newest = step;
            self.compare(room, published);
        }
    }

    /// Receives what has arrived, in any order. The newest update is compared with what the client
    /// saw then.
    fn receive(
        &mut self,
        room: &TestRoom,
        history: &BTreeMap<u32, Published<Simple<Herd>>>,
        step: u32,
        random: &mut Rng,
    ) {
        while let Some(at) = self.in_flight.iter().position(|one| one.arrives.is_none_or(|at| at <= step)) {
            let InFlight { tick, packets, arrives } = self.in_flight.swap_remove(at);
            if arrives.is_none() || tick < self.newest {
                continue;
            }
            packets.iter().for_each(|packet| self.apply(room, packet, true));
            self.newest = tick;
            self.acks.push((tick, step + random.below(12)));
            self.compare(room, &history[&tick]);
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
        let moved = packet.get("moved").and_then(Value::as_array);
        assert!(
            !is_datagram || moved.is_none_or(|moved| moved.is_empty()),
            "{packet}: a difference by datagram"
        );
    }
}

#[test]
fn a_client_sees_what_it_may_after_each_update_by_datagram_that_arrives() {
    for seed in 1..=6 {
        let mut room = TestRoom::new(seed, RATES);
        let mut random = Rng::new(seed, 11);
        let mut history = BTreeMap::new();
        let client = |player| LaneClient {
            client: room.client(Some(player)),
            in_flight: Vec::new(),
            newest: 0,
            acked: None,
            acks: Vec::new(),
            ticks: BTreeMap::new(),
            repeated_leaves: 0,
            compared: 0,
        };
        let mut clients = [client(1), client(2)];
        for tick in 0..3_000u32 {
            let actions = match tick {
                0..5 => vec![SimpleAction::Join(PlayerId(tick as u16 + 1), format!("p{tick}"), None)],
                _ => vec![],
            };
            let published = room.step(actions);
            let step = published.tick;
            for client in clients.iter_mut().filter(|_| tick >= 5) {
                // Sometimes the stream carries everything, and once no acknowledgement arrives for
                // long.
                let has_lane = tick % 500 > 90;
                if (1_200..1_400).contains(&tick) {
                    client.acks.clear();
                }
                client.update(&mut room, &published, has_lane, &mut random);
            }
            history.insert(step, published);
            for client in &mut clients {
                client.receive(&room, &history, step, &mut random);
            }
        }
        for client in &clients {
            assert!(
                client.compared > 700 && client.repeated_leaves > 50,
                "{} {}",
                client.compared,
                client.repeated_leaves
            );
        }
    }
}
