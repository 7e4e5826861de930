//! Policies decide how a bot moves, looks and chats, from the [`WorldModel`] and the time.
//!
//! The result is a list of [`Intent`]s, which [`super::agent`] converts to packets. A policy does
//! not depend on packets, sockets or protocol rules, and reads no clock.

use std::f64::consts::TAU;
use std::time::Duration;

use super::world_model::{ModelPlayer, WorldModel};
use crate::game::BotRng;
use crate::games::moo::client_packet::ClanAction;

/// An action that a policy wants its body to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intent {
    /// Walks in a direction, a binary angle; `None` stops.
    Walk(Option<u16>),
    /// Looks in a direction, a binary angle.
    Aim(u16),
    /// Starts or stops attacking repeatedly in a direction, a binary angle.
    Attack {
        /// Whether to start (`true`) or stop.
        on: bool,
        /// The direction of the attack.
        heading: u16,
    },
    /// Selects a weapon or an item. Selecting the selected item again returns to the weapon.
    Select {
        /// An ID of `rules::WEAPONS` or `rules::ITEMS`.
        id: u8,
        /// Whether the ID is a weapon ID.
        is_weapon: bool,
    },
    /// Chooses an upgrade: a weapon ID, or an item ID plus `rules::CHOICE_ITEMS`.
    Upgrade(u8),
    /// Executes a clan command.
    Clan(ClanAction),
    /// Sends the bot's position to its clan.
    Ping,
    /// Sends a chat message.
    Chat(String),
}

/// Decides the actions of one body.
pub trait Policy: Send {
    /// Called as soon as the body exists, and then at least about ten times per second. Intents are
    /// executed in order.
    fn decide(&mut self, world_model: &WorldModel, now: Duration, intents: &mut Vec<Intent>);
}

/// Never moves and never sends a chat message.
#[derive(Debug, Default)]
pub struct StandPolicy;

impl Policy for StandPolicy {
    fn decide(&mut self, _: &WorldModel, _: Duration, _: &mut Vec<Intent>) {}
}

/// Minimum and maximum time between two changes of direction.
const STRIDE_TIME: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(2)];
/// Minimum and maximum time between two chat messages. Two hundred bots then send about five
/// messages per second.
const CHAT_INTERVAL: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(60)];
/// One in this many strides is a rest.
const REST_ONE_IN: u32 = 8;
/// Maximum distance of a bot from its home, in px: well within the view window, which extends 1,248
/// × 702 px to each side.
const STRAY_PX: f64 = 350.0;
/// Number of other players in view below which a bot walks to its gathering point.
const MIN_COMPANY: usize = 12;
/// One eighth of a turn.
const EIGHTH: u16 = 1 << 13;
/// The chat messages of bots.
const LINES: [&str; 6] = ["hello", "nice day", "which way?", "over here", "wait for me", "so many trees"];

/// Wanders in changing directions near a home position: its spawn position. If too few players are
/// there, the home is the nearest gathering point. All wanderers of a crowd have the same gathering
/// points.
#[derive(Debug)]
pub struct WanderPolicy {
    rng: BotRng,
    /// Number of gathering points along each side of the map.
    points_per_side: u32,
    home: Option<(f64, f64)>,
    stride_ends: Duration,
    tongue: Chatter,
}

/// Sends random chat messages.
#[derive(Debug, Default)]
pub(super) struct Chatter {
    silence_ends: Option<Duration>,
}

impl Chatter {
    /// Appends a chat message if one is due.
    pub(super) fn maybe_chat(&mut self, rng: &mut BotRng, now: Duration, intents: &mut Vec<Intent>) {
        // The first message is sent at a random time within the first interval, so that the bots of
        // a crowd do not all chat at once.
        let first = rng.between(Duration::from_secs(2), CHAT_INTERVAL[1]);
        let silence_ends = *self.silence_ends.get_or_insert(now + first);
        if now >= silence_ends {
            self.silence_ends = Some(now + rng.between(CHAT_INTERVAL[0], CHAT_INTERVAL[1]));
            intents.extend(rng.choose(&LINES).map(|line| Intent::Chat((*line).to_owned())));
        }
    }
}

impl WanderPolicy {
    /// Creates the policy of a bot in a crowd of `count`. Equal seeds and equal worlds give equal
    /// decisions.
    pub fn new(seed: u64, count: usize) -> WanderPolicy {
        // About fifty bots per point: enough company, and space to walk.
        let points_per_side = (count as f64 / 50.0).sqrt().round().max(1.0) as u32;
        let rng = BotRng::new(seed);
        WanderPolicy {
            rng,
            points_per_side,
            home: None,
            stride_ends: Duration::ZERO,
            tongue: Chatter::default(),
        }
    }

