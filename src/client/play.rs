//! A bot that plays: it goes where others meet, gathers, builds, goes after who is near, strikes, and sometimes talks.
//!
//! Some are hunters, most are settlers, who strike back. Comes in: the [`Picture`] and the time. Goes out: [`Wish`]es. It
//! thinks some five times a second, as somebody at a keyboard would. Never: a packet, a clock, a look at what the picture does
//! not hold.

mod craft;
mod meeting;

pub use meeting::Meeting;

use std::f64::consts::TAU;
use std::time::Duration;

use self::craft::Craft;
use super::dice::Dice;
use super::heard::Object;
use super::picture::{Known, Picture};
use super::policy::{Policy, Tongue, Wish};
use crate::world::rules;

/// Between two thoughts.
const THOUGHT: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(250)];
/// How long a bot is after one and the same thing.
const PURPOSE: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(9)];
/// One of so many bots is a hunter.
const HUNTERS: u32 = 8;
/// Of so many choices of a hunter between somebody near and the next thing, one is for the thing.
const PEACE: u32 = 3;
/// Of so many choices of a settler, one is for somebody near.
const WAR: u32 = 40;
/// Of so many times that a settler is hurt, it strikes back once.
const ANSWERS: u32 = 4;
/// A bot goes after who is nearer than this, px.
const HUNT_PX: f64 = 700.0;
/// It strikes back at who is nearer than this when it is hurt, px.
const ANSWER_PX: f64 = 250.0;
/// It goes back to where others meet when it is further away than this to a side, px.
const STRAY_PX: (f64, f64) = (1_200.0, 800.0);
/// It is there when it is no further away than this, px.
const THERE_PX: f64 = 300.0;
/// It gathers from what is no further from there to each side, px: who meets there is still in view.
const GATHER_PX: (f64, f64) = (1_000.0, 600.0);
/// It gathers from one of so many things that are nearest.
const CHOICE: usize = 3;
/// How much further a bot goes for each other one that it need not share a thing with, px.
const ALONE_PX: f64 = 300.0;
/// How near to the rim of a thing those are, px.
const SHARE_PX: f64 = 130.0;
/// Of so many times that a stroke at a thing would hit somebody, a settler goes elsewhere once.
const YIELDS: u32 = 5;
/// It has enough of a resource when it has so much.
const ENOUGH: [u32; 4] = [100, 30, 60, 20];
/// How much nearer than its arm reaches a bot goes, px: what it knows is a little old.
const NEARER_PX: f64 = 15.0;
/// It begins to strike when somebody is so little out of reach, px.
const SOON_PX: f64 = 50.0;
/// Who wants to walk and gets no further than this between two thoughts has something in the way, px.
const STUCK_PX: f64 = 4.0;
/// What was built and is nearer than this may be that, px.
const IN_THE_WAY_PX: f64 = 130.0;
/// How long it walks around that.
const DETOUR: Duration = Duration::from_millis(700);
/// A quarter of a turn.
const QUARTER: u16 = 1 << 14;
/// A look changes when it is off by more than this: 2 degrees.
const OFF: u16 = 364;

/// What a bot is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Something to gather from, or in the way.
    Thing(u32),
    Player(u32),
    /// Where others are.
    Meeting,
}

/// Where that is, and how near one must be to strike it.
struct Target {
    x_px: f64,
    y_px: f64,
    reach_px: f64,
    /// From where on to swing, px; below 0 when there is nothing to strike.
    swing_px: f64,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Player {
    dice: Dice,
    tongue: Tongue,
    meeting: Meeting,
    is_hunter: bool,
    craft: Craft,
    goal: Option<Goal>,
    goal_ends: Duration,
    thinks: Duration,
    place: (f64, f64),
    health: u32,
    detour: Option<(Duration, u16)>,
    walks: Option<u16>,
    looks: Option<u16>,
    attacks: bool,
}

impl Player {
    /// A bot that decides the same with the same seed in the same world.
    pub fn new(seed: u64, meeting: Meeting) -> Player {
        let mut dice = Dice::new(seed);
        let is_hunter = dice.below(HUNTERS) == 0;
        Player {
            dice,
            tongue: Tongue::default(),
            meeting,
            is_hunter,
            craft: Craft::default(),
            goal: None,
            goal_ends: Duration::ZERO,
            thinks: Duration::ZERO,
            place: (0.0, 0.0),
            health: 0,
            detour: None,
            walks: None,
            looks: None,
            attacks: false,
        }
    }

