//! The table of animals. `herd` and `controller::animal` implement their behaviour.

use super::Biome;
use crate::fields::scalar;

/// A kind of animal. The numbers are those of the wire; the missing number belongs to an animal
/// that this game does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnimalKind {
    /// Flees.
    Cow = 0,
    /// Flees.
    Pig = 1,
    /// Attacks.
    Bull = 2,
    /// Attacks.
    Wolf = 4,
}

/// The properties of a kind of animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnimalSpecies {
    /// The kind.
    pub kind: AnimalKind,
    /// The name, in lower case.
    pub name: &'static str,
    /// The number of animals on a map of [`super::MAP_SIZE_PX`]; on other sizes in proportion to
    /// the area, so the smallest maps have none.
    pub count: u32,
    /// Health points.
    pub health: u16,
    /// Speed when it wanders, in pixels per second.
    pub speed_px_per_s: u32,
    /// Radius of its picture and its body, in pixels.
    pub radius_px: i32,
    /// Damage of an attack, in health points; 0 for an animal that flees.
    pub damage: u16,
    /// Food for the killer.
    pub food: u32,
    /// Gold for the killer.
    pub gold: u32,
}

/// All kinds, in order of their numbers.
pub const ANIMALS: [AnimalSpecies; 4] = [
    AnimalSpecies {
        kind: AnimalKind::Cow,
        name: "cow",
        count: 12,
        health: 500,
        speed_px_per_s: 195,
        radius_px: 72,
        damage: 0,
        food: 50,
        gold: 150,
    },
    AnimalSpecies {
        kind: AnimalKind::Pig,
        name: "pig",
        count: 12,
        health: 800,
        speed_px_per_s: 174,
        radius_px: 72,
        damage: 0,
        food: 80,
        gold: 200,
    },
    AnimalSpecies {
        kind: AnimalKind::Bull,
        name: "bull",
        count: 5,
        health: 1_800,
        speed_px_per_s: 193,
        radius_px: 78,
        damage: 20,
        food: 100,
        gold: 1_000,
    },
    AnimalSpecies {
        kind: AnimalKind::Wolf,
        name: "wolf",
        count: 7,
        health: 300,
        speed_px_per_s: 205,
        radius_px: 84,
        damage: 8,
        food: 200,
        gold: 500,
    },
];

scalar!(AnimalKind, 1, |value| *value as u64, |raw| AnimalKind::from_number(raw as u8));

impl AnimalKind {
    /// The kind with that number.
    pub fn from_number(number: u8) -> Option<AnimalKind> {
        ANIMALS.iter().map(|animal| animal.kind).find(|kind| *kind as u8 == number)
    }

    /// The biome in which it lives.
    pub fn home(self) -> Biome {
        match self {
            AnimalKind::Cow | AnimalKind::Pig => Biome::Plains,
            AnimalKind::Bull => Biome::Desert,
            AnimalKind::Wolf => Biome::Snow,
        }
    }

    /// The properties of this kind.
    pub fn animal(self) -> &'static AnimalSpecies {
        let [cow, pig, bull, wolf] = &ANIMALS;
        match self {
            AnimalKind::Cow => cow,
            AnimalKind::Pig => pig,
            AnimalKind::Bull => bull,
            AnimalKind::Wolf => wolf,
        }
    }
}

impl AnimalSpecies {
    /// All of its properties that affect the simulation.
    pub(super) fn numbers(&self) -> [i32; 9] {
        let AnimalSpecies { kind, name: _, count, health, speed_px_per_s, radius_px, damage, food, gold } =
            *self;
        [
            kind as i32,
            count as i32,
            i32::from(health),
            speed_px_per_s as i32,
            radius_px,
            i32::from(damage),
            food as i32,
            gold as i32,
            kind.home() as i32,
        ]
    }
}
