//! `tickwire connect`: a prompt that is connected to a server and explains each frame sent and
//! received.
//!
//! It reads lines from standard input, typed or from a script, and prints one line for each frame,
//! or its drawing. The exit code is 1 if a line of a script is invalid or an expected frame does
//! not arrive. One thread waits for the terminal and the socket at once, so the output has the
//! order of the events.

pub(crate) mod explained_connection;
pub(crate) mod input;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::color::Color;
use super::console::LineSplitter;
use super::game_list::GameList;
use super::output::{CliError, clear_line, print};
use super::tables;
use crate::cli::connect::explained_connection::ExplainedConnection;
use crate::cli::connect::input::{PromptCommand, WireFormat};
use crate::client::room_list;
use crate::client::stream::Stream;
use crate::client::tls::{self, ClientConfig};
use crate::client::url::Url;
use crate::limits;
use crate::packet::{Dialect, Direction, PacketTables, Row, grammar};
use crate::tools::explain::color::ColorMode;
use crate::util::escape;
use crate::util::os::{self, PollableStdin};
use crate::ws::frame::Opcode;
use crate::ws::{CloseCode, Side};

/// The prompt on a terminal.
const PROMPT: &str = "connect: ";

/// Options of `connect`.
#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// URL of the server, such as ws://localhost:3000 or wss://example.org/. A path, such as /play,
    /// /server or /, is requested as it is and selects the dialect. Without a path, --dialect
    /// selects both.
    #[arg(value_name = "URL")]
    url: Url,
    /// Dialect to use, such as native, legacy or letters. Default: the dialect of the first path of
    /// the server's game.
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
    let tls = args.url.is_tls.then(|| tls::client_config(args.ca.as_deref(), args.insecure)).transpose();
    let tls = tls.map_err(|error| format!("{}: {error}", args.url))?;
    let paths = game_paths(args, games, tls.as_ref());
    let (dialect, _) =
        tables::find_dialect(&codes, paths, &args.url, args.dialect.as_deref(), args.url.is_exact())?;
    check_quiet(&args.quiet, &dialect)?;
    let mut url = args.url.clone();
    if !url.is_exact() {
        url = url.with_dialect_path(paths, dialect.name());
    }
    if args.format == PacketFormat::Json {
        url.target.push_str(if url.target.contains('?') { "&format=json" } else { "?format=json" });
    }
    let codes = in_room(&codes, url.room(), paths);
    let live = Stream::open(&url, tls.as_ref())
        .and_then(|stream| {
            ExplainedConnection::start(stream, &url, &codes, (&dialect, args.dialect.is_some()))
        })
        .map_err(|error| format!("{url}: {error}"))?;
    let mut session = PromptSession {
        connection: live,
        args,
        paint: args.color.paint(),
        is_terminal: io::stdin().is_terminal(),
        input: PollableStdin::open().map_err(failure)?,
        is_prompted: false,
        lines: LineSplitter::with_max_bytes(limits::CONNECT_MAX_LINE_BYTES),
        pending_lines: VecDeque::new(),
        is_input_over: false,
        line_number: 0,
        received_names: VecDeque::new(),
    };
    if args.url.is_tls && args.insecure {
        session.print_above_prompt("--insecure: the server is not authenticated\n");
    }
    session.open()?;
    if session.is_terminal {
        print("type help for a list of commands\n");
    }
    session.run_lines()?;
    session.leave()
}

/// A copy of the tables with the paths of this room.
fn in_room(codes: &PacketTables, room: &str, paths: &[(&str, &str)]) -> PacketTables {
    let paths = paths.iter().map(|(path, dialect)| ((*path).to_owned(), (*dialect).to_owned())).collect();
    codes.clone().with_room_paths(BTreeMap::from([(room.to_owned(), paths)]))
}

/// The paths of the game at the URL. With `--dialect`, or if the server does not report its game,
/// the paths of the program's first game.
fn game_paths(
    args: &ConnectArgs,
    games: &GameList,
    tls: Option<&Arc<ClientConfig>>,
) -> &'static [(&'static str, &'static str)] {
    let first = games.factories[0].about.paths;
    if games.factories.len() == 1 || args.dialect.is_some() {
        return first;
    }
    let found = Stream::open(&args.url, tls).and_then(|stream| room_list::game_of_room(&args.url, stream));
    let named = found.ok().flatten().and_then(|name| games.named(&name).ok());
    named.map_or(first, |kind| kind.about.paths)
}

