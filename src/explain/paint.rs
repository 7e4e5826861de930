//! Colours of a terminal, one for each kind of byte.
//!
//! A text and its kind come in; the same text goes out, between the sequences of ECMA-48 that colour it, or as it is. Never: a look at
//! the terminal; whether there is one is the caller's business.

/// Whether there are colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Text as it is.
    #[default]
    Plain,
    /// With colours.
    Coloured,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Bits of a frame header; the names in a head.
    Header,
    /// The length of a payload.
    Length,
    /// The masking key.
    Key,
    /// The head of a value of MessagePack: what it is, and how long.
    Head,
    /// A value.
    Value,
    /// What breaks a rule.
    Error,
}

impl Ink {
    /// The number of its colour.
    fn sgr(self) -> &'static str {
        match self {
            Ink::Header => "36",
            Ink::Length => "33",
            Ink::Key => "35",
            Ink::Head => "34",
            Ink::Value => "32",
            Ink::Error => "1;31",
        }
    }
}

impl Paint {
    /// The text in its colour.
    pub fn ink(self, ink: Ink, text: &str) -> String {
        match self {
            Paint::Coloured if !text.trim().is_empty() => format!("\x1b[{}m{text}\x1b[0m", ink.sgr()),
            _ => text.to_owned(),
        }
    }
}
