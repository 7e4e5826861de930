//! Typed server packets: one enum for all dialects.
//!
//! A decoded packet is converted to a [`ServerPacket`]. Radians and 256ths of a turn become binary
//! angles (65,536 per turn), and positions become pixels. Arguments are found by name in the table,
//! never by position. [`WorldModel`](super::world_model::WorldModel) applies the packets. `parts`
//! defines their components; `decode` and `animals_and_shots` convert them.

mod animals_and_shots;
mod decode;
mod parts;
mod values;

pub use parts::*;

/// A server packet. "The receiver" is the client that receives it, or the client's player.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerPacket {
    /// Native: the response to `hello`.
    Welcome(Welcome),
    /// Native: the changes in view.
    Update(Update),
    /// Native: the receiver has a body now.
    Spawned {
        /// The receiver's player.
        player: u32,
    },
    /// Native: the spectated player.
    Spectating {
        /// `None` if the world has no player.
        player: Option<u32>,
    },
    /// Native: a packet of the receiver was dropped.
    Error {
        /// Name of the broken rule.
        rule: String,
        /// Description for people.
        detail: String,
    },
    /// Native: accepted commands, as runs: first sequence number, count, tick.
    Accepted(Vec<(u32, u8, u32)>),
    /// Native: rejected commands: sequence number and name of the reason.
    Rejected(Vec<(u32, String)>),
    /// MooMoo: the first packet.
    IoInit,
    /// MooMoo: the second packet.
    InitData,
    /// MooMoo: the receiver's player ID.
    Setup {
        /// The receiver's player.
        player: u32,
    },
    /// MooMoo: a player that later updates may contain.
    AddPlayer(AddedPlayer),
    /// MooMoo: a player left the game.
    RemovePlayer {
        /// As in [`AddedPlayer::id`].
        id: String,
    },
    /// MooMoo: all players in view.
    Players(Vec<MoomooPlayer>),
    /// Both: scenery or structures that came into range.
    Objects(Vec<Object>),
    /// Both: destroyed structures; in MooMoo dialects one per packet.
    ObjectsRemoved(Vec<u32>),
    /// Native: the receiver's weapons and items.
    Inventory(Inventory),
    /// MooMoo: the receiver's weapons, or its items.
    Bar {
        /// IDs of weapons or items.
        ids: Vec<u8>,
        /// Whether the IDs are weapon IDs.
        weapons: bool,
    },
    /// MooMoo: number of the receiver's structures of a group.
    Count {
        /// Number of the group.
        group: u8,
        /// Number of structures.
        count: u32,
    },
    /// Both: the upgrades that the receiver may choose.
    UpgradeOffers(UpgradeOffers),
    /// MooMoo: the receiver's age.
    Age {
        /// The age.
        age: u32,
    },
    /// Both: the leaderboard.
    Leaderboard(Leaderboard),
    /// Both: a chat message.
    Chat {
        /// The player that sent the message.
        player: u32,
        /// The text; untrusted.
        text: String,
    },
    /// Native: a message of the operator to all players.
    Notice {
        /// The text.
        text: String,
    },
    /// Both: the response to a ping.
    Pong {
        /// Native: the nonce of the ping.
        nonce: Option<u32>,
        /// Native: number of completed ticks.
        tick: Option<u32>,
    },
    /// Both: swings of players.
    Swings(Vec<Swing>),
    /// Both: objects that were hit. In MooMoo dialects one per packet, directly after the swing.
    ObjectHits(Vec<u32>),
    /// Both: players and their health points.
    Health(Vec<(u32, u32)>),
    /// Native: players, and whether spawn protection covers them now.
    SpawnProtection(Vec<(u32, bool)>),
    /// Native: the receiver's resources, kills and age.
    Stats {
        /// Wood, food, stone, gold.
        resources: [u32; 4],
        /// Number of players killed.
        kills: u32,
        /// The receiver's age.
        age: u32,
    },
    /// MooMoo: one of the receiver's values.
    Value {
        /// The kind of value.
        what: MoomooValue,
        /// The new amount.
        amount: u32,
    },
    /// Both: the receiver died.
    Died,
    /// Native: a player died.
    Kill {
        /// The killer, if a player caused the death.
        killer: Option<u32>,
        /// The victim.
        victim: u32,
    },
    /// Both: new projectiles; in MooMoo dialects one per packet.
    Shots(Vec<Shot>),
    /// Both: ended projectiles; in MooMoo dialects one per packet.
    ShotEnds(Vec<ShotEnd>),
    /// MooMoo: a turret fired. The next projectile belongs to the turret.
    TurretShot,
    /// Native: animals that entered the view or changed. MooMoo: all animals in view.
    Animals(Vec<Animal>),
    /// Native: animals that died or left the view.
    AnimalsRemoved(Vec<u32>),
    /// Both: animals that attack.
    AnimalAttacks(Vec<u32>),
    /// Native: all clans.
    Clans(Vec<Clan>),
    /// Native: dissolved clans and founded clans.
    ClanChanges {
        /// IDs of the dissolved clans.
        ended: Vec<u32>,
        /// The founded clans.
        founded: Vec<Clan>,
    },
    /// MooMoo: a clan was founded.
    AddClan(Clan),
    /// MooMoo: a clan was dissolved.
    RemoveClan {
        /// The name of the clan.
        name: String,
    },
    /// Native: the receiver's own clan.
    OwnClan(OwnClan),
    /// MooMoo: the receiver's own clan, without its members.
    OwnName {
        /// `None` without a clan.
        name: Option<String>,
        /// Whether the receiver owns the clan.
        is_owner: bool,
    },
    /// MooMoo: the members of the receiver's own clan.
    Members(Vec<u32>),
    /// MooMoo: a player requested to join the receiver's clan.
    JoinRequest {
        /// The player.
        player: u32,
    },
    /// Native: the current clans of the players in view.
    ClanTags(Vec<(u32, Option<u32>)>),
    /// Both: positions of the receiver's clan mates, in MooMoo dialects without IDs. `None` without
    /// a clan.
    ClanMates(Option<Vec<Mate>>),
    /// Both: a clan member sent its position. Only the native dialect names the member.
    MapPing {
        /// The member.
        player: Option<u32>,
    },
    /// A packet of the table that this client does not use.
    Other(String),
}