    fn target(&self, picture: &Picture, me: &Known, goal: Goal) -> Option<Target> {
        let range_px = rules::weapon(weapon(picture)).map_or(0.0, |weapon| f64::from(weapon.range_px));
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
            Goal::Meeting => {
                let (x_px, y_px) = self.meeting.nearest(picture.map_size_px, me.x_px, me.y_px);
                let there = way_px(me, x_px, y_px) < THERE_PX;
                (!there).then_some(Target { x_px, y_px, reach_px: 0.0, swing_px: -1.0 })
            }
        }
    }

    fn choose(&mut self, picture: &Picture, me: &Known) -> Option<Goal> {
        let nearest = nearest_player(picture, me).filter(|(px, _)| *px < HUNT_PX);
        let hunts = if self.is_hunter { self.dice.below(PEACE) != 0 } else { self.dice.below(WAR) == 0 };
        if let Some((_, player)) = nearest.filter(|_| hunts) {
            return Some(Goal::Player(player));
        }
        let (x_px, y_px) = self.meeting.nearest(picture.map_size_px, me.x_px, me.y_px);
        if (me.x_px - x_px).abs() > STRAY_PX.0 || (me.y_px - y_px).abs() > STRAY_PX.1 {
            return Some(Goal::Meeting);
        }
        self.choose_thing(picture, me, (x_px, y_px)).or(nearest.map(|(_, player)| Goal::Player(player)))
    }

    /// Something to gather from near where others meet, of what it lacks if there is any; or else the nearest of all.
    fn choose_thing(&mut self, picture: &Picture, me: &Known, (x_px, y_px): (f64, f64)) -> Option<Goal> {
        let lacks = |thing: &&Object| {
            let kind = usize::from(thing.kind.unwrap_or(0));
            picture.stock.get(kind).zip(ENOUGH.get(kind)).is_none_or(|(stock, enough)| stock < enough)
        };
        let is_here = |thing: &&Object| {
            (thing.x_px - x_px).abs() < GATHER_PX.0 && (thing.y_px - y_px).abs() < GATHER_PX.1
        };
        let nature = || picture.objects.values().filter(|thing| thing.kind.is_some());
        let mut things: Vec<&Object> = nature().filter(is_here).filter(lacks).collect();
        if things.is_empty() {
            things = nature().collect();
        }
        let crowd = |thing: &Object| {
            let near_px = thing.scale_px + SHARE_PX;
            others(picture).filter(|(_, known)| way_px(known, thing.x_px, thing.y_px) < near_px).count()
        };
        let costs_px = |thing: &Object| way_px(me, thing.x_px, thing.y_px) + ALONE_PX * crowd(thing) as f64;
        let mut things: Vec<(f64, u32)> =
            things.into_iter().map(|thing| (costs_px(thing), thing.id)).collect();
        things.sort_by(|one, two| one.0.total_cmp(&two.0));
        things.truncate(CHOICE);
        let chosen = self.dice.below(CHOICE as u32) as usize;
        things.get(chosen).or(things.first()).map(|(_, thing)| Goal::Thing(*thing))
    }

