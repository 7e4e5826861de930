//! Controllers: the code that moves bodies.
//!
//! The input of a controller is a body, the terrain around it and the constants of the tick rate;
//! its output is the body one tick later. A controller does not depend on other bodies:
//! interactions are in `tick`.
//!
//! [`crate::Entity::act`] therefore also serves as dead reckoning: a client extrapolates an entity
//! by running its controller on the known terrain, with the same code as the server.

pub mod animal;
pub mod growth;
pub mod hand;
pub mod kit;
pub mod player;
pub mod scenery;
pub mod shot;
pub mod structure;
pub(crate) mod walk;

pub use animal::{Animal, Mood};
pub use growth::Growth;
pub use hand::Hand;
pub use kit::Kit;
pub use player::{Ground, Player, Poison};
pub use scenery::{Scenery, SceneryKind};
pub use shot::Shot;
pub use structure::Structure;

use std::mem::discriminant;

use crate::body::Body;
use crate::fields::{Field, Malformed, Reader, Sink};
use crate::rules::{self, Group, Item, Rates};
use crate::terrain::Terrain;

/// The controller of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Walks as its player commands.
    Player(Player),
    /// Scenery, which never acts.
    Scenery(Scenery),
    /// A structure: stands where it was built.
    Structure(Structure),
    /// Wanders, flees or hunts.
    Animal(Animal),
    /// Flies straight.
    Shot(Shot),
}

impl Controller {
    /// The controller of a newly built item.
    pub fn built(item: &Item) -> Controller {
        Controller::Structure(Structure { item: item.id, wait: 0 })
    }

    /// The item of a structure; `None` for other controllers.
    pub(crate) fn item(&self) -> Option<&'static Item> {
        match self {
            Controller::Structure(structure) => rules::item(structure.item),
            _ => None,
        }
    }

    /// Runs the controller for one tick.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        match self {
            Controller::Player(player) => player.act(body, terrain, rates),
            Controller::Scenery(_) => {}
            Controller::Structure(structure) => structure.act(rates),
            Controller::Animal(animal) => animal.act(body, terrain, rates),
            Controller::Shot(shot) => shot.act(body, rates),
        }
    }

    /// Whether a tick would change nothing. A sleeping entity costs the tick nothing.
    pub fn is_asleep(&self, body: &Body) -> bool {
        match self {
            Controller::Player(player) => player.is_asleep(body),
            Controller::Scenery(_) => true,
            Controller::Structure(structure) => structure.wait == 0,
            Controller::Animal(animal) => animal.is_asleep(body),
            Controller::Shot(_) => false,
        }
    }

    /// Whether each tick must run the controller of a structure of this item.
    pub(crate) fn is_active(&self, item: &Item) -> bool {
        !matches!(self, Controller::Structure(_)) || item.group == Group::Turret
    }

    /// Remaining lifetime of a structure, in thirds of a millisecond; `None` if it stands until it
    /// is destroyed.
    pub fn ends_in(&self) -> Option<u16> {
        None
    }

    /// Whether a structure of this item can be in this state.
    pub(crate) fn is_possible(&self, item: &Item) -> bool {
        let new = Controller::built(item);
        let is_in_time = match (self.ends_in(), new.ends_in()) {
            (Some(left), Some(max)) => (1..=max).contains(&left),
            (left, most) => left == most,
        };
        let is_ready = match self {
            Controller::Structure(structure) => structure.is_possible(item),
            _ => true,
        };
        is_in_time && is_ready && discriminant(self) == discriminant(&new)
    }

    /// Whether the river carries the entity away, even while it sleeps.
    pub(crate) fn is_carried_by_river(&self, body: &Body) -> bool {
        match self {
            Controller::Player(player) => player.alive && !player.ground.held,
            Controller::Animal(animal) => body.health > 0 && !animal.is_trapped,
            _ => false,
        }
    }
}

/// Implements [`Field`] for [`Controller`]: the number of each variant in a snapshot, and its type.
macro_rules! controllers {
    ($($number:literal $kind:ident,)*) => {
        impl Field for Controller {
            const MIN_BYTES: usize = 2;

            fn write(&self, sink: &mut impl Sink) {
                match self {
                    $(Controller::$kind(controller) => {
                        sink.variant($number, stringify!($kind));
                        controller.write(sink);
                    })*
                }
            }

            fn read(reader: &mut Reader<'_>) -> Result<Controller, Malformed> {
                match reader.scalar(1)? {
                    $($number => $kind::read(reader).map(Controller::$kind),)*
                    _ => Err(Malformed::Value("controller")),
                }
            }
        }
    };
}

controllers! {
    0 Player,
    1 Scenery,
    2 Structure,
    3 Animal,
    4 Shot,
}
