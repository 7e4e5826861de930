//! A bot that plays: it gathers from what it knows of, goes after who is near, strikes, and sometimes talks.
//!
//! Comes in: the [`Picture`] and the time. Goes out: [`Wish`]es. It thinks some five times a second, as somebody at a
//! keyboard would. Never: a packet, a clock, a look at what the picture does not hold.

use std::f64::consts::TAU;
use std::time::Duration;

use super::dice::Dice;
use super::picture::{Known, Picture};
use super::policy::{Policy, Tongue, Wish};
use crate::world::rules;

/// Between two thoughts.
const THOUGHT: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(250)];
/// How long a bot is after one and the same thing.
const PURPOSE: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(9)];
/// A bot goes after who is nearer than this, px.
const HUNT_PX: f64 = 700.0;
/// Of so many choices between somebody near and the next thing, one is for the thing.
const PEACE: u32 = 3;
/// It gathers from one of so many things that are nearest.
const CHOICE: usize = 3;
/// How much nearer than its arm reaches a bot goes, px: what it knows is a little old.
const NEARER_PX: f64 = 15.0;
/// It begins to strike when somebody is so little out of reach, px.
const SOON_PX: f64 = 50.0;
/// Who wants to walk and gets no further than this between two thoughts has something in the way, px.
const STUCK_PX: f64 = 4.0;
/// How long it walks around that.
const DETOUR: Duration = Duration::from_millis(700);
/// A quarter of a turn.
const QUARTER: u16 = 1 << 14;
/// A look changes when it is off by more than this: 2 degrees.
const OFF: u16 = 364;

/// What a bot is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    Thing(u32),
    Player(u32),
}

/// Where that is, and how near one must be to strike it.
struct Target {
    x_px: f64,
    y_px: f64,
    reach_px: f64,
    /// From where on to swing, px.
    swing_px: f64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Player {
    dice: Dice,
    tongue: Tongue,
    goal: Option<Goal>,
    goal_ends: Duration,
    thinks: Duration,
    place: (f64, f64),
    detour: Option<(Duration, u16)>,
    walks: Option<u16>,
    looks: Option<u16>,
    attacks: bool,
}

impl Player {
    /// A bot that decides the same with the same seed in the same world.
    pub fn new(seed: u64) -> Player {
        Player {
            dice: Dice::new(seed),
            tongue: Tongue::default(),
            goal: None,
            goal_ends: Duration::ZERO,
            thinks: Duration::ZERO,
            place: (0.0, 0.0),
            detour: None,
            walks: None,
            looks: None,
            attacks: false,
        }
    }

    fn target(picture: &Picture, goal: Goal) -> Option<Target> {
        let range_px = rules::weapon(rules::FIRST_WEAPON).map_or(0.0, |weapon| f64::from(weapon.range_px));
        match goal {
            Goal::Thing(object) => {
                let thing = picture.objects.get(&object)?;
                let reach_px = thing.scale_px + range_px - NEARER_PX;
                Some(Target { x_px: thing.x_px, y_px: thing.y_px, reach_px, swing_px: reach_px })
            }
            Goal::Player(player) => {
                let Known { x_px, y_px, .. } = *picture.players.get(&player).filter(|known| known.in_view)?;
                let size_px = f64::from(rules::PLAYER_RADIUS_PX * rules::TARGET_PERCENT / 100);
                let reach_px = size_px + range_px - 2.0 * NEARER_PX;
                Some(Target { x_px, y_px, reach_px, swing_px: reach_px + SOON_PX })
            }
        }
    }

    fn choose(&mut self, picture: &Picture, me: &Known) -> Option<Goal> {
        let way_px = |x_px: f64, y_px: f64| (x_px - me.x_px).hypot(y_px - me.y_px);
        let others = picture.players.iter().filter(|(id, known)| known.in_view && Some(**id) != picture.me);
        let near = others.map(|(id, known)| (way_px(known.x_px, known.y_px), Goal::Player(*id)));
        let nearest = near.filter(|(px, _)| *px < HUNT_PX).min_by(|one, two| one.0.total_cmp(&two.0));
        let peaceful = self.dice.below(PEACE) == 0;
        if let Some((_, goal)) = nearest.filter(|_| !peaceful) {
            return Some(goal);
        }
        let things = picture.objects.values().filter(|thing| thing.kind.is_some());
        let mut things: Vec<(f64, u32)> =
            things.map(|thing| (way_px(thing.x_px, thing.y_px), thing.id)).collect();
        things.sort_by(|one, two| one.0.total_cmp(&two.0));
        things.truncate(CHOICE);
        let chosen = self.dice.below(CHOICE as u32) as usize;
        let thing = things.get(chosen).or(things.first());
        thing.map(|(_, id)| Goal::Thing(*id)).or(nearest.map(|(_, goal)| goal))
    }

    /// Where to walk, given the way there; around what is in the way.
    fn way(&mut self, towards: u16, me: &Known, now: Duration) -> u16 {
        let moved_px = (me.x_px - self.place.0).hypot(me.y_px - self.place.1);
        if self.walks.is_some() && moved_px < STUCK_PX && self.detour.is_none() {
            let side = if self.dice.below(2) == 0 { QUARTER } else { QUARTER.wrapping_neg() };
            self.detour = Some((now + DETOUR, side));
        }
        match self.detour {
            Some((ends, side)) if now < ends => towards.wrapping_add(side),
            _ => {
                self.detour = None;
                towards
            }
        }
    }

