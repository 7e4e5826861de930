//! Converts decoded packets to [`ServerPacket`]s. Arguments are found by name in the table, never
//! by position.

use super::values::{flag, groups, half_px, text, whole};
use super::{
    AddedPlayer, EnteredPlayer, Inventory, Leaderboard, MoomooPlayer, MoomooValue, Object, Own, Pose,
    PositionDelta, ServerPacket, Swing, Update, UpgradeOffers, Welcome, animals_and_shots,
};
use crate::games::moo::world::rules;
use crate::packet::{DecodedPacket, Value, angle};

impl ServerPacket {
    /// Converts a decoded packet. A packet without a required argument, which only a loaded table
    /// can cause, becomes [`ServerPacket::Other`].
    pub fn from_decoded(decoded: &DecodedPacket<'_>) -> ServerPacket {
        decode(decoded).unwrap_or_else(|| ServerPacket::Other(decoded.row.name.clone()))
    }
}

impl From<&DecodedPacket<'_>> for ServerPacket {
    fn from(decoded: &DecodedPacket<'_>) -> ServerPacket {
        ServerPacket::from_decoded(decoded)
    }
}

fn decode(decoded: &DecodedPacket<'_>) -> Option<ServerPacket> {
    Some(match decoded.row.name.as_str() {
        "welcome" => ServerPacket::Welcome(welcome(decoded)?),
        "update" => ServerPacket::Update(update(decoded)?),
        "spawned" => ServerPacket::Spawned { player: whole(decoded.get("player")?)? },
        "spectating" => ServerPacket::Spectating { player: decoded.get("player").and_then(whole) },
        "error" => {
            ServerPacket::Error { rule: text(decoded.get("rule")?)?, detail: text(decoded.get("detail")?)? }
        }
        "command_accepted" => {
            let run = |[first, count, tick]: &[Value; 3]| Some((whole(first)?, whole(count)?, whole(tick)?));
            ServerPacket::Accepted(groups(decoded.get("commands"), run)?)
        }
        "command_rejected" => {
            let one = |[sequence, reason]: &[Value; 2]| Some((whole(sequence)?, text(reason)?));
            ServerPacket::Rejected(groups(decoded.get("commands"), one)?)
        }
        "io_init" => ServerPacket::IoInit,
        "init_data" => ServerPacket::InitData,
        "setup" => ServerPacket::Setup { player: whole(decoded.get("sid")?)? },
        "add_player" => ServerPacket::AddPlayer(added(decoded)?),
        "remove_player" => ServerPacket::RemovePlayer { id: text(decoded.get("id")?)? },
        "update_players" => ServerPacket::Players(groups(decoded.get("players"), moomoo_player)?),
        "load_objects" => ServerPacket::Objects(groups(decoded.get("objects"), moomoo_object)?),
        "objects" => ServerPacket::Objects(groups(decoded.get("objects"), native_object)?),
        "structures" => ServerPacket::Objects(groups(decoded.get("structures"), native_structure)?),
        "structures_gone" => {
            ServerPacket::ObjectsRemoved(groups(decoded.get("objects"), |[object]: &[Value; 1]| {
                whole(object)
            })?)
        }
        "remove_object" => ServerPacket::ObjectsRemoved(vec![whole(decoded.get("sid")?)?]),
        "inventory" | "items" | "item_count" | "upgrade_offers" | "upgrades" | "age" => {
            return decode_upgrades(decoded);
        }
        "swings" | "gather" | "object_hits" | "wiggle" | "health" | "spawn_protection" | "stats"
        | "value" | "died" => {
            return decode_melee(decoded);
        }
        "leaderboard" => ServerPacket::Leaderboard(leaderboard(decoded)?),
        "chat" => {
            let player = decoded.get("player").or_else(|| decoded.get("sid"))?;
            ServerPacket::Chat { player: whole(player)?, text: text(decoded.get("text")?)? }
        }
        "notice" => ServerPacket::Notice { text: text(decoded.get("text")?)? },
        "pong" => ServerPacket::Pong {
            nonce: decoded.get("nonce").and_then(whole),
            tick: decoded.get("tick").and_then(whole),
        },
        _ => return animals_and_shots::typed(decoded),
    })
}

