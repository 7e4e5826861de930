//! Controllers: the code that moves bodies.
//!
//! A controller's input is a body, the terrain around it and the constants of the tick rate; its
//! output is the body one tick later. A controller never looks at another body: interactions are in
//! `step`.
//!
//! So [`crate::Entity::act`] also serves as dead reckoning: a client without news of an entity runs
//! its controller on the terrain that it knows, with the same code as the server's tick.

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

use crate::body::Body;
use crate::fields::{Field, Malformed, Reader, Sink};

/// The controller of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Walks as its player commands.
    Player(Player),
    /// Stands where the map placed it, and sleeps.
    Scenery(Scenery),
    /// Stands where it was built, and sleeps.
    Structure(Structure),
    /// Wanders, flees or hunts.
    Animal(Animal),
    /// Flies straight.
    Shot(Shot),
}

impl Controller {
    /// Whether a tick would change nothing. A sleeping entity costs the tick nothing.
    pub fn is_asleep(&self, body: &Body) -> bool {
        match self {
            Controller::Player(player) => player.is_asleep(body),
            Controller::Scenery(_) | Controller::Structure(_) => true,
            Controller::Animal(animal) => animal.is_asleep(body),
            Controller::Shot(_) => false,
        }
    }

    /// Whether a river would carry it away, even while it sleeps.
    pub(crate) fn floats(&self, body: &Body) -> bool {
        match self {
            Controller::Player(player) => player.alive && !player.ground.held,
            Controller::Animal(animal) => body.health > 0 && !animal.held,
            Controller::Scenery(_) | Controller::Structure(_) | Controller::Shot(_) => false,
        }
    }
}

impl Field for Controller {
    const LEAST_BYTES: usize = 2;

    fn write(&self, sink: &mut impl Sink) {
        match self {
            Controller::Player(player) => {
                sink.put(0, 1);
                player.write(sink);
            }
            Controller::Scenery(scenery) => {
                sink.put(1, 1);
                scenery.write(sink);
            }
            Controller::Structure(structure) => {
                sink.put(2, 1);
                structure.write(sink);
            }
            Controller::Animal(animal) => {
                sink.put(3, 1);
                animal.write(sink);
            }
            Controller::Shot(shot) => {
                sink.put(4, 1);
                shot.write(sink);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Controller, Malformed> {
        match reader.scalar(1)? {
            0 => Player::read(reader).map(Controller::Player),
            1 => Scenery::read(reader).map(Controller::Scenery),
            2 => Structure::read(reader).map(Controller::Structure),
            3 => Animal::read(reader).map(Controller::Animal),
            4 => Shot::read(reader).map(Controller::Shot),
            _ => Err(Malformed::Value("controller")),
        }
    }
}
