//! The layout of the MooMoo dialects: flat full records of everyone in view, each turn, as
//! third-party clients expect them.
//!
//! Those clients also need a fixed order within a turn (see tests/fixtures/conversations.tsv):
//! setup before the client's own add-player, add-player before the first record of a player,
//! objects once, then the update, then the leaderboard. Codes and types come from the dialect's
//! table; the values are the same for all four dialects.

use super::built::Built;
use super::interest::Window;
use super::messages::Messages;
use super::publish::{Placed, Published, Seen};
use super::records::write_groups;
use super::view::{Known, OBJECTS_MARGIN_PX, Scratch, View, Who};
use super::{animals, clans};
use crate::limits;
use crate::packet::msgpack::{write_array_len, write_f64_2dec, write_int, write_nil, write_str, write_uint};
use crate::packet::server_packet::AddPlayer;
use crate::packet::{Dialect, ServerPacket, angle};
use crate::world::{EntityId, PlayerId};

/// Values of one player in an update.
const PLAYER_STRIDE: usize = 13;
/// The MooMoo clients' names for wood, food, stone, gold and kills.
const VALUES: [&str; 5] = ["wood", "food", "stone", "points", "kills"];
/// Values of one object.
const OBJECT_STRIDE: usize = 8;

/// The 13 values of a player: sid, x, y, dir, build index, weapon, variant, team, is leader, skin, tail, icon, z index.
pub fn write_player(out: &mut Vec<u8>, seen: &Seen) {
    write_uint(out, seen.player.0.into());
    write_int(out, round_px(seen.x.0));
    write_int(out, round_px(seen.y.0));
    write_f64_2dec(out, angle::to_radians_2dec(seen.heading.0));
    write_int(out, seen.hand.item.map_or(-1, i64::from));
    write_uint(out, seen.hand.weapon.into());
    write_uint(out, 0);
    match &seen.tag {
        Some(tag) => write_str(out, &tag.name),
        None => write_nil(out),
    }
    write_uint(out, seen.tag.as_ref().is_some_and(|tag| tag.is_owner).into());
    (0..4).for_each(|_| write_uint(out, 0));
}

/// The 8 values of an object: sid, x, y, dir, scale, type, item, owner. A natural object has no
/// item and no owner.
pub fn write_object(out: &mut Vec<u8>, thing: &Placed) {
    write_uint(out, (thing.id.0 - EntityId::FIRST_OTHER.0).into());
    write_int(out, thing.x_px.into());
    write_int(out, thing.y_px.into());
    write_uint(out, 0);
    write_int(out, thing.scale_px.into());
    write_uint(out, thing.kind as u64);
    write_nil(out);
    write_int(out, -1);
}

/// The 8 values of a structure: it has an item and no type. A structure of the operator has no
/// owner.
pub fn write_structure(out: &mut Vec<u8>, thing: &Built) {
    write_uint(out, (thing.id.0 - EntityId::FIRST_OTHER.0).into());
    write_int(out, thing.x_px.into());
    write_int(out, thing.y_px.into());
    write_f64_2dec(out, angle::to_radians_2dec(thing.heading.0));
    write_int(out, thing.scale_px.into());
    write_nil(out);
    write_uint(out, thing.item.into());
    match thing.owner {
        PlayerId::OPERATOR => write_int(out, -1),
        PlayerId(owner) => write_uint(out, owner.into()),
    }
}

/// One turn of a MooMoo client; see [`View::turn`]. A client without a body receives only
/// departures and the leaderboard.
pub fn turn(
    view: &mut View,
    published: &Published,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let Some(number) = published.moomoo_turn else { return };
    view.last_turn = number;
    tell_removed(view, published, dialect, messages);
    view.shown = None;
    view.clans.begin_turn(published);
    clans::moomoo(view, published, dialect, messages);
    if let Some(own) = view.own_index(published) {
        let window = view.window(published, Some(own));
        view.shown = Some(window);
        view.look(published, window, Some(own), &mut scratch.visible);
        tell_own(view, &published.players[own], dialect, messages);
        tell_new(view, published, dialect, scratch, messages);
        tell_health(view, published, own, dialect, scratch, messages);
        tell_stats(view, &published.players[own], dialect, messages);
        tell_kit(view, &published.players[own], dialect, messages);
        let records = published.moomoo_records();
        scratch.enters.clear();
        view.objects(published, window, |index| scratch.enters.copy(published.nature.moomoo.get(index)));
        tell_gone(view, published, dialect, messages);
        look_for_built(view, published, window, scratch);
        if scratch.enters.count > 0 {
            messages.add_named(dialect, "load_objects", 1, |out| {
                write_groups(out, &scratch.enters, OBJECT_STRIDE);
            });
        }
        scratch.full.clear();
        scratch.full.copy(records.get(own));
        scratch.visible.iter().for_each(|index| scratch.full.copy(records.get(*index as usize)));
        messages.add_named(dialect, "update_players", 1, |out| {
            write_groups(out, &scratch.full, PLAYER_STRIDE);
        });
        clans::moomoo_members(view, published, dialect, messages);
        animals::moomoo(view, published, window, dialect, scratch, messages);
    }
    tell_board(view, published, dialect, messages);
}