    /// The gathering point nearest to the bot.
    fn gathering(&self, map_size_px: f64, me: &ModelPlayer) -> (f64, f64) {
        let cell_px = map_size_px / f64::from(self.points_per_side);
        let middle = |at_px: f64| {
            let cell = (at_px / cell_px).floor().clamp(0.0, f64::from(self.points_per_side - 1));
            (cell + 0.5) * cell_px
        };
        (middle(me.x_px), middle(me.y_px))
    }

    fn direction(&mut self, world_model: &WorldModel, me: &ModelPlayer) -> Option<u16> {
        let home = *self.home.get_or_insert((me.x_px, me.y_px));
        let home = if world_model.others_in_view < MIN_COMPANY {
            self.gathering(world_model.map_size_px, me)
        } else {
            home
        };
        self.home = Some(home);
        let (dx, dy) = (home.0 - me.x_px, home.1 - me.y_px);
        if dx.hypot(dy) > STRAY_PX {
            // The direction deviates from the straight line by up to an eighth of a turn. This also
            // leads the bot around obstacles.
            let homeward = (dy.atan2(dx) / TAU * 65_536.0) as i32 as u16;
            let aside = self.rng.below(2 * u32::from(EIGHTH) + 1) as u16;
            return Some(homeward.wrapping_add(aside).wrapping_sub(EIGHTH));
        }
        match self.rng.below(REST_ONE_IN) {
            0 => None,
            1..=3 => Some(self.rng.bits() as u16),
            _ => Some((self.rng.below(8) as u16).wrapping_mul(EIGHTH)),
        }
    }
}

impl Policy for WanderPolicy {
    fn decide(&mut self, world_model: &WorldModel, now: Duration, intents: &mut Vec<Intent>) {
        let Some(me) = world_model.own() else { return };
        if now >= self.stride_ends {
            self.stride_ends = now + self.rng.between(STRIDE_TIME[0], STRIDE_TIME[1]);
            let direction = self.direction(world_model, me);
            intents.push(Intent::Walk(direction));
            intents.push(Intent::Aim(direction.unwrap_or(self.rng.bits() as u16)));
        }
        self.tongue.maybe_chat(&mut self.rng, now, intents);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world_model(x_px: f64, y_px: f64, others_in_view: usize) -> WorldModel {
        let (health, max_health) = (100, 100);
        let me = ModelPlayer {
            name: String::new(),
            x_px,
            y_px,
            heading: 0,
            in_view: true,
            health,
            max_health,
            is_protected: false,
        };
        let players = [(1, me)].into();
        WorldModel { own_player_id: Some(1), players, others_in_view, ..WorldModel::new() }
    }

    /// Executes the intents at walking speed for `seconds`. Returns the final position.
    fn walk(wanderer: &mut WanderPolicy, mut world_model: WorldModel, seconds: u64) -> (f64, f64) {
        let mut direction = None;
        for tenth in 0..seconds * 10 {
            let mut intents = Vec::new();
            wanderer.decide(&world_model, Duration::from_millis(tenth * 100), &mut intents);
            for intent in intents {
                if let Intent::Walk(walk) = intent {
                    direction = walk;
                }
            }
            let me = world_model.players.get_mut(&1).expect("oneself");
            if let Some(angle) = direction {
                let angle = f64::from(angle) / 65_536.0 * TAU;
                me.x_px += 32.8 * angle.cos();
                me.y_px += 32.8 * angle.sin();
            }
        }
        let me = &world_model.players[&1];
        (me.x_px, me.y_px)
    }

    #[test]
    fn in_company_it_stays_where_it_was_born() {
        for seed in 0..20 {
            let (x, y) = walk(&mut WanderPolicy::new(seed, 200), world_model(3_000.0, 9_000.0, 20), 60);
            let strayed = (x - 3_000.0).hypot(y - 9_000.0);
            assert!(strayed < STRAY_PX + 660.0, "seed {seed} strayed {strayed} px");
            assert!(strayed > 0.0);
        }
    }

    #[test]
    fn alone_it_goes_to_the_nearest_gathering_point() {
        for seed in 0..20 {
            let (x, y) = walk(&mut WanderPolicy::new(seed, 200), world_model(500.0, 14_000.0, 0), 40);
            let off = (x - 3_600.0).hypot(y - 10_800.0);
            assert!(off < STRAY_PX + 660.0, "seed {seed} is {off} px off");
        }
    }

    #[test]
    fn it_sends_chat_rarely_and_not_without_a_body() {
        let (mut wanderer, mut intents) = (WanderPolicy::new(1, 1), Vec::new());
        wanderer.decide(&WorldModel::new(), Duration::from_secs(100), &mut intents);
        assert_eq!(intents, []);
        for second in 0..600 {
            wanderer.decide(&world_model(100.0, 100.0, 20), Duration::from_secs(second), &mut intents);
        }
        let lines = intents.iter().filter(|intent| matches!(intent, Intent::Chat(_))).count();
        assert!((10..=30).contains(&lines), "{lines} lines in ten minutes");
    }
}
