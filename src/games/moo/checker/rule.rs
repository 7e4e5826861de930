//! The names of the rules that a server must obey towards its clients. They are checked where the
//! packets are handled.

/// The rules that a server keeps towards its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckRule {
    /// `welcome`, or `io_init` and `init_data`, come first and once.
    WelcomeOrder,
    /// `setup`, then the client's own `add_player`, then updates; `spawned`, then the client's own
    /// enter, then its own record. Once, and again after each death.
    SpawnOrder,
    /// A living player dies once, and receives nothing about its own body until it respawns.
    Death,
    /// The tick of an update is above that of the one before.
    TickNotIncreased,
    /// Only unknown players come into view.
    EnteredTwice,
    /// Only known players go out of view.
    LeaveUnknown,
    /// Events concern only known players.
    UpdateUnknown,
    /// No player occurs twice in one update.
    ListedTwice,
    /// An update of all players in view includes the client's own.
    SelfMissing,
    /// Positions are on the map.
    OffMap,
    /// No player moves faster than the rules allow.
    TooFast,
    /// The client's own record and enter state the same position.
    OwnPositionDiffers,
    /// The last applied sequence never goes back.
    AckDecreased,
    /// No command is applied that was not sent.
    AckOfUnsent,
    /// An object is announced once.
    ObjectTwice,
    /// A leaderboard is sorted, lists no player twice, and ranks the client's own player.
    LeaderboardOrder,
    /// Only known players talk.
    ChatUnknown,
    /// Pongs answer pings, in order.
    PongUnsolicited,
    /// Health belongs to a known player, and is between 0 and its maximum.
    Health,
    /// Only known players swing.
    SwingUnknown,
    /// Only known objects are hit.
    HitUnknown,
    /// Resources rise only by the client's own strokes that hit such an object, by theft, or by
    /// windmills; see `deeds`.
    GainUnearned,
    /// The number of kills never falls.
    KillsDecreased,
    /// Only known objects are destroyed.
    DestroyedUnknown,
    /// A player has one weapon of a sort and one item of a group, and only existing ones.
    Inventory,
    /// No player has more objects of a group standing than its limit.
    Limit,
    /// No player has an upgrade that was not offered.
    UpgradeNotOffered,
    /// The offered upgrades are those of the rules for that age and equipment.
    UpgradeOffers,
    /// A living player's age never falls.
    AgeDecreased,
    /// A projectile is announced once, and is of a known kind.
    ShotTwice,
    /// Only known projectiles end, and no further away than they can fly.
    ShotEnd,
    /// Only animals in view disappear or attack.
    AnimalUnknown,
    /// An animal is of a known kind, and has no more health than that kind.
    Animal,
    /// A clan is founded once, and its name is unique.
    ClanTwice,
    /// Players are in existing clans, owned by the stated player.
    ClanUnlisted,
    /// The client's player is in its own clan, and only a clan member receives positions of mates.
    ClanMates,
    /// Members of one clan do each other no harm.
    ClanMateDamage,
    /// The server found no fault with the client's packets.
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
