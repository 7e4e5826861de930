//! Prints the dissector for Wireshark and tshark: its parts in `scripts/wireshark/parts/`, with the
//! packet tables and the rules of this program between them.
//!
//! `scripts/wireshark/tickwire.lua` is the output for the built-in tables; a test compares the two.

use std::fmt::Write as _;

use crate::datagram::DatagramError;
use crate::packet::msgpack::Rule;
use crate::packet::tables::Table;
use crate::packet::{Code, PacketTables, grammar, lane_packets};
use crate::ws::close::CloseCode;
use crate::ws::violation::{Violation, ViolationResponse};

macro_rules! parts {
    ($($name:literal)+) => {
        [$(include_str!(concat!("../../../scripts/wireshark/parts/", $name))),+]
    };
}

/// The part before the tables.
const LUA_HEAD: &str = include_str!("../../../scripts/wireshark/parts/1-head.lua");
/// The parts after the tables.
const PARTS: [&str; 17] = parts! {
    "3-msgpack.lua" "4-json.lua" "5-types.lua" "6-walk.lua" "7-glance.lua" "7-rules.lua" "8-cipher.lua"
    "8-datagrams.lua" "8-dissect.lua" "8-frames.lua" "8-heads.lua" "8-judge.lua" "8-menus.lua" "8-single.lua"
    "8-statistics.lua" "8-tcp.lua" "8-udp.lua"
};
/// The last part, in a block of its own, because a Lua file can have only 200 local names.
const LUA_TAIL: &str = include_str!("../../../scripts/wireshark/parts/9-world.lua");

/// Prints the whole file.
pub fn print(codes: &PacketTables) -> String {
    let mut out = LUA_HEAD.to_owned();
    out.push_str("-- table:begin, from packet_codes/\nlocal TABLES = {\n");
    codes.tables.iter().for_each(|one| out.push_str(&table(one)));
    out.push_str("}\n-- table:end\n\n");
    out.push_str(&lane_packets());
    out.push_str("-- rules:begin, from src/ws/, src/packet/ and src/datagram/\nlocal RULES = {\n");
    out.push_str(&rules());
    out.push_str("}\n-- rules:end\n\n");
    PARTS.iter().for_each(|part| out.push_str(part));
    out + "do\n" + LUA_TAIL + "end\n"
}

/// A table as a long string of Lua: a line with its dialects, then a line for each packet:
/// direction, name, a code for each dialect, arguments.
fn table(table: &Table) -> String {
    let mut text = String::new();
    for (at, line) in table.text.lines().enumerate() {
        let cells: Vec<&str> = line.split('\t').collect();
        // Valid because loading the table checked the columns: direction, name, lane, …, arguments,
        // meaning.
        let codes = cells.get(3..cells.len().saturating_sub(2)).unwrap_or_default();
        let leading = if at == 0 { &[][..] } else { &cells[..2] };
        let arguments = if at == 0 { None } else { cells.iter().rev().nth(1) };
        let rows: Vec<&str> = leading.iter().chain(codes).chain(arguments).copied().collect();
        text.push_str(&rows.join("\t"));
        text.push('\n');
    }
    // The text must not contain the closing bracket `]=…]`: takes the first unused number of `=`.
    let level = (0..).map(|count| "=".repeat(count)).find(|level| !text.contains(&format!("]{level}]")));
    let level = level.unwrap_or_default();
    format!("[{level}[\n{text}]{level}],\n")
}

/// The packets of lanes, which are in no table: direction, name, code, arguments.
fn lane_packets() -> String {
    let mut out = "-- src/packet/lane_packets.rs\nTABLES.lane = [[\n".to_owned();
    for row in lane_packets::rows("") {
        let code = row.code("").map(Code::to_string).unwrap_or_default();
        let arguments = grammar::format_arguments(&row.arguments);
        let _ = writeln!(out, "{}\t{}\t{code}\t{arguments}", row.direction.name(), row.name);
    }
    out + "]]\n\n"
}

/// Each rule that a peer can break: its citation, the response, and its description.
fn rules() -> String {
    let mut out = String::new();
    let mut row = |name: &str, address: &str, answer: &str, sentence: &str| {
        let _ = writeln!(out, "    {name} = {{ \"{address}\", \"{answer}\", \"{sentence}\" }},");
    };
    for rule in Violation::ALL {
        let answer = match rule.response() {
            ViolationResponse::Close(code) => format!("close {code}"),
            ViolationResponse::Status(status) => format!("status {status}"),
            ViolationResponse::Drop => "drop the connection".to_owned(),
        };
        row(rule.name(), &rule.citation(), &answer, &rule.to_string());
    }
    let answer = format!("close {}", CloseCode::INVALID_PAYLOAD);
    for rule in Rule::ALL {
        row(rule.name(), "PROTOCOL.md", &answer, rule.sentence());
    }
    for rule in DatagramError::ALL {
        row(rule.name(), "PROTOCOL.md", rule.response(), &rule.to_string());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_lists_does_not_end_the_text_of_its_table() {
        let text = "direction\tname\tlane\tx:int\targuments\tmeaning\nto_client\tgrid\tlatest\t1\tcells:[[u8]]\ta map\n";
        let codes = PacketTables::from_texts(&[("grid.tsv", text)]).expect("a good table");
        let expected = "[=[\nx:int\nto_client\tgrid\t1\tcells:[[u8]]\n]=],\n";
        assert_eq!(table(&codes.tables[0]), expected);
    }

    #[test]
    fn no_sentence_ends_the_text_that_holds_it() {
        let sentences = Violation::ALL.iter().map(ToString::to_string);
        let all = sentences.chain(Rule::ALL.iter().map(|rule| rule.sentence().to_owned()));
        let all = all.chain(DatagramError::ALL.iter().map(ToString::to_string));
        all.for_each(|sentence| assert!(!sentence.contains(['"', '\\']), "{sentence}"));
    }
}
