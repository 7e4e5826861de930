//! The events of a tick for a MooMoo client: each in its own packet.

use super::records::object_number;
use super::view::View;
use crate::feed::animals;
use crate::feed::events::{Event, Events, Ping, Shot, shot_number};
use crate::feed::interest::Place;
use crate::feed::messages::Writer;
use crate::feed::state::State;
use crate::packet::msgpack::{write_f64_2dec, write_int, write_uint};
use crate::packet::{ServerPacket, angle};
use crate::world::{Fixed, fixed, rules};

/// The number of the text that shows damage.
const DAMAGE_TEXT: u64 = 1;

/// The reply to a player who chooses an upgrade that is not offered; no longer than a line of chat.
const NOT_OFFERED: &str = "This server does not support that";

impl View {
    /// Writes the events of a tick that concern what the client knows and sees. `state` is the
    /// state of the same tick or a newer one.
    pub fn events(&mut self, events: &Events, state: &State, out: &mut Writer<'_>) {
        let mut is_refused = false;
        for event in &events.list {
            match event {
                Event::NotOffered { player } if self.viewpoint.is_own(*player) && !is_refused => {
                    is_refused = true;
                    self.refuse_choice(out);
                }
                Event::Shot(shot) if self.viewpoint.window.is_some_and(|window| shot.crosses(window)) => {
                    self.known.shots.begin(shot);
                    self.shot(shot, out);
                }
                Event::ShotEnded { shot, x, y } => {
                    if let Some((from_x, from_y)) = self.known.shots.end(*shot) {
                        out.add("remove_projectile", 2, |out| {
                            write_uint(out, shot_number(*shot));
                            write_uint(out, distance_px(x.minus(from_x), y.minus(from_y)));
                        });
                    }
                }
                _ => self.deed(event, out),
            }
        }
        events.pings.iter().for_each(|ping| self.ping(ping, state, out));
    }

    fn deed(&mut self, event: &Event, out: &mut Writer<'_>) {
        let (known, viewpoint) = (&mut self.known, &self.viewpoint);
        match event {
            Event::Chat { player, text } if known.players.knows(*player) => {
                out.packet(&ServerPacket::Chat { player: player.0, text });
            }
            // A known player may be out of view.
            Event::Swung { player, weapon, hit, at }
                if known.players.knows(*player)
                    && (viewpoint.is_own(*player) || at.is_some_and(|at| viewpoint.sees(at))) =>
            {
                out.add("gather", 3, |out| {
                    write_uint(out, player.0.into());
                    write_uint(out, (*hit).into());
                    write_uint(out, (*weapon).into());
                });
            }
            Event::Struck { object, direction }
                if known.objects.knows(object) && viewpoint.sees(object.place) =>
            {
                out.add("wiggle", 2, |out| {
                    write_f64_2dec(out, angle::to_radians_2dec(direction.0));
                    write_uint(out, object_number(object.id));
                });
            }
            Event::Hurt { by, at, amount } if viewpoint.is_own(*by) => {
                write_number(*at, i64::from(*amount), out);
            }
            // Health regenerates one point at a time, so only healing from food is sent.
            Event::Healed { player, at, amount } if *amount > 1 && viewpoint.is_own(*player) => {
                write_number(*at, -i64::from(*amount), out);
            }
            Event::AnimalStruck { animal } if viewpoint.window.is_some() && known.knows_animal(*animal) => {
                out.add("animate_animal", 1, |out| write_uint(out, animals::number(*animal)));
            }
            Event::Said { text } => self.say(text, out),
            Event::Died { player, .. } => {
                known.players.note_death(*player);
                if viewpoint.is_own(*player) {
                    out.add("died", 0, |_| {});
                }
            }
            _ => {}
        }
    }

    /// MooMoo clients compute the choices of an age from a built-in list that is longer than this
    /// game's. A player who picks a missing one receives a chat line saying so, at most one per
    /// tick, however often they clicked, and the choice again with the next update.
    fn refuse_choice(&mut self, out: &mut Writer<'_>) {
        self.known.is_refused = true;
        self.say(NOT_OFFERED, out);
    }

    /// The MooMoo dialects have no packet for operator messages: the text appears above the
    /// client's own player, unless it has died: the client has forgotten it.
    fn say(&self, text: &str, out: &mut Writer<'_>) {
        if let Some(own) = self.known.players.own.filter(|own| !own.died) {
            out.packet(&ServerPacket::Chat { player: own.who.player.0, text });
        }
    }

    /// A shot, and the turret that fired it.
    fn shot(&self, shot: &Shot, out: &mut Writer<'_>) {
        let direction = angle::to_radians_2dec(shot.heading.0);
        let speed = rules::projectile(shot.kind).map_or(0, |kind| kind.speed_px_per_s);
        let is_seen = |turret| self.known.objects.knows(turret) && self.viewpoint.sees(turret.place);
        if let Some(turret) = shot.turret.as_ref().filter(|turret| is_seen(turret)) {
            out.add("turret_shot", 2, |out| {
                write_uint(out, object_number(turret.id));
                write_f64_2dec(out, direction);
            });
        }
        out.add("add_projectile", 8, |out| {
            [shot.x, shot.y].iter().for_each(|at| write_int(out, at.to_px().into()));
            write_f64_2dec(out, direction);
            write_int(out, shot.range_px.into());
            write_f64_2dec(out, f64::from(speed) / 1_000.0);
            write_uint(out, shot.kind.into());
            // The layer: below platforms, of which there are none.
            write_uint(out, 0);
            write_uint(out, shot_number(shot.id));
        });
    }

    /// A ping of the client itself, or of a member of the clan that the client was told is its own.
    fn ping(&self, ping: &Ping, state: &State, out: &mut Writer<'_>) {
        let Some(own) = self.viewpoint.own(state) else { return };
        let is_mate = |clan| own.clan() == Some(clan) && self.known.clans.is_in(clan);
        if own.player == ping.player || ping.clan.is_some_and(is_mate) {
            out.add("map_ping", 2, |out| {
                [ping.at.x_px, ping.at.y_px].iter().for_each(|px| write_int(out, (*px).into()));
            });
        }
    }
}

/// A number that rises from a place: damage, or healing below 0.
fn write_number(at: Place, number: i64, out: &mut Writer<'_>) {
    out.add("floating_text", 4, |out| {
        [at.x_px, at.y_px].iter().for_each(|px| write_int(out, (*px).into()));
        write_int(out, number);
        write_uint(out, DAMAGE_TEXT);
    });
}

fn distance_px(x: Fixed, y: Fixed) -> u64 {
    let square = |at: Fixed| i64::from(at.0).pow(2) as u64;
    fixed::square_root(square(x) + square(y)) >> 16
}
