//! The update of a native client, without its objects. Compares the state with the client's known
//! set, and writes the records of the changes in the order in which clients require the messages.

use std::hint::black_box;

use super::animals::{AnimalLists, GoneAnimals, LastAnimal};
use super::datagram::{DatagramLists, LanePoses, write_sections};
use super::records::{self, OwnBody, UpdateDelta};
use super::update_input::UpdateInput;
use crate::game::{LaneBaseline, List, MessageWriter, RecordList, Records, WireValues};
use crate::games::moo::feed::in_view::InView;
use crate::games::moo::feed::interest::UpdateLayout;
use crate::games::moo::feed::known_clans::{ClanChanges, KnownClans};
use crate::games::moo::feed::known_set::{KnownPlayer, KnownSet};
use crate::games::moo::feed::merge_diff::{Change, diff_sorted, is_period_due};
use crate::games::moo::feed::pose::Pose;
use crate::games::moo::feed::published_state::{
    HeldItem, PlayerIdentity, PublicPlayer, PublicState, VisiblePlayer,
};
use crate::games::moo::world::clan::Clan;
use crate::games::moo::world::rules::GROUPS;
use crate::games::moo::world::{ClanId, PlayerId};
use crate::limits;

/// Resources; kills; experience, and that for the next age; age; score.
type Stats = ([u32; 4], u32, u32, u32, u8, u32);
/// Weapons, items and structures of a [`Kit`](crate::games::moo::world::controller::Kit).
type Inventory = ([Option<u8>; 2], [Option<u8>; GROUPS], [u8; GROUPS]);

/// Values of a player that are sent only when they change, as last sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastSent {
    pose: Pose,
    hand: HeldItem,
    is_protected: bool,
    /// The clan of the player's tag.
    clan: Option<ClanId>,
}

/// The state of a native client, without its objects: all that its next update depends on.
/// Spectators share it while it is equal, so a field depends on no more of the past than it must: a
/// field for players or lanes has its default without one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentState {
    pub known: KnownSet<LastSent, LastAnimal>,
    /// The tick of the last update.
    tick: Option<u32>,
    /// The known members of the client's clan, in ascending order of ID.
    clan_mates: Vec<PlayerId>,
    /// Whether the last list of members' positions was not empty.
    has_mates: bool,
    /// The second in which members' positions were last sent.
    mates_second: Option<u32>,
    /// The second in which the leaderboard was last sent.
    board_second: Option<u32>,
    /// The client's player whose life or death was last sent to the client.
    pub first_player: Option<PlayerId>,
    /// Whether the last update went by datagram, as far as datagrams carry it.
    is_by_datagram: bool,
    /// The poses of other players in datagrams.
    lane_poses: LanePoses,
    /// The client's own body in the last datagram, and the tick in which it changed.
    own_by_datagram: (Option<OwnBody>, u32),
    gone_animals: GoneAnimals,
    /// The client's own body and stats, as last sent.
    own: Option<OwnBody>,
    stats: Option<Stats>,
    /// The client's inventory, and its choices of upgrades.
    possessions: Option<(Inventory, (u8, u8))>,
    /// The arguments of the last message of each kind.
    clan: Vec<u8>,
    upgrade_offers: Vec<u8>,
    board: Vec<u8>,
}

/// Records that are collected until their message is written.
#[derive(Debug, Default)]
pub struct PendingLists {
    /// The sections of the packet `update`.
    own: RecordList,
    leaves: RecordList,
    enters: RecordList,
    full: RecordList,
    datagram: DatagramLists,
    moved: RecordList,
    turned: RecordList,
    pub animals: AnimalLists,
    health: RecordList,
    held_items: RecordList,
    spawn_protection: RecordList,
    clan_tags: RecordList,
    /// Bytes of the tags of players that the client already knew.
    known_tag_bytes: usize,
    /// Positions of the members of the client's clan.
    clan_mates: RecordList,
    /// The known players after the update.
    next: Vec<KnownPlayer<LastSent>>,
    /// Events that are sent as lists.
    pub swings: RecordList,
    pub object_hits: RecordList,
    pub animal_attacks: RecordList,
    pub shot_ends: RecordList,
    pub shots: RecordList,
}

