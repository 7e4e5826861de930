//! The player's controller: walks where the player wants.
//!
//! Comes in: the body, the terrain, the constants of the tick rate. Goes out: the body one tick later.
//! Never: a look at anyone else, so that it can be run by whoever knows only this one player.

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

/// What a player wants and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// Shown above the body; may be empty.
    pub name: Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// The tick in which it joined.
    pub joined_tick: u32,
    /// The last sequence applied; 0 before the first.
    pub sequence: u64,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
    /// It was pushed or appeared in the last tick, so it must see to where it stands now.
    pub stirred: bool,
    /// Slowness: this of [`rules::SLOW_WHOLE`] parts of its speed are missing.
    pub slow: u16,
    /// Whether it plays.
    pub alive: bool,
    /// Time until a point of health comes back, in thirds of a millisecond. Counts only while some is missing.
    pub heal_wait: u16,
    /// What it does with its hand.
    pub hand: Hand,
    /// What it has to use.
    pub kit: Kit,
    /// What the place where it stands does to it.
    pub ground: Ground,
    /// What is in its blood.
    pub poison: Poison,
    /// The clan that it is in.
    pub clan: Option<ClanId>,
    /// The clan that it asks to join.
    pub asks: Option<ClanId>,
    /// How far it has grown.
    pub growth: Growth,
    /// What it has and has not spent, by [`rules::Resource`]. Its gold is its place on the leaderboard as well.
    pub resources: [u32; 4],
    /// Players killed.
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
    heal_wait: u16,
    hand: Hand,
    kit: Kit,
    ground: Ground,
    poison: Poison,
    clan: Option<ClanId>,
    asks: Option<ClanId>,
    growth: Growth,
    resources: [u32; 4],
    kills: u32,
);

/// What the place where a player stands does to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// It is in a trap and cannot move.
    pub held: bool,
    /// It is on a healing pad.
    pub healing: bool,
    /// Time until a touch can hurt it again, in thirds of a millisecond.
    pub touch_wait: u16,
}

/// Poison that goes on hurting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Poison {
    /// Whose doing it is.
    pub by: PlayerId,
    /// How many times it still hurts.
    pub doses: u8,
    /// Time until it hurts next, in thirds of a millisecond.
    pub wait: u16,
}

fields!(Poison: by: PlayerId, doses: u8, wait: u16);

fields!(Ground: held: bool, healing: bool, touch_wait: u16);

impl Player {
    /// One that has just come into the game.
    pub(crate) fn new(name: &str, skin: u8, tick: u32) -> Player {
        Player {
            name: Arc::from(name),
            skin,
            joined_tick: tick,
            sequence: 0,
            direction: None,
            // It looks about once, in case there was no room for it.
            stirred: true,
            slow: 0,
            alive: true,
            heal_wait: 0,
            hand: Hand::new(),
            kit: Kit::new(),
            ground: Ground::default(),
            poison: Poison::default(),
            clan: None,
            asks: None,
            growth: Growth::new(),
            resources: [0; 4],
            kills: 0,
        }
    }

    /// The ages that it may choose from now. One that has nothing for its kit is none of them, and gives no point.
    pub(crate) fn choices(&self) -> impl Iterator<Item = u8> + '_ {
        self.growth.waiting().filter(move |age| self.kit.offers(*age).next().is_some())
    }

    /// The first of them; without any, the age that comes next.
    pub(crate) fn choice_age(&self) -> u8 {
        let next = self.growth.choice_age.max(self.growth.age.saturating_add(1));
        self.choices().next().unwrap_or(next.min(rules::LAST_CHOICE_AGE + 1))
    }

    /// Takes what an age offers. What it replaces is no longer in the hand.
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
        self.kit.take(choice);
    }

    /// Whether a turn on land would change nothing: it is dead, or it stands, is at rest and not slowed, and nobody pushed it.
    pub fn is_asleep(&self, body: &Body) -> bool {
        let rests = self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0;
        !self.alive || rests && self.slow == 0 && !self.stirred
    }

    /// One tick of walking.
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

    /// What is left of an acceleration by slowness and by the weight of what is in the hand.
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
