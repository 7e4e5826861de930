//! The names of the rules that a server must obey towards its clients. They are checked where the
//! packets are handled.

/// The rules that a server keeps towards its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `welcome`, or `io_init` and `init_data`, come first and once.
    Greeting,
    /// `setup`, then the client's own `add_player`, then updates; `spawned`, then the client's own
    /// enter, then its own record. Once, and again after each death.
    Birth,
    /// A living player dies once, and receives nothing about its own body until it respawns.
    Death,
    /// The tick of an update is above that of the one before.
    TickBack,
    /// Only unknown players come into view.
    EnterKnown,
    /// Only known players go out of view.
    LeaveUnknown,
    /// Events concern only known players.
    UpdateUnknown,
    /// No player occurs twice in one update.
    Twice,
    /// An update of all players in view includes the client's own.
    SelfMissing,
    /// Positions are on the map.
    OffMap,
    /// No player moves faster than the rules allow.
    TooFast,
    /// The client's own record and enter state the same position.
    OwnElsewhere,
    /// The last applied sequence never goes back.
    SequenceBack,
    /// No command is applied that was not sent.
    SequenceAhead,
    /// An object is announced once.
    ObjectTwice,
    /// A leaderboard is sorted, lists no player twice, and ranks the client's own player.
    BoardOrder,
    /// Only known players talk.
    ChatUnknown,
    /// Pongs answer pings, in order.
    PongUnasked,
    /// Health belongs to a known player, and is between 0 and its maximum.
    Health,
    /// Only known players swing.
    SwingUnknown,
    /// Only known objects are hit.
    ShakeUnknown,
    /// Resources rise only by the client's own strokes that hit such an object, by theft, or by
    /// windmills; see `deeds`.
    GainUnearned,
    /// The number of kills never falls.
    KillsBack,
    /// Only known objects are destroyed.
    GoneUnknown,
    /// A player has one weapon of a sort and one item of a group, and only existing ones.
    Kit,
    /// No player has more objects of a group standing than its limit.
    Limit,
    /// No player has an upgrade that was not offered.
    Unoffered,
    /// The offered upgrades are those of the rules for that age and equipment.
    Offers,
    /// A living player's age never falls.
    AgeBack,
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
    Mates,
    /// Members of one clan do each other no harm.
    MateHarm,
    /// The server found no fault with the client's packets.
    ServerError,
}

impl Rule {
    /// The rule's name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Greeting => "greeting",
            Rule::Birth => "birth",
            Rule::Death => "death",
            Rule::TickBack => "tick_back",
            Rule::EnterKnown => "enter_known",
            Rule::LeaveUnknown => "leave_unknown",
            Rule::UpdateUnknown => "update_unknown",
            Rule::Twice => "twice",
            Rule::SelfMissing => "self_missing",
            Rule::OffMap => "off_map",
            Rule::TooFast => "too_fast",
            Rule::OwnElsewhere => "own_elsewhere",
            Rule::SequenceBack => "sequence_back",
            Rule::SequenceAhead => "sequence_ahead",
            Rule::ObjectTwice => "object_twice",
            Rule::BoardOrder => "board_order",
            Rule::ChatUnknown => "chat_unknown",
            Rule::PongUnasked => "pong_unasked",
            Rule::Health => "health",
            Rule::SwingUnknown => "swing_unknown",
            Rule::ShakeUnknown => "shake_unknown",
            Rule::GainUnearned => "gain_unearned",
            Rule::KillsBack => "kills_back",
            Rule::GoneUnknown => "gone_unknown",
            Rule::Kit => "kit",
            Rule::Limit => "limit",
            Rule::Unoffered => "unoffered",
            Rule::Offers => "offers",
            Rule::AgeBack => "age_back",
            Rule::ShotTwice => "shot_twice",
            Rule::ShotEnd => "shot_end",
            Rule::AnimalUnknown => "animal_unknown",
            Rule::Animal => "animal",
            Rule::ClanTwice => "clan_twice",
            Rule::ClanUnlisted => "clan_unlisted",
            Rule::Mates => "mates",
            Rule::MateHarm => "mate_harm",
            Rule::ServerError => "server_error",
        }
    }
}
