//! Uses items (eating and building), and removes structures.
//!
//! A structure is built only on free ground, and never beyond the limit of its group.
//!
//! ```text
//!        player    structure        edge to edge, in the direction of view; on the map, not in the
//!         ( • )──►(    •    )       river, clear of scenery and of the drawn circles of structures
//! ```

use crate::controller::{Controller, Player};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::Fixed;
use crate::rules::{self, Biome, Group, Item};
use crate::state::State;
use crate::terrain::PlacedStructure;
use crate::trig::{cosine, sine};
use crate::world::World;
use crate::Rejection;

impl World {
    /// Checks whether a player can use an item now.
    ///
    /// # Errors
    /// The first rule that the command breaks.
    pub(crate) fn check_use(&self, player: &Player, body: &Body, item: &Item) -> Result<(), Rejection> {
        if player.resources.iter().zip(item.cost).any(|(stock, cost)| *stock < cost) {
            return Err(Rejection::TooDear);
        }
        if item.group == Group::Food {
            return if body.health < rules::PLAYER_HEALTH { Ok(()) } else { Err(Rejection::Healthy) };
        }
        if !player.kit.may_build(item.group) {
            return Err(Rejection::TooMany);
        }
        let (x, y) = position_in_front(body, item);
        self.check_space(x, y, item)
    }

    /// Checks whether an item can be built at a position.
    ///
    /// # Errors
    /// `TooMany` if no ID is left, `NoRoom` if the position is in the river or not free.
    pub(crate) fn check_space(&self, x: Fixed, y: Fixed, item: &Item) -> Result<(), Rejection> {
        if self.state.next_id >= EntityId::FIRST_ANIMAL {
            return Err(Rejection::TooMany);
        }
        let is_dry = self.bands().biome_at(y) != Biome::River;
        if is_dry && self.terrain.is_free(x, y, item.scale_px) {
            Ok(())
        } else {
            Err(Rejection::NoRoom)
        }
    }

    /// Uses an item that was checked. Afterwards the player holds its weapon again.
    pub(crate) fn use_item(&mut self, id: PlayerId, item: &'static Item) {
        let (player, body) = match self.player_mut(id) {
            Some(found) => found,
            None => return,
        };
        player.hand.item = None;
        for (stock, cost) in player.resources.iter_mut().zip(item.cost) {
            *stock = stock.saturating_sub(cost);
        }
        if item.group == Group::Food {
            let amount = item.health.min(rules::PLAYER_HEALTH.saturating_sub(body.health));
            body.health += amount;
            self.outcome.events.push(WorldEvent::Healed { player: id, amount });
        } else {
            player.kit.count(item);
            player.work_points = player.work_points.saturating_add(item.cost.iter().sum());
            if item.group.is_hostile() {
                player.end_protection();
            }
            let ((x, y), heading) = (position_in_front(body, item), body.heading);
            let vx = Fixed::ZERO;
            let radius_px = item.radius_px;
            self.build(Body { x, y, vx, vy: vx, heading, radius_px, health: item.health, owner: id }, item);
        }
    }

    /// Adds a structure at a position that was checked.
    pub(crate) fn build(&mut self, body: Body, item: &'static Item) {
        let id = self.state.next_id;
        self.state.next_id = EntityId(id.0.saturating_add(1));
        let entity = Entity { id, body, controller: Controller::built(item) };
        if let Some(standing) = entity.standing() {
            self.terrain.put_up(standing);
            self.push_out_of(&standing);
        }
        // Wakes sleeping animals and players at this position, so that they move out of the
        // structure.
        self.wake_animals(&entity.body, item.scale_px);
        let reach = Fixed::from_px(item.scale_px + rules::PLAYER_RADIUS_PX).0.unsigned_abs();
        for player in &mut self.state.players {
            let is_near = |a: Fixed, b: Fixed| a.0.abs_diff(b.0) <= reach;
            let near = is_near(player.body.x, entity.body.x) && is_near(player.body.y, entity.body.y);
            if let Controller::Player(player) = &mut player.controller {
                player.stirred |= near && player.alive;
            }
        }
        self.state.structures.push(entity);
        self.add_active_structure();
        self.outcome.events.push(WorldEvent::Placed { object: id });
    }

    /// Wakes sleeping animals at this position, so that they move out of the structure.
    fn wake_animals(&mut self, built: &Body, scale_px: i32) {
        for at in 0..self.state.animals.len() {
            if let Some((animal, body)) = self.state.animals[at].animal_mut() {
                let reach_px = scale_px + body.radius_px;
                animal.was_pushed |= body.health > 0 && body.is_near(built, reach_px);
            }
        }
    }

    /// Moves each entity that would be stuck in a new structure to a free position next to it.
    /// Entities in a trap stay there.
    fn push_out_of(&mut self, new: &PlacedStructure) {
        let State { players, animals, .. } = &mut self.state;
        let mut anyone = false;
        for Entity { body, controller, .. } in players.iter_mut().chain(animals) {
            let is_held = match controller {
                Controller::Player(player) => player.ground.held,
                Controller::Animal(animal) => animal.is_trapped,
                _ => true,
            };
            if body.health > 0 && !is_held {
                if let Some(place) = self.terrain.place_beside(body, new) {
                    (body.x, body.y) = place;
                    anyone = true;
                }
            }
        }
        if anyone {
            self.invalidate_position_indices();
        }
    }

    /// Reduces the health of a structure. A structure without health is removed.
    pub(crate) fn damage_structure(&mut self, at: usize, damage: u16) {
        let health = &mut self.state.structures[at].body.health;
        *health = health.saturating_sub(damage);
        if *health == 0 {
            self.demolish(at);
        }
    }

    pub(crate) fn demolish(&mut self, at: usize) {
        let entity = self.state.structures.remove(at);
        self.shift_active_structures(at);
        if let Some(standing) = entity.standing() {
            self.terrain.take_down(&standing);
            if let Some((owner, _)) = self.player_mut(standing.owner) {
                owner.kit.uncount(standing.item);
            }
        }
        self.outcome.events.push(WorldEvent::Destroyed { object: entity.id });
    }

    /// Removes all structures of a player, in ascending order of ID.
    pub(crate) fn demolish_all_owned_by(&mut self, owner: PlayerId) {
        let mut at = 0;
        while at < self.state.structures.len() {
            if self.state.structures[at].body.owner == owner {
                self.demolish(at);
            } else {
                at += 1;
            }
        }
    }

    /// The position of a player's spawn pad, if it has one.
    pub(crate) fn spawn_pad_of(&self, owner: PlayerId) -> Option<(Fixed, Fixed)> {
        if self.player(owner)?.kit.built[Group::Spawn as usize] == 0 {
            return None;
        }
        let standing = self.state.structures.iter().filter_map(Entity::standing);
        let mut pads = standing.filter(|at| at.owner == owner && at.item.group == Group::Spawn);
        pads.next().map(|pad| (pad.x, pad.y))
    }
}

/// The position of a new structure in front of a body, edge to edge. The position is rounded to
/// whole pixels, so that clients draw the exact position.
fn position_in_front(body: &Body, item: &Item) -> (Fixed, Fixed) {
    let way = Fixed::from_px(rules::PLAYER_RADIUS_PX + item.scale_px);
    let whole = |at: Fixed| Fixed::from_px(at.saturating_add(Fixed(1 << 15)).to_px());
    let (x, y) = (way.scaled(cosine(body.heading)), way.scaled(sine(body.heading)));
    (whole(body.x.saturating_add(x)), whole(body.y.saturating_add(y)))
}
