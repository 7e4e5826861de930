//! IDs of players and entities.

use crate::fields::scalar;

pub use tickwire_sim::PlayerId;

/// Converts a player ID to an entity ID.
pub trait Embodied {
    /// The ID of the player's entity.
    fn entity(self) -> EntityId;
}

impl Embodied for PlayerId {
    fn entity(self) -> EntityId {
        EntityId(self.0.into())
    }
}

/// ID of an entity. A player's entity has the player's ID. The IDs of scenery and structures start
/// at [`EntityId::FIRST_NON_PLAYER`], of animals at [`EntityId::FIRST_ANIMAL`], of projectiles at
/// [`EntityId::FIRST_SHOT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

impl EntityId {
    /// The lowest ID that does not belong to a player.
    pub const FIRST_NON_PLAYER: EntityId = EntityId(65_536);
    /// The lowest ID of an animal. Scenery and structures have lower IDs.
    pub const FIRST_ANIMAL: EntityId = EntityId(0x4000_0000);
    /// The lowest ID of a projectile.
    pub const FIRST_SHOT: EntityId = EntityId(0x8000_0000);

    /// The player of this entity; `None` if the entity is not a player.
    pub const fn player(self) -> Option<PlayerId> {
        if self.0 > 0 && self.0 < Self::FIRST_NON_PLAYER.0 {
            Some(PlayerId(self.0 as u16))
        } else {
            None
        }
    }
}

scalar!(EntityId, 4, |value| u64::from(value.0), |raw| Some(EntityId(raw as u32)));
