//! A bot that plays: it walks to a meeting point, gathers, builds, pursues nearby players and
//! objects, attacks and shoots, and sometimes chats.
//!
//! Some bots are hunters; most are settlers, which rarely attack first. The input is the
//! [`WorldModel`] and the time; the output is [`Intent`]s. A bot decides about five times per
//! second, like a human player. It handles no packets, reads no clock, and knows only the world
//! model.

mod build_behavior;
mod clan_behavior;
mod meeting_points;
mod perception;

pub use meeting_points::MeetingPoints;

use std::time::Duration;

use self::build_behavior::BuildBehavior;
use self::clan_behavior::ClanBehavior;
use self::perception::{
    APPROACH_MARGIN_PX, Goal, distance_px, heading_to, hits_any_player, in_the_way, nearest_animal,
    nearest_enemy, other_players, player_size_px, weapon_for,
};
use super::agent::is_bot_name;
use super::policy::{Chatter, Intent, Policy};
use super::received::Object;
use super::world_model::{ModelPlayer, WorldModel};
use crate::game::BotRng;
use crate::games::moo::world::rules::{self, AnimalKind};

/// Minimum and maximum time between two decisions.
const DECISION_INTERVAL: [Duration; 2] = [Duration::from_millis(150), Duration::from_millis(250)];
/// Minimum and maximum time for which a bot pursues one goal.
const GOAL_TIME: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(9)];
/// One in this many bots is a hunter.
const HUNTER_ONE_IN: u32 = 8;
/// One in this many choices of a hunter is an object instead of a nearby player.
const OBJECT_ONE_IN: u32 = 3;
/// One in this many choices of a settler is a nearby player.
const ATTACK_ONE_IN: u32 = 40;
/// A hurt settler retaliates one in this many times.
const STRIKE_BACK_ONE_IN: u32 = 4;
/// Distance within which a bot pursues players, in px.
const HUNT_PX: f64 = 700.0;
/// One in this many choices is a nearby animal.
const ANIMAL_ONE_IN: u32 = 6;
/// Minimum distance to which a bot with a projectile weapon approaches, in px.
const SHOOT_NEAR_PX: f64 = 300.0;
/// Maximum distance from which a bot shoots, in px.
const SHOOT_FAR_PX: f64 = 600.0;
/// Distance within which a hurt bot retaliates against players, in px.
const STRIKE_BACK_PX: f64 = 250.0;
/// Distance within which a hurt bot that spares visitors retaliates against a visitor, in px. A
/// visitor farther away cannot have hit the bot.
const VISITOR_PX: f64 = 130.0;
/// Maximum distance from the meeting point per axis before a bot returns, in px.
const MAX_DISTANCE_PX: (f64, f64) = (1_200.0, 800.0);
/// Distance within which the meeting point counts as reached, in px.
const ARRIVAL_PX: f64 = 300.0;
/// Maximum distance per axis between the meeting point and an object to gather from, in px, so that
/// players at the point stay in view.
const GATHER_PX: (f64, f64) = (1_000.0, 600.0);
/// Number of best objects among which a bot chooses.
const CANDIDATE_OBJECTS: usize = 3;
/// Detour that a bot accepts for each other bot at an object, in px.
const DETOUR_PER_BOT_PX: f64 = 300.0;
/// Distance from the rim of an object within which another bot counts as using it, in px.
const SHARE_PX: f64 = 130.0;
/// One in this many times that a swing would hit a player, a settler leaves its object instead.
const LEAVE_OBJECT_ONE_IN: u32 = 5;
/// Amount of each resource that a bot considers enough.
const RESOURCE_TARGETS: [u32; 4] = [100, 30, 60, 20];
/// A bot starts to swing when its target is at most this far out of range, in px.
const EARLY_STRIKE_PX: f64 = 50.0;
/// Maximum distance that a blocked bot moves between two decisions, in px.
const BLOCKED_PX: f64 = 4.0;
/// Duration of a detour around an obstacle.
const DETOUR: Duration = Duration::from_millis(700);
/// A quarter of a turn.
const QUARTER_TURN: u16 = 1 << 14;
/// Minimum difference for which the direction of view is updated: 2 degrees.
const MIN_TURN: u16 = 364;

/// Position and distances of a goal.
struct GoalTarget {
    x_px: f64,
    y_px: f64,
    reach_px: f64,
    /// Maximum distance for a swing, in px; negative if there is nothing to hit.
    swing_px: f64,
}

