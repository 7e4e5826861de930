//! What the feed assembles by hand, held against the tables at start.
//!
//! In: a row of a table. Out: the arguments that the server writes for it, with the largest values that they can have. A
//! table with other types or another stride is refused with its line, instead of confusing every client later.

use rmpv::Value;

use super::codes::Row;

const FAR: i64 = i32::MAX as i64;
const COUNT: i64 = u32::MAX as i64;
const ID: i64 = u16::MAX as i64;

/// What the server says in a row that is assembled by hand; `None` for any other row. A name may stand for two rows where
/// the dialects differ; the one with as many arguments is meant.
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
        ("kill", _) => vec![Value::from(ID), Value::from("a name"), Value::from(ID), Value::from("a name")],
        _ => return None,
    })
}
