//! One tick: commands, then movement, then what bodies do to each other, then strokes.
//!
//! Comes in: the commands of this tick in any order. Goes out: the state one tick later and what came of the commands.
//! Never: a visit to what sleeps, an allocation in the steady state, a panic.
//!
//! ```text
//!   commands, in canonical order ─► each awake controller acts ─► overlapping players and animals are pushed apart
//!                                                               ─► whoever was pushed is put where it can be
//!                                                               ─► what was shot flies and hits (`shoot`)
//!                                                               ─► structures do what they do (`touch`)
//!                                                               ─► health comes back, strokes land (`fight`)
//!                                                               ─► animals decide, and strike (`herd`)
//!                                                               ─► turrets shoot (`turret`)
//! ```

use crate::command::Command;
use crate::controller::Controller;
use crate::crowd::Spot;
use crate::entity::{Body, Entity};
use crate::event::Outcome;
use crate::fixed::{ray, square_root, Fixed};
use crate::rules::{ANIMAL_RADIUS_MAX_PX, PLAYER_RADIUS_PX};
use crate::state::State;
use crate::terrain::Terrain;
use crate::world::World;

impl World {
    /// Carries out one tick's commands, in canonical order whatever their order in the list, then lets everything move.
    /// Leaves the list empty with its room. Never panics, whatever the commands.
    pub fn step(&mut self, commands: &mut Vec<Command>) -> &Outcome {
        self.outcome.clear();
        self.crowd.forget();
        // Equal commands are equal in every field, so an unstable sort still has one result.
        commands.sort_unstable();
        for command in commands.drain(..) {
            self.apply(command);
        }
        let (players, animals) = (self.let_players_act(), self.let_animals_act());
        self.forget_places();
        if players || animals {
            self.find_places();
            if self.push_players_apart() | self.push_animals_apart() {
                self.settle_stirred();
            }
        }
        // From here on nobody moves: who finds out where everyone is does it for the rest of the tick.
        self.fly_shots();
        self.touch();
        self.touch_animals();
        self.fight();
        self.herd();
        self.tend_turrets();
        self.state.tick = self.state.tick.wrapping_add(1);
        &self.outcome
    }

    /// Lets each awake player act. Tells whether anyone was awake.
    fn let_players_act(&mut self) -> bool {
        let mut anyone = false;
        self.awake.clear();
        for entity in &mut self.state.players {
            let awake = entity.act(&self.terrain, &self.rates);
            self.awake.push(awake);
            anyone |= awake;
        }
        anyone
    }

    /// Lets each awake animal act. Tells whether any was awake.
    fn let_animals_act(&mut self) -> bool {
        self.roused.clear();
        for entity in &mut self.state.animals {
            self.roused.push(entity.act(&self.terrain, &self.rates));
        }
        self.roused.contains(&true)
    }

    /// Moves players that overlap apart, each by half. Who sleeps starts nothing; two that sleep were seen to before. Tells
    /// whether any were.
    fn push_players_apart(&mut self) -> bool {
        let mut pushed = false;
        let players = &mut self.state.players;
        let reach = Fixed::from_px(2 * PLAYER_RADIUS_PX);
        for index in 0..players.len() {
            if !self.awake[index] {
                continue;
            }
            let own = self.crowd.slot_of(index);
            let Spot { x, y, .. } = self.crowd.spot(own);
            for stretch in self.crowd.stretches_near(x, y, reach) {
                for slot in self.crowd.slots_in(stretch) {
                    let (me, it) = (self.crowd.spot(own), self.crowd.spot(slot));
                    let other = it.at as usize;
                    let seen_to = other < index && self.awake[other];
                    if other != index && !seen_to && it.is_nearer(me.x, me.y, reach) {
                        let (low, high) = (index.min(other), index.max(other));
                        let (left, right) = players.split_at_mut(high);
                        if push_apart(&mut left[low], &mut right[0], &self.terrain) {
                            pushed = true;
                            self.crowd.follow(own, &players[index].body);
                            self.crowd.follow(slot, &players[other].body);
                        }
                    }
                }
            }
        }
        pushed
    }