    /// Where to walk, given the way there; around what is in the way.
    fn way(&mut self, towards: u16, me: &Known, now: Duration) -> u16 {
        if self.is_stuck(me) && self.detour.is_none() {
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

    fn is_stuck(&self, me: &Known) -> bool {
        self.walks.is_some() && way_px(me, self.place.0, self.place.1) < STUCK_PX
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

    /// Something that happened and is more pressing than what it is after.
    fn react(&mut self, picture: &Picture, me: &Known, now: Duration) {
        let is_hurt = me.health < std::mem::replace(&mut self.health, me.health);
        let answers = is_hurt
            && !matches!(self.goal, Some(Goal::Player(_)))
            && (self.is_hunter || self.dice.below(ANSWERS) == 0);
        let pressing = if answers {
            let near = nearest_player(picture, me).filter(|(px, _)| *px < ANSWER_PX);
            near.map(|(_, player)| Goal::Player(player))
        } else if self.is_stuck(me) && self.dice.below(2) == 0 {
            in_the_way(picture, me).map(Goal::Thing)
        } else {
            None
        };
        if let Some(goal) = pressing {
            self.goal = Some(goal);
            self.goal_ends = now + PURPOSE[0];
        }
    }

    fn think(&mut self, picture: &Picture, me: &Known, now: Duration, wishes: &mut Vec<Wish>) {
        let at_hand = (weapon(picture), now);
        if let Some(heading) = self.craft.work(picture, me, at_hand, &mut self.dice, wishes) {
            self.looks = Some(heading);
        }
        self.react(picture, me, now);
        let goal = self.goal.filter(|_| now < self.goal_ends);
        let mut target = goal.and_then(|goal| self.target(picture, me, goal));
        if target.is_none() {
            self.goal = self.choose(picture, me);
            self.goal_ends = now + self.dice.between(PURPOSE[0], PURPOSE[1]);
            target = self.goal.and_then(|goal| self.target(picture, me, goal));
        }
        // Where there is nothing and nobody, the middle of the map is as good as anywhere.
        let middle_px = picture.map_size_px / 2.0;
        let nowhere = Target { x_px: middle_px, y_px: middle_px, reach_px: 0.0, swing_px: -1.0 };
        let Target { x_px, y_px, reach_px, swing_px } = target.unwrap_or(nowhere);
        let look = heading_to(me, x_px, y_px);
        let off_px = way_px(me, x_px, y_px);
        let walk = (off_px > reach_px).then(|| self.way(look, me, now));
        let mut strikes = off_px <= swing_px;
        // A settler does not mean to hurt who gathers beside it.
        if strikes && !self.is_hunter && matches!(self.goal, Some(Goal::Thing(_))) {
            strikes = !hits_anyone(picture, me, look);
            if !strikes && self.dice.below(YIELDS) == 0 {
                self.goal = None;
            }
        }
        self.wish(walk, look, strikes, wishes);
        self.place = (me.x_px, me.y_px);
    }
}

/// The weapon that is in the hand: the first one of what it has.
fn weapon(picture: &Picture) -> u8 {
    picture.kit.weapons.first().copied().unwrap_or(rules::FIRST_WEAPON)
}

fn way_px(me: &Known, x_px: f64, y_px: f64) -> f64 {
    (x_px - me.x_px).hypot(y_px - me.y_px)
}

fn others(picture: &Picture) -> impl Iterator<Item = (u32, &Known)> {
    let others = picture.players.iter().filter(|(id, known)| known.in_view && Some(**id) != picture.me);
    others.map(|(id, known)| (*id, known))
}

/// Whether a stroke in that direction would hit somebody, or nearly.
fn hits_anyone(picture: &Picture, me: &Known, look: u16) -> bool {
    let size_px = f64::from(rules::PLAYER_RADIUS_PX * rules::TARGET_PERCENT / 100);
    let range_px = rules::weapon(weapon(picture)).map_or(0.0, |weapon| f64::from(weapon.range_px));
    others(picture).any(|(_, known)| {
        let off = heading_to(me, known.x_px, known.y_px).wrapping_sub(look);
        way_px(me, known.x_px, known.y_px) < range_px + size_px + NEARER_PX
            && off.min(off.wrapping_neg()) <= rules::ARC
    })
}

/// The direction to a place, a binary angle.
fn heading_to(me: &Known, x_px: f64, y_px: f64) -> u16 {
    ((y_px - me.y_px).atan2(x_px - me.x_px) / TAU * 65_536.0) as i32 as u16
}

fn nearest_player(picture: &Picture, me: &Known) -> Option<(f64, u32)> {
    let near = others(picture).map(|(id, known)| (way_px(me, known.x_px, known.y_px), id));
    near.min_by(|one, two| one.0.total_cmp(&two.0))
}

/// The nearest of what was built, if it is so near that it may hold one up.
fn in_the_way(picture: &Picture, me: &Known) -> Option<u32> {
    let built = picture.objects.values().filter(|thing| thing.built.is_some());
    let near = built.map(|thing| (way_px(me, thing.x_px, thing.y_px), thing.id));
    let nearest = near.min_by(|one, two| one.0.total_cmp(&two.0))?;
    (nearest.0 < IN_THE_WAY_PX).then_some(nearest.1)
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

    const TREE: Object =
        Object { id: 70_000, kind: Some(0), x_px: 900.0, y_px: 500.0, scale_px: 150.0, built: None };

    /// A settler that meets nobody far away: the point is where it stands.
    fn player(seed: u64) -> Player {
        let mut player = Player::new(seed, Meeting::at(720.0 / 14_400.0, 500.0 / 14_400.0));
        player.is_hunter = false;
        player
    }

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
        let mut player = player(1);
        assert_eq!(wishes(&mut player, &picture(500.0), 0), [Wish::Walk(Some(0)), Wish::Aim(0)]);
        let near = wishes(&mut player, &picture(720.0), 1);
        assert_eq!(near, [Wish::Walk(None), Wish::Attack { on: true, heading: 0 }]);
        assert_eq!(wishes(&mut player, &picture(720.0), 2), [], "it goes on");
    }

    #[test]
    fn it_goes_after_who_is_near_in_any_direction() {
        let mut hunts = 0;
        for seed in 0..30 {
            let (mut hunter, mut picture) = (player(seed), picture(720.0));
            hunter.is_hunter = true;
            picture.players.insert(2, known(650.0));
            let wishes = wishes(&mut hunter, &picture, 0);
            let towards = Wish::Attack { on: true, heading: 1 << 15 };
            hunts += u32::from(wishes.contains(&towards));
        }
        assert!((10..30).contains(&hunts), "{hunts} of 30 strike");
    }

    #[test]
    fn who_is_stuck_walks_around() {
        let mut player = player(1);
        wishes(&mut player, &picture(500.0), 0);
        let around = wishes(&mut player, &picture(500.0), 1);
        let sides = [Wish::Walk(Some(QUARTER)), Wish::Walk(Some(QUARTER.wrapping_neg()))];
        assert!(around.iter().any(|wish| sides.contains(wish)), "{around:?}");
    }

    #[test]
    fn death_ends_all_and_a_new_life_begins_anew() {
        let mut player = player(1);
        wishes(&mut player, &picture(720.0), 0);
        assert_eq!(wishes(&mut player, &Picture { me: None, ..picture(720.0) }, 1), []);
        let again = wishes(&mut player, &picture(720.0), 2);
        assert!(again.contains(&Wish::Attack { on: true, heading: 0 }), "{again:?}");
    }

    #[test]
    fn far_from_where_others_meet_it_goes_there_and_strikes_nothing() {
        let mut player = Player::new(1, Meeting::at(0.5, 500.0 / 14_400.0));
        player.is_hunter = false;
        assert_eq!(wishes(&mut player, &picture(500.0), 0), [Wish::Walk(Some(0)), Wish::Aim(0)]);
        assert_eq!(player.goal, Some(Goal::Meeting));
    }

    #[test]
    fn a_settler_now_and_then_strikes_back_at_who_hurts_it() {
        let mut answers = 0;
        for seed in 0..60 {
            let (mut player, mut picture) = (player(seed), picture(720.0));
            wishes(&mut player, &picture, 0);
            assert_eq!(player.goal, Some(Goal::Thing(TREE.id)));
            picture.players.insert(2, known(650.0));
            picture.players.get_mut(&1).expect("oneself").health = 75;
            let wishes = wishes(&mut player, &picture, 1);
            let does = wishes.contains(&Wish::Aim(1 << 15));
            assert_eq!(does, player.goal == Some(Goal::Player(2)), "{wishes:?}");
            answers += u32::from(does);
        }
        assert!((5..30).contains(&answers), "{answers} of 60");
    }

    #[test]
    fn a_settler_does_not_strike_through_who_gathers_beside_it() {
        let (mut player, mut picture) = (player(1), picture(720.0));
        picture.players.insert(2, known(760.0));
        let strike = Wish::Attack { on: true, heading: 0 };
        assert!(!wishes(&mut player, &picture, 0).contains(&strike));
        picture.players.insert(2, known(600.0));
        player.goal = Some(Goal::Thing(TREE.id));
        assert!(wishes(&mut player, &picture, 1).contains(&strike), "who is behind is not in the way");
    }

    #[test]
    fn who_is_walled_in_strikes_the_wall() {
        let (mut player, mut picture) = (player(1), picture(500.0));
        let wall = Object { id: 8, kind: None, x_px: 590.0, scale_px: 50.0, built: Some((3, 2)), ..TREE };
        picture.objects.insert(wall.id, wall);
        let strikes = (0..20).any(|second| {
            let wishes = wishes(&mut player, &picture, second);
            player.goal == Some(Goal::Thing(wall.id))
                && wishes.contains(&Wish::Attack { on: true, heading: 0 })
        });
        assert!(strikes);
    }

    #[test]
    fn it_gathers_what_it_lacks() {
        let mut picture = picture(720.0);
        let rock = Object { id: 9, kind: Some(2), x_px: 300.0, scale_px: 80.0, ..TREE };
        picture.objects.insert(rock.id, rock);
        picture.stock = [500, 500, 0, 500];
        let mut player = player(1);
        wishes(&mut player, &picture, 0);
        assert_eq!(player.goal, Some(Goal::Thing(rock.id)), "although the tree is nearer");
    }
}
