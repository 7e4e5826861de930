//! Games in one file: a state and a few functions.
//!
//! ```text
//!   packet ─► action ─► room ─► apply, tick ─┬► write_state ─► the packet `state`, encoded once
//!                                            └► write_entities ─► what each client sees
//! ```
//!
//! The [crate's page](crate) has an example, and [`game`](crate::game) a test of it. [`Simple`]
//! makes a [`Game`] of a [`SimpleGame`]. It adds joins and leaves, sequence numbers, snapshots and
//! checksums, and a view that sends the packet `state` to every client after each change.
//!
//! # Entity lists
//!
//! A game in which clients see different things, or many things, has entity lists: rows of the
//! table in the lane `latest` with an argument `enter` (PROTOCOL.md, section "Entity lists").
//! [`SimpleGame::write_entities`] adds the entities of each tick, typed by
//! [`entity_row!`](crate::entity_row). At each update, a client is sent the entities that it sees
//! from now on, the ids of entities that it no longer sees, and the changed fields of the others.
//! [`SimpleGame::sight`] and [`SimpleGame::sees`] decide what a client sees, and nothing else is
//! sent to it. `examples/fog.rs` is a complete game.

mod bot_policy;
mod bots;
#[cfg(not(target_family = "wasm"))]
mod checks;
mod encode_once;
mod entities;
mod named_values;
mod prediction;
mod published;
mod random_bot;
mod random_packet;
mod rewind;
mod simple_game;
mod table_check;
mod world;

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use bot_policy::BotPolicy;
use encode_once::encode_once;
pub use entities::{
    Entities, EntityError, EntityInfo, EntityRef, EntityRow, FieldValue, ReceivedEntities, Sight, Viewer,
};
use entities::{EntityFrame, EntityScratch, FrameBuilder, KnownEntities};
pub use named_values::NamedValues;
pub use prediction::{LocalState, PredictedGame, SimpleLocalWorld};
#[doc(hidden)]
pub use published::{SimpleEvents, SimpleState};
pub use rewind::RewindBuffer;
use simple_game::OutgoingEvent;
pub use simple_game::{SimpleGame, TickContext};
use table_check::OWN_STATE_PACKET;
use tickwire_sim::{Action as _, EncodedAction, PlayerId};
use world::rules_hash;
pub use world::{SimpleAction, SimpleWorld};

use super::command_acks::has_command_acks;
use super::dyn_tick::Roster;
use super::game::{Game, Published, Publisher, StateOutcome, UpdateRates, View};
use super::info::{GameInfo, KillPacket};
use super::messages::{MessageWriter, Messages};
use super::packet_handler::{JoinRequest, PacketEffect, PacketHandler};
use super::prediction::NewPredictor;
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Lane, PacketTables};

/// Estimated size of an event without its encoded values: packet, receiver and names of arguments.
const EVENT_BYTES: usize = 256;

/// The [`Game`] that implements a [`SimpleGame`].
#[derive(Debug)]
pub struct Simple<S>(PhantomData<S>);

impl<S: SimpleGame> Game for Simple<S> {
    const NAME: &'static str = S::NAME;
    const PATHS: &'static [(&'static str, &'static str)] = &[("/play", S::DIALECT)];
    const TABLES: &'static [(&'static str, &'static str)] = &[S::TABLE];
    const REQUIRED_PACKETS: &'static [&'static str] = &["state"];
    const PAGE: Option<&'static str> = Some(S::PAGE);
    #[cfg(target_family = "wasm")]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_bots::<Self>();
    #[cfg(not(target_family = "wasm"))]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_checks::<Self>();
    const PREDICTOR: Option<NewPredictor> = S::PREDICTOR;
    const KILL_PACKET: Option<KillPacket> = S::KILL_PACKET;

    type Sim = SimpleWorld<S>;
    type Events = SimpleEvents;
    type State = SimpleState<S>;
    type Publisher = SimplePublisher<S>;
    type View = SimpleView;
    type Scratch = EntityScratch;

    fn rules_hash() -> u64 {
        rules_hash::<S>()
    }

    fn check(codes: &PacketTables) -> Result<(), String> {
        table_check::check::<S>(codes)
    }

    fn is_sent_on_resume(events: &SimpleEvents) -> bool {
        events.events.iter().any(OutgoingEvent::is_private)
    }

    fn packet_handler(_: &Dialect) -> Box<dyn PacketHandler> {
        Box::new(SimplePacketHandler::<S>(PhantomData))
    }

    fn join(player: PlayerId, profile: &JoinRequest) -> Vec<SimpleAction<S::Action>> {
        vec![SimpleAction::Join(player, profile.name.clone())]
    }

    fn leave(player: PlayerId) -> SimpleAction<S::Action> {
        SimpleAction::Leave(player)
    }

    fn disconnect(player: PlayerId) -> SimpleAction<S::Action> {
        SimpleAction::Disconnect(player)
    }

    fn names(sim: &SimpleWorld<S>) -> Vec<(PlayerId, String)> {
        sim.players.iter().map(|seat| (seat.player, seat.name.to_string())).collect()
    }

    fn roster(published: &Published<Simple<S>>) -> Roster {
        let players = published.state.players.iter();
        let players = players.map(|(player, name)| (*player, name.to_string(), String::new())).collect();
        Roster { heading: "", players }
    }
}

