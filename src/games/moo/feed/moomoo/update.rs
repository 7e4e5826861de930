//! The update of one MooMoo client. Compares the state with the client's known set, and writes the
//! messages for the changes in the order in which clients require them.

use std::hint::black_box;
use std::mem::{replace, swap, take};

use super::records::{self, object_number};
use crate::game::{Boolean, List, MessageWriter, RecordList, WireValues};
use crate::games::moo::feed::in_view::InView;
use crate::games::moo::feed::interest::UpdateLayout;
use crate::games::moo::feed::known_clans::ClanChanges;
use crate::games::moo::feed::known_set::{KnownPlayer, KnownSet};
use crate::games::moo::feed::merge_diff::{Change, diff_sorted, is_period_due};
use crate::games::moo::feed::objects::{KnownObjects, ObjectChange};
use crate::games::moo::feed::published_state::{PlayerIdentity, PublicPlayer, PublicState, VisiblePlayer};
use crate::games::moo::world::PlayerId;
use crate::games::moo::world::controller::Kit;
use crate::limits;
use crate::packet::msgpack::write_map_len;

/// Interval between two minimaps of the client's clan, in seconds.
const MINIMAP_EVERY_S: u32 = 3;

/// Names of wood, food, stone, gold and kills in MooMoo clients.
const VALUES: [&str; 5] = ["wood", "food", "stone", "points", "kills"];

/// The view of one MooMoo client.
#[derive(Debug, Default)]
pub struct MoomooView {
    pub known: KnownSet<()>,
    objects: KnownObjects,
    /// The membership of the world in the last update.
    membership_version: Option<u32>,
    /// The last list of the members of the client's clan.
    members: Vec<u8>,
    /// The applicants that were sent to the client, and the tick of each request.
    asking: Vec<(PlayerId, u32)>,
    /// Whether the last minimap contained positions.
    has_minimap: bool,
    /// The period in which the minimap was last sent.
    minimap_period: Option<u32>,
    /// The second in which the leaderboard was last due.
    board_second: Option<u32>,
    /// Whether the leaderboard that was sent last is empty.
    is_board_empty: bool,
    /// Resources and kills, as last sent.
    values: Option<[u32; 5]>,
    /// Experience, experience for the next age, and age, as last sent.
    age: Option<(u32, u32, u8)>,
    /// Kit and upgrades, as last sent.
    kit: Option<(Kit, (u8, u8))>,
    /// Whether the client chose an upgrade that is not offered, so that its upgrades must be sent
    /// again.
    pub is_refused: bool,
}

/// Buffers of a worker, reused by its views in turn, so that the steady state allocates nothing.
#[derive(Debug, Default)]
pub struct MoomooScratch {
    look: InView,
    /// Health and records of players, which are written after the other messages about them.
    health: Vec<(PlayerId, u16)>,
    players: RecordList,
    list: RecordList,
    /// The known players in view after the update, and their indices in the state.
    next: Vec<KnownPlayer<()>>,
    next_indices: Vec<u32>,
}

impl MoomooView {
    /// Loads the fields that an update reads into the CPU cache.
    pub fn prefetch_fields(&self) {
        black_box((self.membership_version, self.board_second, self.values.is_some()));
        black_box((self.age, self.kit.is_some(), self.objects.version()));
        self.known.prefetch_fields();
    }

    /// Writes all messages for this state. A client without a body receives only departures, clans
    /// and the leaderboard.
    ///
    /// In the update that sets the client up, the possessions follow `update_players`, as in the
    /// original game, because some clients create their own player only at that packet. In every
    /// later update the possessions come first, so that a client can use them in the same update.
    pub fn state(&mut self, state: &PublicState, scratch: &mut MoomooScratch, out: &mut MessageWriter<'_>) {
        let body = state.living(self.known.player);
        self.departures(state, out);
        let sets_up = body.is_some() && self.known.own.is_none();
        let mut clan_bytes = self.clans(state, out);
        if !sets_up {
            clan_bytes += self.own_clan(state, out);
        }
        let mut member_bytes = 0;
        self.known.window = None;
        if let Some(body) = body {
            let own = &state.players[body];
            scratch.look.compute(state, Some(body), None);
            self.known.set_window(scratch.look.window, state);
            self.players(state, scratch, body, out);
            if !sets_up {
                self.possessions(own, out);
            }
            let MoomooScratch { look, players, list, .. } = scratch;
            self.objects(state, look, list, out);
            out.send_list("update_players", players);
            if sets_up {
                self.possessions(own, out);
                clan_bytes += self.own_clan(state, out);
            }
            out.send_list("load_objects", list);
            member_bytes = self.members(state, own, out);
            self.animals(state, look, list, out);
        }
        let was_empty = replace(&mut self.is_board_empty, state.players.is_empty());
        if is_period_due(&mut self.board_second, state.second()) && !(was_empty && self.is_board_empty) {
            out.send("leaderboard", List(state.board_rows()));
        }
        self.known.clans.charge(clan_bytes, state);
        self.known.clans.charge(member_bytes, state);
    }

