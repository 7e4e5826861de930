//! Checks that a row fits the server: it must have the arguments that the server reads, and types
//! that can hold the values that the server writes. Without this check, packets would be dropped or
//! misread later without an error.

use rmpv::Value;

use crate::packet::coerce::coerce_arguments;
use crate::packet::grammar::{Shape, Unit};
use crate::packet::{Code, Direction, Row, json};

/// A test whether a type can hold a required value.
type ShapeTest = fn(&Shape) -> bool;

const IS_INTEGER: ShapeTest = |shape| matches!(shape, Shape::Int { .. });
const IS_BOOL: ShapeTest = |shape| matches!(shape, Shape::Bool | Shape::Flag);
const IS_TEXT: ShapeTest = |shape| matches!(shape, Shape::Str { .. });
const IS_MAP: ShapeTest = |shape| matches!(shape, Shape::Map(_));
const IS_ANGLE: ShapeTest = |shape| match shape {
    Shape::Num { unit } => *unit == Some(Unit::Rad),
    Shape::Int { unit, .. } => matches!(unit, Some(Unit::Turn16 | Unit::Turn8)),
    _ => false,
};

/// Arguments that the server requires in client packets. `|` separates the names in different
/// dialects.
const REQUIRED_ARGUMENTS: [(&str, &str, ShapeTest); 17] = [
    ("hello", "version", IS_INTEGER),
    ("hello", "mode", IS_INTEGER),
    ("join", "name", IS_TEXT),
    ("enter_game", "player", IS_MAP),
    ("move", "direction", IS_ANGLE),
    ("aim", "heading", IS_ANGLE),
    ("attack", "state", IS_BOOL),
    ("select", "id", IS_INTEGER),
    ("select", "is_weapon", IS_BOOL),
    ("upgrade", "choice", IS_INTEGER),
    ("chat", "text", IS_TEXT),
    ("clan_create", "name", IS_TEXT),
    ("clan_request", "name", IS_TEXT),
    ("clan_answer", "player|sid", IS_INTEGER),
    ("clan_kick", "player|sid", IS_INTEGER),
    ("toggle", "what", IS_BOOL),
    ("spectate", "player", IS_INTEGER),
];

