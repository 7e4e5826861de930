//! The weapons: what is swung, as one table.
//!
//! Comes in: a number. Goes out: a row. Never: a rule; how a row is used is in `fight`.

use super::time::thirds;

/// A weapon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weapon {
    /// Its number on the wire.
    pub id: u8,
    /// In words, lower case.
    pub name: &'static str,
    /// Which of the two weapons of a player it can be: 0 for the first, 1 for the second.
    pub slot: u8,
    /// The age that offers it; `None` for what everyone begins with.
    pub age: Option<u8>,
    /// The weapon that one must have to be offered it.
    pub needs: Option<u8>,
    /// Health points that a stroke takes.
    pub damage: u16,
    /// How far it reaches beyond the rim of what it strikes, pixels.
    pub range_px: i32,
    /// Of what is struck in nature so much is gained.
    pub gather: u32,
    /// Time from one stroke to the next, milliseconds.
    pub period_ms: u16,
    /// Speed of who holds it, in hundredths of the usual.
    pub speed_percent: i32,
    /// Speed that a stroke gives beyond [`super::KNOCK_PX_PER_S`], pixels per second.
    pub knock_px_per_s: i32,
    /// Slowness that a stroke adds for who swings, in parts of [`super::SLOW_WHOLE`].
    pub slow: u16,
    /// Damage at what was built, in hundredths of the damage at players.
    pub built_percent: u16,
    /// Gold that a stroke takes from a player and gives to who swings.
    pub steals: u32,
    /// What it shoots in place of a stroke: a number of [`super::PROJECTILES`].
    pub shoots: Option<u8>,
    /// What a shot costs, by [`super::Resource`].
    pub shot_cost: [u32; 4],
    /// Speed that a shot gives to who shoots, away from where it goes, pixels per second.
    pub recoil_px_per_s: i32,
    /// What is left of harm that comes from before who holds it, in hundredths. Below 100 it is a shield, and strikes nothing.
    pub shield_percent: u16,
}

impl Weapon {
    /// Time from one stroke to the next, thirds of a millisecond.
    pub const fn period_thirds(&self) -> u16 {
        thirds(self.period_ms)
    }

    /// What a stroke takes from what was built, health points.
    pub const fn built_damage(&self) -> u16 {
        (self.damage as u32 * self.built_percent as u32 / 100) as u16
    }

    /// Everything about it that decides what happens.
    pub(super) fn numbers(&self) -> [i32; 20] {
        let Weapon {
            id,
            name: _,
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

/// What everyone begins with, and what the others differ from.
const HAMMER: Weapon = Weapon {
    id: 0,
    name: "tool hammer",
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

/// A weapon of the first slot that the second age offers: damage, range, gather, period.
const fn first(
    id: u8,
    name: &'static str,
    (damage, range_px, gather, period_ms): (u16, i32, u32, u16),
) -> Weapon {
    Weapon { id, name, age: Some(2), damage, range_px, gather, period_ms, ..HAMMER }
}

/// A weapon that shoots: what, what a shot costs, the time between two, and the speed of who holds it.
const fn shooter(
    id: u8,
    name: &'static str,
    (kind, shot_cost): (u8, [u32; 4]),
    (period_ms, speed_percent): (u16, i32),
) -> Weapon {
    let shoots = Some(kind);
    Weapon { shoots, shot_cost, speed_percent, slot: 1, slow: 0, ..first(id, name, (0, 0, 0, period_ms)) }
}

/// All of them, in the order of their numbers.
pub const WEAPONS: [Weapon; 16] = [
    HAMMER,
    first(1, "hand axe", (30, 70, 2, 400)),
    Weapon { age: Some(8), needs: Some(1), ..first(2, "great axe", (35, 75, 4, 400)) },
    Weapon { speed_percent: 85, ..first(3, "short sword", (35, 110, 1, 300)) },
    Weapon { age: Some(8), needs: Some(3), speed_percent: 80, ..first(4, "katana", (40, 118, 1, 300)) },
    Weapon { speed_percent: 82, knock_px_per_s: 200, ..first(5, "polearm", (45, 142, 1, 700)) },
    Weapon { knock_px_per_s: 700, ..first(6, "bat", (20, 110, 1, 300)) },
    Weapon { speed_percent: 113, knock_px_per_s: 100, slow: 3_000, ..first(7, "daggers", (20, 65, 1, 100)) },
    first(8, "stick", (1, 70, 7, 400)),
    Weapon { age: Some(6), ..shooter(9, "bow", (0, [4, 0, 0, 0]), (600, 75)) },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 88,
        built_percent: 750,
        ..first(10, "great hammer", (10, 75, 1, 400))
    },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 70,
        shield_percent: 20,
        ..first(11, "shield", (0, 0, 0, 300))
    },
    Weapon { age: Some(8), needs: Some(9), ..shooter(12, "crossbow", (2, [5, 0, 0, 0]), (700, 70)) },
    Weapon { age: Some(9), needs: Some(12), ..shooter(13, "repeater", (3, [10, 0, 0, 0]), (230, 70)) },
    Weapon {
        slot: 1,
        age: Some(6),
        speed_percent: 105,
        knock_px_per_s: 200,
        steals: 250,
        ..first(14, "mc grabby", (0, 125, 0, 700))
    },
    Weapon {
        age: Some(9),
        needs: Some(12),
        recoil_px_per_s: 350,
        ..shooter(15, "musket", (5, [0, 0, 10, 0]), (1_500, 60))
    },
];

/// The first weapon of everyone.
pub const FIRST_WEAPON: u8 = HAMMER.id;

/// The weapon of that number, if there is one.
pub fn weapon(id: u8) -> Option<&'static Weapon> {
    WEAPONS.binary_search_by_key(&id, |weapon| weapon.id).ok().map(|at| &WEAPONS[at])
}

/// The weapon of that number; the first one of everyone when there is none.
pub(crate) fn weapon_or_first(id: u8) -> &'static Weapon {
    weapon(id).unwrap_or(&WEAPONS[0])
}
