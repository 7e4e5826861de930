//! The behaviour of animals: hunting, fleeing, wandering, attacking and dying.
//!
//! Runs after all movement and all swings. Each animal has its own schedule for looking around, so
//! that not all animals look in the same tick.
//!
//! ```text
//!             prey in range     time is over     hurt, and of a kind that flees
//!   wanders ───────────────► hunts ──► rests ──► wanders ──────────────► flees ──► wanders
//!      ▲                       │  no attack for a while
//!      └───────────────────────┘  prey dead, removed or too far
//! ```

use crate::controller::walk::bounded;
use crate::controller::{Animal, Controller, Mood};
use crate::entity::Embodied as _;
use crate::entity::{Body, Entity, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{square_root, Angle, Fixed};
use crate::rng::Rng;
use crate::rules::{self, thirds, Group, Resource};
use crate::terrain::Terrain;
use crate::trig::{cosine, direction, sine};
use crate::world::World;

impl World {
    /// Advances the timers of all animals by one tick, then lets each animal decide and attack.
    pub(crate) fn run_animals(&mut self) {
        let tick_thirds = self.rates.tick_thirds;
        for at in 0..self.state.animals.len() {
            let (animal, body) = match self.state.animals[at].animal_mut() {
                Some(found) => found,
                None => continue,
            };
            let looks = animal.pass(tick_thirds);
            match (body.health > 0, animal.wait == 0) {
                (false, true) if animal.natural => self.respawn_animal(at),
                (false, _) => continue,
                (true, true) => self.end_expired_mood(at),
                (true, false) if looks => self.look(at),
                (true, false) => {}
            }
            self.strike_prey(at);
        }
        self.state.animals.retain(|entity| match &entity.controller {
            Controller::Animal(animal) => animal.natural || entity.body.health > 0,
            _ => false,
        });
    }

    /// Changes the animal's goal after the time of the current goal is over.
    fn end_expired_mood(&mut self, at: usize) {
        let state = &mut self.state;
        if let Some((animal, body)) = state.animals[at].animal_mut() {
            match animal.mood {
                Mood::Hunts => animal.stand(Mood::Rests, &mut state.rng),
                Mood::Wanders if animal.direction.is_none() => {
                    let homeward = self.terrain.bands().direction_to_biome(animal.kind.home(), body.y);
                    animal.walk(homeward, &mut state.rng);
                }
                Mood::Wanders | Mood::Rests | Mood::Flees => animal.stand(Mood::Wanders, &mut state.rng),
            }
        }
    }

    /// Looks around: for prey, for the current prey, and for the end of the biome.
    fn look(&mut self, at: usize) {
        let prey = match &self.state.animals[at] {
            Entity { body, controller: Controller::Animal(animal), .. } => match animal.mood {
                Mood::Hunts => animal.prey.filter(|prey| self.is_within(body, *prey, rules::HUNT_END_PX)),
                Mood::Wanders if animal.hunts() => self.nearest_prey(body),
                _ => None,
            },
            _ => None,
        };
        let state = &mut self.state;
        let way = prey.and_then(|prey| way_to(&state.animals[at].body, &state.players, prey));
        if let Some((animal, body)) = state.animals[at].animal_mut() {
            match (prey, animal.mood) {
                (Some(prey), Mood::Hunts | Mood::Wanders) => animal.hunt(prey, way),
                (None, Mood::Hunts) => animal.stand(Mood::Wanders, &mut state.rng),
                (None, Mood::Wanders) => animal.turn_at_biome_edge(body, &self.terrain, &mut state.rng),
                _ => {}
            }
        }
    }

    /// The nearest vulnerable player within hunting distance; at equal distances, the player with
    /// the lowest ID.
    fn nearest_prey(&self, body: &Body) -> Option<PlayerId> {
        let vulnerable = self.state.players.iter().filter(|player| player.is_vulnerable());
        let near = vulnerable.filter(|player| body.is_near(&player.body, rules::HUNT_BEGIN_PX));
        near.min_by_key(|player| (square_apart(body, &player.body), player.id)).and_then(|it| it.id.player())
    }

    fn is_within(&self, body: &Body, player: PlayerId, reach_px: i32) -> bool {
        let found = self.find(player).ok().map(|at| &self.state.players[at]);
        found.is_some_and(|player| player.is_vulnerable() && body.is_near(&player.body, reach_px))
    }

    /// Attacks the animal's prey if it is in reach and the attack timer has expired.
    fn strike_prey(&mut self, at: usize) {
        let Entity { id, body, controller } = &self.state.animals[at];
        let (prey, kind) = match controller {
            Controller::Animal(Animal { prey: Some(prey), strike_wait: 0, kind, .. }) => {
                (*prey, kind.animal())
            }
            _ => return,
        };
        let reach_px = kind.radius_px + rules::PLAYER_RADIUS_PX + rules::STRIKE_PX;
        let (striker, body) = (*id, body.clone());
        if !self.is_within(&body, prey, reach_px) {
            return;
        }
        if let Some((animal, _)) = self.state.animals[at].animal_mut() {
            animal.strike_wait = thirds(rules::STRIKE_PERIOD_MS);
            animal.wait = u32::from(thirds(rules::HUNT_MS));
        }
        self.outcome.events.push(WorldEvent::AnimalStruck { animal: striker });
        if let Ok(at) = self.find(prey) {
            let away = (body.x, body.y, body.heading);
            knock_back(&mut self.state.players[at].body, away, rules::STRIKE_KNOCK_PX_PER_S, self.rates.hz);
            self.hurt(at, kind.damage, None);
        }
    }

    /// Reduces the health of a living animal; at 0 it dies. Records the health actually lost.
    pub(crate) fn hurt_animal(&mut self, at: usize, damage: u16, by: Option<PlayerId>) {
        let state = &mut self.state;
        let way = by.and_then(|by| way_to(&state.animals[at].body, &state.players, by));
        let near = by.filter(|by| self.is_within(&self.state.animals[at].body, *by, rules::HUNT_END_PX));
        let id = self.state.animals[at].id;
        let (animal, body) = match self.state.animals[at].animal_mut() {
            Some((animal, body)) if body.health > 0 => (animal, body),
            _ => return,
        };
        let amount = damage.min(body.health);
        body.health -= amount;
        self.outcome.events.push(WorldEvent::AnimalHurt { animal: id, by, amount });
        match (body.health, near) {
            (0, _) => {
                let kind = animal.kind.animal();
                animal.reset_for_death(body);
                self.outcome.events.push(WorldEvent::AnimalDied { animal: id, by });
                self.reward(by, kind);
            }
            (_, Some(by)) if animal.hunts() && animal.mood != Mood::Hunts => animal.hunt(by, way),
            _ if animal.hunts() => {}
            _ => animal.flee(body, way),
        }
    }

    /// Gives the killer of an animal its reward, if the killer is alive.
    fn reward(&mut self, killer: Option<PlayerId>, kind: &rules::AnimalSpecies) {
        let killer = killer.and_then(|killer| self.player_mut(killer));
        if let Some((player, _)) = killer.filter(|(player, _)| player.alive) {
            player.give(Resource::Food, kind.food);
            player.earn_work_points(Resource::Food, kind.food);
            player.give(Resource::Gold, kind.gold);
            player.growth.gain(kind.food * rules::GATHER_XP);
        }
    }

    /// Applies the effects of structures to animals: traps hold them; spikes hurt them and push
    /// them back.
    pub(crate) fn touch_animals(&mut self) {
        for at in 0..self.state.animals.len() {
            let touched = self.touched_by(&self.state.animals[at].body);
            let (animal, body) = match self.state.animals[at].animal_mut() {
                Some((animal, body)) if body.health > 0 => (animal, body),
                _ => continue,
            };
            animal.is_trapped = touched.held;
            if let Some((damage, owner, place)) = touched.spikes.filter(|_| animal.touch_wait == 0) {
                animal.touch_wait = thirds(rules::TOUCH_PERIOD_MS);
                knock_back(body, place, rules::SPIKE_KNOCK_PX_PER_S, self.rates.hz);
                self.hurt_animal(at, damage, owner.as_player());
            }
        }
    }

    fn touched_by(&self, body: &Body) -> TouchEffects {
        let mut touched = TouchEffects::default();
        for standing in self.terrain.built_near(body.x, body.y) {
            if standing.is_touched(body) {
                match standing.item.group {
                    Group::Trap => touched.held = true,
                    Group::Spikes if touched.spikes.is_none() => {
                        let place = (standing.x, standing.y, standing.heading);
                        touched.spikes = Some((standing.item.damage, standing.owner, place));
                    }
                    _ => {}
                }
            }
        }
        touched
    }
}

/// The effects of the structures that an animal touches.
#[derive(Default)]
struct TouchEffects {
    held: bool,
    /// Damage, owner and position of the touched spikes.
    spikes: Option<(u16, PlayerId, (Fixed, Fixed, Angle))>,
}

impl Animal {
    /// Whether animals of this kind hunt.
    pub(crate) fn hunts(&self) -> bool {
        self.kind.animal().damage > 0
    }

    /// Advances the timers by one tick. Returns whether the animal looks around in this tick. The
    /// part of the tick after the timer expired counts towards the next look.
    fn pass(&mut self, tick_thirds: u16) -> bool {
        self.wait = self.wait.saturating_sub(u32::from(tick_thirds));
        self.strike_wait = self.strike_wait.saturating_sub(tick_thirds);
        self.touch_wait = self.touch_wait.saturating_sub(tick_thirds);
        let looks = self.sense_wait <= tick_thirds;
        if looks {
            self.sense_wait += thirds(rules::ANIMAL_SENSE_PERIOD_MS);
        }
        self.sense_wait -= tick_thirds;
        looks
    }

    fn stand(&mut self, mood: Mood, rng: &mut Rng) {
        self.mood = mood;
        self.prey = None;
        self.direction = None;
        self.wait = time_between(rules::STAND_MS, rng);
    }

    /// Starts to walk in a random direction. Outside its biome, the animal walks towards it: the
    /// direction deviates from `homeward` by at most an eighth of a turn.
    fn walk(&mut self, homeward: Option<Angle>, rng: &mut Rng) {
        let any = rng.below(1 << 16) as u16;
        self.direction = Some(match homeward {
            Some(way) => Angle(way.0.wrapping_sub(0x2000).wrapping_add(any >> 2)),
            None => Angle(any),
        });
        self.wait = time_between(rules::WALK_MS, rng);
    }

    /// Turns around at the end of its biome or of the map. The new direction deviates from the
    /// opposite direction by at most a sixteenth of a turn.
    fn turn_at_biome_edge(&mut self, body: &Body, terrain: &Terrain, rng: &mut Rng) {
        if let Some(way) = self.direction {
            let far = Fixed::from_px(rules::BIOME_LOOKAHEAD_PX);
            let (x, y) = (
                body.x.saturating_add(far.scaled(cosine(way))),
                body.y.saturating_add(far.scaled(sine(way))),
            );
            let size = Fixed::from_px(terrain.map_size_px() as i32);
            let on_map = |at: Fixed| Fixed::ZERO <= at && at <= size;
            let home = self.kind.home();
            let is_home = terrain.bands().biome_at(body.y) == home;
            if !on_map(x) || !on_map(y) || is_home && terrain.bands().biome_at(y) != home {
                let off = rng.below(0x2000) as u16;
                self.direction = Some(Angle(way.0.wrapping_add(0x7000).wrapping_add(off)));
            }
        }
    }

    fn hunt(&mut self, prey: PlayerId, way: Option<Angle>) {
        if self.mood != Mood::Hunts {
            self.mood = Mood::Hunts;
            self.wait = u32::from(thirds(rules::HUNT_MS));
        }
        self.prey = Some(prey);
        self.direction = way.or(self.direction);
    }

    /// Flees from the attacker. If the attacker's position is unknown or equals the animal's, flees
    /// in the direction of view.
    fn flee(&mut self, body: &Body, way: Option<Angle>) {
        self.mood = Mood::Flees;
        self.prey = None;
        self.direction = Some(way.map_or(body.heading, |way| Angle(way.0.wrapping_add(0x8000))));
        self.wait = u32::from(thirds(rules::FLEE_MS));
    }

    /// Resets the state that ends with death, and starts the respawn timer.
    fn reset_for_death(&mut self, body: &mut Body) {
        (body.vx, body.vy, body.health) = (Fixed::ZERO, Fixed::ZERO, 0);
        self.wait = 3 * u32::from(rules::ANIMAL_RESPAWN_MS);
        *self = self.dead_copy();
    }

    /// The state of a dead animal: it retains the respawn timer and the schedule for looking
    /// around.
    pub(crate) fn dead_copy(&self) -> Animal {
        let &Animal { kind, natural, wait, sense_wait, .. } = self;
        Animal { sense_wait, was_pushed: false, ..Animal::new(kind, natural, wait) }
    }
}

/// Returns a random duration in thirds of a millisecond. The bounds are in milliseconds.
fn time_between([least_ms, most_ms]: [i32; 2], rng: &mut Rng) -> u32 {
    3 * rng.between(least_ms, most_ms).unsigned_abs()
}

/// The direction from a body to a player, if the player exists.
fn way_to(from: &Body, players: &[Entity], player: PlayerId) -> Option<Angle> {
    let at = players.binary_search_by_key(&player.entity(), |entity| entity.id).ok()?;
    let to = &players[at].body;
    let way = (i64::from(to.x.0) - i64::from(from.x.0), i64::from(to.y.0) - i64::from(from.y.0));
    (way != (0, 0)).then(|| direction(way.0, way.1))
}

fn square_apart(a: &Body, b: &Body) -> i64 {
    let (dx, dy) = (i64::from(a.x.0) - i64::from(b.x.0), i64::from(a.y.0) - i64::from(b.y.0));
    dx * dx + dy * dy
}

/// Accelerates a body away from a position; in direction `heading` if the body is exactly at this
/// position.
fn knock_back(body: &mut Body, (x, y, heading): (Fixed, Fixed, Angle), px_per_s: i32, hz: u32) {
    let speed = (i64::from(px_per_s) << 16) / i64::from(hz);
    let (dx, dy) = (i64::from(body.x.0) - i64::from(x.0), i64::from(body.y.0) - i64::from(y.0));
    let (vx, vy) = match square_root((dx * dx + dy * dy) as u64) as i64 {
        0 => (Fixed(speed as i32).scaled(cosine(heading)), Fixed(speed as i32).scaled(sine(heading))),
        distance => (Fixed((dx * speed / distance) as i32), Fixed((dy * speed / distance) as i32)),
    };
    body.vx = bounded(body.vx.saturating_add(vx));
    body.vy = bounded(body.vy.saturating_add(vy));
}
