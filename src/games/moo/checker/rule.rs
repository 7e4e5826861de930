//! The rules that a server must obey towards its clients. The checks are in the modules that
//! process the packets.

tickwire_sim::named_enum! {
    /// A rule that a server must obey towards its clients.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CheckRule {
        /// In the native dialect, the first packet is `welcome`. In the MooMoo dialects, the first
        /// packets are `io_init` and `init_data`. These packets are not sent again.
        WelcomeOrder => "welcome_order",
        /// At the first spawn and after each death, the order in the MooMoo dialects is `setup`,
        /// the client's own `add_player`, then updates. In the native dialect it is `spawned`, the
        /// client's own enter, then its own record.
        SpawnOrder => "spawn_order",
        /// A living player dies once, and receives nothing about its own body until it respawns.
        Death => "death",
        /// The ticks of updates increase.
        TickNotIncreased => "tick_not_increased",
        /// Only unknown players enter the view.
        EnteredTwice => "entered_twice",
        /// Only known players leave the view.
        LeaveUnknown => "leave_unknown",
        /// Updates change known players only.
        UpdateUnknown => "update_unknown",
        /// No player occurs twice in an update.
        ListedTwice => "listed_twice",
        /// A list of all players in view includes the client's own.
        SelfMissing => "self_missing",
        /// Positions are on the map.
        OffMap => "off_map",
        /// No player moves faster than the rules allow.
        TooFast => "too_fast",
        /// The client's own record and its entry in `enters` have the same position.
        OwnPositionDiffers => "own_position_differs",
        /// The sequence number of the last applied command never decreases.
        AckDecreased => "ack_decreased",
        /// No command is applied before it was sent.
        AckOfUnsent => "ack_of_unsent",
        /// An object is sent once.
        ObjectTwice => "object_twice",
        /// A leaderboard is sorted, contains no player twice, and ranks the client's own player.
        LeaderboardOrder => "leaderboard_order",
        /// Only known players chat.
        ChatUnknown => "chat_unknown",
        /// Each pong matches a ping, in order.
        PongUnsolicited => "pong_unsolicited",
        /// Health belongs to a known player, and does not exceed its maximum.
        Health => "health",
        /// Only known players swing.
        SwingUnknown => "swing_unknown",
        /// Only known objects are hit.
        HitUnknown => "hit_unknown",
        /// Resources rise only by the player's own hits on objects that yield them, by theft, by
        /// windmills, or by kills and hunts; see `resource_ledger`.
        GainUnearned => "gain_unearned",
        /// The number of kills never decreases.
        KillsDecreased => "kills_decreased",
        /// Only known structures are destroyed.
        DestroyedUnknown => "destroyed_unknown",
        /// A player has at most one weapon per slot and one item per group, and each of them
        /// exists.
        Inventory => "inventory",
        /// The structures of a player do not exceed the limit of their group.
        Limit => "limit",
        /// A player receives only upgrades that were offered.
        UpgradeNotOffered => "upgrade_not_offered",
        /// The offered upgrades match the rules for this age and inventory.
        UpgradeOffers => "upgrade_offers",
        /// The age of a living player never decreases.
        AgeDecreased => "age_decreased",
        /// A projectile is sent once, and its kind exists.
        ShotTwice => "shot_twice",
        /// Only known projectiles end, and only within their range.
        ShotEnd => "shot_end",
        /// Only animals in view are removed or attack.
        AnimalUnknown => "animal_unknown",
        /// The kind of an animal exists, and its health does not exceed the kind's.
        Animal => "animal",
        /// A clan is founded once, and its name is unique.
        ClanTwice => "clan_twice",
        /// Players belong to existing clans, with the stated owner.
        ClanUnlisted => "clan_unlisted",
        /// The client's player is a member of its own clan, and only members receive positions of
        /// mates.
        ClanMates => "clan_mates",
        /// Members of a clan do not kill each other.
        ClanMateDamage => "clan_mate_damage",
        /// The server reports no error about the client's packets.
        ServerError => "server_error",
    }
}
