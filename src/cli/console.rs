//! The operator's console on standard input. Each line is a command. Its result goes to standard
//! output, or to standard error if standard output contains a capture.
//!
//! Lines come from a terminal, a pipe or a file; a terminal has a prompt. The end of the input
//! stops only the console: a server started without input continues. At most
//! [`limits::MAX_OPERATOR_LINE_BYTES`] of a line are stored. The console does not read the terminal
//! while another program is in its foreground.

use std::io::{self, ErrorKind, IsTerminal};
use std::thread;

use super::output::CliError;
use crate::limits;
use crate::server::net::Console;
use crate::server::net::console::Source;
use crate::util::os::threads;
use crate::util::os::{self, PollableStdin};

/// The operator's prompt on a terminal.
const PROMPT: &str = "> ";

/// Starts the console, in a thread that ends with the input or the program. Results are printed
/// with `print`.
///
/// # Errors
/// The thread cannot be started.
pub fn start(console: Console, print: fn(&str)) -> Result<(), CliError> {
    let spawned = threads::spawn("console", move || run(&console, print));
    spawned.map(drop).map_err(|error| format!("cannot start the console's thread: {error}"))
}

fn run(console: &Console, print: fn(&str)) {
    let is_terminal = io::stdin().is_terminal();
    let Ok(mut input) = PollableStdin::open() else { return };
    let (mut lines, mut buffer) = (LineSplitter::default(), [0; limits::MAX_OPERATOR_LINE_BYTES]);
    if is_terminal {
        print("type help for a list of commands\n");
        print(PROMPT);
    }
    loop {
        let count = match read(&mut input, is_terminal, &mut buffer) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => continue,
            Err(_) => return,
        };
        let mut received: Vec<String> =
            buffer[..count].iter().filter_map(|byte| lines.push_byte(*byte)).collect();
        if count == 0 {
            received.extend(lines.end());
        }
        for line in received {
            if let Some(answer) = console.run(&line, Source::Terminal) {
                print(&answer.text);
            }
            if is_terminal && !console.is_stopping() {
                print(PROMPT);
            }
        }
        if count == 0 {
            return;
        }
    }
}

/// Waits for bytes; returns 0 at the end. The terminal is read only in the foreground, because a
/// shell stops a program that reads in the background.
fn read(input: &mut PollableStdin, is_terminal: bool, buffer: &mut [u8]) -> io::Result<usize> {
    while !input.wait(limits::FOREGROUND_POLL_INTERVAL)? || is_terminal && !os::is_foreground() {
        if is_terminal && !os::is_foreground() {
            thread::sleep(limits::FOREGROUND_POLL_INTERVAL);
        }
    }
    input.read(buffer)
}

/// Splits bytes into lines.
#[derive(Debug)]
pub struct LineSplitter {
    line: Vec<u8>,
    max_bytes: usize,
}

/// Lines of the operator, of at most [`limits::MAX_OPERATOR_LINE_BYTES`].
impl Default for LineSplitter {
    fn default() -> LineSplitter {
        LineSplitter::with_max_bytes(limits::MAX_OPERATOR_LINE_BYTES)
    }
}

impl LineSplitter {
    /// Creates a splitter for lines of at most this many bytes. A longer line is cut after one more
    /// byte, so that the caller can detect it.
    pub fn with_max_bytes(max_bytes: usize) -> LineSplitter {
        LineSplitter { line: Vec::new(), max_bytes }
    }

    /// Adds a byte. Returns the line if the byte ends one.
    pub fn push_byte(&mut self, byte: u8) -> Option<String> {
        if byte == b'\n' {
            return Some(self.take_line());
        }
        if self.line.len() <= self.max_bytes {
            self.line.push(byte);
        }
        None
    }

    /// Ends the input. Returns an unterminated last line.
    pub fn end(&mut self) -> Option<String> {
        Some(self.take_line()).filter(|line| !line.is_empty())
    }

    /// Removes the line from the buffer, and replaces invalid UTF-8: no command contains any, and
    /// players receive a text as the console displays it.
    fn take_line(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = LineSplitter::default();
        let mut received: Vec<String> = bytes.iter().filter_map(|byte| lines.push_byte(*byte)).collect();
        received.extend(lines.end());
        received
    }

    #[test]
    fn a_line_ends_with_its_end_or_the_inputs() {
        assert_eq!(lines(b"help\n\nstats\r\nsay hi"), ["help", "", "stats\r", "say hi"]);
        assert_eq!(lines(b"help\n"), ["help"]);
        assert_eq!(lines(b""), [""; 0]);
        assert_eq!(lines(b"say \xff\n"), ["say \u{fffd}"]);
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let long = [vec![b'a'; 100 * limits::MAX_OPERATOR_LINE_BYTES], b"\nstats".to_vec()].concat();
        let received = lines(&long);
        assert_eq!(received[0].len(), limits::MAX_OPERATOR_LINE_BYTES + 1, "one more than can be read");
        assert_eq!(received[1], "stats");
    }
}
