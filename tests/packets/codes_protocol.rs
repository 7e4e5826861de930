//! Compares PROTOCOL.md with the code: its tables are the output of `tickwire codes --format
//! markdown`, its rules and limits are those of the code. `TICKWIRE_BLESS=1 cargo test --test
//! packets codes_protocol` regenerates the tables,
//! and the tables and rules of the page of the tab edition.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use tickwire::game::CloseReason;
use tickwire::internal::cli::tables::print::{TablesFormat, print};
use tickwire::packet::grammar::{format_arguments, parse_arguments};
use tickwire::packet::msgpack::Rule;
use tickwire::packet::{Direction, PacketTables};

const BEGIN: &str = "<!-- codes:begin -->\n";
const END: &str = "<!-- codes:end -->";
const REFRESH: &str = "TICKWIRE_BLESS=1 cargo test --test packets codes_protocol";

fn document() -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("PROTOCOL.md");
    let text = fs::read_to_string(&path).expect("PROTOCOL.md is there");
    (path, text)
}

#[test]
fn the_tables_of_the_document_are_the_tables_of_the_code() {
    let (path, text) = document();
    let from = text.find(BEGIN).expect("the marker before the tables") + BEGIN.len();
    let to = text.find(END).expect("the marker after the tables");
    let printed = print(&PacketTables::builtin(), TablesFormat::Markdown);
    if text[from..to] == printed {
        return;
    }
    if std::env::var_os("TICKWIRE_BLESS").is_some() {
        fs::write(path, format!("{}{printed}{}", &text[..from], &text[to..]))
            .expect("PROTOCOL.md can be written");
        return;
    }
    panic!("the tables of PROTOCOL.md are stale; refresh them with: {REFRESH}");
}

/// The page of a server gets the tables in force and the rules; that of the tab edition these files.
#[test]
fn the_tables_and_rules_of_the_tab_edition_are_those_of_the_code() {
    let tables = tickwire::internal::packet::tables_json::tables_json_lines(&PacketTables::builtin(), &[]);
    for (name, listed) in
        [("codes.json", tables), ("rules.json", tickwire::internal::games::moo::rules_json::rules_json())]
    {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/web").join(name);
        if fs::read_to_string(&path).is_ok_and(|text| text == listed) {
            continue;
        }
        let is_blessed = std::env::var_os("TICKWIRE_BLESS").is_some();
        assert!(is_blessed, "src/web/{name} is stale; refresh it with: {REFRESH}");
        fs::write(path, listed).expect("the file can be written");
    }
}

#[test]
fn every_rule_of_this_layer_is_in_the_document() {
    let (_, text) = document();
    for name in Rule::ALL.iter().map(|rule| rule.name()).chain(["wrong_arguments", "unknown_code"]) {
        assert!(text.contains(&format!("`{name}`")), "PROTOCOL.md does not name {name}");
    }
}

#[test]
fn every_rule_of_the_session_is_in_the_document_with_its_close_code() {
    let (_, text) = document();
    for breach in CloseReason::ALL {
        let cells = format!("| `{}` | {} |", breach.name(), breach.close_code());
        assert!(text.contains(&cells), "PROTOCOL.md lacks {cells}");
    }
}

