//! The packet tables as JSON, and their hash. `tickwire codes --format json` prints them, and pages
//! read `codes.json`.
//!
//! Both have the type of each argument in the notation of the tables, and its members. The printed
//! form has the parsed type as well, so that a generator of clients needs no parser of the
//! notation. `codes.json` omits it, because each page requests that file for each connection.

use serde_json::{Map, Value as Json, json};

use super::PacketTables;
use super::grammar::{Argument, Shape, Type};
use super::json::json_object;
use super::row::{Code, Row};
use super::tables::Table;

/// Returns all tables: `hash`, and for each table its file, its dialects and its rows.
pub fn tables_json(codes: &PacketTables) -> Json {
    let tables: Vec<Json> = codes.tables.iter().map(json_table).collect();
    json!({ "hash": hash_text(codes), "tables": tables })
}

/// The same as [`tables_json()`] without the parsed types, with a line for each row: the file
/// `codes.json`. `lanes` are the carriers of lanes, `udp` and `webrtc`. The member `lanes` is
/// omitted if there are none.
pub fn tables_json_lines(codes: &PacketTables, lanes: &[&str]) -> String {
    let table = |table: &Table| {
        let rows: Vec<String> =
            table.rows.iter().map(|row| json_row(row, notation_json).to_string()).collect();
        let (file, dialects) = (Json::from(table.name()), Json::from(table.dialects.clone()));
        format!("{{\"file\":{file},\"dialects\":{dialects},\"rows\":[\n{}\n]}}", rows.join(",\n"))
    };
    let tables: Vec<String> = codes.tables.iter().map(table).collect();
    let lanes = if lanes.is_empty() { String::new() } else { format!("\"lanes\":{},", Json::from(lanes)) };
    format!("{{\"hash\":\"{}\",{lanes}\"tables\":[\n{}\n]}}\n", hash_text(codes), tables.join(",\n"))
}

/// The [hash](PacketTables::hash) in 16 hexadecimal digits.
fn hash_text(codes: &PacketTables) -> String {
    format!("{:016x}", codes.hash())
}

fn json_table(table: &Table) -> Json {
    let rows: Vec<Json> = table.rows.iter().map(|row| json_row(row, parsed_json)).collect();
    json!({ "file": table.name(), "dialects": table.dialects, "rows": rows })
}

fn json_row(row: &Row, json_type: fn(&Type) -> Map<String, Json>) -> Json {
    let code = |code: &Code| match code {
        Code::Str(code) => Json::from(code.as_str()),
        Code::Int(code) => Json::from(*code),
    };
    let codes = json_object(row.codes.iter().map(|(dialect, own)| (dialect.clone(), code(own))));
    json!({
        "direction": row.direction.name(),
        "name": row.name,
        "lane": row.lane.name(),
        "codes": codes,
        "arguments": json_arguments(&row.arguments, json_type),
        "meaning": row.meaning,
    })
}

fn json_arguments(arguments: &[Argument], json_type: fn(&Type) -> Map<String, Json>) -> Json {
    let named = arguments.iter().map(|argument| {
        let mut json = json_object([("name".to_owned(), Json::from(argument.name.as_str()))]);
        json.extend(json_type(&argument.ty));
        Json::from(json)
    });
    named.collect()
}

/// The type in the notation of the tables, and its members.
fn notation_json(ty: &Type) -> Map<String, Json> {
    let mut json = json_object([("type".to_owned(), Json::from(ty.to_string()))]);
    if let Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } = &ty.shape {
        json.insert("members".to_owned(), json_arguments(members, notation_json));
    }
    json
}

/// The type in the notation of the tables and parsed: its kind, bounds, unit, members or entries,
/// and the other values that it accepts.
fn parsed_json(ty: &Type) -> Map<String, Json> {
    let mut json = Map::new();
    let mut put = |key: &str, value: Json| drop(json.insert(key.to_owned(), value));
    put("type", ty.to_string().into());
    put("kind", ty.shape.kind().into());
    match &ty.shape {
        Shape::Int { bits, min, max, .. } => {
            put("bits", (*bits).into());
            put("signed", (*min < 0).into());
            put("min", (*min).into());
            put("max", (*max).into());
        }
        Shape::Str { max } | Shape::Bin { max } | Shape::Groups { max, .. } | Shape::List { max, .. } => {
            max.iter().for_each(|max| put("max", (*max).into()));
        }
        _ => {}
    }
    match &ty.shape {
        Shape::Int { unit: Some(unit), .. } | Shape::Num { unit: Some(unit) } => {
            put("unit", unit.name().into());
        }
        Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } => {
            put("members", json_arguments(members, parsed_json));
        }
        Shape::List { each, .. } => put("each", parsed_json(each).into()),
        _ => {}
    }
    for (key, is_so) in [("nil", ty.or_nil), ("zero", ty.or_zero), ("loose", ty.is_loose)] {
        if is_so {
            put(key, true.into());
        }
    }
    json
}

fn hash<'a>(rows: impl Iterator<Item = &'a Row>) -> u64 {
    // 64-bit FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut put = |text: &str| {
        for byte in text.bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for row in rows {
        put(&row_signature(row));
    }
    hash
}

impl PacketTables {
    /// Computes a hash of everything on which a client and a server must agree: the direction,
    /// name, lane, codes and arguments of each packet. File names and meanings do not count.
    pub fn hash(&self) -> u64 {
        hash(self.rows())
    }

