//! Clans: the list of clans, the members of the client's own clan and their positions, and their
//! pings on the map.
//!
//! Each player can found, join and leave clans up to four times a second, and each change concerns
//! every client. So a client receives all clans in its first turn, and later changes at a
//! [`Pace`](super::pace::Pace): together, at most once a second, and in the long run within a byte
//! rate. Changes by the client's own player are sent at once, with the clans that they concern. A
//! message never names a clan or a mate that the client does not know yet.

mod told;

pub use told::Told;

use std::sync::Arc;

use super::messages::Messages;
use super::publish::{Published, Seen};
use super::view::View;
use crate::limits;
use crate::packet::Dialect;
use crate::packet::msgpack::{write_array_len, write_int, write_map_len, write_nil, write_str, write_uint};
use crate::world::clan::Clan;
use crate::world::{ClanId, Event, PlayerId, World};

/// Seconds between two maps of the client's clan in the MooMoo dialects.
const MINIMAP_EVERY_S: u32 = 3;

/// The clan that a player shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The clan's number.
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
    /// The present clans; `None` if nothing has changed.
    pub fn changed(&self, world: &World) -> Option<Clans> {
        (self.list != world.clans())
            .then(|| Clans { version: self.version.wrapping_add(1), list: world.clans().to_vec() })
    }

    /// The tag of a player in this clan.
    pub fn tag(&self, clan: ClanId, player: PlayerId) -> Option<Tag> {
        let place = self.list.binary_search_by_key(&clan, |clan| clan.id).ok()?;
        let Clan { id, name, owner } = &self.list[place];
        Some(Tag { id: *id, name: Arc::clone(name), is_owner: *owner == player })
    }
}

/// The members of each clan, and the players who ask to join it: indexes of players by clan.
#[derive(Debug, Default)]
pub struct Rolls {
    members: Vec<(ClanId, u32)>,
    asking: Vec<(ClanId, u32)>,
}

impl Rolls {
    /// Builds the rolls of these players.
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

/// The client's own player, alive or dead, and its clan.
fn own<'a>(view: &View, published: &'a Published) -> Option<(&'a Seen, Option<&'a Tag>)> {
    let seen = &published.players[view.player_index(published)?];
    Some((seen, seen.tag.as_ref()))
}

/// A turn of a native client.
pub fn native(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let told = &mut view.clans;
    if !told.has_list {
        let (_, all) = told.take_news(published);
        told.has_list = true;
        if !all.is_empty() {
            messages.add_named(dialect, "clans", 1, |out| write_clans(out, &all));
        }
    }
    let bytes_before = messages.bytes();
    native_changes(told.take_news(published), dialect, messages);
    let Some((seen, tag)) = own(view, published) else {
        view.clans.pace.spend(messages.bytes() - bytes_before, published.tick, published.tick_hz);
        return;
    };
    let told = &mut view.clans;
    let joined_or_left = told.take_own(published, tag);
    let is_new = joined_or_left.is_some();
    native_changes(joined_or_left.unwrap_or_default(), dialect, messages);
    if is_new || told.due.people && tag.is_some_and(|tag| told.knows_own(tag)) {
        let said = native_own(published, tag);
        if said != told.said {
            messages.add_named(dialect, "clan", 4, |out| out.extend_from_slice(&said));
            told.said = said;
            if let Some(tag) = tag {
                told.told_members(published, tag.id);
            }
        }
    }
    told.pace.spend(messages.bytes() - bytes_before, published.tick, published.tick_hz);
    if let Some(tag) = tag {
        native_mates(told, published, seen.player, tag, dialect, messages);
    }
}

/// Sends the positions of the mates that the client knows.
fn native_mates(
    told: &mut Told,
    published: &Published,
    own: PlayerId,
    tag: &Tag,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    if !told.is_due(published.second) {
        return;
    }
    let members = of(published, &published.rolls().members, tag.id);
    let mates: Vec<&Seen> = members
        .filter(|mate| mate.player != own && mate.alive && told.is_known_mate(tag.id, mate.player))
        .collect();
    if mates.is_empty() && !told.has_places {
        return;
    }
    told.has_places = !mates.is_empty();
    messages.add_named(dialect, "mates", 1, |out| {
        write_array_len(out, mates.len() * 3);
        for mate in mates {
            write_uint(out, mate.player.0.into());
            [mate.x, mate.y].iter().for_each(|at| write_int(out, at.to_px().into()));
        }
    });
}

/// Writes the clans that ended and those that were founded.
fn native_changes((ended, founded): (Vec<Clan>, Vec<Clan>), dialect: &Dialect, messages: &mut Messages) {
    if ended.is_empty() && founded.is_empty() {
        return;
    }
    messages.add_named(dialect, "clan_changes", 2, |out| {
        write_array_len(out, ended.len());
        ended.iter().for_each(|clan| write_uint(out, clan.id.0.into()));
        write_clans(out, &founded);
    });
}