/// Sends the players who have left the world; players who only go out of view stay known, as in the
/// original game.
fn tell_removed(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let seen = |known: &Known| {
        let index = published.index_of(known.who.player)?;
        Some(&published.players[index]).filter(|seen| Who::of(seen) == known.who)
    };
    let mut tell = |known: &Known| {
        let here = seen(known).is_some();
        if !here {
            messages.add_packet(&ServerPacket::RemovePlayer { id: &id_of(known.who.player) }, dialect);
        }
        here
    };
    view.known.retain(&mut tell);
    // A client whose player died is set up again when it plays again, as clients expect.
    view.own = view.own.filter(tell).filter(|own| !own.died && seen(own).is_some_and(|seen| seen.alive));
}

fn tell_own(view: &mut View, seen: &Seen, dialect: &Dialect, messages: &mut Messages) {
    if view.own.is_none() {
        view.own = Some(Known::new(seen));
        view.last_stats = None;
        view.last_kit.clear();
        messages.add_packet(&ServerPacket::Setup { sid: seen.player.0 }, dialect);
        tell_player(seen, true, dialect, messages);
    }
}

/// Sends the players in view that the client has not received since they began to play. A player
/// who plays again may have another name and colour, so it is removed and added again. Players over
/// the cap are deferred to the next turn and removed from this turn's visible list.
fn tell_new(
    view: &mut View,
    published: &Published,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let mut newcomers = 0;
    scratch.visible.retain(|index| {
        let seen = &published.players[*index as usize];
        let place = view.known.binary_search_by_key(&Who::of(seen), |known| known.who);
        if place.is_ok_and(|place| !view.known[place].died) {
            return true;
        }
        let fits = newcomers < limits::NEWCOMERS_PER_TURN;
        if fits {
            newcomers += 1;
            match place {
                Ok(place) => {
                    view.known[place] = Known::new(seen);
                    messages.add_packet(&ServerPacket::RemovePlayer { id: &id_of(seen.player) }, dialect);
                }
                Err(place) => view.known.insert(place, Known::new(seen)),
            }
            tell_player(seen, false, dialect, messages);
        }
        fits
    });
}

/// Sends the health of the client's own player and of the players in view, where it has changed
/// since last sent.
fn tell_health(
    view: &mut View,
    published: &Published,
    own: usize,
    dialect: &Dialect,
    scratch: &Scratch,
    messages: &mut Messages,
) {
    let mut tell = |told: &mut Known, seen: &Seen| {
        if told.health != seen.health {
            told.health = seen.health;
            messages.add_named(dialect, "health", 2, |out| {
                write_uint(out, seen.player.0.into());
                write_uint(out, seen.health.into());
            });
        }
    };
    if let Some(told) = &mut view.own {
        tell(told, &published.players[own]);
    }
    for seen in scratch.visible.iter().map(|index| &published.players[*index as usize]) {
        if let Ok(place) = view.known.binary_search_by_key(&Who::of(seen), |known| known.who) {
            tell(&mut view.known[place], seen);
        }
    }
}

