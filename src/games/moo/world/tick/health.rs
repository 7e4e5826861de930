//! Health: damage, healing, death and respawn.
//!
//! The callers decide why a player is hurt or healed. This module applies the effect and records
//! the events.

use crate::entity::Embodied as _;
use std::borrow::Cow;
use std::sync::Arc;

use tickwire_sim::similar_names::are_confusable;

use crate::command::text::{numbered, NO_NAME};
use crate::controller::{Controller, Ground, Growth, Hand, Player, Poison};
use crate::entity::{Body, Entity, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, Resource};
use crate::spawn::spawn_point;
use crate::world::World;

/// Maximum number of `#` marks before the player ID that is appended to a taken name. This is
/// enough even if three players have chosen names that block the result.
const MAX_NUMBER_MARKS: usize = 4;

impl Player {
    /// Advances the healing timer by one tick. Returns the health points regained in this tick.
    pub(crate) fn heal(&mut self, body: &mut Body, tick_thirds: u16) -> u16 {
        if body.health >= rules::PLAYER_HEALTH {
            return 0;
        }
        let mut period = rules::thirds(rules::HEAL_PERIOD_MS);
        if self.ground.healing {
            period = rules::PAD_HEAL_THIRDS;
            self.heal_wait = self.heal_wait.min(period);
        }
        if self.heal_wait > tick_thirds {
            self.heal_wait -= tick_thirds;
            return 0;
        }
        // The part of the tick after the timer expired counts towards the next point. A tick is
        // never longer than the time for one point.
        self.heal_wait += period - tick_thirds;
        body.health += 1;
        1
    }
}

impl Poison {
    /// Fresh poison of a player's spikes.
    pub(crate) fn of(by: PlayerId) -> Poison {
        Poison { by, doses: rules::POISON_DOSES, wait: rules::thirds(rules::POISON_PERIOD_MS) }
    }

    /// Advances the timer by one tick. Returns the player responsible if the poison deals damage in
    /// this tick.
    fn tick(&mut self, tick_thirds: u16) -> Option<PlayerId> {
        if self.wait > tick_thirds {
            self.wait -= tick_thirds;
            return None;
        }
        let by = self.by;
        self.wait += rules::thirds(rules::POISON_PERIOD_MS) - tick_thirds;
        self.doses = self.doses.saturating_sub(1);
        if self.doses == 0 {
            *self = Poison::default();
        }
        Some(by)
    }
}

impl Entity {
    /// The damage that remains of an attack from a direction. A player with a shield towards the
    /// attack takes only a part, rounded to the nearest.
    pub(crate) fn shielded(&self, damage: u16, from: Angle) -> u16 {
        let percent = match &self.controller {
            Controller::Player(player) if player.hand.item.is_none() => {
                rules::weapon_or_first(player.hand.weapon).shield_percent
            }
            _ => 100,
        };
        if from.difference(self.body.heading) > rules::SHIELD_ARC {
            return damage;
        }
        ((u32::from(damage) * u32::from(percent) + 50) / 100) as u16
    }
}