    /// Moves animals that overlap apart, each by half. Animals are too heavy to be pushed by players, who are moved away from
    /// them; but an animal that runs into a player that stands does not push it along: the animal is moved away. Tells whether
    /// anyone was.
    fn push_animals_apart(&mut self) -> bool {
        let mut pushed = false;
        let State { animals, players, .. } = &mut self.state;
        let widest = Fixed::from_px(2 * ANIMAL_RADIUS_MAX_PX);
        for at in 0..animals.len() {
            if animals[at].body.health == 0 {
                continue;
            }
            for other in self.row.around(animals[at].body.x, widest) {
                let moved = self.roused[at] || self.roused[other];
                if other > at && moved && animals[other].body.health > 0 {
                    let (left, right) = animals.split_at_mut(other);
                    pushed |= push_apart(&mut left[at], &mut right[0], &self.terrain);
                }
            }
            let animal = animals[at].body.clone();
            // Who was pushed is still in the cell where it was before.
            let reach = Fixed::from_px(animal.radius_px + 2 * PLAYER_RADIUS_PX);
            let touch = Fixed::from_px(animal.radius_px + PLAYER_RADIUS_PX);
            for stretch in self.crowd.stretches_near(animal.x, animal.y, reach) {
                for slot in self.crowd.slots_in(stretch) {
                    let spot = self.crowd.spot(slot);
                    let index = spot.at as usize;
                    let moved = self.roused[at] || self.awake[index];
                    let touches = moved && spot.is_nearer(animal.x, animal.y, touch);
                    let (away, from) = if stands(&players[index]) {
                        (&mut animals[at], &players[index].body)
                    } else {
                        (&mut players[index], &animals[at].body)
                    };
                    if touches && push_away(from, away, &self.terrain) {
                        pushed = true;
                        self.crowd.follow(slot, &players[index].body);
                    }
                }
            }
        }
        pushed
    }

    /// Nobody is left in a thing of nature or off the map by being pushed.
    fn settle_stirred(&mut self) {
        for (at, entity) in self.state.players.iter_mut().enumerate() {
            if is_stirred(entity) {
                settle(&self.terrain, &mut entity.body);
                self.crowd.follow(self.crowd.slot_of(at), &entity.body);
            }
        }
        for entity in self.state.animals.iter_mut().filter(|entity| is_stirred(entity)) {
            settle(&self.terrain, &mut entity.body);
            self.row.forget();
        }
    }
}

/// Puts a body where it can be, on the side of any narrow gap where it is.
fn settle(terrain: &Terrain, body: &mut Body) {
    let from = (body.x, body.y);
    terrain.settle(body);
    terrain.keep_out_of_gaps(body, from);
}

/// Whether it is a player that does not walk.
fn stands(entity: &Entity) -> bool {
    matches!(&entity.controller, Controller::Player(player) if player.direction.is_none())
}

fn is_stirred(entity: &Entity) -> bool {
    match &entity.controller {
        Controller::Player(player) => player.stirred,
        Controller::Animal(animal) => animal.stirred && entity.body.health > 0,
        _ => false,
    }
}

fn stir(entity: &mut Entity) {
    match &mut entity.controller {
        Controller::Player(player) => player.stirred = true,
        Controller::Animal(animal) => animal.stirred = true,
        _ => {}
    }
}

/// Moves an entity that overlaps a body out of it. Tells whether it did.
fn push_away(from: &Body, entity: &mut Entity, terrain: &Terrain) -> bool {
    let overlap = half_overlap(from, &entity.body);
    if let Some((x, y)) = overlap {
        push(entity, (x.plus(x), y.plus(y)), terrain);
    }
    overlap.is_some()
}

/// Moves an entity by a way, but through no gap that is too narrow for it. It must look about in the next tick.
fn push(entity: &mut Entity, (x, y): (Fixed, Fixed), terrain: &Terrain) {
    let from = (entity.body.x, entity.body.y);
    (entity.body.x, entity.body.y) = (from.0.plus(x), from.1.plus(y));
    terrain.keep_out_of_gaps(&mut entity.body, from);
    stir(entity);
}

/// Moves two overlapping bodies away from each other, each by half the overlap; left and right when their centres are
/// one. Both must look about in the next tick. Tells whether they overlapped.
fn push_apart(a: &mut Entity, b: &mut Entity, terrain: &Terrain) -> bool {
    let overlap = half_overlap(&a.body, &b.body);
    if let Some((x, y)) = overlap {
        push(a, (Fixed::ZERO.minus(x), Fixed::ZERO.minus(y)), terrain);
        push(b, (x, y), terrain);
    }
    overlap.is_some()
}

/// Half of the way by which two bodies overlap, from the first to the second; `None` when it is too small to count, so
/// that two who stand side by side come to rest.
fn half_overlap(a: &Body, b: &Body) -> Option<(Fixed, Fixed)> {
    let reach = i64::from(Fixed::from_px(a.radius_px + b.radius_px).0);
    let (dx, dy) = (i64::from(b.x.0) - i64::from(a.x.0), i64::from(b.y.0) - i64::from(a.y.0));
    if dx.abs() >= reach || dy.abs() >= reach {
        return None;
    }
    let square = dx * dx + dy * dy;
    if square >= reach * reach {
        return None;
    }
    let half = (reach - square_root(square as u64) as i64 + 1) / 2;
    let (dx, dy, length) = ray(dx, dy);
    let (x, y) = (dx * half / length, dy * half / length);
    ((x, y) != (0, 0)).then_some((Fixed(x as i32), Fixed(y as i32)))
}
