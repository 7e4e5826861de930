//! The native layout: quantised changes, and no bytes for players who stand still.
//!
//! ```text
//!  update [tick, own, leaves, enters, full, moved, turned]     positions in half px, headings in 1/256 turn
//!          │     │    │       │       │     │      └ id, heading          who turned since the previous turn
//!          │     │    │       │       │     └ id, dx, dy                  who moved since the previous turn
//!          │     │    │       │       └ id, x, y, heading                 known, but a turn was missed
//!          │     │    │       └ id, name, skin, x, y, heading             came into view
//!          │     │    └ id                                                went out of view or away
//!          │     └ sequence, margin, x, y, vx, vy, heading, direction     one's own exact state, when it changed
//!          └ what is empty at the end is left out; an update that says nothing is not sent
//! ```
//!
//! The base of a difference is the pose of the previous native turn, quantised like the new one, so
//! that differences add up to the exact quantised pose. A client that missed a turn receives full
//! records of the players whose pose differs from the last one sent. PROTOCOL.md describes the same
//! layout.

use super::built::Built;
use super::interest::Window;
use super::messages::Messages;
use super::publish::{Placed, Published, Seen};
use super::records::{Records, Section, write_groups};
use super::view::{Known, OBJECTS_MARGIN_PX, Scratch, View, Who};
use super::{animals, clans};
use crate::limits;
use crate::packet::msgpack::{write_array_len, write_int, write_nil, write_str, write_uint};
use crate::packet::{Dialect, ServerPacket};
use crate::world::Body;

/// A player's pose in the native layout: its position in half px, its heading in 1/256 turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pose {
    /// Half px from the left.
    pub x_hpx: u16,
    /// Half px from the top.
    pub y_hpx: u16,
    /// 1/256 turn.
    pub heading: u8,
}

impl Pose {
    /// Rounds the pose of a body to the nearest units.
    pub fn of(body: &Body) -> Pose {
        let hpx = |half_px: i32| u16::try_from(half_px.max(0)).unwrap_or(u16::MAX);
        Pose {
            x_hpx: hpx(body.x.to_half_px()),
            y_hpx: hpx(body.y.to_half_px()),
            heading: (body.heading.0.wrapping_add(128) >> 8) as u8,
        }
    }
}

/// All records of the players in one published tick.
#[derive(Debug)]
pub struct PlayerRecords {
    full: Records,
    moved: Records,
    turned: Records,
}

impl PlayerRecords {
    /// Encodes each player once.
    pub fn new(players: &[Seen]) -> PlayerRecords {
        PlayerRecords {
            full: Records::new(players.iter(), write_full),
            moved: Records::new(players.iter(), write_moved),
            turned: Records::new(players.iter(), write_turned),
        }
    }
}

fn write_full(out: &mut Vec<u8>, seen: &Seen) {
    write_uint(out, seen.player.0.into());
    write_pose(out, seen.pose);
}

fn write_pose(out: &mut Vec<u8>, pose: Pose) {
    write_uint(out, pose.x_hpx.into());
    write_uint(out, pose.y_hpx.into());
    write_uint(out, pose.heading.into());
}

fn write_moved(out: &mut Vec<u8>, seen: &Seen) {
    let (pose, Some(base)) = (seen.pose, seen.base) else { return };
    if (pose.x_hpx, pose.y_hpx) != (base.x_hpx, base.y_hpx) {
        write_uint(out, seen.player.0.into());
        write_int(out, i64::from(pose.x_hpx) - i64::from(base.x_hpx));
        write_int(out, i64::from(pose.y_hpx) - i64::from(base.y_hpx));
    }
}

fn write_turned(out: &mut Vec<u8>, seen: &Seen) {
    if seen.base.is_some_and(|base| base.heading != seen.pose.heading) {
        write_uint(out, seen.player.0.into());
        write_uint(out, seen.pose.heading.into());
    }
}

fn write_enter(out: &mut Vec<u8>, seen: &Seen) {
    write_uint(out, seen.player.0.into());
    write_str(out, &seen.name);
    write_uint(out, seen.skin.into());
    write_pose(out, seen.pose);
}

