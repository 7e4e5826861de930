//! The events of a tick.

use crate::command::{Command, Rejection, ACTION_KINDS};
use crate::entity::{EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};

/// An event of one tick, which may be sent to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldEvent {
    /// A player joined and has a body.
    Joined {
        /// The player.
        player: PlayerId,
    },
    /// A player's body was removed.
    Left {
        /// The player.
        player: PlayerId,
    },
    /// A player sent a chat message.
    Chat {
        /// The player.
        player: PlayerId,
        /// The text.
        text: String,
    },
    /// A player swung its weapon.
    Swung {
        /// The player.
        player: PlayerId,
        /// The weapon: an ID of [`crate::rules::WEAPONS`].
        weapon: u8,
        /// Whether the swing hit anything. Events for the targets follow.
        hit: bool,
    },
    /// A scenery object or structure was hit. Clients draw it shaking.
    Struck {
        /// The object.
        object: EntityId,
        /// The direction from the attacker to the object.
        direction: Angle,
        /// The attacker.
        player: PlayerId,
    },
    /// A player lost health.
    Hurt {
        /// The player.
        player: PlayerId,
        /// The player responsible, if any.
        by: Option<PlayerId>,
        /// Health actually lost: at most the health that the player had.
        amount: u16,
    },
    /// A player gained health.
    Healed {
        /// The player.
        player: PlayerId,
        /// Health actually gained.
        amount: u16,
    },
    /// A player died. It is no longer part of the game until it respawns.
    Died {
        /// The player.
        player: PlayerId,
        /// The player responsible, if any.
        by: Option<PlayerId>,
    },
    /// A dead player respawned.
    Spawned {
        /// The player.
        player: PlayerId,
    },
    /// A structure was built.
    Placed {
        /// The structure; [`crate::World::structure`] returns its item and position.
        object: EntityId,
    },
    /// A structure was removed.
    Destroyed {
        /// The structure.
        object: EntityId,
    },
    /// A projectile was fired; [`crate::World::projectile`] returns its kind and position, unless
    /// it ended in the same tick.
    Shot {
        /// The projectile.
        projectile: EntityId,
    },
    /// A projectile ended: it hit something, left the map, or reached its range.
    ShotEnded {
        /// The projectile.
        projectile: EntityId,
        /// x coordinate, in pixels from the left edge.
        x: Fixed,
        /// y coordinate, in pixels from the top edge.
        y: Fixed,
    },
    /// An animal attacked.
    AnimalStruck {
        /// The animal.
        animal: EntityId,
    },
    /// An animal lost health.
    AnimalHurt {
        /// The animal.
        animal: EntityId,
        /// The player responsible, if any.
        by: Option<PlayerId>,
        /// Health actually lost.
        amount: u16,
    },
    /// An animal died.
    AnimalDied {
        /// The animal.
        animal: EntityId,
        /// The player responsible, if any.
        by: Option<PlayerId>,
    },
    /// A player requested to join a clan.
    JoinRequested {
        /// The player.
        player: PlayerId,
        /// The clan's owner.
        owner: PlayerId,
    },
    /// A player sent its position to its clan.
    Pinged {
        /// The player.
        player: PlayerId,
    },
    /// A command was rejected because the chosen upgrade is not offered, although the player has
    /// upgrades to choose.
    NotOffered {
        /// The player.
        player: PlayerId,
    },
    /// The operator sent a message to all players.
    Announced {
        /// The text.
        text: String,
    },
}

/// The outcome of one tick. The world reuses its memory for the next tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickOutcome {
    /// Events in chronological order.
    pub events: Vec<WorldEvent>,
    /// Rejected commands and the reasons.
    pub rejected: Vec<(Command, Rejection)>,
    /// Number of executed commands of each kind, by [`crate::Action::kind`].
    pub accepted: [u32; ACTION_KINDS],
}

impl TickOutcome {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.rejected.clear();
        self.accepted = [0; ACTION_KINDS];
    }
}
