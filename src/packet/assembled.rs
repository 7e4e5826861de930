//! Checks at startup that the packets which the feed assembles by hand match the code tables.
//!
//! For a row of a table, this module returns the arguments that the server writes, with the largest values they can have. A table
//! with other types or another stride is rejected with its line number; otherwise every client would misread the packet later.

use rmpv::Value;

use crate::limits;

use super::grammar::Shape;
use super::json;
use super::msgpack::Bounds;
use super::row::Row;

/// Name and arguments of each packet, of the MooMoo dialects and then of the native one. `ID` is the largest number of a player,
/// `FAR` the largest i32 and `ALL` the largest u32.
const SAMPLES: &[(&str, &str)] = &[
    ("update_players", r#"[[ID,1,1,1.57,-1,0,0,null,0,0,0,0,0]]"#),
    ("load_objects", r#"[[FAR,1,1,0,175,3,null,-1]]"#),
    ("leaderboard", r#"[[ID,"a name",ALL]]"#),
    ("gather", "[ID,1,255]"),
    ("wiggle", "[-3.13,FAR]"),
    ("health", "[ID,ID]"),
    ("value", r#"["points",ALL,1]"#),
    ("age", "[ALL,ALL,100]"),
    ("died", "[]"),
    ("remove_object", "[FAR]"),
    ("items", "[[22],1]"),
    ("upgrades", "[255,100]"),
    ("item_count", "[13,255]"),
    ("animals", "[[FAR,4,FAR,FAR,3,ID,44]]"),
    ("animate_animal", "[FAR]"),
    ("turret_shot", "[FAR,-3.13]"),
    ("add_projectile", "[FAR,FAR,-3.13,1400,3.6,5,0,FAR]"),
    ("remove_projectile", "[FAR,1400]"),
    ("remove_clan", r#"["clan"]"#),
    ("join_request", r#"[ID,"a name"]"#),
    ("own_clan", r#"["clan",1]"#),
    ("clan_members", r#"[[ID,"a name"]]"#),
    ("minimap", "[[FAR,FAR]]"),
    ("map_ping", "[FAR,FAR]"),
    ("floating_text", "[FAR,FAR,-ID,1]"),
    (
        "update",
        r#"[ALL,[ALL,-32768,FAR,FAR,-FAR,-FAR,65535,65535],[1,ID],[ID,"a name",9,0,ID,255],[ID,65535,65535,255],[ID,-65535,65535],[ID,255]]"#,
    ),
    ("objects", "[[ALL,3,65535,65535,255]]"),
    ("leaderboard", r#"[[ID,"a name",ALL],ID,ID]"#),
    ("swings", "[[ID,255,1]]"),
    ("shakes", "[[ALL,255]]"),
    ("health", "[[ID,ID]]"),
    ("stats", "[ALL,ALL,ALL,ALL,ALL,ALL,ALL,100,ALL]"),
    ("died", r#"[ID,"a name"]"#),
    ("structures", "[[ALL,22,ID,65535,65535,255]]"),
    ("gone", "[[ALL]]"),
    ("kit", "[[15],[22],[13,255]]"),
    ("offers", "[255,9,[38]]"),
    ("hands", "[[ID,15,null]]"),
    ("shots", "[[ALL,5,ALL,65535,65535,65535,1400]]"),
    ("shot_ends", "[[ALL,65535,65535]]"),
    ("animals", "[[ALL,4,65535,65535,255,ID]]"),
    ("animals_gone", "[[ALL]]"),
    ("strikes", "[[ALL]]"),
    ("clans", r#"[[ALL,"clan",ID]]"#),
    ("clan_changes", r#"[[ALL],[ALL,"clan",ID]]"#),
    ("clan", r#"[ALL,1,[ID,"a name"],[ID,"a name"]]"#),
    ("mates", "[[ID,65535,65535]]"),
    ("map_ping", "[ID,65535,65535]"),
    ("say", r#"["a message from the operator"]"#),
    ("tags", "[[ID,null]]"),
    ("kill", r#"[ID,"a name",ID,"a name"]"#),
];

/// Sample arguments for a row that the feed assembles by hand; `None` for any other row. Where the dialects differ, one name has
/// two samples: the number of arguments, or else the stride of the first one, tells which is meant.
pub(super) fn sample(row: &Row) -> Option<Vec<Value>> {
    if row.name == "add_clan" {
        // Reading JSON does not keep the order of keys.
        let clan = [("sid", Value::from("clan")), ("owner", Value::from(u16::MAX))];
        return Some(vec![Value::Map(clan.map(|(key, value)| (Value::from(key), value)).into())]);
    }
    let of_name = SAMPLES.iter().filter(|(name, _)| *name == row.name);
    let mut samples: Vec<Vec<Value>> = of_name.filter_map(|(_, text)| read(text)).collect();
    if samples.len() > 1 {
        samples.retain(|values| values.len() == row.arguments.len());
    }
    let stride = match row.arguments.first().map(|argument| &argument.kind.shape) {
        Some(Shape::Groups { members, .. }) => members.len(),
        _ => 1,
    };
    let fits = |values: &Vec<Value>| {
        values.first().and_then(Value::as_array).is_none_or(|list| list.len().is_multiple_of(stride))
    };
    let at = samples.iter().position(fits).or(samples.len().checked_sub(1))?;
    Some(samples.swap_remove(at))
}

fn read(text: &str) -> Option<Vec<Value>> {
    let text = text.replace("ID", "65535").replace("FAR", "2147483647").replace("ALL", "4294967295");
    let bounds = Bounds { depth: limits::PACKET_DEPTH, values: limits::PACKET_VALUES };
    match json::read(&text, bounds) {
        Ok(Value::Array(values)) => Some(values),
        _ => None,
    }
}
