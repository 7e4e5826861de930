//! The second step of an update: compare the entities in view with the client's known set.
//!
//! The known set changes only together with the message that reports the change. A client never
//! receives data of a player before the player itself, nor the end of a projectile without its
//! start.

use std::hint::black_box;

use super::events::{FeedEvent, ShotFired};
use super::interest::{Circle, ViewWindow};
use super::known_clans::KnownClans;
use super::objects::ObjectRef;
use super::published_state::{PlayerIdentity, PublicPlayer, PublicState};
use crate::games::moo::world::{ClanId, EntityId, Fixed, PlayerId};
use crate::limits;

/// The known set of one client, and its point of view. `P` and `A` are additional data of the
/// layout per player and per animal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownSet<P, A = ()> {
    /// The client's player, alive or dead; `None` for a spectator.
    pub player: Option<PlayerId>,
    /// The window of the last update; `None` if that update showed no world.
    pub window: Option<ViewWindow>,
    /// The client's own body, once it was sent.
    pub own: Option<KnownPlayer<P>>,
    /// The other known players that were in view in the last update, in ascending order of ID.
    pub players: Vec<KnownPlayer<P>>,
    /// The other known players that were not, in ascending order of ID. Only MooMoo clients keep
    /// them.
    pub out_of_view: Vec<KnownPlayer<P>>,
    /// The newest structure in the world as of the last update. IDs of structures ascend.
    pub newest_structure: Option<EntityId>,
    /// The animals of the last update, in ascending order of ID.
    pub animals: Vec<(EntityId, A)>,
    /// Projectiles in flight, with their start positions.
    shots: Vec<(EntityId, Fixed, Fixed)>,
    pub clans: KnownClans,
}

/// A known player, with its state as last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPlayer<T> {
    pub identity: PlayerIdentity,
    /// Health points as last sent.
    pub health: u16,
    /// Whether the player died since the last update. If it is alive in the next update, it has a
    /// new body.
    pub died: bool,
    /// Additional values that the layout sends only when they change.
    pub last: T,
}

impl<T> KnownPlayer<T> {
    /// A player that is sent now. Clients assume full health for a player that enters the view.
    pub fn new(player: &PublicPlayer, last: T) -> KnownPlayer<T> {
        KnownPlayer { identity: player.identity(), health: player.max_health, died: false, last }
    }
}

impl<P, A> KnownSet<P, A> {
    /// Loads the fields into the CPU cache.
    pub fn prefetch_fields(&self) {
        black_box((self.player, self.window, self.own.as_ref().map(|own| own.health)));
        black_box((self.players.as_ptr(), self.animals.as_ptr(), self.clans.is_in(ClanId(0))));
    }

    /// Loads the known players and animals into the CPU cache. Reads of independent addresses wait
    /// for memory at the same time, but the reads of a comparison wait one after another.
    pub fn prefetch_lists(&self) {
        let players = self.players.iter().fold(0, |sum, known| sum ^ known.identity.joined_tick);
        let animals = self.animals.iter().fold(0, |sum, (id, _)| sum ^ id.0);
        black_box((players, animals));
    }

    /// Stores the players after an update. Copies them, because a list that another view has filled
    /// may have several times the memory. Allocates if the list is too small, or has more than
    /// [`limits::KNOWN_PLAYERS_SPARE`] unused places.
    pub fn set_players(&mut self, players: &[KnownPlayer<P>])
    where
        P: Copy,
    {
        let spare = limits::KNOWN_PLAYERS_SPARE;
        if !(players.len()..=players.len() + spare).contains(&self.players.capacity()) {
            self.players = Vec::with_capacity(players.len() + spare / 2);
        }
        self.players.clear();
        self.players.extend_from_slice(players);
    }

    /// Whether this is the client's own player, alive or dead.
    pub fn is_own(&self, player: PlayerId) -> bool {
        self.player == Some(player)
    }

