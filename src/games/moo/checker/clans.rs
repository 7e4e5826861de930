//! Checks clan packets.
//!
//! In the native dialect, clans have numbers, and all are listed once, then the changes; MooMoo
//! servers announce each change by name. Only the native dialect states the cause of a player's
//! death, so only there is it checked that clan mates spare each other. Other events are announced
//! at once, but a server may announce clan changes together and later. A contradiction of the known
//! clans is therefore a fault only if it persists for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::common::Common;
use super::rule::Rule;
use crate::games::moo::bot::received::{Clan, Heard, Mate, Shown};
use crate::games::moo::bot::world_model::Society;

/// State of the check that the picture does not hold.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Contradictions, and when each began.
    suspicions: Vec<(Duration, Suspicion)>,
    /// Players who show an unlisted clan, or another clan than listed, and since when.
    unlisted: BTreeMap<u32, Duration>,
    /// Number of clans that the client's player founded or joined.
    pub(super) joined: u64,
}

/// Time within which a server announces a clan change, however many there are.
const PATIENCE: Duration = Duration::from_secs(10);

/// A contradiction, unless the client learns later that the player is in the clan.
#[derive(Debug, Clone, Copy)]
enum Suspicion {
    /// A player outside the clan shows its position.
    Ping(u32),
    /// A clan member killed another.
    Kill(u32, u32),
}

impl State {
    /// Records a packet.
    pub(super) fn hear(&mut self, heard: &Heard, now: Duration, common: &mut Common) {
        let society = &common.picture.society;
        match heard {
            Heard::Clans(clans) => {
                let numbers: BTreeSet<Option<u32>> = clans.iter().map(|clan| clan.id).collect();
                let names: BTreeSet<&str> = clans.iter().map(|clan| clan.name.as_str()).collect();
                if numbers.len().min(names.len()) != clans.len() || numbers.contains(&None) {
                    common.fault(Rule::ClanTwice, format!("{clans:?}"));
                }
            }
            Heard::ClanChanges { ended, founded } => changes(ended, founded, common),
            Heard::AddClan(clan) if society.clans.contains_key(&clan.name) => {
                common.fault(Rule::ClanTwice, format!("{clan:?}"));
            }
            Heard::RemoveClan { name } if !society.clans.contains_key(name) => {
                common.fault(Rule::ClanUnlisted, format!("{name:?} has ended"));
            }
            Heard::OwnClan(own) => {
                self.own(common.picture.name_of(own), own.is_owner, common);
                if own.id.is_some() {
                    own_members(&own.members, common);
                }
            }
            Heard::OwnName { name, is_owner } => self.own(name.clone(), *is_owner, common),
            Heard::Members(members) => own_members(members, common),
            Heard::Tags(tags) => tags.iter().for_each(|(player, clan)| tag(*player, *clan, common)),
            Heard::Update(_) => self.judge(now, common),
            Heard::Players(players) => self.shown(players, now, common),
            Heard::Mates(Some(mates)) => mates_seen(mates, common),
            Heard::MapPing { player: Some(player) } if !society.is_mate(*player) => {
                self.suspicions.push((now, Suspicion::Ping(*player)));
            }
            Heard::Kill { killer: Some(killer), victim }
                if killer != victim && society.is_mate(*killer) && society.is_mate(*victim) =>
            {
                self.suspicions.push((now, Suspicion::Kill(*killer, *victim)));
            }
            _ => {}
        }
    }

    /// At the end of a turn: drops resolved suspicions, and reports those that are too old as
    /// faults.
    fn judge(&mut self, now: Duration, common: &mut Common) {
        self.suspicions.retain(|(since, suspicion)| {
            let is_mate = |player: u32| common.picture.society.is_mate(player);
            let is_cleared = match *suspicion {
                Suspicion::Ping(player) => is_mate(player),
                Suspicion::Kill(killer, victim) => !is_mate(killer) || !is_mate(victim),
            };
            let is_fault = !is_cleared && now.saturating_sub(*since) >= PATIENCE;
            match *suspicion {
                Suspicion::Ping(player) if is_fault => {
                    common.fault(
                        Rule::Mates,
                        format!("{player} is not a clan mate, but its position is shown"),
                    );
                }
                Suspicion::Kill(killer, victim) if is_fault => {
                    common.fault(Rule::MateHarm, format!("{killer} killed {victim}"));
                }
                Suspicion::Ping(_) | Suspicion::Kill(..) => {}
            }
            !is_cleared && !is_fault
        });
    }