    /// Computes the [hash](PacketTables::hash) of the packets of one dialect. Tables of other games
    /// do not count.
    pub fn dialect_hash(&self, dialect: &str) -> u64 {
        hash(self.rows().filter(|row| row.codes.iter().any(|(name, _)| name == dialect)))
    }
    /// Describes the first packet that differs from `other`. Returns `None` if both agree on
    /// everything that [`PacketTables::hash`] covers.
    pub fn first_difference(&self, other: &PacketTables) -> Option<String> {
        let lines = |codes: &PacketTables| codes.rows().map(row_signature).collect::<Vec<_>>();
        let (own, others) = (lines(self), lines(other));
        let at = (0..own.len().max(others.len())).find(|at| own.get(*at) != others.get(*at))?;
        let text_of =
            |lines: &[String]| lines.get(at).map_or("no packet".to_owned(), |line| format!("`{line}`"));
        Some(format!("{} in place of {}", text_of(&own), text_of(&others)))
    }
}

/// Formats everything in a row except its meaning.
fn row_signature(row: &Row) -> String {
    let codes = row.codes.iter().map(|(dialect, code)| match code {
        Code::Str(code) => format!("{dialect}:{code:?}"),
        Code::Int(code) => format!("{dialect}:{code}"),
    });
    let words = [row.direction.name(), &row.name, row.lane.name()].map(str::to_owned);
    let arguments = row.arguments.iter().map(Argument::to_string);
    words.into_iter().chain(codes).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::grammar::parse_arguments;
    use crate::packet::tables::BUILTIN;

    fn changed(from: &str, to: &str) -> PacketTables {
        let texts = BUILTIN.map(|(file, text)| (format!("other/{file}"), text.replacen(from, to, 1)));
        PacketTables::from_texts(&texts).expect("good tables")
    }

    #[test]
    fn the_hash_covers_codes_and_arguments_but_neither_meanings_nor_file_names() {
        let builtin = PacketTables::builtin();
        let same = changed("walk this way", "go there");
        assert_eq!((same.hash(), same.first_difference(&builtin)), (builtin.hash(), None));
        for (from, to) in
            [("\tnotice\treliable\t30\t", "\tnotice\treliable\t90\t"), ("text:str<=60", "text:str<=61")]
        {
            let other = changed(from, to);
            assert_ne!(other.hash(), builtin.hash(), "{to}");
            let words = other.first_difference(&builtin).expect("they differ");
            assert!(words.contains("to_client notice"), "{words}");
        }
    }

    #[test]
    fn codes_json_has_the_rows_and_members_without_the_parsed_types() {
        let codes = changed("walk this way", "say \"go\"");
        let read: Json = serde_json::from_str(&tables_json_lines(&codes, &[])).expect("JSON");
        let whole = tables_json(&codes);
        assert_eq!(read["hash"], whole["hash"]);
        assert_eq!(read["tables"][1]["file"], "native.tsv", "without the directory");
        let update = |json: &Json| {
            let rows = json["tables"][1]["rows"].as_array().expect("rows");
            rows.iter().find(|row| row["name"] == "update").expect("update").clone()
        };
        let (row, whole) = (update(&read), update(&whole));
        assert_eq!(row["arguments"][5]["members"][1], json!({ "name": "dx", "type": "i32.hpx" }));
        for key in ["direction", "name", "lane", "codes", "meaning"] {
            assert_eq!(row[key], whole[key], "{key}");
        }
    }

    #[test]
    fn a_parsed_type_has_its_kind_bounds_unit_members_and_alternatives() {
        let int = |bits: u32, min: i64, max: i64| json!({ "kind": "int", "bits": bits, "signed": min < 0, "min": min, "max": max });
        for (cell, expected) in [
            ("u8<=4", int(8, 0, 4)),
            ("i16", int(16, -32768, 32767)),
            (
                "u32.tick|nil",
                json!({ "unit": "tick", "nil": true, "kind": "int", "bits": 32, "signed": false, "min": 0, "max": 4_294_967_295_u32 }),
            ),
            ("num.rad|loose", json!({ "kind": "num", "unit": "rad", "loose": true })),
            ("flag", json!({ "kind": "flag" })),
            ("bool", json!({ "kind": "bool" })),
            ("any", json!({ "kind": "any" })),
            ("str<=15", json!({ "kind": "str", "max": 15 })),
            ("str", json!({ "kind": "str" })),
            ("bin<=9|0", json!({ "kind": "bin", "max": 9, "zero": true })),
            (
                "[str<=3]<=2",
                json!({ "kind": "list", "max": 2, "each": { "type": "str<=3", "kind": "str", "max": 3 } }),
            ),
            (
                "[id:bool]<=7",
                json!({ "kind": "groups", "max": 7, "members": [{ "name": "id", "type": "bool", "kind": "bool" }] }),
            ),
            (
                "(id:bool)",
                json!({ "kind": "tuple", "members": [{ "name": "id", "type": "bool", "kind": "bool" }] }),
            ),
            (
                "{id:bool}",
                json!({ "kind": "map", "members": [{ "name": "id", "type": "bool", "kind": "bool" }] }),
            ),
        ] {
            let argument = parse_arguments(&format!("a:{cell}")).expect(cell).remove(0);
            let mut expected = expected;
            expected["type"] = cell.into();
            assert_eq!(Json::from(parsed_json(&argument.ty)), expected, "{cell}");
        }
    }
}
