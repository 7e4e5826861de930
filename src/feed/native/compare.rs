//! The second step of an update: find what the client does not know yet. This step adds it
//! to the known set, so the third step must write all of it.

use super::look::Look;
use super::records::{Encoded, Pose, write_enter, write_own};
use crate::feed::animals;
use crate::feed::clans::Tag;
use crate::feed::known::{Known, KnownPlayers, KnownShots};
use crate::feed::known_clans::{ClanChanges, KnownClans};
use crate::feed::objects::KnownObjects;
use crate::feed::records::Section;
use crate::feed::state::{Hand, Seen, State, Stats};
use crate::limits;
use crate::packet::msgpack::{write_array_len, write_int, write_nil, write_str, write_uint};
use crate::world::clan::Clan;
use crate::world::{ClanId, EntityId, PlayerId};

/// What is sent of a player only when it changes, as last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    pose: Pose,
    hand: Hand,
    /// The clan that the player shows.
    clan: Option<ClanId>,
}

/// What one client knows.
#[derive(Debug, Default)]
pub struct KnownSet {
    /// The tick of the last update.
    tick: Option<u32>,
    /// The watched player, while the client has no body.
    pub watching: Option<Option<PlayerId>>,
    pub players: KnownPlayers<Last>,
    pub objects: KnownObjects,
    /// In the order of their numbers, each with its pose and health.
    animals: Vec<KnownAnimal>,
    pub shots: KnownShots,
    pub clans: KnownClans,
    /// The members of the client's clan, in order.
    mates: Vec<PlayerId>,
    /// Whether the positions of any mates were sent last.
    has_mates: bool,
    stats: Option<Stats>,
    /// The second of the last leaderboard.
    board_second: Option<u32>,
    /// The arguments of the last message of each kind.
    pub own: Vec<u8>,
    pub clan: Vec<u8>,
    pub kit: Vec<u8>,
    pub offers: Vec<u8>,
    pub board: Vec<u8>,
}

type KnownAnimal = (EntityId, Pose, u16);

/// What the client does not know yet: the third step empties it.
#[derive(Debug, Default)]
pub struct Changes {
    pub watching: Option<Option<PlayerId>>,
    pub spawned: Option<PlayerId>,
    pub objects: Section,
    pub gone: Section,
    pub structures: Section,
    /// The sections of the packet `update`.
    pub own: Section,
    pub leaves: Section,
    pub enters: Section,
    pub full: Section,
    pub moved: Section,
    pub turned: Section,
    pub health: Section,
    pub hands: Section,
    /// All clans, the first time.
    pub clans: Vec<Clan>,
    /// Clans that ended and were founded: as news, and those that concern the client's own clan.
    pub clan_changes: [ClanChanges; 2],
    pub clan: bool,
    pub mates: Section,
    pub are_mates_due: bool,
    pub tags: Section,
    /// Bytes of the tags of players that the client already knew.
    pub known_tag_bytes: usize,
    pub animals_gone: Section,
    pub animals: Section,
    pub stats: Option<Stats>,
    pub kit: bool,
    pub offers: bool,
    pub board: bool,
    next_players: Vec<Known<Last>>,
    next_animals: Vec<KnownAnimal>,
    bytes: Vec<u8>,
}

/// What is compared: the public state, its records, and the client's view of it.
#[derive(Clone, Copy)]
pub struct Now<'a> {
    pub state: &'a State,
    pub encoded: &'a Encoded,
    pub look: &'a Look,
    /// The client's own player, alive or dead.
    pub own: Option<&'a Seen>,
}

impl KnownSet {
    /// Collects in `changes` what the client does not know yet, and adds it to what it knows.
    pub fn compare(&mut self, now: Now<'_>, changes: &mut Changes) {
        self.compare_watching(now, changes);
        self.compare_objects(now, changes);
        self.clans.begin(now.state);
        self.compare_players(now, changes);
        self.compare_own(now, changes);
        self.compare_clans(now, changes);
        self.compare_animals(now, changes);
        changes.stats = now.own.map(|own| own.stats).filter(|stats| self.stats != Some(*stats));
        self.stats = changes.stats.or(self.stats);
        self.compare_kit(now, changes);
        self.compare_board(now, changes);
        self.tick = Some(now.state.tick);
    }

