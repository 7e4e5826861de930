//! The operator's console: each line is one command with one reply, whatever its source.
//!
//! ```text
//!  standard input ─┐
//!                  ├─ line ─► command ─► changes the world ──► room ─► tick ─► done, or rejected
//!  POST /admin ────┘              ├────► queries the world ──► room ─► result after the tick
//!                                 └────► connections, bans, files, shutdown: here
//! ```
//!
//! [`commands`] has the table of commands and executes them, in a [`context`]; [`bans`] has those
//! about addresses. [`save_world`] writes the world to a file; [`memory`] counts stored bytes;
//! [`http_admin`] is the HTTP endpoint, with its [`admin_token`]. Each line results in a [`Reply`],
//! text of one or more lines, and in a log line. The console changes a world only through commands,
//! and never makes its room wait.

pub mod admin_token;
mod bans;
pub mod commands;
mod context;
pub mod http_admin;
mod memory;
mod processes;
pub mod save_world;
mod traffic;

use std::sync::Arc;

use tracing::info;

use super::metrics::Metrics;
use super::server_state::{ServerState, ShutdownStage};
use crate::game::OperatorCommandError;
use crate::limits;
use context::CommandContext;
pub use context::Source;

/// The reply to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Whether the command was executed successfully.
    pub is_ok: bool,
    /// Lines of text, each with a line feed. An error is one line that starts with `error:`.
    pub text: String,
}

/// Executes operator commands.
#[derive(Debug, Clone)]
pub struct Console {
    host: Arc<ServerState>,
}

impl Console {
    /// Creates the console of a server.
    pub fn new(host: Arc<ServerState>) -> Console {
        Console { host }
    }

    /// Whether an operator has entered `stop`, or the server is stopping. Further commands have no
    /// effect.
    pub fn is_stopping(&self) -> bool {
        self.host.is_at_least(ShutdownStage::StopRequested)
    }

    /// Executes a line. Returns `None` for an empty line.
    pub fn run(&self, line: &str, source: Source) -> Option<Reply> {
        run(&self.host, line, source)
    }

    /// As [`Console::run`], for a program.
    ///
    /// # Errors
    /// The line is no command, or the command had no effect.
    pub fn execute(&self, line: &str, source: Source) -> Option<Result<String, OperatorCommandError>> {
        execute(&self.host, line, source)
    }
}

/// Like [`Console::run`].
pub fn run(host: &ServerState, line: &str, source: Source) -> Option<Reply> {
    let result = execute(host, line, source)?;
    let is_ok = result.is_ok();
    let mut text = result.unwrap_or_else(|reason| format!("error: {reason}"));
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Some(Reply { is_ok, text })
}

fn execute(host: &ServerState, line: &str, source: Source) -> Option<Result<String, OperatorCommandError>> {
    let (name, result) = match line.trim() {
        _ if line.len() > limits::MAX_OPERATOR_LINE_BYTES => {
            let max = limits::MAX_OPERATOR_LINE_BYTES;
            ("unknown", Err(OperatorCommandError::Usage(format!("a line may have at most {max} bytes"))))
        }
        "" => return None,
        line => commands::execute(&CommandContext { host, room: host.room(), source }, line),
    };
    if let Err(error) = &result {
        let reason = error.to_string();
        info!(from = %source, command = name, reason, "operator command failed");
    }
    let metrics = &host.metrics;
    let family = if result.is_ok() { &metrics.operator_commands } else { &metrics.operator_commands_failed };
    Metrics::count(family, "command", name);
    Some(result)
}
