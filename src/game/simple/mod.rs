//! Games in one file: a state and a few functions.
//!
//! ```text
//!   packet ─► action ─► room ─► apply, tick ─┬► write_state ─► state rows, encoded once
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
//! [`rows!`](crate::rows!). At each update, a client is sent the entities that it sees
//! from now on, the ids of entities that it no longer sees, and the changed fields of the others.
//! [`SimpleGame::sight`] and [`SimpleGame::sees`] decide what a client sees, and nothing else is
//! sent to it. `examples/fog.rs` is a complete game.
//!
//! # Prediction
//!
//! [`PredictedGame`] adds the prediction of the local player, for clients in Rust and for the page:
//! the player's own movement then shows in the next frame, whatever the latency.

mod bot_policy;
mod bots;
#[cfg(not(target_family = "wasm"))]
mod checks;
mod encode_once;
mod entities;
mod lane_rows;
mod lobby;
mod prediction;
mod published;
mod random_bot;
mod random_packet;
mod received_packets;
mod rewind;
mod rows;
mod simple_game;
mod table_check;
#[cfg(not(target_family = "wasm"))]
mod test_world;
mod world;

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use bot_policy::{BotPolicy, BotView};
use encode_once::encode_once;
#[cfg(not(target_family = "wasm"))]
pub(crate) use entities::EntityLayout;
pub use entities::{Entities, EntityError, EntityInfo, EntityRef, ReceivedEntities, Sight, Viewer};
use entities::{EntityFrame, EntityScratch, FrameBuilder, KnownEntities};
use lane_rows::{LaneRows, send_encoded};
pub use lobby::{Lobby, LobbyMember, LobbyPhase, LobbyRules};
pub use prediction::{LocalState, PredictedGame, SimpleLocalWorld};
use published::{EncodedMessage, OwnState, StateRow};
#[doc(hidden)]
pub use published::{SimpleEvents, SimpleState};
pub use received_packets::ReceivedPackets;
pub use rewind::RewindBuffer;
use rows::has_entity_lists;
#[doc(no_inline)]
pub use rows::rows;
pub use rows::{
    ActionField, FieldValue, GameAction, ReceivedField, ReceivedRow, Row, RowError, RowField, RowValues,
    StateRows,
};
#[doc(hidden)]
pub use rows::{has_argument, has_packet};
use simple_game::OutgoingEvent;
pub use simple_game::{ActionResult, Joining, SimpleGame, SimplePrediction, TickContext};
use table_check::OWN_STATE_PACKET;
#[cfg(not(target_family = "wasm"))]
pub use test_world::{TestTick, TestWorld};
use tickwire_sim::{Action as _, EncodedAction, PlayerId, Sim as _};
use world::{PlayerEntry, rules_hash};
pub use world::{SimpleAction, SimpleWorld};

use super::command_acks::has_command_acks;
use super::dyn_tick::Roster;
use super::game::{Game, Published, Publisher, StateOutcome, UpdateRates, View};
use super::info::{GameInfo, KillPacket};
use super::messages::{MessageWriter, Messages};
use super::packet_handler::{JoinRequest, PacketEffect, PacketHandler};
use super::prediction::NewPredictor;
use super::report::Report;
use super::room_properties::RoomProperties;
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Lane, PacketTables, TableError};

/// Estimated size of an event without its encoded values: packet, receiver and names of arguments.
const EVENT_BYTES: usize = 256;

/// The [`Game`] that implements a [`SimpleGame`].
#[derive(Debug)]
pub struct Simple<S>(PhantomData<S>);

