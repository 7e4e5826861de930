//! The second step of an update: find what the client does not know yet. This step adds it
//! to the known set, so the third step must write all of it.

use super::records::Encoded;
use crate::feed::interest::Window;
use crate::feed::known::{Known, KnownPlayers, KnownShots};
use crate::feed::known_clans::{ClanChanges, KnownClans};
use crate::feed::objects::KnownObjects;
use crate::feed::records::Section;
use crate::feed::state::{Seen, State, Stats};
use crate::limits;
use crate::packet::msgpack::{write_array_len, write_str, write_uint};
use crate::world::{EntityId, PlayerId};

/// Seconds between two maps of the client's clan.
const MINIMAP_EVERY_S: u32 = 3;

/// The MooMoo clients' names for wood, food, stone, gold and kills.
const VALUES: [&str; 5] = ["wood", "food", "stone", "points", "kills"];

/// What one client knows.
#[derive(Debug, Default)]
pub struct KnownSet {
    pub players: KnownPlayers<()>,
    pub objects: KnownObjects,
    /// In the order of their numbers.
    animals: Vec<EntityId>,
    pub shots: KnownShots,
    pub clans: KnownClans,
    /// The last list of the members of its own clan.
    pub members: Vec<u8>,
    /// The players whose request to join has been sent, and when each of them asked.
    asking: Vec<(PlayerId, u32)>,
    /// Whether any positions of the clan have been sent.
    has_minimap: bool,
    stats: Option<Stats>,
    /// Choices and their age, the counts of structures, weapons and items, as last sent.
    kit: Vec<u8>,
    /// The client chose what is not offered, and must be shown its choices again.
    pub is_refused: bool,
    /// The second of the last leaderboard.
    board_second: Option<u32>,
}

/// What the client does not know yet: the third step empties it. Indexes are those of the state's
/// players.
#[derive(Debug, Default)]
pub struct Changes {
    /// Players who have left the world.
    pub removed: Vec<PlayerId>,
    /// All clans, the first time, as founded.
    pub clans: ClanChanges,
    /// Clans that ended and were founded: as news, and those that concern the client's own clan.
    pub clan_changes: [ClanChanges; 2],
    pub own_clan: bool,
    /// Players who ask to join the client's clan.
    pub asking: Vec<u32>,
    pub minimap: bool,
    /// The client begins to play.
    pub setup: bool,
    /// Players that are new, and whether an earlier body of theirs must be removed first.
    pub added: Vec<(u32, bool)>,
    pub health: Vec<(PlayerId, u16)>,
    /// Resources and kills, by name.
    pub values: Vec<(&'static str, u32)>,
    pub age: bool,
    pub kit: bool,
    pub upgrades: bool,
    /// Groups of items, and how many of each stand.
    pub counts: Vec<(u8, u8)>,
    pub gone: Vec<EntityId>,
    pub objects: Section,
    pub players: Section,
    pub members: bool,
    /// Whether there are animals in view, or were in the last update.
    pub has_animals: bool,
    pub animals: Section,
    pub board: bool,
    bytes: Vec<u8>,
}

/// What is compared: the public state, its records, and the client's view of it.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub state: &'a State,
    pub encoded: &'a Encoded,
    /// The client's own player, alive or dead.
    pub own: Option<&'a Seen>,
    /// The client's own body, if it is alive, as an index, and what it sees.
    pub body: Option<(usize, Window)>,
    /// The other players in view, as indexes in order.
    pub players: &'a [u32],
    /// The animals in view, as indexes in order.
    pub animals: &'a [u32],
}