    fn compare_watching(&mut self, now: Now<'_>, changes: &mut Changes) {
        let watched = now.look.watched.map(|index| now.state.players[index].player);
        let watching = now.look.own.is_none().then_some(watched);
        changes.watching = watching.filter(|_| self.watching != watching);
        self.watching = watching;
    }

    fn compare_objects(&mut self, now: Now<'_>, changes: &mut Changes) {
        let Changes { objects, gone, structures, .. } = changes;
        let (state, window) = (now.state, now.look.window);
        let nature = now.encoded.things.nature(state);
        self.objects.add_nature(&state.nature, window, |index| objects.copy(nature.get(index)));
        self.objects.remove_structures(&state.structures, |id| {
            gone.write(|out| write_uint(out, id.0.into()));
        });
        let built = now.encoded.things.structures(state);
        self.objects.add_structures(&state.structures, window, |index| structures.copy(built.get(index)));
    }

    /// Compares the players in view with the known ones: leaves, enters, and records for those who
    /// stay.
    fn compare_players(&mut self, now: Now<'_>, changes: &mut Changes) {
        let records = now.encoded.players();
        let is_in_step = self.tick.is_some() && self.tick == now.encoded.base_tick();
        changes.next_players.clear();
        let mut before = self.players.others.iter().peekable();
        for &index in &now.look.players {
            let index = index as usize;
            let (seen, pose) = (&now.state.players[index], now.encoded.pose(index));
            let who = seen.who();
            while let Some(gone) = before.next_if(|known| known.who < who) {
                changes.leaves.write(|out| write_uint(out, gone.who.player.0.into()));
            }
            let mut known = before.next_if(|known| known.who == who).copied();
            if known.is_some_and(|known| known.died) {
                changes.leaves.write(|out| write_uint(out, who.player.0.into()));
                known = None;
            }
            let is_newcomer = known.is_none();
            if is_newcomer && changes.enters.count >= limits::NEWCOMERS_PER_TURN {
                continue; // Unknown still, and so a newcomer in the next turn.
            } else if is_newcomer {
                changes.enters.write(|out| write_enter(out, seen, pose));
            } else if is_in_step {
                changes.moved.copy(records.moved.get(index));
                changes.turned.copy(records.turned.get(index));
            } else if known.is_some_and(|known| known.last.pose != pose) {
                changes.full.copy(records.full.get(index));
            }
            let mut known = known.unwrap_or_else(|| newcomer(seen, pose));
            known.last.pose = pose;
            compare_deeds(&mut known, seen, changes);
            let clan = seen.clan();
            if known.last.clan != clan && self.clans.may_send_tag(clan, is_newcomer) {
                let bytes_before = changes.tags.bytes.len();
                add_tag(&mut known, seen, &mut changes.tags);
                let bytes = changes.tags.bytes.len() - bytes_before;
                changes.known_tag_bytes += if is_newcomer { 0 } else { bytes };
            }
            changes.next_players.push(known);
        }
        for gone in before {
            changes.leaves.write(|out| write_uint(out, gone.who.player.0.into()));
        }
        std::mem::swap(&mut self.players.others, &mut changes.next_players);
    }

    /// The client's own body: once when it appears, then its exact state whenever that changes.
    fn compare_own(&mut self, now: Now<'_>, changes: &mut Changes) {
        let seen = now.look.own.map(|index| (&now.state.players[index], now.encoded.pose(index)));
        let before = self.players.own;
        let has_died = before.is_some_and(|own| own.died);
        if has_died || before.map(|own| own.who) != seen.map(|(seen, _)| seen.who()) {
            if let Some(gone) = before {
                changes.leaves.write(|out| write_uint(out, gone.who.player.0.into()));
            }
            if let Some((seen, pose)) = seen {
                changes.spawned = Some(seen.player);
                changes.enters.write(|out| write_enter(out, seen, pose));
            }
            self.players.own = seen.map(|(seen, pose)| newcomer(seen, pose));
            self.own.clear();
        }
        let (Some((seen, _)), Some(known)) = (seen, &mut self.players.own) else { return };
        compare_deeds(known, seen, changes);
        let clan = seen.clan();
        if known.last.clan != clan && self.clans.may_send_own_tag(clan) {
            add_tag(known, seen, &mut changes.tags);
        }
        changes.own.write(|out| write_own(out, seen));
        if !replace(&mut self.own, &changes.own.bytes) {
            changes.own.clear();
        }
    }

