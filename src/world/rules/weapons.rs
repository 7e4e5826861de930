//! The weapons: what is swung, as one table.
//!
//! Comes in: a number. Goes out: a row. Never: a rule; how a row is used is in `fight`.

/// A weapon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weapon {
    /// In words, lower case.
    pub name: &'static str,
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
}

impl Weapon {
    /// Time from one stroke to the next, thirds of a millisecond.
    pub const fn period_thirds(&self) -> u16 {
        super::thirds(self.period_ms)
    }

    /// Everything about it that decides what happens.
    pub(super) fn numbers(&self) -> [i32; 6] {
        let Weapon { name: _, damage, range_px, gather, period_ms, speed_percent, knock_px_per_s } = *self;
        [i32::from(damage), range_px, gather as i32, i32::from(period_ms), speed_percent, knock_px_per_s]
    }
}

const HAMMER: Weapon = Weapon {
    name: "tool hammer",
    damage: 25,
    range_px: 65,
    gather: 1,
    period_ms: 300,
    speed_percent: 100,
    knock_px_per_s: 0,
};

/// All of them; the place in the list is the weapon's number on the wire.
pub const WEAPONS: [Weapon; 1] = [HAMMER];

/// What everyone begins with.
pub const FIRST_WEAPON: u8 = 0;

/// The weapon of that number; the first one when there is none.
pub fn weapon(number: u8) -> &'static Weapon {
    WEAPONS.get(usize::from(number)).unwrap_or(&WEAPONS[0])
}
