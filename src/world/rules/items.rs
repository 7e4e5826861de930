//! The items: what is eaten and what is built, as one table.
//!
//! Comes in: a number. Goes out: a row. Never: a rule; how a row is used is in `deeds`, `life` and `touch`.

/// Items of one group take each other's place in a player's kit, and count together against the group's limit. The numbers
/// are those of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// What is eaten.
    Food = 0,
    /// What stands in the way.
    Wall = 1,
    /// What hurts who touches it.
    Spikes = 2,
    /// What pays.
    Mill = 3,
    /// What holds who steps on it.
    Trap = 5,
    /// What throws who steps on it.
    Boost = 6,
    /// What shoots at others.
    Turret = 7,
    /// What heals who stands on it.
    Heal = 9,
    /// Where its owner plays again after death.
    Spawn = 10,
}

/// How many numbers of groups there are, with those that this game does not use.
pub const GROUPS: usize = 14;

impl Group {
    /// All of them, in the order of their numbers.
    pub const ALL: [Group; 9] = [
        Group::Food,
        Group::Wall,
        Group::Spikes,
        Group::Mill,
        Group::Trap,
        Group::Boost,
        Group::Turret,
        Group::Heal,
        Group::Spawn,
    ];

    /// How many of the group a player can have standing.
    pub const fn limit(self) -> u8 {
        match self {
            Group::Food => 0,
            Group::Wall => 30,
            Group::Spikes => 15,
            Group::Mill => 7,
            Group::Trap => 6,
            Group::Boost => 12,
            Group::Turret => 2,
            Group::Heal => 4,
            Group::Spawn => 1,
        }
    }

    /// Whether one runs into it, or over it.
    pub const fn is_solid(self) -> bool {
        matches!(self, Group::Wall | Group::Spikes | Group::Mill | Group::Turret)
    }
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its number on the wire.
    pub id: u8,
    /// In words, lower case.
    pub name: &'static str,
    /// What it belongs to.
    pub group: Group,
    /// The age that offers it; `None` for what everyone begins with.
    pub age: Option<u8>,
    /// The item that one must have to be offered it.
    pub needs: Option<u8>,
    /// What it costs, by [`super::Resource`].
    pub cost: [u32; 4],
    /// Health points of what is built; for food those that it gives.
    pub health: u16,
    /// Radius of the picture of what is built, and of the room that it needs, pixels.
    pub scale_px: i32,
    /// Radius of what one runs into or steps on, pixels.
    pub radius_px: i32,
    /// Health points that a touch takes from others than the owner.
    pub damage: u16,
    /// Half points that it pays to its owner in a second.
    pub pays_halves: u16,
    /// Whether its touch poisons as well.
    pub poisons: bool,
}

impl Item {
    /// Everything about it that decides what happens.
    pub(super) fn numbers(&self) -> [i32; 14] {
        let Item { id, name: _, group, age, needs, cost, health, scale_px, .. } = *self;
        let Item { radius_px, damage, pays_halves, poisons, .. } = *self;
        let or_none = |number: Option<u8>| number.map_or(-1, i32::from);
        let [wood, food, stone, gold] = cost.map(|amount| amount as i32);
        [
            i32::from(id),
            group as i32,
            or_none(age),
            or_none(needs),
            wood,
            food,
            stone,
            gold,
            i32::from(health),
            scale_px,
            radius_px,
            i32::from(damage),
            i32::from(pays_halves),
            i32::from(poisons),
        ]
    }
}

/// Food: what it costs and what it gives.
const fn food(id: u8, name: &'static str, cost: u32, health: u16) -> Item {
    Item {
        group: Group::Food,
        health,
        scale_px: 0,
        radius_px: 0,
        ..built(id, name, Group::Food, [0, cost, 0, 0], (0, 0))
    }
}

/// Something that is built, as large to run into as it is drawn: health and scale.
const fn built(
    id: u8,
    name: &'static str,
    group: Group,
    cost: [u32; 4],
    (health, scale_px): (u16, i32),
) -> Item {
    Item {
        id,
        name,
        group,
        age: None,
        needs: None,
        cost,
        health,
        scale_px,
        radius_px: scale_px,
        damage: 0,
        pays_halves: 0,
        poisons: false,
    }
}

use Group::{Boost, Heal, Mill, Spawn, Spikes, Trap, Turret, Wall};

/// All of them, in the order of their numbers. Numbers that are missing belong to things that this game does not have.
pub const ITEMS: [Item; 18] = [
    food(0, "apple", 10, 20),
    Item { age: Some(3), ..food(1, "cookie", 15, 40) },
    Item { age: Some(7), ..food(2, "cheese", 25, 60) },
    built(3, "wood wall", Wall, [10, 0, 0, 0], (380, 50)),
    Item { age: Some(3), ..built(4, "stone wall", Wall, [0, 0, 25, 0], (900, 50)) },
    Item { age: Some(7), needs: Some(4), ..built(5, "castle wall", Wall, [0, 0, 35, 0], (1_500, 52)) },
    Item { damage: 20, ..built(6, "spikes", Spikes, [20, 0, 5, 0], (400, 49)) },
    Item { age: Some(5), damage: 35, ..built(7, "greater spikes", Spikes, [30, 0, 10, 0], (500, 52)) },
    Item {
        age: Some(9),
        needs: Some(7),
        damage: 30,
        poisons: true,
        ..built(8, "poison spikes", Spikes, [35, 0, 15, 0], (600, 52))
    },
    Item {
        age: Some(9),
        needs: Some(7),
        damage: 45,
        ..built(9, "spinning spikes", Spikes, [30, 0, 20, 0], (500, 52))
    },
    Item { pays_halves: 2, ..built(10, "windmill", Mill, [50, 0, 10, 0], (400, 45)) },
    Item {
        age: Some(5),
        needs: Some(10),
        pays_halves: 3,
        ..built(11, "faster windmill", Mill, [60, 0, 20, 0], (500, 47))
    },
    Item {
        age: Some(8),
        needs: Some(11),
        pays_halves: 4,
        ..built(12, "power mill", Mill, [100, 0, 50, 0], (800, 47))
    },
    Item { age: Some(4), radius_px: 10, ..built(15, "pit trap", Trap, [30, 0, 30, 0], (500, 50)) },
    Item { age: Some(4), radius_px: 31, ..built(16, "boost pad", Boost, [5, 0, 20, 0], (150, 45)) },
    Item { age: Some(7), ..built(17, "turret", Turret, [200, 0, 150, 0], (800, 43)) },
    Item { age: Some(7), radius_px: 22, ..built(19, "healing pad", Heal, [30, 10, 0, 0], (400, 45)) },
    Item { age: Some(9), radius_px: 22, ..built(20, "spawn pad", Spawn, [100, 0, 100, 0], (400, 45)) },
];

/// The items of everyone: apple, wood wall, spikes, windmill.
pub const FIRST_ITEMS: [u8; 4] = [0, 3, 6, 10];

/// The item of that number, if there is one.
pub fn item(id: u8) -> Option<&'static Item> {
    ITEMS.binary_search_by_key(&id, |item| item.id).ok().map(|at| &ITEMS[at])
}
