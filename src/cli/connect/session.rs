//! A session at the prompt: executes lines, and prints each frame sent and received.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::explained_connection::ExplainedConnection;
use super::input::{self, PromptCommand};
use super::line_reader::{LineEvent, LineReader};
use super::received::{Expectation, ReceivedFrames};
use super::{editor, one_line, wake};
use crate::cli::output::{CliError, clear_line, print};
use crate::cli::signals;
use crate::limits;
use crate::packet::{Direction, Row, grammar};
use crate::tools::explain::color::ColorMode;
use crate::util::escape;
use crate::util::os::{self, PollInterest, TerminalMode};
use crate::ws::frame::Opcode;
use crate::ws::{CloseCode, Side};

/// The prompt on a terminal.
const PROMPT: &str = "connect: ";
/// Exit status after a second Ctrl-C: 128 and the number of SIGINT.
const INTERRUPTED_STATUS: i32 = 130;

/// How frames are printed.
#[derive(Clone, Copy, Debug)]
pub struct FrameOutput<'a> {
    /// Names of hidden frames.
    pub quiet: &'a [String],
    /// Whether each frame is drawn instead of printed in one line.
    pub is_full: bool,
    /// The colours.
    pub paint: ColorMode,
}

/// Ends the editor's mode for pasted text, and the line of its prompt.
const END_OF_PROMPT: &str = "\x1b[?2004l\n";

/// A running session at the prompt.
pub struct PromptSession<'a, 'c> {
    connection: ExplainedConnection<'c>,
    output: FrameOutput<'a>,
    is_terminal: bool,
    /// Whether the editor reads and writes its history.
    has_history: bool,
    input: LineReader,
    /// Whether the prompt of a terminal without the editor is displayed, and no line was typed.
    is_prompted: bool,
    pending_lines: VecDeque<String>,
    is_input_over: bool,
    /// The mode of the terminal without the editor.
    terminal_mode: Option<TerminalMode>,
    /// Number of Ctrl-C and other signals to stop.
    stops: Arc<AtomicUsize>,
    /// Number of the current line, from 1.
    line_number: usize,
    received: ReceivedFrames,
}

impl<'a, 'c> PromptSession<'a, 'c> {
    /// Creates a session that reads standard input, and handles Ctrl-C: the first ends the session,
    /// the second one ends the program at once.
    ///
    /// # Errors
    /// Standard input cannot be read, or signals cannot be handled.
    pub fn new(
        connection: ExplainedConnection<'c>,
        output: FrameOutput<'a>,
        has_history: bool,
    ) -> Result<PromptSession<'a, 'c>, CliError> {
        let (waker, wake) = wake::pair().map_err(failure)?;
        let stops = Arc::new(AtomicUsize::new(0));
        let terminal_mode = TerminalMode::current();
        let (of_signals, to_wake, mode) = (Arc::clone(&stops), waker.clone(), terminal_mode.clone());
        signals::on_stop(move || {
            if of_signals.fetch_add(1, Ordering::AcqRel) > 0 {
                mode.iter().for_each(TerminalMode::restore);
                process::exit(INTERRUPTED_STATUS);
            }
            to_wake.wake();
        })?;
        Ok(PromptSession {
            connection,
            output,
            is_terminal: io::stdin().is_terminal(),
            has_history,
            input: LineReader::new(waker, wake),
            is_prompted: false,
            pending_lines: VecDeque::new(),
            is_input_over: false,
            terminal_mode,
            stops,
            line_number: 0,
            received: ReceivedFrames::default(),
        })
    }

    /// Waits for the upgrade, executes the lines, and closes the connection.
    ///
    /// # Errors
    /// The upgrade failed, a line of a script failed or the script was interrupted, or this client
    /// ended the connection.
    pub fn run(mut self) -> Result<(), CliError> {
        self.open()?;
        if self.is_terminal {
            self.print_above_prompt("type help for a list of commands\n");
        }
        let editor = if self.is_terminal { editor::open(PROMPT, self.has_history) } else { None };
        self.input.start(editor).map_err(failure)?;
        let done = self.run_lines().and_then(|()| self.leave());
        self.end_editor()?;
        if self.is_stopping() && !self.is_terminal {
            return Err(format!("line {}: interrupted", self.line_number));
        }
        done
    }

    fn is_stopping(&self) -> bool {
        self.stops.load(Ordering::Acquire) > 0
    }