impl KnownSet {
    /// Collects in `changes` what the client does not know yet, and adds it to what it knows. A
    /// client without a body is sent only departures, clans and the leaderboard.
    pub fn compare(&mut self, now: Now<'_>, changes: &mut Changes) {
        self.compare_departures(now, changes);
        self.clans.begin(now.state);
        self.compare_clans(now, changes);
        if let Some((body, window)) = now.body {
            let own = &now.state.players[body];
            self.compare_players(now, body, changes);
            self.compare_stats(own, changes);
            self.compare_kit(own, changes);
            self.compare_objects(now, window, changes);
            self.compare_members(now, own, changes);
            self.compare_animals(now, changes);
        }
        changes.board = self.board_second.replace(now.state.second()) != Some(now.state.second());
    }

    /// Players who have left the world; players who only go out of view stay known, as in the
    /// original game.
    fn compare_departures(&mut self, now: Now<'_>, changes: &mut Changes) {
        let seen = |known: &Known<()>| {
            let index = now.state.players.index_of(&known.who.player)?;
            Some(&now.state.players[index]).filter(|seen| seen.who() == known.who)
        };
        let mut is_here = |known: &Known<()>| {
            let is_here = seen(known).is_some();
            if !is_here {
                changes.removed.push(known.who.player);
            }
            is_here
        };
        self.players.others.retain(&mut is_here);
        // A client whose player died is set up again when it plays again, as clients expect.
        let own = self.players.own.filter(is_here);
        self.players.own = own.filter(|own| !own.died && seen(own).is_some_and(|seen| seen.alive));
    }

    fn compare_clans(&mut self, now: Now<'_>, changes: &mut Changes) {
        let (state, clans) = (now.state, &mut self.clans);
        changes.clans.founded = clans.take_list(state);
        changes.clan_changes = [clans.take_news(state), ClanChanges::default()];
        let Some(own) = now.own else { return };
        let tag = own.tag.as_ref();
        if let Some(own_changes) = clans.take_own(state, tag) {
            changes.clan_changes[1] = own_changes;
            changes.own_clan = true;
            self.members.clear();
            self.asking.clear();
        }
        if let Some(tag) = tag.filter(|tag| tag.is_owner && self.clans.may_send_people(tag)) {
            let asking = state.asking(tag.id).filter_map(|seen| Some((seen, (seen.player, seen.asks?.1))));
            self.asking.retain(|known| asking.clone().any(|(_, asks)| asks == *known));
            for (seen, asks) in asking {
                if self.asking.len() < limits::CLAN_ASKS_TOLD && !self.asking.contains(&asks) {
                    self.asking.push(asks);
                    changes.asking.extend(state.players.index_of(&seen.player).map(|index| index as u32));
                }
            }
        }
        if self.clans.take_period(state.second() / MINIMAP_EVERY_S) {
            changes.minimap = tag.is_some() || self.has_minimap;
            self.has_minimap = tag.is_some();
        }
    }

    /// The client's own player, the players in view that the client has not received since they
    /// began to play, and health where it has changed. A player who plays again may have another
    /// name and colour, so it is removed and added again. Players over the cap are deferred to the
    /// next update.
    fn compare_players(&mut self, now: Now<'_>, body: usize, changes: &mut Changes) {
        let (state, records) = (now.state, now.encoded.players(now.state));
        let own = &state.players[body];
        if self.players.own.is_none() {
            changes.setup = true;
            self.stats = None;
            self.kit.clear();
        }
        let known = self.players.own.get_or_insert_with(|| Known::new(own, ()));
        compare_health(known, own, changes);
        changes.players.copy(records.get(body));
        let others = &mut self.players.others;
        for &index in now.players {
            let seen = &state.players[index as usize];
            let place = others.binary_search_by_key(&seen.who(), |known| known.who);
            let is_known = place.is_ok_and(|place| !others[place].died);
            if !is_known && changes.added.len() >= limits::NEWCOMERS_PER_TURN {
                continue;
            }
            if !is_known {
                changes.added.push((index, place.is_ok()));
            }
            match place {
                Ok(place) if !is_known => others[place] = Known::new(seen, ()),
                Ok(_) => {}
                Err(place) => others.insert(place, Known::new(seen, ())),
            }
            let (Ok(place) | Err(place)) = place;
            compare_health(&mut others[place], seen, changes);
            changes.players.copy(records.get(index as usize));
        }
    }

