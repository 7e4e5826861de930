//! The error of a server that could not start.

use std::fmt;
use std::io;

use crate::packet::TableError;

/// Why a server did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting of the server is invalid.
    Setting {
        /// The builder method of the setting.
        setting: &'static str,
        /// The value and the broken rule.
        rule: String,
    },
    /// A setting of a room is invalid.
    Room {
        /// The name of the room; empty for the default room.
        room: String,
        /// The value and the broken rule.
        rule: String,
    },
    /// The packet tables of the games are invalid or conflict.
    Tables(TableError),
    /// The system returned an error: the address is in use, or the machine supports too few
    /// connections.
    System(io::Error),
}

impl StartError {
    pub(super) fn setting(setting: &'static str, rule: impl Into<String>) -> StartError {
        StartError::Setting { setting, rule: rule.into() }
    }

    pub(super) fn room(name: &str, rule: String) -> StartError {
        StartError::Room { room: name.to_owned(), rule }
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Setting { setting, rule } => write!(out, "{setting}: {rule}"),
            StartError::Room { room, rule } if room.is_empty() => write!(out, "the default room: {rule}"),
            StartError::Room { room, rule } => write!(out, "the room {room:?}: {rule}"),
            StartError::Tables(rule) => write!(out, "packet tables: {rule}"),
            StartError::System(error) => write!(out, "cannot start the server: {error}"),
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StartError::System(error) => Some(error),
            _ => None,
        }
    }
}
