//! `--color`: whether the output has colours.
//!
//! The flag takes precedence over `NO_COLOR`, and `NO_COLOR` over the check for a terminal.

use std::io::{self, IsTerminal};

use clap::ValueEnum;

use crate::explain::paint::Paint;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Only on a terminal, and only if `NO_COLOR` is not set.
    #[default]
    Auto,
    /// Always, even if the output is a file or a pipe.
    Always,
    /// No colours.
    Never,
}

impl Color {
    /// The resulting paint.
    pub fn paint(self) -> Paint {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            Color::Always => Paint::Coloured,
            Color::Auto if !is_refused && io::stdout().is_terminal() => Paint::Coloured,
            Color::Auto | Color::Never => Paint::Plain,
        }
    }
}
