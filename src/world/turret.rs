//! Turrets: they look around, turn to the nearest enemy and shoot at it.
//!
//! Comes in: the state after everyone has moved and struck. Goes out: shots, and turrets that wait. Never: a shot at the
//! owner or its mates, or a look in each tick: who has nobody in range looks again after a while.

use crate::controller::Controller;
use crate::entity::{Body, EntityId};
use crate::fixed::Fixed;
use crate::rules::{self, Group};
use crate::state::{State, World};
use crate::terrain::Standing;
use crate::trig::direction;

/// The turrets of a state, in the order of their numbers.
pub(crate) fn turrets_of(state: &State) -> Vec<EntityId> {
    let standing = state.structures.iter().filter_map(Standing::of);
    standing.filter(|standing| standing.item.group == Group::Turret).map(|standing| standing.id).collect()
}

impl World {
    /// Notes a turret that was put up, or taken down.
    pub(crate) fn note_turret(&mut self, standing: &Standing, stands: bool) {
        if standing.item.group != Group::Turret {
            return;
        }
        match self.turrets.binary_search(&standing.id) {
            Err(at) if stands => {
                self.turrets.insert(at, standing.id);
                self.make_room();
            }
            Ok(at) if !stands => drop(self.turrets.remove(at)),
            _ => {}
        }
    }

    /// Lets each turret whose time has come look around, and shoot.
    pub(crate) fn tend_turrets(&mut self) {
        let mut knows_who_is_where = false;
        for index in 0..self.turrets.len() {
            let at = match self.find_structure(self.turrets[index]) {
                Some(at) if self.is_turret_due(at) => at,
                _ => continue,
            };
            if !knows_who_is_where {
                self.rebuild_crowd();
                knows_who_is_where = true;
            }
            self.look_around(at);
        }
    }

    /// Lets one tick pass for the turret at that place in the list. Tells whether its time has come.
    fn is_turret_due(&mut self, at: usize) -> bool {
        match &mut self.state.structures[at].controller {
            Controller::Structure(turret) => {
                turret.wait = turret.wait.saturating_sub(self.rates.tick_thirds);
                turret.wait == 0
            }
            _ => false,
        }
    }

    /// Shoots at the nearest enemy, if there is one and there is room in the air.
    fn look_around(&mut self, at: usize) {
        let target =
            if self.shots_free() > 0 { self.way_to_enemy(&self.state.structures[at].body) } else { None };
        let entity = &mut self.state.structures[at];
        if let Controller::Structure(turret) = &mut entity.controller {
            let wait_ms = if target.is_some() { rules::TURRET_PERIOD_MS } else { rules::TURRET_LOOK_MS };
            turret.wait = rules::thirds(wait_ms);
        }
        if let (Some((dx, dy)), Some(kind)) = (target, rules::projectile(rules::TURRET_SHOOTS)) {
            entity.body.heading = direction(dx, dy);
            let (id, from) = (entity.id, entity.body.clone());
            self.launch(&from, kind, id);
        }
    }

    /// The way from a turret to the nearest of those whom it shoots at; of equally near ones the one with the lowest number.
    fn way_to_enemy(&self, turret: &Body) -> Option<(i64, i64)> {
        let range = Fixed::from_px(rules::TURRET_RANGE_PX);
        let square = i64::from(range.0) * i64::from(range.0);
        let way = |at: usize| {
            let body = &self.state.players[at].body;
            (i64::from(body.x.0) - i64::from(turret.x.0), i64::from(body.y.0) - i64::from(turret.y.0))
        };
        let near = self.crowd.within(self.crowd.around(turret.x, turret.y, range));
        let apart = near.map(|at| (way(at).0 * way(at).0 + way(at).1 * way(at).1, at));
        let enemies = apart.filter(|(apart, at)| *apart <= square && self.is_enemy(turret.owner, *at));
        enemies.min().map(|(_, at)| way(at))
    }
}
