//! Entities: a body and exactly one controller.

pub use crate::body::Body;
use crate::controller::{Animal, Controller};
use crate::fields::fields;
pub use crate::id::{Embodied, EntityId, PlayerId};
use crate::rules::{Biome, Rates};
use crate::terrain::structure_index::PlacedStructure;
use crate::terrain::Terrain;

/// A body and the controller that moves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The entity's unique ID.
    pub id: EntityId,
    /// Position, velocity and health.
    pub body: Body,
    /// State and behaviour.
    pub controller: Controller,
}

fields!(Entity: id: EntityId, body: Body, controller: Controller);

impl Entity {
    /// Runs the controller for one tick, without commands or interaction with other entities.
    /// Returns whether the entity was awake.
    pub fn act(&mut self, terrain: &Terrain, rates: &Rates) -> bool {
        let Entity { body, controller, .. } = self;
        let drifts = terrain.bands().biome_at(body.y) == Biome::River && controller.is_carried_by_river(body);
        if controller.is_asleep(body) && !drifts {
            return false;
        }
        controller.act(body, terrain, rates);
        true
    }

    /// Whether the entity is a living player.
    pub(crate) fn is_alive(&self) -> bool {
        matches!(&self.controller, Controller::Player(player) if player.alive)
    }

    /// Whether attacks can hurt the entity: a living player without spawn protection.
    pub(crate) fn is_vulnerable(&self) -> bool {
        matches!(&self.controller, Controller::Player(player) if player.alive && !player.is_protected())
    }

    /// The animal and its body; `None` if the entity is not an animal.
    pub(crate) fn animal_mut(&mut self) -> Option<(&mut Animal, &mut Body)> {
        match &mut self.controller {
            Controller::Animal(animal) => Some((animal, &mut self.body)),
            _ => None,
        }
    }

    /// The structure as stored in the terrain; `None` if the entity is not a structure.
    pub fn standing(&self) -> Option<PlacedStructure> {
        let Entity { id, body, controller } = self;
        Some(PlacedStructure {
            id: *id,
            owner: body.owner,
            item: controller.item()?,
            x: body.x,
            y: body.y,
            heading: body.heading,
        })
    }
}
