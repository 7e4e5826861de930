//! Compares the Wireshark dissector with the code: its file is up to date with its parts and the
//! tables, and its copies of the server's rules are correct.
//!
//! A failure names the command to run. Wireshark is not needed: `tests/wireshark/run.py` tests its
//! output.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tickwire::internal::cli::tables::print::{TablesFormat, print};
use tickwire::internal::datagram::DatagramError;
use tickwire::internal::datagram::endpoint::DATAGRAM_OVERHEAD_BYTES;
use tickwire::internal::datagram::header::HEADER_BYTES;
use tickwire::internal::games;
use tickwire::internal::limits;
use tickwire::internal::packet::routes::DEFAULT_PATHS;
use tickwire::internal::packet::tables::Table;
use tickwire::internal::tools::explain::dialect_guess::DIALECTS_BY_LIKELIHOOD;
use tickwire::packet::grammar::format_arguments;
use tickwire::packet::msgpack::Rule;
use tickwire::packet::{Code, PacketTables, Row};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/wireshark")
}

fn dissector() -> String {
    fs::read_to_string(directory().join("tickwire.lua")).expect("the dissector is there")
}

#[test]
fn the_committed_dissector_is_what_the_program_prints_for_the_built_in_tables() {
    let is_same = print(&games::built_in_tables(), TablesFormat::Wireshark) == dissector();
    assert!(is_same, "tickwire.lua is stale; refresh it with: scripts/wireshark/build.sh");
}

#[test]
fn every_part_is_in_the_dissector_in_the_order_of_the_names() {
    let parts = fs::read_dir(directory().join("parts")).expect("the parts are there");
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let (text, mut from) = (dissector(), 0);
    for path in paths {
        let part = fs::read_to_string(&path).expect("a part");
        let at = text[from..].find(&part);
        from += at.unwrap_or_else(|| panic!("{} is not in its place", path.display())) + part.len();
    }
}

#[test]
fn other_tables_are_in_the_dissector_that_is_printed_for_them_and_nothing_else_changes() {
    let built_in = games::built_in_tables();
    let changed = |text: &str| text.replace("\tnotice\treliable\t30\t", "\tnotice\treliable\t90\t");
    let texts: Vec<_> = built_in.texts().into_iter().map(|(file, text)| (file, changed(text))).collect();
    let codes = PacketTables::from_texts(&texts).expect("good tables");
    let printed = print(&codes, TablesFormat::Wireshark);
    let differing: Vec<(&str, String)> = printed
        .lines()
        .zip(dissector().lines().map(str::to_owned))
        .filter(|(one, other)| one != other)
        .collect();
    assert_eq!(
        differing,
        [("to_client\tnotice\t90\ttext:str<=60", "to_client\tnotice\t30\ttext:str<=60".to_owned())]
    );
    assert_eq!(printed.lines().count(), dissector().lines().count());
}

#[test]
fn the_script_prints_the_dissector_of_a_directory_and_notices_a_stale_one() {
    let tables = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("packet_codes");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("from-a-directory.lua");
    let script = |more: &[&str]| {
        let mut command = Command::new("sh");
        command.env("TICKWIRE_BIN", env!("CARGO_BIN_EXE_tickwire")).arg(directory().join("build.sh"));
        command.arg("--codes").arg(&tables).arg("--output").arg(&file).args(more);
        command.output().expect("a shell is there").status.code()
    };
    assert_eq!(script(&[]), Some(0));
    // A directory's tables are in the order of their paths, the built-in ones in that of the games.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&fs::read_to_string(&file).expect("it was written")), sorted(&dissector()));
    assert_eq!(script(&["--check"]), Some(0));
    fs::write(&file, dissector().replace("\tmove\t", "\twalk\t")).expect("a file can be written");
    assert_eq!(script(&["--check"]), Some(1));
}

/// A row as the dissector has it: direction, name, a code for each dialect, arguments.
fn line(table: &Table, row: &Row) -> String {
    let mut cells = vec![row.direction.name().to_owned(), row.name.clone()];
    cells.extend(
        table.dialects.iter().map(|dialect| row.code(dialect).map_or("-".to_owned(), Code::to_string)),
    );
    cells.push(format_arguments(&row.arguments));
    cells.join("\t")
}

#[test]
fn the_dissector_guesses_dialects_in_the_order_of_explain() {
    let names: Vec<String> = DIALECTS_BY_LIKELIHOOD.iter().map(|name| format!("\"{name}\"")).collect();
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
    let codes = games::built_in_tables();
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
        ("EXPLAIN_GUESS_BEHIND", limits::DIALECT_GUESS_MAX_DEFICIT),
        ("INSPECTOR_LINK_BYTES", limits::INSPECTOR_LINK_BYTES),
    ];
    for (name, value) in bounds {
        assert_eq!(local(&text, name), value.to_string(), "{name}");
    }
    let lanes = format!(
        "local lanes = {{ HEADER_BYTES = {HEADER_BYTES}, TAG_BYTES = {}, MOST_BYTES = {} }}\n",
        DATAGRAM_OVERHEAD_BYTES - HEADER_BYTES,
        limits::DATAGRAM_BYTES,
    );
    assert!(text.contains(&lanes), "no line {lanes}");
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
    assert_eq!(shown, BTreeMap::from(DEFAULT_PATHS));
}

#[test]
fn every_rule_of_a_message_is_named_by_the_dissector() {
    let text = dissector();
    for name in Rule::ALL.iter().map(|rule| rule.name()).chain(["wrong_arguments", "unknown_code"]) {
        assert!(text.contains(&format!("\"{name}\"")), "the dissector does not name {name}");
    }
    // Only the server knows all connection ids and its rate limit.
    let of_server = [DatagramError::UnknownConnection, DatagramError::TooMany];
    for rule in DatagramError::ALL.iter().filter(|rule| !of_server.contains(rule)) {
        let name = rule.name();
        assert!(text.contains(&format!("\"{name}\"")), "the dissector does not name {name}");
    }
}
