//! Permissions to play: `--token-file`, `TICKWIRE_TOKENS` and `--spectators`.

use std::env::{self, VarError};
use std::fmt;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;
use tracing::warn;

use super::output::CliError;
use crate::server::admission::tokens::{PlayAccess, Tokens};
use crate::server::net::input_files::read_tokens;
use crate::util::os;
use crate::util::plural::count_noun;

/// The environment variable with the text of a token file.
const TOKENS_VARIABLE: &str = "TICKWIRE_TOKENS";

/// The options of `serve` for permissions to play.
#[derive(Debug, Args)]
pub struct PlayerArgs {
    /// Only clients with a token from this file may play; each line has a name and a token. With an
    /// empty file, all clients are spectators. The environment variable TICKWIRE_TOKENS can contain
    /// the same text, with lines or semicolons between the tokens. Default: all clients may play.
    #[arg(long, value_name = "FILE", env = "TICKWIRE_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// With a token file, clients without a token may spectate. Otherwise they are closed.
    #[arg(long, env = "TICKWIRE_SPECTATORS", value_parser = FalseyValueParser::new())]
    spectators: bool,
}

impl PlayerArgs {
    /// The permissions to play.
    ///
    /// # Errors
    /// The tokens cannot be read. The message contains no token.
    pub fn read(&self) -> Result<PlayAccess, CliError> {
        let variable = match env::var(TOKENS_VARIABLE) {
            Ok(text) => Some(text),
            Err(VarError::NotPresent) => None,
            Err(VarError::NotUnicode(_)) => return Err(format!("{TOKENS_VARIABLE}: is not UTF-8")),
        };
        let tokens = match (&self.token_file, variable) {
            (Some(_), Some(_)) => {
                return Err(format!(
                    "--token-file and {TOKENS_VARIABLE} cannot be combined: use one of them"
                ));
            }
            (Some(file), None) => Some(read_tokens(file).map_err(|bad| format!("--token-file {bad}"))?),
            (None, Some(text)) => {
                let read = Tokens::read(&text.replace(';', "\n"));
                Some(read.map_err(|bad| format!("{TOKENS_VARIABLE}: {bad}"))?)
            }
            (None, None) => None,
        };
        if self.spectators && tokens.is_none() {
            return Err(format!(
                "--spectators needs --token-file or {TOKENS_VARIABLE}: without, everyone plays"
            ));
        }
        Ok(PlayAccess { tokens, spectators: self.spectators })
    }

    /// Logs a warning if every user of this machine can read the tokens.
    pub fn warn(&self) {
        let Some(file) = &self.token_file else { return };
        if fs::metadata(file).is_ok_and(|metadata| os::is_world_readable(&metadata)) {
            warn!("every user of this machine can read {}: make it private with chmod 600", file.display());
        }
    }
}

/// A line for the banner; empty if all clients may play.
pub fn line(players: &PlayAccess) -> String {
    let Some(tokens) = &players.tokens else { return String::new() };
    if tokens.is_empty() {
        return "  nobody plays: there are no tokens, so everyone watches\n".to_owned();
    }
    let others = if players.spectators { "watch" } else { "are closed" };
    format!("  {} for players; clients without one {others}\n", count_noun(tokens.len(), "token"))
}

/// A token from the command line. Error messages do not repeat it.
#[derive(Clone)]
pub struct TokenArg(pub String);

impl From<String> for TokenArg {
    fn from(text: String) -> TokenArg {
        TokenArg(text)
    }
}

impl fmt::Debug for TokenArg {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Given(…)")
    }
}