/// Placeholders for the largest values in the samples below.
const LARGEST_SAMPLES: [(&str, &str); 5] = [
    ("ID", "65535"),
    ("FAR", "2147483647"),
    ("ALL", "4294967295"),
    ("HEX", r#""0123456789abcdef""#),
    ("NAME", r#""fifteen letters""#),
];

/// Typed server packets, each with the largest arguments that the server writes.
const TYPED_SAMPLES: &[(&str, &str)] = &[
    ("io_init", "[HEX]"),
    ("init_data", r#"[{"teams":[]}]"#),
    ("disconnect", "[NAME]"),
    ("setup", "[ID]"),
    ("add_player", "[[HEX,ID,NAME,32767,32767,0.79,ID,ID,255,9],true]"),
    ("remove_player", "[HEX]"),
    ("chat", "[ID,NAME]"),
    ("pong", "[ALL,ALL]"),
    ("welcome", "[1,HEX,ALL,32767,60,60,HEX,ALL]"),
    ("spawned", "[ID]"),
    ("error", "[NAME,HEX]"),
    ("spectating", "[null]"),
];

/// As `TYPED_SAMPLES`, for packets that the feed assembles for the MooMoo dialects.
const MOOMOO_SAMPLES: &[(&str, &str)] = &[
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
    ("add_clan", r#"[{"sid":"clan","owner":ID}]"#),
    ("remove_clan", r#"["clan"]"#),
    ("join_request", r#"[ID,"a name"]"#),
    ("own_clan", r#"["clan",1]"#),
    ("clan_members", r#"[[ID,"a name"]]"#),
    ("minimap", "[[FAR,FAR]]"),
    ("map_ping", "[FAR,FAR]"),
    ("floating_text", "[FAR,FAR,-ID,1]"),
];

/// As `TYPED_SAMPLES`, for packets that the feed assembles for the native dialect.
const NATIVE_SAMPLES: &[(&str, &str)] = &[
    (
        "update",
        r#"[ALL,[ALL,-32768,FAR,FAR,-FAR,-FAR,65535,65535],[1,ID],[ID,"a name",9,0,ID,255],[ID,65535,65535,255],[ID,-65535,65535],[ID,255]]"#,
    ),
    ("objects", "[[ALL,3,65535,65535,255]]"),
    ("leaderboard", r#"[[ID,"a name",ALL],ID,ID]"#),
    ("swings", "[[ID,255,1]]"),
    ("object_hits", "[[ALL,255]]"),
    ("health", "[[ID,ID]]"),
    ("stats", "[ALL,ALL,ALL,ALL,ALL,ALL,ALL,100,ALL]"),
    ("died", r#"[ID,"a name"]"#),
    ("structures", "[[ALL,22,ID,65535,65535,255]]"),
    ("structures_gone", "[[ALL]]"),
    ("inventory", "[[15],[22],[13,255]]"),
    ("upgrade_offers", "[255,9,[38]]"),
    ("held_items", "[[ID,15,null]]"),
    ("spawn_protection", "[[ID,1]]"),
    ("shots", "[[ALL,5,ALL,65535,65535,65535,1400]]"),
    ("shot_ends", "[[ALL,65535,65535]]"),
    ("animals", "[[ALL,4,65535,65535,255,ID]]"),
    ("animals_gone", "[[ALL]]"),
    ("animal_attacks", "[[ALL]]"),
    ("clans", r#"[[ALL,"clan",ID]]"#),
    ("clan_changes", r#"[[ALL],[ALL,"clan",ID]]"#),
    ("clan", r#"[ALL,1,[ID,"a name"],[ID,"a name"]]"#),
    ("clan_mates", "[[ID,65535,65535]]"),
    ("map_ping", "[ID,65535,65535]"),
    ("notice", r#"["a message from the operator"]"#),
    ("clan_tags", "[[ID,null]]"),
    ("kill", r#"[ID,"a name",ID,"a name"]"#),
    ("command_accepted", "[[ALL,255,ALL]]"),
    ("command_rejected", "[[ALL,NAME]]"),
];

/// Checks a row against the values that the server reads or writes in it.
pub fn check_row(row: &Row) -> Result<(), String> {
    match row.direction {
        Direction::ToServer => check_read(row),
        Direction::ToClient => samples(row).try_for_each(|sample| check_written(row, sample)),
    }
}

fn check_read(row: &Row) -> Result<(), String> {
    for (_, name, is_met_by) in REQUIRED_ARGUMENTS.iter().filter(|(packet, ..)| *packet == row.name) {
        let Some(at) = name.split('|').find_map(|name| row.argument(name)) else {
            return Err(format!("{} lacks the argument {name:?}, which the server needs", row.name));
        };
        let argument = &row.arguments[at];
        if !is_met_by(&argument.ty.shape) {
            return Err(format!(
                "the argument {argument} of {} has a type that the server cannot use",
                row.name
            ));
        }
    }
    Ok(())
}

/// The sample arguments of all packets that the server writes with this row.
fn samples(row: &Row) -> impl Iterator<Item = &'static str> {
    let is_native = |(dialect, _): &(String, Code)| dialect == "native";
    let feeds = [
        (row.codes.iter().any(is_native), NATIVE_SAMPLES),
        (!row.codes.iter().all(is_native), MOOMOO_SAMPLES),
    ];
    let feeds = feeds.into_iter().filter(|(is_written, _)| *is_written);
    let packets = feeds.flat_map(|(_, packets)| packets).chain(TYPED_SAMPLES);
    packets.filter(|(name, _)| *name == row.name).map(|(_, arguments)| *arguments)
}

fn check_written(row: &Row, sample: &str) -> Result<(), String> {
    let name = &row.name;
    let text =
        LARGEST_SAMPLES.iter().fold(sample.to_owned(), |text, (word, value)| text.replace(word, value));
    let Ok(Value::Array(mut values)) = json::read(&text, Direction::ToClient) else {
        return Err(format!("the sample {text} of {name} is not a list"));
    };
    if name == "pong" {
        // In the MooMoo dialects, `pong` has no arguments.
        values.truncate(row.arguments.len());
    }
    let count = values.len();
    if count > row.arguments.len() {
        return Err(format!("the server sends more arguments than {name} has in these tables"));
    }
    let written = json::to_text(&Value::Array(values.clone()));
    let mut fitted = values;
    coerce_arguments(&row.arguments, &mut fitted)
        .map_err(|wrong| format!("the server's own packet {name} does not match the tables: {wrong}"))?;
    fitted.truncate(count);
    // Compared as text, because the keys of a map have no order.
    if json::to_text(&Value::Array(fitted)) != written {
        return Err(format!(
            "with the types in these tables, the server's own packet {name} would not keep its values"
        ));
    }
    Ok(())
}