    /// Returns the first tick in which a client that knows no entity needs an update again: the
    /// start of the next second, for the leaderboard and the clans.
    pub fn quiet_until(&self, state: &PublicState) -> Option<u32> {
        let known = &self.known;
        let knows_no_player = known.players.is_empty() && known.out_of_view.is_empty();
        let knows_nothing = known.player.is_none() && known.own.is_none() && knows_no_player;
        let is_board_sent = self.board_second == Some(state.second());
        (knows_nothing && is_board_sent).then(|| (state.second() + 1) * state.tick_hz)
    }

    /// Writes the players that have left the world. Players that only left the view stay known, as
    /// in the original game. They can be hundreds, so they are compared only after a change.
    fn departures(&mut self, state: &PublicState, out: &mut MessageWriter<'_>) {
        let find_visible = |known: &KnownPlayer<()>| {
            let found = state.player(known.identity.player);
            found.filter(|found| found.identity() == known.identity)
        };
        let mut is_in_world = |known: &KnownPlayer<()>| {
            let is_here = find_visible(known).is_some();
            if !is_here {
                write_removal(known.identity.player, out);
            }
            is_here
        };
        let version = Some(state.membership_version);
        if replace(&mut self.membership_version, version) != version {
            // In ascending order of ID, in view or not.
            self.known.out_of_view.append(&mut self.known.players);
            self.known.out_of_view.sort_unstable_by_key(|known| known.identity);
            self.known.out_of_view.retain(&mut is_in_world);
            self.known.own = self.known.own.filter(is_in_world);
        }
        // A client is set up again when its player respawns, as clients expect.
        self.known.own =
            self.known.own.filter(|own| !own.died && find_visible(own).is_some_and(|found| found.alive));
    }

    /// Writes ended and founded clans. Returns the charged bytes: 0 for the first list.
    fn clans(&mut self, state: &PublicState, out: &mut MessageWriter<'_>) -> usize {
        let bytes_before = out.bytes();
        let (news, is_first) = self.known.clans.take_changes(state);
        write_clan_changes(news, out);
        if is_first { 0 } else { out.bytes() - bytes_before }
    }

    /// Writes the client's own clan, the requests to join it and its minimap. Returns the charged
    /// bytes, which exclude the minimap.
    fn own_clan(&mut self, state: &PublicState, out: &mut MessageWriter<'_>) -> usize {
        let (own, clans) = (self.known.own_player(state), &mut self.known.clans);
        let bytes_before = out.bytes();
        let Some(own) = own else { return 0 };
        let tag = own.tag.as_ref();
        let is_owner = tag.is_some_and(|tag| tag.is_owner);
        if let Some(changes) = clans.take_own(state, tag) {
            write_clan_changes(changes, out);
            out.send("own_clan", (tag.map(|tag| &*tag.name), is_owner));
            self.members.clear();
            self.asking.clear();
        }
        if let Some(tag) = tag.filter(|tag| is_owner && clans.may_send_people(tag, false, state)) {
            let asking = state
                .join_requests(tag.id)
                .filter_map(|player| Some((player, (player.player, player.join_request?.1))));
            self.asking.retain(|known| asking.clone().any(|(_, request)| request == *known));
            for (player, request) in asking {
                if self.asking.len() < limits::MAX_VISIBLE_CLAN_REQUESTS && !self.asking.contains(&request) {
                    self.asking.push(request);
                    out.send("join_request", player.named());
                }
            }
        }
        let charged = out.bytes() - bytes_before;
        if is_period_due(&mut self.minimap_period, state.second() / MINIMAP_EVERY_S) {
            if let Some(tag) = tag {
                let mates = state.members(tag.id).filter(|mate| mate.player != own.player && mate.alive);
                out.send("minimap", List(mates.map(|mate| [mate.body.x.to_px(), mate.body.y.to_px()])));
            } else if self.has_minimap {
                out.send("minimap", 0u8);
            }
            self.has_minimap = tag.is_some();
        }
        charged
    }