    /// The changed stats of the client's own player, and its age. Gold is called points.
    fn compare_stats(&mut self, own: &Seen, changes: &mut Changes) {
        let (now, before) = (own.stats, self.stats.replace(own.stats));
        let known = before.unwrap_or_default();
        let values = now.resources.into_iter().chain([now.kills]);
        let known_values = known.resources.into_iter().chain([known.kills]);
        for ((name, value), known) in VALUES.into_iter().zip(values).zip(known_values) {
            if before.is_none() || value != known {
                changes.values.push((name, value));
            }
        }
        changes.age = before.is_none() || (now.xp, now.age) != (known.xp, known.age);
    }

    /// The own player's kit, its choices and its structure counts.
    fn compare_kit(&mut self, own: &Seen, changes: &mut Changes) {
        let (kit, (points, age)) = (&own.kit, own.choices);
        let bytes = &mut changes.bytes;
        bytes.clear();
        bytes.extend([points, age]);
        bytes.extend(kit.built);
        bytes.extend(kit.weapons.iter().chain(&kit.items).map(|number| number.unwrap_or(u8::MAX)));
        changes.kit = *bytes != self.kit;
        changes.upgrades = std::mem::take(&mut self.is_refused) || changes.kit;
        if !changes.kit {
            return;
        }
        let known = self.kit.get(2..).unwrap_or_default();
        let counts = (0..)
            .zip(kit.built)
            .filter(|(group, count)| known.get(usize::from(*group)).copied().unwrap_or(0) != *count);
        changes.counts.extend(counts);
        std::mem::swap(&mut self.kit, bytes);
    }

    /// Structures that were destroyed, and objects of either kind that came into range.
    fn compare_objects(&mut self, now: Now<'_>, window: Window, changes: &mut Changes) {
        let (state, Changes { objects, gone, .. }) = (now.state, changes);
        let nature = now.encoded.things.nature(state);
        self.objects.add_nature(&state.nature, window, |index| objects.copy(nature.get(index)));
        self.objects.remove_structures(&state.structures, |id| gone.push(id));
        let built = now.encoded.things.structures(state);
        self.objects.add_structures(&state.structures, window, |index| objects.copy(built.get(index)));
    }

    fn compare_members(&mut self, now: Now<'_>, own: &Seen, changes: &mut Changes) {
        let Some(tag) = &own.tag else { return };
        let is_first = self.members.is_empty() && self.clans.may_send_first_people(tag);
        if !is_first && !self.clans.may_send_people(tag) {
            return;
        }
        let members = now.state.members(tag.id);
        let bytes = &mut changes.bytes;
        bytes.clear();
        write_array_len(bytes, members.clone().count() * 2);
        for seen in members {
            write_uint(bytes, seen.player.0.into());
            write_str(bytes, &seen.name);
        }
        changes.members = *bytes != self.members;
        std::mem::swap(&mut self.members, bytes);
    }

    /// All animals in view, each time, and an empty list once when none is left.
    fn compare_animals(&mut self, now: Now<'_>, changes: &mut Changes) {
        changes.has_animals = !now.animals.is_empty() || !self.animals.is_empty();
        self.animals.clear();
        for &index in now.animals {
            changes.animals.copy(now.encoded.things.animals(now.state).get(index as usize));
            self.animals.push(now.state.animals[index as usize].id);
        }
    }

    pub fn knows_animal(&self, id: EntityId) -> bool {
        self.animals.binary_search(&id).is_ok()
    }
}

/// Health, where it differs from the one last sent.
fn compare_health(known: &mut Known<()>, seen: &Seen, changes: &mut Changes) {
    if known.health != seen.health {
        known.health = seen.health;
        changes.health.push((seen.player, seen.health));
    }
}