/// Converts packets about weapons, items and upgrades.
fn decode_upgrades(decoded: &DecodedPacket<'_>) -> Option<ServerPacket> {
    let number = |name| decoded.get(name).and_then(whole);
    let numbers = |name| groups(decoded.get(name), |[number]: &[Value; 1]| whole::<u8>(number));
    Some(match decoded.row.name.as_str() {
        "inventory" => {
            let pair = |[group, count]: &[Value; 2]| Some((whole(group)?, whole(count)?));
            let counts = groups(decoded.get("counts"), pair)?.into_iter().collect();
            ServerPacket::Inventory(Inventory {
                weapons: numbers("weapons")?,
                items: numbers("items")?,
                counts,
            })
        }
        "items" => ServerPacket::Bar {
            ids: numbers("ids")?,
            weapons: decoded.get("weapons").and_then(flag) == Some(true),
        },
        "item_count" => ServerPacket::Count { group: whole(decoded.get("group")?)?, count: number("count")? },
        "upgrade_offers" | "upgrades" => {
            let choices = decoded.get("choices").is_some().then(|| numbers("choices")).flatten();
            ServerPacket::UpgradeOffers(UpgradeOffers {
                points: number("points")?,
                age: number("age")?,
                choices,
            })
        }
        "age" => ServerPacket::Age { age: number("age")? },
        _ => return None,
    })
}

/// Converts packets about melee attacks and their effects.
fn decode_melee(decoded: &DecodedPacket<'_>) -> Option<ServerPacket> {
    let number = |name| decoded.get(name).and_then(whole);
    Some(match decoded.row.name.as_str() {
        "swings" => {
            ServerPacket::Swings(groups(decoded.get("swings"), |[player, weapon, hit]: &[Value; 3]| {
                Some(Swing { player: whole(player)?, weapon: whole(weapon)?, hit: flag(hit)? })
            })?)
        }
        "gather" => {
            let weapon = decoded.get("weapon").and_then(whole)?;
            let hit = decoded.get("hit").and_then(flag)?;
            ServerPacket::Swings(vec![Swing { player: number("sid")?, weapon, hit }])
        }
        "object_hits" => {
            let object = |[object, _direction]: &[Value; 2]| whole(object);
            ServerPacket::ObjectHits(groups(decoded.get("object_hits"), object)?)
        }
        "wiggle" => ServerPacket::ObjectHits(vec![number("sid")?]),
        "health" => match number("sid") {
            Some(player) => ServerPacket::Health(vec![(player, number("health")?)]),
            None => {
                let pair = |[player, health]: &[Value; 2]| Some((whole(player)?, whole(health)?));
                ServerPacket::Health(groups(decoded.get("health"), pair)?)
            }
        },
        "spawn_protection" => {
            let pair = |[player, state]: &[Value; 2]| Some((whole(player)?, flag(state)?));
            ServerPacket::SpawnProtection(groups(decoded.get("players"), pair)?)
        }
        "stats" => {
            let resources = [number("wood")?, number("food")?, number("stone")?, number("gold")?];
            ServerPacket::Stats { resources, kills: number("kills")?, age: number("age")? }
        }
        "value" => {
            let what = match decoded.get("name")?.as_str()? {
                "wood" => MoomooValue::Resource(0),
                "food" => MoomooValue::Resource(1),
                "stone" => MoomooValue::Resource(2),
                "points" => MoomooValue::Resource(3),
                "kills" => MoomooValue::Kills,
                _ => return None,
            };
            ServerPacket::Value { what, amount: number("value")? }
        }
        "died" => ServerPacket::Died,
        _ => return None,
    })
}

fn welcome(decoded: &DecodedPacket<'_>) -> Option<Welcome> {
    let number = |name| decoded.get(name).and_then(whole);
    Some(Welcome {
        version: number("version")?,
        rules_hash: text(decoded.get("rules_hash")?)?,
        seed: number("seed")?,
        map_size_px: number("map_size_px")?,
        tick_hz: number("tick_hz")?,
        update_hz: number("update_hz")?,
        epoch: text(decoded.get("epoch")?)?,
        tick: number("tick")?,
    })
}

