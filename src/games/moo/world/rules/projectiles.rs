//! The table of projectiles. `tick::projectiles` implements their behaviour.

/// A kind of projectile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projectile {
    /// ID, also used on the wire.
    pub kind: u8,
    /// The name, in lower case.
    pub name: &'static str,
    /// Damage, in health points.
    pub damage: u16,
    /// Speed, in pixels per second.
    pub speed_px_per_s: i32,
    /// Range, in pixels.
    pub range_px: i32,
}

/// All projectiles, in ascending order of ID.
pub const PROJECTILES: [Projectile; 5] = [
    Projectile { kind: 0, name: "arrow", damage: 25, speed_px_per_s: 1_600, range_px: 1_000 },
    Projectile { kind: 1, name: "turret bolt", damage: 25, speed_px_per_s: 1_500, range_px: 700 },
    Projectile { kind: 2, name: "bolt", damage: 35, speed_px_per_s: 2_500, range_px: 1_200 },
    Projectile { kind: 3, name: "dart", damage: 30, speed_px_per_s: 2_000, range_px: 1_200 },
    Projectile { kind: 5, name: "bullet", damage: 50, speed_px_per_s: 3_600, range_px: 1_400 },
];

/// The projectile with this ID, if it exists.
pub fn projectile(kind: u8) -> Option<&'static Projectile> {
    PROJECTILES.binary_search_by_key(&kind, |projectile| projectile.kind).ok().map(|at| &PROJECTILES[at])
}

impl Projectile {
    /// All properties that affect the simulation, for [`rules_hash`](crate::rules_hash()).
    pub(super) fn numbers(&self) -> [i32; 4] {
        let Projectile { kind, name: _, damage, speed_px_per_s, range_px } = *self;
        [i32::from(kind), i32::from(damage), speed_px_per_s, range_px]
    }
}