fn write_own(out: &mut Vec<u8>, seen: &Seen) {
    // A native client's own sequences have 32 bits.
    write_uint(out, seen.sequence.min(u32::MAX.into()));
    write_int(out, seen.margin_ticks.into());
    [seen.x, seen.y, seen.vx, seen.vy].iter().for_each(|exact| write_int(out, exact.0.into()));
    write_uint(out, seen.heading.0.into());
    match seen.direction {
        Some(angle) => write_uint(out, angle.0.into()),
        None => write_nil(out),
    }
}

/// The record of an object: id, kind, x, y, scale in px.
pub fn write_object(out: &mut Vec<u8>, thing: &Placed) {
    write_uint(out, thing.id.0.into());
    write_uint(out, thing.kind as u64);
    [thing.x_px, thing.y_px, thing.scale_px].iter().for_each(|px| write_int(out, (*px).into()));
}

/// The record of a structure: id, item, owner, x, y in px, heading.
pub fn write_structure(out: &mut Vec<u8>, thing: &Built) {
    write_uint(out, thing.id.0.into());
    write_uint(out, thing.item.into());
    write_uint(out, thing.owner.0.into());
    [thing.x_px, thing.y_px].iter().for_each(|px| write_int(out, (*px).into()));
    write_uint(out, (thing.heading.0.wrapping_add(128) >> 8).into());
}

/// One turn of a native client; see [`View::turn`].
pub fn turn(
    view: &mut View,
    published: &Published,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let Some(number) = published.native_turn else { return };
    let own = view.own_index(published);
    let watched = if own.is_none() { view.watched_index(published) } else { None };
    tell_watching(view, published, own.is_none().then_some(watched), dialect, messages);
    let window = view.window(published, own.or(watched));
    view.shown = Some(window);
    view.look(published, window, own, &mut scratch.visible);
    scratch.enters.clear();
    view.objects(published, window, |index| scratch.enters.copy(published.nature.native.get(index)));
    if scratch.enters.count > 0 {
        messages.add_named(dialect, "objects", 1, |out| write_groups(out, &scratch.enters, 5));
    }
    tell_built(view, published, window, dialect, scratch, messages);
    let in_step = view.last_turn + 1 == number;
    view.last_turn = number;
    view.clans.begin_turn(published);
    collect(view, published, in_step, scratch);
    tell_own(view, published, own, dialect, scratch, messages);
    tell_update(published, dialect, scratch, messages);
    if scratch.health.count > 0 {
        messages.add_named(dialect, "health", 1, |out| write_groups(out, &scratch.health, 2));
    }
    if scratch.hands.count > 0 {
        messages.add_named(dialect, "hands", 1, |out| write_groups(out, &scratch.hands, 3));
    }
    clans::native(view, published, dialect, messages);
    if scratch.tags.count > 0 {
        messages.add_named(dialect, "tags", 1, |out| write_groups(out, &scratch.tags, 2));
        view.clans.told_tags(scratch.tag_news_bytes, published);
    }
    animals::native(view, published, window, dialect, scratch, messages);
    tell_stats(view, published, dialect, messages);
    tell_kit(view, published, dialect, messages);
    tell_board(view, published, own, dialect, messages);
}

/// Sends the structures that came into range, and those that are gone.
fn tell_built(
    view: &mut View,
    published: &Published,
    window: Window,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let (structures, Scratch { enters, leaves, .. }) = (&published.structures, scratch);
    enters.clear();
    leaves.clear();
    view.built.forget(structures, |id| leaves.write(|out| write_uint(out, id.0.into())));
    view.built.look(structures, window, OBJECTS_MARGIN_PX, |index| enters.copy(structures.native.get(index)));
    if leaves.count > 0 {
        messages.add_named(dialect, "gone", 1, |out| write_groups(out, leaves, 1));
    }
    if enters.count > 0 {
        messages.add_named(dialect, "structures", 1, |out| write_groups(out, enters, 6));
    }
}

/// Sends the player that a client without a body watches, when it changed.
fn tell_watching(
    view: &mut View,
    published: &Published,
    watched: Option<Option<usize>>,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let watching = watched.map(|index| index.map(|index| published.players[index].player));
    if view.watching != watching {
        view.watching = watching;
        if let Some(player) = watching {
            let player = player.map(|player| player.0);
            messages.add_packet(&ServerPacket::Watching { player }, dialect);
        }
    }
}

