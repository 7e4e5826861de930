//! Clans: the list of all clans, and the clan that a player shows.

use std::sync::Arc;

use crate::world::clan::Clan;
use crate::world::{ClanId, PlayerId, World};

/// The clan that a player shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    pub id: ClanId,
    pub name: Arc<str>,
    /// Whether the player owns it.
    pub is_owner: bool,
}

/// All clans, as of the last change.
#[derive(Debug, Default)]
pub struct Clans {
    /// Counts the changes.
    pub version: u32,
    /// In the order of their numbers.
    pub list: Vec<Clan>,
}

impl Clans {
    /// The present clans; `None` if nothing has changed.
    pub fn changed(&self, world: &World) -> Option<Clans> {
        (self.list != world.clans())
            .then(|| Clans { version: self.version.wrapping_add(1), list: world.clans().to_vec() })
    }

    /// The tag of a player in this clan.
    pub fn tag(&self, clan: ClanId, player: PlayerId) -> Option<Tag> {
        let place = self.list.binary_search_by_key(&clan, |clan| clan.id).ok()?;
        let Clan { id, name, owner } = &self.list[place];
        Some(Tag { id: *id, name: Arc::clone(name), is_owner: *owner == player })
    }
}
