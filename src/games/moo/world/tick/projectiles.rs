//! Projectiles: firing, flight and hits.
//!
//! Projectiles fly after all movement. The whole path of a tick is checked, so a projectile never
//! passes through an obstacle, however fast it is.
//!
//! ```text
//!                    the path in this tick
//!     ( p )──•──────────────────────────────►  hits the first target on the path: scenery,
//!            begins at the rim        ( • )        solid structures, animals, enemies; then ends
//! ```
//! Targets entered at the same point are hit in this order: scenery, structures, animals, players,
//! each in ascending order of ID.

use crate::controller::shot::velocity;
use crate::controller::walk::bounded;
use crate::controller::{Controller, Player, Shot};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{square_root, Fixed};
use crate::rules::{self, Projectile};
use crate::tick::structure_effects::per_tick;
use crate::trig::{cosine, sine};
use crate::world::World;

/// The target of a projectile. Targets entered at the same point are hit in the order of the
/// variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HitTarget {
    /// A scenery object, by index.
    Scenery(usize),
    /// A structure, by ID.
    Built(EntityId),
    /// An animal, by index.
    Animal(usize),
    /// A player, by index.
    Player(usize),
    /// The edge of the map.
    Edge,
}

/// The path of a projectile in one tick. All values have 16 binary places.
struct FlightPath {
    x: i64,
    y: i64,
    /// Length of the path.
    way: i64,
    /// Direction of the path: a vector of length 65,536.
    cosine: i64,
    sine: i64,
}

impl FlightPath {
    fn new(body: &Body, way: Fixed) -> FlightPath {
        let (x, y) = (i64::from(body.x.0), i64::from(body.y.0));
        let (cosine, sine) = (i64::from(cosine(body.heading)), i64::from(sine(body.heading)));
        FlightPath { x, y, way: i64::from(way.0), cosine, sine }
    }

    /// The point at a distance from the start.
    fn at(&self, entry: i64) -> (Fixed, Fixed) {
        let along = |from: i64, part: i64| Fixed((from + entry * part / 65_536) as i32);
        (along(self.x, self.cosine), along(self.y, self.sine))
    }

    /// The centre of the path, and the maximum distance from it to a point of the path. A search
    /// for targets adds the radius of the targets to this distance.
    fn middle(&self) -> (Fixed, Fixed, Fixed) {
        let (x, y) = self.at(self.way / 2);
        (x, y, Fixed((self.way / 2 + 1) as i32))
    }

    /// The distance at which the path enters a circle; `None` if the path does not enter it. A path
    /// that starts on the rim enters the circle only if the path leads inwards.
    fn enters(&self, x: Fixed, y: Fixed, radius_px: i32) -> Option<i64> {
        let (dx, dy) = (i64::from(x.0) - self.x, i64::from(y.0) - self.y);
        let radius = i64::from(Fixed::from_px(radius_px).0);
        if dx.abs() > radius + self.way || dy.abs() > radius + self.way {
            return None;
        }
        let along = (dx * self.cosine + dy * self.sine) / 65_536;
        let beside = (dx * self.sine - dy * self.cosine) / 65_536;
        if dx * dx + dy * dy < radius * radius {
            return Some(0);
        }
        if along <= 0 || beside.abs() > radius {
            return None;
        }
        let half_chord = square_root((radius * radius - beside * beside) as u64) as i64;
        Some((along - half_chord).max(0)).filter(|entry| *entry <= self.way)
    }

    /// The distance at which the path leaves the map; `None` if the path ends on the map.
    fn leaves(&self, map_size_px: u32) -> Option<i64> {
        let far = i64::from(map_size_px) << 16;
        let leave = |from: i64, part: i64| {
            let room = if part < 0 { from } else { far - from };
            let beyond = self.way * part.abs() / 65_536 > room;
            // A path longer than the remaining space has a component that is not 0.
            beyond.then(|| room * 65_536 / part.abs())
        };
        let (x, y) = (leave(self.x, self.cosine), leave(self.y, self.sine));
        x.into_iter().chain(y).min()
    }
}

