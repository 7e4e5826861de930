//! One packet of the tables: a row.

use std::fmt;

use super::grammar::Argument;

tickwire_sim::named_enum! {
    /// The direction of a packet.
    Direction {
        ToServer "to_server" "From the client to the server.";
        ToClient "to_client" "From the server to the client.";
    }
}

tickwire_sim::named_enum! {
    /// The treatment of a packet if its client falls behind.
    Lane {
        Reliable "reliable" "Queued in order and never dropped; for events and answers.";
        Latest "latest" "Not sent while older bytes are queued; a later packet replaces it.";
    }
}

/// The code of a packet in one dialect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Text, as in the MooMoo dialects.
    Str(String),
    /// A small number, as in the native dialect.
    Int(u32),
}

/// A borrowed [`Code`], in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CodeRef<'a> {
    Str(&'a str),
    Int(u32),
}

impl Code {
    /// Borrows the code.
    pub(super) fn as_ref(&self) -> CodeRef<'_> {
        match self {
            Self::Str(code) => CodeRef::Str(code),
            Self::Int(code) => CodeRef::Int(*code),
        }
    }
}

impl fmt::Display for CodeRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(code) => out.write_str(code),
            Self::Int(code) => write!(out, "{code}"),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(out)
    }
}

/// One packet: a row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The direction of the packet.
    pub direction: Direction,
    /// The packet's name, unique in its direction within each dialect.
    pub name: String,
    /// The treatment of the packet if its client falls behind.
    pub lane: Lane,
    /// The codes of the packet by dialect, in the order of the table's columns.
    pub codes: Vec<(String, Code)>,
    /// The packet's arguments, in order.
    pub arguments: Vec<Argument>,
    /// The packet's meaning, in a few words.
    pub meaning: String,
}

impl Row {
    /// The code in a dialect; `None` if the dialect does not have this packet.
    pub fn code(&self, dialect: &str) -> Option<&Code> {
        self.codes.iter().find(|(name, _)| name == dialect).map(|(_, code)| code)
    }

    /// The index of an argument with this name.
    pub fn argument(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }
}
