//! The third step of an update: write the messages, in the order in which a client needs them.

use std::mem::take;

use super::compare::{Changes, KnownSet, Now};
use super::records::object_number;
use super::records::round_px;
use crate::feed::known_clans::ClanChanges;
use crate::feed::messages::Writer;
use crate::feed::state::{Seen, State};
use crate::packet::ServerPacket;
use crate::packet::msgpack::{write_array_len, write_int, write_map_len, write_nil, write_str, write_uint};
use crate::packet::server_packet::AddPlayer;
use crate::world::PlayerId;

/// Writes the messages that `changes` lists, and empties it. Returns the bytes that the client's
/// rate for news of clans is charged for: of clans and requests, and of members.
pub fn write(now: Now<'_>, changes: &mut Changes, known: &KnownSet, out: &mut Writer<'_>) -> [usize; 2] {
    changes.removed.drain(..).for_each(|player| write_removal(player, out));
    let clans = write_clans(now, changes, out);
    let mut members = 0;
    if let Some((body, _)) = now.body {
        let own = &now.state.players[body];
        if take(&mut changes.setup) {
            out.packet(&ServerPacket::Setup { sid: own.player.0 });
            write_player(own, true, out);
        }
        for (index, is_again) in changes.added.drain(..) {
            let seen = &now.state.players[index as usize];
            if is_again {
                write_removal(seen.player, out);
            }
            write_player(seen, false, out);
        }
        write_own(own, changes, out);
        for id in changes.gone.drain(..) {
            out.add("remove_object", 1, |out| write_uint(out, object_number(id)));
        }
        out.list("load_objects", &mut changes.objects, 8);
        out.list("update_players", &mut changes.players, 13);
        // The original client lists the members only after both `own_clan` and the update have
        // given its own player the clan.
        let bytes_before = out.bytes();
        if take(&mut changes.members) {
            out.add("clan_members", 1, |out| out.extend_from_slice(&known.members));
        }
        members = out.bytes() - bytes_before;
        if take(&mut changes.has_animals) {
            out.add("animals", 1, |out| changes.animals.append_to(out, 7));
            changes.animals.clear();
        }
    }
    if take(&mut changes.board) {
        write_board(now.state, out);
    }
    [clans, members]
}

/// Clans, requests to join and the map of the clan; returns how many of the bytes are charged: all
/// but the first list and the map.
fn write_clans(now: Now<'_>, changes: &mut Changes, out: &mut Writer<'_>) -> usize {
    write_clan_changes(take(&mut changes.clans), out);
    let bytes_before = out.bytes();
    take(&mut changes.clan_changes).into_iter().for_each(|changes| write_clan_changes(changes, out));
    let tag = now.own.and_then(|own| own.tag.as_ref());
    if take(&mut changes.own_clan) {
        out.add("own_clan", 2, |out| {
            match tag {
                Some(tag) => write_str(out, &tag.name),
                None => write_nil(out),
            }
            write_uint(out, tag.is_some_and(|tag| tag.is_owner).into());
        });
    }
    for seen in changes.asking.drain(..).map(|index| &now.state.players[index as usize]) {
        out.add("join_request", 2, |out| {
            write_uint(out, seen.player.0.into());
            write_str(out, &seen.name);
        });
    }
    let charged = out.bytes() - bytes_before;
    if take(&mut changes.minimap) {
        out.add("minimap", 1, |out| match (tag, now.own) {
            (Some(tag), Some(own)) => {
                let mates = now.state.members(tag.id).filter(|mate| mate.player != own.player && mate.alive);
                write_array_len(out, mates.clone().count() * 2);
                for mate in mates {
                    [mate.x, mate.y].iter().for_each(|at| write_int(out, at.to_px().into()));
                }
            }
            _ => write_uint(out, 0),
        });
    }
    charged
}

/// Each clan that has ended and each that was founded.
fn write_clan_changes(changes: ClanChanges, out: &mut Writer<'_>) {
    for clan in changes.ended {
        out.add("remove_clan", 1, |out| write_str(out, &clan.name));
    }
    for clan in changes.founded {
        out.add("add_clan", 1, |out| {
            write_map_len(out, 2);
            write_str(out, "sid");
            write_str(out, &clan.name);
            write_str(out, "owner");
            write_uint(out, clan.owner.0.into());
        });
    }
}

/// Health of everyone in view, and what only the client itself is sent.
fn write_own(own: &Seen, changes: &mut Changes, out: &mut Writer<'_>) {
    for (player, health) in changes.health.drain(..) {
        out.add("health", 2, |out| {
            [player.0, health].iter().for_each(|value| write_uint(out, (*value).into()))
        });
    }
    for (name, value) in changes.values.drain(..) {
        out.add("value", 3, |out| {
            write_str(out, name);
            write_uint(out, value.into());
            write_uint(out, 1);
        });
    }
    let stats = own.stats;
    if take(&mut changes.age) {
        out.add("age", 3, |out| {
            [stats.xp, stats.xp_next, stats.age.into()]
                .iter()
                .for_each(|value| write_uint(out, (*value).into()));
        });
    }
    if take(&mut changes.kit) {
        for (numbers, is_weapons) in [(&own.kit.items[..], 0), (&own.kit.weapons[..], 1)] {
            out.add("items", 2, |out| {
                write_array_len(out, numbers.iter().flatten().count());
                numbers.iter().flatten().for_each(|number| write_uint(out, (*number).into()));
                write_uint(out, is_weapons);
            });
        }
    }
    // The client computes the list of choices itself, from their number and their age.
    if take(&mut changes.upgrades) {
        let (points, age) = own.choices;
        out.add("upgrades", 2, |out| [points, age].iter().for_each(|value| write_uint(out, (*value).into())));
    }
    for (group, count) in changes.counts.drain(..) {
        out.add("item_count", 2, |out| {
            [group, count].iter().for_each(|value| write_uint(out, (*value).into()))
        });
    }
}

fn write_board(state: &State, out: &mut Writer<'_>) {
    let best = &state.board().best;
    out.add("leaderboard", 1, |out| {
        write_array_len(out, best.len() * 3);
        for seen in best.iter().map(|index| &state.players[*index]) {
            write_uint(out, seen.player.0.into());
            write_str(out, &seen.name);
            write_uint(out, seen.stats.score.into());
        }
    });
}

fn write_player(seen: &Seen, is_you: bool, out: &mut Writer<'_>) {
    out.packet(&ServerPacket::AddPlayer(AddPlayer {
        id: &id_of(seen.player),
        sid: seen.player.0,
        name: &seen.name,
        x_px: round_px(seen.x) as i32,
        y_px: round_px(seen.y) as i32,
        heading: seen.heading.0,
        health: seen.health,
        max_health: seen.max_health,
        scale_px: seen.radius_px,
        skin: seen.skin,
        is_you,
    }));
}

fn write_removal(player: PlayerId, out: &mut Writer<'_>) {
    out.packet(&ServerPacket::RemovePlayer { id: &id_of(player) });
}

/// The id string of a player: its number. A number is reused only after its previous owner was
/// removed.
fn id_of(player: PlayerId) -> String {
    player.0.to_string()
}
