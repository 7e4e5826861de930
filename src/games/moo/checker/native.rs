//! Checks of the native layout: `welcome`, then updates that contain differences.
//!
//! The sections of an update are leaves, enters, full records, moves and turns. The client's own
//! body is announced by `spawned` before the update in which it enters, and then occurs only in
//! `own`. When it dies, it leaves in an update before or after `died`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::common::{CheckState, EDGE_PX};
use super::rule::CheckRule;
use crate::games::moo::bot::received::{EnteredPlayer, Own, Pose, ServerPacket, Update};

/// State of a native connection in addition to the world model.
#[derive(Debug, Default)]
pub(super) struct NativeChecks {
    welcomed: bool,
    /// Ticks per second.
    tick_hz: u32,
    /// Maximum number of ticks between two updates.
    ticks_per_update: u32,
    /// The tick of the last update.
    tick: Option<u32>,
    /// The tick of the last update with poses.
    state_tick: u32,
    /// Whether updates by datagram may overtake updates of the stream.
    pub(super) has_lane: bool,
}

impl NativeChecks {
    pub(super) fn check_packet(&mut self, packet: &ServerPacket, common: &mut CheckState) {
        if let ServerPacket::Welcome(welcome) = packet {
            let sane = (1..=welcome.tick_hz).contains(&welcome.update_hz);
            if self.welcomed || welcome.version != 1 || !sane {
                common.fault(CheckRule::WelcomeOrder, format!("{welcome:?}"));
            }
            self.welcomed = true;
            self.tick_hz = welcome.tick_hz.max(1);
            self.ticks_per_update = self.tick_hz.div_ceil(welcome.update_hz.max(1));
            return;
        }
        if !self.welcomed {
            common.fault(CheckRule::WelcomeOrder, format!("before welcome: {packet:?}"));
        }
        match packet {
            ServerPacket::Spawned { player } => {
                if let Some(before) = common.world_model.announced {
                    common.fault(CheckRule::SpawnOrder, format!("spawned {before}, then {player}"));
                }
            }
            ServerPacket::Update(update) => self.update(update, common),
            ServerPacket::IoInit
            | ServerPacket::InitData
            | ServerPacket::Setup { .. }
            | ServerPacket::AddPlayer(_)
            | ServerPacket::Players(_) => {
                common.fault(CheckRule::WelcomeOrder, format!("of another layout: {packet:?}"));
            }
            _ => {}
        }
    }

    /// The time of the last update, computed from its tick.
    pub(super) fn tick_time(&self) -> Duration {
        Duration::from_secs(self.tick.unwrap_or(0).into()) / self.tick_hz.max(1)
    }

    fn update(&mut self, update: &Update, common: &mut CheckState) {
        // With a lane, the enters and leaves of an overtaken update still apply.
        let has_state = update.own.is_some() || !(update.full.is_empty() && update.moved.is_empty());
        let is_allowed = self.has_lane && (!has_state || update.tick >= self.state_tick);
        if self.tick.is_some_and(|before| update.tick <= before) && !is_allowed {
            common.fault(CheckRule::TickNotIncreased, format!("{:?} then {}", self.tick, update.tick));
        }
        let seconds = |ticks: u32| f64::from(ticks) / f64::from(self.tick_hz);
        let one_update_s = seconds(self.ticks_per_update);
        let since_last_s =
            self.tick.map(|before| seconds(update.tick.saturating_sub(before)).max(one_update_s));
        let mut turn = UpdateCheck {
            update,
            own_player: common.world_model.own_player_id,
            entered: BTreeMap::new(),
            named: BTreeSet::new(),
        };
        update.leaves.iter().for_each(|player| turn.leave(*player, common));
        update.enters.iter().for_each(|enter| turn.enter(enter, common));
        for pose in &update.full {
            check_listed_once(&mut turn.named, pose.player, turn.own_player, common);
            common.check_movement(pose, turn.position_of(pose.player, common), since_last_s);
        }
        for moved in &update.moved {
            check_listed_once(&mut turn.named, moved.player, turn.own_player, common);
            let Some((x_px, y_px)) = turn.position_of(moved.player, common) else {
                common.fault(CheckRule::UpdateUnknown, format!("player {} moved", moved.player));
                continue;
            };
            let (to_x_px, to_y_px) = (x_px + moved.dx_px, y_px + moved.dy_px);
            let pose = Pose { player: moved.player, x_px: to_x_px, y_px: to_y_px, heading: 0 };
            common.check_movement(&pose, Some((x_px, y_px)), Some(one_update_s));
        }
        for (player, _) in &update.turned {
            if turn.position_of(*player, common).is_none() {
                common.fault(CheckRule::UpdateUnknown, format!("player {player} turned"));
            }
        }
        if let Some(own) = &update.own {
            turn.own(own, since_last_s, common);
        }
        self.tick = self.tick.max(Some(update.tick));
        if has_state {
            self.state_tick = update.tick;
        }
    }
}