impl SentState {
    /// Loads the fields that an update reads into the CPU cache.
    pub fn prefetch_fields(&self) {
        black_box((self.tick, self.first_player, self.mates_second, self.is_by_datagram));
        black_box((self.own.is_some(), self.stats.is_some(), self.possessions.is_some()));
        black_box((self.board.len(), self.own_by_datagram.1));
        self.known.prefetch_fields();
    }

    /// Writes everything that is visible to the client and not in its known set. `spectated` is the
    /// index of the player that a client without a body spectates.
    pub fn state(
        &mut self,
        (state, since, spectated): (&PublicState, &UpdateDelta, Option<usize>),
        (has_lane, lane): (bool, Option<LaneBaseline>),
        (look, lists): (&mut InView, &mut PendingLists),
        out: &mut MessageWriter<'_>,
    ) {
        let body = state.living(self.known.player);
        look.compute(state, body, spectated);
        self.known.set_window(look.window, state);
        let had_lane = std::mem::replace(&mut self.is_by_datagram, lane.is_some());
        let (is_lane_start, is_after_lane) = (!had_lane && lane.is_some(), had_lane && lane.is_none());
        let own = self.known.own_player(state);
        let now = UpdateInput { state, look, own, body, has_lane, lane, is_lane_start, is_after_lane };
        // After an update by datagram, the client has other poses than the stream has sent.
        let is_next = !had_lane && lane.is_none();
        let changed = since.records(self.tick.filter(|_| is_next), state);
        self.players(now, changed, lists);
        self.lane_poses.collect(now, &self.known.players, &mut lists.datagram.players);
        self.own(now, lists, out);
        self.gone_animals.update(&mut self.known.animals, now, &mut lists.animals);
        write_update((state.tick, has_lane && lane.is_none()), lists, out);
        out.send_list("health", &mut lists.health);
        out.send_list("held_items", &mut lists.held_items);
        out.send_list("spawn_protection", &mut lists.spawn_protection);
        let clan_bytes = self.clans(now, out);
        self.send_clan_mates(now, &mut lists.clan_mates, out);
        out.send_list("clan_tags", &mut lists.clan_tags);
        if !has_lane {
            out.send_list("animals_gone", &mut lists.animals.gone);
            out.send_list("animals", &mut lists.animals.changed);
        }
        self.stats(now, out);
        self.board(now, out);
        self.known.clans.charge(clan_bytes, state);
        self.known.clans.charge_tags(std::mem::take(&mut lists.known_tag_bytes), state);
        self.tick = Some(state.tick);
    }

    /// Collects the other players: leaves, enters, and changes of the known players.
    fn players(&mut self, now: UpdateInput<'_>, changed: Option<&[Records; 2]>, lists: &mut PendingLists) {
        let visible =
            now.look.players.iter().map(|index| (*index as usize, &now.state.visible[*index as usize]));
        let known = &mut self.known;
        let is_same = |known: &KnownPlayer<LastSent>, player: &VisiblePlayer| {
            known.identity == player.identity && !known.died
        };
        let are_all_known = known.players.len() == now.look.players.len()
            && known.players.iter().zip(visible.clone()).all(|(known, (_, player))| is_same(known, player));
        if are_all_known {
            for (player, visible) in known.players.iter_mut().zip(visible) {
                lists.collect_known(player, visible, now, changed, &known.clans);
            }
            return;
        }
        let mut newcomers = 0;
        lists.next.clear();
        for change in
            diff_sorted(&known.players, |known| known.identity, visible, |(_, player)| player.identity)
        {
            let (visible, before) = match change {
                Change::Present(visible, before) => (visible, before.copied()),
                Change::Removed(gone) if now.holds_enters() && !gone.died => {
                    lists.next.push(*gone);
                    continue;
                }
                Change::Removed(gone) => {
                    lists.leaves.push(gone.identity.player);
                    continue;
                }
            };
            if before.is_some_and(|before| before.died) {
                lists.leaves.push(visible.1.identity.player);
            }
            let player = match before.filter(|before| !before.died) {
                Some(mut player) => {
                    lists.collect_known(&mut player, visible, now, changed, &known.clans);
                    player
                }
                None if newcomers == limits::ENTERS_PER_UPDATE || now.holds_enters() => {
                    continue; // It stays unknown, and enters in a later update.
                }
                None => {
                    newcomers += 1;
                    lists.collect_newcomer(visible, now, &known.clans)
                }
            };
            lists.next.push(player);
        }
        known.set_players(&lists.next);
    }