fn write_clans(out: &mut Vec<u8>, clans: &[Clan]) {
    write_array_len(out, clans.len() * 3);
    for clan in clans {
        write_uint(out, clan.id.0.into());
        write_str(out, &clan.name);
        write_uint(out, clan.owner.0.into());
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

/// The first part of a turn of a MooMoo client, before the update of players: all clans, the
/// client's own clan, the players who ask to join it, and the positions of its members.
pub fn moomoo(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    forget_who_asks_anew(view, published);
    let told = &mut view.clans;
    if !told.has_list {
        moomoo_changes(told.take_news(published), dialect, messages);
        told.has_list = true;
    }
    let bytes_before = messages.bytes();
    moomoo_changes(told.take_news(published), dialect, messages);
    let Some((seen, tag)) = own(view, published) else {
        view.clans.pace.spend(messages.bytes() - bytes_before, published.tick, published.tick_hz);
        return;
    };
    let told = &mut view.clans;
    if let Some(changes) = told.take_own(published, tag) {
        moomoo_changes(changes, dialect, messages);
        messages.add_named(dialect, "own_clan", 2, |out| {
            match tag {
                Some(tag) => write_str(out, &tag.name),
                None => write_nil(out),
            }
            write_uint(out, tag.is_some_and(|tag| tag.is_owner).into());
        });
    }
    if let Some(tag) = tag.filter(|tag| tag.is_owner && told.knows_own(tag) && told.due.people) {
        moomoo_asking(told, published, tag.id, dialect, messages);
    }
    told.pace.spend(messages.bytes() - bytes_before, published.tick, published.tick_hz);
    if view.clans.is_due(published.second / MINIMAP_EVERY_S) {
        moomoo_minimap(view, published, seen, tag, dialect, messages);
    }
}

/// The second part of that turn, after the update of players: the members of the client's own clan.
/// The original client lists the members only after both `own_clan` and the update have given its
/// own player the clan.
pub fn moomoo_members(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let tag = own(view, published).and_then(|(_, tag)| tag);
    let told = &mut view.clans;
    let Some(tag) = tag.filter(|tag| told.knows_own(tag)) else { return };
    let is_due = told.due.people || told.due.own && told.said.is_empty();
    if !is_due {
        return;
    }
    let mut said = Vec::new();
    write_people(&mut said, of(published, &published.rolls().members, tag.id));
    if said != told.said {
        let bytes_before = messages.bytes();
        messages.add_named(dialect, "clan_members", 1, |out| out.extend_from_slice(&said));
        told.said = said;
        told.pace.spend(messages.bytes() - bytes_before, published.tick, published.tick_hz);
    }
}

/// Sends the players who ask to join and have not been sent yet.
fn moomoo_asking(
    told: &mut Told,
    published: &Published,
    clan: ClanId,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let asking = of(published, &published.rolls().asking, clan);
    told.asking.retain(|known| asking.clone().any(|seen| seen.player == *known));
    for seen in asking {
        if told.asking.len() >= limits::CLAN_ASKS_TOLD {
            return;
        }
        if !told.asking.contains(&seen.player) {
            told.asking.push(seen.player);
            messages.add_named(dialect, "join_request", 2, |out| {
                write_uint(out, seen.player.0.into());
                write_str(out, &seen.name);
            });
        }
    }
}

/// Writes each clan that has ended and each that was founded.
fn moomoo_changes((ended, founded): (Vec<Clan>, Vec<Clan>), dialect: &Dialect, messages: &mut Messages) {
    for clan in ended {
        messages.add_named(dialect, "remove_clan", 1, |out| write_str(out, &clan.name));
    }
    for clan in founded {
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

/// Sends the events of a tick: pings on the map, and repeated requests to join the client's clan.
pub fn happenings(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    for event in &published.events {
        if let Event::Pinged { player } = event {
            tell_ping(view, published, *player, dialect, messages);
        }
    }
    if view.clans.turn_tick != Some(published.tick) {
        forget_who_asks_anew(view, published);
    }
}

/// Lets a repeated request be sent again, even if the player was refused and asks again within the
/// same second.
fn forget_who_asks_anew(view: &mut View, published: &Published) {
    for event in &published.events {
        if let Event::Asked { player, owner } = event
            && view.is_own(*owner)
        {
            view.clans.asking.retain(|known| known != player);
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
    let is_native = view.layout == super::view::Layout::Native;
    // A native client receives the player's number, so it must know the mate first.
    let is_mate = tag.is_some_and(|tag| {
        shows.tag.as_ref().is_some_and(|other| other.id == tag.id)
            && (!is_native || view.clans.is_known_mate(tag.id, player))
    });
    if seen.player != player && !is_mate {
        return;
    }
    messages.add_named(dialect, "map_ping", if is_native { 3 } else { 2 }, |out| {
        if is_native {
            write_uint(out, player.0.into());
        }
        [shows.x, shows.y].iter().for_each(|at| write_int(out, at.to_px().into()));
    });
}
