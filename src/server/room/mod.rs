//! A room: one running game, without I/O.
//!
//! ```text
//!  readers  ─ commands, seats ───►┐                    ┌─► the published tick
//!  operator ─ commands, queries ─►┼─► handle ─► Room ──┼─► command frame, checksum, snapshot
//!                                 │                    │   (each only if requested)
//!                                 └── results ◄────────┼─► rejected commands
//!                                                      └─► acks, by connection
//! ```
//!
//! Only [`Room`] is generic over the game.
//!
//! A room has two halves, because readers queue commands while the world steps. The readers and the
//! operator use the [`RoomHandle`]; its only lock is never held during a step. [`Room`] owns the
//! game. A room has no access to other rooms and identifies connections by number.

pub mod acks;
pub mod handle;
#[cfg(not(target_family = "wasm"))]
mod hashed_seat;
pub mod inbox;
mod join;
pub mod lockstep;
mod missed_events;
mod player_events;
mod query;
mod seat_keys;
pub mod seats;
mod shared_properties;
mod stored_seats;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

pub use acks::CommandAcks;
use acks::TickCommands;
pub use handle::{RoomConfig, RoomHandle};
#[cfg(not(target_family = "wasm"))]
pub use hashed_seat::{HashedSeat, SeatChange, SeatKeyHash};
pub use inbox::InboxRejection;
pub use join::{JoinAttempt, JoinOutcome};
use player_events::PlayerEvents;
pub use player_events::{PlayerChange, PlayerEvent};
use query::RoomQuery;
pub use query::{QueryQueueFull, WorldSnapshot};
pub use seat_keys::{KeyedSeat, SeatKey};
use tickwire_sim::{
    Action as _, Command, MembershipChange, PlayerId, RawCommand, Sim, StepResult, command_frame,
};

use crate::game::{ActionOf, DynTick, Game, Publisher as _, RoomProperties};
use crate::limits;

/// Optional outputs of one tick. An output is computed only if its flag is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TickRequest {
    /// The commands of the tick as a command frame.
    pub frame: bool,
    /// The checksum of the world before the tick.
    pub checksum: bool,
    /// The snapshot of the world before the tick.
    pub snapshot: bool,
    /// What happened to the players. Requested in all ticks of a room or in none.
    pub player_events: bool,
}

