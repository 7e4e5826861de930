//! The rules that a server keeps towards its clients, as names.
//!
//! Comes in: nothing. Goes out: a name for each. Never: how a rule is held; that is where the packets are heard.

/// The rules that a server keeps towards its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// `welcome`, or `io_init` and `init_data`, come first and once.
    Greeting,
    /// `setup`, then one's own `add_player`, then updates; `spawned`, then one's own enter, then one's own record. Once,
    /// and again after each death.
    Birth,
    /// Who lives dies once, and is told nothing of its own body until it is born again.
    Death,
    /// The tick of an update is above that of the one before.
    TickBack,
    /// Only who is not known comes into view.
    EnterKnown,
    /// Only who is known goes out of view.
    LeaveUnknown,
    /// News only of those who are known.
    UpdateUnknown,
    /// Nobody stands twice in one update.
    Twice,
    /// In an update of everyone in view, oneself is there.
    SelfMissing,
    /// Positions are on the map.
    OffMap,
    /// Nobody moves faster than anyone can.
    TooFast,
    /// One's own record and enter say the same place.
    OwnElsewhere,
    /// The sequence applied last never goes back.
    SequenceBack,
    /// Nothing is applied that was not said.
    SequenceAhead,
    /// An object is told of once.
    ObjectTwice,
    /// A leaderboard is sorted, holds nobody twice, and has a place in it for oneself.
    BoardOrder,
    /// Only the known talk.
    ChatUnknown,
    /// Pongs answer pings, in order.
    PongUnasked,
    /// Health is of somebody known, and from 0 to what they can have.
    Health,
    /// Only the known swing.
    SwingUnknown,
    /// Only known objects are struck.
    ShakeUnknown,
    /// What one has rises only by strokes of one's own that hit such an object, by theft, or by windmills; see `deeds`.
    GainUnearned,
    /// Kills are never taken back.
    KillsBack,
    /// Only known objects are destroyed.
    GoneUnknown,
    /// One has one weapon of a sort and one item of a group, and only such as there are.
    Kit,
    /// Nobody has more of a group standing than its limit.
    Limit,
    /// Nobody has what was not offered.
    Unoffered,
    /// What is offered is what the rules offer at that age to who has that.
    Offers,
    /// Who lives grows no younger.
    AgeBack,
    /// What flies begins once, and is something that there is.
    ShotTwice,
    /// Only what flies ends, and no further away than it can fly.
    ShotEnd,
    /// Only animals in view are gone or strike.
    AnimalUnknown,
    /// An animal is of a kind that there is, and has no more health than that.
    Animal,
    /// A clan is founded once, and there is only one of a name.
    ClanTwice,
    /// Players are in clans that there are, and those are owned by whom they say.
    ClanUnlisted,
    /// One is in one's own clan, and only who has one hears of mates.
    Mates,
    /// Who is in one clan does each other no harm.
    MateHarm,
    /// The server found no fault with what the client said.
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
