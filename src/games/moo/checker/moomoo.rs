//! Checks of the MooMoo layout: `io_init`, `init_data`, and after joining `setup`, the client's own
//! `add_player`, and all players in view with each update.
//!
//! These dialects have no tick, so the arrival times limit how far a player may have moved. A
//! player out of view stays known until `remove_player`. When the client's player dies, the client
//! removes it and receives `setup` again.

use std::collections::BTreeSet;
use std::time::Duration;

use super::common::{CheckState, EDGE_PX};
use super::rule::CheckRule;
use crate::games::moo::bot::received::{AddedPlayer, MoomooPlayer, Pose, ServerPacket};

/// Minimum time assumed between two updates. Servers update these dialects about ten times per
/// second. The measured time may be shorter, because a delayed update may arrive directly before
/// the next update.
const UPDATE_TIME: Duration = Duration::from_millis(200);

/// State of a MooMoo connection in addition to the world model.
#[derive(Debug, Default)]
pub(super) struct MoomooChecks {
    greeting_packets: usize,
    /// The client's player according to `setup`.
    expected_setup: Option<u32>,
    updated: Option<Duration>,
}

impl MoomooChecks {
    pub(super) fn check_packet(&mut self, packet: &ServerPacket, now: Duration, common: &mut CheckState) {
        let greeting = match packet {
            ServerPacket::IoInit => Some(0),
            ServerPacket::InitData => Some(1),
            _ => None,
        };
        if greeting.unwrap_or(2) != self.greeting_packets.min(2) {
            common.fault(
                CheckRule::WelcomeOrder,
                format!("after {} greetings: {packet:?}", self.greeting_packets),
            );
        }
        self.greeting_packets += usize::from(greeting.is_some());
        match packet {
            ServerPacket::Setup { player } => self.expect_setup(*player, common),
            ServerPacket::AddPlayer(added) => self.add(added, common),
            ServerPacket::RemovePlayer { id } => self.remove(id, common),
            ServerPacket::Players(players) => self.update(players, now, common),
            ServerPacket::Died => self.expected_setup = None,
            ServerPacket::Welcome(_)
            | ServerPacket::Update(_)
            | ServerPacket::Spawned { .. }
            | ServerPacket::Spectating { .. } => {
                common.fault(CheckRule::WelcomeOrder, format!("of another layout: {packet:?}"));
            }
            _ => {}
        }
    }

    fn expect_setup(&mut self, player: u32, common: &mut CheckState) {
        if let Some(before) = self.expected_setup.replace(player) {
            common.fault(CheckRule::SpawnOrder, format!("setup {before}, then {player}"));
        }
    }

    fn add(&mut self, added: &AddedPlayer, common: &mut CheckState) {
        let Pose { player, x_px, y_px, .. } = added.pose;
        common.check_on_map(&format!("player {player}"), x_px, y_px, EDGE_PX);
        let (health, max_health) = (added.health, added.max_health);
        if health > max_health {
            common.fault(CheckRule::Health, format!("player {player} has {health} of {max_health}"));
        }
        if common.position_of(player).is_some() || common.world_model.ids.contains_key(&added.id) {
            common.fault(CheckRule::EnteredTwice, format!("player {player}, id {:?}", added.id));
        }
        if added.is_you {
            if self.expected_setup != Some(player) {
                common.fault(
                    CheckRule::SpawnOrder,
                    format!("the client is {player}, setup said {:?}", self.expected_setup),
                );
            }
            common.on_spawn(player, common.world_model.own_player_id);
        }
    }

    fn remove(&mut self, id: &str, common: &mut CheckState) {
        let player = common.world_model.ids.get(id).copied();
        if player.is_none() {
            common.fault(CheckRule::LeaveUnknown, format!("id {id:?}"));
        } else if common.world_model.own_player_id == player {
            self.expected_setup = None;
        }
    }