/// Compares the visible players with the known ones: leaves, enters, and records for those who
/// stay.
fn collect(view: &mut View, published: &Published, in_step: bool, scratch: &mut Scratch) {
    let records = published.native_records();
    let Scratch { visible, known, leaves, enters, full, moved, turned, health, hands, .. } = scratch;
    let Scratch { tags, tag_news_bytes, .. } = scratch;
    *tag_news_bytes = 0;
    [&mut *leaves, enters, full, moved, turned, health, hands, tags].into_iter().for_each(Section::clear);
    known.clear();
    let mut before = view.known.iter().peekable();
    for &index in visible.iter() {
        let index = index as usize;
        let seen = &published.players[index];
        let now = Who::of(seen);
        while let Some(gone) = before.next_if(|known| known.who < now) {
            leaves.write(|out| write_uint(out, gone.who.player.0.into()));
        }
        let mut told = before.next_if(|known| known.who == now).copied();
        if told.is_some_and(|told| told.died) {
            leaves.write(|out| write_uint(out, now.player.0.into()));
            told = None;
        }
        if told.is_none() && enters.count >= limits::NEWCOMERS_PER_TURN {
            continue; // Unknown still, and so a newcomer in the next turn.
        } else if told.is_none() {
            enters.write(|out| write_enter(out, seen));
        } else if in_step && seen.base.is_some() {
            moved.copy(records.moved.get(index));
            turned.copy(records.turned.get(index));
        } else if told.is_some_and(|told| told.pose != seen.pose) {
            full.copy(records.full.get(index));
        }
        let is_newcomer = told.is_none();
        let told = told.get_or_insert_with(|| Known::new(seen));
        told.pose = seen.pose;
        tell_health(told, seen, health);
        tell_hand(told, seen, hands);
        let clan = seen.tag.as_ref().map(|tag| tag.id);
        if told.clan != clan && view.clans.may_tell_tag(clan, is_newcomer) {
            let bytes_before = tags.bytes.len();
            tell_tag(told, seen, tags);
            *tag_news_bytes += if is_newcomer { 0 } else { tags.bytes.len() - bytes_before };
        }
        known.push(*told);
    }
    for gone in before {
        leaves.write(|out| write_uint(out, gone.who.player.0.into()));
    }
    std::mem::swap(&mut view.known, known);
}

/// Adds a player's health if it differs from the last one sent.
fn tell_health(told: &mut Known, seen: &Seen, health: &mut Section) {
    if told.health != seen.health {
        told.health = seen.health;
        health.write(|out| {
            write_uint(out, seen.player.0.into());
            write_uint(out, seen.health.into());
        });
    }
}