/// Checks that each name is a packet or a frame type, because a mistyped name would hide nothing.
fn check_quiet(quiet: &[String], dialect: &Dialect) -> Result<(), CliError> {
    let rows = || [Direction::ToServer, Direction::ToClient].into_iter().flat_map(|way| dialect.rows(way));
    let is_packet = |name: &String| {
        let has_code = |row: &Row| row.code(dialect.name()).is_some_and(|code| code.to_string() == *name);
        rows().any(|row| row.name == *name || has_code(row))
    };
    let opcodes: Vec<&str> = (0..=u8::MAX).filter_map(Opcode::new).map(Opcode::name).collect();
    let unknown = quiet.iter().find(|name| !is_packet(name) && !opcodes.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| {
        Err(format!(
            "--quiet: {} has no packet {name:?} (`tickwire codes` lists the packets), and the frame types are {}",
            dialect.name(),
            opcodes.join(", ")
        ))
    })
}

/// A running session at the prompt.
struct PromptSession<'a, 'c> {
    connection: ExplainedConnection<'c>,
    args: &'a ConnectArgs,
    paint: ColorMode,
    is_terminal: bool,
    input: PollableStdin,
    /// Whether the prompt is displayed and no line has been typed.
    is_prompted: bool,
    lines: LineSplitter,
    pending_lines: VecDeque<String>,
    is_input_over: bool,
    /// Number of the current line, from 1.
    line_number: usize,
    /// The names of each server frame received since the last expected one.
    received_names: VecDeque<Vec<String>>,
}

impl PromptSession<'_, '_> {
    /// Waits for the response to the request.
    fn open(&mut self) -> Result<(), CliError> {
        let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
        while !self.connection.is_open() && !self.connection.is_over() {
            self.wait(Some(deadline), false)?;
            self.print_received();
            if Instant::now() >= deadline && !self.connection.is_open() && !self.connection.is_over() {
                let seconds = limits::CONNECT_TIMEOUT.as_secs();
                return Err(format!("the server did not complete its response within {seconds} s"));
            }
        }
        self.print_received();
        if !self.connection.is_over() {
            return Ok(());
        }
        if let Some(text) = self.connection.refusal() {
            self.print_above_prompt(&format!("the response says: {}\n", escape::escape_line(&text)));
        }
        let why = self.connection.given_up().map_or(String::new(), |reason| format!(": {reason}"));
        Err(format!("the server did not accept the upgrade{why}"))
    }

    /// Executes the lines until the input ends.
    fn run_lines(&mut self) -> Result<(), CliError> {
        loop {
            self.print_received();
            if self.is_terminal && self.connection.is_over() {
                return Ok(());
            }
            let Some(line) = self.pending_lines.pop_front() else {
                if self.is_input_over {
                    return Ok(());
                }
                self.prompt();
                self.wait(None, true)?;
                continue;
            };
            self.line_number += 1;
            let done = self.execute_line(&line);
            match done {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if self.is_terminal => self.print_above_prompt(&format!("{error}\n")),
                Err(error) => return Err(format!("line {}: {error}", self.line_number)),
            }
        }
    }

    /// Executes a line. Returns whether another may follow.
    fn execute_line(&mut self, line: &str) -> Result<bool, CliError> {
        if line.len() > limits::CONNECT_MAX_LINE_BYTES {
            return Err(format!("more than {} bytes", limits::CONNECT_MAX_LINE_BYTES));
        }
        let speech = WireFormat { dialect: self.connection.dialect(), json: self.connection.is_json() };
        match input::parse(line, speech)? {
            PromptCommand::Empty => {}
            PromptCommand::Quit => return Ok(false),
            PromptCommand::Help => self.print_above_prompt(input::HELP),
            PromptCommand::Packets => self.print_above_prompt(&self.packets()),
            PromptCommand::Wait(time) => self.pause(time)?,
            PromptCommand::Expect(name, time) => self.expect(&name, time)?,
            _ if self.connection.is_over() => return Err("the connection has ended".to_owned()),
            PromptCommand::Frame(opcode, payload) => {
                self.connection.send(opcode, &payload).map_err(failure)?
            }
            PromptCommand::Bytes(bytes) => self.connection.send_bytes(&bytes).map_err(failure)?,
        }
        Ok(true)
    }