/// Sends the changed stats of the client's own player, and its age. Gold is called points.
fn tell_stats(view: &mut View, seen: &Seen, dialect: &Dialect, messages: &mut Messages) {
    let (now, before) = (seen.stats, view.last_stats.unwrap_or_default());
    let is_first = view.last_stats.is_none();
    view.last_stats = Some(now);
    let values = now.resources.into_iter().chain([now.kills]);
    let told = before.resources.into_iter().chain([before.kills]);
    for ((name, value), told) in VALUES.into_iter().zip(values).zip(told) {
        if is_first || value != told {
            messages.add_named(dialect, "value", 3, |out| {
                write_str(out, name);
                write_uint(out, value.into());
                write_uint(out, 1);
            });
        }
    }
    if is_first || (now.xp, now.age) != (before.xp, before.age) {
        messages.add_named(dialect, "age", 3, |out| {
            [now.xp, now.xp_next, now.age.into()].iter().for_each(|value| write_uint(out, (*value).into()));
        });
    }
}

/// Sends the known structures that were destroyed.
fn tell_gone(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    view.built.forget(&published.structures, |id| {
        messages.add_named(dialect, "remove_object", 1, |out| {
            write_uint(out, (id.0 - EntityId::FIRST_OTHER.0).into());
        });
    });
}

/// Adds structures that came into range to the natural objects, in one packet.
fn look_for_built(view: &mut View, published: &Published, window: Window, scratch: &mut Scratch) {
    let structures = &published.structures;
    view.built.look(structures, window, OBJECTS_MARGIN_PX, |index| {
        scratch.enters.copy(structures.moomoo.get(index));
    });
}

/// Sends the own player's kit, its choices and its structure counts, when one of them changed.
fn tell_kit(view: &mut View, seen: &Seen, dialect: &Dialect, messages: &mut Messages) {
    let (kit, (points, age)) = (&seen.kit, seen.choices);
    let mut said: Vec<u8> = vec![points, age];
    said.extend(kit.built);
    said.extend(kit.weapons.iter().chain(&kit.items).map(|number| number.unwrap_or(u8::MAX)));
    if said == view.last_kit {
        return;
    }
    let counted = view.last_kit.get(2..).map(<[u8]>::to_vec).unwrap_or_default();
    for (numbers, is_weapons) in [(&kit.items[..], 0), (&kit.weapons[..], 1)] {
        messages.add_named(dialect, "items", 2, |out| {
            write_array_len(out, numbers.iter().flatten().count());
            numbers.iter().flatten().for_each(|number| write_uint(out, (*number).into()));
            write_uint(out, is_weapons);
        });
    }
    write_upgrades(seen, dialect, messages);
    for (group, count) in kit.built.iter().enumerate() {
        if counted.get(group).copied().unwrap_or(0) != *count {
            messages.add_named(dialect, "item_count", 2, |out| {
                write_uint(out, group as u64);
                write_uint(out, (*count).into());
            });
        }
    }
    view.last_kit = said;
}

/// Writes the number of choices that a player has, and the age of the next one. The client computes
/// the list of choices itself.
pub fn write_upgrades(seen: &Seen, dialect: &Dialect, messages: &mut Messages) {
    let (points, age) = seen.choices;
    messages.add_named(dialect, "upgrades", 2, |out| {
        write_uint(out, points.into());
        write_uint(out, age.into());
    });
}

fn tell_board(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    if view.last_board_second == Some(published.second) {
        return;
    }
    view.last_board_second = Some(published.second);
    let best = &published.board().best;
    messages.add_named(dialect, "leaderboard", 1, |out| {
        write_array_len(out, best.len() * 3);
        for seen in best.iter().map(|index| &published.players[*index]) {
            write_uint(out, seen.player.0.into());
            write_str(out, &seen.name);
            write_uint(out, seen.stats.score.into());
        }
    });
}

fn tell_player(seen: &Seen, is_you: bool, dialect: &Dialect, messages: &mut Messages) {
    let packet = ServerPacket::AddPlayer(AddPlayer {
        id: &id_of(seen.player),
        sid: seen.player.0,
        name: &seen.name,
        x_px: round_px(seen.x.0) as i32,
        y_px: round_px(seen.y.0) as i32,
        heading: seen.heading.0,
        health: seen.health,
        max_health: seen.max_health,
        scale_px: seen.radius_px,
        skin: seen.skin,
        is_you,
    });
    messages.add_packet(&packet, dialect);
}

/// The id string of a player: its number. A number is reused only after its previous owner was
/// removed.
fn id_of(player: PlayerId) -> String {
    player.0.to_string()
}

/// Px in 16.16, rounded to the nearest whole px.
fn round_px(fixed: i32) -> i64 {
    (i64::from(fixed) + (1 << 15)) >> 16
}