/// Decides for a bot that gathers, builds and fights.
#[derive(Debug)]
pub struct PlayPolicy {
    rng: BotRng,
    chatter: Chatter,
    meeting_points: MeetingPoints,
    is_hunter: bool,
    spares_visitors: bool,
    builder: BuildBehavior,
    clan_behavior: ClanBehavior,
    /// The last selected weapon.
    holds: u8,
    goal: Option<Goal>,
    goal_ends: Duration,
    decides_at: Duration,
    place: (f64, f64),
    health: u32,
    detour: Option<(Duration, u16)>,
    walks: Option<u16>,
    looks: Option<u16>,
    attacks: bool,
}

impl PlayPolicy {
    /// Creates the policy. Equal seeds and equal worlds give equal decisions.
    pub fn new(seed: u64, meeting: MeetingPoints) -> PlayPolicy {
        let mut rng = BotRng::new(seed);
        let is_hunter = rng.below(HUNTER_ONE_IN) == 0;
        let company = ClanBehavior::new(&mut rng);
        PlayPolicy {
            rng,
            chatter: Chatter::default(),
            meeting_points: meeting,
            is_hunter,
            spares_visitors: false,
            builder: BuildBehavior::default(),
            clan_behavior: company,
            holds: rules::FIRST_WEAPON,
            goal: None,
            goal_ends: Duration::ZERO,
            decides_at: Duration::ZERO,
            place: (0.0, 0.0),
            health: 0,
            detour: None,
            walks: None,
            looks: None,
            attacks: false,
        }
    }

    /// The same policy, except that players that are not bots are attacked only in retaliation.
    pub fn sparing_visitors(mut self) -> PlayPolicy {
        self.spares_visitors = true;
        self
    }

    fn spares(&self, known: &ModelPlayer) -> bool {
        self.spares_visitors && !is_bot_name(&known.name)
    }

    /// The nearest player that the bot may attack.
    fn nearest_target(&self, world_model: &WorldModel, me: &ModelPlayer) -> Option<(f64, u32)> {
        nearest_enemy(world_model, me, |known| !self.spares(known))
    }

    /// The nearest player that may have hurt the bot. A spared visitor is returned only if no other
    /// player is near.
    fn attacker(&self, world_model: &WorldModel, me: &ModelPlayer) -> Option<(f64, u32)> {
        let near = |foe: Option<(f64, u32)>, max_px| foe.filter(|(px, _)| *px < max_px);
        let visitor = || near(nearest_enemy(world_model, me, |known| self.spares(known)), VISITOR_PX);
        near(self.nearest_target(world_model, me), STRIKE_BACK_PX).or_else(visitor)
    }

    /// Whether a swing in this direction would hit a player that the bot does not want to hurt.
    /// While a settler gathers, it wants to hurt no player.
    fn would_hit_others(&self, world_model: &WorldModel, me: &ModelPlayer, look: u16) -> bool {
        let gathers = !self.is_hunter && matches!(self.goal, Some(Goal::Object(_)));
        let is_goal = |known: &ModelPlayer| {
            let goal = self.goal.and_then(|goal| world_model.players.get(&goal.player()?));
            goal.is_some_and(|goal| goal == known)
        };
        hits_any_player(world_model, me, look, |known| gathers || self.spares(known) && !is_goal(known))
    }

    fn target(&self, world_model: &WorldModel, me: &ModelPlayer, goal: Goal) -> Option<GoalTarget> {
        let arm = rules::weapon(weapon_for(world_model, goal))?;
        let reach = |size_px: f64| size_px + f64::from(arm.range_px) - APPROACH_MARGIN_PX;
        let foe = |x_px, y_px, reach_px| match arm.shoots {
            Some(_) => GoalTarget { x_px, y_px, reach_px: SHOOT_NEAR_PX, swing_px: SHOOT_FAR_PX },
            None => GoalTarget { x_px, y_px, reach_px, swing_px: reach_px + EARLY_STRIKE_PX },
        };
        match goal {
            Goal::Object(object) => {
                let object = world_model.objects.get(&object)?;
                let reach_px = reach(object.scale_px);
                Some(GoalTarget { x_px: object.x_px, y_px: object.y_px, reach_px, swing_px: reach_px })
            }
            Goal::Player(player) => {
                let is_target = |known: &&ModelPlayer| known.in_view && !known.is_protected;
                let known = world_model.players.get(&player).filter(is_target)?;
                let is_mate = world_model.clan_state.is_mate(player);
                (!is_mate).then(|| foe(known.x_px, known.y_px, reach(player_size_px()) - APPROACH_MARGIN_PX))
            }
            Goal::Animal(animal) => {
                let animal = world_model.animals.get(&animal)?;
                let kind = AnimalKind::from_number(animal.kind)?.animal();
                Some(foe(animal.x_px, animal.y_px, reach(f64::from(kind.radius_px))))
            }
            Goal::Meeting => {
                let (x_px, y_px) = self.meeting_points.nearest(world_model.map_size_px, me.x_px, me.y_px);
                let is_arrived = distance_px(me, x_px, y_px) < ARRIVAL_PX;
                (!is_arrived).then_some(GoalTarget { x_px, y_px, reach_px: 0.0, swing_px: -1.0 })
            }
        }
    }

