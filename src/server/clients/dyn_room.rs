//! A room as its driver sees it, whatever game it plays: the one place where a game's types end.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
use tickwire_sim::migrate::Saved;
use tickwire_sim::{Identity, Sim};

use super::client::Line;
use super::update_group::{Audience, Members};
use crate::game::{About, Game};
use crate::games;
use crate::limits;
#[cfg(not(target_family = "wasm"))]
use crate::server::room::Kept;
use crate::server::room::{Handle, Options, Room, Ticked, Wants};

/// A room whose clients have lines of this kind.
pub trait Core<L: Line>: Debug + Send {
    /// The half that other threads use.
    fn handle(&self) -> &Arc<Handle>;

    /// Runs one tick at this time of the host's clock.
    fn tick(&mut self, now: Duration, wants: Wants) -> Ticked;

    /// A room with the same name, options and identity, whose world begins anew: for a driver whose
    /// room has panicked. It relies on nothing that a tick changes.
    fn anew(&self, epoch: String) -> Box<dyn Core<L>>;
}

impl<G: Game, L: Line> Core<L> for Room<G> {
    fn handle(&self) -> &Arc<Handle> {
        self.handle()
    }

    fn tick(&mut self, now: Duration, wants: Wants) -> Ticked {
        self.tick(now, wants)
    }

    fn anew(&self, epoch: String) -> Box<dyn Core<L>> {
        Box::new(self.anew(epoch))
    }
}

/// The settings of a room whose world has these parameters.
pub type OptionsOf<'a> = &'a dyn Fn(&Identity) -> Options;

/// A room that goes on, or why it cannot, in words.
pub type Resumed<L> = Result<Box<dyn Core<L>>, String>;

/// A room that goes on with other rules, and what became of its fields; or why it cannot, in words.
#[cfg(not(target_family = "wasm"))]
pub type Carried<L> = Result<(Box<dyn Core<L>>, Vec<String>), String>;

/// A game as a host with lines of this kind starts it.
#[derive(Debug)]
pub struct Kind<L: 'static> {
    /// What there is to know of the game.
    pub about: &'static About,
    /// A room whose world begins.
    pub begin: fn(&Identity, Options) -> Box<dyn Core<L>>,
    /// A room whose world goes on from a snapshot, with options for that world; or why it cannot, in
    /// words.
    pub resume: fn(&[u8], OptionsOf<'_>) -> Resumed<L>,
    /// A room whose world was kept by another run of the server, perhaps with other rules; also, what
    /// became of its fields.
    #[cfg(not(target_family = "wasm"))]
    pub carry: fn(&Identity, &Kept, Options) -> Carried<L>,
    /// Makes an audience of a room, one for each worker that has clients in it.
    pub audience: fn() -> Box<dyn Audience<L>>,
}

impl<L> Clone for Kind<L> {
    fn clone(&self) -> Kind<L> {
        *self
    }
}

impl<L> Copy for Kind<L> {}

impl<L: Line> Kind<L> {
    /// All games of this project. The first is the default.
    pub fn all() -> Vec<Kind<L>> {
        let mut kinds = Vec::new();
        games::visit(&mut kinds);
        kinds
    }

    /// The default game. It names no other game, so that a program that calls only this one does not
    /// contain the others.
    pub fn default_game() -> Kind<L> {
        Kind::of::<games::Default>()
    }

    /// The game of a room, among those of a host.
    pub fn find(games: &[Kind<L>], about: &About) -> Option<Kind<L>> {
        games.iter().find(|game| game.about.name == about.name).copied()
    }

    /// A game by its type.
    pub const fn of<G: Game>() -> Kind<L> {
        Kind {
            about: G::ABOUT,
            begin: begin::<G, L>,
            resume: resume::<G, L>,
            #[cfg(not(target_family = "wasm"))]
            carry: carry::<G, L>,
            audience: || Box::<Members<G, L>>::default(),
        }
    }
}

impl<L: Line> games::Visitor for Vec<Kind<L>> {
    fn game<G: Game>(&mut self) {
        self.push(Kind::of::<G>());
    }
}

fn begin<G: Game, L: Line>(identity: &Identity, options: Options) -> Box<dyn Core<L>> {
    Box::new(Room::<G>::new(G::Sim::new(identity), options))
}

fn resume<G: Game, L: Line>(snapshot: &[u8], options: &dyn Fn(&Identity) -> Options) -> Resumed<L> {
    let world = G::Sim::restore(snapshot)?;
    check(&world)?;
    let options = options(&world.identity());
    Ok(Box::new(Room::<G>::new(world, options)))
}

#[cfg(not(target_family = "wasm"))]
fn carry<G: Game, L: Line>(identity: &Identity, kept: &Kept, options: Options) -> Carried<L> {
    let saved = Saved::new(&kept.named).map_err(|error| error.to_string())?;
    if saved.game() != G::ABOUT.name {
        return Err(format!("it is a world of {}, not of {}", saved.game(), G::ABOUT.name));
    }
    let world = G::Sim::carried(identity, &saved)?;
    check(&world)?;
    let now = Saved::new(&world.named()).map_err(|error| error.to_string())?;
    let room = Room::<G>::new(world, options);
    // The host's clock begins with it.
    room.handle().expect(&kept.keys, Duration::ZERO);
    Ok((Box::new(room), saved.changes(&now)))
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
