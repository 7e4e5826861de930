//! Checks that server packets are consistent: a state machine over all packets sent and received,
//! in order.
//!
//! The caller passes the packets that the client sent ([`PacketChecker::on_sent`]) and received
//! ([`PacketChecker::check_packet`]), with their arrival times. A received packet is compared with
//! the [`WorldModel`] of the preceding packets, and then applied to the model. The results are
//! [`Fault`]s, each a broken [`CheckRule`]. After a fault the check continues, so a single cause
//! may lead to several faults. The checker uses no socket and no clock.
//!
//! Each layout has its own file, `native` and `moomoo`. The shared checks are `common`,
//! `resource_ledger` (resources and fighting) with `gold_income`, `upgrades` (building and
//! upgrades), `animals_and_shots` and `clans`. `rule` names the rules.

mod animals_and_shots;
mod clans;
mod common;
mod food_income;
mod gold_income;
mod moomoo;
mod native;
mod resource_ledger;
mod rule;
mod stats;
mod upgrades;

pub use common::Fault;
pub use rule::CheckRule;
pub use stats::MooBotStats;

use std::time::Duration;

use self::common::CheckState;
use crate::games::moo::bot::received::ServerPacket;
use crate::games::moo::bot::world_model::WorldModel;
use crate::games::moo::client_packet::{ClientPacket, Mode};

#[derive(Debug)]
enum Layout {
    Native(native::NativeChecks),
    Moomoo(moomoo::MoomooChecks),
}

/// Checks all packets of one connection.
#[derive(Debug)]
pub struct PacketChecker {
    common: CheckState,
    layout: Layout,
    wild: animals_and_shots::AnimalAndShotChecks,
    clans: clans::ClanChecks,
    ledger: resource_ledger::ResourceLedger,
}

impl PacketChecker {
    /// Creates the checks of a new connection.
    pub fn new(native: bool) -> PacketChecker {
        let layout = if native {
            Layout::Native(native::NativeChecks::default())
        } else {
            Layout::Moomoo(moomoo::MoomooChecks::default())
        };
        PacketChecker {
            common: CheckState::default(),
            layout,
            wild: animals_and_shots::AnimalAndShotChecks::default(),
            clans: clans::ClanChecks::default(),
            ledger: resource_ledger::ResourceLedger::default(),
        }
    }

    /// Records that the client has resumed, so that its player may already have possessions.
    pub fn on_resumed(&mut self) {
        self.ledger.on_resumed();
    }

    /// Records that the client has a lane, whose datagrams may overtake the stream.
    pub fn on_lane(&mut self) {
        if let Layout::Native(checks) = &mut self.layout {
            checks.has_lane = true;
        }
    }

    /// Returns the statistics since the last call.
    pub fn take_stats(&mut self) -> MooBotStats {
        let mut stats = self.ledger.take();
        stats.shots += std::mem::take(&mut self.wild.shots);
        stats.clans += std::mem::take(&mut self.clans.joined);
        stats
    }

    /// The world model of all packets so far.
    pub fn world_model(&self) -> &WorldModel {
        &self.common.world_model
    }

