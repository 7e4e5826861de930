//! The context of an operator command: the server, the room and the source of the line.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::game::OperatorCommandError;
use crate::server::net::rooms::RunningRoom;
use crate::server::net::server_state::ServerState;

/// The reply, or the error.
pub type CommandResult = Result<String, OperatorCommandError>;

/// The source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Terminal,
    /// The program that embeds the server.
    Program,
    /// `/admin`, from this address.
    Admin(IpAddr),
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Terminal => out.write_str("terminal"),
            Source::Program => out.write_str("program"),
            Source::Admin(address) => write!(out, "{address}"),
        }
    }
}

/// The context of a command.
pub struct CommandContext<'a> {
    /// The server.
    pub host: &'a ServerState,
    /// The room of the command.
    pub room: Arc<RunningRoom>,
    /// The source of the line.
    pub source: Source,
}
