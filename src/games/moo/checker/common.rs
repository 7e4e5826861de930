//! What the checks of both layouts share: the picture, and the faults found in the current packet.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::rule::CheckRule;
use crate::games::moo::bot::received::{Leaderboard, Object, Pose};
use crate::games::moo::bot::world_model::WorldModel;
use crate::games::moo::world::rules;

/// A body's distance from the edge of the map is at least its radius; positions are rounded to at
/// most a pixel.
pub(super) const EDGE_PX: f64 = rules::PLAYER_RADIUS_PX as f64 - 1.0;
/// The greatest sustained speed of a body, pixels per second: nothing is faster than a row of boost
/// pads.
const SPEED_PX_PER_S: f64 = rules::BOOST_PX_PER_S as f64;
/// The distance by which a collision can push a body in addition, pixels.
const PUSH_PX: f64 = 2.0 * rules::PLAYER_RADIUS_PX as f64;
/// The speed that hits add to that, pixels per second; and the seconds until friction has consumed
/// it.
const KNOCK_PX_PER_S: f64 = 1_000.0;
const KNOCKBACK_S: f64 = 0.143;

/// A body in a structure is this near to touching it at most, pixels: it moves in the same tick.
const TOUCH_PX: f64 = 25.0;

/// The greatest distance that a player can cover in that time, pixels.
pub(super) fn reach_px(time_s: f64) -> f64 {
    SPEED_PX_PER_S * time_s + KNOCK_PX_PER_S * time_s.min(KNOCKBACK_S) + PUSH_PX
}
/// Most rows of a leaderboard.
const BOARD_ROWS: usize = 10;

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The broken rule.
    pub rule: CheckRule,
    /// The offending packet, in a few words.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule.name(), self.detail)
    }
}

/// The state that both layouts share: the picture, and the faults found in the current packet.
#[derive(Debug, Default)]
pub(super) struct CheckState {
    pub(super) picture: WorldModel,
    /// Whether the player has a body: it was born, and has not died since.
    pub(super) lives: bool,
    /// Whether it has asked for a body since its last birth or death. A client that cannot keep up
    /// may be told of the death of a body that it never saw.
    pub(super) has_requested_join: bool,
    /// Nonces of unanswered pings.
    pub(super) pings: VecDeque<Option<u32>>,
    /// The highest sequence sent.
    pub(super) sent_sequence: u32,
    pub(super) faults: Vec<Fault>,
}

impl CheckState {
    pub(super) fn fault(&mut self, rule: CheckRule, detail: impl Into<String>) {
        self.faults.push(Fault { rule, detail: detail.into() });
    }

    pub(super) fn objects(&mut self, objects: &[Object], is_moomoo: bool) {
        // The MooMoo dialects show scenery to players only; the native dialect also to watchers.
        if is_moomoo && self.picture.me.is_none() {
            self.fault(CheckRule::SpawnOrder, "objects before the client's own player");
        }
        let mut named = BTreeSet::new();
        for Object { id, x_px, y_px, .. } in objects {
            if self.picture.objects.contains_key(id) || !named.insert(id) {
                self.fault(CheckRule::ObjectTwice, format!("object {id}"));
            }
            self.on_map(&format!("object {id}"), *x_px, *y_px, 0.0);
        }
    }

    pub(super) fn gone(&mut self, objects: &[u32]) {
        for object in objects {
            // Natural objects cannot be destroyed.
            if self.picture.objects.get(object).is_none_or(|gone| gone.built.is_none()) {
                self.fault(CheckRule::DestroyedUnknown, format!("object {object}"));
            }
        }
    }