/// Handles the packets of one client.
#[derive(Debug)]
struct SimplePacketHandler<S>(PhantomData<S>);

impl<S: SimpleGame> PacketHandler for SimplePacketHandler<S> {
    /// Removes surrounding spaces and control characters from the name.
    fn join_request(&self, packet: &DecodedPacket<'_>) -> JoinRequest {
        let wanted_name = packet.text("name").unwrap_or_default();
        let name: String = wanted_name.trim().chars().filter(|sign| !sign.is_control()).collect();
        let name: String = name.chars().take(limits::NAME_CHARS).collect();
        let name = if name.is_empty() { "unknown".to_owned() } else { name };
        JoinRequest { name, game_data: EncodedAction::new(&[]) }
    }

    fn handle_packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        _now: Duration,
        _slack: Duration,
        effects: &mut Vec<PacketEffect>,
    ) {
        effects.push(match S::action(packet) {
            Some(action) => PacketEffect::Command(SimpleAction::Act(action).encoded(), None),
            None => {
                let detail = "the game does nothing with this packet, or with these values";
                PacketEffect::Error("unused_packet", Some(detail))
            }
        });
    }
}

/// The [`Publisher`] of a simple game.
#[doc(hidden)]
#[derive(Debug)]
pub struct SimplePublisher<S> {
    rates: UpdateRates,
    last: NamedValues,
    version: u64,
    frames: FrameBuilder,
    entities: Option<Arc<EntityFrame<S>>>,
}

impl<S: SimpleGame> Publisher<Simple<S>> for SimplePublisher<S> {
    fn new(_: &SimpleWorld<S>, rates: UpdateRates) -> SimplePublisher<S> {
        let (last, frames) = (NamedValues::default(), FrameBuilder::default());
        SimplePublisher { rates, last, version: 0, frames, entities: None }
    }

    fn publish(&mut self, world: &SimpleWorld<S>, margin: &dyn Fn(PlayerId) -> i16) -> Published<Simple<S>> {
        let mut row = NamedValues::default();
        world.game.write_state(&mut row);
        if row != self.last || self.version == 0 {
            self.version += 1;
            self.last.clone_from(&row);
        }
        row.set("tick", world.tick);
        let players: Vec<_> =
            world.players.iter().map(|seat| (seat.player, Arc::clone(&seat.name))).collect();
        let (rates, version, encoded) = (self.rates, self.version, OnceLock::new());
        let events = world.events.clone();
        if self.entities.is_none() || rates.is_update_due(rates.update_hz, world.tick) {
            let mut entities = self.frames.entities();
            world.game.write_entities(&mut entities);
            self.entities = self.frames.next(&world.game, world.tick, entities).map(Arc::new);
        }
        Published {
            tick: world.tick,
            players: players.len(),
            event_bytes: events.iter().map(|event| EVENT_BYTES + event.row.bytes()).sum(),
            events: Arc::new(SimpleEvents::new(world.tick, events, &world.game, &world.players)),
            state: Arc::new(SimpleState {
                entities: self.entities.clone(),
                rates,
                players,
                own: own_rows(world, margin),
                row,
                version,
                encoded,
            }),
        }
    }
}

/// The [`View`] of a simple game.
#[doc(hidden)]
#[derive(Debug)]
pub struct SimpleView {
    viewer: Viewer,
    /// The player of the last `spawned` packet.
    spawned: Option<PlayerId>,
    /// The version of the state that the client has. 0 for none.
    version: u64,
    /// The values of the last `own_state` packet.
    own: NamedValues,
    entities: KnownEntities,
    /// Whether the dialect has acks, so that rejected commands need no `error` packet.
    is_answered: bool,
}