/// The state of the check of one update. The world model is still in the state before the update.
struct UpdateCheck<'a> {
    update: &'a Update,
    /// The client's own body.
    own_player: Option<u32>,
    /// Positions of the entered players.
    entered: BTreeMap<u32, (f64, f64)>,
    named: BTreeSet<u32>,
}

impl UpdateCheck<'_> {
    /// The position of a player at this point of the update, if it is known.
    fn position_of(&self, player: u32, common: &CheckState) -> Option<(f64, f64)> {
        let before = || common.position_of(player).filter(|_| !self.update.leaves.contains(&player));
        self.entered.get(&player).copied().or_else(before)
    }

    fn leave(&mut self, player: u32, common: &mut CheckState) {
        if common.position_of(player).is_none() {
            common.fault(CheckRule::LeaveUnknown, format!("player {player}"));
        }
        self.own_player = self.own_player.filter(|me| *me != player);
    }

    fn enter(&mut self, enter: &EnteredPlayer, common: &mut CheckState) {
        let Pose { player, x_px, y_px, .. } = enter.pose;
        if self.position_of(player, common).is_some() {
            common.fault(CheckRule::EnteredTwice, format!("player {player}"));
        }
        self.entered.insert(player, (x_px, y_px));
        self.named.insert(player);
        common.check_on_map(&format!("player {player}"), x_px, y_px, EDGE_PX);
        if common.world_model.announced == Some(player) {
            common.on_spawn(player, self.own_player.replace(player));
        }
    }

    fn own(&self, own: &Own, since_last_s: Option<f64>, common: &mut CheckState) {
        let Some(me) = self.own_player else {
            common.fault(CheckRule::SpawnOrder, "the client's own record without a body");
            return;
        };
        let is_reborn = common.world_model.announced.is_some_and(|player| self.entered.contains_key(&player));
        if common.world_model.is_dead && !is_reborn {
            common.fault(CheckRule::Death, format!("{me} is dead, but received {own:?}"));
        }
        let (pose, before) = (own.pose(me), self.position_of(me, common));
        if let Some(entered) = self.entered.get(&me) {
            // The entered position is rounded to the nearest half pixel, so its error is at most
            // 0.25 px.
            if (entered.0 - pose.x_px).abs() > 0.25 || (entered.1 - pose.y_px).abs() > 0.25 {
                common.fault(CheckRule::OwnPositionDiffers, format!("enters at {entered:?}, is at {pose:?}"));
            }
        }
        common.check_movement(&pose, before, since_last_s);
        let before = common.world_model.applied_sequence;
        if own.sequence < before {
            common.fault(CheckRule::AckDecreased, format!("{before} then {}", own.sequence));
        }
        if own.sequence > common.sent_sequence {
            let last_sent = common.sent_sequence;
            common.fault(CheckRule::AckOfUnsent, format!("{} applied, {last_sent} sent", own.sequence));
        }
    }
}

