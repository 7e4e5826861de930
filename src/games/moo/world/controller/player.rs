//! The player controller: walks as the player commands.
//!
//! The controller does not depend on other entities, so a client can run it for a player without
//! knowing any other player.

use std::sync::Arc;

use crate::clan::ClanId;
use crate::controller::kit::Choice;
use crate::controller::walk::walk;
use crate::controller::{Growth, Hand, Kit};
use crate::entity::{Body, PlayerId};
use crate::fields::fields;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, Rates};
use crate::terrain::Terrain;

/// The state of a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// Name shown above the body; may be empty.
    pub name: Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// The tick in which the player joined.
    pub joined_tick: u32,
    /// Sequence number of the last command applied; 0 before the first.
    pub sequence: u64,
    /// Direction of movement; `None` if the player is not walking.
    pub direction: Option<Angle>,
    /// Whether the player was pushed or spawned in the last tick, so that its position must be
    /// checked.
    pub stirred: bool,
    /// Slowness: the lost share of the speed, in parts of [`rules::SLOW_WHOLE`].
    pub slow: u16,
    /// Whether the player is alive.
    pub alive: bool,
    /// Remaining time of the spawn protection, in thirds of a millisecond; 0 without protection.
    pub protection: u16,
    /// Time until the next health point is regained, in thirds of a millisecond. Runs only below
    /// full health.
    pub heal_wait: u16,
    /// Weapon or item in the hand, and the attack timer.
    pub hand: Hand,
    /// Weapons, items and structure counts.
    pub kit: Kit,
    /// Effects of the structures at its position.
    pub ground: Ground,
    /// Poison; its default if the player is not poisoned.
    pub poison: Poison,
    /// The clan of the player.
    pub clan: Option<ClanId>,
    /// The clan that the player has requested to join.
    pub join_request: Option<ClanId>,
    /// Age and experience.
    pub growth: Growth,
    /// Resources gathered and not yet spent, by [`rules::Resource`].
    pub resources: [u32; 4],
    /// Points for work: a point for each unit of wood, food or stone that was gathered or hunted,
    /// and for each unit of any resource that was built with.
    pub work_points: u32,
    /// Number of players killed.
    pub kills: u32,
}

fields!(Player:
    name: Arc<str>,
    skin: u8,
    joined_tick: u32,
    sequence: u64,
    direction: Option<Angle>,
    stirred: bool,
    slow: u16,
    alive: bool,
    protection: u16,
    heal_wait: u16,
    hand: Hand,
    kit: Kit,
    ground: Ground,
    poison: Poison,
    clan: Option<ClanId>,
    join_request: Option<ClanId>,
    growth: Growth,
    resources: [u32; 4],
    work_points: u32,
    kills: u32,
);

/// The effects of structures at a player's position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// Whether the player is in a trap and cannot move.
    pub held: bool,
    /// Whether the player is on a healing pad.
    pub healing: bool,
    /// Time until spikes can hurt the player again, in thirds of a millisecond.
    pub touch_wait: u16,
}

/// Poison, which deals damage repeatedly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Poison {
    /// The player responsible.
    pub by: PlayerId,
    /// Number of remaining doses of damage.
    pub doses: u8,
    /// Time until the next dose, in thirds of a millisecond.
    pub wait: u16,
}

fields!(Poison: by: PlayerId, doses: u8, wait: u16);

fields!(Ground: held: bool, healing: bool, touch_wait: u16);

impl Player {
    /// A player that has just joined.
    pub(crate) fn new(name: &str, skin: u8, tick: u32) -> Player {
        Player {
            name: Arc::from(name),
            skin,
            joined_tick: tick,
            sequence: 0,
            direction: None,
            // The position is checked once, because the spawn point may not be free.
            stirred: true,
            slow: 0,
            alive: true,
            protection: rules::thirds(rules::SPAWN_PROTECTION_MS),
            heal_wait: 0,
            hand: Hand::new(),
            kit: Kit::new(),
            ground: Ground::default(),
            poison: Poison::default(),
            clan: None,
            join_request: None,
            growth: Growth::new(),
            resources: [0; 4],
            work_points: 0,
            kills: 0,
        }
    }

    /// Whether the spawn protection lasts: nothing hurts the player.
    pub fn is_protected(&self) -> bool {
        self.protection > 0
    }

    /// Ends the spawn protection, because the player attacks.
    pub(crate) fn end_protection(&mut self) {
        self.protection = 0;
    }

    /// The score: the player's gold and its points for work.
    pub fn score(&self) -> u32 {
        self.resources[rules::Resource::Gold as usize].saturating_add(self.work_points)
    }

    /// The reached ages with a pending upgrade. Ages that offer nothing for the current kit are
    /// skipped.
    pub(crate) fn choices(&self) -> impl Iterator<Item = u8> + '_ {
        self.growth.waiting().filter(move |age| self.kit.offers(*age).next().is_some())
    }

    /// The first age of [`Player::choices`]; without choices, the next age.
    pub(crate) fn choice_age(&self) -> u8 {
        let next = self.growth.choice_age.max(self.growth.age.saturating_add(1));
        self.choices().next().unwrap_or(next.min(rules::LAST_CHOICE_AGE + 1))
    }

    /// Applies an upgrade. In the hand, a new weapon replaces the old; an old item is put away.
    pub(crate) fn choose(&mut self, choice: Choice) {
        let hand = &mut self.hand;
        match choice {
            Choice::Weapon(weapon) if rules::weapon_or_first(hand.weapon).slot == weapon.slot => {
                hand.weapon = weapon.id;
            }
            Choice::Item(item) if hand.item == self.kit.items[item.group as usize] => hand.item = None,
            _ => {}
        }
        self.growth.choice_age = self.choice_age() + 1;
        self.kit.replace_with(choice);
    }

    /// Whether a tick would change nothing: the player is dead, or it stands, is at rest, is not
    /// slowed, and was not pushed.
    pub fn is_asleep(&self, body: &Body) -> bool {
        let rests = self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0;
        !self.alive || rests && self.slow == 0 && !self.stirred
    }

    /// Walks for one tick.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        self.stirred = false;
        self.slow = self.slow.saturating_sub(rules::SLOW_RECOVERY * rates.tick_thirds);
        if self.ground.held {
            (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
            return;
        }
        let way = self.direction.map(|angle| (angle, self.hindered(rates.acceleration)));
        walk(body, way, terrain, rates);
    }

    /// The acceleration, reduced by slowness and by the weight of the weapon or item in the hand.
    fn hindered(&self, acceleration: i32) -> i32 {
        let percent = i64::from(match self.hand.item {
            Some(_) => rules::ITEM_SPEED_PERCENT,
            None => rules::weapon_or_first(self.hand.weapon).speed_percent,
        });
        let left = i64::from(rules::SLOW_WHOLE.saturating_sub(self.slow));
        let whole = 100 * i64::from(rules::SLOW_WHOLE);
        (i64::from(acceleration) * percent * left / whole) as i32
    }
}