    fn update(&mut self, visible: &[MoomooPlayer], now: Duration, common: &mut CheckState) {
        let Some(me) = common.world_model.own_player_id else {
            let rule = if common.world_model.is_dead { CheckRule::Death } else { CheckRule::SpawnOrder };
            common.fault(rule, "an update without the client's own player");
            return;
        };
        let since = self.updated.map_or(UPDATE_TIME, |before| now.saturating_sub(before) + UPDATE_TIME);
        self.updated = Some(now);
        let mut named = BTreeSet::new();
        for MoomooPlayer { pose, .. } in visible {
            if !named.insert(pose.player) {
                common.fault(CheckRule::ListedTwice, format!("player {}", pose.player));
            }
            let was_in_view = common.world_model.players.get(&pose.player).is_some_and(|known| known.in_view);
            let time_s = was_in_view.then_some(since.as_secs_f64());
            common.check_movement(pose, common.position_of(pose.player), time_s);
        }
        if !named.contains(&me) {
            common.fault(CheckRule::SelfMissing, format!("player {me}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::bot::received::Object;
    use crate::games::moo::checker::PacketChecker;

    fn pose(player: u32, x_px: f64) -> Pose {
        Pose { player, x_px, y_px: 500.0, heading: 0 }
    }

    fn add(player: u32, is_you: bool) -> ServerPacket {
        let id = format!("{player}-1");
        ServerPacket::AddPlayer(AddedPlayer {
            id,
            pose: pose(player, 500.0),
            name: String::new(),
            health: 100,
            max_health: 100,
            is_you,
        })
    }

    fn players(places: &[(u32, f64)]) -> ServerPacket {
        ServerPacket::Players(places.iter().map(|(player, x_px)| pose(*player, *x_px).into()).collect())
    }

    /// Checks one packet per tenth of a second. Returns the broken rules.
    fn broken(packets: &[ServerPacket]) -> Vec<CheckRule> {
        let mut check = PacketChecker::new(false);
        let mut faults = Vec::new();
        for (tenth, packet) in packets.iter().enumerate() {
            faults.extend(check.check_packet(packet, Duration::from_millis(100 * tenth as u64)));
        }
        faults.iter().map(|fault| fault.rule).collect()
    }

    /// `io_init`, `init_data`, the spawn of player 1 as the client's own, and then `more`.
    fn after_birth(more: &[ServerPacket]) -> Vec<CheckRule> {
        let mut packets = vec![
            ServerPacket::IoInit,
            ServerPacket::InitData,
            ServerPacket::Setup { player: 1 },
            add(1, true),
        ];
        packets.extend_from_slice(more);
        broken(&packets)
    }

    #[test]
    fn a_sensible_course_of_events_has_no_fault() {
        let remove = ServerPacket::RemovePlayer { id: "2-1".to_owned() };
        let object = ServerPacket::Objects(vec![Object {
            id: 7,
            kind: Some(0),
            x_px: 9.0,
            y_px: 9.0,
            scale_px: 80.0,
            structure: None,
        }]);
        let course = [
            add(2, false),
            object,
            players(&[(1, 500.0), (2, 510.0)]),
            players(&[(1, 533.0)]),
            players(&[(1, 560.0), (2, 4_000.0)]),
            remove,
            add(2, false),
        ];
        assert_eq!(after_birth(&course), []);
    }

    #[test]
    fn greeting_and_birth_have_their_order() {
        assert_eq!(broken(&[ServerPacket::InitData]), [CheckRule::WelcomeOrder]);
        assert_eq!(
            broken(&[ServerPacket::IoInit, ServerPacket::Setup { player: 1 }]),
            [CheckRule::WelcomeOrder]
        );
        let greeted = |packet| broken(&[ServerPacket::IoInit, ServerPacket::InitData, packet]);
        assert_eq!(greeted(add(1, true)), [CheckRule::SpawnOrder]);
        assert_eq!(greeted(players(&[])), [CheckRule::SpawnOrder]);
        assert_eq!(greeted(ServerPacket::Objects(Vec::new())), [CheckRule::SpawnOrder]);
        assert_eq!(greeted(ServerPacket::IoInit), [CheckRule::WelcomeOrder]);
        assert_eq!(after_birth(&[ServerPacket::Setup { player: 1 }]), [CheckRule::SpawnOrder]);
    }

    #[test]
    fn only_the_known_appear_once_and_within_reach() {
        assert_eq!(after_birth(&[players(&[(1, 500.0), (2, 500.0)])]), [CheckRule::UpdateUnknown]);
        assert_eq!(after_birth(&[players(&[(1, 500.0), (1, 500.0)])]), [CheckRule::ListedTwice]);
        assert_eq!(after_birth(&[players(&[])]), [CheckRule::SelfMissing]);
        assert_eq!(after_birth(&[add(1, false)]), [CheckRule::EnteredTwice]);
        assert_eq!(
            after_birth(&[ServerPacket::RemovePlayer { id: "9-9".to_owned() }]),
            [CheckRule::LeaveUnknown]
        );
        let jump = [players(&[(1, 500.0)]), players(&[(1, 1_200.0)])];
        assert_eq!(after_birth(&jump), [CheckRule::TooFast]);
        assert_eq!(after_birth(&[players(&[(1, 20_000.0)])]), [CheckRule::OffMap]);
    }

    #[test]
    fn after_death_comes_a_new_setup() {
        let again = |more: &[ServerPacket]| {
            let mut packets = more.to_vec();
            packets.extend([ServerPacket::Setup { player: 1 }, add(1, true), players(&[(1, 500.0)])]);
            after_birth(&packets)
        };
        assert_eq!(again(&[players(&[(1, 900.0)]), ServerPacket::Died]), [], "elsewhere than one died");
        let lasts = [
            add(2, false),
            players(&[(1, 500.0), (2, 500.0)]),
            ServerPacket::Died,
            ServerPacket::Setup { player: 1 },
        ];
        let back = [add(1, true), players(&[(1, 500.0), (2, 1_500.0)])];
        assert_eq!(after_birth(&[&lasts[..], &back].concat()), [], "others died meanwhile as well");
        assert_eq!(again(&[ServerPacket::Died, ServerPacket::Died]), [CheckRule::Death]);
        assert_eq!(again(&[ServerPacket::Died, players(&[(1, 500.0)])]), [CheckRule::Death]);
        assert_eq!(after_birth(&[ServerPacket::Died, add(1, true)]), [CheckRule::SpawnOrder]);
    }

    #[test]
    fn an_object_comes_once() {
        let object = ServerPacket::Objects(vec![Object {
            id: 7,
            kind: Some(0),
            x_px: 9.0,
            y_px: 9.0,
            scale_px: 80.0,
            structure: None,
        }]);
        assert_eq!(after_birth(&[object.clone(), object]), [CheckRule::ObjectTwice]);
    }
}
