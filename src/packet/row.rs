//! One packet of the tables: a row.

use std::fmt;

use super::grammar::Argument;

/// The direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

impl Direction {
    /// Both directions, in the order of the tables.
    pub const BOTH: [Direction; 2] = [Self::ToServer, Self::ToClient];

    /// The name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to_server",
            Self::ToClient => "to_client",
        }
    }
}

/// What a packet to a client that falls behind comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// It is queued, in order, and never left out: an event or an answer.
    Reliable,
    /// It is not made while anything waits for the client, and a later one makes up for it: what
    /// comes of comparing the state with what the client knows.
    Latest,
}

impl Lane {
    /// The name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reliable => "reliable",
            Self::Latest => "latest",
        }
    }
}

/// The code of a packet in one dialect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Text, as the MooMoo dialects have.
    Str(String),
    /// A small number, as the native dialect has.
    Int(u32),
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(code) => out.write_str(code),
            Self::Int(code) => write!(out, "{code}"),
        }
    }
}

/// One packet: a row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The direction of the packet.
    pub direction: Direction,
    /// The packet's name, unique in its direction within each dialect.
    pub name: String,
    /// What a packet to a client that falls behind comes to.
    pub lane: Lane,
    /// The dialects that have the packet, with their codes, in the order of the table's columns.
    pub codes: Vec<(String, Code)>,
    /// The packet's arguments, in order.
    pub arguments: Vec<Argument>,
    /// The packet's meaning, in a few words.
    pub meaning: String,
}

impl Row {
    /// The code in a dialect; `None` where the dialect does not have this row.
    pub fn code(&self, dialect: &str) -> Option<&Code> {
        self.codes.iter().find(|(name, _)| name == dialect).map(|(_, code)| code)
    }

    /// The position of an argument, looked up by its name.
    pub fn argument(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }
}
