//! The events of a tick: swings, blows, deaths. Each is sent once, to the clients that know the
//! players concerned.
//!
//! The input is the events of a published tick, and the client's known and visible set. Whatever
//! the state itself shows (health, resources, which players are there) is sent by the turn instead,
//! so a missed tick loses only a gesture.

use super::animals;
use super::messages::Messages;
use super::publish::{Published, Seen};
use super::records::{Section, write_groups};
use super::view::{Scratch, View};
use crate::packet::msgpack::{write_f64_2dec, write_int, write_nil, write_str, write_uint};
use crate::packet::{Dialect, ServerPacket, angle};
use crate::world::{EntityId, Event, PlayerId};

/// The number of the text that shows damage, in the MooMoo dialects.
const DAMAGE_TEXT: u64 = 1;

/// The reply to a MooMoo player who chooses an upgrade that is not offered; no longer than a line
/// of chat.
const NOT_OFFERED: &str = "This server does not have that";

/// Writes the events for a native client: gestures in lists, deaths one by one.
pub fn native(
    view: &View,
    published: &Published,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let Scratch { enters: swings, full: shakes, moved: strikes, .. } = scratch;
    [&mut *swings, shakes, strikes].into_iter().for_each(Section::clear);
    for event in &published.events {
        match event {
            Event::Swung { player, weapon, hit } if view.knows(*player) => swings.write(|out| {
                write_uint(out, player.0.into());
                write_uint(out, (*weapon).into());
                write_uint(out, (*hit).into());
            }),
            Event::Struck { object, direction, .. } if view.shows_object(published, *object) => {
                shakes.write(|out| {
                    write_uint(out, object.0.into());
                    write_uint(out, (direction.0.wrapping_add(128) >> 8).into());
                });
            }
            Event::AnimalStruck { animal } if view.animals.knows(*animal) => {
                strikes.write(|out| write_uint(out, animals::number(*animal)));
            }
            Event::Said { text } => messages.add_named(dialect, "say", 1, |out| write_str(out, text)),
            Event::Died { player, by } => native_death(view, published, *player, *by, dialect, messages),
            _ => {}
        }
    }
    for (section, name, stride) in [(swings, "swings", 3), (shakes, "shakes", 2), (strikes, "strikes", 1)] {
        if section.count > 0 {
            messages.add_named(dialect, name, 1, |out| write_groups(out, section, stride));
        }
    }
}

fn native_death(
    view: &View,
    published: &Published,
    victim: PlayerId,
    by: Option<PlayerId>,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let killer = by.and_then(|by| find(published, by));
    if view.is_own(victim) {
        messages.add_named(dialect, "died", 2, |out| write_player_or_nil(out, killer));
    }
    let Some(victim) = find(published, victim) else { return };
    messages.add_named(dialect, "kill", 4, |out| {
        write_player_or_nil(out, killer);
        write_player_or_nil(out, Some(victim));
    });
}

fn write_player_or_nil(out: &mut Vec<u8>, seen: Option<&Seen>) {
    match seen {
        Some(seen) => {
            write_uint(out, seen.player.0.into());
            write_str(out, &seen.name);
        }
        None => {
            write_nil(out);
            write_nil(out);
        }
    }
}

/// Writes the events for a MooMoo client: each gesture in its own packet.
pub fn moomoo(view: &View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let mut is_refused = false;
    for event in &published.events {
        match event {
            Event::Swung { player, weapon, hit } if view.shows(published, *player) => {
                messages.add_named(dialect, "gather", 3, |out| {
                    write_uint(out, player.0.into());
                    write_uint(out, (*hit).into());
                    write_uint(out, (*weapon).into());
                });
            }
            Event::Struck { object, direction, .. } if view.shows_object(published, *object) => {
                messages.add_named(dialect, "wiggle", 2, |out| {
                    write_f64_2dec(out, angle::to_radians_2dec(direction.0));
                    write_uint(out, (object.0 - EntityId::FIRST_OTHER.0).into());
                });
            }
            Event::Hurt { player, by: Some(by), amount } if view.is_own(*by) => {
                let Some(hurt) = find(published, *player) else { continue };
                messages.add_named(dialect, "floating_text", 4, |out| {
                    write_int(out, hurt.x.to_px().into());
                    write_int(out, hurt.y.to_px().into());
                    write_uint(out, (*amount).into());
                    write_uint(out, DAMAGE_TEXT);
                });
            }
            // Health regenerates one point at a time, so only healing from food is sent.
            Event::Healed { player, amount } if *amount > 1 && view.is_own(*player) => {
                let Some(healed) = find(published, *player) else { continue };
                messages.add_named(dialect, "floating_text", 4, |out| {
                    write_int(out, healed.x.to_px().into());
                    write_int(out, healed.y.to_px().into());
                    write_int(out, -i64::from(*amount));
                    write_uint(out, DAMAGE_TEXT);
                });
            }
            Event::AnimalHurt { animal, by: Some(by), amount } if view.is_own(*by) => {
                // An animal killed by the blow is gone; the number then rises from the attacker.
                let hurt = published.animals.find(*animal).map(|hurt| (hurt.x_px, hurt.y_px));
                let striker = || find(published, *by).map(|seen| (seen.x.to_px(), seen.y.to_px()));
                let Some((x_px, y_px)) = hurt.or_else(striker) else { continue };
                messages.add_named(dialect, "floating_text", 4, |out| {
                    [x_px, y_px].iter().for_each(|px| write_int(out, (*px).into()));
                    write_uint(out, (*amount).into());
                    write_uint(out, DAMAGE_TEXT);
                });
            }
            Event::AnimalStruck { animal } if view.shown.is_some() && view.animals.knows(*animal) => {
                messages.add_named(dialect, "animate_animal", 1, |out| {
                    write_uint(out, animals::number(*animal));
                });
            }
            Event::NotOffered { player } if view.is_own(*player) => is_refused = true,
            Event::Said { text } => moomoo_say(view, text, dialect, messages),
            Event::Died { player, .. } if view.is_own(*player) => {
                messages.add_named(dialect, "died", 0, |_| {});
            }
            _ => {}
        }
    }
    if is_refused {
        refuse_choice(view, published, dialect, messages);
    }
}

/// MooMoo clients compute the choices of an age from a built-in list that is longer than this
/// game's. A player who picks a missing one receives a chat line saying so, and the choice again:
/// at most once per turn, however often they clicked.
fn refuse_choice(view: &View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    let Some(seen) = view.own.and_then(|own| find(published, own.who.player)) else { return };
    super::moomoo::write_upgrades(seen, dialect, messages);
    moomoo_say(view, NOT_OFFERED, dialect, messages);
}

/// The MooMoo dialects have no packet for operator messages: the text appears above the client's
/// own player.
fn moomoo_say(view: &View, text: &str, dialect: &Dialect, messages: &mut Messages) {
    if let Some(own) = view.own {
        messages.add_packet(&ServerPacket::Chat { player: own.who.player.0, text }, dialect);
    }
}

fn find(published: &Published, player: PlayerId) -> Option<&Seen> {
    published.index_of(player).map(|index| &published.players[index])
}
