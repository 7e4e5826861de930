//! Checks at startup that the packets which the feed assembles by hand match the code tables.
//!
//! For a row of a table, this module returns the arguments that the server writes, with the largest
//! values they can have. A table with other types or another stride is rejected with its line
//! number; otherwise every client would misread the packet later.

use rmpv::Value;

use super::grammar::Shape;
use super::row::Row;

const FAR: i64 = i32::MAX as i64;
const COUNT: i64 = u32::MAX as i64;
const ID: i64 = u16::MAX as i64;

/// Sample arguments for a row that the feed assembles by hand; `None` for any other row. Where the
/// dialects differ, one name has two rows; the number of arguments selects the sample.
pub(super) fn sample(row: &Row) -> Option<Vec<Value>> {
    moomoo(row).or_else(|| native(row))
}

fn list(values: &[i64]) -> Value {
    Value::Array(whole(values))
}

fn whole(values: &[i64]) -> Vec<Value> {
    values.iter().map(|value| Value::from(*value)).collect()
}

fn best() -> Value {
    Value::Array(vec![Value::from(ID), Value::from("a name"), Value::from(COUNT)])
}

/// The number of values in a group of the first argument; 0 if the argument has no groups.
fn stride(row: &Row) -> usize {
    match row.arguments.first().map(|argument| &argument.kind.shape) {
        Some(Shape::Groups { members, .. }) => members.len(),
        _ => 0,
    }
}

fn moomoo(row: &Row) -> Option<Vec<Value>> {
    Some(match (row.name.as_str(), row.arguments.len()) {
        ("update_players", _) => {
            let mut player = whole(&[ID, 1, 1]);
            player.extend([Value::from(1.57), Value::from(-1), Value::from(0), Value::from(0), Value::Nil]);
            player.extend([0; 5].map(Value::from));
            vec![Value::Array(player)]
        }
        ("load_objects", _) => {
            let mut object = whole(&[FAR, 1, 1, 0, 175, 3]);
            object.extend([Value::Nil, Value::from(-1)]);
            vec![Value::Array(object)]
        }
        ("leaderboard", 1) => vec![best()],
        ("gather", _) => whole(&[ID, 1, 255]),
        ("wiggle", _) => vec![Value::from(-3.13), Value::from(FAR)],
        ("health", 2) => whole(&[ID, ID]),
        ("value", _) => vec![Value::from("points"), Value::from(COUNT), Value::from(1)],
        ("age", _) => whole(&[COUNT, COUNT, 100]),
        ("died", 0) => Vec::new(),
        ("remove_object", _) => whole(&[FAR]),
        ("items", _) => vec![list(&[22]), Value::from(1)],
        ("upgrades", _) => whole(&[255, 100]),
        ("item_count", _) => whole(&[13, 255]),
        ("animals", _) if stride(row) == 7 => vec![list(&[FAR, 4, FAR, FAR, 3, ID, 44])],
        ("animate_animal", _) => whole(&[FAR]),
        ("turret_shot", _) => vec![Value::from(FAR), Value::from(-3.13)],
        ("add_projectile", _) => {
            let mut shot = whole(&[FAR, FAR]);
            shot.extend([Value::from(-3.13), Value::from(1_400), Value::from(3.6)]);
            shot.extend([5, 0, FAR].map(Value::from));
            shot
        }
        ("remove_projectile", _) => whole(&[FAR, 1_400]),
        ("add_clan", _) => vec![Value::Map(vec![
            (Value::from("sid"), Value::from("clan")),
            (Value::from("owner"), Value::from(ID)),
        ])],
        ("remove_clan", _) => vec![Value::from("clan")],
        ("join_request", _) => vec![Value::from(ID), Value::from("a name")],
        ("own_clan", _) => vec![Value::from("clan"), Value::from(1)],
        ("clan_members", _) => vec![Value::Array(vec![Value::from(ID), Value::from("a name")])],
        ("minimap", _) => vec![list(&[FAR, FAR])],
        ("map_ping", 2) => whole(&[FAR, FAR]),
        ("floating_text", _) => whole(&[FAR, FAR, -ID, 1]),
        _ => return None,
    })
}

fn native(row: &Row) -> Option<Vec<Value>> {
    Some(match (row.name.as_str(), row.arguments.len()) {
        ("update", _) => {
            let mut enter = vec![Value::from(ID), Value::from("a name")];
            enter.extend([9, 0, ID, 255].map(Value::from));
            vec![
                Value::from(COUNT),
                list(&[COUNT, -32_768, FAR, FAR, -FAR, -FAR, 65_535, 65_535]),
                list(&[1, ID]),
                Value::Array(enter),
                list(&[ID, 65_535, 65_535, 255]),
                list(&[ID, -65_535, 65_535]),
                list(&[ID, 255]),
            ]
        }
        ("objects", _) => vec![list(&[COUNT, 3, 65_535, 65_535, 255])],
        ("leaderboard", 3) => vec![best(), Value::from(ID), Value::from(ID)],
        ("swings", _) => vec![list(&[ID, 255, 1])],
        ("shakes", _) => vec![list(&[COUNT, 255])],
        ("health", 1) => vec![list(&[ID, ID])],
        ("stats", _) => whole(&[COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, 100, COUNT]),
        ("died", 2) => vec![Value::from(ID), Value::from("a name")],
        ("structures", _) => vec![list(&[COUNT, 22, ID, 65_535, 65_535, 255])],
        ("gone", _) => vec![list(&[COUNT])],
        ("kit", _) => vec![list(&[15]), list(&[22]), list(&[13, 255])],
        ("offers", _) => vec![Value::from(255), Value::from(9), list(&[38])],
        ("hands", _) => vec![Value::Array(vec![Value::from(ID), Value::from(15), Value::Nil])],
        ("shots", _) => vec![list(&[COUNT, 5, COUNT, 65_535, 65_535, 65_535, 1_400])],
        ("shot_ends", _) => vec![list(&[COUNT, 65_535, 65_535])],
        ("animals", _) => vec![list(&[COUNT, 4, 65_535, 65_535, 255, ID])],
        ("animals_gone" | "strikes", _) => vec![list(&[COUNT])],
        ("clans", _) => vec![Value::Array(vec![Value::from(COUNT), Value::from("clan"), Value::from(ID)])],
        ("clan_changes", _) => {
            let clan = vec![Value::from(COUNT), Value::from("clan"), Value::from(ID)];
            vec![list(&[COUNT]), Value::Array(clan)]
        }
        ("clan", _) => {
            let people = || Value::Array(vec![Value::from(ID), Value::from("a name")]);
            vec![Value::from(COUNT), Value::from(1), people(), people()]
        }
        ("mates", _) => vec![list(&[ID, 65_535, 65_535])],
        ("map_ping", 3) => whole(&[ID, 65_535, 65_535]),
        ("say", _) => vec![Value::from("what the operator says")],
        ("tags", _) => vec![Value::Array(vec![Value::from(ID), Value::Nil])],
        ("kill", _) => vec![Value::from(ID), Value::from("a name"), Value::from(ID), Value::from("a name")],
        _ => return None,
    })
}
