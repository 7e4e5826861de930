//! Melee attacks: which players swing in this tick, what each swing hits, and the effects. Weapons
//! that shoot are in `projectiles`.
//!
//! Attacks are processed after all movement, in ascending order of the attackers' IDs, and each
//! attack hits its targets in ascending order of ID. A player killed by a player with a lower ID
//! therefore does not swing in the same tick.
//!
//! ```text
//!                  range + target's size
//!       attacker ────────────────────►    hits everything within this range and arc
//!          \  arc: 69.23° to each side of the direction of view
//! ```

use crate::controller::walk::bounded;
use crate::controller::{Controller, Player, SceneryKind};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{is_within, square_root, Angle, Fixed};
use crate::rules::{self, Resource, Weapon};
use crate::scratch::Scratch;
use crate::tick::clans::share_clan;
use crate::trig::{cosine, direction, sine};
use crate::world::World;

/// A melee attack (a swing): origin, direction and weapon.
struct Stroke {
    x: Fixed,
    y: Fixed,
    heading: Angle,
    weapon: &'static Weapon,
    player: PlayerId,
}

impl Stroke {
    /// Whether the swing hits a target of this size.
    fn hits(&self, x: Fixed, y: Fixed, size_px: i32) -> bool {
        self.reaches(x, y, size_px) && self.towards(x, y).difference(self.heading) <= rules::ARC
    }

    /// Whether the target is in range, regardless of direction.
    fn reaches(&self, x: Fixed, y: Fixed, size_px: i32) -> bool {
        let reach = Fixed::from_px(self.weapon.range_px + size_px);
        is_within(self.x.distance(x), self.y.distance(y), reach.0.unsigned_abs())
    }

    /// The direction to a position; the direction of view if the position is the attacker's own.
    fn towards(&self, x: Fixed, y: Fixed) -> Angle {
        match self.way_to(x, y) {
            (0, 0) => self.heading,
            (dx, dy) => direction(dx, dy),
        }
    }

    fn way_to(&self, x: Fixed, y: Fixed) -> (i64, i64) {
        (i64::from(x.0) - i64::from(self.x.0), i64::from(y.0) - i64::from(self.y.0))
    }

    /// The knockback of a target, in pixels per tick: away from the attacker.
    fn knock(&self, body: &Body, hz: u32) -> (Fixed, Fixed) {
        let px_per_s = i64::from(rules::KNOCK_PX_PER_S + self.weapon.knock_px_per_s);
        let speed = (px_per_s << 16) / i64::from(hz);
        let (dx, dy) = self.way_to(body.x, body.y);
        match square_root((dx * dx + dy * dy) as u64) as i64 {
            0 => (
                Fixed(speed as i32).scaled(cosine(self.heading)),
                Fixed(speed as i32).scaled(sine(self.heading)),
            ),
            distance => (Fixed((dx * speed / distance) as i32), Fixed((dy * speed / distance) as i32)),
        }
    }
}

impl World {
    /// Advances the attack timers of all living players by one tick, then executes the swings and
    /// shots that are due.
    pub(crate) fn fight(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.let_time_pass(&mut scratch.swingers);
        if !scratch.swingers.is_empty() {
            self.update_position_indices();
        }
        for index in 0..scratch.swingers.len() {
            let at = scratch.swingers[index] as usize;
            if !self.shoot(at) {
                self.swing(at, &mut scratch);
            }
        }
        self.scratch = scratch;
    }

    /// Heals players, pays their income, and lists the players with a swing due.
    fn let_time_pass(&mut self, swingers: &mut Vec<u32>) {
        swingers.clear();
        let mut shots_free = self.shots_free();
        for (at, Entity { id, body, controller }) in self.state.players.iter_mut().enumerate() {
            let (id, player) = match (id.player(), controller) {
                (Some(id), Controller::Player(player)) if player.alive => (id, player),
                _ => continue,
            };
            let amount = player.heal(body, self.rates.tick_thirds);
            if amount > 0 {
                self.outcome.events.push(WorldEvent::Healed { player: id, amount });
            }
            player.ground.touch_wait = player.ground.touch_wait.saturating_sub(self.rates.tick_thirds);
            let paid = player.kit.tick_income(self.rates.tick_thirds);
            player.give(Resource::Gold, paid);
            let passed = match player.hand.tick(self.rates.tick_thirds) {
                Some(passed) if player.hand.is_attacking() && player.is_able(shots_free) => passed,
                _ => {
                    player.hand.end_tick_without_swing(self.rates.tick_thirds);
                    continue;
                }
            };
            player.hand.swing(passed);
            let shoots = rules::weapon_or_first(player.hand.weapon).shoots.is_some();
            if shoots {
                player.end_protection();
            }
            shots_free -= usize::from(shoots);
            swingers.push(at as u32);
        }
    }

