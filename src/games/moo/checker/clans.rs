//! Checks clan packets.
//!
//! In the native dialect clans have IDs. The server lists all clans once, and then sends changes.
//! MooMoo servers send each change by name. Only the native dialect states the cause of a player's
//! death, so the rule that clan mates do not harm each other is checked only there. Other events
//! are sent immediately, but a server may collect and delay clan changes. A contradiction to the
//! known clans is therefore a fault only if it persists for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::common::CheckState;
use super::rule::CheckRule;
use crate::games::moo::bot::received::{Clan, Mate, MoomooPlayer, ServerPacket};
use crate::games::moo::bot::world_model::ClanState;

/// State of these checks in addition to the world model.
#[derive(Debug, Default)]
pub(super) struct ClanChecks {
    /// Contradictions, with their start times.
    pending_faults: Vec<(Duration, PendingFault)>,
    /// MooMoo: players with an unlisted clan or with a wrong owner flag, and the start time of this
    /// state.
    unlisted: BTreeMap<u32, Duration>,
    /// Number of clans that the client's player founded or joined.
    pub(super) joined: u64,
}

/// Maximum delay of a clan change, regardless of the number of changes.
const ANNOUNCE_TIMEOUT: Duration = Duration::from_secs(10);

/// A contradiction that a later clan change may resolve.
#[derive(Debug, Clone, Copy)]
enum PendingFault {
    /// A player outside the client's clan sent a ping to that clan.
    Ping(u32),
    /// A clan member killed another member.
    Kill(u32, u32),
}

impl ClanChecks {
    /// Checks a packet.
    pub(super) fn check_packet(&mut self, received: &ServerPacket, now: Duration, common: &mut CheckState) {
        let clan_state = &common.world_model.clan_state;
        match received {
            ServerPacket::Clans(clans) => {
                let numbers: BTreeSet<Option<u32>> = clans.iter().map(|clan| clan.id).collect();
                let names: BTreeSet<&str> = clans.iter().map(|clan| clan.name.as_str()).collect();
                if numbers.len().min(names.len()) != clans.len() || numbers.contains(&None) {
                    common.fault(CheckRule::ClanTwice, format!("{clans:?}"));
                }
            }
            ServerPacket::ClanChanges { ended, founded } => changes(ended, founded, common),
            ServerPacket::AddClan(clan) if clan_state.clans.contains_key(&clan.name) => {
                common.fault(CheckRule::ClanTwice, format!("{clan:?}"));
            }
            ServerPacket::RemoveClan { name } if !clan_state.clans.contains_key(name) => {
                common.fault(CheckRule::ClanUnlisted, format!("{name:?} has ended"));
            }
            ServerPacket::OwnClan(own) => {
                self.check_own_clan(common.world_model.name_of(own), own.is_owner, common);
                if own.id.is_some() {
                    own_members(&own.members, common);
                }
            }
            ServerPacket::OwnName { name, is_owner } => self.check_own_clan(name.clone(), *is_owner, common),
            ServerPacket::Members(members) => own_members(members, common),
            ServerPacket::ClanTags(tags) => {
                tags.iter().for_each(|(player, clan)| tag(*player, *clan, common))
            }
            ServerPacket::Update(_) => self.settle_pending(now, common),
            ServerPacket::Players(players) => self.check_visible(players, now, common),
            ServerPacket::ClanMates(Some(mates)) => check_mates(mates, common),
            ServerPacket::MapPing { player: Some(player) } if !clan_state.is_mate(*player) => {
                self.pending_faults.push((now, PendingFault::Ping(*player)));
            }
            ServerPacket::Kill { killer: Some(killer), victim }
                if killer != victim && clan_state.is_mate(*killer) && clan_state.is_mate(*victim) =>
            {
                self.pending_faults.push((now, PendingFault::Kill(*killer, *victim)));
            }
            _ => {}
        }
    }

