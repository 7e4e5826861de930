//! What is shot, as one table.
//!
//! Comes in: a number. Goes out: a row. Never: a rule; how a row is used is in `shoot`.

/// A kind of projectile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projectile {
    /// Its number on the wire.
    pub kind: u8,
    /// In words, lower case.
    pub name: &'static str,
    /// Health points that it takes from what it hits.
    pub damage: u16,
    /// Speed, pixels per second.
    pub speed_px_per_s: i32,
    /// How far it flies, pixels.
    pub range_px: i32,
}

/// All of them, in the order of their numbers.
pub const PROJECTILES: [Projectile; 5] = [
    Projectile { kind: 0, name: "arrow", damage: 25, speed_px_per_s: 1_600, range_px: 1_000 },
    Projectile { kind: 1, name: "turret bolt", damage: 25, speed_px_per_s: 1_500, range_px: 700 },
    Projectile { kind: 2, name: "bolt", damage: 35, speed_px_per_s: 2_500, range_px: 1_200 },
    Projectile { kind: 3, name: "dart", damage: 30, speed_px_per_s: 2_000, range_px: 1_200 },
    Projectile { kind: 5, name: "bullet", damage: 50, speed_px_per_s: 3_600, range_px: 1_400 },
];

/// The projectile of that number, if there is one.
pub fn projectile(kind: u8) -> Option<&'static Projectile> {
    PROJECTILES.binary_search_by_key(&kind, |projectile| projectile.kind).ok().map(|at| &PROJECTILES[at])
}

impl Projectile {
    /// Everything about it that decides what happens.
    pub(super) fn numbers(&self) -> [i32; 4] {
        let Projectile { kind, name: _, damage, speed_px_per_s, range_px } = *self;
        [i32::from(kind), i32::from(damage), speed_px_per_s, range_px]
    }
}
