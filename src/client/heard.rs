//! What a server says, typed: one enum for all dialects.
//!
//! Comes in: a decoded packet. Goes out: [`Heard`], in which radians and 256ths of a turn have become binary angles
//! (65,536 a turn) and positions are pixels. Arguments are found by their name in the table, never by place. Never:
//! a judgement; see [`super::check`].

use crate::packet::{Decoded, Value, angle};

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
    /// Both: scenery that came into view.
    Objects(Vec<Object>),
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
    /// A packet of the table that this client has no use for.
    Other(String),
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
    /// Whether it is the receiver.
    pub is_you: bool,
}

/// A thing of nature.
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

impl Heard {
    /// The typed packet. One without what it cannot do without, which only a loaded table can bring about, is
    /// [`Heard::Other`].
    pub fn from_decoded(decoded: &Decoded<'_>) -> Heard {
        typed(decoded).unwrap_or_else(|| Heard::Other(decoded.row.name.clone()))
    }
}

fn typed(decoded: &Decoded<'_>) -> Option<Heard> {
    Some(match decoded.row.name.as_str() {
        "welcome" => Heard::Welcome(welcome(decoded)?),
        "update" => Heard::Update(update(decoded)?),
        "spawned" => Heard::Spawned { player: whole(decoded.get("player")?)? },
        "watching" => Heard::Watching { player: decoded.get("player").and_then(whole) },
        "error" => Heard::Error { rule: text(decoded.get("rule")?)?, detail: text(decoded.get("detail")?)? },
        "io_init" => Heard::IoInit,
        "init_data" => Heard::InitData,
        "setup" => Heard::Setup { player: whole(decoded.get("sid")?)? },
        "add_player" => Heard::AddPlayer(added(decoded)?),
        "remove_player" => Heard::RemovePlayer { id: text(decoded.get("id")?)? },
        "update_players" => Heard::Players(groups(decoded.get("players"), shown)?),
        "load_objects" => Heard::Objects(groups(decoded.get("objects"), moomoo_object)?),
        "objects" => Heard::Objects(groups(decoded.get("objects"), native_object)?),
        "leaderboard" => Heard::Leaderboard(leaderboard(decoded)?),
        "chat" => {
            let player = decoded.get("player").or_else(|| decoded.get("sid"))?;
            Heard::Chat { player: whole(player)?, text: text(decoded.get("text")?)? }
        }
        "pong" => Heard::Pong {
            nonce: decoded.get("nonce").and_then(whole),
            tick: decoded.get("tick").and_then(whole),
        },
        _ => return None,
    })
}

fn welcome(decoded: &Decoded<'_>) -> Option<Welcome> {
    let number = |name| decoded.get(name).and_then(whole);
    Some(Welcome {
        version: number("version")?,
        code_hash: text(decoded.get("code_hash")?)?,
        seed: number("seed")?,
        map_size_px: number("map_size_px")?,
        tick_hz: number("tick_hz")?,
        update_hz: number("update_hz")?,
        epoch: text(decoded.get("epoch")?)?,
        tick: number("tick")?,
    })
}

fn update(decoded: &Decoded<'_>) -> Option<Update> {
    Some(Update {
        tick: whole(decoded.get("tick")?)?,
        own: groups(decoded.get("own"), own)?.pop(),
        leaves: groups(decoded.get("leaves"), |[player]: &[Value; 1]| whole(player))?,
        enters: groups(decoded.get("enters"), |[player, name, skin, x, y, heading]: &[Value; 6]| {
            let pose = native_pose(player, x, y, heading)?;
            Some(Enter { pose, name: text(name)?, skin: whole(skin)? })
        })?,
        full: groups(decoded.get("full"), |[player, x, y, heading]: &[Value; 4]| {
            native_pose(player, x, y, heading)
        })?,
        moved: groups(decoded.get("moved"), |[player, dx, dy]: &[Value; 3]| {
            Some(Moved { player: whole(player)?, dx_px: half_px(dx)?, dy_px: half_px(dy)? })
        })?,
        turned: groups(decoded.get("turned"), |[player, heading]: &[Value; 2]| {
            Some((whole(player)?, turn8(heading)?))
        })?,
    })
}

