//! The events of a tick for a native client: gestures and shots in lists, deaths one by one.

use super::records::{half_px, turn8};
use super::update::{Lists, Scratch, View};
use crate::game::Writer;
use crate::games::moo::feed::events::{Event, Events, Named, Ping, shot_number};
use crate::games::moo::feed::outgoing_packet::ServerPacket;
use crate::games::moo::feed::published_state::{State, animal_number};
use crate::games::moo::feed::send_typed::Typed as _;

impl View {
    /// Writes the events of a tick that concern what the client knows and sees. `state` is the
    /// state of the same tick or a newer one.
    pub fn events(&mut self, events: &Events, state: &State, scratch: &mut Scratch, out: &mut Writer<'_>) {
        let lists = &mut scratch.lists;
        for event in &events.list {
            if self.known.concerns(event) {
                self.event(event, lists, out);
            }
        }
        if events.tick == state.tick {
            self.meet(state, out);
        }
        out.list("swings", &mut lists.swings);
        out.list("shakes", &mut lists.shakes);
        out.list("strikes", &mut lists.strikes);
        out.list("shot_ends", &mut lists.shot_ends);
        out.list("shots", &mut lists.shots);
        events.pings.iter().for_each(|ping| self.ping(ping, state, out));
    }

    /// A client that comes back to its player may have missed its death.
    fn meet(&mut self, state: &State, out: &mut Writer<'_>) {
        let Some(own) = self.known.own_player(state).filter(|own| self.met != Some(own.player)) else {
            return;
        };
        if !own.alive {
            out.send("died", Option::<&Named>::None);
        }
        self.met = Some(own.player);
    }

    fn event(&mut self, event: &Event, lists: &mut Lists, out: &mut Writer<'_>) {
        match event {
            Event::Chat { player, text } => out.packet(&ServerPacket::Chat { player: player.0, text }),
            Event::Swung { player, weapon, hit, .. } => lists.swings.push((*player, *weapon, *hit)),
            Event::Struck { object, direction } => lists.shakes.push((object.id, turn8(*direction))),
            Event::AnimalStruck { animal } => lists.strikes.push(animal_number(*animal)),
            Event::Said { text } => out.send("say", &**text),
            Event::Died { player, victim, killer } => {
                let killer = killer.as_ref();
                if self.known.is_own(*player) {
                    self.met = Some(*player);
                    out.send("died", killer);
                }
                if let Some(victim) = victim {
                    out.send("kill", (killer, victim));
                }
            }
            Event::Shot(shot) => {
                let at = [shot.x, shot.y].map(half_px);
                let (number, path) = (shot_number(shot.id), (shot.heading, shot.range_px));
                lists.shots.push((number, shot.kind, shot.by, at, path));
            }
            Event::ShotEnded { shot, x, y } => {
                if self.known.end_shot(*shot).is_some() {
                    lists.shot_ends.push((shot_number(*shot), [*x, *y].map(half_px)));
                }
            }
            // A native client sees these in the state.
            Event::Hurt { .. } | Event::Healed { .. } | Event::NotOffered { .. } => {}
        }
    }

    /// A ping of a member of the client's clan, itself included, that the client was told of.
    fn ping(&self, ping: &Ping, state: &State, out: &mut Writer<'_>) {
        let Some(own) = self.known.own_player(state) else { return };
        let is_mate = |clan| own.clan() == Some(clan) && self.is_known_mate(clan, ping.player);
        if ping.clan.is_some_and(is_mate) {
            out.send("map_ping", (ping.player, [ping.at.x_px, ping.at.y_px]));
        }
    }
}
