//! The rules that a server must obey towards its clients. The checks are in the modules that
//! process the packets.

/// A rule that a server must obey towards its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckRule {
    /// `welcome`, or `io_init` and `init_data`, come first and once.
    WelcomeOrder,
    /// MooMoo: `setup`, then the client's own `add_player`, then updates. Native: `spawned`, then
    /// the client's own enter, then its own record. The sequence occurs once at first and once
    /// after each death.
    SpawnOrder,
    /// A living player dies once, and receives nothing about its own body until it respawns.
    Death,
    /// The ticks of updates increase.
    TickNotIncreased,
    /// Only unknown players enter the view.
    EnteredTwice,
    /// Only known players leave the view.
    LeaveUnknown,
    /// Events refer to known players only.
    UpdateUnknown,
    /// No player occurs twice in an update.
    ListedTwice,
    /// A list of all players in view includes the client's own.
    SelfMissing,
    /// Positions are on the map.
    OffMap,
    /// No player moves faster than the rules allow.
    TooFast,
    /// The client's own record and its enter have the same position.
    OwnPositionDiffers,
    /// The sequence number of the last applied command never decreases.
    AckDecreased,
    /// No command is applied before it was sent.
    AckOfUnsent,
    /// An object is sent once.
    ObjectTwice,
    /// A leaderboard is sorted, contains no player twice, and ranks the client's own player.
    LeaderboardOrder,
    /// Only known players chat.
    ChatUnknown,
    /// Each pong matches a ping, in order.
    PongUnsolicited,
    /// Health belongs to a known player, and does not exceed its maximum.
    Health,
    /// Only known players swing.
    SwingUnknown,
    /// Only known objects are hit.
    HitUnknown,
    /// Resources rise only by the player's own hits on objects of that resource, by theft, by
    /// windmills, or by kills and hunts; see `resource_ledger`.
    GainUnearned,
    /// The number of kills never decreases.
    KillsDecreased,
    /// Only known structures are destroyed.
    DestroyedUnknown,
    /// A player has at most one weapon per slot and one item per group, and only existing ones.
    Inventory,
    /// A player has at most the limit of structures of each group.
    Limit,
    /// A player receives only upgrades that were offered.
    UpgradeNotOffered,
    /// The offered upgrades match the rules for this age and kit.
    UpgradeOffers,
    /// The age of a living player never decreases.
    AgeDecreased,
    /// A projectile is sent once, and its kind exists.
    ShotTwice,
    /// Only known projectiles end, within their range.
    ShotEnd,
    /// Only animals in view are removed or attack.
    AnimalUnknown,
    /// The kind of an animal exists, and its health does not exceed the kind's.
    Animal,
    /// A clan is founded once, and its name is unique.
    ClanTwice,
    /// Players belong to existing clans, with the stated owner.
    ClanUnlisted,
    /// The client's player is a member of its own clan, and only members receive positions of
    /// mates.
    ClanMates,
    /// Members of a clan do not kill each other.
    ClanMateDamage,
    /// The server reports no error about the client's packets.
    ServerError,
}

impl CheckRule {
    /// The rule's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CheckRule::WelcomeOrder => "greeting",
            CheckRule::SpawnOrder => "birth",
            CheckRule::Death => "death",
            CheckRule::TickNotIncreased => "tick_back",
            CheckRule::EnteredTwice => "enter_known",
            CheckRule::LeaveUnknown => "leave_unknown",
            CheckRule::UpdateUnknown => "update_unknown",
            CheckRule::ListedTwice => "twice",
            CheckRule::SelfMissing => "self_missing",
            CheckRule::OffMap => "off_map",
            CheckRule::TooFast => "too_fast",
            CheckRule::OwnPositionDiffers => "own_elsewhere",
            CheckRule::AckDecreased => "sequence_back",
            CheckRule::AckOfUnsent => "sequence_ahead",
            CheckRule::ObjectTwice => "object_twice",
            CheckRule::LeaderboardOrder => "board_order",
            CheckRule::ChatUnknown => "chat_unknown",
            CheckRule::PongUnsolicited => "pong_unasked",
            CheckRule::Health => "health",
            CheckRule::SwingUnknown => "swing_unknown",
            CheckRule::HitUnknown => "shake_unknown",
            CheckRule::GainUnearned => "gain_unearned",
            CheckRule::KillsDecreased => "kills_back",
            CheckRule::DestroyedUnknown => "gone_unknown",
            CheckRule::Inventory => "kit",
            CheckRule::Limit => "limit",
            CheckRule::UpgradeNotOffered => "unoffered",
            CheckRule::UpgradeOffers => "offers",
            CheckRule::AgeDecreased => "age_back",
            CheckRule::ShotTwice => "shot_twice",
            CheckRule::ShotEnd => "shot_end",
            CheckRule::AnimalUnknown => "animal_unknown",
            CheckRule::Animal => "animal",
            CheckRule::ClanTwice => "clan_twice",
            CheckRule::ClanUnlisted => "clan_unlisted",
            CheckRule::ClanMates => "mates",
            CheckRule::ClanMateDamage => "mate_harm",
            CheckRule::ServerError => "server_error",
        }
    }
}