impl World {
    /// Advances all projectiles fired before this tick.
    pub(crate) fn fly_shots(&mut self) {
        if self.state.shots.is_empty() {
            return;
        }
        self.player_index.update(&self.state.players);
        let mut shots = std::mem::take(&mut self.state.shots);
        shots.retain_mut(|shot| self.fly(shot));
        self.state.shots = shots;
        if self.state.shots.is_empty() {
            self.state.next_shot = EntityId::FIRST_SHOT;
        }
    }

    /// Advances one projectile. Returns whether the projectile is still in flight.
    fn fly(&mut self, entity: &mut Entity) -> bool {
        let shot = match &entity.controller {
            Controller::Shot(shot) => shot,
            _ => return false,
        };
        let path = FlightPath::new(&entity.body, shot.step_length(&self.rates));
        let hit = self.first_hit(&path, entity.body.owner, shot.by);
        if let Some((entry, target)) = hit {
            let (x, y) = path.at(entry);
            self.outcome.events.push(WorldEvent::ShotEnded { projectile: entity.id, x, y });
            let damage = rules::projectile(shot.kind).map_or(0, |kind| kind.damage);
            self.apply_hit(&entity.body, damage, target);
            return false;
        }
        entity.act(&self.terrain, &self.rates);
        let flies = matches!(&entity.controller, Controller::Shot(shot) if shot.left > Fixed::ZERO);
        if !flies {
            let (x, y) = (entity.body.x, entity.body.y);
            self.outcome.events.push(WorldEvent::ShotEnded { projectile: entity.id, x, y });
        }
        flies
    }

    /// The first target on a path, and its distance.
    fn first_hit(&self, path: &FlightPath, owner: PlayerId, by: EntityId) -> Option<(i64, HitTarget)> {
        let (x, y, reach) = path.middle();
        let scenery = self
            .terrain
            .obstacles_around(x, y, reach)
            .filter_map(|(at, it)| Some((path.enters(it.x, it.y, it.radius_px)?, HitTarget::Scenery(at))));
        let built = self
            .terrain
            .built_around(x, y, reach)
            .filter(|it| it.item.group.is_solid() && it.id != by)
            .filter_map(|it| Some((path.enters(it.x, it.y, it.item.radius_px)?, HitTarget::Built(it.id))));
        let reach = reach.saturating_add(Fixed::from_px(rules::PLAYER_RADIUS_PX));
        let players = self.player_index.near(x, y, reach).filter_map(|spot| {
            let at = spot.at as usize;
            let entry = path.enters(spot.x, spot.y, rules::PLAYER_RADIUS_PX)?;
            self.is_enemy(owner, at).then_some((entry, HitTarget::Player(at)))
        });
        let animals = self.state.animals.iter().enumerate().filter_map(|(at, animal)| {
            let body = &animal.body;
            let entry = path.enters(body.x, body.y, body.radius_px)?;
            (body.health > 0).then_some((entry, HitTarget::Animal(at)))
        });
        let edge = path.leaves(self.terrain.map_size_px()).map(|entry| (entry, HitTarget::Edge));
        scenery.chain(built).chain(animals).chain(players).chain(edge).min()
    }

    /// Whether the player at this index is an enemy of a projectile's or turret's owner: alive,
    /// without spawn protection, another player, and not a clan mate.
    pub(crate) fn is_enemy(&self, owner: PlayerId, at: usize) -> bool {
        let other = &self.state.players[at];
        other.is_vulnerable() && other.body.owner != owner && !self.are_mates(owner, other.body.owner)
    }

    /// Applies the effect of a projectile to its target.
    fn apply_hit(&mut self, shot: &Body, damage: u16, target: HitTarget) {
        let (direction, player) = (shot.heading, shot.owner);
        match target {
            HitTarget::Scenery(at) => {
                let object = self.state.scenery[at].id;
                self.outcome.events.push(WorldEvent::Struck { object, direction, player });
            }
            HitTarget::Built(object) => {
                if let Some(at) = self.find_structure(object) {
                    self.outcome.events.push(WorldEvent::Struck { object, direction, player });
                    self.damage_structure(at, damage);
                }
            }
            HitTarget::Animal(at) => {
                let speed = per_tick(rules::KNOCK_PX_PER_S, self.rates.hz);
                push(&mut self.state.animals[at].body, speed, shot);
                self.hurt_animal(at, damage, player.as_player());
            }
            HitTarget::Player(at) => {
                let speed = per_tick(rules::KNOCK_PX_PER_S, self.rates.hz);
                let victim = &mut self.state.players[at];
                push(&mut victim.body, speed, shot);
                let from = direction.opposite();
                let damage = victim.shielded(damage, from);
                if damage > 0 {
                    self.hurt(at, damage, player.as_player());
                }
            }
            HitTarget::Edge => {}
        }
    }

