//! Animals: where the living animals are, and their health. An animal's intent is never published;
//! clients see only its actions.

use super::interest::{Place, Thing, Things};
use crate::world::{Angle, EntityId, Fixed, World};

/// An animal as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct Animal {
    pub id: EntityId,
    /// Its kind's number.
    pub kind: u8,
    /// Exact position, px.
    pub x: Fixed,
    pub y: Fixed,
    pub heading: Angle,
    pub radius_px: i32,
    pub health: u16,
}

impl Thing for Animal {
    type Id = EntityId;

    fn id(&self) -> EntityId {
        self.id
    }

    fn place(&self) -> Place {
        Place { x_px: self.x.to_px(), y_px: self.y.to_px(), radius_px: self.radius_px }
    }
}

/// The world's living animals.
pub fn of(world: &World, map_size_px: i32) -> Things<Animal> {
    let animals = world.animals().map(|animal| Animal {
        id: animal.id,
        kind: animal.kind as u8,
        x: animal.body.x,
        y: animal.body.y,
        heading: animal.body.heading,
        radius_px: animal.body.radius_px,
        health: animal.body.health,
    });
    Things::new(map_size_px, animals.collect())
}

/// The number of an animal on the wire.
pub fn number(id: EntityId) -> u64 {
    u64::from(id.0.wrapping_sub(EntityId::FIRST_ANIMAL.0))
}