impl<S: SimpleGame> Game for Simple<S> {
    const NAME: &'static str = S::NAME;
    const PATHS: &'static [(&'static str, &'static str)] = &[("/play", S::DIALECT)];
    const TABLES: &'static [(&'static str, &'static str)] = &[S::TABLE];
    const REQUIRED_PACKETS: &'static [&'static str] = &[];
    const PAGE: Option<&'static str> = Some(S::PAGE);
    #[cfg(target_family = "wasm")]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_bots::<Self>();
    #[cfg(not(target_family = "wasm"))]
    const INFO: &'static GameInfo = &GameInfo::of::<Self>().with_checks::<Self>();
    const PREDICTOR: Option<NewPredictor> = match S::PREDICTION {
        Some(SimplePrediction { new_predictor, .. }) => Some(new_predictor),
        None => None,
    };
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

    fn check(codes: &PacketTables) -> Result<(), TableError> {
        table_check::check::<S>(codes)
    }

    fn is_sent_on_resume(events: &SimpleEvents) -> bool {
        events.events.iter().any(OutgoingEvent::is_private)
    }

    fn reports(events: &SimpleEvents) -> &[Report] {
        &events.reports
    }

    fn packet_handler(_: &Dialect) -> Box<dyn PacketHandler> {
        Box::new(SimplePacketHandler::<S>(PhantomData))
    }

    /// A client knows the seed, so a game that hides something needs other random numbers.
    fn start(secret: u64) -> Vec<SimpleAction<S::Action>> {
        let hides = has_entity_lists(S::TABLE.1) && !S::ALLOWS_LOCKSTEP;
        hides.then_some(SimpleAction::Reseed(secret)).into_iter().collect()
    }

    fn join(player: PlayerId, profile: &JoinRequest) -> Vec<SimpleAction<S::Action>> {
        let account = profile.account.as_deref().map(str::to_owned);
        vec![SimpleAction::Join(player, profile.name.clone(), account)]
    }

    fn leave(player: PlayerId) -> SimpleAction<S::Action> {
        SimpleAction::Leave(player)
    }

    fn disconnect(player: PlayerId) -> SimpleAction<S::Action> {
        SimpleAction::Disconnect(player)
    }

    fn reconnect(player: PlayerId) -> Option<SimpleAction<S::Action>> {
        Some(SimpleAction::Reconnect(player))
    }

    fn names(sim: &SimpleWorld<S>) -> Vec<(PlayerId, String)> {
        sim.players.iter().map(|seat| (seat.player, seat.name.to_string())).collect()
    }

    fn roster(published: &Published<Simple<S>>) -> Roster {
        let players = published.state.players.iter();
        let players = players.map(|(player, name)| (*player, name.to_string(), String::new())).collect();
        Roster { heading: "", players }
    }

    fn write_room(sim: &SimpleWorld<S>, room: &mut RoomProperties) {
        sim.game.write_room(room);
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
        JoinRequest { name, game_data: EncodedAction::new(&[]), account: None }
    }

    fn handle_packet(
        &mut self,
        packet: &DecodedPacket<'_>,
        _now: Duration,
        _slack: Duration,
        effects: &mut Vec<PacketEffect>,
    ) {
        effects.push(match S::Action::from_packet(packet) {
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
    /// The state rows of the last tick, with the number of their changes.
    rows: Vec<(Arc<RowValues>, u64)>,
    frames: FrameBuilder,
    entities: Option<Arc<EntityFrame<S>>>,
}

impl<S: SimpleGame> Publisher<Simple<S>> for SimplePublisher<S> {
    fn new(_: &SimpleWorld<S>, rates: UpdateRates) -> SimplePublisher<S> {
        SimplePublisher { rates, rows: Vec::new(), frames: FrameBuilder::default(), entities: None }
    }

    fn publish(&mut self, world: &SimpleWorld<S>, margin: &dyn Fn(PlayerId) -> i16) -> Published<Simple<S>> {
        let tick_hz = world.identity().tick_hz;
        self.write_rows(&world.game, tick_hz);
        let players: Vec<_> =
            world.players.iter().map(|seat| (seat.player, Arc::clone(&seat.name))).collect();
        let rates = self.rates;
        let mut events = SimpleEvents::new(world.tick, world.events.clone(), &world.game, &world.players);
        events.reports.clone_from(&world.reports);
        if self.entities.is_none() || rates.is_update_due(rates.update_hz, world.tick) {
            let mut entities = Entities::new(tick_hz);
            world.game.write_entities(&mut entities);
            self.entities = self.frames.next(&world.game, world.tick, entities).map(Arc::new);
        }
        Published {
            tick: world.tick,
            players: players.len(),
            event_bytes: events.events.iter().map(|event| EVENT_BYTES + event.row.bytes()).sum(),
            events: Arc::new(events),
            state: Arc::new(SimpleState {
                entities: self.entities.clone(),
                rates,
                players,
                own: own_rows(world, margin),
                rows: self
                    .rows
                    .iter()
                    .map(|(values, version)| StateRow {
                        values: Arc::clone(values),
                        version: *version,
                        encoded: OnceLock::new(),
                    })
                    .collect(),
            }),
        }
    }
}

impl<S: SimpleGame> SimplePublisher<S> {
    /// Compares the state rows with the ones of the last tick.
    fn write_rows(&mut self, game: &S, tick_hz: u32) {
        let mut written = StateRows::new(tick_hz);
        game.write_state(&mut written);
        for new in written.rows {
            match self.rows.iter_mut().find(|(last, _)| last.packet() == new.packet()) {
                Some((last, version)) if **last != new => (*last, *version) = (Arc::new(new), *version + 1),
                Some(_) => {}
                None => self.rows.push((Arc::new(new), 1)),
            }
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
    /// Whether the client has received an update.
    has_update: bool,
    /// The versions of the state rows that the client has. 0 for none.
    versions: Vec<u64>,
    /// The values of the last `own_state` packet.
    own: Option<OwnState>,
    /// The rows that the client receives by datagram.
    lane: LaneRows,
    entities: KnownEntities,
    /// Whether the dialect has acks, so that rejected commands need no `error` packet.
    is_answered: bool,
}

impl<S: SimpleGame> View<Simple<S>> for SimpleView {
    fn new(dialect: &Dialect) -> SimpleView {
        let is_answered = has_command_acks(dialect);
        let viewer = Viewer { player: None, spectated: None };
        let entities = KnownEntities::default();
        SimpleView {
            viewer,
            spawned: None,
            has_update: false,
            versions: Vec::new(),
            own: None,
            lane: LaneRows::default(),
            entities,
            is_answered,
        }
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
        let SimpleState { entities, rates, players, own, rows } = &*newest.state;
        let is_visible = |player: &PlayerId| players.binary_search_by_key(player, |(own, _)| *own).is_ok();
        let body = self.viewer.player.filter(is_visible);
        // Event handlers of a client may read its player and the state. A client that lacks one of
        // them therefore gets it without waiting for its update rate.
        let is_new = !self.has_update || body != self.spawned;
        let mut ticks = missed.iter().map(|events| events.tick).chain([newest.tick]);
        let turn = match is_new || ticks.any(|tick| rates.is_update_due(rates.update_hz, tick)) {
            false => StateOutcome::NotDue,
            true if is_behind => StateOutcome::Deferred,
            true => StateOutcome::Written,
        };
        // The first update goes in the stream, because events may need it.
        let lane = messages.lane().filter(|_| !is_new && turn == StateOutcome::Written);
        if lane.is_none() && turn == StateOutcome::Written && self.lane.end() {
            self.versions.fill(0);
            self.own = None;
            self.entities.end_lane();
        }
        let mut out = messages.writer(dialect, Lane::Latest);
        if body != self.spawned {
            self.spawned = body.filter(|_| !is_behind);
            self.own = None;
            if let Some(player) = self.spawned {
                out.send("spawned", player);
            }
        }
        if turn == StateOutcome::Written {
            self.has_update = true;
            self.versions.resize(rows.len(), 0);
            let changed =
                rows.iter().zip(&mut self.versions).filter(|(row, version)| row.version != **version);
            for (row, known) in changed.filter(|_| lane.is_none()) {
                *known = row.version;
                send_row(row.packet(), &row.encoded(newest.tick, dialect), dialect, messages);
            }
        }
        let own = body
            .filter(|_| turn == StateOutcome::Written)
            .and_then(|body| own.binary_search_by_key(&body, |own| own.player).ok().map(|at| &own[at]));
        if let Some(lane) = lane {
            self.lane.write((lane, newest.tick), rows, own, dialect, &mut messages.datagram_writer(dialect));
        } else if let Some(own) = own.filter(|own| self.own.as_ref() != Some(own)) {
            self.own = Some(own.clone());
            send_row(OWN_STATE_PACKET, &own.encoded(newest.tick, dialect), dialect, messages);
        }
        if let Some(frame) = entities.as_ref().filter(|_| turn == StateOutcome::Written) {
            match lane {
                None => self.entities.append_update(self.viewer, frame, dialect, scratch, messages),
                Some(lane) => {
                    self.entities.append_datagram((self.viewer, lane), frame, dialect, scratch, messages);
                }
            }
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
        let encode = || events.events.iter().map(|event| event.row.encode(dialect, &[])).collect();
        let packets = encode_once(&events.encoded, dialect, encode);
        for ((event, is_addressed), bytes) in events.for_viewer(self.viewer).zip(packets.iter()) {
            let is_answered = event.is_answer && self.is_answered;
            match bytes {
                _ if !is_addressed || is_answered || !is_of_kind(event) => {}
                Ok(bytes) => out.send_encoded(event.row.packet(), |_, out| {
                    out.extend_from_slice(bytes);
                    true
                }),
                Err(why) => out.misfit(event.row.packet(), &why.to_string()),
            }
        }
    }
}

/// Queues an encoded packet in the lane `latest`, or reports the rule that its values violate.
fn send_row(packet: &'static str, encoded: &EncodedMessage, dialect: &Dialect, messages: &mut Messages) {
    match encoded {
        Ok(_) => send_encoded(packet, encoded, &mut messages.writer(dialect, Lane::Latest)),
        Err(why) => messages.writer(dialect, Lane::Reliable).misfit(packet, &why.to_string()),
    }
}

/// Returns the packet `own_state` of each player. Empty for a game without prediction.
fn own_rows<S: SimpleGame>(world: &SimpleWorld<S>, margin: &dyn Fn(PlayerId) -> i16) -> Vec<OwnState> {
    let Some(prediction) = S::PREDICTION else { return Vec::new() };
    let own_state = |seat: &PlayerEntry| {
        let (player, sequence) = (seat.player, seat.sequence);
        let row = (prediction.own_state)(&world.game, player)?;
        Some(OwnState { player, row, sequence, margin_ticks: margin(player) })
    };
    world.players.iter().filter_map(own_state).collect()
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
        let number = |value: i64| FieldValue::Int(value);
        let list = || FieldValue::List(Vec::new());
        let values = vec![number(1), number(9), number(0), FieldValue::Nil, list(), list()];
        let fields = &["round", "left_s", "is_over", "winner", "tanks", "shells"];
        let state = RowValues::new("state", fields, values);
        let values = [2, 2, 1, 0].map(number).to_vec();
        let hit = RowValues::new("hit", &["player", "shooter", "damage", "destroyed"], values);
        let events = vec![OutgoingEvent { audience: Audience::All, row: hit, is_answer: false }];
        Published {
            tick,
            players: 1,
            event_bytes: 0,
            events: Arc::new(SimpleEvents {
                tick,
                events,
                reports: Vec::new(),
                viewers: vec![None],
                encoded: OnceLock::new(),
            }),
            state: Arc::new(SimpleState {
                entities: None,
                rates: UpdateRates { tick_hz: 60, update_hz: 30, foreign_hz: 30 },
                players: vec![(PlayerId(2), "Ann".into())],
                own: Vec::new(),
                rows: vec![StateRow { values: Arc::new(state), version, encoded: OnceLock::new() }],
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