    /// The number of projectiles that can still be fired in this tick. If all IDs are used up, no
    /// player can shoot until all projectiles have ended.
    pub(crate) fn shots_free(&self) -> usize {
        let numbers = u32::MAX - self.state.next_shot.0;
        rules::MAX_SHOTS.saturating_sub(self.state.shots.len()).min(numbers as usize)
    }

    /// Fires a projectile if the player at this index is alive and its weapon shoots. Returns
    /// whether both conditions are met.
    pub(crate) fn shoot(&mut self, at: usize) -> bool {
        let Entity { id, body, controller } = &mut self.state.players[at];
        let player = match controller {
            Controller::Player(player) if player.alive => player,
            _ => return false,
        };
        let weapon = rules::weapon_or_first(player.hand.weapon);
        let kind = match weapon.shoots.and_then(rules::projectile) {
            Some(kind) => kind,
            None => return false,
        };
        for (stock, cost) in player.resources.iter_mut().zip(weapon.shot_cost) {
            *stock = stock.saturating_sub(cost);
        }
        let (id, from) = (*id, body.clone());
        push(body, per_tick(-weapon.recoil_px_per_s, self.rates.hz), &from);
        self.launch(&from, kind, id);
        true
    }

    /// Fires a projectile from the rim of a body, in the body's direction of view.
    pub(crate) fn launch(&mut self, from: &Body, kind: &Projectile, by: EntityId) {
        let rim = Fixed::from_px(from.radius_px);
        let x = from.x.saturating_add(rim.scaled(cosine(from.heading)));
        let y = from.y.saturating_add(rim.scaled(sine(from.heading)));
        let (vx, vy) = velocity(kind, from, &self.rates);
        let body = Body { x, y, vx, vy, radius_px: 0, health: 0, ..from.clone() };
        let id = self.state.next_shot;
        self.state.next_shot = EntityId(id.0.saturating_add(1));
        let shot = Shot { kind: kind.kind, by, left: Fixed::from_px(kind.range_px) };
        self.state.shots.push(Entity { id, body, controller: Controller::Shot(shot) });
        self.outcome.events.push(WorldEvent::Shot { projectile: id });
    }

    /// When a player leaves, clears the owner of its projectiles and of its poison.
    pub(crate) fn clear_owner(&mut self, id: PlayerId) {
        for shot in self.state.shots.iter_mut().filter(|shot| shot.body.owner == id) {
            shot.body.owner = PlayerId::OPERATOR;
        }
        for entity in &mut self.state.players {
            match &mut entity.controller {
                Controller::Player(player) if player.poison.by == id => player.poison.by = PlayerId::OPERATOR,
                _ => {}
            }
        }
    }
}

/// Accelerates a body in the direction of view of another body.
fn push(body: &mut Body, speed: Fixed, looks: &Body) {
    body.vx = bounded(body.vx.saturating_add(speed.scaled(cosine(looks.heading))));
    body.vy = bounded(body.vy.saturating_add(speed.scaled(sine(looks.heading))));
}

impl Player {
    /// Whether the weapon in the hand can attack, given the number of projectiles that can still be
    /// fired. A shield cannot attack, and a player without the resources for a shot cannot shoot.
    pub(crate) fn is_able(&self, shots_free: usize) -> bool {
        let weapon = rules::weapon_or_first(self.hand.weapon);
        let pays = self.resources.iter().zip(weapon.shot_cost).all(|(stock, cost)| *stock >= cost);
        weapon.shield_percent == 100 && pays && (weapon.shoots.is_none() || shots_free > 0)
    }
}
