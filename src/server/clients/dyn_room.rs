//! A room without the types of its game. No other module of the server erases them.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
use tickwire_sim::migrate::NamedState;
use tickwire_sim::{Sim, WorldParams};

use super::client::Transport;
use super::update_group::{TypedUpdateGroup, UpdateGroup};
use crate::game::{Game, GameInfo};
use crate::games;
use crate::limits;
#[cfg(not(target_family = "wasm"))]
use crate::server::journal::{JournalReplay, JournalSnapshot, Record, RecordBody};
use crate::server::room::{Room, RoomConfig, RoomHandle, TickRequest, TickResult};

/// A room of any game, with clients on this transport.
pub trait DynRoom<L: Transport>: Debug + Send {
    /// Returns the part of the room that other threads use.
    fn handle(&self) -> &Arc<RoomHandle>;

    /// Executes one tick. `now` is on the server's clock.
    fn tick(&mut self, now: Duration, wants: TickRequest) -> TickResult {
        self.tick_with(now, wants, &mut || {})
    }

    /// Executes one tick. Calls `after_step` before the state is published, see
    /// [`Room::tick_with`].
    fn tick_with(&mut self, now: Duration, wants: TickRequest, after_step: &mut dyn FnMut()) -> TickResult;

    /// Saves the world by the names of its fields, for a program with other rules
    /// ([`Sim::save_named`]).
    #[cfg(not(target_family = "wasm"))]
    fn save_named(&self) -> Vec<u8>;

    /// Creates a room with the same name, options and parameters and a new world. The driver calls
    /// it after the room has panicked, so it reads nothing that a tick changes.
    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<L>>;
}

impl<G: Game, L: Transport> DynRoom<L> for Room<G> {
    fn handle(&self) -> &Arc<RoomHandle> {
        self.handle()
    }

    fn tick_with(&mut self, now: Duration, wants: TickRequest, after_step: &mut dyn FnMut()) -> TickResult {
        self.tick_with(now, wants, after_step)
    }

    #[cfg(not(target_family = "wasm"))]
    fn save_named(&self) -> Vec<u8> {
        self.world().save_named()
    }

    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<L>> {
        Box::new(self.restarted(epoch))
    }
}

/// Computes the settings of a room from the parameters of its world.
pub type ConfigFor<'a> = &'a dyn Fn(&WorldParams) -> RoomConfig;

/// A room restored from a snapshot, or the reason why that is impossible.
pub type ResumedRoom<L> = Result<Box<dyn DynRoom<L>>, String>;

/// A room migrated to other rules, with notes on its fields; or the reason why that is impossible.
#[cfg(not(target_family = "wasm"))]
pub type MigratedRoom<L> = Result<(Box<dyn DynRoom<L>>, Vec<String>), String>;

/// Receives the checksum of the world before a replayed tick, and the command frame of the tick.
#[cfg(not(target_family = "wasm"))]
pub type OnReplayedTick<'a> = &'a mut dyn FnMut(u64, &[u8]);