    /// Writes the client's own player, players that entered the view or respawned since the last
    /// update, and changed health.
    fn players(
        &mut self,
        state: &PublicState,
        scratch: &mut MoomooScratch,
        body: usize,
        out: &mut MessageWriter<'_>,
    ) {
        let own = &state.players[body];
        if self.known.own.is_none() {
            out.send("setup", own.player);
            write_player(own, true, out);
            (self.values, self.age, self.kit) = (None, None, None);
        }
        let identity = |index: &u32| state.visible[*index as usize].identity;
        let is_same = |known: &KnownPlayer<()>, index| known.identity == identity(index) && !known.died;
        let (known, in_view) = (&self.known.players, &scratch.look.players);
        if known.len() != in_view.len()
            || !known.iter().zip(in_view).all(|(known, index)| is_same(known, index))
        {
            self.enter_and_leave(state, scratch, out);
        }
        let MoomooScratch { look, health, players, .. } = scratch;
        let records = state.players.records(UpdateLayout::Moomoo, records::player);
        let mut add = |known: &mut KnownPlayer<()>, index: usize| {
            let VisiblePlayer { identity, health: now, .. } = state.visible[index];
            if replace(&mut known.health, now) != now {
                health.push((identity.player, now));
            }
            players.copy(records, index);
        };
        add(self.known.own.get_or_insert_with(|| added(own)), body);
        self.known
            .players
            .iter_mut()
            .zip(&look.players)
            .for_each(|(known, index)| add(known, *index as usize));
        health.drain(..).for_each(|health| out.send("health", health));
    }

    /// Writes players that entered the view or respawned since the last update. A respawned player
    /// may have another name and colour, so it is removed and added again. Enters beyond the limit
    /// are deferred to the next update, and removed from the players in view.
    fn enter_and_leave(
        &mut self,
        state: &PublicState,
        scratch: &mut MoomooScratch,
        out: &mut MessageWriter<'_>,
    ) {
        let MoomooScratch { look, next, next_indices, .. } = scratch;
        let KnownSet { players: known, out_of_view, .. } = &mut self.known;
        let find = |known: &[KnownPlayer<()>], identity: PlayerIdentity| {
            known.binary_search_by_key(&identity, |known| known.identity)
        };
        let visible = look.players.iter().map(|index| (*index, state.visible[*index as usize].identity));
        let mut newcomers = 0;
        next.clear();
        next_indices.clear();
        for change in diff_sorted(&*known, |known| known.identity, visible, |(_, identity)| *identity) {
            let (index, known) = match change {
                Change::Present((index, _), known) => (index, known.copied()),
                Change::Removed(gone) => {
                    let (Ok(place) | Err(place)) = find(out_of_view, gone.identity);
                    out_of_view.insert(place, *gone);
                    continue;
                }
            };
            let player = &state.players[index as usize];
            let place = find(out_of_view, player.identity());
            let known = known.or_else(|| place.ok().map(|place| out_of_view[place]));
            let is_alive = known.is_some_and(|known| !known.died);
            if !is_alive && newcomers == limits::ENTERS_PER_UPDATE {
                if let (Some(known), Err(place)) = (known, place) {
                    out_of_view.insert(place, known);
                }
                continue;
            }
            if let Ok(place) = place {
                out_of_view.remove(place);
            }
            if !is_alive {
                newcomers += 1;
                if known.is_some() {
                    write_removal(player.player, out);
                }
                write_player(player, false, out);
            }
            next.push(known.filter(|_| is_alive).unwrap_or_else(|| added(player)));
            next_indices.push(index);
        }
        self.known.set_players(next);
        swap(&mut look.players, next_indices);
    }

    /// Writes the stats and the kit of the client's own player.
    fn possessions(&mut self, own: &PublicPlayer, out: &mut MessageWriter<'_>) {
        self.stats(own, out);
        self.kit(own, out);
    }

    /// Writes the changed stats of the client's own player, and its age. Gold is called points.
    fn stats(&mut self, own: &PublicPlayer, out: &mut MessageWriter<'_>) {
        let [wood, food, stone, gold] = own.resources;
        let values = [wood, food, stone, gold, own.kills];
        let known = self.values.replace(values);
        for (at, (name, value)) in VALUES.into_iter().zip(values).enumerate() {
            if known.is_none_or(|known| known[at] != value) {
                let updates_view = 1u8;
                out.send("value", (name, value, updates_view));
            }
        }
        let age = (own.xp, own.xp_next, own.age);
        if self.age.replace(age) != Some(age) {
            out.send("age", age);
        }
    }