    fn own(&mut self, name: Option<String>, is_owner: bool, common: &mut Common) {
        let Society { own, clans, .. } = &common.picture.society;
        let is_listed = name.as_ref().is_none_or(|name| clans.contains_key(name));
        self.joined += u64::from(name.is_some() && name != *own);
        if !is_listed || is_owner && name.is_none() {
            let detail = format!("own clan {name:?}, owner {is_owner}, of {clans:?}");
            common.fault(Rule::ClanUnlisted, detail);
        }
    }

    /// A MooMoo server's record of all players in view.
    fn shown(&mut self, players: &[Shown], now: Duration, common: &mut Common) {
        let before = std::mem::take(&mut self.unlisted);
        for Shown { pose, clan, is_owner, .. } in players {
            let society = &common.picture.society;
            let owner = clan.as_ref().map(|clan| society.clans.get(clan).copied());
            let is_listed = match owner {
                None => !is_owner,
                Some(owner) => owner.is_some_and(|owner| (owner == pose.player) == *is_owner),
            };
            if is_listed {
                continue;
            }
            let since = before.get(&pose.player).copied().unwrap_or(now);
            if now.saturating_sub(since) >= PATIENCE {
                let player = pose.player;
                let detail =
                    format!("{player} in {clan:?}: is_owner is {is_owner}, but the owner is {owner:?}");
                common.fault(Rule::ClanUnlisted, detail);
            } else {
                self.unlisted.insert(pose.player, since);
            }
        }
    }
}

fn changes(ended: &[u32], founded: &[Clan], common: &mut Common) {
    let names = &common.picture.clan_names;
    let unlisted: Vec<&u32> = ended.iter().filter(|id| !names.contains_key(id)).collect();
    let has_ended = |name: &str| ended.iter().any(|id| names.get(id).is_some_and(|of| of == name));
    let is_known = |clan: &&Clan| {
        let is_numbered = clan.id.is_some_and(|id| names.contains_key(&id) && !ended.contains(&id));
        is_numbered || common.picture.society.clans.contains_key(&clan.name) && !has_ended(&clan.name)
    };
    let known: Vec<&Clan> = founded.iter().filter(is_known).collect();
    let unlisted = unlisted.into_iter().map(|id| (Rule::ClanUnlisted, format!("clan {id} has ended")));
    let known = known.into_iter().map(|clan| (Rule::ClanTwice, format!("{clan:?}")));
    let faults: Vec<(Rule, String)> = unlisted.chain(known).collect();
    faults.into_iter().for_each(|(rule, detail)| common.fault(rule, detail));
}

fn tag(player: u32, clan: Option<u32>, common: &mut Common) {
    if !common.picture.players.contains_key(&player) {
        common.fault(Rule::UpdateUnknown, format!("the clan of {player}"));
    }
    if let Some(clan) = clan.filter(|clan| !common.picture.clan_names.contains_key(clan)) {
        common.fault(Rule::ClanUnlisted, format!("{player} is in {clan}"));
    }
}

fn own_members(members: &[u32], common: &mut Common) {
    let me = common.picture.me;
    // A dead player is still in its clan, but does not know its number.
    if me.is_some_and(|me| !members.contains(&me)) {
        common.fault(Rule::Mates, format!("this client is {me:?}, which is not among {members:?}"));
    }
}

