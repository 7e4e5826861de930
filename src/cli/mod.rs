//! The command line: the commands of the program and their output.
//!
//! The input is arguments and `TICKWIRE_…` variables. The output is an exit code, and one line on
//! standard error for each failure. Each command has its own file. Without a command, the program
//! runs the server.

mod banner;
mod between;
mod between_lines;
mod bot_args;
mod bots;
mod cargo_program;
mod cluster_args;
mod color;
mod condition_args;
mod connect;
mod console;
mod dev;
mod echo;
mod explain;
mod fleet_args;
mod floats;
mod game_help;
mod game_list;
mod journal;
mod lockstep_args;
mod log;
mod netem;
mod output;
mod playback;
mod player_args;
mod prediction;
mod quiz;
mod replay;
mod room_arg;
mod serve;
mod signals;
mod simulate;
mod simulate_cluster;
mod simulation_summary;
mod storage_args;
mod synctest;
pub mod tables;
mod value_parsers;
mod wasm_module;
mod wasm_synctest;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use color::Color;
pub use game_list::{GameEntry, GameList};
use output::{CliError, check_written, print_error, record_write_error};
pub use serve::ServeArgs;

use crate::server::net::server_events::EventHook;
use crate::util::os;

/// A multiplayer game server whose every byte you can inspect.
///
/// Without a command it runs the server: open the printed URL in two browser tabs, walk and chat.
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
    /// Run the game server and serve its web page (the default command).
    Serve(ServeArgs),
    /// Run the game server, and rebuild and restart it whenever its sources change. Its worlds and
    /// players continue.
    Dev(dev::DevArgs),
    /// Build the prediction module of this program's game, with which its pages predict the local
    /// player. `dev` does this with every change.
    Prediction(prediction::PredictionArgs),
    /// Explain the bytes of WebSocket frames (each header bit, the mask, the payload, the packet)
    /// or of an upgrade.
    Explain(explain::ExplainArgs),
    /// Connect to a server by hand: type packets or bytes, and see each sent and received frame
    /// explained.
    Connect(connect::ConnectArgs),
    /// Run bots against a server, check all packets that they receive, and measure the traffic.
    Bots(bots::BotsArgs),
    /// Echo every message to its sender: the smallest server built on the WebSocket layer.
    Echo(echo::EchoArgs),
    /// Forward connections to a server over a simulated network: delay, jitter, loss, a limited
    /// rate.
    Netem(netem::NetemArgs),
    /// Show and change the traffic between the clients and the server of any WebSocket application.
    Between(between::BetweenArgs),
    /// Replay a captured session, and check that the result is the same.
    ///
    /// Exit status: 0 if the result is the same; 1 if it differs; 2 if the file cannot be read or
    /// replayed (for example, because part of the session is missing), or if the report cannot be
    /// written.
    Replay(replay::ReplayArgs),
    /// Check, truncate or export the journals of a server (--journal).
    ///
    /// Exit status: 0 if the journals can be recovered, otherwise 1.
    Journal(journal::JournalCommand),
    /// Simulate a whole server in virtual time, from a seed, and check every invariant. The
    /// simulation includes rooms, failing connections, and bots that check all packets that they
    /// receive.
    Simulate(simulate::SimulateArgs),
    /// Compare a world in each tick with copies of it that are restored from snapshots. Finds
    /// fields that a snapshot lacks, and rules that compute another result a second time.
    Synctest(synctest::SynctestArgs),
    /// Ask exercises of the lessons (docs/lessons): build the bytes, and read which bit is wrong.
    ///
    /// Exit status: 0 if all answers are right, otherwise 1.
    Quiz(quiz::QuizArgs),
    /// Print the packet tables in use.
    Codes(tables::TablesArgs),
}

/// Runs the requested command, with the games of this project.
pub fn run() -> ExitCode {
    run_with(&GameList::built_in())
}

/// Runs the requested command for a program with these games alone. The first is the game of the
/// default room.
pub fn run_of(games: &[GameEntry]) -> ExitCode {
    match GameList::of(games) {
        Ok(games) => run_with(&games),
        Err(line) => ended(Err(line)),
    }
}

/// As [`run_of`], with a hook for the events of `serve`.
pub fn run_with_events(games: &[GameEntry], on_event: EventHook) -> ExitCode {
    match GameList::of(games) {
        Ok(games) => run_with(&GameList { on_event: Some(on_event), ..games }),
        Err(line) => ended(Err(line)),
    }
}

/// Runs the requested command for a program with these games.
pub fn run_with(games: &GameList) -> ExitCode {
    os::enable_ansi();
    let parsed = command(games).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(answer) => return refuse_or_help(&answer),
    };
    let done = match cli.command {
        // A server continues after a failed write to its output, because such an error must not
        // disconnect players.
        None => return ended(serve::run(&cli.serve, games)),
        Some(Command::Serve(args)) => return ended(serve::run(&args, games)),
        Some(Command::Dev(args)) => return ended(dev::run(&args)),
        Some(Command::Prediction(args)) => prediction::run(&args, games),
        Some(Command::Echo(args)) if !args.is_client() => return ended(echo::run(&args)),
        Some(Command::Netem(args)) => netem::run(&args),
        Some(Command::Between(args)) => between::run(&args, games),
        Some(Command::Explain(args)) => explain::run(&args, games),
        Some(Command::Connect(args)) => connect::run(&args, games),
        Some(Command::Bots(args)) => bots::run(&args, games),
        Some(Command::Echo(args)) => echo::run(&args),
        Some(Command::Quiz(args)) => return quiz::run(&args, games),
        Some(Command::Replay(args)) => return replay::run(&args, games),
        Some(Command::Journal(args)) => journal::run(&args, games),
        Some(Command::Simulate(args)) => simulate::run(&args, games),
        Some(Command::Synctest(args)) => synctest::run(&args, games),
        Some(Command::Codes(args)) => tables::run(&args, games),
    };
    let written = ended(check_written());
    if done.is_ok() { written } else { ended(done) }
}

/// The command line with the help of these games. A program with its own games has its own name.
fn command(games: &GameList) -> clap::Command {
    let command = game_help::within_columns(Cli::command(), std::env::var("COLUMNS").ok().as_deref());
    let command = game_help::with_game_help(command, games);
    let command = command.mut_subcommand("serve", |serve| game_help::with_game_help(serve, games));
    if games.is_built_in() {
        return command;
    }
    let name = games.factories.first().map_or("game", |kind| kind.info.name);
    command.name(name).about(format!("The game {name} on a tickwire server")).long_about(format!(
        "The game {name} on a tickwire server. Open the printed URL in two browser tabs."
    ))
}

/// Prints the help, the version, or the error in the arguments.
fn refuse_or_help(answer: &clap::Error) -> ExitCode {
    let text = answer.render();
    let painted = |is_on| if is_on { text.ansi().to_string() } else { text.to_string() };
    record_write_error(if answer.use_stderr() {
        let mut out = io::stderr().lock();
        out.write_all(painted(Color::Auto.is_on(&out)).as_bytes())
    } else {
        let mut out = io::stdout().lock();
        out.write_all(painted(Color::Auto.is_on(&out)).as_bytes()).and_then(|()| out.flush())
    });
    match check_written() {
        Ok(()) => ExitCode::from(answer.exit_code() as u8),
        Err(line) => ended(Err(line)),
    }
}

fn ended(done: Result<(), CliError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(line) => {
            print_error(&line);
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_defined() {
        Cli::command().debug_assert();
    }
}
