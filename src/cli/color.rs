//! The use of colours: one decision for reports, the log and the help.
//!
//! The decision depends, in this order, on `--color`; [`NO_COLOR`](https://no-color.org);
//! `CLICOLOR_FORCE` ([bixense.com/clicolors](https://bixense.com/clicolors/)); whether the output
//! is a terminal, and whether `TERM` is a terminal with colours.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::ValueEnum;

use crate::tools::explain::color::ColorMode;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`; elsewhere if `CLICOLOR_FORCE`
    /// is set.
    #[default]
    Auto,
    /// Always, even if the output is a file or a pipe.
    Always,
    /// No colours.
    Never,
}

impl Color {
    /// The colour mode of standard output.
    pub fn paint(self) -> ColorMode {
        if self.is_on(&io::stdout()) { ColorMode::Coloured } else { ColorMode::Plain }
    }

    /// Whether this output has colours.
    pub fn is_on(self, output: &impl IsTerminal) -> bool {
        self.decide(|name| env::var_os(name), output.is_terminal())
    }

    fn decide(self, variable: impl Fn(&str) -> Option<OsString>, is_terminal: bool) -> bool {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if is_set("NO_COLOR") => false,
            Color::Auto if is_set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE") != Some("0".into()) => true,
            Color::Auto => is_terminal && variable("TERM") != Some("dumb".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_comes_before_the_variables_and_these_before_the_terminal() {
        let decide = |color: Color, variables: &[(&str, &str)], is_terminal| {
            let found = |name: &str| variables.iter().find(|(own, _)| *own == name);
            color.decide(|name| found(name).map(|(_, value)| value.into()), is_terminal)
        };
        let (force, no, dumb) = (("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1"), ("TERM", "dumb"));
        for (variables, on_a_terminal, elsewhere) in [
            (&[][..], true, false),
            (&[("TERM", "xterm-256color")], true, false),
            (&[dumb], false, false),
            (&[no], false, false),
            (&[("NO_COLOR", "")], true, false),
            (&[force], true, true),
            (&[("CLICOLOR_FORCE", "0")], true, false),
            (&[force, dumb], true, true),
            (&[force, no], false, false),
        ] {
            let found = [true, false].map(|is_terminal| decide(Color::Auto, variables, is_terminal));
            assert_eq!(found, [on_a_terminal, elsewhere], "{variables:?}");
            let flags = [Color::Always, Color::Never].map(|color| decide(color, variables, true));
            assert_eq!(flags, [true, false], "{variables:?}");
        }
    }
}
