//! The prompt on a terminal: editing and history by `rustyline`, and lines above the prompt.
//!
//! The history is in `tickwire/history` in the user's state directory. A line is not stored if it
//! begins with a space, or if it has a word of a secret, such as `token` or `password`.

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::{env, fs};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, DefaultEditor, ExternalPrinter};

use crate::limits;
use crate::packet::credentials::is_secret_name;

/// The editor of one terminal.
pub struct LineEditor {
    editor: DefaultEditor,
    prompt: String,
    /// The file of the history, if lines are stored.
    history: Option<PathBuf>,
}

/// Prints above the prompt of an editor.
pub struct PrinterAbovePrompt(Box<dyn ExternalPrinter + Send>);

/// Opens an editor on standard input and output. `None` if they are no terminal, or one without
/// cursor movement. Without `has_history`, no file is read or written.
pub fn open(prompt: &str, has_history: bool) -> Option<(LineEditor, PrinterAbovePrompt)> {
    let config = Config::builder().max_history_size(limits::CONNECT_HISTORY_LINES).ok()?;
    let config = config.history_ignore_dups(true).ok()?.history_ignore_space(true).build();
    let history = FileHistory::with_config(&config);
    let mut editor = DefaultEditor::with_history(config, history).ok()?;
    let printer = editor.create_external_printer().ok()?;
    let history = state_directory().filter(|_| has_history).map(|state| state.join("tickwire/history"));
    if let Some(path) = &history {
        // Fails without a history.
        let _ = editor.load_history(path);
    }
    let printer = PrinterAbovePrompt(Box::new(printer));
    Some((LineEditor { editor, prompt: prompt.to_owned(), history }, printer))
}

/// `$XDG_STATE_HOME`, or else the default of its specification; `%LOCALAPPDATA%` on Windows.
fn state_directory() -> Option<PathBuf> {
    let directory = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_home = || directory("HOME").map(|home| home.join(".local/state"));
    directory("XDG_STATE_HOME").or_else(|| directory("LOCALAPPDATA")).or_else(of_home)
}

impl LineEditor {
    /// Waits for a line, and stores it in the history. `None` at the end of the input.
    ///
    /// # Errors
    /// `Interrupted` for Ctrl-C, or the terminal's error.
    pub fn read_line(&mut self) -> io::Result<Option<String>> {
        match self.editor.readline(&self.prompt) {
            Ok(line) => {
                self.store(&line);
                Ok(Some(line))
            }
            Err(ReadlineError::Eof) => Ok(None),
            Err(ReadlineError::Interrupted) => Err(ErrorKind::Interrupted.into()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Adds a line to the history. A file that cannot be written is no error, because the session
    /// works without it.
    fn store(&mut self, line: &str) {
        if is_secret_name(line.as_bytes()) || !self.editor.add_history_entry(line).unwrap_or_default() {
            return;
        }
        if let Some(path) = &self.history {
            let _ = path.parent().map(fs::create_dir_all);
            let _ = self.editor.append_history(path);
        }
    }
}

impl PrinterAbovePrompt {
    /// Prints lines above the prompt. Returns whether the editor could.
    pub fn print(&mut self, text: &str) -> bool {
        self.0.print(text.to_owned()).is_ok()
    }
}