impl<S: SimpleGame> View<Simple<S>> for SimpleView {
    fn new(dialect: &Dialect) -> SimpleView {
        let is_answered = has_command_acks(dialect);
        let viewer = Viewer { player: None, spectated: None };
        let (own, entities) = (NamedValues::default(), KnownEntities::default());
        SimpleView { viewer, spawned: None, version: 0, own, entities, is_answered }
    }

    fn set_subject(&mut self, player: Option<PlayerId>, spectated: Option<PlayerId>) {
        self.viewer = Viewer { player, spectated };
    }

    fn replay_missed(&mut self, events: &SimpleEvents, dialect: &Dialect, messages: &mut Messages) {
        let out = &mut messages.writer(dialect, Lane::Reliable);
        self.write_events(events, |event| event.is_private(), dialect, out);
    }

    fn update(
        &mut self,
        missed: &[Arc<SimpleEvents>],
        newest: &Published<Simple<S>>,
        is_behind: bool,
        dialect: &Dialect,
        scratch: &mut EntityScratch,
        messages: &mut Messages,
    ) -> StateOutcome {
        let SimpleState { entities, rates, players, own, row, version, encoded } = &*newest.state;
        let is_visible = |player: &PlayerId| players.binary_search_by_key(player, |(own, _)| *own).is_ok();
        let body = self.viewer.player.filter(is_visible);
        // Event handlers of a client may read its player and the state. A client that lacks one of
        // them therefore gets it without waiting for its update rate.
        let is_new = self.version == 0 || body != self.spawned;
        let mut ticks = missed.iter().map(|events| events.tick).chain([newest.tick]);
        let turn = match is_new || ticks.any(|tick| rates.is_update_due(rates.update_hz, tick)) {
            false => StateOutcome::NotDue,
            true if is_behind => StateOutcome::Deferred,
            true => StateOutcome::Written,
        };
        let mut out = messages.writer(dialect, Lane::Latest);
        if body != self.spawned {
            self.spawned = body.filter(|_| !is_behind);
            self.own = NamedValues::default();
            if let Some(player) = self.spawned {
                out.send("spawned", player);
            }
        }
        if turn == StateOutcome::Written && self.version != *version {
            self.version = *version;
            match &*encode_once(encoded, dialect, || row.encode(dialect, "state")) {
                Ok(bytes) => out.send_encoded("state", |_, out| {
                    out.extend_from_slice(bytes);
                    true
                }),
                Err(why) => messages.writer(dialect, Lane::Reliable).misfit("state", why),
            }
        }
        let own = body
            .filter(|_| turn == StateOutcome::Written)
            .and_then(|body| own.binary_search_by_key(&body, |(player, _)| *player).ok().map(|at| &own[at]));
        if let Some((_, row)) = own.filter(|(_, row)| *row != self.own) {
            self.own.clone_from(row);
            let mut row = row.clone();
            row.set("tick", newest.tick);
            match row.encode(dialect, OWN_STATE_PACKET) {
                Ok(bytes) => {
                    messages.writer(dialect, Lane::Latest).send_encoded(OWN_STATE_PACKET, |_, out| {
                        out.extend_from_slice(&bytes);
                        true
                    })
                }
                Err(why) => messages.writer(dialect, Lane::Reliable).misfit(OWN_STATE_PACKET, &why),
            }
        }
        if let Some(frame) = entities.as_ref().filter(|_| turn == StateOutcome::Written) {
            self.entities.append_update(self.viewer, frame, dialect, scratch, messages);
        }
        for events in missed.iter().chain([&newest.events]) {
            self.write_events(events, |_| true, dialect, &mut messages.writer(dialect, Lane::Reliable));
        }
        turn
    }
}

impl SimpleView {
    /// Encodes the events for this client that satisfy `is_of_kind`.
    fn write_events(
        &self,
        events: &SimpleEvents,
        is_of_kind: impl Fn(&OutgoingEvent) -> bool,
        dialect: &Dialect,
        out: &mut MessageWriter<'_>,
    ) {
        let encode = || events.events.iter().map(|event| event.row.encode(dialect, event.packet)).collect();
        let packets = encode_once(&events.encoded, dialect, encode);
        for ((event, is_addressed), bytes) in events.for_viewer(self.viewer).zip(packets.iter()) {
            let is_answered = event.is_answer && self.is_answered;
            match bytes {
                _ if !is_addressed || is_answered || !is_of_kind(event) => {}
                Ok(bytes) => out.send_encoded(event.packet, |_, out| {
                    out.extend_from_slice(bytes);
                    true
                }),
                Err(why) => out.misfit(event.packet, why),
            }
        }
    }
}