    /// Writes the client's kit, upgrades and structure counts.
    fn kit(&mut self, own: &PublicPlayer, out: &mut MessageWriter<'_>) {
        let (kit, choices) = (&own.kit, own.choices);
        let displayed = |kit: &Kit, choices: (u8, u8)| (choices, kit.built, kit.weapons, kit.items);
        let is_known = |(known, before): &(Kit, _)| displayed(known, *before) == displayed(kit, choices);
        let is_new = !self.kit.as_ref().is_some_and(is_known);
        if is_new {
            for (numbers, are_weapons) in [(&kit.items[..], false), (&kit.weapons[..], true)] {
                out.send("items", (List(numbers.iter().flatten()), are_weapons));
            }
        }
        // The client computes the list of upgrades itself, from their number and age.
        if take(&mut self.is_refused) || is_new {
            out.send("upgrades", choices);
        }
        if is_new {
            let known = self.kit.replace((kit.clone(), choices)).map_or([0; _], |(known, _)| known.built);
            for ((group, count), known) in (0u8..).zip(kit.built).zip(known) {
                if count != known {
                    out.send("item_count", (group, count));
                }
            }
        }
    }

    /// Writes the destroyed structures, and collects the objects that came into range.
    fn objects(
        &mut self,
        state: &PublicState,
        look: &InView,
        list: &mut RecordList,
        out: &mut MessageWriter<'_>,
    ) {
        let (nature, structures) = (&state.nature, &state.structures);
        let natural = nature.records(UpdateLayout::Moomoo, records::natural);
        let built = structures.index.records(UpdateLayout::Moomoo, records::built);
        self.objects.compare(nature, structures, look.window, |change| match change {
            ObjectChange::Natural(index) => list.copy(natural, index),
            ObjectChange::Removed(id) => out.send("remove_object", object_number(id)),
            ObjectChange::Built(index) => list.copy(built, index),
        });
    }

    /// Writes the members of the client's clan. The original client accepts the members only after
    /// both `own_clan` and the update have assigned the clan to its own player. Returns the number
    /// of written bytes.
    fn members(&mut self, state: &PublicState, own: &PublicPlayer, out: &mut MessageWriter<'_>) -> usize {
        let bytes_before = out.bytes();
        if let Some(tag) = &own.tag
            && self.known.clans.may_send_people(tag, self.members.is_empty(), state)
        {
            out.send_if_changed(
                "clan_members",
                &mut self.members,
                List(state.members(tag.id).map(PublicPlayer::named)),
            );
        }
        out.bytes() - bytes_before
    }

    /// Writes all animals in view in each update; nil if there are none. Clients of the original
    /// game require this packet in each update.
    fn animals(
        &mut self,
        state: &PublicState,
        look: &InView,
        list: &mut RecordList,
        out: &mut MessageWriter<'_>,
    ) {
        let records = state.animals.records(UpdateLayout::Moomoo, records::animal);
        self.known.animals.clear();
        for index in look.animals.iter().map(|index| *index as usize) {
            list.copy(records, index);
            self.known.animals.push((state.animals[index].id, ()));
        }
        if look.animals.is_empty() {
            out.send("animals", None::<u8>);
        } else {
            out.send("animals", &*list);
            list.clear();
        }
    }
}

/// Writes each ended and each founded clan.
fn write_clan_changes(changes: ClanChanges, out: &mut MessageWriter<'_>) {
    for clan in changes.ended {
        out.send("remove_clan", &*clan.name);
    }
    for clan in changes.founded {
        out.send_raw("add_clan", 1, |out| {
            write_map_len(out, 2);
            (("sid", &*clan.name), ("owner", clan.owner)).write(out);
        });
    }
}

/// The known state of a player after its `add_player`, which contains the health.
fn added(player: &PublicPlayer) -> KnownPlayer<()> {
    KnownPlayer { health: player.health, ..KnownPlayer::new(player, ()) }
}

fn write_player(player: &PublicPlayer, is_you: bool, out: &mut MessageWriter<'_>) {
    out.send("add_player", (List(std::iter::once(records::added_player(player))), Boolean(is_you)));
}

fn write_removal(player: PlayerId, out: &mut MessageWriter<'_>) {
    out.send("remove_player", &*records::id_of(player));
}
