//! Commands: the only way to change the world.
//!
//! A command says what a player wants. The world validates it when it is applied.

pub(super) mod action_bytes;
pub(super) mod similar_names;
pub mod text;

pub use crate::command::action_bytes::{decode_frame, encode_frame, MooCommandFrame};
use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{AnimalKind, Resource};
pub use tickwire_sim::{Malformed, MAX_COMMANDS, MAX_TEXT_BYTES};

/// An action, its issuer and its sequence. The order of actions is that of the variants of
/// [`Action`].
pub type Command = tickwire_sim::Command<Action>;

/// The actions. The order of the variants is the order of their kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Adds a player with a body. Operator only.
    Join {
        /// The new player's number, 1 or more.
        player: PlayerId,
        /// At most [`crate::rules::NAME_CHARS`] characters without control characters; may be
        /// empty. If it looks like another player's name, this player's number is appended.
        name: String,
        /// Colour index, which has no effect in the world.
        skin: u8,
    },
    /// Removes a player's body. Operator only.
    Leave {
        /// The player to remove.
        player: PlayerId,
    },
    /// Walks in a direction until the next `Move`.
    Move {
        /// Any angle; `None` stops.
        direction: Option<Angle>,
    },
    /// Looks in a direction.
    Aim {
        /// Any angle.
        heading: Angle,
    },
    /// Says something to players nearby.
    Chat {
        /// 1 to [`crate::rules::CHAT_CHARS`] characters without control characters.
        text: String,
    },
    /// Attacks with the weapon in the hand, as soon as it is ready and repeatedly until stopped; or
    /// uses the item in the hand once: eats it, or builds it in the direction of view.
    Attack {
        /// Whether to start or to stop.
        on: bool,
    },
    /// Respawns after death, with that name and colour.
    Respawn {
        /// As in [`Action::Join`].
        name: String,
        /// As in [`Action::Join`].
        skin: u8,
    },
    /// Gives a player a resource. Operator only.
    Grant {
        /// The player.
        player: PlayerId,
        /// The resource.
        resource: Resource,
        /// The amount. Resources saturate at the maximum of a `u32`.
        amount: u32,
    },
    /// Chooses an upgrade that an age offers.
    Upgrade {
        /// A weapon's number below [`crate::rules::CHOICE_ITEMS`], or that plus an item's number.
        choice: u8,
    },
    /// Takes something into the hand. An attack then swings the weapon, or uses the item once.
    Select {
        /// The weapon or item. Selecting the held item puts it away.
        what: Selection,
    },
    /// Founds a clan and becomes its owner.
    ClanCreate {
        /// 1 to [`crate::rules::CLAN_CHARS`] characters without control characters; must not look
        /// like another clan's name.
        name: String,
    },
    /// Leaves the clan, which is dissolved if its owner leaves.
    ClanLeave,
    /// Asks to join a clan; replaces an earlier request.
    ClanRequest {
        /// The clan's name.
        name: String,
    },
    /// Answers a request to join the clan. Owner only.
    ClanAnswer {
        /// The applicant; 0 means the applicant with the lowest number.
        player: PlayerId,
        /// Whether to accept the request.
        accept: bool,
    },
    /// Removes a member from the clan. Owner only.
    ClanKick {
        /// The member.
        player: PlayerId,
    },
    /// Shows the player's position to its clan.
    Ping,
    /// Spawns an animal or a structure. Operator only.
    Spawn {
        /// The animal or structure.
        what: Spawned,
        /// x coordinate of the centre, in pixels.
        x_px: u16,
        /// y coordinate of the centre, in pixels.
        y_px: u16,
    },
    /// Sends a message to everyone. Operator only.
    Announce {
        /// 1 to [`crate::rules::SAY_CHARS`] characters without control characters.
        text: String,
    },
    /// The player's connection is gone, and its seat waits for another: the body stops, and sequences
    /// begin anew. Operator only.
    Disconnect {
        /// The player.
        player: PlayerId,
    },
}

/// What the operator can spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spawned {
    /// An animal. It does not respawn after death.
    Animal(AnimalKind),
    /// A structure without an owner: a number of [`crate::rules::ITEMS`].
    Item(u8),
}

