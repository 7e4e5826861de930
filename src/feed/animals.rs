//! Animals: where the living animals are, and their health. An animal's intent is never published;
//! clients see only its actions.

use super::interest::{Grid, Place, Window};
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

impl Animal {
    /// Its position and size.
    pub fn place(&self) -> Place {
        Place { x_px: self.x.to_px(), y_px: self.y.to_px(), radius_px: self.radius_px }
    }
}

#[derive(Debug, Default)]
pub struct Animals {
    /// In the order of their numbers.
    pub list: Vec<Animal>,
    grid: Grid,
}

impl Animals {
    /// The world's living animals.
    pub fn of(world: &World, map_size_px: i32) -> Animals {
        let list: Vec<Animal> = world
            .animals()
            .map(|animal| Animal {
                id: animal.id,
                kind: animal.kind as u8,
                x: animal.body.x,
                y: animal.body.y,
                heading: animal.body.heading,
                radius_px: animal.body.radius_px,
                health: animal.body.health,
            })
            .collect();
        if list.is_empty() {
            return Animals::default();
        }
        Animals { grid: Grid::new(map_size_px, list.iter().map(Animal::place)), list }
    }

    pub fn find(&self, id: EntityId) -> Option<&Animal> {
        self.list.binary_search_by_key(&id, |animal| animal.id).ok().map(|index| &self.list[index])
    }

    /// Collects the indexes of the animals in the window into `visible`, in order.
    pub fn look(&self, window: Window, visible: &mut Vec<u32>) {
        visible.clear();
        self.grid.near(window, 0, |index| {
            if window.sees(self.list[index as usize].place()) {
                visible.push(index);
            }
        });
        visible.sort_unstable();
    }
}

/// The number of an animal on the wire.
pub fn number(id: EntityId) -> u64 {
    u64::from(id.0.wrapping_sub(EntityId::FIRST_ANIMAL.0))
}
