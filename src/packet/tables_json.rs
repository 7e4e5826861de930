//! The packet tables as JSON, and their hash. `tickwire codes --format json` prints them, and pages
//! read `codes.json`.
//!
//! Types stay in the notation of the tables. An argument with members also lists them, so that
//! clients need no parser of the notation.

use serde_json::{Map, Value as Json, json};

use super::PacketTables;
use super::grammar::{Argument, Shape};
use super::row::{Code, Row};
use super::tables::Table;

/// Returns all tables: `hash`, and for each table its file, its dialects and its rows.
pub fn tables_json(codes: &PacketTables) -> Json {
    let tables: Vec<Json> = codes.tables.iter().map(json_table).collect();
    json!({ "hash": hash_text(codes), "tables": tables })
}

/// The same as [`tables_json()`], with a line for each row: the file `codes.json`.
pub fn tables_json_lines(codes: &PacketTables) -> String {
    let table = |table: &Table| {
        let rows: Vec<String> = table.rows.iter().map(|row| json_row(row).to_string()).collect();
        let (file, dialects) = (Json::from(table.name()), Json::from(table.dialects.clone()));
        format!("{{\"file\":{file},\"dialects\":{dialects},\"rows\":[\n{}\n]}}", rows.join(",\n"))
    };
    let tables: Vec<String> = codes.tables.iter().map(table).collect();
    format!("{{\"hash\":\"{}\",\"tables\":[\n{}\n]}}\n", hash_text(codes), tables.join(",\n"))
}

/// The [hash](PacketTables::hash) in 16 hexadecimal digits.
fn hash_text(codes: &PacketTables) -> String {
    format!("{:016x}", codes.hash())
}

fn json_table(table: &Table) -> Json {
    let rows: Vec<Json> = table.rows.iter().map(|row| json_row(row)).collect();
    json!({ "file": table.name(), "dialects": table.dialects, "rows": rows })
}

fn json_row(row: &Row) -> Json {
    let code = |code: &Code| match code {
        Code::Str(code) => Json::from(code.as_str()),
        Code::Int(code) => Json::from(*code),
    };
    let codes: Map<String, Json> =
        row.codes.iter().map(|(dialect, own)| (dialect.clone(), code(own))).collect();
    json!({
        "direction": row.direction.name(),
        "name": row.name,
        "lane": row.lane.name(),
        "codes": codes,
        "arguments": row.arguments.iter().map(json_argument).collect::<Vec<_>>(),
        "meaning": row.meaning,
    })
}

fn json_argument(argument: &Argument) -> Json {
    let mut json = json!({ "name": argument.name, "type": argument.ty.to_string() });
    if let Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } = &argument.ty.shape {
        json["members"] = members.iter().map(json_argument).collect();
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
    fn both_forms_mean_the_same_and_members_are_listed() {
        let codes = changed("walk this way", "say \"go\"");
        let read: Json = serde_json::from_str(&tables_json_lines(&codes)).expect("JSON");
        assert_eq!(read, tables_json(&codes));
        assert_eq!(read["tables"][1]["file"], "native.tsv", "without the directory");
        let rows = read["tables"][1]["rows"].as_array().expect("rows");
        let update = rows.iter().find(|row| row["name"] == "update").expect("update");
        assert_eq!(update["arguments"][5]["members"][1], json!({ "name": "dx", "type": "i32.hpx" }));
    }
}