fn update(decoded: &DecodedPacket<'_>) -> Option<Update> {
    Some(Update {
        tick: whole(decoded.get("tick")?)?,
        own: groups(decoded.get("own"), own)?.pop(),
        leaves: groups(decoded.get("leaves"), |[player]: &[Value; 1]| whole(player))?,
        enters: groups(decoded.get("enters"), |[player, name, skin, x, y, heading]: &[Value; 6]| {
            let pose = native_pose(player, x, y, heading)?;
            Some(EnteredPlayer { pose, name: text(name)?, skin: whole(skin)? })
        })?,
        full: groups(decoded.get("full"), |[player, x, y, heading]: &[Value; 4]| {
            native_pose(player, x, y, heading)
        })?,
        moved: groups(decoded.get("moved"), |[player, dx, dy]: &[Value; 3]| {
            Some(PositionDelta { player: whole(player)?, dx_px: half_px(dx)?, dy_px: half_px(dy)? })
        })?,
        turned: groups(decoded.get("turned"), |[player, heading]: &[Value; 2]| {
            Some((whole(player)?, turn8(heading)?))
        })?,
        animals: groups(decoded.get("animals"), animals_and_shots::native_animal)?,
        animals_gone: groups(decoded.get("animals_gone"), |[animal]: &[Value; 1]| whole(animal))?,
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
    let [id, kind, x, y, scale] = values;
    object(id, whole(kind), [x, y], scale.as_f64()?)
}

fn native_structure(values: &[Value; 6]) -> Option<Object> {
    let [id, item, owner, x, y, _heading] = values;
    // The packet does not contain the size, which follows from the rules.
    let scale_px = rules::item(whole(item)?).map_or(0.0, |item| f64::from(item.scale_px));
    let built = Some((whole(item)?, whole(owner)?));
    Some(Object { structure: built, ..object(id, None, [x, y], scale_px)? })
}

fn moomoo_object(values: &[Value; 8]) -> Option<Object> {
    let [id, x, y, _direction, scale, kind, item, owner] = values;
    // The owner of the operator's structures is -1; in the native dialect it is 0.
    let built = whole(item).map(|item| (item, whole(owner).unwrap_or(0)));
    Some(Object { structure: built, ..object(id, whole(kind), [x, y], scale.as_f64()?)? })
}

fn object(id: &Value, kind: Option<u8>, [x, y]: [&Value; 2], scale_px: f64) -> Option<Object> {
    Some(Object { id: whole(id)?, kind, x_px: x.as_f64()?, y_px: y.as_f64()?, scale_px, structure: None })
}

fn added(decoded: &DecodedPacket<'_>) -> Option<AddedPlayer> {
    let values: &[Value; 10] = decoded.get("player")?.as_array()?.as_slice().try_into().ok()?;
    let [id, player, name, x, y, direction, health, max_health, ..] = values;
    Some(AddedPlayer {
        id: text(id)?,
        pose: moomoo_pose(player, x, y, direction)?,
        name: text(name)?,
        health: whole(health)?,
        max_health: whole(max_health)?,
        is_you: decoded.get("is_you")?.as_bool()?,
    })
}

fn moomoo_player(values: &[Value; 13]) -> Option<MoomooPlayer> {
    let [player, x, y, direction, _build, weapon, _variant, clan, is_owner, ..] = values;
    let pose = moomoo_pose(player, x, y, direction)?;
    Some(MoomooPlayer { pose, weapon: whole(weapon)?, clan: text(clan), is_owner: flag(is_owner)? })
}

fn moomoo_pose(player: &Value, x: &Value, y: &Value, direction: &Value) -> Option<Pose> {
    let heading = angle::from_radians(direction.as_f64()?)?;
    Some(Pose { player: whole(player)?, x_px: x.as_f64()?, y_px: y.as_f64()?, heading })
}

fn leaderboard(decoded: &DecodedPacket<'_>) -> Option<Leaderboard> {
    Some(Leaderboard {
        rows: groups(decoded.get("rows"), |[player, name, score]: &[Value; 3]| {
            Some((whole(player)?, text(name)?, score.as_f64()?))
        })?,
        rank: decoded.get("rank").and_then(whole),
        players: decoded.get("players").and_then(whole),
    })
}

fn turn8(value: &Value) -> Option<u16> {
    whole::<u8>(value).map(|turn| u16::from(turn) << 8)
}
