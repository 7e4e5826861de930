//! The second step of an update: compare what is in view with the known set of the client.
//!
//! The known set changes only together with the message that tells the client of the change. A
//! client never receives anything about a player before the player itself, nor the end of a shot
//! without its beginning.

use super::events::{FeedEvent, ShotFired};
use super::interest::{Circle, ViewWindow};
use super::known_clans::KnownClans;
use super::objects::{KnownObjects, ObjectRef};
use super::published_state::{PlayerIdentity, PublicPlayer, PublicState};
use crate::games::moo::world::{EntityId, Fixed, PlayerId};

/// What one client knows, and where it looks from; `P` and `A` are what else its layout remembers of
/// a player and of an animal.
#[derive(Debug, Default)]
pub struct KnownSet<P, A = ()> {
    /// The client's player, if it plays; it may be dead.
    pub player: Option<PlayerId>,
    /// The player that the client wants to watch while it has no body; `None` is the leader.
    pub watched: Option<PlayerId>,
    /// The window of the last update; `None` while nothing is shown.
    pub window: Option<ViewWindow>,
    /// The client's own body, once sent.
    pub own: Option<KnownPlayer<P>>,
    /// The other players, in order.
    pub others: Vec<KnownPlayer<P>>,
    pub objects: KnownObjects,
    /// The animals of the last update, in order.
    pub animals: Vec<(EntityId, A)>,
    /// The shots that fly, and where they began.
    shots: Vec<(EntityId, Fixed, Fixed)>,
    pub clans: KnownClans,
}

/// A known player, and its state as last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownPlayer<T> {
    pub identity: PlayerIdentity,
    /// Health as last sent.
    pub health: u16,
    /// Whether the player died since the last update: if it plays again by the next one, it has a
    /// new body.
    pub died: bool,
    /// What else the layout sends only when it changes.
    pub last: T,
}

impl<T> KnownPlayer<T> {
    /// A player that is sent now; a client assumes that a newcomer has full health.
    pub fn new(seen: &PublicPlayer, last: T) -> KnownPlayer<T> {
        KnownPlayer { identity: seen.who(), health: seen.max_health, died: false, last }
    }
}

impl<P, A> KnownSet<P, A> {
    /// Brings what is known into the cache: reads of independent addresses wait for memory together,
    /// and those of a comparison one after the other. With a thousand clients, that is a twentieth
    /// of an update.
    pub fn prefetch(&self) {
        let players = self.others.iter().fold(0, |sum, known| sum ^ known.identity.joined_tick);
        let animals = self.animals.iter().fold(0, |sum, (id, _)| sum ^ id.0);
        std::hint::black_box((players, animals));
    }

    /// Whether this is the client's own player, alive or dead.
    pub fn is_own(&self, player: PlayerId) -> bool {
        self.player == Some(player)
    }

    /// The client's own player, alive or dead.
    pub fn own_player<'a>(&self, state: &'a PublicState) -> Option<&'a PublicPlayer> {
        state.players.find(&self.player?)
    }

    /// Whether a thing reaches into the window of the last update.
    pub fn sees(&self, place: Circle) -> bool {
        self.window.is_some_and(|window| window.intersects(place))
    }

    /// Whether an event concerns the client: whether it knows or sees what the event is about. Notes
    /// deaths, and shots that begin.
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
            FeedEvent::Said { .. } | FeedEvent::ShotEnded { .. } => true,
        }
    }

    /// Whether the client knows an object, and it reaches into the window.
    pub fn knows_and_sees(&self, object: &ObjectRef) -> bool {
        self.objects.knows(object) && self.sees(object.place)
    }

    fn knows(&self, player: PlayerId) -> bool {
        self.own.as_ref().is_some_and(|own| own.identity.player == player) || self.index_of(player).is_ok()
    }

    fn index_of(&self, player: PlayerId) -> Result<usize, usize> {
        self.others.binary_search_by_key(&player, |known| known.identity.player)
    }

    fn record_death(&mut self, player: PlayerId) {
        let known = match self.index_of(player) {
            Ok(place) => self.others.get_mut(place),
            Err(_) => self.own.as_mut().filter(|own| own.identity.player == player),
        };
        if let Some(known) = known {
            known.died = true;
        }
    }

    /// Adds a shot. Any earlier shot of the same number has ended, even if the end was missed.
    fn record_shot(&mut self, shot: &ShotFired) {
        self.shots.retain(|(id, ..)| *id != shot.id);
        self.shots.push((shot.id, shot.x, shot.y));
    }

    /// Removes a shot; returns where it began, if the client knew it.
    pub fn end_shot(&mut self, id: EntityId) -> Option<(Fixed, Fixed)> {
        let place = self.shots.iter().position(|(known, ..)| *known == id)?;
        let (_, x, y) = self.shots.swap_remove(place);
        Some((x, y))
    }
}
