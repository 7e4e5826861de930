//! Weapons, projectiles, shields, turrets and poison.

pub mod animal_hits;
pub mod melee;
pub mod poison;
pub mod projectile_hits;
pub mod projectile_obstacles;
pub mod projectile_state;
pub mod projectiles;
pub mod shields;
pub mod spawn_protection;
pub mod turrets;
pub mod weapons;
