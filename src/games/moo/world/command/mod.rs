//! Commands: the only way to change the world.
//!
//! A command requests an action of a player or the operator. The world validates each command when
//! it applies it.

pub(super) mod action_bytes;
pub mod text;

pub use crate::command::action_bytes::{decode_frame, encode_frame, MooCommandFrame};
use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{AnimalKind, Resource};
pub use tickwire_sim::{Malformed, MAX_COMMANDS, MAX_TEXT_BYTES};

/// An action with its issuer and sequence number. Actions are ordered by their variants.
pub type Command = tickwire_sim::Command<Action>;

/// The actions of players and the operator. The variants are in ascending order of
/// [`Action::kind`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Adds a player with a body. Operator only.
    Join {
        /// ID of the new player, 1 or more.
        player: PlayerId,
        /// At most [`crate::rules::NAME_CHARS`] characters without control characters; may be
        /// empty. If it looks like another player's name, the player ID is appended.
        name: String,
        /// Colour index. It does not affect the simulation.
        skin: u8,
    },
    /// Removes a player's body. Operator only.
    Leave {
        /// The player to remove.
        player: PlayerId,
    },
    /// Walks in a direction until the next `Move`.
    Move {
        /// Any angle; `None` to stop.
        direction: Option<Angle>,
    },
    /// Sets the direction of view.
    Aim {
        /// Any angle.
        heading: Angle,
    },
    /// Sends a chat message to players nearby.
    Chat {
        /// 1 to [`crate::rules::CHAT_CHARS`] characters without control characters.
        text: String,
    },
    /// Attacks with the weapon in the hand, repeatedly and as often as the weapon allows, until
    /// stopped. With an item in the hand, uses the item once: eats it, or builds it in the
    /// direction of view.
    Attack {
        /// `true` to start, `false` to stop.
        on: bool,
    },
    /// Respawns after death, with a name and a colour.
    Respawn {
        /// As in [`Action::Join`].
        name: String,
        /// As in [`Action::Join`].
        skin: u8,
    },
    /// Gives resources to a player. Operator only.
    Grant {
        /// The player.
        player: PlayerId,
        /// The resource.
        resource: Resource,
        /// The amount. The stock saturates at `u32::MAX`.
        amount: u32,
    },
    /// Chooses an upgrade that an age offers.
    Upgrade {
        /// A weapon ID below [`crate::rules::CHOICE_ITEMS`], or `CHOICE_ITEMS` plus an item ID.
        choice: u8,
    },
    /// Takes a weapon or an item into the hand.
    Select {
        /// The weapon or item. Selecting the held item again returns to the weapon.
        what: Selection,
    },
    /// Founds a clan. The player becomes its owner.
    ClanCreate {
        /// 1 to [`crate::rules::CLAN_CHARS`] characters without control characters; must not look
        /// like another clan's name.
        name: String,
    },
    /// Leaves the clan. If the owner leaves, the clan is dissolved.
    ClanLeave,
    /// Requests to join a clan. Replaces an earlier request.
    ClanRequest {
        /// The clan's name.
        name: String,
    },
    /// Accepts or declines a request to join the clan. Clan owner only.
    ClanAnswer {
        /// The applicant; 0 selects the applicant with the lowest ID.
        player: PlayerId,
        /// Whether to accept the request.
        accept: bool,
    },
    /// Removes a member from the clan. Clan owner only.
    ClanKick {
        /// The member.
        player: PlayerId,
    },
    /// Sends the player's position to its clan.
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
    /// Sends a message to all players. Operator only.
    Announce {
        /// 1 to [`crate::rules::MAX_ANNOUNCEMENT_CHARS`] characters without control characters.
        text: String,
    },
    /// Suspends a player after its connection was lost: the body stops, and the sequence numbers of
    /// the next connection start at 1. Operator only.
    Disconnect {
        /// The player.
        player: PlayerId,
    },
}

/// An entity that the operator can spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spawned {
    /// An animal. It does not respawn after death.
    Animal(AnimalKind),
    /// A structure without an owner: an ID of [`crate::rules::ITEMS`].
    Item(u8),
}

/// A weapon or item that a player can take into its hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Selection {
    /// A weapon of the player's kit: an ID of [`crate::rules::WEAPONS`].
    Weapon(u8),
    /// An item of the player's kit: an ID of [`crate::rules::ITEMS`].
    Item(u8),
}

/// Number of action kinds.
pub const ACTION_KINDS: usize = 19;

impl Action {
    /// The number of the kind: its rank in the order of actions, its byte in a command frame, and
    /// its index in counts.
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

tickwire_sim::named_enum! {
    /// Reason for the rejection of a command. A rejected command does not change the state.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Rejection {
        /// The sequence number is not higher than the last number applied for this issuer.
        Repeated => "repeated",
        /// The issuer has no body in the world.
        UnknownIssuer => "unknown_issuer",
        /// Only the operator may perform this action.
        OperatorOnly => "operator_only",
        /// Only a player may perform this action, because it needs a body.
        PlayerOnly => "player_only",
        /// Player ID 0 is reserved for the operator.
        ReservedPlayer => "reserved_player",
        /// The player already has a body.
        AlreadyJoined => "already_joined",
        /// The player has no body.
        UnknownPlayer => "unknown_player",
        /// The name has more than [`crate::rules::NAME_CHARS`] characters.
        NameTooLong => "name_too_long",
        /// The name contains a control character.
        NameForbidden => "name_forbidden",
        /// The text contains only spaces.
        ChatEmpty => "chat_empty",
        /// The text has more than [`crate::rules::CHAT_CHARS`] characters, or more than
        /// [`crate::rules::MAX_ANNOUNCEMENT_CHARS`] in an operator message.
        ChatTooLong => "chat_too_long",
        /// The text contains a control character.
        ChatForbidden => "chat_forbidden",
        /// The issuer is dead and must respawn first.
        Dead => "dead",
        /// The issuer is alive, so it cannot respawn.
        Alive => "alive",
        /// No age that the issuer has reached and not yet used offers this upgrade.
        NotOffered => "not_offered",
        /// The issuer does not have this weapon or item.
        NotOwned => "not_owned",
        /// The issuer lacks the resources for the item.
        TooDear => "too_dear",
        /// The maximum number of structures, clans, clan members or animals is reached, or all IDs
        /// are used up.
        TooMany => "too_many",
        /// There is no free space at the position.
        NoRoom => "no_room",
        /// The issuer already has full health.
        Healthy => "healthy",
        /// The issuer is already in a clan.
        InClan => "in_clan",
        /// The issuer is not in a clan.
        NoClan => "no_clan",
        /// Only the owner of a clan may perform this action.
        ClanOwnerOnly => "clan_owner_only",
        /// No clan has this name.
        UnknownClan => "unknown_clan",
        /// Another clan has this name, or a name that looks like it.
        ClanNameTaken => "clan_name_taken",
        /// The clan name contains only spaces, has more than [`crate::rules::CLAN_CHARS`]
        /// characters, or contains a control character.
        ClanNameForbidden => "clan_name_forbidden",
        /// The player has not requested to join the clan.
        NotAsking => "not_asking",
        /// The player is not another member of the issuer's clan.
        NotMember => "not_member",
        /// No entity with this ID can be spawned.
        UnknownThing => "unknown_thing",
    }
}