fn mates_seen(mates: &[Mate], common: &mut Common) {
    let society = &common.picture.society;
    let is_strange = |mate: &Mate| mate.player.is_some_and(|player| !society.is_mate(player));
    if society.own.is_none() && !mates.is_empty() || mates.iter().any(is_strange) {
        common.fault(Rule::Mates, format!("{mates:?} of {society:?}"));
    }
    for Mate { x_px, y_px, .. } in mates {
        common.on_map("a mate", *x_px, *y_px, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::games::moo::bot::received::{Added, Enter, Own, OwnClan, Pose, Update, Welcome};
    use crate::games::moo::checker::Check;

    fn hear(check: &mut Check, packets: &[Heard]) -> Vec<Rule> {
        let faults = packets.iter().flat_map(|heard| check.hear(heard, Duration::ZERO));
        faults.map(|fault| fault.rule).collect()
    }

    fn pose(player: u32) -> Pose {
        Pose { player, x_px: 500.0, y_px: 500.0, heading: 0 }
    }

    /// The same with so much time between two packets that a contradiction is a fault in the third.
    fn hear_slowly(check: &mut Check, packets: &[Heard]) -> Vec<Rule> {
        let timed = packets.iter().zip(0..);
        let faults = timed.flat_map(|(heard, index): (_, u32)| check.hear(heard, PATIENCE / 2 * index));
        faults.map(|fault| fault.rule).collect()
    }

    /// Player 1 among 2 and 3, native.
    fn native(more: &[Heard]) -> (Vec<Rule>, Check) {
        let mut check = Check::new(true);
        let (code_hash, epoch) = (String::new(), String::new());
        let welcome = Welcome {
            version: 1,
            code_hash,
            seed: 1,
            map_size_px: 14_400,
            tick_hz: 30,
            update_hz: 30,
            epoch,
            tick: 1,
        };
        let enter = |player| Enter { pose: pose(player), name: String::new(), skin: 0 };
        let own = Some(Own { x: 500 << 16, y: 500 << 16, ..Own::default() });
        let update = Update { tick: 2, own, enters: (1..=3).map(enter).collect(), ..Update::default() };
        let born = [Heard::Welcome(welcome), Heard::Spawned { player: 1 }, Heard::Update(update)];
        assert_eq!(hear(&mut check, &born), []);
        (hear_slowly(&mut check, more), check)
    }

    /// The same by the layout of the MooMoo dialects, each with a clan.
    fn moomoo(more: &[Heard]) -> (Vec<Rule>, Check) {
        let mut check = Check::new(false);
        let add = |player: u32| {
            let (name, health) = (String::new(), 100);
            let (id, is_you) = (player.to_string(), player == 1);
            Heard::AddPlayer(Added { id, pose: pose(player), name, health, max_health: health, is_you })
        };
        let born = [Heard::IoInit, Heard::InitData, Heard::Setup { player: 1 }, add(1), add(2), add(3)];
        assert_eq!(hear(&mut check, &born), []);
        (hear_slowly(&mut check, more), check)
    }

    fn clan(id: u32, name: &str, owner: u32) -> Clan {
        Clan { id: Some(id), name: name.to_owned(), owner }
    }

    fn own(id: Option<u32>, members: &[u32]) -> Heard {
        Heard::OwnClan(OwnClan { id, is_owner: false, members: members.into(), asks: vec![] })
    }

    fn founded() -> [Heard; 2] {
        [Heard::Clans(vec![clan(7, "owls", 2), clan(8, "cats", 3)]), own(Some(7), &[1, 2])]
    }

    #[test]
    fn native_clans_are_listed_once_and_one_is_in_ones_own() {
        let (faults, mut check) = native(&founded());
        assert_eq!((faults, check.take_deeds().clans), (vec![], 1));
        assert!(check.picture().society.is_mate(2) && !check.picture().society.is_mate(3));
        assert_eq!(hear(&mut check, &[own(None, &[])]), []);
        assert!(!check.picture().society.is_mate(2));
        assert_eq!(native(&[own(Some(7), &[1])]).0, [Rule::ClanUnlisted]);
        let twice = Heard::Clans(vec![clan(7, "owls", 2), clan(8, "owls", 3)]);
        assert_eq!(native(&[twice]).0, [Rule::ClanTwice]);
        let [clans, _] = founded();
        assert_eq!(native(&[clans, own(Some(7), &[2])]).0, [Rule::Mates]);
    }

    #[test]
    fn native_clans_end_before_others_are_founded_and_only_those_that_are_listed() {
        let changes = |ended: &[u32], founded: &[Clan]| Heard::ClanChanges {
            ended: ended.to_vec(),
            founded: founded.to_vec(),
        };
        let [clans, _] = founded();
        let (faults, check) = native(&[clans.clone(), changes(&[7], &[clan(9, "owls", 3)])]);
        assert_eq!(faults, [], "a name may come again at once");
        assert_eq!(check.picture().society.clans, [("owls".to_owned(), 3), ("cats".to_owned(), 3)].into());
        assert_eq!(native(&[clans.clone(), changes(&[9], &[])]).0, [Rule::ClanUnlisted]);
        assert_eq!(native(&[clans.clone(), changes(&[], &[clan(9, "owls", 3)])]).0, [Rule::ClanTwice]);
        assert_eq!(native(&[clans, changes(&[], &[clan(8, "dogs", 3)])]).0, [Rule::ClanTwice]);
        assert_eq!(native(&[changes(&[], &[clan(7, "owls", 2)]), own(Some(7), &[1])]).0, []);
    }

    #[test]
    fn native_tags_are_of_known_players_and_listed_clans() {
        let [clans, _] = founded();
        let tags = |more: &[(u32, Option<u32>)]| native(&[clans.clone(), Heard::Tags(more.to_vec())]).0;
        assert_eq!(tags(&[(2, Some(7)), (3, None)]), []);
        assert_eq!(tags(&[(2, Some(9))]), [Rule::ClanUnlisted]);
        assert_eq!(tags(&[(9, Some(7))]), [Rule::UpdateUnknown]);
    }

    #[test]
    fn mates_are_of_ones_own_clan_and_do_each_other_no_harm() {
        let turn = |tick| Heard::Update(Update { tick, ..Update::default() });
        let with_clan = |more: Heard| {
            let [clans, own] = founded();
            native(&[clans, own, more, turn(3), turn(4)]).0
        };
        let mate = |player| Heard::Mates(Some(vec![Mate { player: Some(player), x_px: 9.0, y_px: 9.0 }]));
        let kill = |killer, victim| Heard::Kill { killer: Some(killer), victim };
        for fair in [mate(2), Heard::MapPing { player: Some(2) }, kill(2, 2), kill(3, 2), kill(2, 3)] {
            assert_eq!(with_clan(fair.clone()), [], "{fair:?}");
        }
        assert_eq!(with_clan(mate(3)), [Rule::Mates]);
        assert_eq!(with_clan(Heard::MapPing { player: Some(3) }), [Rule::Mates]);
        assert_eq!(with_clan(kill(2, 1)), [Rule::MateHarm]);
        assert_eq!(native(&[mate(2)]).0, [Rule::Mates], "without a clan");
        let [clans, joins] = founded();
        let late = [Heard::MapPing { player: Some(2) }, turn(3), clans, joins, turn(4)];
        assert_eq!(native(&late).0, [], "it was told late that one had joined");
        let [clans, joins] = founded();
        let left = [clans, joins, kill(2, 1), turn(3), own(Some(7), &[1]), turn(4)];
        assert_eq!(native(&left).0, [], "it was told late that the other one had left");
    }

    #[test]
    fn moomoo_clans_are_founded_before_anyone_is_in_them() {
        let owls = || Heard::AddClan(Clan { id: None, name: "owls".to_owned(), owner: 2 });
        let ends = || Heard::RemoveClan { name: "owls".to_owned() };
        let own = || Heard::OwnName { name: Some("owls".to_owned()), is_owner: false };
        let in_owls = |player, is_owner| {
            let clan = Some("owls".to_owned());
            let others =
                [1, 2, 3].into_iter().filter(|other| *other != player).map(|other| pose(other).into());
            let shown = Shown { pose: pose(player), weapon: 0, clan, is_owner };
            Heard::Players(others.chain([shown]).collect())
        };
        let (faults, mut check) = moomoo(&[owls(), own(), Heard::Members(vec![2, 1]), in_owls(2, true)]);
        assert_eq!((faults, check.take_deeds().clans), (vec![], 1));
        assert_eq!(check.picture().society.tags, [(2, "owls".to_owned())].into());
        assert_eq!(moomoo(&[owls(), owls()]).0, [Rule::ClanTwice]);
        assert_eq!(moomoo(&[ends()]).0, [Rule::ClanUnlisted]);
        assert_eq!(moomoo(&[own()]).0, [Rule::ClanUnlisted]);
        let thrice = |shown: Heard| [shown.clone(), shown.clone(), shown];
        assert_eq!(moomoo(&thrice(in_owls(2, true))).0, [Rule::ClanUnlisted]);
        let late = [in_owls(2, true), in_owls(2, true), owls(), in_owls(2, true)];
        assert_eq!(moomoo(&late).0, [], "it was told late that it was founded");
        let not_its_own = [&[owls()][..], &thrice(in_owls(3, true))].concat();
        assert_eq!(moomoo(&not_its_own).0, [Rule::ClanUnlisted]);
        assert_eq!(moomoo(&[owls(), own(), Heard::Members(vec![2])]).0, [Rule::Mates]);
        let seen = Heard::Mates(Some(vec![Mate { player: None, x_px: 9.0, y_px: 9.0 }]));
        assert_eq!(moomoo(&[seen]).0, [Rule::Mates]);
    }

    #[test]
    fn a_clan_request_is_remembered_until_it_is_answered() {
        use crate::games::moo::client_packet::{ClanAction, ClientPacket};
        let (faults, mut check) = moomoo(&[Heard::Asks { player: 3 }]);
        assert_eq!((faults, &check.picture().society.asks[..]), (vec![], &[3][..]));
        let action = ClanAction::Answer { player: 3, accept: true };
        check.said(&ClientPacket::Clan { sequence: None, tick: None, action });
        assert_eq!(check.picture().society.asks, [0; 0]);
    }
}
