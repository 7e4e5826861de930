//! Clans: which there are, who is in one's own, where its members are, and what they show on the map.
//!
//! Comes in: the world's clans and players after a tick; what one client was told. Goes out: messages, when something
//! changed, and places of mates from time to time. Never: a place of somebody who is not in the client's clan.

use std::sync::Arc;

use super::messages::Messages;
use super::publish::{Published, Seen};
use super::view::View;
use crate::limits;
use crate::packet::Dialect;
use crate::packet::msgpack::{write_array_len, write_int, write_map_len, write_nil, write_str, write_uint};
use crate::world::clan::Clan;
use crate::world::{ClanId, Event, PlayerId, World};

/// Seconds between two maps of one's clan in the MooMoo dialects.
const MINIMAP_EVERY_S: u32 = 3;

/// The clan that a player shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Which.
    pub id: ClanId,
    /// Its name.
    pub name: Arc<str>,
    /// Whether the player owns it.
    pub is_owner: bool,
}

/// All clans, as of the last change.
#[derive(Debug, Default)]
pub struct Clans {
    /// Counts the changes.
    pub version: u32,
    /// In the order of their numbers.
    pub list: Vec<Clan>,
}

impl Clans {
    /// What there is now; `None` while nothing changed.
    pub fn changed(&self, world: &World) -> Option<Clans> {
        (self.list != world.clans())
            .then(|| Clans { version: self.version.wrapping_add(1), list: world.clans().to_vec() })
    }

    /// What a player of this clan shows.
    pub fn tag(&self, clan: ClanId, player: PlayerId) -> Option<Tag> {
        let place = self.list.binary_search_by_key(&clan, |clan| clan.id).ok()?;
        let Clan { id, name, owner } = &self.list[place];
        Some(Tag { id: *id, name: Arc::clone(name), is_owner: *owner == player })
    }
}

/// Who is in which clan, and who asks to be: indexes of players by clan.
#[derive(Debug, Default)]
pub struct Rolls {
    members: Vec<(ClanId, u32)>,
    asking: Vec<(ClanId, u32)>,
}

impl Rolls {
    /// The rolls of these players.
    pub fn new(players: &[Seen]) -> Rolls {
        let mut rolls = Rolls::default();
        for (index, seen) in players.iter().enumerate() {
            rolls.members.extend(seen.tag.as_ref().map(|tag| (tag.id, index as u32)));
            rolls.asking.extend(seen.asks.map(|clan| (clan, index as u32)));
        }
        rolls.members.sort_unstable();
        rolls.asking.sort_unstable();
        rolls
    }
}

/// The players of one clan in one of the rolls.
fn of<'a>(
    published: &'a Published,
    roll: &'a [(ClanId, u32)],
    clan: ClanId,
) -> impl Iterator<Item = &'a Seen> + Clone {
    let start = roll.partition_point(|(id, _)| *id < clan);
    let same = roll[start..].iter().take_while(move |(id, _)| *id == clan);
    same.map(|(_, index)| &published.players[*index as usize])
}

/// What one client was told of clans.
#[derive(Debug, Default)]
pub struct Told {
    version: u32,
    /// The clans as told, for dialects that tell of each change.
    list: Vec<Clan>,
    /// What was said of its own clan.
    own: Vec<u8>,
    /// The second in which it was told where its clan is.
    second: Option<u32>,
    /// Whether it was told of places at all.
    has_places: bool,
}

impl Told {
    /// A second in which places are due comes once.
    fn is_due(&mut self, second: u32) -> bool {
        let due = self.second != Some(second);
        self.second = Some(second);
        due
    }
}

/// One's own player, alive or not, and its clan.
fn own<'a>(view: &View, published: &'a Published) -> Option<(&'a Seen, Option<&'a Tag>)> {
    let seen = &published.players[view.player_index(published)?];
    Some((seen, seen.tag.as_ref()))
}

/// A turn of a native client.
pub fn native(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    if view.clans.version != published.clans.version {
        view.clans.version = published.clans.version;
        messages.add_named(dialect, "clans", 1, |out| {
            write_array_len(out, published.clans.list.len() * 3);
            for clan in &published.clans.list {
                write_uint(out, clan.id.0.into());
                write_str(out, &clan.name);
                write_uint(out, clan.owner.0.into());
            }
        });
    }
    let found = own(view, published);
    let tag = found.and_then(|(_, tag)| tag);
    if tag.is_some() || !view.clans.own.is_empty() {
        let said = native_own(published, tag);
        if said != view.clans.own {
            messages.add_named(dialect, "clan", 4, |out| out.extend_from_slice(&said));
            view.clans.own = if tag.is_some() { said } else { Vec::new() };
        }
    }
    let (Some((seen, _)), Some(tag)) = (found, tag) else { return };
    if view.clans.is_due(published.second) {
        let members = of(published, &published.rolls().members, tag.id);
        let mates = members.filter(|mate| mate.player != seen.player && mate.alive);
        let count = mates.clone().count();
        if count > 0 || view.clans.has_places {
            view.clans.has_places = count > 0;
            messages.add_named(dialect, "mates", 1, |out| {
                write_array_len(out, count * 3);
                for mate in mates {
                    write_uint(out, mate.player.0.into());
                    [mate.x, mate.y].iter().for_each(|at| write_int(out, at.to_px().into()));
                }
            });
        }
    }
}

