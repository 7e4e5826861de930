//! The events of a tick.

use crate::command::{Command, Rejection, ACTION_KINDS};
use crate::entity::{EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};

/// An event that clients may be informed of.
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
    /// A player said something.
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
        /// The weapon: a number of [`crate::rules::WEAPONS`].
        weapon: u8,
        /// Whether it hit anything; the following events give the targets.
        hit: bool,
    },
    /// An object was hit and shakes.
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
        /// The health actually lost: never more than the player had.
        amount: u16,
    },
    /// A player gained health.
    Healed {
        /// The player.
        player: PlayerId,
        /// The health actually gained.
        amount: u16,
    },
    /// A player died, and has no body in the game until it respawns.
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
    /// A projectile ended: it hit something, or reached its range.
    ShotEnded {
        /// The projectile.
        projectile: EntityId,
        /// Horizontal position.
        x: Fixed,
        /// Vertical position.
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
        /// The health actually lost.
        amount: u16,
    },
    /// An animal died.
    AnimalDied {
        /// The animal.
        animal: EntityId,
        /// The player responsible, if any.
        by: Option<PlayerId>,
    },
    /// A player asks to join a clan.
    JoinRequested {
        /// The player.
        player: PlayerId,
        /// The clan's owner.
        owner: PlayerId,
    },
    /// A player showed its position to its clan.
    Pinged {
        /// The player.
        player: PlayerId,
    },
    /// A player may choose an upgrade, but chose one that its age does not offer. The command was
    /// rejected.
    NotOffered {
        /// The player.
        player: PlayerId,
    },
    /// A message from the operator to everyone.
    Announced {
        /// The text.
        text: String,
    },
}

/// The outcome of one tick's commands. The world keeps one and reuses its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickOutcome {
    /// In chronological order.
    pub events: Vec<WorldEvent>,
    /// The rejected commands, with the reasons.
    pub rejected: Vec<(Command, Rejection)>,
    /// The number of executed commands of each kind, by [`crate::Action::kind`].
    pub accepted: [u32; ACTION_KINDS],
}

impl TickOutcome {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.rejected.clear();
        self.accepted = [0; ACTION_KINDS];
    }
}
