//! State shared by the checks of both layouts: the world model, and the faults in the current
//! packet.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::rule::CheckRule;
use crate::games::moo::bot::received::{Leaderboard, Object, Pose};
use crate::games::moo::bot::world_model::WorldModel;
use crate::games::moo::world::rules;

/// Minimum distance between a body's centre and the edge of the map, in px: the body's radius,
/// minus at most a pixel of rounding.
pub(super) const EDGE_PX: f64 = rules::PLAYER_RADIUS_PX as f64 - 1.0;
/// Maximum sustained speed of a body, in px per second: the speed on a row of boost pads.
const SPEED_PX_PER_S: f64 = rules::BOOST_PX_PER_S as f64;
/// Maximum additional distance by which a collision pushes a body, in px.
const PUSH_PX: f64 = 2.0 * rules::PLAYER_RADIUS_PX as f64;
/// Maximum additional speed of a body that is knocked back by hits, in px per second.
const KNOCKBACK_PX_PER_S: f64 = 1_000.0;
/// The whole distance of such a knockback, divided by [`KNOCKBACK_PX_PER_S`], in seconds.
const KNOCKBACK_S: f64 = 0.143;

/// Maximum gap between a body and a structure that may have pushed it, in px. It is not 0, because
/// the body also moves in the same tick.
const TOUCH_PX: f64 = 25.0;

/// Maximum distance that a player can cover in a time, in px.
pub(super) fn reach_px(time_s: f64) -> f64 {
    SPEED_PX_PER_S * time_s + KNOCKBACK_PX_PER_S * time_s.min(KNOCKBACK_S) + PUSH_PX
}
/// Maximum number of rows of a leaderboard.
const BOARD_ROWS: usize = 10;

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The broken rule.
    pub rule: CheckRule,
    /// A one-line description of the packet.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.rule.name(), self.detail)
    }
}

/// The world model, and the faults in the current packet.
#[derive(Debug, Default)]
pub(super) struct CheckState {
    pub(super) world_model: WorldModel,
    /// Whether the client's player is alive.
    pub(super) is_alive: bool,
    /// Whether the client has requested a body since the last spawn or death. A slow client may
    /// receive the death of a body without having received its spawn.
    pub(super) has_requested_join: bool,
    /// Nonces of pings without a pong.
    pub(super) pings: VecDeque<Option<u32>>,
    /// Highest sequence number sent.
    pub(super) sent_sequence: u32,
    pub(super) faults: Vec<Fault>,
}

impl CheckState {
    pub(super) fn fault(&mut self, rule: CheckRule, detail: impl Into<String>) {
        self.faults.push(Fault { rule, detail: detail.into() });
    }

    pub(super) fn objects(&mut self, objects: &[Object], is_moomoo: bool) {
        // The MooMoo dialects send objects to players only; the native dialect also to spectators.
        if is_moomoo && self.world_model.own_player_id.is_none() {
            self.fault(CheckRule::SpawnOrder, "objects before the client's own player");
        }
        let mut named = BTreeSet::new();
        for Object { id, x_px, y_px, .. } in objects {
            if self.world_model.objects.contains_key(id) || !named.insert(id) {
                self.fault(CheckRule::ObjectTwice, format!("object {id}"));
            }
            self.check_on_map(&format!("object {id}"), *x_px, *y_px, 0.0);
        }
    }

    pub(super) fn remove_objects(&mut self, objects: &[u32]) {
        for object in objects {
            // Scenery cannot be destroyed.
            if self.world_model.objects.get(object).is_none_or(|gone| gone.structure.is_none()) {
                self.fault(CheckRule::DestroyedUnknown, format!("object {object}"));
            }
        }
    }

    pub(super) fn leaderboard(&mut self, board: &Leaderboard) {
        let Leaderboard { rows, rank, players } = board;
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
            let own_row = self
                .world_model
                .own_player_id
                .and_then(|me| rows.iter().position(|(player, ..)| *player == me));
            let of_row = own_row.map(|row| row as u32 + 1);
            let is_rank = |rank: u32| (1..=players).contains(&rank) && of_row.is_none_or(|row| row == rank);
            if rows.len() > players as usize || rank.is_some_and(|rank| !is_rank(rank)) {
                self.fault(
                    CheckRule::LeaderboardOrder,
                    format!("rank {rank:?} of {players}, in row {of_row:?}"),
                );
            }
        }
    }

    pub(super) fn health(&mut self, list: &[(u32, u32)]) {
        for (player, health) in list {
            match self.world_model.players.get(player).map(|known| known.max_health) {
                None => self.fault(CheckRule::Health, format!("player {player} is not known")),
                Some(max) if *health > max => {
                    self.fault(CheckRule::Health, format!("player {player} has {health} of {max}"));
                }
                Some(_) => {}
            }
        }
    }

    /// Checks the spawn or respawn of the client's player. `before` is its previous body.
    pub(super) fn on_spawn(&mut self, player: u32, before: Option<u32>) {
        if self.is_alive || before.is_some() {
            self.fault(
                CheckRule::SpawnOrder,
                format!("the client is {player}; it was {before:?} and did not receive its death"),
            );
        }
        (self.is_alive, self.has_requested_join) = (true, false);
    }

    pub(super) fn on_death(&mut self) {
        let may_live = std::mem::take(&mut self.is_alive) | std::mem::take(&mut self.has_requested_join);
        if !may_live {
            self.fault(CheckRule::Death, "died while not alive");
        }
    }

    pub(super) fn check_on_map(&mut self, what: &str, x_px: f64, y_px: f64, edge_px: f64) {
        let map = edge_px..=self.world_model.map_size_px - edge_px;
        if !map.contains(&x_px) || !map.contains(&y_px) {
            self.fault(CheckRule::OffMap, format!("{what} at {x_px}, {y_px}"));
        }
    }

    /// Checks a new position of a player. `before` is the previous position, which must be known.
    /// `time_s` is the time of the movement; `None` allows any distance.
    pub(super) fn check_movement(&mut self, pose: &Pose, before: Option<(f64, f64)>, time_s: Option<f64>) {
        let Pose { player, x_px, y_px, .. } = *pose;
        self.check_on_map(&format!("player {player}"), x_px, y_px, EDGE_PX);
        let Some((before_x_px, before_y_px)) = before else {
            self.fault(CheckRule::UpdateUnknown, format!("player {player}"));
            return;
        };
        let way_px = (x_px - before_x_px).hypot(y_px - before_y_px);
        // Other bodies and objects can push a body into a structure. The structure then pushes the
        // body out on the other side.
        let across_px = |object: &Object| {
            let touch_px = object.scale_px + f64::from(rules::PLAYER_RADIUS_PX);
            let is_near = (before_x_px - object.x_px).hypot(before_y_px - object.y_px) <= touch_px + TOUCH_PX;
            (is_near && object.structure.is_some()).then_some(2.0 * touch_px)
        };
        let through_px = || self.world_model.objects.values().filter_map(across_px).fold(0.0, f64::max);
        let is_too_far = |time_s: &f64| {
            let reach_px = reach_px(*time_s);
            way_px > reach_px && way_px > reach_px + through_px()
        };
        if let Some(time_s) = time_s.filter(is_too_far) {
            self.fault(CheckRule::TooFast, format!("player {player}: {way_px:.1} px in {time_s:.3} s"));
        }
    }

    /// The last known position of a player.
    pub(super) fn position_of(&self, player: u32) -> Option<(f64, f64)> {
        self.world_model.players.get(&player).map(|known| (known.x_px, known.y_px))
    }
}
