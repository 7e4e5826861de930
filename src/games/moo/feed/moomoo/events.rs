//! The events of a tick for a MooMoo client: one packet per event.

use super::records::object_number;
use super::update::MoomooView;
use crate::game::MessageWriter;
use crate::games::moo::feed::events::{Events, FeedEvent, MapPing, ShotFired, shot_number};
use crate::games::moo::feed::interest::Circle;
use crate::games::moo::feed::published_state::{PublicState, animal_number};
use crate::games::moo::world::{Fixed, fixed, rules};
use crate::packet::angle::to_radians_2dec;

/// Kind of the floating text that shows damage.
const DAMAGE_TEXT: u8 = 1;

/// Reply to a player that chose an upgrade that is not offered. At most as long as a chat message.
const NOT_OFFERED: &str = "This server does not support that";

impl MoomooView {
    /// Writes the events of a tick that affect entities in the client's known set and view. `state`
    /// is the state of the same tick or a newer state.
    pub fn events(&mut self, events: &Events, state: &PublicState, out: &mut MessageWriter<'_>) {
        let mut has_refused = false;
        for event in &events.list {
            if !self.known.check_relevance(event) {
                continue;
            }
            // MooMoo clients compute the upgrades of an age from a built-in list that is longer
            // than this game's. If a client chooses an upgrade that is missing here, it receives a
            // chat message, at most one per tick. It receives the upgrades again with the next
            // update.
            if matches!(event, FeedEvent::NotOffered { .. }) {
                if !has_refused {
                    self.write_chat(NOT_OFFERED, out);
                }
                (has_refused, self.is_refused) = (true, true);
            } else {
                self.event(event, out);
            }
        }
        events.pings.iter().for_each(|ping| self.ping(ping, state, out));
    }

    fn event(&mut self, event: &FeedEvent, out: &mut MessageWriter<'_>) {
        let known = &mut self.known;
        match event {
            FeedEvent::Chat { player, text } => out.send("chat", (*player, &**text)),
            FeedEvent::Swing { player, weapon, hit, at } => {
                // A known player may be out of view.
                if known.is_own(*player) || at.is_some_and(|at| known.sees(at)) {
                    out.send("gather", (*player, *hit, *weapon));
                }
            }
            FeedEvent::ObjectHit { object, direction } => {
                out.send("wiggle", (to_radians_2dec(direction.0), object_number(object.id)));
            }
            FeedEvent::Hurt { at, amount, .. } => write_number(*at, i64::from(*amount), out),
            // Health regenerates one point at a time, so only healing by food is sent.
            FeedEvent::Healed { at, amount, .. } if *amount > 1 => {
                write_number(*at, -i64::from(*amount), out)
            }
            FeedEvent::AnimalStruck { animal } => out.send("animate_animal", animal_number(*animal)),
            FeedEvent::Announced { text } => self.write_chat(text, out),
            FeedEvent::Died { player, .. } if known.is_own(*player) => out.send("died", [0u8; 0]),
            FeedEvent::Shot(shot) => self.shot(shot, out),
            FeedEvent::ShotEnded { shot, x, y } => {
                if let Some((from_x, from_y)) = known.end_shot(*shot) {
                    let flown_px = distance_px(x.saturating_sub(from_x), y.saturating_sub(from_y));
                    out.send("remove_projectile", (shot_number(*shot), flown_px));
                }
            }
            FeedEvent::Healed { .. } | FeedEvent::Died { .. } | FeedEvent::NotOffered { .. } => {}
        }
    }

    /// Sends a text as a chat message of the client's own player, because the MooMoo dialects have
    /// no packet for operator messages. Sends nothing if the player has died, because the client
    /// has removed the player.
    fn write_chat(&self, text: &str, out: &mut MessageWriter<'_>) {
        if let Some(own) = self.known.own.filter(|own| !own.died) {
            out.send("chat", (own.identity.player, text));
        }
    }

    /// Writes a projectile, and the shot of the turret that fired it.
    fn shot(&self, shot: &ShotFired, out: &mut MessageWriter<'_>) {
        let direction = to_radians_2dec(shot.heading.0);
        let speed = rules::projectile(shot.kind).map_or(0, |kind| kind.speed_px_per_s);
        if let Some(turret) = shot.turret.as_ref().filter(|turret| self.known.knows_and_sees(turret)) {
            out.send("turret_shot", (object_number(turret.id), direction));
        }
        let (at, speed) = ([shot.x.to_px(), shot.y.to_px()], f64::from(speed) / 1_000.0);
        // The layer below platforms, which this game lacks.
        let layer = 0u8;
        let number = shot_number(shot.id);
        out.send("add_projectile", (at, direction, shot.range_px, speed, shot.kind, layer, number));
    }

    /// Writes a ping of the client's own player, or of a member of the clan that was sent as the
    /// client's own.
    fn ping(&self, ping: &MapPing, state: &PublicState, out: &mut MessageWriter<'_>) {
        let Some(own) = self.known.own_player(state) else { return };
        let is_mate = |clan| own.clan() == Some(clan) && self.known.clans.is_in(clan);
        if own.player == ping.player || ping.clan.is_some_and(is_mate) {
            out.send("map_ping", [ping.at.x_px, ping.at.y_px]);
        }
    }
}

/// Writes a number that rises from a position: damage, or healing if negative.
fn write_number(at: Circle, number: i64, out: &mut MessageWriter<'_>) {
    out.send("floating_text", ([at.x_px, at.y_px], number, DAMAGE_TEXT));
}

fn distance_px(x: Fixed, y: Fixed) -> u64 {
    let square = |at: Fixed| i64::from(at.0).pow(2) as u64;
    fixed::square_root(square(x) + square(y)) >> 16
}