    fn choose(&mut self, world_model: &WorldModel, me: &ModelPlayer) -> Option<Goal> {
        let nearest = self.nearest_target(world_model, me).filter(|(px, _)| *px < HUNT_PX);
        let hunts = if self.is_hunter {
            self.rng.below(OBJECT_ONE_IN) != 0
        } else {
            self.rng.below(ATTACK_ONE_IN) == 0
        };
        if let Some((_, player)) = nearest.filter(|_| hunts) {
            return Some(Goal::Player(player));
        }
        let prey = nearest_animal(world_model, me).filter(|(px, _)| *px < HUNT_PX);
        if let Some((_, animal)) = prey.filter(|_| self.rng.below(ANIMAL_ONE_IN) == 0) {
            return Some(Goal::Animal(animal));
        }
        let (x_px, y_px) = self.meeting_points.nearest(world_model.map_size_px, me.x_px, me.y_px);
        if (me.x_px - x_px).abs() > MAX_DISTANCE_PX.0 || (me.y_px - y_px).abs() > MAX_DISTANCE_PX.1 {
            return Some(Goal::Meeting);
        }
        self.choose_object(world_model, me, (x_px, y_px)).or(nearest.map(|(_, player)| Goal::Player(player)))
    }

    /// Chooses an object to gather from: near the meeting point and with a resource that the bot
    /// lacks, if possible; otherwise the nearest known object.
    fn choose_object(
        &mut self,
        world_model: &WorldModel,
        me: &ModelPlayer,
        (x_px, y_px): (f64, f64),
    ) -> Option<Goal> {
        let lacks = |object: &&Object| {
            let kind = usize::from(object.kind.unwrap_or(0));
            world_model
                .stock
                .get(kind)
                .zip(RESOURCE_TARGETS.get(kind))
                .is_none_or(|(stock, enough)| stock < enough)
        };
        let is_near = |object: &&Object| {
            (object.x_px - x_px).abs() < GATHER_PX.0 && (object.y_px - y_px).abs() < GATHER_PX.1
        };
        let nature = || world_model.objects.values().filter(|object| object.kind.is_some());
        let mut objects: Vec<&Object> = nature().filter(is_near).filter(lacks).collect();
        if objects.is_empty() {
            objects = nature().collect();
        }
        let crowd = |object: &Object| {
            let near_px = object.scale_px + SHARE_PX;
            other_players(world_model)
                .filter(|(_, known)| distance_px(known, object.x_px, object.y_px) < near_px)
                .count()
        };
        let costs_px = |object: &Object| {
            distance_px(me, object.x_px, object.y_px) + DETOUR_PER_BOT_PX * crowd(object) as f64
        };
        let mut objects: Vec<(f64, u32)> =
            objects.into_iter().map(|object| (costs_px(object), object.id)).collect();
        objects.sort_by(|one, two| one.0.total_cmp(&two.0));
        objects.truncate(CANDIDATE_OBJECTS);
        let chosen = self.rng.below(CANDIDATE_OBJECTS as u32) as usize;
        objects.get(chosen).or(objects.first()).map(|(_, object)| Goal::Object(*object))
    }

