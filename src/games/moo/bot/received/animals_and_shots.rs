//! Converts decoded packets about projectiles, animals and clans to [`ServerPacket`]s. Arguments
//! are found by name in the table, never by position.

use super::values::{flag, groups, half_px, text, whole};
use super::{Animal, Clan, Mate, OwnClan, ServerPacket, Shot, ShotEnd, ShotPlace};
use crate::packet::grammar::Shape;
use crate::packet::{DecodedPacket, Value, angle};

pub(super) fn typed(decoded: &DecodedPacket<'_>) -> Option<ServerPacket> {
    let number = |name| decoded.get(name).and_then(whole);
    let numbers = |name| groups(decoded.get(name), |[number]: &[Value; 1]| whole(number));
    Some(match decoded.row.name.as_str() {
        "kill" => ServerPacket::Kill { killer: number("killer"), victim: number("victim")? },
        "shots" => ServerPacket::Shots(groups(decoded.get("shots"), native_shot)?),
        "add_projectile" => ServerPacket::Shots(vec![moomoo_shot(decoded)?]),
        "shot_ends" => ServerPacket::ShotEnds(groups(decoded.get("ends"), |[id, x, y]: &[Value; 3]| {
            Some(ShotEnd { id: whole(id)?, place: ShotPlace::At(half_px(x)?, half_px(y)?) })
        })?),
        "remove_projectile" => {
            let place = ShotPlace::After(decoded.get("range")?.as_f64()?);
            ServerPacket::ShotEnds(vec![ShotEnd { id: number("sid")?, place }])
        }
        "turret_shot" => ServerPacket::TurretShot,
        "animals" => match number_of_values(decoded) {
            Some(7) => ServerPacket::Animals(groups(decoded.get("animals"), moomoo_animal)?),
            _ => ServerPacket::Animals(groups(decoded.get("animals"), native_animal)?),
        },
        "animals_gone" => ServerPacket::AnimalsRemoved(numbers("animals")?),
        "animal_attacks" => ServerPacket::AnimalAttacks(numbers("animals")?),
        "animate_animal" => ServerPacket::AnimalAttacks(vec![number("sid")?]),
        _ => return clans(decoded),
    })
}

/// The number of values per animal in the table.
fn number_of_values(decoded: &DecodedPacket<'_>) -> Option<usize> {
    let arguments = &decoded.row.arguments;
    match &arguments.get(decoded.row.argument("animals")?)?.ty.shape {
        Shape::Groups { members, .. } => Some(members.len()),
        _ => None,
    }
}

fn native_shot(values: &[Value; 7]) -> Option<Shot> {
    let [id, kind, shooter, x, y, heading, range] = values;
    let (x_px, y_px, range_px) = (half_px(x)?, half_px(y)?, range.as_f64()?);
    let (shooter, heading) = (Some(whole(shooter)?), whole(heading)?);
    Some(Shot { id: whole(id)?, kind: whole(kind)?, shooter, x_px, y_px, heading, range_px })
}

fn moomoo_shot(decoded: &DecodedPacket<'_>) -> Option<Shot> {
    let px = |name| decoded.get(name)?.as_f64();
    Some(Shot {
        id: decoded.get("sid").and_then(whole)?,
        kind: decoded.get("type").and_then(whole)?,
        shooter: None,
        x_px: px("x")?,
        y_px: px("y")?,
        heading: angle::from_radians(px("dir")?)?,
        range_px: px("range")?,
    })
}

pub(super) fn native_animal(values: &[Value; 6]) -> Option<Animal> {
    let [id, kind, x, y, _heading, health] = values;
    let (x_px, y_px) = (half_px(x)?, half_px(y)?);
    Some(Animal { id: whole(id)?, kind: whole(kind)?, x_px, y_px, health: whole(health)? })
}

fn moomoo_animal(values: &[Value; 7]) -> Option<Animal> {
    let [id, kind, x, y, _direction, health, _name] = values;
    let (x_px, y_px) = (x.as_f64()?, y.as_f64()?);
    Some(Animal { id: whole(id)?, kind: whole(kind)?, x_px, y_px, health: whole(health)? })
}

fn clans(decoded: &DecodedPacket<'_>) -> Option<ServerPacket> {
    let number = |name| decoded.get(name).and_then(whole);
    let is_owner = |name| decoded.get(name).and_then(flag) == Some(true);
    let people = |name| groups(decoded.get(name), |[player, _name]: &[Value; 2]| whole(player));
    Some(match decoded.row.name.as_str() {
        "clans" => ServerPacket::Clans(groups(decoded.get("clans"), listed_clan)?),
        "clan_changes" => ServerPacket::ClanChanges {
            ended: groups(decoded.get("ended"), |[id]: &[Value; 1]| whole(id))?,
            founded: groups(decoded.get("founded"), listed_clan)?,
        },
        "add_clan" => ServerPacket::AddClan(added_clan(decoded)?),
        "remove_clan" => ServerPacket::RemoveClan { name: text(decoded.get("name")?)? },
        "clan" => {
            let (members, requesters) = (people("members")?, people("requests")?);
            ServerPacket::OwnClan(OwnClan {
                id: number("clan"),
                is_owner: is_owner("owner"),
                members,
                join_requests: requesters,
            })
        }
        "own_clan" => {
            ServerPacket::OwnName { name: decoded.get("name").and_then(text), is_owner: is_owner("is_owner") }
        }
        "clan_members" => ServerPacket::Members(people("members")?),
        "join_request" => ServerPacket::JoinRequest { player: number("sid")? },
        "clan_tags" => ServerPacket::ClanTags(groups(decoded.get("tags"), |[player, clan]: &[Value; 2]| {
            Some((whole(player)?, whole(clan)))
        })?),
        "clan_mates" => {
            ServerPacket::ClanMates(Some(groups(decoded.get("mates"), |[player, x, y]: &[Value; 3]| {
                Some(Mate { player: Some(whole(player)?), x_px: x.as_f64()?, y_px: y.as_f64()? })
            })?))
        }
        "minimap" => match decoded.get("mates").filter(|mates| mates.as_array().is_some()) {
            None => ServerPacket::ClanMates(None),
            mates => ServerPacket::ClanMates(Some(groups(mates, |[x, y]: &[Value; 2]| {
                Some(Mate { player: None, x_px: x.as_f64()?, y_px: y.as_f64()? })
            })?)),
        },
        "map_ping" => ServerPacket::MapPing { player: number("player") },
        _ => return None,
    })
}

fn listed_clan([id, name, owner]: &[Value; 3]) -> Option<Clan> {
    Some(Clan { id: Some(whole(id)?), name: text(name)?, owner: whole(owner)? })
}

fn added_clan(decoded: &DecodedPacket<'_>) -> Option<Clan> {
    let pairs = decoded.get("clan")?.as_map()?;
    let get = |key: &str| pairs.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value);
    Some(Clan { id: None, name: text(get("sid")?)?, owner: whole(get("owner")?)? })
}