    fn compare_clans(&mut self, now: Now<'_>, changes: &mut Changes) {
        let (state, clans) = (now.state, &mut self.clans);
        changes.clans = clans.take_list(state);
        changes.clan_changes = [clans.take_news(state), ClanChanges::default()];
        let Some(own) = now.own else { return };
        let tag = own.tag.as_ref();
        let own_changes = clans.take_own(state, tag);
        let is_new = own_changes.is_some();
        if is_new {
            self.clan.clear();
            self.mates.clear();
        }
        changes.clan_changes[1] = own_changes.unwrap_or_default();
        if is_new || tag.is_some_and(|tag| clans.may_send_people(tag)) {
            changes.bytes.clear();
            write_clan(&mut changes.bytes, state, tag);
            changes.clan = replace(&mut self.clan, &changes.bytes);
            if let Some(tag) = tag.filter(|_| changes.clan) {
                self.mates.clear();
                self.mates.extend(state.members(tag.id).map(|seen| seen.player));
            }
        }
        let Some(tag) = tag.filter(|_| self.clans.take_period(state.second())) else { return };
        let known =
            |mate: &&Seen| mate.player != own.player && mate.alive && self.is_known_mate(tag.id, mate.player);
        for mate in state.members(tag.id).filter(known) {
            changes.mates.write(|out| {
                write_uint(out, mate.player.0.into());
                [mate.x, mate.y].iter().for_each(|at| write_int(out, at.to_px().into()));
            });
        }
        let has_mates = changes.mates.count > 0;
        changes.are_mates_due = has_mates || self.has_mates;
        self.has_mates = has_mates;
    }

    /// Whether the client knows this clan as its own, and the player as a member.
    pub fn is_known_mate(&self, clan: ClanId, player: PlayerId) -> bool {
        self.clans.is_in(clan) && self.mates.binary_search(&player).is_ok()
    }

    /// Animals that are new or have changed, and those that are gone.
    fn compare_animals(&mut self, now: Now<'_>, changes: &mut Changes) {
        changes.next_animals.clear();
        let mut before = self.animals.iter().peekable();
        for &index in &now.look.animals {
            let animal = &now.state.animals[index as usize];
            while let Some((gone, ..)) = before.next_if(|(known, ..)| *known < animal.id) {
                changes.animals_gone.write(|out| write_uint(out, animals::number(*gone)));
            }
            let now_known = (animal.id, Pose::of(animal.x, animal.y, animal.heading), animal.health);
            if before.next_if(|(known, ..)| *known == animal.id) != Some(&now_known) {
                changes.animals.copy(now.encoded.things.animals(now.state).get(index as usize));
            }
            changes.next_animals.push(now_known);
        }
        for (gone, ..) in before {
            changes.animals_gone.write(|out| write_uint(out, animals::number(*gone)));
        }
        std::mem::swap(&mut self.animals, &mut changes.next_animals);
    }

    /// Whether the client knows this animal: it was sent, and its removal was not.
    pub fn knows_animal(&self, id: EntityId) -> bool {
        self.animals.binary_search_by_key(&id, |(known, ..)| *known).is_ok()
    }