/// Makes rooms of one game for a server with this transport.
#[derive(Debug)]
pub struct GameFactory<L: 'static> {
    /// The game's info.
    pub info: &'static GameInfo,
    /// Creates a room with a new world.
    pub new_room: fn(&WorldParams, RoomConfig) -> Box<dyn DynRoom<L>>,
    /// Restores a room from a snapshot. The settings are computed from the restored world.
    pub resume_room: fn(&[u8], ConfigFor<'_>) -> ResumedRoom<L>,
    /// Creates a room with the saved world of another run, possibly with other rules: an output of
    /// [`Sim::save_named`]. Also returns notes on its fields. The room has no seats.
    #[cfg(not(target_family = "wasm"))]
    pub migrate_room: fn(&WorldParams, &[u8], RoomConfig) -> MigratedRoom<L>,
    /// Restores a room from its journal: restores the snapshot and replays the records. The last
    /// argument is the time on the server's clock, from which suspended seats expire.
    #[cfg(not(target_family = "wasm"))]
    pub recover_room: fn(&JournalSnapshot, &[Record], RoomConfig, Duration) -> ResumedRoom<L>,
    /// Replays a journal, and calls the function before each tick.
    #[cfg(not(target_family = "wasm"))]
    pub replay_journal: fn(&JournalSnapshot, &[Record], OnReplayedTick<'_>) -> Result<(), String>,
    /// Creates an update group. Each update worker has one for every room in which it has clients.
    pub new_update_group: fn() -> Box<dyn UpdateGroup<L>>,
}

impl<L> Clone for GameFactory<L> {
    fn clone(&self) -> GameFactory<L> {
        *self
    }
}

impl<L> Copy for GameFactory<L> {}

impl<L: Transport> GameFactory<L> {
    /// Returns all built-in games; none without the feature `built-in-games`. The first is the
    /// default.
    pub fn all() -> Vec<GameFactory<L>> {
        let mut kinds = Vec::new();
        games::visit(&mut kinds);
        kinds
    }

    /// Finds the game of a room in this list.
    pub fn find(games: &[GameFactory<L>], info: &GameInfo) -> Option<GameFactory<L>> {
        games.iter().find(|game| game.info.name == info.name).copied()
    }

    /// Creates the factory of a game from its type.
    pub const fn for_game<G: Game>() -> GameFactory<L> {
        GameFactory {
            info: G::INFO,
            new_room: new_room::<G, L>,
            resume_room: resume::<G, L>,
            #[cfg(not(target_family = "wasm"))]
            migrate_room: carry::<G, L>,
            #[cfg(not(target_family = "wasm"))]
            recover_room: recover::<G, L>,
            #[cfg(not(target_family = "wasm"))]
            replay_journal: replay_journal::<G>,
            new_update_group: || Box::<TypedUpdateGroup<G, L>>::default(),
        }
    }
}

impl<L: Transport> games::Visitor for Vec<GameFactory<L>> {
    fn game<G: Game>(&mut self) {
        self.push(GameFactory::for_game::<G>());
    }
}

fn new_room<G: Game, L: Transport>(identity: &WorldParams, options: RoomConfig) -> Box<dyn DynRoom<L>> {
    Box::new(Room::<G>::new(G::Sim::new(identity), options))
}

fn resume<G: Game, L: Transport>(
    snapshot: &[u8],
    options: &dyn Fn(&WorldParams) -> RoomConfig,
) -> ResumedRoom<L> {
    let world = G::Sim::restore(snapshot).map_err(|error| error.to_string())?;
    check(&world)?;
    let options = options(&world.identity());
    Ok(Box::new(Room::<G>::new(world, options)))
}

#[cfg(not(target_family = "wasm"))]
fn carry<G: Game, L: Transport>(
    identity: &WorldParams,
    state: &[u8],
    options: RoomConfig,
) -> MigratedRoom<L> {
    let saved = NamedState::new(state).map_err(|error| error.to_string())?;
    if saved.game() != G::INFO.name {
        return Err(format!("it is a world of {}, not of {}", saved.game(), G::INFO.name));
    }
    let world = G::Sim::migrate(identity, &saved).map_err(|error| error.to_string())?;
    check(&world)?;
    let now = NamedState::new(&world.save_named()).map_err(|error| error.to_string())?;
    Ok((Box::new(Room::<G>::new(world, options)), saved.migration_notes(&now)))
}

#[cfg(not(target_family = "wasm"))]
fn recover<G: Game, L: Transport>(
    snapshot: &JournalSnapshot,
    records: &[Record],
    options: RoomConfig,
    now: Duration,
) -> ResumedRoom<L> {
    let mut replay = JournalReplay::<G::Sim>::new(snapshot)?;
    records.iter().try_for_each(|record| replay.apply(record))?;
    let (world, seats) = replay.finish();
    check(&world)?;
    let room = Room::<G>::new(world, options);
    room.handle().restore_hashed_seats(&seats, now);
    Ok(Box::new(room))
}

#[cfg(not(target_family = "wasm"))]
fn replay_journal<G: Game>(
    snapshot: &JournalSnapshot,
    records: &[Record],
    on_tick: OnReplayedTick<'_>,
) -> Result<(), String> {
    let mut replay = JournalReplay::<G::Sim>::new(snapshot)?;
    records.iter().try_for_each(|record| {
        if let RecordBody::Frame(frame) = &record.body {
            on_tick(replay.world().checksum(), frame);
        }
        replay.apply(record)
    })
}

/// Checks that the server can continue a restored world.
fn check(world: &impl Sim) -> Result<(), String> {
    if world.players().any(|player| player.0 > limits::PLAYERS) {
        return Err(format!("a player's number is greater than {}", limits::PLAYERS));
    }
    if world.tick() > u32::MAX / 2 || world.operator_sequence() > u64::MAX / 2 {
        return Err(
            "its tick number or the operator's sequence number is too close to its maximum".to_owned()
        );
    }
    Ok(())
}