fn check_listed_once(named: &mut BTreeSet<u32>, player: u32, me: Option<u32>, common: &mut CheckState) {
    if !named.insert(player) {
        common.fault(CheckRule::ListedTwice, format!("player {player}"));
    }
    if me == Some(player) {
        common.fault(CheckRule::ListedTwice, "the client's own player among the others");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::bot::received::{Object, PositionDelta, Welcome};
    use crate::games::moo::checker::PacketChecker;
    use crate::games::moo::client_packet::ClientPacket;

    fn welcome() -> ServerPacket {
        ServerPacket::Welcome(Welcome {
            version: 1,
            rules_hash: String::new(),
            seed: 1,
            map_size_px: 14_400,
            tick_hz: 30,
            update_hz: 30,
            epoch: String::new(),
            tick: 1,
        })
    }

    fn pose(player: u32, x_px: f64) -> Pose {
        Pose { player, x_px, y_px: 500.0, heading: 0 }
    }

    fn enters(tick: u32, players: &[u32]) -> Update {
        let enter = |player: &u32| EnteredPlayer { pose: pose(*player, 500.0), name: String::new(), skin: 0 };
        Update { tick, enters: players.iter().map(enter).collect(), ..Update::default() }
    }

    fn own(sequence: u32, x_px: i32) -> Option<Own> {
        Some(Own { sequence, x: x_px << 16, y: 500 << 16, ..Own::default() })
    }

    /// Checks the packets in order. Returns the broken rules.
    fn broken(packets: &[ServerPacket]) -> Vec<CheckRule> {
        let mut check = PacketChecker::new(true);
        check.on_sent(&ClientPacket::Move { sequence: Some(5), tick: None, direction: None });
        let faults = packets.iter().flat_map(|packet| check.check_packet(packet, Duration::ZERO));
        faults.map(|fault| fault.rule).collect()
    }

    /// The spawn of the client's player with two other players, and then `updates`.
    fn after_birth(updates: &[Update]) -> Vec<CheckRule> {
        let first = Update { own: own(0, 500), ..enters(10, &[1, 2, 3]) };
        let mut packets = vec![welcome(), ServerPacket::Spawned { player: 1 }, ServerPacket::Update(first)];
        packets.extend(updates.iter().cloned().map(ServerPacket::Update));
        broken(&packets)
    }

    fn moved(tick: u32, player: u32, dx_px: f64) -> Update {
        Update { tick, moved: vec![PositionDelta { player, dx_px, dy_px: 0.0 }], ..Update::default() }
    }

    #[test]
    fn a_sensible_course_of_events_has_no_fault() {
        let turned = Update { turned: vec![(3, 9)], ..moved(12, 3, -20.0) };
        let steps = Update { tick: 13, own: own(4, 511), leaves: vec![2], ..Update::default() };
        assert_eq!(after_birth(&[moved(11, 2, 11.0), turned, steps, enters(15, &[2])]), []);
    }

    #[test]
    fn the_greeting_comes_first_and_once() {
        assert_eq!(broken(&[ServerPacket::Update(enters(1, &[]))]), [CheckRule::WelcomeOrder]);
        assert_eq!(broken(&[welcome(), welcome()]), [CheckRule::WelcomeOrder]);
        assert_eq!(broken(&[welcome(), ServerPacket::IoInit]), [CheckRule::WelcomeOrder]);
    }

    #[test]
    fn events_concern_only_known_players() {
        assert_eq!(after_birth(&[moved(11, 9, 1.0)]), [CheckRule::UpdateUnknown]);
        let full = Update { tick: 11, full: vec![pose(9, 500.0)], ..Update::default() };
        assert_eq!(after_birth(&[full]), [CheckRule::UpdateUnknown]);
        let turned = Update { tick: 11, turned: vec![(9, 0)], ..Update::default() };
        assert_eq!(after_birth(&[turned]), [CheckRule::UpdateUnknown]);
        let leaves = Update { tick: 11, leaves: vec![9], ..Update::default() };
        assert_eq!(after_birth(&[leaves]), [CheckRule::LeaveUnknown]);
        assert_eq!(after_birth(&[enters(11, &[2])]), [CheckRule::EnteredTwice]);
    }

    #[test]
    fn an_update_has_each_player_once_and_the_own_player_only_in_its_own_record() {
        let twice = Update { full: vec![pose(2, 501.0)], ..moved(11, 2, 1.0) };
        assert_eq!(after_birth(&[twice]), [CheckRule::ListedTwice]);
        assert_eq!(after_birth(&[moved(11, 1, 1.0)]), [CheckRule::ListedTwice]);
    }

    #[test]
    fn places_are_on_the_map_and_within_reach() {
        assert_eq!(after_birth(&[moved(11, 2, 160.0)]), [CheckRule::TooFast]);
        assert_eq!(after_birth(&[moved(11, 2, -480.0)]), [CheckRule::OffMap, CheckRule::TooFast]);
        let far = |tick| Update { tick, full: vec![pose(2, 1_700.0)], ..Update::default() };
        assert_eq!(after_birth(&[far(11)]), [CheckRule::TooFast]);
        assert_eq!(after_birth(&[far(40)]), [], "1,200 px in a second, over boost pads");
        let own_far = Update { tick: 11, own: own(0, 700), ..Update::default() };
        assert_eq!(after_birth(&[own_far]), [CheckRule::TooFast]);
    }

    #[test]
    fn a_structure_puts_a_body_out_on_its_other_side() {
        let faults = |built, way_px| {
            let mill =
                Object { id: 70, kind: None, x_px: 580.0, y_px: 500.0, scale_px: 50.0, structure: built };
            let packets = [
                welcome(),
                ServerPacket::Update(enters(10, &[2])),
                ServerPacket::Objects(vec![mill]),
                ServerPacket::Update(moved(11, 2, way_px)),
            ];
            broken(&packets)
        };
        assert_eq!(faults(Some((10, 2)), 165.0), []);
        assert_eq!(faults(Some((10, 2)), 350.0), [CheckRule::TooFast], "further than its other side");
        assert_eq!(faults(None, 165.0), [CheckRule::TooFast]);
    }

    #[test]
    fn ticks_and_sequences_never_go_back() {
        assert_eq!(after_birth(&[moved(10, 2, 1.0)]), [CheckRule::TickNotIncreased]);
        let own_at = |tick, sequence| Update { tick, own: own(sequence, 500), ..Update::default() };
        assert_eq!(after_birth(&[own_at(11, 3), own_at(12, 2)]), [CheckRule::AckDecreased]);
        assert_eq!(after_birth(&[own_at(11, 6)]), [CheckRule::AckOfUnsent]);
    }

    #[test]
    fn one_dies_leaves_and_is_born_again() {
        let leave = |tick| ServerPacket::Update(Update { tick, leaves: vec![1], ..Update::default() });
        let again = |tick| {
            let enter = Update { own: own(4, 500), ..enters(tick, &[1]) };
            [ServerPacket::Spawned { player: 1 }, ServerPacket::Update(enter)]
        };
        let life = |more: &[ServerPacket]| {
            let first = Update { own: own(0, 500), ..enters(10, &[1, 2]) };
            let mut packets =
                vec![welcome(), ServerPacket::Spawned { player: 1 }, ServerPacket::Update(first)];
            packets.extend_from_slice(more);
            packets.extend(again(20));
            broken(&packets)
        };
        assert_eq!(life(&[leave(11), ServerPacket::Died]), []);
        assert_eq!(life(&[ServerPacket::Died, leave(11)]), []);
        assert_eq!(life(&[leave(11)]), [CheckRule::SpawnOrder]);
        assert_eq!(life(&[leave(11), ServerPacket::Died, ServerPacket::Died]), [CheckRule::Death]);
        let moves = Update { tick: 11, own: own(1, 501), ..Update::default() };
        assert_eq!(life(&[ServerPacket::Died, ServerPacket::Update(moves), leave(12)]), [CheckRule::Death]);
    }

    #[test]
    fn a_body_is_announced_then_enters_then_has_a_record() {
        let orphan = Update { tick: 1, own: own(0, 500), ..Update::default() };
        assert_eq!(broken(&[welcome(), ServerPacket::Update(orphan)]), [CheckRule::SpawnOrder]);
        let elsewhere = Update { own: own(0, 501), ..enters(1, &[1]) };
        let packets = [welcome(), ServerPacket::Spawned { player: 1 }, ServerPacket::Update(elsewhere)];
        assert_eq!(broken(&packets), [CheckRule::OwnPositionDiffers]);
    }
}
