//! The events of a tick for a native client: swings, hits and projectiles in lists, deaths one by
//! one.

use super::update::{PendingLists, SentState};
use crate::game::MessageWriter;
use crate::games::moo::feed::events::{Events, FeedEvent, MapPing, NamedPlayer, shot_number};
use crate::games::moo::feed::pose::{half_px, turn8};
use crate::games::moo::feed::published_state::{PublicState, animal_number};

impl SentState {
    /// Writes the events of a tick that affect entities in the client's known set and view. `state`
    /// is the state of the same tick or a newer state.
    pub fn events(
        &mut self,
        events: &Events,
        state: &PublicState,
        lists: &mut PendingLists,
        out: &mut MessageWriter<'_>,
    ) {
        for event in &events.list {
            if self.known.check_relevance(event) {
                self.event(event, lists, out);
            }
        }
        if events.tick == state.tick {
            self.meet(state, out);
        }
        out.send_list("swings", &mut lists.swings);
        out.send_list("object_hits", &mut lists.object_hits);
        out.send_list("animal_attacks", &mut lists.animal_attacks);
        out.send_list("shot_ends", &mut lists.shot_ends);
        out.send_list("shots", &mut lists.shots);
        events.pings.iter().for_each(|ping| self.ping(ping, state, out));
    }

    /// Sends a death that the client may have missed before it resumed.
    fn meet(&mut self, state: &PublicState, out: &mut MessageWriter<'_>) {
        let Some(own) = self.known.own_player(state).filter(|own| self.first_player != Some(own.player))
        else {
            return;
        };
        if !own.alive {
            out.send("died", Option::<&NamedPlayer>::None);
        }
        self.first_player = Some(own.player);
    }

    fn event(&mut self, event: &FeedEvent, lists: &mut PendingLists, out: &mut MessageWriter<'_>) {
        match event {
            FeedEvent::Chat { player, text } => out.send("chat", (*player, &**text)),
            FeedEvent::Swing { player, weapon, hit, .. } => lists.swings.push((*player, *weapon, *hit)),
            FeedEvent::ObjectHit { object, direction } => {
                lists.object_hits.push((object.id, turn8(*direction)))
            }
            FeedEvent::AnimalStruck { animal } => lists.animal_attacks.push(animal_number(*animal)),
            FeedEvent::Announced { text } => out.send("notice", &**text),
            FeedEvent::Died { player, victim, killer } => {
                let killer = killer.as_ref();
                if self.known.is_own(*player) {
                    self.first_player = Some(*player);
                    out.send("died", killer);
                }
                if let Some(victim) = victim {
                    out.send("kill", (killer, victim));
                }
            }
            FeedEvent::Shot(shot) => {
                let at = [shot.x, shot.y].map(half_px);
                let (number, path) = (shot_number(shot.id), (shot.heading, shot.range_px));
                lists.shots.push((number, shot.kind, shot.by, at, path));
            }
            FeedEvent::ShotEnded { shot, x, y } => {
                if self.known.end_shot(*shot).is_some() {
                    lists.shot_ends.push((shot_number(*shot), [*x, *y].map(half_px)));
                }
            }
            // A native client receives these in the state.
            FeedEvent::Hurt { .. } | FeedEvent::Healed { .. } | FeedEvent::NotOffered { .. } => {}
        }
    }

    /// Writes a ping of the client's own player, or of another clan member that the client knows.
    fn ping(&self, ping: &MapPing, state: &PublicState, out: &mut MessageWriter<'_>) {
        let Some(own) = self.known.own_player(state) else { return };
        let is_mate = |clan| own.clan() == Some(clan) && self.is_known_mate(clan, ping.player);
        if ping.clan.is_some_and(is_mate) {
            out.send("map_ping", (ping.player, [ping.at.x_px, ping.at.y_px]));
        }
    }
}
