//! The table of animals. `tick::animal_ai` and `controller::animal` implement their behaviour.

use super::Biome;
use crate::fields::scalar;

/// A kind of animal. The numbers are also used on the wire. Number 3 is an animal that this game
/// lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnimalKind {
    /// Flees from attackers.
    Cow = 0,
    /// Flees from attackers.
    Pig = 1,
    /// Hunts players.
    Bull = 2,
    /// Hunts players.
    Wolf = 4,
}

/// The properties of a kind of animal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnimalSpecies {
    /// The kind.
    pub kind: AnimalKind,
    /// The name, in lower case.
    pub name: &'static str,
    /// Number of animals on a map of [`super::MAP_SIZE_PX`]. For other sizes, the number is
    /// proportional to the area, so the smallest maps have none.
    pub count: u32,
    /// Initial health points.
    pub health: u16,
    /// Wandering speed, in pixels per second.
    pub speed_px_per_s: u32,
    /// Radius of the drawn image and of the body, in pixels.
    pub radius_px: i32,
    /// Damage of an attack, in health points; 0 for a kind that flees.
    pub damage: u16,
    /// Food that the killer gains.
    pub food: u32,
    /// Gold that the killer gains.
    pub gold: u32,
}

/// All kinds, in ascending order of their numbers.
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
    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<AnimalKind> {
        ANIMALS.iter().map(|animal| animal.kind).find(|kind| *kind as u8 == number)
    }

    /// The biome in which animals of this kind live.
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
    /// All properties that affect the simulation, for [`rules_hash`](crate::rules_hash()).
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
