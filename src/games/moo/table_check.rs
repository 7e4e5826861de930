//! Checks that a server can serve the game with given tables: the packets required to play, the
//! values that the server reads and writes in each row, and the arguments that the feed takes from
//! the built-in tables.

use super::row_check;
use crate::packet::Direction::{self, ToClient, ToServer};
use crate::packet::PacketTables;
use crate::packet::grammar::{Argument, Shape};
use crate::packet::tables::Table;

/// The packets that the native dialect requires.
const NATIVE_REQUIRED: [(Direction, &str); 5] = [
    (ToServer, "hello"),
    (ToServer, "join"),
    (ToClient, "welcome"),
    (ToClient, "update"),
    (ToClient, "spawned"),
];
/// The packets that the MooMoo dialects require.
const MOOMOO_REQUIRED: [(Direction, &str); 4] =
    [(ToServer, "enter_game"), (ToClient, "setup"), (ToClient, "add_player"), (ToClient, "update_players")];

/// Checks all dialects of these tables that are also built in. Each dialect must have the packets
/// that the game requires. Each server packet must have the lane of the built-in tables, and the
/// same argument names in the same order. An argument may have another type that can hold its
/// values, and more arguments may follow.
///
/// # Errors
/// The first packet that does not fit, with its file and name.
pub fn check_tables(codes: &PacketTables) -> Result<(), String> {
    for table in &codes.tables {
        check_rows(table)?;
        table.dialects.iter().try_for_each(|dialect| check_dialect(codes, table, dialect))?;
    }
    Ok(())
}

/// Checks each row of a table that contains a dialect of the game.
fn check_rows(table: &Table) -> Result<(), String> {
    if !table.dialects.iter().any(|dialect| PacketTables::builtin_ref().dialect(dialect).is_some()) {
        return Ok(());
    }
    // Line 1 is the heading.
    for (line, row) in (2..).zip(&table.rows) {
        row_check::check_row(row).map_err(|reason| format!("{}:{line}: {reason}", table.file))?;
    }
    Ok(())
}

fn check_dialect(codes: &PacketTables, table: &Table, name: &str) -> Result<(), String> {
    let file = &table.file;
    let (Some(own), Some(made)) = (codes.dialect(name), PacketTables::builtin().dialect(name)) else {
        return Ok(());
    };
    let needed = if name == "native" { &NATIVE_REQUIRED[..] } else { &MOOMOO_REQUIRED[..] };
    if let Some((direction, packet)) =
        needed.iter().find(|(direction, packet)| own.row(*direction, packet).is_none())
    {
        let direction = direction.name();
        return Err(format!("{file}: {name} lacks the packet {packet} {direction}, which the game needs"));
    }
    for row in own.rows(ToClient) {
        let Some(made) = made.row(ToClient, &row.name) else { continue };
        if made.lane != row.lane {
            let lane = made.lane.name();
            return Err(format!(
                "{file}: lane of {}: must be {lane}, the lane in the built-in tables",
                row.name
            ));
        }
        let (names, others) = (argument_names(&made.arguments), argument_names(&row.arguments));
        let differing = names.iter().zip(others.iter()).find(|(made, own)| made != own);
        if let Some((made, own)) = differing {
            return Err(format!(
                "{file}: arguments of {}: {own} is in the place of {made}; the server writes them in the order of \
                 the built-in tables",
                row.name
            ));
        }
    }
    Ok(())
}

/// The names of arguments, each with the names of its members.
fn argument_names(arguments: &[Argument]) -> Vec<String> {
    let name = |argument: &Argument| match &argument.ty.shape {
        Shape::Map(members) | Shape::Tuple(members) | Shape::Groups { members, .. } => {
            let members = members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>();
            format!("{}:{}", argument.name, members.join(","))
        }
        _ => argument.name.clone(),
    };
    arguments.iter().map(name).collect()
}