/// What a player can take into its hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selection {
    /// A weapon that the player has: a number of [`crate::rules::WEAPONS`].
    Weapon(u8),
    /// An item that the player has: a number of [`crate::rules::ITEMS`].
    Item(u8),
}

/// The number of kinds of actions.
pub const ACTION_KINDS: usize = 19;

impl Action {
    /// The kind's number: its position in the order, its byte in a command frame, its index in
    /// counts.
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
            Action::Announce { .. } => 17,
            Action::Disconnect { .. } => 18,
        }
    }
}

/// Why a command was rejected. A rejected command leaves no trace in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rejection {
    /// The sequence is not higher than that of the last command applied for this issuer.
    Repeated,
    /// The issuer has no body in the world.
    UnknownIssuer,
    /// Only the operator may do this.
    OperatorOnly,
    /// Only a player may do this, because it needs a body.
    PlayerOnly,
    /// The number 0 is reserved for the operator and cannot join.
    ReservedPlayer,
    /// This player already has a body.
    AlreadyJoined,
    /// This player has no body to remove.
    UnknownPlayer,
    /// The name has more than [`crate::rules::NAME_CHARS`] characters.
    NameTooLong,
    /// The name contains a control character.
    NameForbidden,
    /// The text contains only spaces.
    ChatEmpty,
    /// The text has more than [`crate::rules::CHAT_CHARS`] characters; an operator message, more
    /// than [`crate::rules::SAY_CHARS`].
    ChatTooLong,
    /// The text contains a control character.
    ChatForbidden,
    /// The issuer is dead and must respawn first.
    Dead,
    /// The issuer is alive, so it cannot respawn.
    Alive,
    /// No age that the issuer has reached and not used offers this upgrade.
    NotOffered,
    /// The issuer does not have this weapon or item.
    NotOwned,
    /// The issuer cannot pay for the item.
    TooDear,
    /// The issuer has the maximum number of structures of this group, or all numbers are used up.
    TooMany,
    /// There is no space in front of the issuer.
    NoRoom,
    /// The issuer already has full health.
    Healthy,
    /// The issuer is already in a clan.
    InClan,
    /// The issuer is not in a clan.
    NoClan,
    /// Only the owner of a clan may do this.
    ClanOwnerOnly,
    /// There is no clan with this name.
    UnknownClan,
    /// Another clan has this name, or a name that looks like it.
    ClanNameTaken,
    /// The clan name contains only spaces, has more than [`crate::rules::CLAN_CHARS`] characters,
    /// or contains a control character.
    ClanNameForbidden,
    /// This player does not ask to join.
    NotAsking,
    /// This player is not another member of the issuer's clan.
    NotMember,
    /// There is nothing with this number that can be spawned.
    UnknownThing,
}

impl Rejection {
    /// The reason's name in logs, metrics and the wire's `command_rejected` packet.
    pub fn name(self) -> &'static str {
        match self {
            Rejection::Repeated => "repeated",
            Rejection::UnknownIssuer => "unknown_issuer",
            Rejection::OperatorOnly => "operator_only",
            Rejection::PlayerOnly => "player_only",
            Rejection::ReservedPlayer => "reserved_player",
            Rejection::AlreadyJoined => "already_joined",
            Rejection::UnknownPlayer => "unknown_player",
            Rejection::NameTooLong => "name_too_long",
            Rejection::NameForbidden => "name_forbidden",
            Rejection::ChatEmpty => "chat_empty",
            Rejection::ChatTooLong => "chat_too_long",
            Rejection::ChatForbidden => "chat_forbidden",
            Rejection::Dead => "dead",
            Rejection::Alive => "alive",
            Rejection::NotOffered => "not_offered",
            Rejection::NotOwned => "not_owned",
            Rejection::TooDear => "too_dear",
            Rejection::TooMany => "too_many",
            Rejection::NoRoom => "no_room",
            Rejection::Healthy => "healthy",
            Rejection::InClan => "in_clan",
            Rejection::NoClan => "no_clan",
            Rejection::ClanOwnerOnly => "clan_owner_only",
            Rejection::UnknownClan => "unknown_clan",
            Rejection::ClanNameTaken => "clan_name_taken",
            Rejection::ClanNameForbidden => "clan_name_forbidden",
            Rejection::NotAsking => "not_asking",
            Rejection::NotMember => "not_member",
            Rejection::UnknownThing => "unknown_thing",
        }
    }
}
