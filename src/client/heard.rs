//! What a server says, typed: one enum for all dialects.
//!
//! Comes in: a decoded packet. Goes out: [`Heard`], in which radians and 256ths of a turn have become binary angles
//! (65,536 a turn) and positions are pixels. Arguments are found by their name in the table, never by place. Never:
//! a judgement; see [`super::check`].

use std::collections::BTreeMap;

mod read;

/// A packet of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// Native: the answer to `hello`.
    Welcome(Welcome),
    /// Native: what changed in view.
    Update(Update),
    /// Native: the receiver has a body now.
    Spawned {
        /// Its player.
        player: u32,
    },
    /// Native: whom a watcher follows.
    Watching {
        /// Nobody, when the world is empty.
        player: Option<u32>,
    },
    /// Native: a packet was dropped.
    Error {
        /// The rule's name.
        rule: String,
        /// For people.
        detail: String,
    },
    /// MooMoo: the first packet.
    IoInit,
    /// MooMoo: the second packet.
    InitData,
    /// MooMoo: the receiver will be this player.
    Setup {
        /// Its player.
        player: u32,
    },
    /// MooMoo: somebody who will appear in updates.
    AddPlayer(Added),
    /// MooMoo: somebody has left the game.
    RemovePlayer {
        /// As in [`Added::id`].
        id: String,
    },
    /// MooMoo: everyone in view.
    Players(Vec<Pose>),
    /// Both: things of nature, or things that were built, that came into view.
    Objects(Vec<Object>),
    /// Both: what was built and is destroyed; with MooMoo one at a time.
    Gone(Vec<u32>),
    /// Native: what one has to use.
    Kit(Kit),
    /// MooMoo: the weapons, or the items, that one has to use.
    Bar {
        /// Their numbers.
        ids: Vec<u8>,
        /// Whether they are weapons.
        weapons: bool,
    },
    /// MooMoo: how much of a group of items one has standing.
    Count {
        /// Number of the group.
        group: u8,
        /// How many.
        count: u32,
    },
    /// Both: how many choices one may make, and which.
    Offers(Offers),
    /// MooMoo: one's age.
    Age {
        /// Years, so to say.
        age: u32,
    },
    /// Both: the best.
    Leaderboard(Leaderboard),
    /// Both: somebody talks.
    Chat {
        /// Who.
        player: u32,
        /// What; text of a stranger.
        text: String,
    },
    /// Both: the answer to a ping.
    Pong {
        /// Native: what the ping carried.
        nonce: Option<u32>,
        /// Native: ticks completed.
        tick: Option<u32>,
    },
    /// Both: who swings.
    Swings(Vec<Swing>),
    /// Both: objects that were struck; with MooMoo one at a time, right after the swing that struck it.
    Shakes(Vec<u32>),
    /// Both: players and their health points.
    Health(Vec<(u32, u32)>),
    /// Native: what one has.
    Stats {
        /// Wood, food, stone, gold.
        resources: [u32; 4],
        /// Players killed.
        kills: u32,
        /// One's age.
        age: u32,
    },
    /// MooMoo: one number of what one has.
    Value {
        /// What.
        what: Stock,
        /// How much of it.
        amount: u32,
    },
    /// Both: the receiver died.
    Died,
    /// A packet of the table that this client has no use for.
    Other(String),
}

/// What MooMoo servers tell the amount of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stock {
    /// 0 wood, 1 food, 2 stone, 3 gold.
    Resource(usize),
    /// Players killed.
    Kills,
}

/// A stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swing {
    /// Whose.
    pub player: u32,
    /// With what: a number of `rules::WEAPONS`.
    pub weapon: u8,
    /// Whether it hit anything.
    pub hit: bool,
}

/// What one has to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kit {
    /// Numbers of `rules::WEAPONS`.
    pub weapons: Vec<u8>,
    /// Numbers of `rules::ITEMS`.
    pub items: Vec<u8>,
    /// How many of each group stand, where any do.
    pub counts: BTreeMap<u8, u32>,
}

/// What one may choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// How often.
    pub points: u32,
    /// Which age offers it.
    pub age: u32,
    /// Native: weapons, then items from `rules::CHOICE_ITEMS` on. MooMoo clients know them by themselves.
    pub choices: Option<Vec<u8>>,
}

/// Which world this is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// Version of the protocol.
    pub version: u32,
    /// Hash of the world's code and rules, 16 hex digits.
    pub code_hash: String,
    /// Seed of the world.
    pub seed: u32,
    /// Side of the map, px.
    pub map_size_px: u32,
    /// Ticks a second.
    pub tick_hz: u32,
    /// Updates a second.
    pub update_hz: u32,
    /// Tells this start of the server from the one before.
    pub epoch: String,
    /// Ticks completed.
    pub tick: u32,
}

