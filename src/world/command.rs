//! Commands: everything that changes the world.
//!
//! Comes in: values from the session, or the bytes of a command frame. Goes out: the same. Never: trust. A command says
//! what somebody wants; whether it happens is decided when it is applied.

use crate::entity::PlayerId;
use crate::fixed::Angle;
pub use crate::frame::{decode_frame, encode_frame, Frame, FrameError, FRAME_COMMANDS, TEXT_BYTES};
use crate::rules::{AnimalKind, Resource};

/// What somebody wants, and who, and as which of their wishes. The tick is the one in which it is stepped.
///
/// The order of the fields is the canonical order of commands within a tick. It is total, so that the order of arrival
/// can never matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// Who wants it; 0 for the operator.
    pub player: PlayerId,
    /// Strictly increasing per issuer, from 1. A repeat is refused. Of 64 bits, so that no issuer runs out of them.
    pub sequence: u64,
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
        /// At most [`crate::rules::NAME_CHARS`] characters without control characters; may be empty. One that looks like
        /// another player's gets this player's number behind it.
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
    /// Found a clan and be its owner.
    ClanCreate {
        /// 1 to [`crate::rules::CLAN_CHARS`] characters without control characters; no other clan has one that looks like it.
        name: String,
    },
    /// Leave one's clan; it ends when its owner leaves.
    ClanLeave,
    /// Ask to join a clan, instead of any other.
    ClanRequest {
        /// Its name.
        name: String,
    },
    /// Let somebody who asks into one's clan, or not. For its owner.
    ClanAnswer {
        /// Who asks; 0 is the one of those who ask with the lowest number.
        player: PlayerId,
        /// Whether it is let in.
        accept: bool,
    },
    /// Put somebody out of one's clan. For its owner.
    ClanKick {
        /// Who.
        player: PlayerId,
    },
    /// Show one's place to the clan.
    Ping,
    /// Something appears on the map. Operator only.
    Spawn {
        /// What.
        what: Spawned,
        /// Centre from the left edge, pixels.
        x_px: u16,
        /// Centre from the top edge, pixels.
        y_px: u16,
    },
    /// Tell everyone something. Operator only.
    Say {
        /// 1 to [`crate::rules::SAY_CHARS`] characters without control characters.
        text: String,
    },
}

/// What an operator can let appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spawned {
    /// An animal. It does not come back after death.
    Animal(AnimalKind),
    /// Something that is built, whose owner is nobody: a number of [`crate::rules::ITEMS`].
    Item(u8),
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
pub const KINDS: usize = 18;

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
            Action::ClanCreate { .. } => 10,
            Action::ClanLeave => 11,
            Action::ClanRequest { .. } => 12,
            Action::ClanAnswer { .. } => 13,
            Action::ClanKick { .. } => 14,
            Action::Ping => 15,
            Action::Spawn { .. } => 16,
            Action::Say { .. } => 17,
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
    /// The text has more than [`crate::rules::CHAT_CHARS`] characters; what the operator says, more than
    /// [`crate::rules::SAY_CHARS`].
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
    /// The issuer has as many of this group standing as there may be, or there are no numbers left.
    TooMany,
    /// There is no room for it before the issuer.
    NoRoom,
    /// The issuer has all the health that it can have.
    Healthy,
    /// The issuer is in a clan already.
    InClan,
    /// The issuer is in no clan.
    NoClan,
    /// Only the owner of a clan may do this.
    ClanOwnerOnly,
    /// There is no clan of this name.
    UnknownClan,
    /// Another clan has this name, or one that looks like it.
    ClanNameTaken,
    /// The name of a clan is nothing but space, has more than [`crate::rules::CLAN_CHARS`] characters, or holds a control
    /// character.
    ClanNameForbidden,
    /// This player does not ask to join.
    NotAsking,
    /// This player is not another member of the issuer's clan.
    NotMember,
    /// Nothing of this number can appear on the map.
    UnknownThing,
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
            Refusal::InClan => "in_clan",
            Refusal::NoClan => "no_clan",
            Refusal::ClanOwnerOnly => "clan_owner_only",
            Refusal::UnknownClan => "unknown_clan",
            Refusal::ClanNameTaken => "clan_name_taken",
            Refusal::ClanNameForbidden => "clan_name_forbidden",
            Refusal::NotAsking => "not_asking",
            Refusal::NotMember => "not_member",
            Refusal::UnknownThing => "unknown_thing",
        }
    }
}