    fn swing(&mut self, at: usize, scratch: &mut Scratch) {
        let stroke = match self.begin_stroke(at) {
            Some(stroke) => stroke,
            None => return,
        };
        self.find_scenery(&stroke, &mut scratch.scenery);
        self.find_built(&stroke, &mut scratch.built);
        self.find_animals(&stroke, &mut scratch.animals);
        self.find_players(&stroke, at, &mut scratch.players);
        let attacks = [scratch.built.len(), scratch.animals.len(), scratch.players.len()] != [0; 3];
        let hit = attacks || !scratch.scenery.is_empty();
        if attacks {
            if let Controller::Player(player) = &mut self.state.players[at].controller {
                player.end_protection();
            }
        }
        self.outcome.events.push(WorldEvent::Swung { player: stroke.player, weapon: stroke.weapon.id, hit });
        for index in &scratch.scenery {
            self.hit_scenery(&stroke, *index as usize);
        }
        for object in &scratch.built {
            self.strike_built(&stroke, *object);
        }
        for animal in &scratch.animals {
            self.strike_animal(&stroke, *animal as usize);
        }
        for other in &scratch.players {
            self.strike_player(&stroke, *other as usize);
        }
    }

    /// Starts a swing, which slows the attacker. `None` if the player has died in this tick.
    fn begin_stroke(&mut self, at: usize) -> Option<Stroke> {
        let Entity { id, body, controller } = &mut self.state.players[at];
        match controller {
            Controller::Player(player) if player.alive => {
                let weapon = rules::weapon_or_first(player.hand.weapon);
                player.slow = (player.slow + weapon.slow).min(rules::MAX_SLOWNESS);
                Some(Stroke { x: body.x, y: body.y, heading: body.heading, weapon, player: id.player()? })
            }
            _ => None,
        }
    }

    fn find_scenery(&self, stroke: &Stroke, found: &mut Vec<u32>) {
        let reach = Fixed::from_px(stroke.weapon.range_px + rules::SCENERY_SCALE_MAX_PX);
        let near = self.terrain.obstacles_around(stroke.x, stroke.y, reach);
        // Most targets are out of range, whatever their size.
        let reached = near.filter(|(_, it)| stroke.reaches(it.x, it.y, rules::SCENERY_SCALE_MAX_PX));
        found.clear();
        found.extend(reached.map(|(at, _)| at as u32));
        found.sort_unstable();
        found.dedup();
        found.retain(|at| {
            let entity = &self.state.scenery[*at as usize];
            match &entity.controller {
                Controller::Scenery(scenery) => stroke.hits(entity.body.x, entity.body.y, scenery.scale_px),
                _ => false,
            }
        });
    }

    fn find_built(&self, stroke: &Stroke, found: &mut Vec<EntityId>) {
        let reach = Fixed::from_px(stroke.weapon.range_px + rules::BUILT_SCALE_MAX_PX);
        let near = self.terrain.built_around(stroke.x, stroke.y, reach);
        found.clear();
        found.extend(near.filter(|it| stroke.hits(it.x, it.y, it.item.scale_px)).map(|it| it.id));
        found.sort_unstable();
        found.dedup();
    }

    fn find_animals(&self, stroke: &Stroke, found: &mut Vec<u32>) {
        let reach = Fixed::from_px(stroke.weapon.range_px + rules::ANIMAL_RADIUS_MAX_PX);
        found.clear();
        found.extend(self.animal_index.around(stroke.x, reach).map(|at| at as u32));
        found.retain(|at| {
            let body = &self.state.animals[*at as usize].body;
            body.health > 0 && stroke.hits(body.x, body.y, body.radius_px)
        });
        found.sort_unstable();
    }

