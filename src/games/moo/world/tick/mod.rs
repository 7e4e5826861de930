//! Executes one tick: commands, movement, interactions between bodies, attacks.
//!
//! Commands may come in any order. Sleeping entities are not visited, the steady state allocates
//! nothing, and no input causes a panic.
//!
//! ```text
//!   commands, in canonical order
//!     ─► each awake controller acts
//!     ─► overlapping players and animals are pushed apart
//!     ─► pushed bodies are put in valid positions
//!     ─► projectiles fly and hit (`projectiles`)
//!     ─► structures affect players (`structure_effects`) and animals (`animal_ai`)
//!     ─► players heal, swing and shoot (`melee`)
//!     ─► animals decide and attack (`animal_ai`)
//!     ─► turrets shoot (`turret`)
//! ```

pub(super) mod animal_ai;
pub(super) mod apply;
pub(super) mod clans;
pub(super) mod health;
pub(super) mod melee;
pub(super) mod projectiles;
pub(super) mod structure_effects;
pub(super) mod turret;
pub(super) mod use_items;

use crate::command::Command;
use crate::controller::Controller;
use crate::entity::{Body, Entity};
use crate::event::TickOutcome;
use crate::fixed::{square_root, unit_direction, Fixed};
use crate::player_index::IndexedPlayer;
use crate::rules::{ANIMAL_RADIUS_MAX_PX, PLAYER_RADIUS_PX};
use crate::state::State;
use crate::terrain::Terrain;
use crate::world::World;

impl World {
    /// Executes one tick: applies the commands in canonical order, whatever their order in the
    /// list, then moves all entities. Leaves the list empty, with its capacity. Never panics,
    /// whatever the commands.
    pub fn step(&mut self, commands: &mut Vec<Command>) -> &TickOutcome {
        self.outcome.clear();
        self.run_spawn_protection();
        self.player_index.invalidate();
        // Equal commands are equal in every field, so an unstable sort has only one possible
        // result.
        commands.sort_unstable();
        for command in commands.drain(..) {
            self.apply(command);
        }
        let (players, animals) = (self.run_players(), self.run_animals_movement());
        self.invalidate_position_indices();
        if players || animals {
            self.update_position_indices();
            if self.push_players_apart() | self.push_animals_apart() {
                self.settle_pushed();
            }
        }
        // Players and animals do not move after this line, so their positions are indexed only once
        // for the rest of the tick.
        self.fly_shots();
        self.apply_structure_effects();
        self.touch_animals();
        self.fight();
        self.run_animals();
        self.run_structures();
        self.state.tick = self.state.tick.wrapping_add(1);
        &self.outcome
    }

    /// Advances the spawn protection of all players by one tick. Runs before the commands, so the
    /// tick of the spawn counts in full, and all sources of damage find the same state.
    fn run_spawn_protection(&mut self) {
        for entity in &mut self.state.players {
            if let Controller::Player(player) = &mut entity.controller {
                player.protection = player.protection.saturating_sub(self.rates.tick_thirds);
            }
        }
    }

    /// Runs the controllers of all awake players. Returns whether any player was awake.
    fn run_players(&mut self) -> bool {
        let mut anyone = false;
        self.awake.clear();
        for entity in &mut self.state.players {
            let awake = entity.act(&self.terrain, &self.rates);
            self.awake.push(awake);
            anyone |= awake;
        }
        anyone
    }

    /// Runs the controllers of all awake animals. Returns whether any animal was awake.
    fn run_animals_movement(&mut self) -> bool {
        self.woken_animals.clear();
        for entity in &mut self.state.animals {
            self.woken_animals.push(entity.act(&self.terrain, &self.rates));
        }
        self.woken_animals.contains(&true)
    }

    /// Pushes overlapping players apart, each by half the overlap. Pairs of sleeping players are
    /// skipped, because an earlier tick separated them. Returns whether any player was pushed.
    fn push_players_apart(&mut self) -> bool {
        let mut pushed = false;
        let players = &mut self.state.players;
        let reach = Fixed::from_px(2 * PLAYER_RADIUS_PX);
        for index in 0..players.len() {
            if !self.awake[index] {
                continue;
            }
            let own = self.player_index.slot_of(index);
            let IndexedPlayer { x, y, .. } = self.player_index.spot(own);
            for stretch in self.player_index.stretches_near(x, y, reach) {
                for slot in self.player_index.slots_in(stretch) {
                    let (me, it) = (self.player_index.spot(own), self.player_index.spot(slot));
                    let other = it.at as usize;
                    let is_handled = other < index && self.awake[other];
                    if other != index && !is_handled && it.is_nearer(me.x, me.y, reach) {
                        let (low, high) = (index.min(other), index.max(other));
                        let (left, right) = players.split_at_mut(high);
                        if push_apart(&mut left[low], &mut right[0], &self.terrain) {
                            pushed = true;
                            self.player_index.update_position(own, &players[index].body);
                            self.player_index.update_position(slot, &players[other].body);
                        }
                    }
                }
            }
        }
        pushed
    }

