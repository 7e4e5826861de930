//! The events of a tick for a native client: gestures and shots in lists, deaths one by one.

use super::view::{Lists, Scratch, View};
use crate::feed::animals;
use crate::feed::events::{Event, Events, Named, Ping, Shot, shot_number};
use crate::feed::messages::Writer;
use crate::feed::state::State;
use crate::packet::ServerPacket;
use crate::packet::msgpack::{write_int, write_nil, write_str, write_uint};
use crate::world::{Fixed, PlayerId};

impl View {
    /// Writes the events of a tick that concern what the client knows and sees. `state` is the
    /// state of the same tick or a newer one.
    pub fn events(&mut self, events: &Events, state: &State, scratch: &mut Scratch, out: &mut Writer<'_>) {
        let lists = &mut scratch.lists;
        events.list.iter().for_each(|event| self.event(event, lists, out));
        out.list("swings", &mut lists.swings, 3);
        out.list("shakes", &mut lists.shakes, 2);
        out.list("strikes", &mut lists.strikes, 1);
        out.list("shot_ends", &mut lists.shot_ends, 3);
        out.list("shots", &mut lists.shots, 7);
        events.pings.iter().for_each(|ping| self.ping(ping, state, out));
    }

    fn event(&mut self, event: &Event, lists: &mut Lists, out: &mut Writer<'_>) {
        let known = &mut self.known;
        match event {
            Event::Chat { player, text } if known.players.knows(*player) => {
                out.packet(&ServerPacket::Chat { player: player.0, text });
            }
            Event::Swung { player, weapon, hit, .. } if known.players.knows(*player) => {
                lists.swings.write(|out| {
                    write_uint(out, player.0.into());
                    write_uint(out, (*weapon).into());
                    write_uint(out, (*hit).into());
                });
            }
            Event::Struck { object, direction }
                if known.objects.knows(object) && self.viewpoint.sees(object.place) =>
            {
                lists.shakes.write(|out| {
                    write_uint(out, object.id.0.into());
                    write_uint(out, (direction.0.wrapping_add(128) >> 8).into());
                });
            }
            Event::AnimalStruck { animal } if known.knows_animal(*animal) => {
                lists.strikes.write(|out| write_uint(out, animals::number(*animal)));
            }
            Event::Said { text } => out.add("say", 1, |out| write_str(out, text)),
            Event::Died { player, victim, killer } => {
                known.players.note_death(*player);
                self.death(*player, victim.as_ref(), killer.as_ref(), out);
            }
            Event::Shot(shot) if self.viewpoint.window.is_some_and(|window| shot.crosses(window)) => {
                known.shots.begin(shot);
                lists.shots.write(|out| write_shot(out, shot));
            }
            Event::ShotEnded { shot, x, y } if known.shots.end(*shot).is_some() => {
                lists.shot_ends.write(|out| {
                    write_uint(out, shot_number(*shot));
                    [x, y].iter().for_each(|at| write_uint(out, half_px(**at)));
                });
            }
            _ => {}
        }
    }

    fn death(&self, player: PlayerId, victim: Option<&Named>, killer: Option<&Named>, out: &mut Writer<'_>) {
        if self.viewpoint.is_own(player) {
            out.add("died", 2, |out| write_named(out, killer));
        }
        if victim.is_some() {
            out.add("kill", 4, |out| [killer, victim].iter().for_each(|named| write_named(out, *named)));
        }
    }

    /// A ping of a member of the client's clan, itself included, that the client was told of.
    fn ping(&self, ping: &Ping, state: &State, out: &mut Writer<'_>) {
        let Some(own) = self.viewpoint.own(state) else { return };
        let is_mate = |clan| own.clan() == Some(clan) && self.known.is_known_mate(clan, ping.player);
        if ping.clan.is_some_and(is_mate) {
            out.add("map_ping", 3, |out| {
                write_uint(out, ping.player.0.into());
                [ping.at.x_px, ping.at.y_px].iter().for_each(|px| write_int(out, (*px).into()));
            });
        }
    }
}

fn write_named(out: &mut Vec<u8>, named: Option<&Named>) {
    match named {
        Some(named) => {
            write_uint(out, named.player.0.into());
            write_str(out, &named.name);
        }
        None => (0..2).for_each(|_| write_nil(out)),
    }
}

fn write_shot(out: &mut Vec<u8>, shot: &Shot) {
    write_uint(out, shot_number(shot.id));
    write_uint(out, shot.kind.into());
    write_uint(out, shot.by.0.into());
    [shot.x, shot.y].iter().for_each(|at| write_uint(out, half_px(*at)));
    write_uint(out, shot.heading.0.into());
    write_int(out, shot.range_px.into());
}

fn half_px(at: Fixed) -> u64 {
    at.to_half_px().max(0) as u64
}