/// The values in MooMoo `value` packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoomooValue {
    /// 0 wood, 1 food, 2 stone, 3 gold.
    Resource(usize),
    /// Number of players killed.
    Kills,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables};

    /// Converts a packet that is written as JSON.
    fn decode_text(dialect: &str, text: &str) -> ServerPacket {
        let codes = PacketTables::builtin();
        let dialect = codes.dialect(dialect).unwrap();
        ServerPacket::from_decoded(&dialect.decode_json(Direction::ToClient, text).unwrap())
    }

    #[test]
    fn an_update_of_the_native_dialect() {
        let text = r#"[2,[90,[7,-2,65536,131072,5,-6,16384,null],[3],[4,"Ada",2,100,201,64],[5,2,4,128],[6,-1,3],[6,192]]]"#;
        let ServerPacket::Update(update) = decode_text("native", text) else { panic!("no update") };
        assert_eq!((update.tick, update.leaves.as_slice()), (90, &[3][..]));
        let own = update.own.unwrap();
        assert_eq!((own.sequence, own.margin_ticks, own.x, own.vy), (7, -2, 65_536, -6));
        assert_eq!((own.heading, own.direction), (16_384, None));
        assert_eq!(update.enters[0].pose, Pose { player: 4, x_px: 50.0, y_px: 100.5, heading: 64 << 8 });
        assert_eq!(update.full[0].heading, 32_768);
        assert_eq!(update.moved, [PositionDelta { player: 6, dx_px: -0.5, dy_px: 1.5 }]);
        assert_eq!(update.turned, [(6, 192 << 8)]);
        let ServerPacket::Update(short) = decode_text("native", "[2,[91]]") else { panic!("no update") };
        assert_eq!(short, Update { tick: 91, ..Update::default() });
    }

    #[test]
    fn answers_to_commands() {
        assert_eq!(
            decode_text("native", "[33,[[7,2,90,12,1,91]]]"),
            ServerPacket::Accepted(vec![(7, 2, 90), (12, 1, 91)])
        );
        let rejected = ServerPacket::Rejected(vec![(9, "too_dear".to_owned())]);
        assert_eq!(decode_text("native", r#"[34,[[9,"too_dear"]]]"#), rejected);
    }

    #[test]
    fn packets_of_the_moomoo_dialects() {
        let text = r#"["2",[["9-1",9,"Ada",100,200,1.57,100,100,35,4],true]]"#;
        let ServerPacket::AddPlayer(added) = decode_text("legacy", text) else { panic!("no player") };
        assert_eq!((added.id.as_str(), added.is_you), ("9-1", true));
        assert_eq!(added.pose, Pose { player: 9, x_px: 100.0, y_px: 200.0, heading: 16_384 });
        let text = r#"["a",[[9,100,200,0,-1,0,0,null,0,0,0,0,0]]]"#;
        let ServerPacket::Players(players) = decode_text("letters", text) else { panic!("no players") };
        let pose = Pose { player: 9, x_px: 100.0, y_px: 200.0, heading: 0 };
        assert_eq!(players, [MoomooPlayer::from(pose)]);
        let ServerPacket::Objects(objects) = decode_text("letters", r#"["H",[[1,50,60,0,80,2,null,-1]]]"#)
        else {
            panic!("no objects")
        };
        let rock = Object { id: 1, kind: Some(2), x_px: 50.0, y_px: 60.0, scale_px: 80.0, structure: None };
        assert_eq!(objects, [rock]);
        assert_eq!(decode_text("legacy", r#"["us",[0,1,0]]"#), ServerPacket::Other("store".to_owned()));
    }

    #[test]
    fn structures_and_choices_are_the_same_in_both_layouts() {
        let wall = |id, scale_px| {
            let built = Some((3, 9));
            ServerPacket::Objects(vec![Object {
                id,
                kind: None,
                x_px: 50.0,
                y_px: 60.0,
                scale_px,
                structure: built,
            }])
        };
        assert_eq!(decode_text("native", "[16,[[70000,3,9,50,60,0]]]"), wall(70_000, 50.0));
        assert_eq!(decode_text("letters", r#"["H",[[7,50,60,0,50,null,3,9]]]"#), wall(7, 50.0));
        let without_owner = decode_text("native", "[16,[[70000,3,0,50,60,0]]]");
        let ServerPacket::Objects(objects) = &without_owner else { panic!("no objects") };
        assert_eq!(objects[0].structure, Some((3, 0)));
        let ServerPacket::Objects(objects) = decode_text("letters", r#"["H",[[7,50,60,0,50,null,3,-1]]]"#)
        else {
            panic!("no objects")
        };
        assert_eq!(objects[0].structure, Some((3, 0)), "nobody's as well");
        assert_eq!(decode_text("native", "[17,[[70000]]]"), ServerPacket::ObjectsRemoved(vec![70_000]));
        assert_eq!(decode_text("legacy", r#"["12",[7]]"#), ServerPacket::ObjectsRemoved(vec![7]));
        let inventory = Inventory { weapons: vec![0], items: vec![0, 3], counts: [(1, 2)].into() };
        assert_eq!(decode_text("native", "[18,[[0],[0,3],[1,2]]]"), ServerPacket::Inventory(inventory));
        assert_eq!(
            decode_text("letters", r#"["V",[[0,3],0]]"#),
            ServerPacket::Bar { ids: vec![0, 3], weapons: false }
        );
        assert_eq!(decode_text("letters", r#"["S",[1,2]]"#), ServerPacket::Count { group: 1, count: 2 });
        let offers = |choices| ServerPacket::UpgradeOffers(UpgradeOffers { points: 1, age: 2, choices });
        assert_eq!(decode_text("native", "[19,[1,2,[5]]]"), offers(Some(vec![5])));
        assert_eq!(decode_text("legacy", r#"["16",[1,2]]"#), offers(None));
        assert_eq!(decode_text("legacy", r#"["15",[10,360,2]]"#), ServerPacket::Age { age: 2 });
    }

    #[test]
    fn shots_and_animals_are_the_same_in_both_layouts() {
        let (x_px, y_px, heading) = (100.0, 200.5, 16_384);
        let shot = |shooter, y_px| Shot { id: 3, kind: 2, shooter, x_px, y_px, heading, range_px: 900.0 };
        let native = r#"[21,[[3,2,9,200,401,16384,900]]]"#;
        assert_eq!(decode_text("native", native), ServerPacket::Shots(vec![shot(Some(9), y_px)]));
        let moomoo = r#"["X",[100,200,1.57,900,2.5,2,0,3]]"#;
        assert_eq!(decode_text("letters", moomoo), ServerPacket::Shots(vec![shot(None, 200.0)]));
        let end = |place| ServerPacket::ShotEnds(vec![ShotEnd { id: 3, place }]);
        assert_eq!(decode_text("native", "[22,[[3,200,401]]]"), end(ShotPlace::At(x_px, y_px)));
        assert_eq!(decode_text("legacy", r#"["19",[3,80]]"#), end(ShotPlace::After(80.0)));
        assert_eq!(decode_text("legacy", r#"["sp",[7,1.5]]"#), ServerPacket::TurretShot);
        let wolf = |y_px| ServerPacket::Animals(vec![Animal { id: 5, kind: 4, x_px, y_px, health: 300 }]);
        assert_eq!(decode_text("native", "[23,[[5,4,200,401,0,300]]]"), wolf(y_px));
        assert_eq!(decode_text("letters", r#"["I",[[5,4,100,200,0,300,0]]]"#), wolf(200.0));
        assert_eq!(decode_text("native", "[24,[[5]]]"), ServerPacket::AnimalsRemoved(vec![5]));
        assert_eq!(decode_text("native", "[25,[[5]]]"), ServerPacket::AnimalAttacks(vec![5]));
        assert_eq!(decode_text("legacy", r#"["aa",[5]]"#), ServerPacket::AnimalAttacks(vec![5]));
    }

    #[test]
    fn clans_are_the_same_in_both_layouts() {
        let clan = |id| Clan { id, name: "owls".to_owned(), owner: 9 };
        assert_eq!(decode_text("native", r#"[26,[[7,"owls",9]]]"#), ServerPacket::Clans(vec![clan(Some(7))]));
        let changes = ServerPacket::ClanChanges { ended: vec![3], founded: vec![clan(Some(7))] };
        assert_eq!(decode_text("native", r#"[32,[[3],[7,"owls",9]]]"#), changes);
        assert_eq!(
            decode_text("letters", r#"["g",[{"sid":"owls","owner":9}]]"#),
            ServerPacket::AddClan(clan(None))
        );
        assert_eq!(
            decode_text("legacy", r#"["ad",["owls"]]"#),
            ServerPacket::RemoveClan { name: "owls".to_owned() }
        );
        let own = OwnClan { id: Some(7), is_owner: true, members: vec![9, 4], join_requests: vec![5] };
        assert_eq!(
            decode_text("native", r#"[27,[7,1,[9,"Ada",4,"Bo"],[5,"Cy"]]]"#),
            ServerPacket::OwnClan(own)
        );
        assert_eq!(decode_text("native", "[27,[null,0,[],[]]]"), ServerPacket::OwnClan(OwnClan::default()));
        let named = ServerPacket::OwnName { name: Some("owls".to_owned()), is_owner: true };
        assert_eq!(decode_text("letters", r#"["3",["owls",1]]"#), named);
        assert_eq!(decode_text("letters", r#"["4",[[9,"Ada",4,"Bo"]]]"#), ServerPacket::Members(vec![9, 4]));
        assert_eq!(decode_text("legacy", r#"["an",[5,"Cy"]]"#), ServerPacket::JoinRequest { player: 5 });
        assert_eq!(
            decode_text("native", "[31,[[4,7,5,null]]]"),
            ServerPacket::ClanTags(vec![(4, Some(7)), (5, None)])
        );
        let mate = |player| ServerPacket::ClanMates(Some(vec![Mate { player, x_px: 10.0, y_px: 20.0 }]));
        assert_eq!(decode_text("native", "[28,[[4,10,20]]]"), mate(Some(4)));
        assert_eq!(decode_text("letters", r#"["7",[[10,20]]]"#), mate(None));
        assert_eq!(decode_text("legacy", r#"["mm",[0]]"#), ServerPacket::ClanMates(None));
        assert_eq!(decode_text("native", "[29,[4,10,20]]"), ServerPacket::MapPing { player: Some(4) });
        assert_eq!(decode_text("letters", r#"["9",[10,20]]"#), ServerPacket::MapPing { player: None });
        let kill = |killer| ServerPacket::Kill { killer, victim: 4 };
        assert_eq!(decode_text("native", r#"[15,[9,"Ada",4,"Bo"]]"#), kill(Some(9)));
        assert_eq!(decode_text("native", r#"[15,[null,null,4,"Bo"]]"#), kill(None));
    }

    #[test]
    fn a_fight_is_the_same_in_both_layouts() {
        let swing = |player, weapon, hit| ServerPacket::Swings(vec![Swing { player, weapon, hit }]);
        assert_eq!(decode_text("native", "[10,[[4,3,1]]]"), swing(4, 3, true));
        assert_eq!(decode_text("legacy", r#"["7",[4,0,1]]"#), swing(4, 1, false));
        assert_eq!(
            decode_text("native", "[11,[[70000,64,70001,0]]]"),
            ServerPacket::ObjectHits(vec![70_000, 70_001])
        );
        assert_eq!(decode_text("letters", r#"["L",[1.5,7]]"#), ServerPacket::ObjectHits(vec![7]));
        assert_eq!(
            decode_text("native", "[12,[[4,75,5,100]]]"),
            ServerPacket::Health(vec![(4, 75), (5, 100)])
        );
        assert_eq!(decode_text("letters", r#"["O",[4,75]]"#), ServerPacket::Health(vec![(4, 75)]));
        let stats = ServerPacket::Stats { resources: [1, 2, 3, 4], kills: 5, age: 1 };
        assert_eq!(decode_text("native", "[13,[1,2,3,4,5,6,300,1,4]]"), stats);
        let points = ServerPacket::Value { what: MoomooValue::Resource(3), amount: 9 };
        assert_eq!(decode_text("legacy", r#"["9",["points",9,1]]"#), points);
        assert_eq!(
            (decode_text("native", "[14,[2,\"Ada\"]]"), decode_text("legacy", r#"["11",[]]"#)),
            (ServerPacket::Died, ServerPacket::Died)
        );
    }
}
