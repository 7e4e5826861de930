//! The command line: what can be asked of the program, and how it answers.
//!
//! Comes in: arguments and `TICKWIRE_…` variables. Goes out: an exit code, one clear line on standard error when
//! something is wrong. Each command is a file of its own; without one, the program serves.

mod bots;
mod codes;
mod color;
mod echo;
mod explain;
mod log;
mod replay;
mod serve;
mod talk;
mod terminal;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use serve::ServeArgs;

/// A multiplayer game server that one can see through.
///
/// Without a command it serves: open the printed URL in two tabs, walk, chat.
#[derive(Debug, Parser)]
#[command(name = "tickwire", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the game and its page (what happens without a command).
    Serve(ServeArgs),
    /// Explain the bytes of WebSocket frames: header bit by bit, mask, payload, packet; or of their upgrade.
    Explain(explain::ExplainArgs),
    /// Talk to a server by hand: type packets or bytes, see each frame that goes and comes explained.
    Talk(talk::TalkArgs),
    /// Let bots walk on a server, check what they are told, and measure it.
    Bots(bots::BotsArgs),
    /// Give every message back to who sent it: the smallest server on the WebSocket layer.
    Echo(echo::EchoArgs),
    /// Run a captured session again, and say whether it comes out the same.
    ///
    /// Exit status: 0 the same, 1 it differs, 2 the file cannot be read or run again, such as one with a hole.
    Replay(replay::ReplayArgs),
    /// Print the packet tables in force.
    Codes(codes::CodesArgs),
}

/// Something is wrong with what was asked, in one line.
type Failure = String;

/// Runs what the arguments ask for.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => serve::run(&cli.serve),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Explain(args)) => explain::run(&args),
        Some(Command::Talk(args)) => talk::run(&args),
        Some(Command::Bots(args)) => bots::run(&args),
        Some(Command::Echo(args)) => echo::run(&args),
        Some(Command::Replay(args)) => return replay::run(&args),
        Some(Command::Codes(args)) => codes::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            tell_error(&line);
            ExitCode::FAILURE
        }
    }
}

/// Says on standard error what went wrong. That it is closed is no reason to panic.
fn tell_error(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "tickwire: {line}");
}

/// Standard output is what commands are for; a closed pipe (`| head`) is no error. A prompt ends without a line's end, so it is
/// flushed.
fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The same on standard error: where standard output carries a capture.
fn print_aside(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_well_defined() {
        Cli::command().debug_assert();
    }
}