    /// Records a packet that the client sends.
    pub fn on_sent(&mut self, packet: &ClientPacket<'_>) {
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
                self.common.sent_sequence = self.common.sent_sequence.max(sequence.unwrap_or(0));
            }
            ClientPacket::Hello { mode: Mode::Play, .. } => self.common.has_requested_join = true,
            ClientPacket::EnterGame { .. } => {
                self.common.has_requested_join = true;
                // A respawn has no sequence argument, and uses the next number.
                self.common.sent_sequence += u32::from(self.common.world_model.is_dead);
            }
            _ => {}
        }
        self.common.world_model.on_sent(packet);
    }

    /// Checks a server packet, and returns its faults. `now` is the arrival time on any monotonic
    /// clock.
    pub fn check_packet(&mut self, packet: &ServerPacket, now: Duration) -> Vec<Fault> {
        let common = &mut self.common;
        let is_moomoo = matches!(self.layout, Layout::Moomoo(_));
        match packet {
            ServerPacket::Objects(objects) => common.objects(objects, is_moomoo),
            ServerPacket::ObjectsRemoved(objects) => common.remove_objects(objects),
            ServerPacket::Leaderboard(board) => common.leaderboard(board),
            ServerPacket::Chat { player, text } if !common.world_model.players.contains_key(player) => {
                common.fault(CheckRule::ChatUnknown, format!("{player} says {text:?}"));
            }
            ServerPacket::Pong { nonce, .. } => {
                let expected = common.pings.pop_front();
                if expected.is_none_or(|expected| expected != *nonce) {
                    common.fault(CheckRule::PongUnsolicited, format!("nonce {nonce:?}, asked {expected:?}"));
                }
            }
            ServerPacket::Health(list) => common.health(list),
            ServerPacket::Died => common.on_death(),
            ServerPacket::Error { rule, detail } => {
                common.fault(CheckRule::ServerError, format!("{rule}: {detail}"))
            }
            _ => {}
        }
        let tick_time = match &mut self.layout {
            Layout::Native(state) => {
                state.check_packet(packet, common);
                state.tick_time()
            }
            Layout::Moomoo(state) => {
                state.check_packet(packet, now, common);
                now
            }
        };
        self.clans.check_packet(packet, now, common);
        let killed = self.wild.check_packet(packet, [now, tick_time], is_moomoo, common);
        self.ledger.record_income(packet, now, common);
        common.world_model.apply(packet);
        self.ledger.check_packet(packet, &killed, common);
        std::mem::take(&mut common.faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::bot::received::Leaderboard;

    fn board(rows: &[(u32, f64)], rank: Option<u32>, players: u32) -> ServerPacket {
        let rows = rows.iter().map(|(player, score)| (*player, String::new(), *score)).collect();
        ServerPacket::Leaderboard(Leaderboard { rows, rank, players: Some(players) })
    }

    fn rules(faults: &[Fault]) -> Vec<CheckRule> {
        faults.iter().map(|fault| fault.rule).collect()
    }

    /// A checker that has received `io_init` and `init_data`.
    fn greeted() -> PacketChecker {
        let mut check = PacketChecker::new(false);
        assert_eq!(check.check_packet(&ServerPacket::IoInit, Duration::ZERO), []);
        assert_eq!(check.check_packet(&ServerPacket::InitData, Duration::ZERO), []);
        check
    }

    #[test]
    fn a_leaderboard_is_sorted_and_counts_right() {
        let mut check = greeted();
        let mut check_rules = |packet: ServerPacket| rules(&check.check_packet(&packet, Duration::ZERO));
        assert_eq!(check_rules(board(&[(1, 9.0), (2, 9.0), (3, 0.0)], Some(3), 3)), []);
        assert_eq!(check_rules(board(&[(1, 1.0), (2, 2.0)], None, 2)), [CheckRule::LeaderboardOrder]);
        assert_eq!(check_rules(board(&[(1, 2.0), (1, 1.0)], None, 2)), [CheckRule::LeaderboardOrder]);
        assert_eq!(check_rules(board(&[(1, 2.0)], Some(2), 1)), [CheckRule::LeaderboardOrder]);
        assert_eq!(check_rules(board(&[(1, 2.0), (2, 1.0)], None, 1)), [CheckRule::LeaderboardOrder]);
    }

    #[test]
    fn pongs_answer_pings() {
        let mut check = greeted();
        check.on_sent(&ClientPacket::Ping { nonce: Some(4) });
        let pong = |nonce| ServerPacket::Pong { nonce: Some(nonce), tick: Some(1) };
        assert_eq!(rules(&check.check_packet(&pong(4), Duration::ZERO)), []);
        assert_eq!(rules(&check.check_packet(&pong(4), Duration::ZERO)), [CheckRule::PongUnsolicited]);
    }

    #[test]
    fn an_error_of_the_server_and_a_strangers_chat_are_faults() {
        let mut check = greeted();
        let error = ServerPacket::Error { rule: "repeated".to_owned(), detail: String::new() };
        assert_eq!(rules(&check.check_packet(&error, Duration::ZERO)), [CheckRule::ServerError]);
        let chat = ServerPacket::Chat { player: 3, text: "hi".to_owned() };
        assert_eq!(rules(&check.check_packet(&chat, Duration::ZERO)), [CheckRule::ChatUnknown]);
    }

    #[test]
    fn a_death_needs_a_life_and_health_needs_a_known_player() {
        let mut check = greeted();
        assert_eq!(rules(&check.check_packet(&ServerPacket::Died, Duration::ZERO)), [CheckRule::Death]);
        check.on_sent(&ClientPacket::EnterGame { name: None, skin: None, moofoll: false });
        assert_eq!(
            rules(&check.check_packet(&ServerPacket::Died, Duration::ZERO)),
            [],
            "of a body that it never saw"
        );
        assert_eq!(rules(&check.check_packet(&ServerPacket::Died, Duration::ZERO)), [CheckRule::Death]);
        let health = ServerPacket::Health(vec![(3, 100)]);
        assert_eq!(rules(&check.check_packet(&health, Duration::ZERO)), [CheckRule::Health]);
    }
}
