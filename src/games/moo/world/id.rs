//! The numbers of players and entities.

use crate::fields::scalar;

pub use tickwire_sim::PlayerId;

/// A player's number as that of its entity.
pub trait Embodied {
    /// The entity of the player with this number.
    fn entity(self) -> EntityId;
}

impl Embodied for PlayerId {
    fn entity(self) -> EntityId {
        EntityId(self.0.into())
    }
}

/// The number of an entity. A player's entity has the player's number; objects are numbered from
/// [`EntityId::FIRST_OTHER`], animals from [`EntityId::FIRST_ANIMAL`], projectiles from
/// [`EntityId::FIRST_SHOT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

impl EntityId {
    /// The lowest number that does not belong to a player.
    pub const FIRST_NON_PLAYER: EntityId = EntityId(65_536);
    /// The lowest number of an animal; scenery and structures have lower numbers.
    pub const FIRST_ANIMAL: EntityId = EntityId(0x4000_0000);
    /// The lowest number of a projectile.
    pub const FIRST_SHOT: EntityId = EntityId(0x8000_0000);

    /// The player that this entity belongs to, if it is a player's.
    pub const fn player(self) -> Option<PlayerId> {
        if self.0 > 0 && self.0 < Self::FIRST_NON_PLAYER.0 {
            Some(PlayerId(self.0 as u16))
        } else {
            None
        }
    }
}

scalar!(EntityId, 4, |value| u64::from(value.0), |raw| Some(EntityId(raw as u32)));
