//! `tickwire connect`: a prompt that is connected to a server and explains each frame sent and
//! received.
//!
//! It reads lines from standard input, typed or from a script, and prints one line for each frame,
//! or its drawing. The exit code is 1 if a line of a script is invalid or an expected frame does
//! not arrive. One thread waits for the terminal and the socket at once, so the output has the
//! order of the events.

#[cfg_attr(not(feature = "line-editing"), path = "no_editor.rs")]
mod editor;
pub(crate) mod explained_connection;
pub(crate) mod input;
mod line_reader;
mod one_line;
mod protocol;
mod received;
mod request_args;
mod session;
mod wake;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::color::Color;
use super::game_list::GameList;
use super::output::{CliError, print};
use super::tables;
use crate::cli::connect::explained_connection::{ConnectRequest, ExplainedConnection, OFFER};
use crate::cli::connect::protocol::ProtocolOptions;
use crate::cli::connect::request_args::RequestArgs;
use crate::cli::connect::session::{FrameOutput, PromptSession};
use crate::client::stream::Stream;
use crate::client::tls;
use crate::client::url::Url;
use crate::packet::{Dialect, Direction, Row};
use crate::tools::explain::NO_DIALECT;
use crate::ws::frame::Opcode;

/// Options of `connect`.
#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// URL of the server, such as ws://localhost:3000 or wss://example.org/. A path, such as /play,
    /// /server or /, is requested as it is and selects the dialect. Without a path, --dialect
    /// selects both.
    #[arg(value_name = "URL")]
    url: Url,
    /// Dialect to use, such as native, legacy or letters, or none for a server without packets.
    /// Default: the dialect of the first path of the server's game; none if the server has no list
    /// of rooms.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Encoding of the packets: MessagePack, or JSON in text messages.
    #[arg(long, value_name = "FORMAT", default_value = "msgpack")]
    format: PacketFormat,
    /// Hide packets with this name or code, or frames of this type, such as ping; may be repeated.
    #[arg(long, value_name = "NAME|CODE")]
    quiet: Vec<String>,
    /// Draw each frame in full instead of printing one line.
    #[arg(long)]
    full: bool,
    /// Packet tables to use instead of the built-in tables: a directory of `.tsv` files, one such
    /// file, or a capture that contains its tables.
    #[arg(long, value_name = "TABLES", env = "TICKWIRE_CODES")]
    codes: Option<PathBuf>,
    /// Certificates of authorities to accept for wss:// instead of the ones of this system: a file
    /// in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept any certificate for wss://. The server is then not authenticated.
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    #[command(flatten)]
    request: RequestArgs,
    /// Neither read nor write the history of the prompt, which is in tickwire/history in the
    /// directory $XDG_STATE_HOME.
    #[arg(long)]
    no_history: bool,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PacketFormat {
    Msgpack,
    Json,
}

/// Connects, and executes the lines.
pub fn run(args: &ConnectArgs, games: &GameList) -> Result<(), CliError> {
    let codes = tables::load_or_built_in(args.codes.as_deref(), games)?;
    let header_lines = args.request.header_lines()?;
    let tls = args.url.is_tls.then(|| tls::client_config(args.ca.as_deref(), args.insecure)).transpose();
    let tls = tls.map_err(|error| format!("{}: {error}", args.url))?;
    let dialect = args.dialect.as_deref();
    let options = ProtocolOptions { url: &args.url, dialect, is_json: args.format == PacketFormat::Json };
    let found = protocol::find(options, games, &codes, tls.as_ref())?;
    let url = &found.url;
    check_quiet(&args.quiet, (!found.is_foreign).then_some(&found.dialect))?;
    let subprotocols = &args.request.subprotocols;
    let request = ConnectRequest {
        url,
        subprotocols,
        header_lines: &header_lines,
        offer: args.request.compression.then_some(OFFER),
    };
    let live = Stream::open(url, tls.as_ref()).and_then(|stream| {
        ExplainedConnection::start(stream, request, &found.codes, (&found.dialect, found.is_requested))
    });
    let live = live.map_err(|error| format!("{url}: {error}"))?;
    if url.is_tls && args.insecure {
        print("--insecure: the server is not authenticated\n");
    }
    if found.is_foreign && args.dialect.is_none() {
        print("not a tickwire server: messages are shown as they are (--dialect NAME decodes packets)\n");
    }
    let output = FrameOutput { quiet: &args.quiet, is_full: args.full, paint: args.color.paint() };
    PromptSession::new(live, output, !args.no_history)?.run()
}

/// Checks that each name is a packet or a frame type, because a mistyped name would hide nothing.
fn check_quiet(quiet: &[String], dialect: Option<&Dialect>) -> Result<(), CliError> {
    let is_packet = |name: &String| {
        let Some(dialect) = dialect else { return false };
        let has_code = |row: &Row| row.code(dialect.name()).is_some_and(|code| code.to_string() == *name);
        let mut rows =
            [Direction::ToServer, Direction::ToClient].into_iter().flat_map(|way| dialect.rows(way));
        rows.any(|row| row.name == *name || has_code(row))
    };
    let opcodes: Vec<&str> = (0..=u8::MAX).filter_map(Opcode::new).map(Opcode::name).collect();
    let unknown = quiet.iter().find(|name| !is_packet(name) && !opcodes.contains(&name.as_str()));
    let known = dialect.map_or(NO_DIALECT, Dialect::name);
    unknown.map_or(Ok(()), |name| {
        Err(format!(
            "--quiet: {known} has no packet {name:?} (`tickwire codes` lists the packets), and the frame types are {}",
            opcodes.join(", ")
        ))
    })
}
