//! Terminal colours, one for each kind of byte.
//!
//! Text is returned between the ECMA-48 sequences that colour it, or unchanged. The caller decides
//! whether to colour: this module never looks at the terminal.

/// Whether there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// Text as it is.
    #[default]
    Plain,
    /// With colours.
    Coloured,
}

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorRole {
    /// Bits of a frame header; the names in a head.
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
    /// The number of its colour.
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
    /// The text in its colour.
    pub fn color(self, ink: ColorRole, text: &str) -> String {
        match self {
            ColorMode::Coloured if !text.trim().is_empty() => format!("\x1b[{}m{text}\x1b[0m", ink.sgr()),
            _ => text.to_owned(),
        }
    }
}