/// One update of the native dialect, in the order in which it is to be applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Update {
    /// Ticks completed.
    pub tick: u32,
    /// One's own exact state, when it changed.
    pub own: Option<Own>,
    /// Who went out of view.
    pub leaves: Vec<u32>,
    /// Who came into view.
    pub enters: Vec<Enter>,
    /// Where those are of whom an update was missed.
    pub full: Vec<Pose>,
    /// How far those moved who did.
    pub moved: Vec<Moved>,
    /// Where those look who turned: player and binary angle.
    pub turned: Vec<(u32, u16)>,
}

/// One's own exact state. Lengths are pixels in 16.16.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Own {
    /// The last command applied.
    pub sequence: u32,
    /// How many ticks early (positive) or late it came.
    pub margin_ticks: i32,
    /// From the left.
    pub x: i32,
    /// From the top.
    pub y: i32,
    /// Per tick.
    pub vx: i32,
    /// Per tick.
    pub vy: i32,
    /// Binary angle.
    pub heading: u16,
    /// Where it walks, if it does.
    pub direction: Option<u16>,
}

/// Somebody and where.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// Who.
    pub player: u32,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Binary angle.
    pub heading: u16,
}

/// Somebody who came into view.
#[derive(Debug, Clone, PartialEq)]
pub struct Enter {
    /// Who and where.
    pub pose: Pose,
    /// Its name; text of a stranger.
    pub name: String,
    /// Its colour.
    pub skin: u8,
}

/// How far somebody moved since the update before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// Who.
    pub player: u32,
    /// Pixels to the right.
    pub dx_px: f64,
    /// Pixels down.
    pub dy_px: f64,
}

/// Somebody whom a MooMoo server tells of.
#[derive(Debug, Clone, PartialEq)]
pub struct Added {
    /// Names the player towards this client.
    pub id: String,
    /// Who and where.
    pub pose: Pose,
    /// Its name; text of a stranger.
    pub name: String,
    /// Health points.
    pub health: u32,
    /// Health points that it can have.
    pub max_health: u32,
    /// Whether it is the receiver.
    pub is_you: bool,
}

/// A thing of nature, or one that was built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// Its number.
    pub id: u32,
    /// 0 tree, 1 bush, 2 rock, 3 gold; `None` for what was built.
    pub kind: Option<u8>,
    /// Pixels from the left.
    pub x_px: f64,
    /// Pixels from the top.
    pub y_px: f64,
    /// Radius of its picture, px.
    pub scale_px: f64,
    /// What was built, and by whom: a number of `rules::ITEMS`, and a player.
    pub built: Option<(u8, u32)>,
}

