//! Reads lines in a thread: with an editor on a terminal, otherwise as they are.
//!
//! ```text
//!   thread: terminal ──► editor ──► events ──► session
//!                                   └─ wake ──► its poll
//!   thread: pipe ─────────────────► events ──► session
//! ```
//!
//! The editor runs until the session has to end, so that it can print above its prompt at any time.
//! It ends by itself after `quit`, Ctrl-C and Ctrl-D, because the terminal then has its normal mode
//! again.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};

use super::editor::{LineEditor, PrinterAbovePrompt};
use super::wake::{WakeReceiver, Waker};
use crate::cli::console::LineSplitter;
use crate::limits;
use crate::util::os::threads;

/// The line that ends the session.
pub const QUIT: &str = "quit";

/// An event of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// A line without its end.
    Line(String),
    /// Ctrl-C in the editor.
    Interrupted,
    /// The end of the input: nothing follows.
    End,
}

/// The lines of standard input.
pub struct LineReader {
    /// The thread's end of the events, until it starts.
    sender: Option<(SyncSender<LineEvent>, Waker)>,
    events: Receiver<LineEvent>,
    wake: WakeReceiver,
    printer: Option<PrinterAbovePrompt>,
    /// Set when the editor must end after its current line.
    is_ending: Arc<AtomicBool>,
}

impl LineReader {
    /// Creates a reader that has not started.
    pub fn new(waker: Waker, wake: WakeReceiver) -> LineReader {
        let (sender, events) = mpsc::sync_channel(limits::CONNECT_QUEUED_LINES);
        let is_ending = Arc::new(AtomicBool::new(false));
        LineReader { sender: Some((sender, waker)), events, wake, printer: None, is_ending }
    }

    /// Starts the thread, with the editor if there is one. A second call does nothing.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(&mut self, editor: Option<(LineEditor, PrinterAbovePrompt)>) -> io::Result<()> {
        let Some((sender, waker)) = self.sender.take() else { return Ok(()) };
        let send = move |event| {
            let is_received = sender.send(event).is_ok();
            waker.wake();
            is_received
        };
        let is_last = Arc::clone(&self.is_ending);
        let Some((editor, printer)) = editor else {
            return threads::spawn("lines", move || read_lines(io::stdin().lock(), send)).map(drop);
        };
        self.printer = Some(printer);
        threads::spawn("lines", move || edit_lines(editor, &is_last, send)).map(drop)
    }

    /// Whether the lines are edited, so that the editor shows the prompt.
    pub fn is_edited(&self) -> bool {
        self.printer.is_some()
    }

    /// The end of the wake-up pair to poll.
    pub fn wake(&mut self) -> &mut WakeReceiver {
        &mut self.wake
    }

    /// The next event; `None` if there is none yet.
    pub fn next_event(&mut self) -> Option<LineEvent> {
        match self.events.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(LineEvent::End),
        }
    }

    /// Prints above the prompt of the editor. Returns whether it did.
    pub fn print(&mut self, text: &str) -> bool {
        self.printer.as_mut().is_some_and(|printer| printer.print(text))
    }

    /// Ends the editor after its current line.
    pub fn end_after_line(&mut self) {
        self.is_ending.store(true, Ordering::Release);
    }
}

fn edit_lines(mut editor: LineEditor, is_last: &AtomicBool, mut send: impl FnMut(LineEvent) -> bool) {
    loop {
        let event = match editor.read_line() {
            Ok(Some(line)) => LineEvent::Line(line),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => LineEvent::Interrupted,
            Ok(None) | Err(_) => LineEvent::End,
        };
        let is_end = is_last.load(Ordering::Acquire)
            || !matches!(&event, LineEvent::Line(line) if line.trim() != QUIT);
        if is_end {
            // The terminal has its normal mode before the session prints its last lines.
            drop(editor);
            send(event);
            send(LineEvent::End);
            return;
        }
        if !send(event) {
            return;
        }
    }
}

fn read_lines(mut input: impl BufRead, mut send: impl FnMut(LineEvent) -> bool) {
    let mut lines = LineSplitter::with_max_bytes(limits::CONNECT_MAX_LINE_BYTES);
    loop {
        let bytes = match input.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => &[],
        };
        let count = bytes.len();
        if count == 0 {
            lines.end().map(LineEvent::Line).map(&mut send);
            send(LineEvent::End);
            return;
        }
        let whole: Vec<String> = bytes.iter().filter_map(|byte| lines.push_byte(*byte)).collect();
        input.consume(count);
        if !whole.into_iter().all(|line| send(LineEvent::Line(line))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_pipe_arrive_in_order_and_the_last_needs_no_end() {
        let mut events = Vec::new();
        read_lines(&b"a\n\nb c\nd"[..], |event| {
            events.push(event);
            true
        });
        let line = |text: &str| LineEvent::Line(text.to_owned());
        assert_eq!(events, [line("a"), line(""), line("b c"), line("d"), LineEvent::End]);
    }

    #[test]
    fn a_line_without_an_end_is_cut_one_byte_after_the_limit() {
        let mut lengths = Vec::new();
        read_lines(&vec![b'x'; 3 * limits::CONNECT_MAX_LINE_BYTES][..], |event| {
            if let LineEvent::Line(line) = event {
                lengths.push(line.len());
            }
            true
        });
        assert_eq!(lengths, [limits::CONNECT_MAX_LINE_BYTES + 1]);
    }
}