fn own(values: &[Value; 8]) -> Option<Own> {
    let [sequence, margin, x, y, vx, vy, heading, direction] = values;
    Some(Own {
        sequence: whole(sequence)?,
        margin_ticks: whole(margin)?,
        x: whole(x)?,
        y: whole(y)?,
        vx: whole(vx)?,
        vy: whole(vy)?,
        heading: whole(heading)?,
        direction: whole(direction),
    })
}

fn native_pose(player: &Value, x: &Value, y: &Value, heading: &Value) -> Option<Pose> {
    Some(Pose { player: whole(player)?, x_px: half_px(x)?, y_px: half_px(y)?, heading: turn8(heading)? })
}

fn native_object(values: &[Value; 5]) -> Option<Object> {
    let [id, kind, x, y, _scale] = values;
    Some(Object { id: whole(id)?, kind: whole(kind), x_px: x.as_f64()?, y_px: y.as_f64()? })
}

fn moomoo_object(values: &[Value; 8]) -> Option<Object> {
    let [id, x, y, _direction, _scale, kind, ..] = values;
    Some(Object { id: whole(id)?, kind: whole(kind), x_px: x.as_f64()?, y_px: y.as_f64()? })
}

fn added(decoded: &Decoded<'_>) -> Option<Added> {
    let values: &[Value; 10] = decoded.get("player")?.as_array()?.as_slice().try_into().ok()?;
    let [id, player, name, x, y, direction, ..] = values;
    Some(Added {
        id: text(id)?,
        pose: moomoo_pose(player, x, y, direction)?,
        name: text(name)?,
        is_you: decoded.get("is_you")?.as_bool()?,
    })
}

fn shown(values: &[Value; 13]) -> Option<Pose> {
    let [player, x, y, direction, ..] = values;
    moomoo_pose(player, x, y, direction)
}

fn moomoo_pose(player: &Value, x: &Value, y: &Value, direction: &Value) -> Option<Pose> {
    let heading = angle::from_radians(direction.as_f64()?)?;
    Some(Pose { player: whole(player)?, x_px: x.as_f64()?, y_px: y.as_f64()?, heading })
}

fn leaderboard(decoded: &Decoded<'_>) -> Option<Leaderboard> {
    Some(Leaderboard {
        rows: groups(decoded.get("rows"), |[player, name, score]: &[Value; 3]| {
            Some((whole(player)?, text(name)?, score.as_f64()?))
        })?,
        place: decoded.get("place").and_then(whole),
        players: decoded.get("players").and_then(whole),
    })
}

/// The groups of a flat list; no list is no groups. `None` when a group is not what `read` needs.
fn groups<const N: usize, T>(
    list: Option<&Value>,
    read: impl Fn(&[Value; N]) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(list) = list else { return Some(Vec::new()) };
    let groups = list.as_array()?.chunks(N);
    groups.map(|group| read(group.try_into().ok()?)).collect()
}

fn whole<N: TryFrom<i64>>(value: &Value) -> Option<N> {
    value.as_i64().and_then(|number| N::try_from(number).ok())
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn half_px(value: &Value) -> Option<f64> {
    value.as_i64().map(|half_px| half_px as f64 / 2.0)
}

fn turn8(value: &Value) -> Option<u16> {
    whole::<u8>(value).map(|turn| u16::from(turn) << 8)
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
        assert_eq!(objects, [Object { id: 1, kind: Some(2), x_px: 50.0, y_px: 60.0 }]);
        assert_eq!(hear("legacy", r#"["h",[1,100]]"#), Heard::Other("health".to_owned()));
    }
}