impl World {
    /// The name under which a player plays. If the requested name looks like another player's name,
    /// the player ID is appended. Players without a name are not distinguished.
    pub(crate) fn name_for<'a>(&self, id: PlayerId, name: &'a str) -> Cow<'a, str> {
        let is_taken = |name: &str| {
            let mut others = self.state.players.iter().filter(|entity| entity.id != id.entity());
            others.any(|entity| match &entity.controller {
                Controller::Player(player) => are_confusable(&player.name, name),
                _ => false,
            })
        };
        let mut given = Cow::from(name);
        let mut marks = 1;
        while !name.is_empty() && name != NO_NAME && marks <= MAX_NUMBER_MARKS && is_taken(&given) {
            given = numbered(name, id.0, marks).into();
            marks += 1;
        }
        given
    }

    /// Applies the poison of a player.
    pub(crate) fn work_poison(&mut self, at: usize) {
        let due = match &mut self.state.players[at].controller {
            Controller::Player(player) if player.poison.doses > 0 => {
                player.poison.tick(self.rates.tick_thirds)
            }
            _ => return,
        };
        let own = self.state.players[at].body.owner;
        // Poison of a current clan mate has no effect.
        if let Some(by) = due.filter(|by| !self.are_mates(*by, own)) {
            self.hurt(at, rules::POISON_DAMAGE, by.as_player());
        }
    }

    /// Reduces the health of a living player; at 0 it dies. Records the health actually lost. Spawn
    /// protection prevents damage of any source.
    pub(crate) fn hurt(&mut self, at: usize, damage: u16, by: Option<PlayerId>) {
        let Entity { id, body, controller } = &mut self.state.players[at];
        let (id, player) = match (id.player(), controller) {
            (Some(id), Controller::Player(player)) if !player.is_protected() => (id, player),
            _ => return,
        };
        let amount = damage.min(body.health);
        body.health -= amount;
        player.heal_wait = rules::thirds(rules::HEAL_DELAY_MS);
        self.outcome.events.push(WorldEvent::Hurt { player: id, by, amount });
        if body.health == 0 {
            self.die(at, id, by);
        }
    }

    fn die(&mut self, at: usize, id: PlayerId, by: Option<PlayerId>) {
        let Entity { body, controller, .. } = &mut self.state.players[at];
        let mut age = 0;
        if let Controller::Player(player) = controller {
            age = player.growth.age;
            player.reset_for_death(body);
        }
        if let Some((killer, _)) = by.filter(|by| *by != id).and_then(|by| self.player_mut(by)) {
            killer.kills = killer.kills.saturating_add(1);
            // A dead killer earns nothing, as in MooMoo.io.
            if killer.alive {
                killer.give(Resource::Gold, u32::from(age) * rules::KILL_GOLD);
            }
        }
        self.outcome.events.push(WorldEvent::Died { player: id, by });
    }

    /// Respawns a dead player.
    pub(crate) fn respawn(&mut self, id: PlayerId, name: &str, skin: u8) {
        let name = &*self.name_for(id, name);
        // The spawn pad is not used if hunting animals are near it.
        let pad = self.spawn_pad_of(id);
        let pad = pad.filter(|(x, y)| spawn_point::is_far_from_hunters(&self.state.animals, *x, *y));
        let state = &mut self.state;
        let (x, y) = pad.unwrap_or_else(|| {
            self.player_index.update(&state.players);
            spawn_point::choose_spawn_position(
                (&state.players, &state.animals),
                &self.player_index,
                &self.terrain,
                &mut state.rng,
            )
        });
        if let Some((player, body)) = self.player_mut(id) {
            // Most players respawn with the same name, so no copy is needed.
            if *player.name != *name {
                player.name = Arc::from(name);
            }
            player.skin = skin;
            player.alive = true;
            player.protection = rules::thirds(rules::SPAWN_PROTECTION_MS);
            player.stirred = true;
            body.x = x;
            body.y = y;
            body.health = rules::PLAYER_HEALTH;
            self.outcome.events.push(WorldEvent::Spawned { player: id });
        }
        if let Ok(at) = self.find(id) {
            self.player_index.add(at, x, y);
        }
    }
}

impl Player {
    /// Resets the state that ends with death: the age, and all actions in progress. Resources,
    /// kills and score are retained.
    fn reset_for_death(&mut self, body: &mut Body) {
        self.alive = false;
        self.direction = None;
        self.stirred = false;
        self.slow = 0;
        self.protection = 0;
        self.heal_wait = 0;
        // Upgrades are lost; structures are retained.
        self.hand = Hand::new();
        self.ground = Ground::default();
        self.poison = Poison::default();
        self.growth = Growth::new();
        self.kit.reset();
        body.vx = Fixed::ZERO;
        body.vy = Fixed::ZERO;
        body.health = 0;
    }
}
