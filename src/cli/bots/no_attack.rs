//! In place of `attack.rs` in a program without moo: the flags are hidden, and refused.

use std::net::SocketAddr;
use std::time::Duration;

use super::args::BotsArgs;
use crate::cli::output::CliError;
use crate::testing::source_addresses::SourceAddresses;

/// Refuses the flags.
///
/// # Errors
/// Always: the flag, the rule and the remedy.
pub fn run(args: &BotsArgs, _: SocketAddr, _: Option<SourceAddresses>, _: Duration) -> Result<(), CliError> {
    let flags = [(args.attack.is_some(), "--attack"), (args.resume_rate.is_some(), "--resume-rate")];
    let flag = flags.into_iter().find_map(|(is_given, flag)| is_given.then_some(flag)).unwrap_or("--sink");
    Err(format!(
        "{flag}: this program was built without the games that it needs; \
         use the program `tickwire`, or the feature `built-in-games` of the package tickwire"
    ))
}
