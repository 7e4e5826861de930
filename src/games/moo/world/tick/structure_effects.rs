//! The effects of structures on players that touch them: spikes hurt and poison, traps hold, boost
//! pads push, healing pads heal.
//!
//! Runs after all movement. Spikes and traps do not affect their owner or its clan mates. If a
//! player touches several boost pads or several spikes, only the structure with the lowest ID takes
//! effect.

use crate::controller::walk::bounded;
use crate::controller::{Controller, Poison};
use crate::entity::{Entity, PlayerId};
use crate::fixed::{square_root, Angle, Fixed};
use crate::rules::{self, Group, Item};
use crate::terrain::PlacedStructure;
use crate::trig::{cosine, sine};
use crate::world::World;

/// The effects at a player's position.
#[derive(Default)]
struct StructureEffects {
    held: bool,
    healing: bool,
    boost: Option<Angle>,
    spikes: Option<Spikes>,
}

/// Spikes touched by a player: owner, damage, and the vector from the spikes to the player.
struct Spikes {
    owner: PlayerId,
    damage: u16,
    poisons: bool,
    dx: i64,
    dy: i64,
}

impl World {
    /// Applies the effects of structures to all living players.
    pub(crate) fn apply_structure_effects(&mut self) {
        for at in 0..self.state.players.len() {
            self.work_poison(at);
            if !self.state.players[at].is_alive() {
                continue;
            }
            let contact = self.contact(at);
            let hz = self.rates.hz;
            let Entity { body, controller, .. } = &mut self.state.players[at];
            let player = match controller {
                Controller::Player(player) => player,
                _ => continue,
            };
            player.ground.held = contact.held;
            player.ground.healing = contact.healing;
            if let Some(heading) = contact.boost.filter(|_| !contact.held) {
                let speed = per_tick(rules::BOOST_PX_PER_S, hz);
                (body.vx, body.vy) = (speed.scaled(cosine(heading)), speed.scaled(sine(heading)));
            }
            if let Some(spikes) = contact.spikes.filter(|_| player.ground.touch_wait == 0) {
                player.ground.touch_wait = rules::thirds(rules::TOUCH_PERIOD_MS);
                let (vx, vy) = spikes.knock(hz);
                body.vx = bounded(body.vx.saturating_add(vx));
                body.vy = bounded(body.vy.saturating_add(vy));
                if spikes.poisons && !player.is_protected() {
                    player.poison = Poison::of(spikes.owner);
                }
                self.hurt(at, spikes.damage, spikes.owner.as_player());
            }
        }
    }

    fn contact(&self, at: usize) -> StructureEffects {
        let Entity { id, body, .. } = &self.state.players[at];
        let mut contact = StructureEffects::default();
        for standing in self.terrain.built_near(body.x, body.y) {
            if !standing.is_touched(body) {
                continue;
            }
            let (dx, dy) = way_from(standing, body.x, body.y);
            let harms = || {
                let player = id.player();
                player != Some(standing.owner)
                    && !player.is_some_and(|who| self.are_mates(who, standing.owner))
            };
            match standing.item.group {
                Group::Trap => contact.held = contact.held || harms(),
                Group::Boost if contact.boost.is_none() => contact.boost = Some(standing.heading),
                Group::Spikes if contact.spikes.is_none() && harms() => {
                    let Item { damage, poisons, .. } = *standing.item;
                    contact.spikes = Some(Spikes { owner: standing.owner, damage, poisons, dx, dy });
                }
                group => contact.healing |= group.heals(),
            }
        }
        contact
    }
}

impl Spikes {
    /// The knockback of the spikes, in pixels per tick: away from the spikes.
    fn knock(&self, hz: u32) -> (Fixed, Fixed) {
        let speed = i64::from(per_tick(rules::SPIKE_KNOCK_PX_PER_S, hz).0);
        let distance = square_root((self.dx * self.dx + self.dy * self.dy) as u64).max(1) as i64;
        (Fixed((self.dx * speed / distance) as i32), Fixed((self.dy * speed / distance) as i32))
    }
}

fn way_from(standing: &PlacedStructure, x: Fixed, y: Fixed) -> (i64, i64) {
    (i64::from(x.0) - i64::from(standing.x.0), i64::from(y.0) - i64::from(standing.y.0))
}

/// Converts a speed from pixels per second to pixels per tick.
pub(crate) fn per_tick(px_per_s: i32, hz: u32) -> Fixed {
    Fixed(((i64::from(px_per_s) << 16) / i64::from(hz)) as i32)
}