    /// Prints received frames for this time, or until the connection ends.
    fn pause(&mut self, time: Duration) -> Result<(), CliError> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !self.connection.is_over() {
            self.wait(Some(deadline), false)?;
            self.print_received();
        }
        Ok(())
    }

    /// Waits for a frame of this name that arrived after the last expected frame.
    fn expect(&mut self, name: &str, time: Option<Duration>) -> Result<(), CliError> {
        let time = time.unwrap_or(limits::CONNECT_EXPECT_TIMEOUT);
        let deadline = Instant::now() + time;
        loop {
            self.print_received();
            if let Some(place) =
                self.received_names.iter().position(|names| names.iter().any(|known| known == name))
            {
                self.received_names.drain(..=place);
                return Ok(());
            }
            if self.connection.is_over() {
                return Err(format!("expected {name}, but the connection has ended"));
            }
            if Instant::now() >= deadline {
                return Err(format!("expected {name}, which did not arrive within {} s", time.as_secs_f64()));
            }
            self.wait(Some(deadline), false)?;
        }
    }

    /// Closes the connection, and prints the server's reply.
    fn leave(&mut self) -> Result<(), CliError> {
        if self.connection.is_open() && !self.connection.has_closed() {
            let code = CloseCode::NORMAL.get().to_be_bytes();
            self.connection.send(Opcode::Close, &code).map_err(failure)?;
        }
        self.print_received();
        self.pause(limits::CLOSE_TIMEOUT)?;
        self.print_above_prompt(if self.connection.is_over() {
            "the connection has ended\n"
        } else {
            "left; the server has not ended the connection\n"
        });
        self.connection.given_up().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    /// Waits for the server until the deadline, and with `wants_line` also for a line.
    fn wait(&mut self, deadline: Option<Instant>, wants_line: bool) -> Result<(), CliError> {
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let socket = Some(self.connection.socket()).filter(|_| !self.connection.is_over());
        let input = Some(&mut self.input).filter(|_| wants_line);
        // A poll does not report bytes that are already decrypted.
        let has_unread = self.connection.has_unread();
        let time = if has_unread { Duration::ZERO } else { time.unwrap_or(limits::CONNECT_IDLE_WAIT) };
        let (is_spoken, is_typed) = os::poll_with_input(socket, input, time).map_err(failure)?;
        if is_spoken || has_unread {
            self.connection.read().map_err(failure)?;
        }
        if is_typed { self.read_lines() } else { Ok(()) }
    }

    fn read_lines(&mut self) -> Result<(), CliError> {
        let mut buffer = [0; limits::READ_BYTES];
        let count = match self.input.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        let lines: Vec<String> =
            buffer[..count].iter().filter_map(|byte| self.lines.push_byte(*byte)).collect();
        self.is_prompted &= lines.is_empty();
        self.pending_lines.extend(lines);
        if count == 0 {
            self.is_input_over = true;
            self.pending_lines.extend(self.lines.end());
        }
        Ok(())
    }

    /// Prints all frames sent and received.
    fn print_received(&mut self) {
        while let Some(item) = self.connection.next_item() {
            let names = item.names();
            let is_quiet = names.iter().any(|name| self.args.quiet.contains(name));
            if !is_quiet {
                let text =
                    if self.args.full { item.painted(self.paint) + "\n" } else { item.one_line(self.paint) };
                self.print_above_prompt(&text);
            }
            if item.from == Side::Server {
                if self.received_names.len() == limits::CONNECT_MAX_RECEIVED {
                    self.received_names.pop_front();
                }
                self.received_names.push_back(names);
            }
        }
    }

    /// Prints lines above the prompt. The prompt must then be printed again.
    fn print_above_prompt(&mut self, text: &str) {
        if std::mem::take(&mut self.is_prompted) {
            clear_line();
        }
        print(text);
    }

    fn prompt(&mut self) {
        if self.is_terminal && !self.is_prompted {
            print(PROMPT);
            self.is_prompted = true;
        }
    }

    /// The packets that a client can send.
    fn packets(&self) -> String {
        let dialect = self.connection.dialect();
        let line = |row: &Row| {
            let code = row.code(dialect.name()).map(ToString::to_string).unwrap_or_default();
            let arguments = grammar::format_arguments(&row.arguments);
            format!("{code:>4}  {:<14}{arguments}\n{:20}{}\n", row.name, "", row.meaning)
        };
        dialect.rows(Direction::ToServer).map(line).collect()
    }
}

fn failure(error: io::Error) -> CliError {
    error.to_string()
}