    /// Waits for the response to the request.
    fn open(&mut self) -> Result<(), CliError> {
        let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
        while !self.connection.is_open() && !self.connection.is_over() && !self.is_stopping() {
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
        self.print_refusal();
        let why = self.connection.given_up().map_or(String::new(), |reason| format!(": {reason}"));
        Err(format!("the server did not accept the upgrade{why}"))
    }

    /// Prints the address and the body of a refusal.
    fn print_refusal(&mut self) {
        if let Some(address) = self.connection.redirection() {
            let line = format!("the response redirects to {}\n", escape::escape_line(address));
            self.print_above_prompt(&line);
        }
        let Some(text) = self.connection.refusal() else { return };
        let mut lines = text.lines().map(|line| escape::escape_line(line));
        match (lines.next(), lines.next()) {
            (Some(line), None) => self.print_above_prompt(&format!("the response says: {line}\n")),
            _ => {
                let lines = text.lines().map(|line| format!("  {}\n", escape::escape_line(line)));
                self.print_above_prompt(&format!("the response says:\n{}", lines.collect::<String>()));
            }
        }
    }

    /// Executes the lines until the input ends, a signal stops the session, or on a terminal the
    /// connection ends.
    fn run_lines(&mut self) -> Result<(), CliError> {
        loop {
            self.print_received();
            if self.is_stopping() || self.is_terminal && self.connection.is_over() {
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
        match input::parse(line, self.connection.format())? {
            PromptCommand::Empty => {}
            PromptCommand::Quit => return Ok(false),
            PromptCommand::Help => self.print_above_prompt(input::HELP),
            PromptCommand::Packets => self.print_above_prompt(&self.packets()?),
            PromptCommand::Wait(time) => self.pause(time)?,
            PromptCommand::Expect(wanted, time) => self.expect(&wanted, time)?,
            _ if self.connection.is_over() => return Err("the connection has ended".to_owned()),
            PromptCommand::Frame(opcode, payload) => {
                self.connection.send(opcode, &payload).map_err(failure)?
            }
            PromptCommand::File(opcode, path) => {
                self.connection.send(opcode, &read_file(&path)?).map_err(failure)?
            }
            PromptCommand::Bytes(bytes) => self.connection.send_bytes(&bytes).map_err(failure)?,
        }
        Ok(true)
    }

    /// Prints received frames for this time, or until the connection ends or a signal stops the
    /// session.
    fn pause(&mut self, time: Duration) -> Result<(), CliError> {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline && !self.connection.is_over() && !self.is_stopping() {
            self.wait(Some(deadline), false)?;
            self.print_received();
        }
        Ok(())
    }

    /// Waits for a frame that arrived after the last expected frame and meets the expectation.
    fn expect(&mut self, wanted: &Expectation, time: Option<Duration>) -> Result<(), CliError> {
        let time = time.unwrap_or(limits::CONNECT_EXPECT_TIMEOUT);
        let deadline = Instant::now() + time;
        let mut checked = 0;
        loop {
            self.print_received();
            let is_met = self.received.take(wanted, self.connection.format(), &mut checked);
            if is_met || self.is_stopping() {
                return Ok(());
            }
            if self.connection.is_over() {
                return Err(format!("expected {}, but the connection has ended", wanted.text));
            }
            if Instant::now() >= deadline {
                let (text, seconds) = (&wanted.text, time.as_secs_f64());
                return Err(format!("expected {text}, which did not arrive within {seconds} s"));
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
        let deadline = Instant::now() + limits::CLOSE_TIMEOUT;
        while Instant::now() < deadline && !self.connection.is_over() {
            self.wait(Some(deadline), false)?;
            self.print_received();
        }
        self.print_above_prompt(if self.connection.is_over() {
            "the connection has ended\n"
        } else {
            "left; the server has not ended the connection\n"
        });
        self.connection.given_up().map_or(Ok(()), |reason| Err(reason.to_owned()))
    }

    /// Waits until the editor ends, which restores the mode of the terminal. A line that was being
    /// typed thus does not reach the shell. A signal to stop does not end the editor.
    fn end_editor(&mut self) -> Result<(), CliError> {
        self.input.end_after_line();
        if !self.input.is_edited() || self.is_input_over {
            return Ok(());
        }
        if !self.is_stopping() {
            self.print_above_prompt("press Enter to leave\n");
        }
        while !self.is_input_over && !self.is_stopping() {
            self.wait(None, true)?;
        }
        if let Some(mode) = self.terminal_mode.as_ref().filter(|_| !self.is_input_over) {
            mode.restore();
            print(END_OF_PROMPT);
        }
        Ok(())
    }

    /// Waits for the server until the deadline, and with `wants_line` also for a line.
    fn wait(&mut self, deadline: Option<Instant>, wants_line: bool) -> Result<(), CliError> {
        let takes_lines = wants_line || self.input.is_edited();
        if takes_lines && self.take_lines() && wants_line {
            return Ok(());
        }
        let time = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A poll does not report bytes that are already decrypted.
        let has_unread = self.connection.has_unread() && !self.connection.is_over();
        let time = if has_unread { Duration::ZERO } else { time.unwrap_or(limits::CONNECT_IDLE_WAIT) };
        let mut sockets = vec![PollInterest::readable(self.input.wake().socket())];
        if !self.connection.is_over() {
            sockets.push(PollInterest::readable(self.connection.socket()));
        }
        let ready = os::poll(&sockets, time).map_err(failure)?;
        if has_unread || ready.get(1).is_some_and(|socket| socket.is_ready()) {
            self.connection.read().map_err(failure)?;
        }
        if ready[0].is_ready() {
            self.input.wake().clear();
            if takes_lines {
                self.take_lines();
            }
        }
        Ok(())
    }

    /// Takes the events of the input. Returns whether there were any.
    fn take_lines(&mut self) -> bool {
        let mut is_any = false;
        let max_lines = if self.input.is_edited() { usize::MAX } else { limits::CONNECT_QUEUED_LINES };
        while !self.is_input_over
            && self.pending_lines.len() < max_lines
            && let Some(event) = self.input.next_event()
        {
            (is_any, self.is_prompted) = (true, false);
            match event {
                // A pasted text has several lines.
                LineEvent::Line(text) => self.pending_lines.extend(text.split('\n').map(str::to_owned)),
                LineEvent::Interrupted => drop(self.stops.fetch_add(1, Ordering::AcqRel)),
                LineEvent::End => self.is_input_over = true,
            }
        }
        is_any
    }

    /// Prints all frames sent and received.
    fn print_received(&mut self) {
        let mut lines = String::new();
        while let Some(item) = self.connection.next_item() {
            if item.from == Side::Server {
                self.received.push(&item);
            }
            if item.names().iter().any(|name| self.output.quiet.contains(name)) {
                continue;
            }
            let paint = self.output.paint;
            lines += &match self.output.is_full {
                true => item.painted(paint) + "\n",
                false => one_line::print(item, paint),
            };
        }
        if !lines.is_empty() {
            self.print_above_prompt(&lines);
        }
    }

    /// Prints lines above the prompt. The prompt must then be printed again.
    fn print_above_prompt(&mut self, text: &str) {
        if std::mem::take(&mut self.is_prompted) {
            clear_line();
        }
        if !self.input.print(&escape::escape_output(text)) {
            print(text);
        }
    }

    fn prompt(&mut self) {
        if self.is_terminal && !self.input.is_edited() && !self.is_prompted {
            print(PROMPT);
            self.is_prompted = true;
        }
    }

    /// The packets that a client can send.
    fn packets(&self) -> Result<String, CliError> {
        let dialect = self.connection.format().dialect;
        let dialect = dialect.ok_or("this server has no packets; --dialect NAME decodes them")?;
        let line = |row: &Row| {
            let code = row.code(dialect.name()).map(ToString::to_string).unwrap_or_default();
            let arguments = grammar::format_arguments(&row.arguments);
            format!("{code:>4}  {:<14}{arguments}\n{:20}{}\n", row.name, "", row.meaning)
        };
        Ok(dialect.rows(Direction::ToServer).map(line).collect())
    }
}

fn failure(error: io::Error) -> CliError {
    error.to_string()
}

/// The bytes of a file, at most [`limits::CONNECT_FILE_BYTES`].
fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(limits::CONNECT_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limits::CONNECT_FILE_BYTES {
        return Err(format!(
            "{}: a file must have at most {} bytes; split it",
            path.display(),
            limits::CONNECT_FILE_BYTES
        ));
    }
    Ok(bytes)
}