    fn find_players(&self, stroke: &Stroke, own: usize, found: &mut Vec<u32>) {
        let size_px = rules::PLAYER_RADIUS_PX * rules::TARGET_PERCENT / 100;
        let reach = Fixed::from_px(stroke.weapon.range_px + size_px);
        found.clear();
        let me = &self.state.players[own];
        let hit = self.player_index.near(stroke.x, stroke.y, reach).filter(|spot| {
            spot.at as usize != own && stroke.hits(spot.x, spot.y, size_px) && {
                let other = &self.state.players[spot.at as usize];
                other.is_vulnerable() && !share_clan(me, other)
            }
        });
        found.extend(hit.map(|spot| spot.at));
        found.sort_unstable();
    }

    /// Gives the attacker the resource of a scenery object.
    fn hit_scenery(&mut self, stroke: &Stroke, at: usize) {
        let Entity { id: object, body, controller } = &self.state.scenery[at];
        let (object, kind) = match controller {
            Controller::Scenery(scenery) => (*object, scenery.kind),
            _ => return,
        };
        let direction = stroke.towards(body.x, body.y);
        self.outcome.events.push(WorldEvent::Struck { object, direction, player: stroke.player });
        if let Some((player, _)) = self.player_mut(stroke.player) {
            player.gather(kind, stroke.weapon.gather);
        }
    }

    /// Damages a structure, regardless of its owner.
    fn strike_built(&mut self, stroke: &Stroke, object: EntityId) {
        if let Some(at) = self.find_structure(object) {
            let body = &self.state.structures[at].body;
            let direction = stroke.towards(body.x, body.y);
            self.outcome.events.push(WorldEvent::Struck { object, direction, player: stroke.player });
            self.damage_structure(at, stroke.weapon.built_damage());
        }
    }

    fn strike_player(&mut self, stroke: &Stroke, at: usize) {
        let victim = &mut self.state.players[at];
        let (vx, vy) = stroke.knock(&victim.body, self.rates.hz);
        let from = stroke.towards(victim.body.x, victim.body.y).opposite();
        victim.body.vx = bounded(victim.body.vx.saturating_add(vx));
        victim.body.vy = bounded(victim.body.vy.saturating_add(vy));
        self.steal(at, stroke);
        let damage = self.state.players[at].shielded(stroke.weapon.damage, from);
        if damage > 0 {
            self.hurt(at, damage, Some(stroke.player));
        }
    }

    fn strike_animal(&mut self, stroke: &Stroke, at: usize) {
        let body = &mut self.state.animals[at].body;
        let (vx, vy) = stroke.knock(body, self.rates.hz);
        body.vx = bounded(body.vx.saturating_add(vx));
        body.vy = bounded(body.vy.saturating_add(vy));
        if stroke.weapon.damage > 0 {
            self.hurt_animal(at, stroke.weapon.damage, Some(stroke.player));
        }
    }

    /// Transfers gold to the attacker: the amount that the weapon steals, limited to the victim's
    /// gold.
    fn steal(&mut self, from: usize, stroke: &Stroke) {
        let mut taken = 0;
        if let Controller::Player(victim) = &mut self.state.players[from].controller {
            let stock = &mut victim.resources[Resource::Gold as usize];
            taken = stroke.weapon.steals.min(*stock);
            *stock -= taken;
        }
        if let Some((thief, _)) = self.player_mut(stroke.player) {
            thief.give(Resource::Gold, taken);
        }
    }
}

impl Player {
    fn gather(&mut self, kind: SceneryKind, amount: u32) {
        let resource = kind.gives();
        let gained = match resource {
            Resource::Gold => amount + rules::GOLD_EXTRA,
            _ => amount,
        };
        self.give(resource, gained);
        self.earn_work_points(resource, gained);
        self.growth.gain(amount * rules::GATHER_XP);
    }

    /// Adds the points for gathered or hunted resources. Gold counts as itself in the score.
    pub(crate) fn earn_work_points(&mut self, resource: Resource, amount: u32) {
        if resource != Resource::Gold {
            self.work_points = self.work_points.saturating_add(amount);
        }
    }

    /// Adds to a resource, saturating at `u32::MAX`.
    pub(crate) fn give(&mut self, resource: Resource, amount: u32) {
        let stock = &mut self.resources[resource as usize];
        *stock = stock.saturating_add(amount);
    }
}