    /// Collects the client's own body: once when it spawns, then its exact state after each change.
    fn own(&mut self, now: UpdateInput<'_>, lists: &mut PendingLists, out: &mut MessageWriter<'_>) {
        let own_player = now.body.map(|index| &now.state.players[index]);
        let known = &mut self.known.own;
        if known.is_some_and(|own| own.died)
            || known.map(|own| own.identity) != own_player.map(PublicPlayer::identity)
        {
            if let Some(gone) = known {
                lists.leaves.push(gone.identity.player);
            }
            if let Some(seen) = own_player {
                out.send("spawned", seen.player);
                lists.enters.push(records::enter(seen));
            }
            *known = own_player.map(|own| newcomer(own.max_health, &VisiblePlayer::of(own)));
            self.own = None;
        }
        let (Some(own_player), Some(known)) = (own_player, known) else { return };
        lists.collect_changed_values(known, &VisiblePlayer::of(own_player));
        if known.last.clan != own_player.clan()
            && self.known.clans.may_send_own_tag(own_player.clan(), now.state)
        {
            lists.tag(known, own_player.clan());
        }
        let body = OwnBody::of(own_player);
        if let Some(lane) = now.lane {
            let (last, changed) = &mut self.own_by_datagram;
            if now.is_lane_start || last.replace(body) != Some(body) {
                (*last, *changed) = (Some(body), now.state.tick);
            }
            if lane.lacks(*changed) {
                lists.datagram.own.push(body);
            }
            // The stream sends it again after the lane.
            self.own = None;
        } else if self.own.replace(body) != Some(body) {
            lists.own.push(body);
        }
    }

    /// Writes the part of the update that goes by datagram.
    pub fn datagram(&self, state: &PublicState, lists: &mut PendingLists, out: &mut MessageWriter<'_>) {
        lists.datagram.write(self.known.window, state, &mut lists.animals, out);
    }

    /// Writes founded and ended clans, and the client's own clan. Returns the charged bytes, which
    /// exclude the first list.
    fn clans(&mut self, now: UpdateInput<'_>, out: &mut MessageWriter<'_>) -> usize {
        let (state, clans) = (now.state, &mut self.known.clans);
        let (news, is_first) = clans.take_changes(state);
        let mut bytes_before = out.bytes();
        if !is_first {
            write_clan_changes(&news, out);
        } else if !news.founded.is_empty() {
            out.send("clans", clan_list(&news.founded));
            bytes_before = out.bytes();
        }
        let Some(own) = now.own else { return out.bytes() - bytes_before };
        let tag = own.tag.as_ref();
        let own_changes = clans.take_own(state, tag);
        if let Some(changes) = &own_changes {
            write_clan_changes(changes, out);
            self.clan.clear();
            self.clan_mates.clear();
        }
        if own_changes.is_some() || tag.is_some_and(|tag| clans.may_send_people(tag, false, state)) {
            // The clan and its members; for its owner also the applicants.
            let owned = tag.filter(|tag| tag.is_owner);
            let members = || tag.into_iter().flat_map(|tag| state.members(tag.id));
            let asking = owned
                .into_iter()
                .flat_map(|tag| state.join_requests(tag.id))
                .take(limits::MAX_VISIBLE_CLAN_REQUESTS);
            let people = (List(members().map(PublicPlayer::named)), List(asking.map(PublicPlayer::named)));
            if out.send_if_changed("clan", &mut self.clan, (tag.map(|tag| tag.id), owned.is_some(), people)) {
                self.clan_mates.clear();
                self.clan_mates.extend(members().map(|player| player.player));
            }
        }
        out.bytes() - bytes_before
    }

