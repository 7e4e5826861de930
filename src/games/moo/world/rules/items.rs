//! The table of items: food and structures. `tick::use_items`, `tick::health` and
//! `tick::structure_effects` implement their effects.

/// A group of items. Items of a group replace each other in a player's kit, and share the group's
/// limit. The numbers are also used on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Food.
    Food = 0,
    /// Blocks the way.
    Wall = 1,
    /// Hurts players on contact.
    Spikes = 2,
    /// Pays points to its owner.
    Mill = 3,
    /// Holds players that step on it.
    Trap = 5,
    /// Pushes players that step on it.
    Boost = 6,
    /// Shoots at enemies.
    Turret = 7,
    /// Heals players that stand on it.
    Heal = 9,
    /// The position at which its owner respawns.
    Spawn = 10,
}

/// Number of group numbers, including numbers that this game does not use.
pub const GROUPS: usize = 14;

impl Group {
    /// All groups, in ascending order of their numbers.
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

    /// The maximum number of structures of the group per player.
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

    /// Whether structures of the group heal players on contact.
    pub const fn heals(self) -> bool {
        matches!(self, Group::Heal)
    }

    /// Whether structures of the group act against enemies. Building one is an attack.
    pub const fn is_hostile(self) -> bool {
        matches!(self, Group::Spikes | Group::Trap | Group::Turret)
    }

    /// Whether structures of the group block players; otherwise players walk over them.
    pub const fn is_solid(self) -> bool {
        matches!(self, Group::Wall | Group::Spikes | Group::Mill | Group::Turret)
    }
}

/// An item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// ID, also used on the wire.
    pub id: u8,
    /// The name, in lower case.
    pub name: &'static str,
    /// Description of the effect, for players. `{health}` and `{damage}` stand for the values of
    /// this item.
    pub does: &'static str,
    /// The group.
    pub group: Group,
    /// The age that offers the item; `None` for an initial item.
    pub age: Option<u8>,
    /// The item that a kit must contain before this item is offered; `None` if no item is required.
    pub needs: Option<u8>,
    /// The cost, by [`super::Resource`].
    pub cost: [u32; 4],
    /// Health points of a structure. For food, the health points that it restores.
    pub health: u16,
    /// Radius of the drawn image and of the space that a structure needs, in pixels.
    pub scale_px: i32,
    /// Radius of the part that blocks or affects players, in pixels.
    pub radius_px: i32,
    /// Damage to enemies on contact, in health points.
    pub damage: u16,
    /// Income that a structure pays to its owner, in half points per second.
    pub pays_halves: u16,
    /// Whether contact also poisons.
    pub poisons: bool,
}

impl Item {
    /// All properties that affect the simulation, for [`rules_hash`](crate::rules_hash()).
    pub(super) fn numbers(&self) -> [i32; 14] {
        let Item { id, name: _, does: _, group, age, needs, cost, health, scale_px, .. } = *self;
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

/// A food item. `cost` is in units of food.
const fn food(id: u8, name: &'static str, cost: u32, health: u16) -> Item {
    Item {
        group: Group::Food,
        health,
        scale_px: 0,
        radius_px: 0,
        ..built(id, name, "Heals {health}.", Group::Food, [0, cost, 0, 0], (0, 0))
    }
}

/// A structure that is solid up to the rim of its drawn image.
const fn built(
    id: u8,
    name: &'static str,
    does: &'static str,
    group: Group,
    cost: [u32; 4],
    (health, scale_px): (u16, i32),
) -> Item {
    Item {
        id,
        name,
        does,
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

/// All items, in ascending order of ID. Missing IDs are items that this game lacks.
pub const ITEMS: [Item; 18] = [
    food(0, "apple", 10, 20),
    Item { age: Some(3), ..food(1, "cookie", 15, 40) },
    Item { age: Some(7), ..food(2, "cheese", 25, 60) },
    built(3, "wood wall", "Blocks the way.", Wall, [10, 0, 0, 0], (380, 50)),
    Item {
        age: Some(3),
        ..built(4, "stone wall", "Blocks the way, and lasts longer.", Wall, [0, 0, 25, 0], (900, 50))
    },
    Item {
        age: Some(7),
        needs: Some(4),
        ..built(5, "castle wall", "The strongest wall.", Wall, [0, 0, 35, 0], (1_500, 52))
    },
    Item {
        damage: 20,
        ..built(6, "spikes", "Hurt others who touch them: {damage}.", Spikes, [20, 0, 5, 0], (400, 49))
    },
    Item {
        age: Some(5),
        damage: 35,
        ..built(
            7,
            "greater spikes",
            "Hurt others who touch them: {damage}.",
            Spikes,
            [30, 0, 10, 0],
            (500, 52),
        )
    },
    Item {
        age: Some(9),
        needs: Some(7),
        damage: 30,
        poisons: true,
        ..built(
            8,
            "poison spikes",
            "Poison others who touch them, and deal {damage} damage at once.",
            Spikes,
            [35, 0, 15, 0],
            (600, 52),
        )
    },
    Item {
        age: Some(9),
        needs: Some(7),
        damage: 45,
        ..built(
            9,
            "spinning spikes",
            "Hurt others who touch them: {damage}.",
            Spikes,
            [30, 0, 20, 0],
            (500, 52),
        )
    },
    Item {
        pays_halves: 2,
        ..built(10, "windmill", "Pays 1 point a second.", Mill, [50, 0, 10, 0], (400, 45))
    },
    Item {
        age: Some(5),
        needs: Some(10),
        pays_halves: 3,
        ..built(11, "faster windmill", "Pays 3 points every 2 seconds.", Mill, [60, 0, 20, 0], (500, 47))
    },
    Item {
        age: Some(8),
        needs: Some(11),
        pays_halves: 4,
        ..built(12, "power mill", "Pays 2 points a second.", Mill, [100, 0, 50, 0], (800, 47))
    },
    Item {
        age: Some(4),
        radius_px: 10,
        ..built(
            15,
            "pit trap",
            "Holds others who step on it; they hardly see it.",
            Trap,
            [30, 0, 30, 0],
            (500, 50),
        )
    },
    Item {
        age: Some(4),
        radius_px: 31,
        ..built(
            16,
            "boost pad",
            "Throws anyone who steps on it along its arrow.",
            Boost,
            [5, 0, 20, 0],
            (150, 45),
        )
    },
    Item {
        age: Some(7),
        ..built(17, "turret", "Shoots at others who come near.", Turret, [200, 0, 150, 0], (800, 43))
    },
    Item {
        age: Some(7),
        radius_px: 22,
        ..built(19, "healing pad", "Heals anyone who stands on it.", Heal, [30, 10, 0, 0], (400, 45))
    },
    Item {
        age: Some(9),
        radius_px: 22,
        ..built(20, "spawn pad", "You respawn here after death.", Spawn, [100, 0, 100, 0], (400, 45))
    },
];

/// The initial items of every player: apple, wood wall, spikes, windmill.
pub const FIRST_ITEMS: [u8; 4] = [0, 3, 6, 10];

/// The item with this ID, if it exists.
pub fn item(id: u8) -> Option<&'static Item> {
    ITEMS.binary_search_by_key(&id, |item| item.id).ok().map(|at| &ITEMS[at])
}
