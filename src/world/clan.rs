//! Clans: players who do each other no harm.
//!
//! Comes in: what players and owners want. Goes out: who belongs together. Never: a clan without an owner in it.

use std::sync::Arc;

use crate::entity::PlayerId;
use crate::fields::fields;
use crate::state::World;

/// The number of a clan. It is never given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClanId(pub u32);

/// A clan. Who is in it stands with the players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clan {
    /// Which.
    pub id: ClanId,
    /// Its name; no other clan has it.
    pub name: Arc<str>,
    /// Whose it is; a member.
    pub owner: PlayerId,
}

fields!(Clan: id: ClanId, name: Arc<str>, owner: PlayerId);

impl World {
    /// Whether two players are in one clan.
    pub fn are_mates(&self, a: PlayerId, b: PlayerId) -> bool {
        let clan = |id: PlayerId| self.player(id).and_then(|player| player.clan);
        clan(a).map_or(false, |shared| clan(b) == Some(shared))
    }
}