fn native_own(published: &Published, tag: Option<&Tag>) -> Vec<u8> {
    let mut said = Vec::new();
    let Some(tag) = tag else {
        write_nil(&mut said);
        write_uint(&mut said, 0);
        (0..2).for_each(|_| write_array_len(&mut said, 0));
        return said;
    };
    write_uint(&mut said, tag.id.0.into());
    write_uint(&mut said, tag.is_owner.into());
    let rolls = published.rolls();
    write_people(&mut said, of(published, &rolls.members, tag.id));
    let asking = of(published, &rolls.asking, tag.id).filter(|_| tag.is_owner);
    write_people(&mut said, asking.take(limits::CLAN_ASKS_TOLD));
    said
}

fn write_people<'a>(out: &mut Vec<u8>, people: impl Iterator<Item = &'a Seen> + Clone) {
    write_array_len(out, people.clone().count() * 2);
    for seen in people {
        write_uint(out, seen.player.0.into());
        write_str(out, &seen.name);
    }
}

/// A turn of a client of the MooMoo dialects.
pub fn moomoo(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    if view.clans.version != published.clans.version {
        view.clans.version = published.clans.version;
        moomoo_changes(&view.clans.list, &published.clans.list, dialect, messages);
        view.clans.list.clone_from(&published.clans.list);
    }
    let Some((seen, tag)) = own(view, published) else { return };
    let mut said = Vec::new();
    if let Some(tag) = tag {
        write_people(&mut said, of(published, &published.rolls().members, tag.id));
        said.extend(tag.id.0.to_le_bytes());
        said.push(tag.is_owner.into());
    }
    if said != view.clans.own {
        view.clans.own = said;
        messages.add_named(dialect, "own_clan", 2, |out| {
            match tag {
                Some(tag) => write_str(out, &tag.name),
                None => write_nil(out),
            }
            write_uint(out, tag.is_some_and(|tag| tag.is_owner).into());
        });
        if let Some(tag) = tag {
            let members = of(published, &published.rolls().members, tag.id);
            messages.add_named(dialect, "clan_members", 1, |out| write_people(out, members));
        }
    }
    if view.clans.is_due(published.second / MINIMAP_EVERY_S) {
        moomoo_minimap(view, published, seen, tag, dialect, messages);
    }
}

/// Each clan that has ended and each that was founded since.
fn moomoo_changes(before: &[Clan], now: &[Clan], dialect: &Dialect, messages: &mut Messages) {
    // A clan keeps its name and its owner, so its number says all.
    let is_in = |list: &[Clan], id: ClanId| list.binary_search_by_key(&id, |clan| clan.id).is_ok();
    for clan in before.iter().filter(|clan| !is_in(now, clan.id)) {
        messages.add_named(dialect, "remove_clan", 1, |out| write_str(out, &clan.name));
    }
    for clan in now.iter().filter(|clan| !is_in(before, clan.id)) {
        messages.add_named(dialect, "add_clan", 1, |out| {
            write_map_len(out, 2);
            write_str(out, "sid");
            write_str(out, &clan.name);
            write_str(out, "owner");
            write_uint(out, clan.owner.0.into());
        });
    }
}

fn moomoo_minimap(
    view: &mut View,
    published: &Published,
    seen: &Seen,
    tag: Option<&Tag>,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let Some(tag) = tag else {
        if std::mem::take(&mut view.clans.has_places) {
            messages.add_named(dialect, "minimap", 1, |out| write_uint(out, 0));
        }
        return;
    };
    view.clans.has_places = true;
    let members = of(published, &published.rolls().members, tag.id);
    let mates = members.filter(|mate| mate.player != seen.player && mate.alive);
    messages.add_named(dialect, "minimap", 1, |out| {
        write_array_len(out, mates.clone().count() * 2);
        for mate in mates {
            [mate.x, mate.y].iter().for_each(|at| write_int(out, at.to_px().into()));
        }
    });
}

/// What happened in a tick: pings on the map, and for the MooMoo dialects who asks to join one's clan.
pub fn happenings(view: &View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    for event in &published.events {
        match event {
            Event::Pinged { player } => tell_ping(view, published, *player, dialect, messages),
            Event::Asked { player, owner } if view.is_own(*owner) => {
                let Some(index) = published.index_of(*player) else { continue };
                messages.add_named(dialect, "join_request", 2, |out| {
                    write_uint(out, player.0.into());
                    write_str(out, &published.players[index].name);
                });
            }
            _ => {}
        }
    }
}

fn tell_ping(
    view: &View,
    published: &Published,
    player: PlayerId,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let Some(shows) = published.index_of(player).map(|index| &published.players[index]) else { return };
    let Some((seen, tag)) = own(view, published) else { return };
    let is_mate = tag.is_some_and(|tag| shows.tag.as_ref().is_some_and(|other| other.id == tag.id));
    if seen.player != player && !is_mate {
        return;
    }
    let is_native = view.layout == super::view::Layout::Native;
    messages.add_named(dialect, "map_ping", if is_native { 3 } else { 2 }, |out| {
        if is_native {
            write_uint(out, player.0.into());
        }
        [shows.x, shows.y].iter().for_each(|at| write_int(out, at.to_px().into()));
    });
}
