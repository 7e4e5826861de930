//! Checks that a server's packets are consistent: a state machine over all packets sent and
//! received, in order.
//!
//! The caller passes in the packets that the client sent ([`Check::said`]) and received
//! ([`Check::hear`]) with their time of arrival. The results are [`Fault`]s, each a broken
//! [`Rule`], and a [`Picture`] of the world. After a fault the check continues as well as it can,
//! so that one cause may show as several faults. It uses no socket and no clock.
//!
//! Each layout has its own file, `native` and `moomoo`. Their common part is here and in `deeds`
//! (fighting), `growth` (building and choosing), `wild` (projectiles and animals) and `clans`.
//! `rule` names the rules.

mod clans;
mod deeds;
mod growth;
mod moomoo;
mod native;
mod rule;
mod wild;

pub use deeds::Deeds;
pub use rule::Rule;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use super::heard::{Heard, Leaderboard, Object, Pose};
use super::picture::Picture;
use crate::packet::ClientPacket;
use crate::packet::client_packet::ClanWish;
use crate::world::rules;

/// A body's distance from the edge of the map is at least its radius; positions are rounded to at
/// most a pixel.
const EDGE_PX: f64 = rules::PLAYER_RADIUS_PX as f64 - 1.0;
/// The greatest sustained speed of a body, pixels per second: nothing is faster than a row of boost
/// pads.
const SPEED_PX_PER_S: f64 = rules::BOOST_PX_PER_S as f64;
/// The distance by which a collision can push a body in addition, pixels.
const PUSH_PX: f64 = 2.0 * rules::PLAYER_RADIUS_PX as f64;
/// The speed that hits add to that, pixels per second; and the seconds until friction has consumed
/// it.
const KNOCK_PX_PER_S: f64 = 1_000.0;
const KNOCK_S: f64 = 0.143;

/// The greatest distance that a player can cover in that time, pixels.
fn reach_px(time_s: f64) -> f64 {
    SPEED_PX_PER_S * time_s + KNOCK_PX_PER_S * time_s.min(KNOCK_S) + PUSH_PX
}
/// Most rows of a leaderboard.
const BOARD_ROWS: usize = 10;

/// A rule that the server broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The broken rule.
    pub rule: Rule,
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
struct Common {
    picture: Picture,
    /// Whether the player has a body: it was born, and has not died since.
    lives: bool,
    /// Nonces of unanswered pings.
    pings: VecDeque<Option<u32>>,
    /// The highest sequence sent.
    said_sequence: u32,
    faults: Vec<Fault>,
}

#[derive(Debug)]
enum Layout {
    Native(native::State),
    Moomoo(moomoo::State),
}

/// See the [module](self).
#[derive(Debug)]
pub struct Check {
    common: Common,
    layout: Layout,
    wild: wild::State,
    clans: clans::State,
    ledger: deeds::Ledger,
}

impl Check {
    /// A check of a new connection.
    pub fn new(native: bool) -> Check {
        let layout = if native {
            Layout::Native(native::State::default())
        } else {
            Layout::Moomoo(moomoo::State::default())
        };
        Check {
            common: Common::default(),
            layout,
            wild: wild::State::default(),
            clans: clans::State::default(),
            ledger: deeds::Ledger::default(),
        }
    }

    /// Takes the deeds recorded since the last call.
    pub fn take_deeds(&mut self) -> Deeds {
        let mut deeds = self.ledger.take();
        deeds.shots += std::mem::take(&mut self.wild.shots);
        deeds.clans += std::mem::take(&mut self.clans.joined);
        deeds
    }

    /// What is known of the world.
    pub fn picture(&self) -> &Picture {
        &self.common.picture
    }

    /// Records a packet that the client sends.
    pub fn said(&mut self, packet: &ClientPacket<'_>) {
        match packet {
            ClientPacket::Ping { nonce } => self.common.pings.push_back(*nonce),
            ClientPacket::Move { sequence, .. }
            | ClientPacket::Aim { sequence, .. }
            | ClientPacket::Attack { sequence, .. }
            | ClientPacket::Select { sequence, .. }
            | ClientPacket::Upgrade { sequence, .. }
            | ClientPacket::MapPing { sequence, .. }
            | ClientPacket::Clan { sequence, .. }
            | ClientPacket::Chat { sequence, .. } => {
                self.common.said_sequence = self.common.said_sequence.max(sequence.unwrap_or(0));
                if let ClientPacket::Clan { wish: ClanWish::Answer { player, .. }, .. } = packet {
                    self.common.picture.society.asks.retain(|asks| asks != player);
                }
            }
            // Entering again after death carries no sequence, and uses the next one.
            ClientPacket::EnterGame { .. } if self.common.picture.is_dead => self.common.said_sequence += 1,
            _ => {}
        }
    }

