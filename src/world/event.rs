//! What happened in a tick.

use crate::command::{Command, Refusal, KINDS};
use crate::entity::{EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};

/// Something that happened in a tick and that others may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A player has a body now.
    Joined {
        /// Who.
        player: PlayerId,
    },
    /// A player's body is gone.
    Left {
        /// Who.
        player: PlayerId,
    },
    /// A player said something.
    Chat {
        /// Who.
        player: PlayerId,
        /// What.
        text: String,
    },
    /// A player swung what it holds.
    Swung {
        /// Who.
        player: PlayerId,
        /// With what: a number of [`crate::rules::WEAPONS`].
        weapon: u8,
        /// Whether it struck anything or anyone; what follows says whom.
        hit: bool,
    },
    /// A thing was struck. It shakes.
    Struck {
        /// Which.
        object: EntityId,
        /// From who struck it to it.
        direction: Angle,
        /// Who struck it.
        player: PlayerId,
    },
    /// A player lost health.
    Hurt {
        /// Who.
        player: PlayerId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
        /// How many points it truly lost: never more than it had.
        amount: u16,
    },
    /// A player gained health.
    Healed {
        /// Who.
        player: PlayerId,
        /// How many points it truly gained.
        amount: u16,
    },
    /// A player has no health left and no body in the game until it plays again.
    Died {
        /// Who.
        player: PlayerId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
    },
    /// A player that was dead plays again.
    Spawned {
        /// Who.
        player: PlayerId,
    },
    /// Something was built.
    Placed {
        /// Which; [`crate::World::structure`] says what and where.
        object: EntityId,
    },
    /// Something that was built is gone.
    Destroyed {
        /// Which.
        object: EntityId,
    },
    /// Something was shot; [`crate::World::projectile`] says what and where, unless it has ended in the same tick.
    Shot {
        /// Which.
        projectile: EntityId,
    },
    /// What was shot is gone: it hit something, or has flown its way.
    ShotEnded {
        /// Which.
        projectile: EntityId,
        /// Where, from the left edge.
        x: Fixed,
        /// Where, from the top edge.
        y: Fixed,
    },
    /// An animal strikes.
    AnimalStruck {
        /// Which.
        animal: EntityId,
    },
    /// An animal lost health.
    AnimalHurt {
        /// Which.
        animal: EntityId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
        /// How many points it truly lost.
        amount: u16,
    },
    /// An animal has no health left and is gone.
    AnimalDied {
        /// Which.
        animal: EntityId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
    },
    /// A player asks to join a clan.
    Asked {
        /// Who.
        player: PlayerId,
        /// The clan's owner.
        owner: PlayerId,
    },
    /// A player shows its place to its clan.
    Pinged {
        /// Who.
        player: PlayerId,
    },
    /// A player has a choice to make and named something that its age does not offer. The command was refused.
    NotOffered {
        /// Who.
        player: PlayerId,
    },
    /// The operator tells everyone something.
    Said {
        /// What.
        text: String,
    },
}

/// What came of the commands of one tick. The world keeps one and reuses its room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which they happened.
    pub events: Vec<Event>,
    /// The commands that were not carried out, and why.
    pub refused: Vec<(Command, Refusal)>,
    /// How many commands of each kind were carried out, by [`crate::Action::kind`].
    pub accepted: [u32; KINDS],
}

impl Outcome {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.refused.clear();
        self.accepted = [0; KINDS];
    }
}
