//! The table of weapons. `tick::melee` and `tick::projectiles` implement their effects.

use super::time::thirds;

/// A weapon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weapon {
    /// ID, also used on the wire.
    pub id: u8,
    /// The name, in lower case.
    pub name: &'static str,
    /// Description of the effect, for players.
    pub does: &'static str,
    /// The slot: 0 for a primary weapon, 1 for a secondary weapon.
    pub slot: u8,
    /// The age that offers the weapon; `None` for the initial weapon.
    pub age: Option<u8>,
    /// The weapon that a kit must contain before this weapon is offered; `None` if no weapon is
    /// required.
    pub needs: Option<u8>,
    /// Damage of a swing, in health points.
    pub damage: u16,
    /// Range up to the rim of the target, in pixels.
    pub range_px: i32,
    /// Units of a resource gained by a hit on scenery.
    pub gather: u32,
    /// Time from one swing to the next, in milliseconds.
    pub period_ms: u16,
    /// Walking speed of the holder, in percent of the normal speed.
    pub speed_percent: i32,
    /// Knockback in addition to [`super::KNOCK_PX_PER_S`], in pixels per second.
    pub knock_px_per_s: i32,
    /// Slowness that a swing adds to the attacker, in parts of [`super::SLOW_WHOLE`].
    pub slow: u16,
    /// Damage to structures, in percent of the damage to players.
    pub built_percent: u16,
    /// Gold that a hit transfers from a player to the attacker.
    pub steals: u32,
    /// The projectile that the weapon shoots: an ID of [`super::PROJECTILES`]. A weapon that shoots
    /// does not swing.
    pub shoots: Option<u8>,
    /// Cost of a shot, by [`super::Resource`].
    pub shot_cost: [u32; 4],
    /// Recoil: speed that a shot adds to the shooter, in pixels per second.
    pub recoil_px_per_s: i32,
    /// Share of frontal damage that the holder takes, in percent. Below 100 the weapon is a shield,
    /// which cannot attack.
    pub shield_percent: u16,
}

impl Weapon {
    /// Time from one swing to the next, in thirds of a millisecond.
    pub const fn period_thirds(&self) -> u16 {
        thirds(self.period_ms)
    }

    /// Damage of a swing to structures, in health points.
    pub const fn built_damage(&self) -> u16 {
        (self.damage as u32 * self.built_percent as u32 / 100) as u16
    }

    /// All properties that affect the simulation, for [`rules_hash`](crate::rules_hash()).
    pub(super) fn numbers(&self) -> [i32; 20] {
        let Weapon {
            id,
            name: _,
            does: _,
            slot,
            age,
            needs,
            damage,
            range_px,
            gather,
            period_ms,
            speed_percent,
            knock_px_per_s,
            slow,
            built_percent,
            steals,
            shoots,
            shot_cost,
            recoil_px_per_s,
            shield_percent,
        } = *self;
        let [wood, food, stone, gold] = shot_cost.map(|amount| amount as i32);
        let or_none = |number: Option<u8>| number.map_or(-1, i32::from);
        [
            i32::from(id),
            i32::from(slot),
            or_none(age),
            or_none(needs),
            i32::from(damage),
            range_px,
            gather as i32,
            i32::from(period_ms),
            speed_percent,
            knock_px_per_s,
            i32::from(slow),
            i32::from(built_percent),
            steals as i32,
            or_none(shoots),
            wood,
            food,
            stone,
            gold,
            recoil_px_per_s,
            i32::from(shield_percent),
        ]
    }
}

/// The initial weapon. The other weapons are defined by their differences from it.
const HAMMER: Weapon = Weapon {
    id: 0,
    name: "tool hammer",
    does: "Gathers and fights.",
    slot: 0,
    age: None,
    needs: None,
    damage: 25,
    range_px: 65,
    gather: 1,
    period_ms: 300,
    speed_percent: 100,
    knock_px_per_s: 0,
    slow: 9_000,
    built_percent: 100,
    steals: 0,
    shoots: None,
    shot_cost: [0; 4],
    recoil_px_per_s: 0,
    shield_percent: 100,
};

