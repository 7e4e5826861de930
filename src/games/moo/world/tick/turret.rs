//! The structures that act in each tick: turrets, which turn to the nearest enemy and shoot at it.
//!
//! A turret never shoots at its owner or the owner's clan mates. Without an enemy in range, it
//! waits for `TURRET_SENSE_PERIOD_MS` before it looks again.

use crate::controller::Controller;
use crate::entity::{Body, Entity};
use crate::fixed::{square, Fixed};
use crate::rules;
use crate::trig::direction;
use crate::world::World;

impl World {
    /// Runs each structure that acts, in ascending order of ID. A turret with an expired timer
    /// looks for an enemy; a structure at the end of its lifetime is removed.
    pub(crate) fn run_structures(&mut self) {
        let mut index = 0;
        while let Some(at) = self.active_structures.get(index).map(|at| *at as usize) {
            let Entity { body, controller, .. } = &mut self.state.structures[at];
            match controller {
                Controller::Structure(turret) => {
                    turret.act(&self.rates);
                    if turret.wait == 0 {
                        self.player_index.update(&self.state.players);
                        self.target_nearest_enemy(at);
                    }
                }
                other => {
                    other.act(body, &self.terrain, &self.rates);
                    if other.ends_in() == Some(0) {
                        self.demolish(at);
                        continue;
                    }
                }
            }
            index += 1;
        }
    }

    /// Shoots at the nearest enemy, if there is one and another projectile is allowed. Restarts the
    /// timer.
    fn target_nearest_enemy(&mut self, at: usize) {
        let target =
            if self.shots_free() > 0 { self.way_to_enemy(&self.state.structures[at].body) } else { None };
        let entity = &mut self.state.structures[at];
        if let Controller::Structure(turret) = &mut entity.controller {
            let wait_ms =
                if target.is_some() { rules::TURRET_PERIOD_MS } else { rules::TURRET_SENSE_PERIOD_MS };
            turret.wait = rules::thirds(wait_ms);
        }
        if let (Some((dx, dy)), Some(kind)) = (target, rules::projectile(rules::TURRET_SHOOTS)) {
            entity.body.heading = direction(dx, dy);
            let (id, from) = (entity.id, entity.body.clone());
            self.launch(&from, kind, id);
        }
    }

    /// The vector from a turret to the nearest enemy in range; at equal distances, the enemy with
    /// the lowest ID.
    fn way_to_enemy(&self, turret: &Body) -> Option<(i64, i64)> {
        let range = Fixed::from_px(rules::TURRET_RANGE_PX);
        let farthest = square(range.0.unsigned_abs());
        let near = self.player_index.near(turret.x, turret.y, range);
        let apart = near.filter_map(|it| Some((it.squared_distance(turret.x, turret.y, range)?, it)));
        let enemies =
            apart.filter(|(apart, it)| *apart <= farthest && self.is_enemy(turret.owner, it.at as usize));
        let (_, it) = enemies.min_by_key(|(apart, it)| (*apart, it.at))?;
        Some((i64::from(it.x.0) - i64::from(turret.x.0), i64::from(it.y.0) - i64::from(turret.y.0)))
    }
}