    /// Drops the resolved contradictions after an update, and reports contradictions that are older
    /// than [`ANNOUNCE_TIMEOUT`].
    fn settle_pending(&mut self, now: Duration, common: &mut CheckState) {
        self.pending_faults.retain(|(since, suspicion)| {
            let is_mate = |player: u32| common.world_model.clan_state.is_mate(player);
            let is_cleared = match *suspicion {
                PendingFault::Ping(player) => is_mate(player),
                PendingFault::Kill(killer, victim) => !is_mate(killer) || !is_mate(victim),
            };
            let is_fault = !is_cleared && now.saturating_sub(*since) >= ANNOUNCE_TIMEOUT;
            match *suspicion {
                PendingFault::Ping(player) if is_fault => {
                    common.fault(
                        CheckRule::ClanMates,
                        format!("{player} is not a clan mate, but its position is shown"),
                    );
                }
                PendingFault::Kill(killer, victim) if is_fault => {
                    common.fault(CheckRule::ClanMateDamage, format!("{killer} killed {victim}"));
                }
                PendingFault::Ping(_) | PendingFault::Kill(..) => {}
            }
            !is_cleared && !is_fault
        });
    }

    fn check_own_clan(&mut self, name: Option<String>, is_owner: bool, common: &mut CheckState) {
        let ClanState { own, clans, .. } = &common.world_model.clan_state;
        let is_listed = name.as_ref().is_none_or(|name| clans.contains_key(name));
        self.joined += u64::from(name.is_some() && name != *own);
        if !is_listed || is_owner && name.is_none() {
            let detail = format!("own clan {name:?}, owner {is_owner}, of {clans:?}");
            common.fault(CheckRule::ClanUnlisted, detail);
        }
    }

    /// Checks the clan tags of all players in view in a MooMoo update.
    fn check_visible(&mut self, players: &[MoomooPlayer], now: Duration, common: &mut CheckState) {
        let before = std::mem::take(&mut self.unlisted);
        for MoomooPlayer { pose, clan, is_owner, .. } in players {
            let clan_state = &common.world_model.clan_state;
            let owner = clan.as_ref().map(|clan| clan_state.clans.get(clan).copied());
            let is_listed = match owner {
                None => !is_owner,
                Some(owner) => owner.is_some_and(|owner| (owner == pose.player) == *is_owner),
            };
            if is_listed {
                continue;
            }
            let since = before.get(&pose.player).copied().unwrap_or(now);
            if now.saturating_sub(since) >= ANNOUNCE_TIMEOUT {
                let player = pose.player;
                let detail =
                    format!("{player} in {clan:?}: is_owner is {is_owner}, but the owner is {owner:?}");
                common.fault(CheckRule::ClanUnlisted, detail);
            } else {
                self.unlisted.insert(pose.player, since);
            }
        }
    }
}

fn changes(ended: &[u32], founded: &[Clan], common: &mut CheckState) {
    let names = &common.world_model.clan_names;
    let unlisted: Vec<&u32> = ended.iter().filter(|id| !names.contains_key(id)).collect();
    let has_ended = |name: &str| ended.iter().any(|id| names.get(id).is_some_and(|of| of == name));
    let is_known = |clan: &&Clan| {
        let is_numbered = clan.id.is_some_and(|id| names.contains_key(&id) && !ended.contains(&id));
        is_numbered || common.world_model.clan_state.clans.contains_key(&clan.name) && !has_ended(&clan.name)
    };
    let known: Vec<&Clan> = founded.iter().filter(is_known).collect();
    let unlisted = unlisted.into_iter().map(|id| (CheckRule::ClanUnlisted, format!("clan {id} has ended")));
    let known = known.into_iter().map(|clan| (CheckRule::ClanTwice, format!("{clan:?}")));
    let faults: Vec<(CheckRule, String)> = unlisted.chain(known).collect();
    faults.into_iter().for_each(|(rule, detail)| common.fault(rule, detail));
}