/// The best players.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Leaderboard {
    /// Player, name and score, best first.
    pub rows: Vec<(u32, String, f64)>,
    /// Native: one's own place from 1.
    pub place: Option<u32>,
    /// Native: players in all.
    pub players: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Codes, Direction};

    /// Hears what is written as JSON.
    fn hear(dialect: &str, text: &str) -> Heard {
        let codes = Codes::builtin();
        let dialect = codes.dialect(dialect).unwrap();
        Heard::from_decoded(&dialect.decode_json(Direction::ToClient, text).unwrap())
    }

    #[test]
    fn an_update_of_the_native_dialect() {
        let text = r#"[2,[90,[7,-2,65536,131072,5,-6,16384,null],[3],[4,"Ada",2,100,201,64],[5,2,4,128],[6,-1,3],[6,192]]]"#;
        let Heard::Update(update) = hear("native", text) else { panic!("no update") };
        assert_eq!((update.tick, update.leaves.as_slice()), (90, &[3][..]));
        let own = update.own.unwrap();
        assert_eq!((own.sequence, own.margin_ticks, own.x, own.vy), (7, -2, 65_536, -6));
        assert_eq!((own.heading, own.direction), (16_384, None));
        assert_eq!(update.enters[0].pose, Pose { player: 4, x_px: 50.0, y_px: 100.5, heading: 64 << 8 });
        assert_eq!(update.full[0].heading, 32_768);
        assert_eq!(update.moved, [Moved { player: 6, dx_px: -0.5, dy_px: 1.5 }]);
        assert_eq!(update.turned, [(6, 192 << 8)]);
        let Heard::Update(short) = hear("native", "[2,[91]]") else { panic!("no update") };
        assert_eq!(short, Update { tick: 91, ..Update::default() });
    }

    #[test]
    fn packets_of_the_moomoo_dialects() {
        let text = r#"["2",[["9-1",9,"Ada",100,200,1.57,100,100,35,4],true]]"#;
        let Heard::AddPlayer(added) = hear("legacy", text) else { panic!("no player") };
        assert_eq!((added.id.as_str(), added.is_you), ("9-1", true));
        assert_eq!(added.pose, Pose { player: 9, x_px: 100.0, y_px: 200.0, heading: 16_384 });
        let text = r#"["a",[[9,100,200,0,-1,0,0,null,0,0,0,0,0]]]"#;
        let Heard::Players(players) = hear("letters", text) else { panic!("no players") };
        assert_eq!(players, [Pose { player: 9, x_px: 100.0, y_px: 200.0, heading: 0 }]);
        let Heard::Objects(objects) = hear("letters", r#"["H",[[1,50,60,0,80,2,null,-1]]]"#) else {
            panic!("no objects")
        };
        let rock = Object { id: 1, kind: Some(2), x_px: 50.0, y_px: 60.0, scale_px: 80.0, built: None };
        assert_eq!(objects, [rock]);
        assert_eq!(hear("legacy", r#"["mm",[0]]"#), Heard::Other("minimap".to_owned()));
    }

    #[test]
    fn what_is_built_and_chosen_is_the_same_in_both_layouts() {
        let wall = |id, scale_px| {
            let built = Some((3, 9));
            Heard::Objects(vec![Object { id, kind: None, x_px: 50.0, y_px: 60.0, scale_px, built }])
        };
        assert_eq!(hear("native", "[16,[[70000,3,9,50,60,0]]]"), wall(70_000, 50.0));
        assert_eq!(hear("letters", r#"["H",[[7,50,60,0,50,null,3,9]]]"#), wall(7, 50.0));
        assert_eq!(hear("native", "[17,[[70000]]]"), Heard::Gone(vec![70_000]));
        assert_eq!(hear("legacy", r#"["12",[7]]"#), Heard::Gone(vec![7]));
        let kit = Kit { weapons: vec![0], items: vec![0, 3], counts: [(1, 2)].into() };
        assert_eq!(hear("native", "[18,[[0],[0,3],[1,2]]]"), Heard::Kit(kit));
        assert_eq!(hear("letters", r#"["V",[[0,3],0]]"#), Heard::Bar { ids: vec![0, 3], weapons: false });
        assert_eq!(hear("letters", r#"["S",[1,2]]"#), Heard::Count { group: 1, count: 2 });
        let offers = |choices| Heard::Offers(Offers { points: 1, age: 2, choices });
        assert_eq!(hear("native", "[19,[1,2,[5]]]"), offers(Some(vec![5])));
        assert_eq!(hear("legacy", r#"["16",[1,2]]"#), offers(None));
        assert_eq!(hear("legacy", r#"["15",[10,360,2]]"#), Heard::Age { age: 2 });
    }

    #[test]
    fn a_fight_is_the_same_in_both_layouts() {
        let swing = |player, weapon, hit| Heard::Swings(vec![Swing { player, weapon, hit }]);
        assert_eq!(hear("native", "[10,[[4,3,1]]]"), swing(4, 3, true));
        assert_eq!(hear("legacy", r#"["7",[4,0,1]]"#), swing(4, 1, false));
        assert_eq!(hear("native", "[11,[[70000,64,70001,0]]]"), Heard::Shakes(vec![70_000, 70_001]));
        assert_eq!(hear("letters", r#"["L",[1.5,7]]"#), Heard::Shakes(vec![7]));
        assert_eq!(hear("native", "[12,[[4,75,5,100]]]"), Heard::Health(vec![(4, 75), (5, 100)]));
        assert_eq!(hear("letters", r#"["O",[4,75]]"#), Heard::Health(vec![(4, 75)]));
        let stats = Heard::Stats { resources: [1, 2, 3, 4], kills: 5, age: 1 };
        assert_eq!(hear("native", "[13,[1,2,3,4,5,6,300,1,4]]"), stats);
        let points = Heard::Value { what: Stock::Resource(3), amount: 9 };
        assert_eq!(hear("legacy", r#"["9",["points",9,1]]"#), points);
        assert_eq!(
            (hear("native", "[14,[2,\"Ada\"]]"), hear("legacy", r#"["11",[]]"#)),
            (Heard::Died, Heard::Died)
        );
    }
}
