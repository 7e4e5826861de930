//! Terminal colours, one for each kind of byte.
//!
//! Text is returned with or without the escape sequences of ECMA-48. The caller decides whether to
//! colour, because this module does not inspect the terminal.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// Unchanged text.
    #[default]
    Plain,
    /// Text within colour sequences.
    Coloured,
}

/// The kind of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorRole {
    /// Bits of a frame header, or names in an HTTP head.
    Header,
    /// The length of a payload.
    Length,
    /// The masking key.
    Key,
    /// The head of a MessagePack value: its type and length.
    Head,
    /// A value.
    Value,
    /// Bytes that break a rule.
    Error,
}

impl ColorRole {
    /// The parameter of the SGR sequence.
    fn sgr(self) -> &'static str {
        match self {
            ColorRole::Header => "36",
            ColorRole::Length => "33",
            ColorRole::Key => "35",
            ColorRole::Head => "34",
            ColorRole::Value => "32",
            ColorRole::Error => "1;31",
        }
    }
}

impl ColorMode {
    /// Returns the text in the colour of its role.
    pub fn color(self, ink: ColorRole, text: &str) -> String {
        match self {
            ColorMode::Coloured if !text.trim().is_empty() => format!("\x1b[{}m{text}\x1b[0m", ink.sgr()),
            _ => text.to_owned(),
        }
    }
}