    /// Writes the positions of the living members once per second, and an empty list once after the
    /// last living member is gone.
    fn send_clan_mates(&mut self, now: UpdateInput<'_>, list: &mut RecordList, out: &mut MessageWriter<'_>) {
        let Some((own, tag)) = now.own.and_then(|own| Some((own, own.tag.as_ref()?))) else { return };
        if !is_period_due(&mut self.mates_second, now.state.second()) {
            return;
        }
        for mate in now.state.members(tag.id) {
            if mate.player != own.player && mate.alive && self.is_known_mate(tag.id, mate.player) {
                list.push((mate.player, [mate.body.x.to_px(), mate.body.y.to_px()]));
            }
        }
        let has_mates = !list.is_empty();
        if has_mates || self.has_mates {
            out.send("clan_mates", &*list);
            list.clear();
        }
        self.has_mates = has_mates;
    }

    /// Whether the client knows that this clan is its own and that the player is a member.
    pub fn is_known_mate(&self, clan: ClanId, player: PlayerId) -> bool {
        self.known.clans.is_in(clan) && self.clan_mates.binary_search(&player).is_ok()
    }

    /// Writes the client's stats, inventory and upgrades.
    fn stats(&mut self, now: UpdateInput<'_>, out: &mut MessageWriter<'_>) {
        let Some(own) = now.own else { return };
        let stats = (own.resources, own.kills, own.xp, own.xp_next, own.age, own.score);
        if self.stats.replace(stats) != Some(stats) {
            out.send("stats", stats);
        }
        let (kit, choices) = (&own.kit, own.choices);
        let inventory = (kit.weapons, kit.items, kit.built);
        let before = self.possessions.replace((inventory, choices));
        if before == Some((inventory, choices)) {
            return;
        }
        if before.is_none_or(|(before, _)| before != inventory) {
            let standing = (0u8..).zip(kit.built).filter(|(_, count)| *count > 0);
            let [weapons, items] =
                [&kit.weapons[..], &kit.items[..]].map(|numbers| List(numbers.iter().flatten()));
            out.send("inventory", (weapons, items, List(standing)));
        }
        let (points, age) = choices;
        let offers: Vec<u8> = if points == 0 { Vec::new() } else { kit.offers(age).collect() };
        out.send_if_changed("upgrade_offers", &mut self.upgrade_offers, (points, age, List(offers.iter())));
    }

    fn board(&mut self, now: UpdateInput<'_>, out: &mut MessageWriter<'_>) {
        let state = now.state;
        if is_period_due(&mut self.board_second, state.second()) {
            let place = now.body.map(|index| state.board().ranks[index]);
            let board = (List(state.board_rows()), place, state.players.len() as u64);
            out.send_if_changed("leaderboard", &mut self.board, board);
        }
    }
}

impl PendingLists {
    /// Collects the changes of a known player.
    fn collect_known(
        &mut self,
        known: &mut KnownPlayer<LastSent>,
        (index, player): (usize, &VisiblePlayer),
        now: UpdateInput<'_>,
        changed: Option<&[Records; 2]>,
        clans: &KnownClans,
    ) {
        if now.lane.is_none() {
            self.collect_pose(index, (known.last.pose, player.pose), now, changed);
            known.last.pose = player.pose;
        }
        self.collect_changed_values(known, player);
        if known.last.clan != player.clan && clans.may_send_tag(player.clan, false, now.state) {
            self.known_tag_bytes += self.tag(known, player.clan);
        }
    }