    /// The own player's kit and choices.
    fn compare_kit(&mut self, now: Now<'_>, changes: &mut Changes) {
        let Some(Seen { kit, choices: (points, age), .. }) = now.own else { return };
        let bytes = &mut changes.bytes;
        bytes.clear();
        write_numbers(bytes, kit.weapons.iter().flatten().copied());
        write_numbers(bytes, kit.items.iter().flatten().copied());
        let standing = (0..).zip(&kit.built).filter(|(_, count)| **count > 0);
        write_numbers(bytes, standing.flat_map(|(group, count)| [group, *count]));
        changes.kit = replace(&mut self.kit, bytes);
        bytes.clear();
        write_uint(bytes, (*points).into());
        write_uint(bytes, (*age).into());
        match points {
            0 => write_array_len(bytes, 0),
            _ => write_numbers(bytes, kit.offers(*age).collect::<Vec<u8>>().into_iter()),
        }
        changes.offers = replace(&mut self.offers, bytes);
    }

    fn compare_board(&mut self, now: Now<'_>, changes: &mut Changes) {
        let state = now.state;
        if self.board_second.replace(state.second()) == Some(state.second()) {
            return;
        }
        let (board, bytes) = (state.board(), &mut changes.bytes);
        bytes.clear();
        write_array_len(bytes, board.best.len() * 3);
        for seen in board.best.iter().map(|index| &state.players[*index]) {
            write_uint(bytes, seen.player.0.into());
            write_str(bytes, &seen.name);
            write_uint(bytes, seen.stats.score.into());
        }
        match now.look.own {
            Some(index) => write_uint(bytes, board.places[index].into()),
            None => write_nil(bytes),
        }
        write_uint(bytes, state.players.len() as u64);
        changes.board = replace(&mut self.board, bytes);
    }
}

/// A player that is sent now; a client assumes that a newcomer has the first weapon in hand.
fn newcomer(seen: &Seen, pose: Pose) -> Known<Last> {
    Known::new(seen, Last { pose, hand: Hand::default(), clan: None })
}

/// Health and hand, where they differ from the ones last sent.
fn compare_deeds(known: &mut Known<Last>, seen: &Seen, changes: &mut Changes) {
    if known.health != seen.health {
        known.health = seen.health;
        changes.health.write(|out| {
            write_uint(out, seen.player.0.into());
            write_uint(out, seen.health.into());
        });
    }
    if known.last.hand != seen.hand {
        known.last.hand = seen.hand;
        changes.hands.write(|out| {
            write_uint(out, seen.player.0.into());
            write_uint(out, seen.hand.weapon.into());
            match seen.hand.item {
                Some(item) => write_uint(out, item.into()),
                None => write_nil(out),
            }
        });
    }
}

/// Adds the clan that a player shows now.
fn add_tag(known: &mut Known<Last>, seen: &Seen, tags: &mut Section) {
    known.last.clan = seen.clan();
    tags.write(|out| {
        write_uint(out, seen.player.0.into());
        match known.last.clan {
            Some(clan) => write_uint(out, clan.0.into()),
            None => write_nil(out),
        }
    });
}

/// Replaces the bytes last sent by these; returns whether they differ.
fn replace(last: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let differ = last != bytes;
    if differ {
        last.clear();
        last.extend_from_slice(bytes);
    }
    differ
}

fn write_numbers(out: &mut Vec<u8>, numbers: impl Iterator<Item = u8> + Clone) {
    write_array_len(out, numbers.clone().count());
    numbers.for_each(|number| write_uint(out, number.into()));
}

/// The client's own clan, its members, and for its owner who asks to join.
fn write_clan(out: &mut Vec<u8>, state: &State, tag: Option<&Tag>) {
    let Some(tag) = tag else {
        write_nil(out);
        write_uint(out, 0);
        (0..2).for_each(|_| write_array_len(out, 0));
        return;
    };
    write_uint(out, tag.id.0.into());
    write_uint(out, tag.is_owner.into());
    write_people(out, state.members(tag.id));
    write_people(out, state.asking(tag.id).filter(|_| tag.is_owner).take(limits::CLAN_ASKS_TOLD));
}

/// A list of players by number and name.
fn write_people<'a>(out: &mut Vec<u8>, people: impl Iterator<Item = &'a Seen> + Clone) {
    write_array_len(out, people.clone().count() * 2);
    for seen in people {
        write_uint(out, seen.player.0.into());
        write_str(out, &seen.name);
    }
}