    /// The client's own player, alive or dead.
    pub fn own_player<'a>(&self, state: &'a PublicState) -> Option<&'a PublicPlayer> {
        state.player(self.player?)
    }

    /// Stores the window of an update to this state.
    pub fn set_window(&mut self, window: ViewWindow, state: &PublicState) {
        self.window = Some(window);
        self.newest_structure = state.structures.index.last().map(|structure| structure.id);
    }

    /// Whether a circle reaches into the window of the last update.
    pub fn sees(&self, place: Circle) -> bool {
        self.window.is_some_and(|window| window.intersects(place))
    }

    /// Whether an event must be sent to the client, because the client knows or sees the entity of
    /// the event. Records deaths and started projectiles.
    pub fn check_relevance(&mut self, event: &FeedEvent) -> bool {
        match event {
            FeedEvent::Chat { player, .. } | FeedEvent::Swing { player, .. } => self.knows(*player),
            FeedEvent::ObjectHit { object, .. } => self.knows_and_sees(object),
            FeedEvent::AnimalStruck { animal } => {
                let is_known = self.animals.binary_search_by_key(animal, |(id, _)| *id).is_ok();
                is_known && self.window.is_some()
            }
            FeedEvent::Hurt { by: player, .. }
            | FeedEvent::Healed { player, .. }
            | FeedEvent::NotOffered { player } => self.is_own(*player),
            FeedEvent::Died { player, .. } => {
                self.record_death(*player);
                true
            }
            FeedEvent::Shot(shot) => {
                let crosses = self.window.is_some_and(|window| shot.crosses(window));
                if crosses {
                    self.record_shot(shot);
                }
                crosses
            }
            FeedEvent::Announced { .. } | FeedEvent::ShotEnded { .. } => true,
        }
    }

    /// Whether the client knows an object that reaches into the window of the last update. It knows
    /// all that existed then, because that update has sent the rest.
    pub fn knows_and_sees(&self, object: &ObjectRef) -> bool {
        let existed = object.is_natural || Some(object.id) <= self.newest_structure;
        existed && self.sees(object.place)
    }

    fn knows(&self, player: PlayerId) -> bool {
        self.own.as_ref().is_some_and(|own| own.identity.player == player)
            || index_of(&self.players, player).is_some()
            || index_of(&self.out_of_view, player).is_some()
    }

    fn record_death(&mut self, player: PlayerId) {
        let known = match (index_of(&self.players, player), index_of(&self.out_of_view, player)) {
            (Some(index), _) => Some(&mut self.players[index]),
            (None, Some(index)) => Some(&mut self.out_of_view[index]),
            (None, None) => self.own.as_mut().filter(|own| own.identity.player == player),
        };
        if let Some(known) = known {
            known.died = true;
        }
    }

    /// Adds a projectile. An older projectile with the same ID has ended, even if its end was
    /// missed.
    fn record_shot(&mut self, shot: &ShotFired) {
        self.shots.retain(|(id, ..)| *id != shot.id);
        self.shots.push((shot.id, shot.x, shot.y));
    }

    /// Removes a projectile. Returns its start position; `None` if the client did not know it.
    pub fn end_shot(&mut self, id: EntityId) -> Option<(Fixed, Fixed)> {
        let place = self.shots.iter().position(|(known, ..)| *known == id)?;
        let (_, x, y) = self.shots.remove(place);
        Some((x, y))
    }
}

fn index_of<P>(sorted: &[KnownPlayer<P>], player: PlayerId) -> Option<usize> {
    sorted.binary_search_by_key(&player, |known| known.identity.player).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_known_players_shrinks_after_a_crowd_and_is_not_allocated_for_a_few_changes() {
        let identity = PlayerIdentity { player: PlayerId(1), joined_tick: 0 };
        let players = [KnownPlayer { identity, health: 100, died: false, last: () }; 200];
        let mut known = KnownSet::<()>::default();
        let spare = limits::KNOWN_PLAYERS_SPARE;
        known.set_players(&players);
        assert_eq!(known.players.capacity(), 200 + spare / 2);
        known.set_players(&players[..27]);
        assert_eq!((known.players.len(), known.players.capacity()), (27, 27 + spare / 2));
        let allocated = known.players.as_ptr();
        for count in [27 - spare / 2, 27, 27 + spare / 2, 27 - spare / 2] {
            known.set_players(&players[..count]);
            assert_eq!((known.players.len(), known.players.as_ptr()), (count, allocated));
        }
    }
}