#[test]
fn every_scalar_and_unit_of_the_tables_is_in_the_document() {
    let (_, text) = document();
    let grammar = &text[text.find("## The type grammar").expect("the section")..];
    let grammar = &grammar[..grammar.find("## Strict").expect("the section after it")];
    let words: BTreeSet<String> = PacketTables::builtin()
        .rows()
        .flat_map(|row| {
            let cell = format_arguments(&row.arguments);
            cell.split(|ch: char| !(ch.is_ascii_alphanumeric() || "_.:".contains(ch)))
                .filter_map(|word| word.rsplit_once(':').map(|(_, kind)| kind.to_owned()))
                .flat_map(|kind| kind.split('.').map(str::to_owned).collect::<Vec<_>>())
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(words.contains("u32") && words.contains("turn16"), "{words:?}");
    for word in words {
        assert!(grammar.contains(&format!("`{word}`")), "PROTOCOL.md does not explain {word}");
    }
}

/// Reads `| … | LIMIT_NAME | value |` rows and holds the value against the constant.
#[test]
fn the_limits_of_the_document_are_the_limits_of_the_code() {
    use tickwire::internal::limits::*;
    let (_, text) = document();
    let constants: [(&str, u64); 29] = [
        ("MESSAGE_BYTES", MESSAGE_BYTES as u64),
        ("MESSAGE_FRAGMENTS", MESSAGE_FRAGMENTS as u64),
        ("CONTROL_PAYLOAD_BYTES", CONTROL_PAYLOAD_BYTES as u64),
        ("PACKET_DEPTH", PACKET_DEPTH as u64),
        ("PACKET_VALUES", PACKET_VALUES as u64),
        ("NAME_CHARS", NAME_CHARS as u64),
        ("CHAT_CHARS", CHAT_CHARS as u64),
        ("CHAT_INTERVAL", CHAT_INTERVAL.as_millis() as u64),
        ("CLIENT_MESSAGES_PER_SECOND", u64::from(CLIENT_MESSAGES_PER_SECOND)),
        ("CLIENT_MESSAGES_BURST", u64::from(CLIENT_MESSAGES_BURST)),
        ("CLIENT_BYTES_PER_SECOND", u64::from(CLIENT_BYTES_PER_SECOND)),
        ("CLIENT_BYTES_BURST", u64::from(CLIENT_BYTES_BURST)),
        ("HELLO_TIMEOUT", HELLO_TIMEOUT.as_secs()),
        ("MAX_COMMAND_LEAD_MS", u64::from(MAX_COMMAND_LEAD_MS)),
        ("ADDRESS_CONNECTIONS_PER_SECOND", u64::from(ADDRESS_CONNECTIONS_PER_SECOND)),
        ("ADDRESS_CONNECTIONS_BURST", u64::from(ADDRESS_CONNECTIONS_BURST)),
        ("ADDRESS_CLIENTS_PER_SECOND", u64::from(ADDRESS_CLIENTS_PER_SECOND)),
        ("ADDRESS_CLIENTS_BURST", u64::from(ADDRESS_CLIENTS_BURST)),
        ("ADDRESS_JOINS_PER_SECOND", u64::from(ADDRESS_JOINS_PER_SECOND)),
        ("ADDRESS_JOINS_BURST", u64::from(ADDRESS_JOINS_BURST)),
        ("ADDRESS_LANES_PER_SECOND", u64::from(ADDRESS_LANES_PER_SECOND)),
        ("ADDRESS_LANES_BURST", u64::from(ADDRESS_LANES_BURST)),
        ("ADDRESS_ACTION_RATE_FACTOR", u64::from(ADDRESS_ACTION_RATE_FACTOR)),
        ("COMMANDS_PER_PLAYER_TICK", COMMANDS_PER_PLAYER_TICK as u64),
        ("COMMAND_BYTES_PER_PLAYER_TICK", COMMAND_BYTES_PER_PLAYER_TICK as u64),
        ("INBOX_COMMANDS", INBOX_COMMANDS as u64),
        ("ADMIN_BODY_BYTES", ADMIN_BODY_BYTES as u64),
        ("MAX_ADMIN_LINES", MAX_ADMIN_LINES as u64),
        ("MAX_OPERATOR_LINE_BYTES", MAX_OPERATOR_LINE_BYTES as u64),
    ];
    for (name, value) in constants {
        let cell = format!("| `{name}` | {value} |");
        assert!(text.contains(&cell), "PROTOCOL.md lacks {cell}");
    }
}

#[test]
fn the_bounds_of_the_tables_are_the_limits_of_the_code() {
    use tickwire::internal::limits::{CHAT_CHARS, NAME_CHARS};
    let codes = PacketTables::builtin();
    for row in codes.rows().filter(|row| row.direction == Direction::ToServer) {
        let arguments = format_arguments(&row.arguments);
        match row.name.as_str() {
            "hello" | "join" | "enter_game" => {
                assert!(arguments.contains(&format!("name:str<={NAME_CHARS}|nil")))
            }
            "chat" => assert!(arguments.contains(&format!("text:str<={CHAT_CHARS}"))),
            _ => {}
        }
    }
}

#[test]
fn what_is_printed_for_programs_can_be_read_again() {
    let codes = PacketTables::builtin();
    let json: serde_json::Value = serde_json::from_str(&print(&codes, TablesFormat::Json)).expect("JSON");
    let tables = json["tables"].as_array().expect("tables");
    let rows: Vec<_> = tables.iter().flat_map(|table| table["rows"].as_array().expect("rows")).collect();
    assert_eq!(rows.len(), codes.rows().count());
    for (printed, row) in rows.into_iter().zip(codes.rows()) {
        assert_eq!(printed["name"], row.name.as_str());
        let arguments = printed["arguments"].as_array().expect("arguments");
        let cells = arguments.iter().map(|argument| {
            format!(
                "{}:{}",
                argument["name"].as_str().expect("a name"),
                argument["type"].as_str().expect("a type")
            )
        });
        let cell = cells.collect::<Vec<_>>().join(" ");
        let cell = if cell.is_empty() { "-" } else { cell.as_str() };
        assert_eq!(parse_arguments(cell).as_ref(), Ok(&row.arguments), "{cell}");
        for (dialect, code) in &row.codes {
            assert_eq!(printed["codes"][dialect].to_string().trim_matches('"'), code.to_string());
        }
    }
}

#[test]
fn what_is_printed_for_a_terminal_has_a_line_for_each_packet() {
    let text = print(&PacketTables::builtin(), TablesFormat::Text);
    let rows = PacketTables::builtin().rows().count();
    let (text, legend) = text.split_once("\n\nu16.tick|nil is ").expect("a legend");
    // Four sections, each with a title and a heading, and three empty lines between.
    assert_eq!(text.lines().count(), rows + 4 * 2 + 3);
    assert!(legend.contains("\n  turn16     1/65,536 of a turn;"), "{legend}");
    let update = text.lines().find(|line| line.starts_with("update ")).expect("a line");
    assert!(update.split_whitespace().take(4).eq(["update", "latest", "2", "tick:u32.tick"]), "{update}");
    assert!(!text.contains("answers ping"), "the meaning is left to the documents");
}
