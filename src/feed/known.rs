//! The known set of one client for players and shots, in either layout.
//!
//! The known set changes only together with the message that tells the client. A client is never
//! sent anything about a player before the player itself, nor the end of a shot without its
//! beginning.

use super::events::Shot;
use super::interest::{Place, Window};
use super::state::{Seen, State, Who};
use crate::world::{EntityId, Fixed, PlayerId};

/// Where a client looks from.
#[derive(Debug, Default)]
pub struct Viewpoint {
    /// The client's player, if it plays; it may be dead.
    pub player: Option<PlayerId>,
    /// The player that the client wants to watch while it has no body; `None` is the leader.
    pub wish: Option<PlayerId>,
    /// The window of the last update; `None` while nothing is shown.
    pub window: Option<Window>,
}

impl Viewpoint {
    /// Whether this is the client's own player, alive or dead.
    pub fn is_own(&self, player: PlayerId) -> bool {
        self.player == Some(player)
    }

    /// The client's own player, alive or dead.
    pub fn own<'a>(&self, state: &'a State) -> Option<&'a Seen> {
        state.players.find(&self.player?)
    }

    /// Whether a thing reaches into the window of the last update.
    pub fn sees(&self, place: Place) -> bool {
        self.window.is_some_and(|window| window.sees(place))
    }
}

/// A known player, and its state as last sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known<T> {
    pub who: Who,
    /// Health as last sent.
    pub health: u16,
    /// Whether the player died since the last update: if it plays again by the next one, it has a
    /// new body.
    pub died: bool,
    /// What else the layout sends only when it changes.
    pub last: T,
}

impl<T> Known<T> {
    /// A player that is sent now; a client assumes that a newcomer has full health.
    pub fn new(seen: &Seen, last: T) -> Known<T> {
        Known { who: seen.who(), health: seen.max_health, died: false, last }
    }
}

/// The players that one client knows.
#[derive(Debug)]
pub struct KnownPlayers<T> {
    /// The client's own body, once sent.
    pub own: Option<Known<T>>,
    /// The others, in order.
    pub others: Vec<Known<T>>,
}

impl<T> Default for KnownPlayers<T> {
    fn default() -> KnownPlayers<T> {
        KnownPlayers { own: None, others: Vec::new() }
    }
}

impl<T> KnownPlayers<T> {
    pub fn knows(&self, player: PlayerId) -> bool {
        self.own.as_ref().is_some_and(|own| own.who.player == player) || self.place_of(player).is_ok()
    }

    /// Records for the next update that this player's body is gone.
    pub fn note_death(&mut self, player: PlayerId) {
        let known = match self.place_of(player) {
            Ok(place) => self.others.get_mut(place),
            Err(_) => self.own.as_mut().filter(|own| own.who.player == player),
        };
        if let Some(known) = known {
            known.died = true;
        }
    }

    fn place_of(&self, player: PlayerId) -> Result<usize, usize> {
        self.others.binary_search_by_key(&player, |known| known.who.player)
    }
}

/// The shots that one client knows: their numbers, and where they began.
#[derive(Debug, Default)]
pub struct KnownShots {
    flying: Vec<(EntityId, Fixed, Fixed)>,
}

impl KnownShots {
    /// Adds a shot. Any earlier shot of the same number has ended, even if the end was missed.
    pub fn begin(&mut self, shot: &Shot) {
        self.flying.retain(|(id, ..)| *id != shot.id);
        self.flying.push((shot.id, shot.x, shot.y));
    }

    /// Removes a shot; returns where it began, if the client knew it.
    pub fn end(&mut self, id: EntityId) -> Option<(Fixed, Fixed)> {
        let place = self.flying.iter().position(|(known, ..)| *known == id)?;
        let (_, x, y) = self.flying.swap_remove(place);
        Some((x, y))
    }
}
