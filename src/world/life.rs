//! Health: how it is lost and comes back, death, and playing again.
//!
//! Comes in: a player and what befalls it. Goes out: its health, and the events that say so. Never: why it befell; that is
//! for those who call.

use std::borrow::Cow;
use std::sync::Arc;

use crate::alike::look_alike;
use crate::controller::{Controller, Ground, Growth, Hand, Player, Poison};
use crate::entity::{Body, Entity, PlayerId};
use crate::event::Event;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, Resource};
use crate::spawn;
use crate::text::{numbered, NO_NAME};
use crate::world::World;

/// Marks before the number of a player whose name is taken: three names of others that were made to be in the way, and no more
/// looking.
const NUMBER_MARKS_MOST: usize = 4;

impl Player {
    /// Lets one tick pass. Returns how many points of health came back in it.
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
        // What of the tick is left beyond the wait counts for the next point. A tick is shorter than the wait for one.
        self.heal_wait += period - tick_thirds;
        body.health += 1;
        1
    }
}

impl Poison {
    /// The poison of whose spikes somebody has touched.
    pub(crate) fn of(by: PlayerId) -> Poison {
        Poison { by, doses: rules::POISON_DOSES, wait: rules::thirds(rules::POISON_PERIOD_MS) }
    }

    /// Lets one tick pass. Tells whose doing it is when it hurts in it.
    fn work(&mut self, tick_thirds: u16) -> Option<PlayerId> {
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
    /// What is left of a damage that comes from that direction: who holds a shield against it takes a part of it, rounded
    /// to the nearest.
    pub(crate) fn shielded(&self, damage: u16, from: Angle) -> u16 {
        let percent = match &self.controller {
            Controller::Player(player) if player.hand.item.is_none() => {
                rules::weapon_or_first(player.hand.weapon).shield_percent
            }
            _ => 100,
        };
        if from.off(self.body.heading) > rules::SHIELD_ARC {
            return damage;
        }
        ((u32::from(damage) * u32::from(percent) + 50) / 100) as u16
    }
}

impl World {
    /// The name by which a player plays who wants this one: with its number behind it if it looks like another player's. Whoever
    /// gave no name is told apart by nothing.
    pub(crate) fn name_for<'a>(&self, id: PlayerId, name: &'a str) -> Cow<'a, str> {
        let is_taken = |name: &str| {
            let mut others = self.state.players.iter().filter(|entity| entity.id != id.entity());
            others.any(|entity| match &entity.controller {
                Controller::Player(player) => look_alike(&player.name, name),
                _ => false,
            })
        };
        let mut given = Cow::from(name);
        let mut marks = 1;
        while !name.is_empty() && name != NO_NAME && marks <= NUMBER_MARKS_MOST && is_taken(&given) {
            given = numbered(name, id.0, marks).into();
            marks += 1;
        }
        given
    }

    /// Lets the poison work that the player at that place in the list has in its blood.
    pub(crate) fn work_poison(&mut self, at: usize) {
        let due = match &mut self.state.players[at].controller {
            Controller::Player(player) if player.poison.doses > 0 => {
                player.poison.work(self.rates.tick_thirds)
            }
            _ => return,
        };
        let own = self.state.players[at].body.owner;
        // Whoever has become a mate since does no harm any more.
        if let Some(by) = due.filter(|by| !self.are_mates(*by, own)) {
            self.hurt(at, rules::POISON_DAMAGE, by.somebody());
        }
    }

    /// Takes health from the player at that place in the list, who lives; at 0 it dies. Notes what it truly lost.
    pub(crate) fn hurt(&mut self, at: usize, damage: u16, by: Option<PlayerId>) {
        let Entity { id, body, controller } = &mut self.state.players[at];
        let (id, player) = match (id.player(), controller) {
            (Some(id), Controller::Player(player)) => (id, player),
            _ => return,
        };
        let amount = damage.min(body.health);
        body.health -= amount;
        player.heal_wait = rules::thirds(rules::HEAL_DELAY_MS);
        self.outcome.events.push(Event::Hurt { player: id, by, amount });
        if body.health == 0 {
            self.die(at, id, by);
        }
    }

    fn die(&mut self, at: usize, id: PlayerId, by: Option<PlayerId>) {
        let Entity { body, controller, .. } = &mut self.state.players[at];
        let mut age = 0;
        if let Controller::Player(player) = controller {
            age = player.growth.age;
            player.lie_down(body);
        }
        if let Some((killer, _)) = by.filter(|by| *by != id).and_then(|by| self.player_mut(by)) {
            killer.kills = killer.kills.saturating_add(1);
            // The dead are not paid, as in MooMoo.io.
            if killer.alive {
                killer.give(Resource::Gold, u32::from(age) * rules::KILL_GOLD);
            }
        }
        self.outcome.events.push(Event::Died { player: id, by });
    }

    /// Lets a dead player play again.
    pub(crate) fn respawn(&mut self, id: PlayerId, name: &str, skin: u8) {
        let name = &*self.name_for(id, name);
        // A pad that hunters stand around is no place to appear.
        let pad = self.spawn_pad_of(id);
        let pad = pad.filter(|(x, y)| spawn::is_far_from_hunters(&self.state.animals, *x, *y));
        let state = &mut self.state;
        let (x, y) = pad.unwrap_or_else(|| {
            self.crowd.update(&state.players);
            spawn::place((&state.players, &state.animals), &self.crowd, &self.terrain, &mut state.rng)
        });
        if let Some((player, body)) = self.player_mut(id) {
            // Most come back by the name they had; then there is nothing to make.
            if *player.name != *name {
                player.name = Arc::from(name);
            }
            player.skin = skin;
            player.alive = true;
            player.stirred = true;
            body.x = x;
            body.y = y;
            body.health = rules::PLAYER_HEALTH;
            self.outcome.events.push(Event::Spawned { player: id });
        }
        if let Ok(at) = self.find(id) {
            self.crowd.add(at, x, y);
        }
    }
}

impl Player {
    /// What death takes: the age, and everything that was under way. What was gathered, kills and points stay.
    fn lie_down(&mut self, body: &mut Body) {
        self.alive = false;
        self.direction = None;
        self.stirred = false;
        self.slow = 0;
        self.heal_wait = 0;
        // What ages offered goes with them; what was built stays.
        self.hand = Hand::new();
        self.ground = Ground::default();
        self.poison = Poison::default();
        self.growth = Growth::new();
        self.kit.begin_again();
        body.vx = Fixed::ZERO;
        body.vy = Fixed::ZERO;
        body.health = 0;
    }
}