fn tag(player: u32, clan: Option<u32>, common: &mut CheckState) {
    if !common.world_model.players.contains_key(&player) {
        common.fault(CheckRule::UpdateUnknown, format!("the clan of {player}"));
    }
    if let Some(clan) = clan.filter(|clan| !common.world_model.clan_names.contains_key(clan)) {
        common.fault(CheckRule::ClanUnlisted, format!("{player} is in {clan}"));
    }
}

fn own_members(members: &[u32], common: &mut CheckState) {
    let me = common.world_model.own_player_id;
    // A dead player is still in its clan, but has no known ID.
    if me.is_some_and(|me| !members.contains(&me)) {
        common.fault(CheckRule::ClanMates, format!("this client is {me:?}, which is not among {members:?}"));
    }
}

fn check_mates(mates: &[Mate], common: &mut CheckState) {
    let clan_state = &common.world_model.clan_state;
    let is_strange = |mate: &Mate| mate.player.is_some_and(|player| !clan_state.is_mate(player));
    if clan_state.own.is_none() && !mates.is_empty() || mates.iter().any(is_strange) {
        common.fault(CheckRule::ClanMates, format!("{mates:?} of {clan_state:?}"));
    }
    for Mate { x_px, y_px, .. } in mates {
        common.check_on_map("a mate", *x_px, *y_px, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::games::moo::bot::received::{AddedPlayer, EnteredPlayer, Own, OwnClan, Pose, Update, Welcome};
    use crate::games::moo::checker::PacketChecker;

    fn receive(check: &mut PacketChecker, packets: &[ServerPacket]) -> Vec<CheckRule> {
        let faults = packets.iter().flat_map(|received| check.check_packet(received, Duration::ZERO));
        faults.map(|fault| fault.rule).collect()
    }

    fn pose(player: u32) -> Pose {
        Pose { player, x_px: 500.0, y_px: 500.0, heading: 0 }
    }

    /// Checks packets with an interval of half of [`ANNOUNCE_TIMEOUT`], so that a contradiction is
    /// a fault in the third packet.
    fn check_slowly(check: &mut PacketChecker, packets: &[ServerPacket]) -> Vec<CheckRule> {
        let timed = packets.iter().zip(0..);
        let faults = timed.flat_map(|(received, index): (_, u32)| {
            check.check_packet(received, ANNOUNCE_TIMEOUT / 2 * index)
        });
        faults.map(|fault| fault.rule).collect()
    }

    /// Native: player 1 with players 2 and 3 in view. Checks `more` packets.
    fn native(more: &[ServerPacket]) -> (Vec<CheckRule>, PacketChecker) {
        let mut check = PacketChecker::new(true);
        let (rules_hash, epoch) = (String::new(), String::new());
        let welcome = Welcome {
            version: 1,
            rules_hash,
            seed: 1,
            map_size_px: 14_400,
            tick_hz: 30,
            update_hz: 30,
            epoch,
            tick: 1,
        };
        let enter = |player| EnteredPlayer { pose: pose(player), name: String::new(), skin: 0 };
        let own = Some(Own { x: 500 << 16, y: 500 << 16, ..Own::default() });
        let update = Update { tick: 2, own, enters: (1..=3).map(enter).collect(), ..Update::default() };
        let born = [
            ServerPacket::Welcome(welcome),
            ServerPacket::Spawned { player: 1 },
            ServerPacket::Update(update),
        ];
        assert_eq!(receive(&mut check, &born), []);
        (check_slowly(&mut check, more), check)
    }

    /// The same in the layout of the MooMoo dialects.
    fn moomoo(more: &[ServerPacket]) -> (Vec<CheckRule>, PacketChecker) {
        let mut check = PacketChecker::new(false);
        let add = |player: u32| {
            let (name, health) = (String::new(), 100);
            let (id, is_you) = (player.to_string(), player == 1);
            ServerPacket::AddPlayer(AddedPlayer {
                id,
                pose: pose(player),
                name,
                health,
                max_health: health,
                is_you,
            })
        };
        let born = [
            ServerPacket::IoInit,
            ServerPacket::InitData,
            ServerPacket::Setup { player: 1 },
            add(1),
            add(2),
            add(3),
        ];
        assert_eq!(receive(&mut check, &born), []);
        (check_slowly(&mut check, more), check)
    }

    fn clan(id: u32, name: &str, owner: u32) -> Clan {
        Clan { id: Some(id), name: name.to_owned(), owner }
    }

    fn own(id: Option<u32>, members: &[u32]) -> ServerPacket {
        ServerPacket::OwnClan(OwnClan { id, is_owner: false, members: members.into(), join_requests: vec![] })
    }

    fn founded() -> [ServerPacket; 2] {
        [ServerPacket::Clans(vec![clan(7, "owls", 2), clan(8, "cats", 3)]), own(Some(7), &[1, 2])]
    }

    #[test]
    fn native_clans_are_listed_once_and_one_is_in_ones_own() {
        let (faults, mut check) = native(&founded());
        assert_eq!((faults, check.take_stats().clans), (vec![], 1));
        assert!(check.world_model().clan_state.is_mate(2) && !check.world_model().clan_state.is_mate(3));
        assert_eq!(receive(&mut check, &[own(None, &[])]), []);
        assert!(!check.world_model().clan_state.is_mate(2));
        assert_eq!(native(&[own(Some(7), &[1])]).0, [CheckRule::ClanUnlisted]);
        let twice = ServerPacket::Clans(vec![clan(7, "owls", 2), clan(8, "owls", 3)]);
        assert_eq!(native(&[twice]).0, [CheckRule::ClanTwice]);
        let [clans, _] = founded();
        assert_eq!(native(&[clans, own(Some(7), &[2])]).0, [CheckRule::ClanMates]);
    }

    #[test]
    fn native_clans_end_before_others_are_founded_and_only_those_that_are_listed() {
        let changes = |ended: &[u32], founded: &[Clan]| ServerPacket::ClanChanges {
            ended: ended.to_vec(),
            founded: founded.to_vec(),
        };
        let [clans, _] = founded();
        let (faults, check) = native(&[clans.clone(), changes(&[7], &[clan(9, "owls", 3)])]);
        assert_eq!(faults, [], "a name may come again at once");
        assert_eq!(
            check.world_model().clan_state.clans,
            [("owls".to_owned(), 3), ("cats".to_owned(), 3)].into()
        );
        assert_eq!(native(&[clans.clone(), changes(&[9], &[])]).0, [CheckRule::ClanUnlisted]);
        assert_eq!(native(&[clans.clone(), changes(&[], &[clan(9, "owls", 3)])]).0, [CheckRule::ClanTwice]);
        assert_eq!(native(&[clans, changes(&[], &[clan(8, "dogs", 3)])]).0, [CheckRule::ClanTwice]);
        assert_eq!(native(&[changes(&[], &[clan(7, "owls", 2)]), own(Some(7), &[1])]).0, []);
    }

    #[test]
    fn native_tags_are_of_known_players_and_listed_clans() {
        let [clans, _] = founded();
        let tags =
            |more: &[(u32, Option<u32>)]| native(&[clans.clone(), ServerPacket::ClanTags(more.to_vec())]).0;
        assert_eq!(tags(&[(2, Some(7)), (3, None)]), []);
        assert_eq!(tags(&[(2, Some(9))]), [CheckRule::ClanUnlisted]);
        assert_eq!(tags(&[(9, Some(7))]), [CheckRule::UpdateUnknown]);
    }

    #[test]
    fn mates_are_of_ones_own_clan_and_do_each_other_no_harm() {
        let turn = |tick| ServerPacket::Update(Update { tick, ..Update::default() });
        let with_clan = |more: ServerPacket| {
            let [clans, own] = founded();
            native(&[clans, own, more, turn(3), turn(4)]).0
        };
        let mate =
            |player| ServerPacket::ClanMates(Some(vec![Mate { player: Some(player), x_px: 9.0, y_px: 9.0 }]));
        let kill = |killer, victim| ServerPacket::Kill { killer: Some(killer), victim };
        for fair in [mate(2), ServerPacket::MapPing { player: Some(2) }, kill(2, 2), kill(3, 2), kill(2, 3)] {
            assert_eq!(with_clan(fair.clone()), [], "{fair:?}");
        }
        assert_eq!(with_clan(mate(3)), [CheckRule::ClanMates]);
        assert_eq!(with_clan(ServerPacket::MapPing { player: Some(3) }), [CheckRule::ClanMates]);
        assert_eq!(with_clan(kill(2, 1)), [CheckRule::ClanMateDamage]);
        assert_eq!(native(&[mate(2)]).0, [CheckRule::ClanMates], "without a clan");
        let [clans, joins] = founded();
        let late = [ServerPacket::MapPing { player: Some(2) }, turn(3), clans, joins, turn(4)];
        assert_eq!(native(&late).0, [], "it was told late that one had joined");
        let [clans, joins] = founded();
        let left = [clans, joins, kill(2, 1), turn(3), own(Some(7), &[1]), turn(4)];
        assert_eq!(native(&left).0, [], "it was told late that the other one had left");
    }

    #[test]
    fn moomoo_clans_are_founded_before_anyone_is_in_them() {
        let owls = || ServerPacket::AddClan(Clan { id: None, name: "owls".to_owned(), owner: 2 });
        let ends = || ServerPacket::RemoveClan { name: "owls".to_owned() };
        let own = || ServerPacket::OwnName { name: Some("owls".to_owned()), is_owner: false };
        let in_owls = |player, is_owner| {
            let clan = Some("owls".to_owned());
            let others =
                [1, 2, 3].into_iter().filter(|other| *other != player).map(|other| pose(other).into());
            let player_shown = MoomooPlayer { pose: pose(player), weapon: 0, clan, is_owner };
            ServerPacket::Players(others.chain([player_shown]).collect())
        };
        let (faults, mut check) =
            moomoo(&[owls(), own(), ServerPacket::Members(vec![2, 1]), in_owls(2, true)]);
        assert_eq!((faults, check.take_stats().clans), (vec![], 1));
        assert_eq!(check.world_model().clan_state.tags, [(2, "owls".to_owned())].into());
        assert_eq!(moomoo(&[owls(), owls()]).0, [CheckRule::ClanTwice]);
        assert_eq!(moomoo(&[ends()]).0, [CheckRule::ClanUnlisted]);
        assert_eq!(moomoo(&[own()]).0, [CheckRule::ClanUnlisted]);
        let thrice = |packet: ServerPacket| [packet.clone(), packet.clone(), packet];
        assert_eq!(moomoo(&thrice(in_owls(2, true))).0, [CheckRule::ClanUnlisted]);
        let late = [in_owls(2, true), in_owls(2, true), owls(), in_owls(2, true)];
        assert_eq!(moomoo(&late).0, [], "it was told late that it was founded");
        let not_its_own = [&[owls()][..], &thrice(in_owls(3, true))].concat();
        assert_eq!(moomoo(&not_its_own).0, [CheckRule::ClanUnlisted]);
        assert_eq!(moomoo(&[owls(), own(), ServerPacket::Members(vec![2])]).0, [CheckRule::ClanMates]);
        let mates = ServerPacket::ClanMates(Some(vec![Mate { player: None, x_px: 9.0, y_px: 9.0 }]));
        assert_eq!(moomoo(&[mates]).0, [CheckRule::ClanMates]);
    }

    #[test]
    fn a_clan_request_is_remembered_until_it_is_answered() {
        use crate::games::moo::client_packet::{ClanAction, ClientPacket};
        let (faults, mut check) = moomoo(&[ServerPacket::JoinRequest { player: 3 }]);
        assert_eq!((faults, &check.world_model().clan_state.join_requests[..]), (vec![], &[3][..]));
        let action = ClanAction::Answer { player: 3, accept: true };
        check.on_sent(&ClientPacket::Clan { sequence: None, tick: None, action });
        assert_eq!(check.world_model().clan_state.join_requests, [0; 0]);
    }
}