/// Adds a player's hand if it differs from the last one sent.
fn tell_hand(told: &mut Known, seen: &Seen, hands: &mut Section) {
    if told.hand != seen.hand {
        told.hand = seen.hand;
        hands.write(|out| {
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
fn tell_tag(told: &mut Known, seen: &Seen, tags: &mut Section) {
    told.clan = seen.tag.as_ref().map(|tag| tag.id);
    tags.write(|out| {
        write_uint(out, seen.player.0.into());
        match told.clan {
            Some(clan) => write_uint(out, clan.0.into()),
            None => write_nil(out),
        }
    });
}

/// Sends the client's own body: once when it appears, then its exact state whenever that changes.
fn tell_own(
    view: &mut View,
    published: &Published,
    own: Option<usize>,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let seen = own.map(|index| &published.players[index]);
    let has_died = view.own.is_some_and(|own| own.died);
    if has_died || view.own.map(|own| own.who) != seen.map(Who::of) {
        if let Some(gone) = view.own {
            scratch.leaves.write(|out| write_uint(out, gone.who.player.0.into()));
        }
        if let Some(seen) = seen {
            messages.add_packet(&ServerPacket::Spawned { player: seen.player.0 }, dialect);
            scratch.enters.write(|out| write_enter(out, seen));
        }
        view.own = seen.map(Known::new);
        view.last_own.clear();
    }
    scratch.own.clear();
    let (Some(seen), Some(told)) = (seen, &mut view.own) else { return };
    tell_health(told, seen, &mut scratch.health);
    tell_hand(told, seen, &mut scratch.hands);
    let clan = seen.tag.as_ref().map(|tag| tag.id);
    if told.clan != clan && view.clans.may_tell_own_tag(clan) {
        tell_tag(told, seen, &mut scratch.tags);
    }
    scratch.own.write(|out| write_own(out, seen));
    if scratch.own.bytes == view.last_own {
        scratch.own.clear();
    } else {
        view.last_own.clone_from(&scratch.own.bytes);
    }
}

fn tell_update(published: &Published, dialect: &Dialect, scratch: &Scratch, messages: &mut Messages) {
    let sections = [
        (&scratch.own, 8),
        (&scratch.leaves, 1),
        (&scratch.enters, 6),
        (&scratch.full, 4),
        (&scratch.moved, 3),
        (&scratch.turned, 2),
    ];
    let Some(last) = sections.iter().rposition(|(section, _)| section.count > 0) else { return };
    messages.add_named(dialect, "update", last + 2, |out| {
        write_uint(out, published.tick.into());
        for (section, stride) in &sections[..=last] {
            write_groups(out, section, *stride);
        }
    });
}

/// Sends the own player's stats, alive or dead, when they changed.
fn tell_stats(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let stats = view.player_index(published).map(|index| published.players[index].stats);
    if let Some(stats) = stats.filter(|stats| view.last_stats != Some(*stats)) {
        view.last_stats = Some(stats);
        messages.add_named(dialect, "stats", 9, |out| {
            stats.resources.iter().for_each(|amount| write_uint(out, (*amount).into()));
            for value in [stats.kills, stats.xp, stats.xp_next, stats.age.into(), stats.score] {
                write_uint(out, value.into());
            }
        });
    }
}

/// Sends the own player's kit and choices, when they changed.
fn tell_kit(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let Some(index) = view.player_index(published) else { return };
    let Seen { kit, choices: (points, age), .. } = &published.players[index];
    let mut said = Vec::new();
    write_bytes(&mut said, kit.weapons.iter().flatten());
    write_bytes(&mut said, kit.items.iter().flatten());
    let standing = || kit.built.iter().enumerate().filter(|(_, count)| **count > 0);
    write_array_len(&mut said, standing().count() * 2);
    for (group, count) in standing() {
        write_uint(&mut said, group as u64);
        write_uint(&mut said, (*count).into());
    }
    if said != view.last_kit {
        messages.add_named(dialect, "kit", 3, |out| out.extend_from_slice(&said));
        view.last_kit.clone_from(&said);
    }
    said.clear();
    let offers: Vec<u8> = if *points > 0 { kit.offers(*age).collect() } else { Vec::new() };
    write_uint(&mut said, (*points).into());
    write_uint(&mut said, (*age).into());
    write_bytes(&mut said, offers.iter());
    if said != view.last_offers {
        messages.add_named(dialect, "offers", 3, |out| out.extend_from_slice(&said));
        view.last_offers = said;
    }
}

fn write_bytes<'a>(out: &mut Vec<u8>, bytes: impl Iterator<Item = &'a u8> + Clone) {
    write_array_len(out, bytes.clone().count());
    bytes.for_each(|byte| write_uint(out, (*byte).into()));
}

fn tell_board(
    view: &mut View,
    published: &Published,
    own: Option<usize>,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    if view.last_board_second == Some(published.second) {
        return;
    }
    view.last_board_second = Some(published.second);
    let board = published.board();
    let mut said = Vec::new();
    write_array_len(&mut said, board.best.len() * 3);
    for seen in board.best.iter().map(|index| &published.players[*index]) {
        write_uint(&mut said, seen.player.0.into());
        write_str(&mut said, &seen.name);
        write_uint(&mut said, seen.stats.score.into());
    }
    match own {
        Some(index) => write_uint(&mut said, board.places[index].into()),
        None => write_nil(&mut said),
    }
    write_uint(&mut said, published.players.len() as u64);
    if said != view.last_board {
        messages.add_named(dialect, "leaderboard", 3, |out| out.extend_from_slice(&said));
        view.last_board = said;
    }
}