    /// Checks a packet of the server, received at the time `now` of any clock that does not go
    /// back, and returns its faults.
    pub fn hear(&mut self, heard: &Heard, now: Duration) -> Vec<Fault> {
        let common = &mut self.common;
        match heard {
            Heard::Objects(objects) => common.objects(objects, &self.layout),
            Heard::Gone(objects) => common.gone(objects),
            Heard::Leaderboard(board) => common.leaderboard(board),
            Heard::Chat { player, text } if !common.picture.players.contains_key(player) => {
                common.fault(Rule::ChatUnknown, format!("{player} says {text:?}"));
            }
            Heard::Pong { nonce, .. } => {
                let asked = common.pings.pop_front();
                if asked.is_none_or(|asked| asked != *nonce) {
                    common.fault(Rule::PongUnasked, format!("nonce {nonce:?}, asked {asked:?}"));
                }
            }
            Heard::Health(list) => common.health(list),
            Heard::Died => common.death(),
            Heard::Error { rule, detail } => common.fault(Rule::ServerError, format!("{rule}: {detail}")),
            _ => {}
        }
        match &mut self.layout {
            Layout::Native(state) => state.hear(heard, common),
            Layout::Moomoo(state) => state.hear(heard, now, common),
        }
        self.clans.hear(heard, now, common);
        let is_all = matches!(self.layout, Layout::Moomoo(_));
        let killed = self.wild.hear(heard, now, is_all, common);
        self.ledger.hear(heard, now, &killed, common);
        std::mem::take(&mut common.faults)
    }
}

impl Common {
    fn fault(&mut self, rule: Rule, detail: impl Into<String>) {
        self.faults.push(Fault { rule, detail: detail.into() });
    }

    fn objects(&mut self, objects: &[Object], layout: &Layout) {
        // The MooMoo dialects show scenery to players only; the native dialect also to watchers.
        if matches!(layout, Layout::Moomoo(_)) && self.picture.me.is_none() {
            self.fault(Rule::Birth, "objects before one's own player");
        }
        for object in objects {
            let Object { id, x_px, y_px, .. } = *object;
            if self.picture.objects.insert(id, *object).is_some() {
                self.fault(Rule::ObjectTwice, format!("object {id}"));
            }
            self.on_map(&format!("object {id}"), x_px, y_px, 0.0);
        }
    }

    fn gone(&mut self, objects: &[u32]) {
        for object in objects {
            // Natural objects cannot be destroyed.
            if self.picture.objects.remove(object).is_none_or(|gone| gone.built.is_none()) {
                self.fault(Rule::GoneUnknown, format!("object {object}"));
            }
        }
    }

    fn leaderboard(&mut self, board: &Leaderboard) {
        let Leaderboard { rows, place, players } = board;
        if !rows.is_sorted_by(|(.., higher), (.., lower)| higher >= lower) {
            self.fault(Rule::BoardOrder, format!("not sorted: {rows:?}"));
        }
        let different: BTreeSet<u32> = rows.iter().map(|(player, ..)| *player).collect();
        if different.len() != rows.len() || rows.len() > BOARD_ROWS {
            self.fault(Rule::BoardOrder, format!("{} rows, {} players in them", rows.len(), different.len()));
        }
        if let Some(players) = *players {
            let own_row = self.picture.me.and_then(|me| rows.iter().position(|(player, ..)| *player == me));
            let of_row = own_row.map(|row| row as u32 + 1);
            let is_place =
                |place: u32| (1..=players).contains(&place) && of_row.is_none_or(|row| row == place);
            if rows.len() > players as usize || place.is_some_and(|place| !is_place(place)) {
                self.fault(Rule::BoardOrder, format!("place {place:?} of {players}, in row {of_row:?}"));
            }
        }
    }

    fn health(&mut self, list: &[(u32, u32)]) {
        for (player, health) in list {
            let Some(known) = self.picture.players.get_mut(player) else {
                self.fault(Rule::Health, format!("player {player} is not known"));
                continue;
            };
            known.health = *health;
            let most = known.max_health;
            if *health > most {
                self.fault(Rule::Health, format!("player {player} has {health} of {most}"));
            }
        }
    }

