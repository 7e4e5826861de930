//! The third step of an update: write the messages, in the order in which a client needs them.

use std::mem::take;

use super::compare::{Changes, KnownSet};
use crate::feed::known_clans::ClanChanges;
use crate::feed::messages::Writer;
use crate::packet::ServerPacket;
use crate::packet::msgpack::{write_array_len, write_str, write_uint};
use crate::world::clan::Clan;

/// Writes the messages that `changes` lists, and empties it. Arguments that the client is sent only
/// when they change stand in `known`. Returns the bytes that the client's rate for news of clans is
/// charged for: of clans, and of tags.
pub fn write(tick: u32, changes: &mut Changes, known: &KnownSet, out: &mut Writer<'_>) -> [usize; 2] {
    if let Some(player) = changes.watching.take() {
        out.packet(&ServerPacket::Watching { player: player.map(|player| player.0) });
    }
    out.list("objects", &mut changes.objects, 5);
    out.list("gone", &mut changes.gone, 1);
    out.list("structures", &mut changes.structures, 6);
    if let Some(player) = changes.spawned.take() {
        out.packet(&ServerPacket::Spawned { player: player.0 });
    }
    write_update(tick, changes, out);
    out.list("health", &mut changes.health, 2);
    out.list("hands", &mut changes.hands, 3);
    let charges = [write_clans(changes, known, out), take(&mut changes.known_tag_bytes)];
    out.list("tags", &mut changes.tags, 2);
    out.list("animals_gone", &mut changes.animals_gone, 1);
    out.list("animals", &mut changes.animals, 6);
    if let Some(stats) = changes.stats.take() {
        out.add("stats", 9, |out| {
            stats.resources.iter().for_each(|amount| write_uint(out, (*amount).into()));
            for value in [stats.kills, stats.xp, stats.xp_next, stats.age.into(), stats.score] {
                write_uint(out, value.into());
            }
        });
    }
    let rest = [
        (&mut changes.kit, "kit", &known.kit),
        (&mut changes.offers, "offers", &known.offers),
        (&mut changes.board, "leaderboard", &known.board),
    ];
    for (has_changed, name, bytes) in rest {
        if take(has_changed) {
            out.add(name, 3, |out| out.extend_from_slice(bytes));
        }
    }
    charges
}

fn write_update(tick: u32, changes: &mut Changes, out: &mut Writer<'_>) {
    let Changes { own, leaves, enters, full, moved, turned, .. } = changes;
    let sections = [(own, 8), (leaves, 1), (enters, 6), (full, 4), (moved, 3), (turned, 2)];
    let Some(last) = sections.iter().rposition(|(section, _)| section.count > 0) else { return };
    out.add("update", last + 2, |out| {
        write_uint(out, tick.into());
        sections[..=last].iter().for_each(|(section, stride)| section.append_to(out, *stride));
    });
    sections.into_iter().for_each(|(section, _)| section.clear());
}

/// Returns how many of the bytes are charged: all but the first list and the mates' positions.
fn write_clans(changes: &mut Changes, known: &KnownSet, out: &mut Writer<'_>) -> usize {
    let all = take(&mut changes.clans);
    if !all.is_empty() {
        out.add("clans", 1, |out| write_list(out, &all));
    }
    let bytes_before = out.bytes();
    for ClanChanges { ended, founded } in take(&mut changes.clan_changes) {
        if ended.is_empty() && founded.is_empty() {
            continue;
        }
        out.add("clan_changes", 2, |out| {
            write_array_len(out, ended.len());
            ended.iter().for_each(|clan| write_uint(out, clan.id.0.into()));
            write_list(out, &founded);
        });
    }
    if take(&mut changes.clan) {
        out.add("clan", 4, |out| out.extend_from_slice(&known.clan));
    }
    let charged = out.bytes() - bytes_before;
    if take(&mut changes.are_mates_due) {
        out.add("mates", 1, |out| changes.mates.append_to(out, 3));
        changes.mates.clear();
    }
    charged
}

fn write_list(out: &mut Vec<u8>, clans: &[Clan]) {
    write_array_len(out, clans.len() * 3);
    for clan in clans {
        write_uint(out, clan.id.0.into());
        write_str(out, &clan.name);
        write_uint(out, clan.owner.0.into());
    }
}