/// A primary weapon offered at age 2. The last argument contains damage, range, gather and period.
const fn first(
    id: u8,
    name: &'static str,
    does: &'static str,
    (damage, range_px, gather, period_ms): (u16, i32, u32, u16),
) -> Weapon {
    Weapon { id, name, does, age: Some(2), damage, range_px, gather, period_ms, ..HAMMER }
}

/// A weapon that shoots. The last two arguments are pairs: the projectile and the cost of a shot;
/// the period and the holder's walking speed.
const fn shooter(
    id: u8,
    name: &'static str,
    does: &'static str,
    (kind, shot_cost): (u8, [u32; 4]),
    (period_ms, speed_percent): (u16, i32),
) -> Weapon {
    let shoots = Some(kind);
    Weapon {
        shoots,
        shot_cost,
        speed_percent,
        slot: 1,
        slow: 0,
        ..first(id, name, does, (0, 0, 0, period_ms))
    }
}

/// All weapons, in ascending order of ID.
pub const WEAPONS: [Weapon; 16] = [
    HAMMER,
    first(1, "hand axe", "Gathers twice as much.", (30, 70, 2, 400)),
    Weapon {
        age: Some(8),
        needs: Some(1),
        ..first(2, "great axe", "Gathers four times as much.", (35, 75, 4, 400))
    },
    Weapon { speed_percent: 85, ..first(3, "short sword", "Reaches far and hurts.", (35, 110, 1, 300)) },
    Weapon {
        age: Some(8),
        needs: Some(3),
        speed_percent: 80,
        ..first(4, "katana", "Reaches farther and hurts more.", (40, 118, 1, 300))
    },
    Weapon {
        speed_percent: 82,
        knock_px_per_s: 200,
        ..first(5, "polearm", "The longest reach, a slow and heavy blow.", (45, 142, 1, 700))
    },
    Weapon { knock_px_per_s: 700, ..first(6, "bat", "Knocks others far away.", (20, 110, 1, 300)) },
    Weapon {
        speed_percent: 113,
        knock_px_per_s: 100,
        slow: 3_000,
        ..first(7, "daggers", "Quick stabs, and you run faster.", (20, 65, 1, 100))
    },
    first(8, "stick", "Gathers seven times as much, but hardly hurts anyone.", (1, 70, 7, 400)),
    Weapon { age: Some(6), ..shooter(9, "bow", "Shoots arrows.", (0, [4, 0, 0, 0]), (600, 75)) },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 88,
        built_percent: 750,
        ..first(10, "great hammer", "Breaks what was built.", (10, 75, 1, 400))
    },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 70,
        shield_percent: 20,
        ..first(
            11,
            "shield",
            "Held in front of you, it blocks most damage; it cannot attack.",
            (0, 0, 0, 300),
        )
    },
    Weapon {
        age: Some(8),
        needs: Some(9),
        ..shooter(
            12,
            "crossbow",
            "Shoots bolts, faster and farther than a bow.",
            (2, [5, 0, 0, 0]),
            (700, 70),
        )
    },
    Weapon {
        age: Some(9),
        needs: Some(12),
        ..shooter(13, "repeater", "Shoots darts, one after another.", (3, [10, 0, 0, 0]), (230, 70))
    },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 105,
        knock_px_per_s: 200,
        steals: 250,
        ..first(14, "mc grabby", "Takes gold from others.", (0, 125, 0, 700))
    },
    Weapon {
        age: Some(9),
        needs: Some(12),
        recoil_px_per_s: 350,
        ..shooter(
            15,
            "musket",
            "Shoots bullets: heavy damage from afar, with strong recoil.",
            (5, [0, 0, 10, 0]),
            (1_500, 60),
        )
    },
];

/// ID of the initial weapon of every player.
pub const FIRST_WEAPON: u8 = HAMMER.id;

/// The weapon with this ID, if it exists.
pub fn weapon(id: u8) -> Option<&'static Weapon> {
    WEAPONS.binary_search_by_key(&id, |weapon| weapon.id).ok().map(|at| &WEAPONS[at])
}

/// The weapon with this ID; the initial weapon if no weapon has this ID.
pub(crate) fn weapon_or_first(id: u8) -> &'static Weapon {
    weapon(id).unwrap_or(&WEAPONS[0])
}
