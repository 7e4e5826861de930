//! Replaces `editor.rs` in builds without the feature `line-editing`: lines are read as they are.

// The methods are documented in editor.rs.
#![allow(missing_docs)]

use std::io;

/// An editor that no build without the feature can have.
pub enum LineEditor {}

/// A printer that no build without the feature can have.
pub enum PrinterAbovePrompt {}

/// Always `None`.
pub fn open(_: &str, _: bool) -> Option<(LineEditor, PrinterAbovePrompt)> {
    None
}

impl LineEditor {
    pub fn read_line(&mut self) -> io::Result<Option<String>> {
        match *self {}
    }
}

impl PrinterAbovePrompt {
    pub fn print(&mut self, _: &str) -> bool {
        match *self {}
    }
}
