//! Commands: everything that changes the world.
//!
//! Comes in: values from the session, or the bytes of a command frame. Goes out: the same. Never: trust. A command says
//! what somebody wants; whether it happens is decided when it is applied.

use crate::entity::PlayerId;
use crate::fixed::Angle;
pub use crate::frame::{decode_frame, encode_frame, Frame, FrameError, FRAME_COMMANDS, TEXT_BYTES};
use crate::rules::Resource;

/// What somebody wants, and who, and as which of their wishes. The tick is the one in which it is stepped.
///
/// The order of the fields is the canonical order of commands within a tick. It is total, so that the order of arrival
/// can never matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// Who wants it; 0 for the operator.
    pub player: PlayerId,
    /// Strictly increasing per issuer, from 1. A repeat is refused.
    pub sequence: u32,
    /// What is wanted.
    pub action: Action,
}

/// What can be wanted. The order of the variants is the order of their kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// A player gets a body. Operator only.
    Join {
        /// Who joins, 1 or more.
        player: PlayerId,
        /// At most [`crate::rules::NAME_CHARS`] characters without control characters; may be empty.
        name: String,
        /// Colour index. The world only keeps it.
        skin: u8,
    },
    /// A player's body goes. Operator only.
    Leave {
        /// Who leaves.
        player: PlayerId,
    },
    /// Walk in a direction until told otherwise.
    Move {
        /// Any angle; `None` stops.
        direction: Option<Angle>,
    },
    /// Look somewhere.
    Aim {
        /// Any angle.
        heading: Angle,
    },
    /// Say something to those around.
    Chat {
        /// 1 to [`crate::rules::CHAT_CHARS`] characters without control characters.
        text: String,
    },
    /// Swing the weapon in the hand, at once if it is ready, and again and again until told otherwise; or use the item in
    /// the hand once: eat it, or build it where one looks.
    Attack {
        /// Whether to go on, or to stop.
        on: bool,
    },
    /// Play again after death, by that name and in that colour.
    Respawn {
        /// As in [`Action::Join`].
        name: String,
        /// As in [`Action::Join`].
        skin: u8,
    },
    /// A player is given something. Operator only.
    Grant {
        /// Who is given it.
        player: PlayerId,
        /// What.
        resource: Resource,
        /// How much. What goes beyond the bound of a `u32` is lost.
        amount: u32,
    },
    /// Take what an age offers.
    Upgrade {
        /// A weapon's number below [`crate::rules::CHOICE_ITEMS`], or that plus an item's number.
        choice: u8,
    },
    /// Take something into the hand. An attack then swings the weapon, or uses the item once.
    Select {
        /// What. An item that is in the hand already is put away.
        what: Selection,
    },
}

/// What can be taken into the hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selection {
    /// A weapon of one's own: a number of [`crate::rules::WEAPONS`].
    Weapon(u8),
    /// An item of one's own: a number of [`crate::rules::ITEMS`].
    Item(u8),
}

/// How many kinds of action there are.
pub const KINDS: usize = 10;

impl Action {
    /// The kind's number: its place in the order, its byte in a command frame, its index in counts.
    pub fn kind(&self) -> u8 {
        match self {
            Action::Join { .. } => 0,
            Action::Leave { .. } => 1,
            Action::Move { .. } => 2,
            Action::Aim { .. } => 3,
            Action::Chat { .. } => 4,
            Action::Attack { .. } => 5,
            Action::Respawn { .. } => 6,
            Action::Grant { .. } => 7,
            Action::Upgrade { .. } => 8,
            Action::Select { .. } => 9,
        }
    }
}

/// Why a command was not carried out. A refused command leaves no trace in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The sequence is not above the last one applied for this issuer.
    Repeated,
    /// The issuer has no body in the world.
    UnknownIssuer,
    /// Only the operator may do this.
    OperatorOnly,
    /// Only a player may do this, since it needs a body.
    PlayerOnly,
    /// The number 0 is the operator's and cannot join.
    ReservedPlayer,
    /// This player has a body already.
    AlreadyJoined,
    /// This player has no body that could go.
    UnknownPlayer,
    /// The name has more than [`crate::rules::NAME_CHARS`] characters.
    NameTooLong,
    /// The name holds a control character.
    NameForbidden,
    /// There is nothing but space in the text.
    ChatEmpty,
    /// The text has more than [`crate::rules::CHAT_CHARS`] characters.
    ChatTooLong,
    /// The text holds a control character.
    ChatForbidden,
    /// The issuer is dead; it has to play again first.
    Dead,
    /// The issuer lives, so it cannot begin again.
    Alive,
    /// No age that the issuer has reached and not used offers this to it.
    NotOffered,
    /// The issuer does not have this weapon or item.
    NotOwned,
    /// The issuer has not enough of what the item costs.
    TooDear,
    /// The issuer has as many of this group standing as there may be.
    TooMany,
    /// There is no room for it before the issuer.
    NoRoom,
    /// The issuer has all the health that it can have.
    Healthy,
}

impl Refusal {
    /// The reason's name in logs, metrics and the wire's `error` packet.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Repeated => "repeated",
            Refusal::UnknownIssuer => "unknown_issuer",
            Refusal::OperatorOnly => "operator_only",
            Refusal::PlayerOnly => "player_only",
            Refusal::ReservedPlayer => "reserved_player",
            Refusal::AlreadyJoined => "already_joined",
            Refusal::UnknownPlayer => "unknown_player",
            Refusal::NameTooLong => "name_too_long",
            Refusal::NameForbidden => "name_forbidden",
            Refusal::ChatEmpty => "chat_empty",
            Refusal::ChatTooLong => "chat_too_long",
            Refusal::ChatForbidden => "chat_forbidden",
            Refusal::Dead => "dead",
            Refusal::Alive => "alive",
            Refusal::NotOffered => "not_offered",
            Refusal::NotOwned => "not_owned",
            Refusal::TooDear => "too_dear",
            Refusal::TooMany => "too_many",
            Refusal::NoRoom => "no_room",
            Refusal::Healthy => "healthy",
        }
    }
}