    /// Wishes what differs from what it does already.
    fn wish(&mut self, walk: Option<u16>, look: u16, attack: bool, wishes: &mut Vec<Wish>) {
        if self.walks != walk {
            wishes.push(Wish::Walk(walk));
        }
        let off = self.looks.map(|looks| looks.wrapping_sub(look));
        if off.is_none_or(|off| off.min(off.wrapping_neg()) > OFF) {
            wishes.push(Wish::Aim(look));
            self.looks = Some(look);
        }
        if self.attacks != attack {
            wishes.push(Wish::Attack { on: attack, heading: look });
        }
        (self.walks, self.attacks) = (walk, attack);
    }

    fn think(&mut self, picture: &Picture, me: &Known, now: Duration, wishes: &mut Vec<Wish>) {
        let mut target =
            self.goal.filter(|_| now < self.goal_ends).and_then(|goal| Self::target(picture, goal));
        if target.is_none() {
            self.goal = self.choose(picture, me);
            self.goal_ends = now + self.dice.between(PURPOSE[0], PURPOSE[1]);
            target = self.goal.and_then(|goal| Self::target(picture, goal));
        }
        // Where there is nothing and nobody, the middle of the map is as good as anywhere.
        let middle_px = picture.map_size_px / 2.0;
        let nowhere = Target { x_px: middle_px, y_px: middle_px, reach_px: 0.0, swing_px: 0.0 };
        let Target { x_px, y_px, reach_px, swing_px } = target.unwrap_or(nowhere);
        let (dx, dy) = (x_px - me.x_px, y_px - me.y_px);
        let look = (dy.atan2(dx) / TAU * 65_536.0) as i32 as u16;
        let off_px = dx.hypot(dy);
        let walk = (off_px > reach_px).then(|| self.way(look, me, now));
        self.wish(walk, look, off_px <= swing_px, wishes);
        self.place = (me.x_px, me.y_px);
    }
}

impl Policy for Player {
    fn decide(&mut self, picture: &Picture, now: Duration, wishes: &mut Vec<Wish>) {
        let Some(me) = picture.own() else {
            // Death ends all that was under way.
            (self.goal, self.walks, self.looks, self.attacks) = (None, None, None, false);
            return;
        };
        if now >= self.thinks {
            self.thinks = now + self.dice.between(THOUGHT[0], THOUGHT[1]);
            self.think(picture, me, now, wishes);
        }
        self.tongue.speak(&mut self.dice, now, wishes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::heard::Object;
    use super::*;

    const TREE: Object = Object { id: 70_000, kind: Some(0), x_px: 900.0, y_px: 500.0, scale_px: 150.0 };

    fn known(x_px: f64) -> Known {
        let (health, max_health) = (100, 100);
        Known { name: String::new(), x_px, y_px: 500.0, heading: 0, in_view: true, health, max_health }
    }

    fn picture(me_px: f64) -> Picture {
        Picture {
            me: Some(1),
            players: [(1, known(me_px))].into(),
            objects: [(TREE.id, TREE)].into(),
            ..Picture::new()
        }
    }

    fn wishes(player: &mut Player, picture: &Picture, seconds: u64) -> Vec<Wish> {
        let mut wishes = Vec::new();
        player.decide(picture, Duration::from_secs(seconds), &mut wishes);
        wishes
    }

    #[test]
    fn alone_it_walks_to_a_thing_and_strikes_it_within_reach() {
        let mut player = Player::new(1);
        assert_eq!(wishes(&mut player, &picture(500.0), 0), [Wish::Walk(Some(0)), Wish::Aim(0)]);
        let near = wishes(&mut player, &picture(720.0), 1);
        assert_eq!(near, [Wish::Walk(None), Wish::Attack { on: true, heading: 0 }]);
        assert_eq!(wishes(&mut player, &picture(720.0), 2), [], "it goes on");
    }

    #[test]
    fn it_goes_after_who_is_near_in_any_direction() {
        let mut hunts = 0;
        for seed in 0..30 {
            let mut picture = picture(720.0);
            picture.players.insert(2, known(650.0));
            let wishes = wishes(&mut Player::new(seed), &picture, 0);
            let towards = Wish::Attack { on: true, heading: 1 << 15 };
            hunts += u32::from(wishes.contains(&towards));
        }
        assert!((10..30).contains(&hunts), "{hunts} of 30 strike");
    }

    #[test]
    fn who_is_stuck_walks_around() {
        let mut player = Player::new(1);
        wishes(&mut player, &picture(500.0), 0);
        let around = wishes(&mut player, &picture(500.0), 1);
        let sides = [Wish::Walk(Some(QUARTER)), Wish::Walk(Some(QUARTER.wrapping_neg()))];
        assert!(around.iter().any(|wish| sides.contains(wish)), "{around:?}");
    }

    #[test]
    fn death_ends_all_and_a_new_life_begins_anew() {
        let mut player = Player::new(1);
        wishes(&mut player, &picture(720.0), 0);
        assert_eq!(wishes(&mut player, &Picture { me: None, ..picture(720.0) }, 1), []);
        let again = wishes(&mut player, &picture(720.0), 2);
        assert!(again.contains(&Wish::Attack { on: true, heading: 0 }), "{again:?}");
    }
}