    /// Collects a player that enters the view.
    fn collect_newcomer(
        &mut self,
        (index, visible): (usize, &VisiblePlayer),
        now: UpdateInput<'_>,
        clans: &KnownClans,
    ) -> KnownPlayer<LastSent> {
        let player = &now.state.players[index];
        self.enters.push(records::enter(player));
        let mut known = newcomer(player.max_health, visible);
        self.collect_changed_values(&mut known, visible);
        if known.last.clan != visible.clan && clans.may_send_tag(visible.clan, true, now.state) {
            self.tag(&mut known, visible.clan);
        }
        known
    }

    /// Collects the pose of a known player for the stream if the client lacks it. `changed` has the
    /// differences to the previous update.
    fn collect_pose(
        &mut self,
        index: usize,
        (last, pose): (Pose, Pose),
        now: UpdateInput<'_>,
        changed: Option<&[Records; 2]>,
    ) {
        match changed {
            Some([moved, turned]) if last != pose => {
                self.moved.copy(moved, index);
                self.turned.copy(turned, index);
            }
            Some(_) => {}
            // After a lane, any pose may have been lost.
            None if last != pose || now.is_after_lane => {
                self.full.copy(now.state.players.records(UpdateLayout::Native, records::full), index);
            }
            None => {}
        }
    }

    /// Collects health, hand and spawn protection if they differ from the values last sent.
    fn collect_changed_values(&mut self, known: &mut KnownPlayer<LastSent>, player: &VisiblePlayer) {
        let VisiblePlayer { identity: PlayerIdentity { player, .. }, health, hand, is_protected, .. } =
            *player;
        if std::mem::replace(&mut known.health, health) != health {
            self.health.push((player, health));
        }
        if std::mem::replace(&mut known.last.hand, hand) != hand {
            self.held_items.push((player, hand.weapon, hand.item));
        }
        if std::mem::replace(&mut known.last.is_protected, is_protected) != is_protected {
            self.spawn_protection.push((player, is_protected));
        }
    }

    /// Collects the current clan tag of a player. Returns the number of written bytes.
    fn tag(&mut self, known: &mut KnownPlayer<LastSent>, clan: Option<ClanId>) -> usize {
        let bytes_before = self.clan_tags.bytes.len();
        known.last.clan = clan;
        self.clan_tags.push((known.identity.player, clan));
        self.clan_tags.bytes.len() - bytes_before
    }
}

/// A player that is sent now. Clients assume full health and the initial weapon in the hand of a
/// player that enters the view, and no spawn protection.
fn newcomer(max_health: u16, player: &VisiblePlayer) -> KnownPlayer<LastSent> {
    let last = LastSent { pose: player.pose, ..LastSent::default() };
    KnownPlayer { identity: player.identity, health: max_health, died: false, last }
}

/// Writes the changes for the stream. `has_animals` includes the animals.
fn write_update((tick, has_animals): (u32, bool), lists: &mut PendingLists, out: &mut MessageWriter<'_>) {
    let PendingLists { own, leaves, enters, full, moved, turned, animals, .. } = lists;
    let sections = [own, leaves, enters, full, moved, turned, &mut animals.changed, &mut animals.gone];
    let count = if has_animals { 8 } else { 6 };
    write_sections(tick, &sections.each_ref().map(|section| &**section)[..count], out);
    sections.into_iter().take(count).for_each(RecordList::clear);
}

fn write_clan_changes(ClanChanges { ended, founded }: &ClanChanges, out: &mut MessageWriter<'_>) {
    if !ended.is_empty() || !founded.is_empty() {
        out.send("clan_changes", (List(ended.iter().map(|clan| clan.id)), clan_list(founded)));
    }
}

/// Clans by ID, name and owner.
fn clan_list(clans: &[Clan]) -> impl WireValues {
    List(clans.iter().map(|clan| (clan.id, &*clan.name, clan.owner)))
}
