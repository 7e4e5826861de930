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
mod own_states;
mod prediction;
mod published;
mod random_bot;
mod random_packet;
mod received_packets;
mod recycled;
mod rewind;
mod rows;
mod simple_game;
mod simple_view;
mod table_check;
#[cfg(not(target_family = "wasm"))]
mod test_world;
mod world;

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use bot_policy::{BotPolicy, BotView};
#[cfg(not(target_family = "wasm"))]
pub(crate) use entities::{ChangeList, EntityLayout, Velocity};
pub use entities::{Entities, EntityError, EntityInfo, EntityRef, ReceivedEntities, Sight, Viewer};
use entities::{EntityFrame, FrameBuilder};
pub use lobby::{Lobby, LobbyMember, LobbyPhase, LobbyRules};
use own_states::OwnStates;
pub use prediction::{LocalState, PredictedGame, SimpleLocalWorld};
use published::{PlayerNames, StateRow};
#[doc(hidden)]
pub use published::{SimpleEvents, SimpleState};
pub use received_packets::ReceivedPackets;
use recycled::Recycled;
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
pub use simple_game::{ActionResult, Joining, Simple, SimpleGame, SimplePrediction, TickContext};
#[doc(hidden)]
use simple_view::SimpleScratch;
pub use simple_view::SimpleView;
#[cfg(not(target_family = "wasm"))]
pub use test_world::{TestTick, TestWorld};
use tickwire_sim::{Action as _, EncodedAction, PlayerId, Sim as _};
use world::rules_hash;
pub use world::{SimpleAction, SimpleWorld};

use super::dyn_tick::{PlayerScore, Roster};
use super::game::{Game, Published, Publisher, UpdateRates};
use super::info::{GameInfo, KillPacket};
use super::packet_handler::{JoinRequest, PacketEffect, PacketHandler};
use super::prediction::NewPredictor;
use super::report::Report;
use super::room_properties::RoomProperties;
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, PacketTables, TableError};

/// Estimated size of an event without its encoded values: packet, receiver and names of arguments.
const EVENT_BYTES: usize = 256;

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
    type Scratch = SimpleScratch;

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

    fn scores(published: &Published<Simple<S>>) -> Vec<PlayerScore> {
        published.state.scores.clone()
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
        let name: String = wanted_name.trim().chars().filter(|ch| !ch.is_control()).collect();
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
    players: Arc<PlayerNames>,
    own: Recycled<OwnStates>,
    frames: FrameBuilder,
    entities: Option<Arc<EntityFrame<S>>>,
}

impl<S: SimpleGame> Publisher<Simple<S>> for SimplePublisher<S> {
    fn new(_: &SimpleWorld<S>, rates: UpdateRates) -> SimplePublisher<S> {
        SimplePublisher {
            rates,
            rows: Vec::new(),
            players: Arc::default(),
            own: Recycled::default(),
            frames: FrameBuilder::default(),
            entities: None,
        }
    }

    fn publish(&mut self, world: &SimpleWorld<S>, margin: &dyn Fn(PlayerId) -> i16) -> Published<Simple<S>> {
        let tick_hz = world.identity().tick_hz;
        self.write_rows(&world.game, tick_hz);
        let seats = world.players.iter().map(|seat| (seat.player, &seat.name));
        if !seats.clone().eq(self.players.iter().map(|(player, name)| (*player, name))) {
            self.players = Arc::new(seats.map(|(player, name)| (player, Arc::clone(name))).collect());
        }
        let players = Arc::clone(&self.players);
        let mut own = self.own.take_oldest();
        own.write(world, margin);
        let score =
            |(player, name): &(_, Arc<str>)| Some((*player, Arc::clone(name), world.game.score(*player)?));
        let scores = players.iter().filter_map(score).collect();
        let rates = self.rates;
        let mut events = SimpleEvents::new(world.tick, world.events.clone(), &world.game, &world.players);
        events.reports.clone_from(&world.reports);
        if self.entities.is_none() || rates.is_update_due(rates.update_hz, world.tick) {
            self.entities = self.frames.next(&world.game, world.tick, tick_hz).map(Arc::new);
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
                scores,
                own: self.own.push(own),
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
