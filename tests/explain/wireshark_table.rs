//! Compares the Wireshark dissector with the code: its file is up to date with its parts and the
//! tables, and its copies of the server's rules are correct.
//!
//! A failure names the command to run. Wireshark is not needed: `tests/wireshark/run.py` tests its
//! output.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tickwire::explain::guess::LIKELY;
use tickwire::limits;
use tickwire::packet::codes::Table;
use tickwire::packet::endpoint::PATHS;
use tickwire::packet::grammar::print_arguments;
use tickwire::packet::msgpack::Rule;
use tickwire::packet::{Code, Codes, Row};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/wireshark")
}

fn dissector() -> String {
    fs::read_to_string(folder().join("tickwire.lua")).expect("the dissector is there")
}

#[test]
fn the_dissector_is_built_from_its_parts_and_the_tables() {
    let script = folder().join("build.sh");
    let done = Command::new("sh").arg(script).arg("--check").output().expect("a shell is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_stale_dissector_is_noticed() {
    let script = folder().join("build.sh");
    let stale = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stale.lua");
    fs::write(&stale, dissector().replace("\tmove\t", "\twalk\t")).expect("a file can be written");
    let done = Command::new("sh").arg(script).arg("--check").arg("--output").arg(&stale).output();
    assert_eq!(done.expect("a shell is there").status.code(), Some(1));
}

/// A row as the dissector has it: direction, name, a code for each dialect, arguments.
fn line(table: &Table, row: &Row) -> String {
    let mut cells = vec![row.direction.name().to_owned(), row.name.clone()];
    cells.extend(
        table.dialects.iter().map(|dialect| row.code(dialect).map_or("-".to_owned(), Code::to_string)),
    );
    cells.push(print_arguments(&row.arguments));
    cells.join("\t")
}

#[test]
fn the_dissector_guesses_dialects_in_the_order_of_explain() {
    let names: Vec<String> = LIKELY.iter().map(|name| format!("\"{name}\"")).collect();
    let line = format!("local LIKELY = {{ {} }}", names.join(", "));
    assert!(dissector().lines().any(|one| one == line), "no line {line}");
}

#[test]
fn every_packet_of_the_server_is_in_the_dissector_and_no_other() {
    let text = dissector();
    let begin = text.find("-- table:begin").expect("the marker before the table");
    let end = text.find("-- table:end").expect("the marker after the table");
    let lines = text[begin..end].lines().filter(|line| line.starts_with("to_"));
    let mut shown: Vec<String> = lines.map(str::to_owned).collect();
    let codes = Codes::builtin();
    let tables = codes.tables.iter();
    let mut rows: Vec<String> =
        tables.flat_map(|table| table.rows.iter().map(|row| line(table, row))).collect();
    shown.sort();
    rows.sort();
    assert_eq!(shown, rows);
}

/// The value of a `local NAME = value` of the dissector.
fn local<'a>(text: &'a str, name: &str) -> &'a str {
    let rest = text.split(&format!("\nlocal {name} = ")).nth(1).unwrap_or_else(|| panic!("{name} is there"));
    rest.lines().next().unwrap_or_default()
}

#[test]
fn bounds_are_those_of_the_server() {
    let text = dissector();
    let bounds = [
        ("PACKET_DEPTH", limits::PACKET_DEPTH),
        ("PACKET_VALUES", limits::PACKET_VALUES),
        ("CLIENT_PACKET_VALUES", limits::CLIENT_PACKET_VALUES),
        ("MESSAGE_BYTES", limits::MESSAGE_BYTES),
        ("MESSAGE_FRAGMENTS", limits::MESSAGE_FRAGMENTS),
        ("HEAD_BYTES", limits::HEAD_BYTES),
        ("HEAD_HEADERS", limits::HEAD_HEADERS),
        ("TARGET_BYTES", limits::TARGET_BYTES),
        ("SUBPROTOCOLS", limits::SUBPROTOCOLS),
        ("EXPLAIN_GUESS_BEHIND", limits::EXPLAIN_GUESS_BEHIND),
    ];
    for (name, value) in bounds {
        assert_eq!(local(&text, name), value.to_string(), "{name}");
    }
}

#[test]
fn paths_and_their_dialects_are_those_of_the_server() {
    let text = dissector();
    let shown: BTreeMap<&str, &str> = local(&text, "PATHS")
        .split(['{', ',', '}'])
        .filter_map(|entry| entry.split_once("] = "))
        .map(|(path, dialect)| {
            (path.trim().trim_start_matches('[').trim_matches('"'), dialect.trim().trim_matches('"'))
        })
        .collect();
    assert_eq!(shown, BTreeMap::from(PATHS));
}

#[test]
fn every_rule_of_a_message_is_named_by_the_dissector() {
    let text = dissector();
    for name in Rule::ALL.iter().map(|rule| rule.name()).chain(["wrong_arguments", "unknown_code"]) {
        assert!(text.contains(&format!("\"{name}\"")), "the dissector does not name {name}");
    }
}