    /// The direction to walk, given the direction of the goal. Leads around obstacles.
    fn walking_direction(&mut self, towards: u16, me: &ModelPlayer, now: Duration) -> u16 {
        if self.is_blocked(me) && self.detour.is_none() {
            let side = if self.rng.below(2) == 0 { QUARTER_TURN } else { QUARTER_TURN.wrapping_neg() };
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

    fn is_blocked(&self, me: &ModelPlayer) -> bool {
        self.walks.is_some() && distance_px(me, self.place.0, self.place.1) < BLOCKED_PX
    }

    /// Appends an intent for each change of direction, view or attack.
    fn intent(&mut self, walk: Option<u16>, look: u16, attack: bool, intents: &mut Vec<Intent>) {
        if self.walks != walk {
            intents.push(Intent::Walk(walk));
        }
        let off = self.looks.map(|looks| looks.wrapping_sub(look));
        if off.is_none_or(|off| off.min(off.wrapping_neg()) > MIN_TURN) {
            intents.push(Intent::Aim(look));
            self.looks = Some(look);
        }
        if self.attacks != attack {
            intents.push(Intent::Attack { on: attack, heading: look });
        }
        (self.walks, self.attacks) = (walk, attack);
    }

    /// Selects the weapon for the current goal.
    fn select_weapon(&mut self, world_model: &WorldModel, intents: &mut Vec<Intent>) {
        let arm = self.goal.map_or(self.holds, |goal| weapon_for(world_model, goal));
        // An upgrade may have removed the selected weapon.
        if self.holds != arm && world_model.inventory.weapons.contains(&arm) {
            self.holds = arm;
            intents.push(Intent::Select { id: arm, is_weapon: true });
        }
    }

    /// Replaces the goal after an event with a higher priority.
    fn react(&mut self, world_model: &WorldModel, me: &ModelPlayer, now: Duration) {
        let is_hurt = me.health < std::mem::replace(&mut self.health, me.health);
        let fights = matches!(self.goal, Some(Goal::Player(_) | Goal::Animal(_)));
        let answers = is_hurt && !fights && (self.is_hunter || self.rng.below(STRIKE_BACK_ONE_IN) == 0);
        let pressing = if answers {
            let foe = self.attacker(world_model, me).map(|(px, player)| (px, Goal::Player(player)));
            let animal = nearest_animal(world_model, me).map(|(px, animal)| (px, Goal::Animal(animal)));
            let near = foe.into_iter().chain(animal).filter(|(px, _)| *px < STRIKE_BACK_PX);
            near.min_by(|one, two| one.0.total_cmp(&two.0)).map(|(_, goal)| goal)
        } else if self.is_blocked(me) && self.rng.below(2) == 0 {
            in_the_way(world_model, me).map(Goal::Object)
        } else {
            None
        };
        if let Some(goal) = pressing {
            self.goal = Some(goal);
            self.goal_ends = now + GOAL_TIME[0];
        }
    }

    fn decide_goal(
        &mut self,
        world_model: &WorldModel,
        me: &ModelPlayer,
        now: Duration,
        intents: &mut Vec<Intent>,
    ) {
        if let Some(heading) = self.builder.work(world_model, me, (self.holds, now), &mut self.rng, intents) {
            self.looks = Some(heading);
        }
        self.clan_behavior.act(world_model, now, &mut self.rng, intents);
        self.react(world_model, me, now);
        let goal = self.goal.filter(|_| now < self.goal_ends);
        let mut target = goal.and_then(|goal| self.target(world_model, me, goal));
        if target.is_none() {
            self.goal = self.choose(world_model, me);
            self.goal_ends = now + self.rng.between(GOAL_TIME[0], GOAL_TIME[1]);
            target = self.goal.and_then(|goal| self.target(world_model, me, goal));
        }
        self.select_weapon(world_model, intents);
        // Without any object or player, the bot walks to the middle of the map.
        let middle_px = world_model.map_size_px / 2.0;
        let nowhere = GoalTarget { x_px: middle_px, y_px: middle_px, reach_px: 0.0, swing_px: -1.0 };
        let GoalTarget { x_px, y_px, reach_px, swing_px } = target.unwrap_or(nowhere);
        let look = heading_to(me, x_px, y_px);
        let off_px = distance_px(me, x_px, y_px);
        let walk = (off_px > reach_px).then(|| self.walking_direction(look, me, now));
        let mut strikes = off_px <= swing_px;
        if strikes && self.would_hit_others(world_model, me, look) {
            strikes = false;
            if self.rng.below(LEAVE_OBJECT_ONE_IN) == 0 {
                self.goal = None;
            }
        }
        self.intent(walk, look, strikes, intents);
        self.place = (me.x_px, me.y_px);
    }
}

impl Policy for PlayPolicy {
    fn decide(&mut self, world_model: &WorldModel, now: Duration, intents: &mut Vec<Intent>) {
        let Some(me) = world_model.own() else {
            // Death ends all actions in progress.
            (self.goal, self.walks, self.looks, self.attacks) = (None, None, None, false);
            self.holds = rules::FIRST_WEAPON;
            return;
        };
        if now >= self.decides_at {
            self.decides_at = now + self.rng.between(DECISION_INTERVAL[0], DECISION_INTERVAL[1]);
            self.decide_goal(world_model, me, now, intents);
        }
        self.chatter.maybe_chat(&mut self.rng, now, intents);
    }
}

#[cfg(test)]
mod tests;