    pub(super) fn leaderboard(&mut self, board: &Leaderboard) {
        let Leaderboard { rows, place, players } = board;
        if !rows.is_sorted_by(|(.., higher), (.., lower)| higher >= lower) {
            self.fault(CheckRule::LeaderboardOrder, format!("not sorted: {rows:?}"));
        }
        let different: BTreeSet<u32> = rows.iter().map(|(player, ..)| *player).collect();
        if different.len() != rows.len() || rows.len() > BOARD_ROWS {
            self.fault(
                CheckRule::LeaderboardOrder,
                format!("{} rows, {} players in them", rows.len(), different.len()),
            );
        }
        if let Some(players) = *players {
            let own_row = self.picture.me.and_then(|me| rows.iter().position(|(player, ..)| *player == me));
            let of_row = own_row.map(|row| row as u32 + 1);
            let is_place =
                |place: u32| (1..=players).contains(&place) && of_row.is_none_or(|row| row == place);
            if rows.len() > players as usize || place.is_some_and(|place| !is_place(place)) {
                self.fault(
                    CheckRule::LeaderboardOrder,
                    format!("place {place:?} of {players}, in row {of_row:?}"),
                );
            }
        }
    }

    pub(super) fn health(&mut self, list: &[(u32, u32)]) {
        for (player, health) in list {
            match self.picture.players.get(player).map(|known| known.max_health) {
                None => self.fault(CheckRule::Health, format!("player {player} is not known")),
                Some(most) if *health > most => {
                    self.fault(CheckRule::Health, format!("player {player} has {health} of {most}"));
                }
                Some(_) => {}
            }
        }
    }

    /// The player's own body appears, for the first time or again; `before` is the body that it had.
    pub(super) fn on_spawn(&mut self, player: u32, before: Option<u32>) {
        if self.lives || before.is_some() {
            self.fault(
                CheckRule::SpawnOrder,
                format!("the client is {player}; it was {before:?} and did not receive its death"),
            );
        }
        (self.lives, self.has_requested_join) = (true, false);
    }

    pub(super) fn death(&mut self) {
        let may_live = std::mem::take(&mut self.lives) | std::mem::take(&mut self.has_requested_join);
        if !may_live {
            self.fault(CheckRule::Death, "died while not alive");
        }
    }

    pub(super) fn on_map(&mut self, what: &str, x_px: f64, y_px: f64, edge_px: f64) {
        let map = edge_px..=self.picture.map_size_px - edge_px;
        if !map.contains(&x_px) || !map.contains(&y_px) {
            self.fault(CheckRule::OffMap, format!("{what} at {x_px}, {y_px}"));
        }
    }

    /// A player is at a new place, and had `time_s` seconds to get there; `None` if any distance is
    /// allowed. `before` is where it was; only a known player may move.
    pub(super) fn check_movement(&mut self, pose: &Pose, before: Option<(f64, f64)>, time_s: Option<f64>) {
        let Pose { player, x_px, y_px, .. } = *pose;
        self.on_map(&format!("player {player}"), x_px, y_px, EDGE_PX);
        let Some((before_x_px, before_y_px)) = before else {
            self.fault(CheckRule::UpdateUnknown, format!("player {player}"));
            return;
        };
        let way_px = (x_px - before_x_px).hypot(y_px - before_y_px);
        // Other bodies and objects can push a body into a structure, which then puts it out on its
        // other side.
        let across_px = |object: &Object| {
            let touch_px = object.scale_px + f64::from(rules::PLAYER_RADIUS_PX);
            let is_near = (before_x_px - object.x_px).hypot(before_y_px - object.y_px) <= touch_px + TOUCH_PX;
            (is_near && object.built.is_some()).then_some(2.0 * touch_px)
        };
        let through_px = || self.picture.objects.values().filter_map(across_px).fold(0.0, f64::max);
        let is_too_far = |time_s: &f64| {
            let reach_px = reach_px(*time_s);
            way_px > reach_px && way_px > reach_px + through_px()
        };
        if let Some(time_s) = time_s.filter(is_too_far) {
            self.fault(CheckRule::TooFast, format!("player {player}: {way_px:.1} px in {time_s:.3} s"));
        }
    }

    /// Where a player was, if it is known.
    pub(super) fn place(&self, player: u32) -> Option<(f64, f64)> {
        self.picture.players.get(&player).map(|known| (known.x_px, known.y_px))
    }
}
