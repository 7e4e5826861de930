//! A room as its driver sees it, whatever game it plays: the one place where a game's types end.

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
use crate::server::room::SavedRoom;
use crate::server::room::{Room, RoomConfig, RoomHandle, TickRequest, TickResult};

/// A room whose clients have lines of this kind.
pub trait DynRoom<L: Transport>: Debug + Send {
    /// The half that other threads use.
    fn handle(&self) -> &Arc<RoomHandle>;

    /// Runs one tick at this time of the host's clock.
    fn tick(&mut self, now: Duration, wants: TickRequest) -> TickResult;

    /// A room with the same name, options and identity, whose world begins anew: for a driver whose
    /// room has panicked. It relies on nothing that a tick changes.
    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<L>>;
}

impl<G: Game, L: Transport> DynRoom<L> for Room<G> {
    fn handle(&self) -> &Arc<RoomHandle> {
        self.handle()
    }

    fn tick(&mut self, now: Duration, wants: TickRequest) -> TickResult {
        self.tick(now, wants)
    }

    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<L>> {
        Box::new(self.restarted(epoch))
    }
}

/// The settings of a room whose world has these parameters.
pub type ConfigFor<'a> = &'a dyn Fn(&WorldParams) -> RoomConfig;

/// A room that goes on, or why it cannot, in words.
pub type ResumedRoom<L> = Result<Box<dyn DynRoom<L>>, String>;

/// A room that goes on with other rules, and what became of its fields; or why it cannot, in words.
#[cfg(not(target_family = "wasm"))]
pub type MigratedRoom<L> = Result<(Box<dyn DynRoom<L>>, Vec<String>), String>;

/// A game as a host with lines of this kind starts it.
#[derive(Debug)]
pub struct GameFactory<L: 'static> {
    /// What there is to know of the game.
    pub about: &'static GameInfo,
    /// A room whose world begins.
    pub begin: fn(&WorldParams, RoomConfig) -> Box<dyn DynRoom<L>>,
    /// A room whose world goes on from a snapshot, with options for that world; or why it cannot, in
    /// words.
    pub resume_room: fn(&[u8], ConfigFor<'_>) -> ResumedRoom<L>,
    /// A room whose world was kept by another run of the server, perhaps with other rules; also, what
    /// became of its fields.
    #[cfg(not(target_family = "wasm"))]
    pub migrate_room: fn(&WorldParams, &SavedRoom, RoomConfig) -> MigratedRoom<L>,
    /// Makes an audience of a room, one for each worker that has clients in it.
    pub new_update_group: fn() -> Box<dyn UpdateGroup<L>>,
}

impl<L> Clone for GameFactory<L> {
    fn clone(&self) -> GameFactory<L> {
        *self
    }
}

impl<L> Copy for GameFactory<L> {}

impl<L: Transport> GameFactory<L> {
    /// All games of this project. The first is the default.
    pub fn all() -> Vec<GameFactory<L>> {
        let mut kinds = Vec::new();
        games::visit(&mut kinds);
        kinds
    }

    /// The default game. It names no other game, so that a program that calls only this one does not
    /// contain the others.
    pub fn default_game() -> GameFactory<L> {
        GameFactory::of::<games::Default>()
    }

    /// The game of a room, among those of a host.
    pub fn find(games: &[GameFactory<L>], about: &GameInfo) -> Option<GameFactory<L>> {
        games.iter().find(|game| game.about.name == about.name).copied()
    }

    /// A game by its type.
    pub const fn of<G: Game>() -> GameFactory<L> {
        GameFactory {
            about: G::INFO,
            begin: begin::<G, L>,
            resume_room: resume::<G, L>,
            #[cfg(not(target_family = "wasm"))]
            migrate_room: carry::<G, L>,
            new_update_group: || Box::<TypedUpdateGroup<G, L>>::default(),
        }
    }
}

impl<L: Transport> games::Visitor for Vec<GameFactory<L>> {
    fn game<G: Game>(&mut self) {
        self.push(GameFactory::of::<G>());
    }
}

fn begin<G: Game, L: Transport>(identity: &WorldParams, options: RoomConfig) -> Box<dyn DynRoom<L>> {
    Box::new(Room::<G>::new(G::Sim::new(identity), options))
}

fn resume<G: Game, L: Transport>(
    snapshot: &[u8],
    options: &dyn Fn(&WorldParams) -> RoomConfig,
) -> ResumedRoom<L> {
    let world = G::Sim::restore(snapshot)?;
    check(&world)?;
    let options = options(&world.identity());
    Ok(Box::new(Room::<G>::new(world, options)))
}

#[cfg(not(target_family = "wasm"))]
fn carry<G: Game, L: Transport>(
    identity: &WorldParams,
    kept: &SavedRoom,
    options: RoomConfig,
) -> MigratedRoom<L> {
    let saved = NamedState::new(&kept.state).map_err(|error| error.to_string())?;
    if saved.game() != G::INFO.name {
        return Err(format!("it is a world of {}, not of {}", saved.game(), G::INFO.name));
    }
    let world = G::Sim::migrate(identity, &saved)?;
    check(&world)?;
    let now = NamedState::new(&world.save_named()).map_err(|error| error.to_string())?;
    let room = Room::<G>::new(world, options);
    // The host's clock begins with it.
    room.handle().expect(&kept.keys, Duration::ZERO);
    Ok((Box::new(room), saved.migration_notes(&now)))
}

/// Whether a host can go on with a world that it has not begun.
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