/// The result of one tick.
#[derive(Debug)]
pub struct TickResult {
    /// Ticks completed before this one, as in the header of its command frame.
    pub tick: u32,
    /// The published state and events.
    pub published: Arc<dyn DynTick>,
    /// Acks for commands, by connection.
    pub acks: Option<Arc<CommandAcks>>,
    /// The command frame, if requested. Also `None` if the commands exceed a frame, which the inbox
    /// prevents.
    pub frame: Option<Arc<[u8]>>,
    /// Players that joined, left or disconnected in this tick. Filled only if a command frame was
    /// requested.
    pub membership_changes: Vec<MembershipChange>,
    /// What happened to the players, if requested.
    pub player_events: Vec<PlayerEvent>,
    /// The checksum, if requested.
    pub checksum: Option<u64>,
    /// The snapshot, if requested, or needed for the journal or an operator's `save`.
    pub snapshot: Option<Arc<WorldSnapshot>>,
    /// The commands that the world rejected: issuer and name of the reason.
    pub rejected: Vec<(PlayerId, &'static str)>,
}

/// Returns the secret number of a run of a room. It does not reveal the secret of the settings,
/// which all rooms of a server share.
fn start_secret(options: &RoomConfig) -> u64 {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(&options.secret.to_le_bytes());
    hash.update(options.epoch.as_bytes());
    hash.digest().bytes()[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Owns the world of one game and executes its ticks.
#[derive(Debug)]
pub struct Room<G: Game> {
    world: G::Sim,
    publisher: G::Publisher,
    /// Lead of each player's last command in ticks, indexed by player number. Negative: too late.
    margins: Vec<i16>,
    batch: TickCommands,
    commands: Vec<Command<ActionOf<G>>>,
    stepped: StepResult,
    player_events: PlayerEvents,
    /// Buffer for the properties of the room after a tick.
    properties: RoomProperties,
    handle: Arc<RoomHandle>,
}

impl<G: Game> Room<G> {
    /// Creates a room for an existing world. The players of the world get seats without a
    /// connection.
    pub fn new(world: G::Sim, options: RoomConfig) -> Room<G> {
        let publisher = G::Publisher::new(&world, options.rates);
        let handle = Arc::new(RoomHandle::new(G::INFO, &world, options));
        let mut properties = RoomProperties::default();
        G::write_room(&world, &mut properties);
        handle.properties.set(&properties);
        if world.tick() == 0 && world.operator_sequence() == 0 {
            let start = G::start(start_secret(&handle.options));
            if !start.is_empty() {
                handle.push_operator(start.iter().map(|action| action.encoded()).collect());
            }
        }
        Room {
            publisher,
            margins: vec![0; usize::from(limits::PLAYERS) + 1],
            batch: TickCommands::default(),
            commands: Vec::new(),
            stepped: StepResult::default(),
            player_events: PlayerEvents::default(),
            handle,
            properties,
            world,
        }
    }

    /// Returns the part of the room that other threads use.
    pub fn handle(&self) -> &Arc<RoomHandle> {
        &self.handle
    }

    /// The world.
    #[cfg(not(target_family = "wasm"))]
    pub fn world(&self) -> &G::Sim {
        &self.world
    }

    /// Creates a room with the same name, options and parameters and a new world. The driver calls
    /// it after the room has panicked, so it reads nothing that a tick changes.
    pub fn restarted(&self, epoch: String) -> Room<G> {
        let options = RoomConfig { epoch, ..self.handle.options.clone() };
        Room::new(G::Sim::new(&self.handle.identity), options)
    }

    /// Executes one tick. `now` is on the server's clock.
    pub fn tick(&mut self, now: Duration, wants: TickRequest) -> TickResult {
        self.tick_with(now, wants, &mut || {})
    }

    /// Like [`Room::tick`]. Calls `after_step` once the world has executed its tick, before the
    /// state is published.
    pub fn tick_with(
        &mut self,
        now: Duration,
        wants: TickRequest,
        after_step: &mut dyn FnMut(),
    ) -> TickResult {
        let tick = self.world.tick();
        let queries = self.handle.begin_tick(tick, now, &mut self.batch, &mut self.margins);
        let due = self.handle.lockstep.begin_tick(tick);
        let is_requested = queries.iter().any(|question| matches!(question, RoomQuery::Snapshot(_)));
        let frame = (wants.frame || due.frame).then(|| self.frame()).flatten();
        let checksum = (wants.checksum || due.checksum).then(|| self.world.checksum());
        let snapshot = (wants.snapshot || due.snapshot || is_requested).then(|| self.snapshot());
        let state = snapshot.as_ref().filter(|_| due.snapshot).map(|snapshot| Arc::clone(&snapshot.bytes));
        self.handle.lockstep.end_tick(state, checksum.filter(|_| due.checksum), frame.clone());
        // Every action decodes, because the game itself encoded it.
        self.commands.extend(self.batch.commands.iter().filter_map(RawCommand::decoded));
        let changes = self.commands.iter().filter(|_| wants.frame).filter_map(|one| one.action.membership());
        let changes = changes.collect();
        if wants.player_events {
            self.note_player_changes();
        }
        self.world.step(&mut self.commands, &mut self.stepped);
        for player in &self.stepped.departed {
            if let Some(margin) = self.margins.get_mut(usize::from(player.0)) {
                *margin = 0;
            }
        }
        let acks = CommandAcks::for_tick(tick, &self.batch, &self.stepped);
        let player_events = match wants.player_events {
            true => self.player_events.after_step(&self.stepped, &self.handle),
            false => Vec::new(),
        };
        self.properties.clear();
        G::write_room(&self.world, &mut self.properties);
        self.handle.properties.set(&self.properties);
        self.handle.end_tick(self.world.tick(), &self.stepped, now);
        let rejected = &self.stepped.rejected;
        let rejected = rejected.iter().map(|rejected| (rejected.player, rejected.reason)).collect();
        after_step();
        let margin = |player: PlayerId| self.margins.get(usize::from(player.0)).copied().unwrap_or_default();
        let published: Arc<dyn DynTick> = Arc::new(self.publisher.publish(&self.world, &margin));
        if published.of::<G>().is_some_and(|tick| G::is_sent_on_resume(&tick.events)) {
            self.handle.record_missed_events(&*published);
        }
        self.send_results(queries, &*published, snapshot.as_ref());
        TickResult {
            tick,
            published,
            acks,
            frame,
            membership_changes: changes,
            player_events,
            checksum,
            snapshot,
            rejected,
        }
    }

    /// Takes the changes of players that the operator commands of this tick request.
    fn note_player_changes(&mut self) {
        let of_operator = self.commands.iter().filter(|command| command.player == PlayerId::OPERATOR);
        let changes =
            of_operator.filter_map(|command| Some((command.sequence, command.action.membership()?)));
        let changes = changes.collect();
        self.player_events.before_step(changes, || G::names(&self.world));
    }

    fn frame(&self) -> Option<Arc<[u8]>> {
        let mut bytes = Vec::new();
        command_frame::encode_raw(self.world.tick(), &self.batch.commands, &mut bytes).ok()?;
        Some(bytes.into())
    }

    fn snapshot(&self) -> Arc<WorldSnapshot> {
        Arc::new(WorldSnapshot {
            info: self.handle.game,
            tick: self.world.tick(),
            identity: self.world.identity(),
            rules_hash: G::rules_hash(),
            names: G::names(&self.world),
            bytes: self.world.snapshot().into(),
        })
    }

    fn send_results(
        &self,
        queries: Vec<RoomQuery>,
        published: &dyn DynTick,
        snapshot: Option<&Arc<WorldSnapshot>>,
    ) {
        for question in queries {
            // The send fails if the operator no longer waits for the result. This is not an error.
            match question {
                RoomQuery::Roster(result) => drop(result.send(published.roster())),
                RoomQuery::Snapshot(result) => drop(snapshot.map(|one| result.send(Arc::clone(one)))),
                RoomQuery::Outcome(ticket, result) => {
                    let mut rejected = self.stepped.rejected.iter();
                    let rejection = rejected.find(|rejected| {
                        rejected.player == PlayerId::OPERATOR && rejected.sequence == ticket.sequence
                    });
                    let _ = result.send(rejection.map_or(Ok(()), |rejected| Err(rejected.reason)));
                }
            }
        }
    }
}