    /// Pushes overlapping animals apart, each by half the overlap. Where a player and an animal
    /// overlap, only one of them is moved: the player if it walks, otherwise the animal. Returns
    /// whether any entity was moved.
    fn push_animals_apart(&mut self) -> bool {
        let mut pushed = false;
        let State { animals, players, .. } = &mut self.state;
        let widest = Fixed::from_px(2 * ANIMAL_RADIUS_MAX_PX);
        for at in 0..animals.len() {
            if animals[at].body.health == 0 {
                continue;
            }
            for other in self.animal_index.around(animals[at].body.x, widest) {
                let moved = self.woken_animals[at] || self.woken_animals[other];
                if other > at && moved && animals[other].body.health > 0 {
                    let (left, right) = animals.split_at_mut(other);
                    pushed |= push_apart(&mut left[at], &mut right[0], &self.terrain);
                }
            }
            let animal = animals[at].body.clone();
            // A pushed player is still listed in its previous cell.
            let reach = Fixed::from_px(animal.radius_px + 2 * PLAYER_RADIUS_PX);
            let touch = Fixed::from_px(animal.radius_px + PLAYER_RADIUS_PX);
            for stretch in self.player_index.stretches_near(animal.x, animal.y, reach) {
                for slot in self.player_index.slots_in(stretch) {
                    let spot = self.player_index.spot(slot);
                    let index = spot.at as usize;
                    let moved = self.woken_animals[at] || self.awake[index];
                    let touches = moved && spot.is_nearer(animal.x, animal.y, touch);
                    let (away, from) = if stands(&players[index]) {
                        (&mut animals[at], &players[index].body)
                    } else {
                        (&mut players[index], &animals[at].body)
                    };
                    if touches && push_away(from, away, &self.terrain) {
                        pushed = true;
                        self.player_index.update_position(slot, &players[index].body);
                    }
                }
            }
        }
        pushed
    }

    /// Puts pushed entities back into valid positions: not inside scenery, and on the map.
    fn settle_pushed(&mut self) {
        for (at, entity) in self.state.players.iter_mut().enumerate() {
            if was_pushed(entity) {
                settle(&self.terrain, &mut entity.body);
                self.player_index.update_position(self.player_index.slot_of(at), &entity.body);
            }
        }
        for entity in self.state.animals.iter_mut().filter(|entity| was_pushed(entity)) {
            settle(&self.terrain, &mut entity.body);
            self.animal_index.invalidate();
        }
    }
}

/// Puts a body in the nearest valid position, on its own side of any narrow gap.
fn settle(terrain: &Terrain, body: &mut Body) {
    let from = (body.x, body.y);
    terrain.settle(body);
    terrain.keep_out_of_gaps(body, from);
}

/// Whether the entity is a player that is not walking.
fn stands(entity: &Entity) -> bool {
    matches!(&entity.controller, Controller::Player(player) if player.direction.is_none())
}

fn was_pushed(entity: &Entity) -> bool {
    match &entity.controller {
        Controller::Player(player) => player.stirred,
        Controller::Animal(animal) => animal.was_pushed && entity.body.health > 0,
        _ => false,
    }
}

fn mark_pushed(entity: &mut Entity) {
    match &mut entity.controller {
        Controller::Player(player) => player.stirred = true,
        Controller::Animal(animal) => animal.was_pushed = true,
        _ => {}
    }
}

/// Moves an entity away from a body that it overlaps. Returns whether they overlapped.
fn push_away(from: &Body, entity: &mut Entity, terrain: &Terrain) -> bool {
    let overlap = half_overlap(from, &entity.body);
    if let Some((x, y)) = overlap {
        push(entity, (x.saturating_add(x), y.saturating_add(y)), terrain);
    }
    overlap.is_some()
}

/// Moves an entity by a vector, but not through a gap that is too narrow for it. The entity is
/// awake in the next tick.
fn push(entity: &mut Entity, (x, y): (Fixed, Fixed), terrain: &Terrain) {
    let from = (entity.body.x, entity.body.y);
    (entity.body.x, entity.body.y) = (from.0.saturating_add(x), from.1.saturating_add(y));
    terrain.keep_out_of_gaps(&mut entity.body, from);
    mark_pushed(entity);
}

/// Pushes two overlapping bodies apart, each by half the overlap; to the left and right if their
/// centres coincide. Both bodies are awake in the next tick. Returns whether they overlapped.
fn push_apart(a: &mut Entity, b: &mut Entity, terrain: &Terrain) -> bool {
    let overlap = half_overlap(&a.body, &b.body);
    if let Some((x, y)) = overlap {
        push(a, (Fixed::ZERO.saturating_sub(x), Fixed::ZERO.saturating_sub(y)), terrain);
        push(b, (x, y), terrain);
    }
    overlap.is_some()
}

/// Half of the overlap vector of two bodies, from the first to the second. `None` if the overlap is
/// too small, so that two players next to each other come to rest.
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
    let (dx, dy, length) = unit_direction(dx, dy);
    let (x, y) = (dx * half / length, dy * half / length);
    ((x, y) != (0, 0)).then_some((Fixed(x as i32), Fixed(y as i32)))
}
