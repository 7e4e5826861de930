//! Prints the packet tables: for a terminal, for PROTOCOL.md, or for programs.
//!
//! The text of [`PacketTables`] in a [`TablesFormat`] ends with a newline. PROTOCOL.md contains the
//! Markdown format between markers, and a test compares the two.

use std::fmt::Write as _;

use super::{typescript, wireshark};
use crate::packet::grammar::format_arguments;
use crate::packet::tables::Table;
use crate::packet::{Code, Direction, PacketTables, Row, tables_json};

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TablesFormat {
    /// Aligned columns.
    Text,
    /// Markdown tables.
    Markdown,
    /// One JSON value: tables, rows, codes as text or number, arguments by name and type.
    Json,
    /// The dissector for Wireshark.
    Wireshark,
    /// Types for a client in TypeScript.
    Typescript,
}

/// Prints all tables.
pub fn print(codes: &PacketTables, format: TablesFormat) -> String {
    match format {
        TablesFormat::Text => join_tables(codes, text_section) + &legend(codes),
        TablesFormat::Markdown => join_tables(codes, markdown_section),
        TablesFormat::Json => format!("{:#}\n", tables_json::tables_json(codes)),
        TablesFormat::Wireshark => wireshark::print(codes),
        TablesFormat::Typescript => typescript::print(codes),
    }
}

/// One section for each table and direction that has rows, separated by empty lines.
fn join_tables(codes: &PacketTables, section: fn(&Table, Direction, &[&Row]) -> String) -> String {
    let mut sections = Vec::new();
    for table in &codes.tables {
        for direction in Direction::ALL {
            let rows: Vec<&Row> =
                table.rows.iter().map(AsRef::as_ref).filter(|row| row.direction == direction).collect();
            if !rows.is_empty() {
                sections.push(section(table, direction, &rows));
            }
        }
    }
    sections.join("\n")
}

fn direction_title(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "client to server",
        Direction::ToClient => "server to client",
    }
}

/// The cells of one row: name, lane, a code for each dialect, arguments, meaning.
fn cells(table: &Table, row: &Row) -> Vec<String> {
    let mut cells = vec![row.name.clone(), row.lane.name().to_owned()];
    cells.extend(
        table.dialects.iter().map(|dialect| row.code(dialect).map_or("-".to_owned(), Code::to_string)),
    );
    cells.extend([format_arguments(&row.arguments), row.meaning.clone()]);
    cells
}

fn titles(table: &Table) -> Vec<String> {
    let dialects = table.dialects.iter().map(String::as_str);
    ["name", "lane"].into_iter().chain(dialects).chain(["arguments", "meaning"]).map(str::to_owned).collect()
}

fn text_section(table: &Table, direction: Direction, rows: &[&Row]) -> String {
    let mut lines = vec![titles(table)];
    lines.extend(rows.iter().map(|row| cells(table, row)));
    // The meaning is printed only in documents. The arguments become the last column, so that no
    // wide column is padded.
    lines.iter_mut().for_each(|line| line.truncate(line.len() - 1));
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = format!("{}, {}\n", table.file, direction_title(direction));
    for line in &lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// The notation of the types, and the units of the tables.
fn legend(codes: &PacketTables) -> String {
    let rows = codes.tables.iter().flat_map(|table| &table.rows);
    let mut units = Vec::new();
    for argument in rows.flat_map(|row| &row.arguments) {
        typescript::collect_units(&argument.ty, &mut units);
    }
    units.sort_unstable();
    let mut out = String::from(
        "\nu16.tick|nil is an unsigned integer of 16 bits in ticks, or nil, the null of MessagePack.\n",
    );
    for unit in units {
        let _ = writeln!(out, "  {:9}  {}", unit.name(), unit.sentence());
    }
    out
}

fn markdown_section(table: &Table, direction: Direction, rows: &[&Row]) -> String {
    let mut out = format!("#### {}, {}\n\n", table.file, direction_title(direction));
    let titles = titles(table);
    out.push_str(&format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len())));
    for row in rows {
        let mut cells: Vec<String> = cells(table, row).iter().map(|cell| cell.replace('|', "\\|")).collect();
        let meaning = cells.pop().unwrap_or_default();
        let quoted = cells.iter().map(|cell| if cell == "-" { cell.clone() } else { format!("`{cell}`") });
        out.push_str(&format!("| {} | {meaning} |\n", quoted.collect::<Vec<_>>().join(" | ")));
    }
    out
}