    /// The player's own body appears, for the first time or again.
    fn birth(&mut self, player: u32) {
        let before = self.picture.me.replace(player);
        if self.lives || before.is_some() {
            self.fault(Rule::Birth, format!("one is {player}, and was {before:?} and not told to be dead"));
        }
        self.lives = true;
        self.picture.is_dead = false;
    }

    fn death(&mut self) {
        if !std::mem::take(&mut self.lives) {
            self.fault(Rule::Death, "died without a life");
        }
        self.picture.is_dead = true;
    }

    fn on_map(&mut self, what: &str, x_px: f64, y_px: f64, edge_px: f64) {
        let map = edge_px..=self.picture.map_size_px - edge_px;
        if !map.contains(&x_px) || !map.contains(&y_px) {
            self.fault(Rule::OffMap, format!("{what} at {x_px}, {y_px}"));
        }
    }

    /// Records a new pose of a known player, who had `time_s` seconds to get there; `None` if any
    /// distance is allowed.
    fn moves_to(&mut self, pose: &Pose, time_s: Option<f64>) {
        let Pose { player, x_px, y_px, heading } = *pose;
        self.on_map(&format!("player {player}"), x_px, y_px, EDGE_PX);
        let Some(known) = self.picture.players.get_mut(&player) else {
            self.fault(Rule::UpdateUnknown, format!("player {player}"));
            return;
        };
        let way_px = (x_px - known.x_px).hypot(y_px - known.y_px);
        (known.x_px, known.y_px, known.heading) = (x_px, y_px, heading);
        known.in_view = true;
        if let Some(time_s) = time_s.filter(|time_s| way_px > reach_px(*time_s)) {
            self.fault(Rule::TooFast, format!("player {player}: {way_px:.1} px in {time_s:.3} s"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(rows: &[(u32, f64)], place: Option<u32>, players: u32) -> Heard {
        let rows = rows.iter().map(|(player, score)| (*player, String::new(), *score)).collect();
        Heard::Leaderboard(Leaderboard { rows, place, players: Some(players) })
    }

    fn rules(faults: &[Fault]) -> Vec<Rule> {
        faults.iter().map(|fault| fault.rule).collect()
    }

    /// A check that has received the greeting.
    fn greeted() -> Check {
        let mut check = Check::new(false);
        assert_eq!(check.hear(&Heard::IoInit, Duration::ZERO), []);
        assert_eq!(check.hear(&Heard::InitData, Duration::ZERO), []);
        check
    }

    #[test]
    fn a_leaderboard_is_sorted_and_counts_right() {
        let mut check = greeted();
        let mut hear = |heard: Heard| rules(&check.hear(&heard, Duration::ZERO));
        assert_eq!(hear(board(&[(1, 9.0), (2, 9.0), (3, 0.0)], Some(3), 3)), []);
        assert_eq!(hear(board(&[(1, 1.0), (2, 2.0)], None, 2)), [Rule::BoardOrder]);
        assert_eq!(hear(board(&[(1, 2.0), (1, 1.0)], None, 2)), [Rule::BoardOrder]);
        assert_eq!(hear(board(&[(1, 2.0)], Some(2), 1)), [Rule::BoardOrder]);
        assert_eq!(hear(board(&[(1, 2.0), (2, 1.0)], None, 1)), [Rule::BoardOrder]);
    }

    #[test]
    fn pongs_answer_pings() {
        let mut check = greeted();
        check.said(&ClientPacket::Ping { nonce: Some(4) });
        let pong = |nonce| Heard::Pong { nonce: Some(nonce), tick: Some(1) };
        assert_eq!(rules(&check.hear(&pong(4), Duration::ZERO)), []);
        assert_eq!(rules(&check.hear(&pong(4), Duration::ZERO)), [Rule::PongUnasked]);
    }

    #[test]
    fn an_error_of_the_server_and_a_strangers_chat_are_faults() {
        let mut check = greeted();
        let error = Heard::Error { rule: "repeated".to_owned(), detail: String::new() };
        assert_eq!(rules(&check.hear(&error, Duration::ZERO)), [Rule::ServerError]);
        let chat = Heard::Chat { player: 3, text: "hi".to_owned() };
        assert_eq!(rules(&check.hear(&chat, Duration::ZERO)), [Rule::ChatUnknown]);
    }

    #[test]
    fn who_never_lived_does_not_die_and_health_is_of_the_known() {
        let mut check = greeted();
        assert_eq!(rules(&check.hear(&Heard::Died, Duration::ZERO)), [Rule::Death]);
        let health = Heard::Health(vec![(3, 100)]);
        assert_eq!(rules(&check.hear(&health, Duration::ZERO)), [Rule::Health]);
    }
}