/// Returns the values of `own_state` for each player. Empty for a game without prediction.
fn own_rows<S: SimpleGame>(
    world: &SimpleWorld<S>,
    margin: &dyn Fn(PlayerId) -> i16,
) -> Vec<(PlayerId, NamedValues)> {
    if S::PREDICTOR.is_none() {
        return Vec::new();
    }
    let rows = world.players.iter().map(|seat| {
        let mut row = NamedValues::default();
        world.game.write_own_state(seat.player, &mut row);
        row.set("sequence", seat.sequence);
        row.set("margin", margin(seat.player));
        (seat.player, row)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::simple_game::Audience;
    use super::*;
    use crate::games::tanks::Tanks;
    use crate::packet::Direction;

    type Played = Simple<Tanks>;

    /// Returns a tick of tanks at 60 Hz, with updates at 30 Hz. Player 2 is present, and an event
    /// names it.
    fn published(tick: u32, version: u64) -> Published<Played> {
        let mut row = NamedValues::default();
        for (name, value) in [("tick", tick), ("round", 1), ("left_s", 9)] {
            row.set(name, value);
        }
        row.set("is_over", false);
        row.set_or_nil("winner", None::<u16>);
        row.list::<1>("tanks", []);
        row.list::<1>("shells", []);
        let mut hit = NamedValues::default();
        for (name, value) in [("player", 2), ("shooter", 2), ("damage", 1)] {
            hit.set(name, value);
        }
        hit.set("destroyed", false);
        let events =
            vec![OutgoingEvent { audience: Audience::All, packet: "hit", row: hit, is_answer: false }];
        Published {
            tick,
            players: 1,
            event_bytes: 0,
            events: Arc::new(SimpleEvents { tick, events, viewers: vec![None], encoded: OnceLock::new() }),
            state: Arc::new(SimpleState {
                entities: None,
                rates: UpdateRates { tick_hz: 60, update_hz: 30, foreign_hz: 30 },
                players: vec![(PlayerId(2), "Ann".into())],
                own: Vec::new(),
                row,
                version,
                encoded: OnceLock::new(),
            }),
        }
    }

    #[test]
    fn an_event_comes_after_the_player_and_the_state_of_its_update() {
        let codes = PacketTables::from_texts(<Played as Game>::TABLES).expect("its table");
        let dialect = codes.dialect("tanks").expect("its dialect");
        let mut view = <SimpleView as View<Played>>::new(&dialect);
        let mut update = |player: Option<u16>, tick, version, is_behind| {
            let mut messages = Messages::default();
            View::<Played>::set_subject(&mut view, player.map(PlayerId), None);
            let (tick, scratch) = (&published(tick, version), &mut EntityScratch::default());
            let turn =
                View::<Played>::update(&mut view, &[], tick, is_behind, &dialect, scratch, &mut messages);
            let names = messages.iter().map(|message| {
                dialect.decode(Direction::ToClient, message).expect("by the table").row.name.clone()
            });
            (turn, names.collect::<Vec<_>>().join(" "))
        };
        // With updates at 30 Hz, no update is due in odd ticks. A client that has no state yet gets
        // an update anyway.
        for (player, tick, version, is_behind, turn, names) in [
            (None, 61, 1, false, StateOutcome::Written, "state hit"),
            (Some(2), 63, 1, false, StateOutcome::Written, "spawned hit"),
            (Some(2), 64, 2, false, StateOutcome::Written, "state hit"),
            (Some(2), 65, 3, false, StateOutcome::NotDue, "hit"),
            (None, 66, 3, true, StateOutcome::Deferred, "hit"),
            (Some(2), 68, 3, true, StateOutcome::Deferred, "hit"),
            (Some(2), 70, 3, false, StateOutcome::Written, "spawned state hit"),
        ] {
            let received = update(player, tick, version, is_behind);
            assert_eq!(received, (turn, names.to_owned()), "tick {tick}");
        }
    }
}
