//! The result of reading an input, and its error.

use std::fmt;

use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Consecutive bytes of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPiece {
    /// The sender; `None` if the input does not mark it.
    pub from: Option<Side>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A message without its frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputMessage {
    /// The sender; `None` if the input does not mark it.
    pub from: Option<Side>,
    /// Text, binary, or the opcode of a control frame.
    pub opcode: Opcode,
    /// The payload.
    pub payload: Vec<u8>,
}

/// The notation of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// No text: the bytes themselves.
    Bytes,
    /// Hexadecimal digits.
    Hex,
    /// A dump with offsets.
    HexDump,
    /// Numbers in brackets.
    Numbers,
    /// Text with escapes such as `\x81`.
    Escapes,
    /// Base64.
    Base64,
    /// Base64 with `-` and `_`.
    Base64Url,
    /// JSON: the payload of a text message.
    Json,
}

impl fmt::Display for Notation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Notation::Bytes => "bytes",
            Notation::Hex => "hexadecimal",
            Notation::HexDump => "a hex dump with offsets",
            Notation::Numbers => "numbers in brackets",
            Notation::Escapes => "text with escapes",
            Notation::Base64 => "Base64",
            Notation::Base64Url => "Base64 for URLs",
            Notation::Json => "JSON, the payload of a text message, which has no frame header",
        })
    }
}

/// The bytes of an input, and their notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The notation.
    pub notation: Notation,
    /// The bytes.
    pub content: InputContent,
}

/// The bytes of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputContent {
    /// Bytes of a connection, with frame headers.
    Pieces(Vec<InputPiece>),
    /// A message without frame headers.
    Message(InputMessage),
}

impl Input {
    /// Creates an input of bytes with frame headers.
    pub fn pieces(notation: Notation, pieces: Vec<InputPiece>) -> Input {
        Input { notation, content: InputContent::Pieces(pieces) }
    }

    /// Creates an input of bytes without a sender.
    pub fn bytes(notation: Notation, bytes: Vec<u8>) -> Input {
        Input::pieces(notation, vec![InputPiece { from: None, bytes }])
    }
}

/// An error at an offset in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// The offset in bytes.
    pub offset: usize,
    /// The value, the rule and the remedy.
    pub message: String,
}

impl InvalidText {
    /// Creates an error.
    pub fn new(offset: usize, message: impl Into<String>) -> InvalidText {
        InvalidText { offset, message: message.into() }
    }

    /// Formats the error with its line and column, from 1.
    pub fn locate(&self, text: &str) -> String {
        let before = text.get(..self.offset.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: {}", self.message)
    }
}

/// The error text for an input without bytes.
pub const EMPTY: &str = "no bytes to explain";

/// The byte order mark of UTF-8. No frame or HTTP head begins with a byte order mark.
pub const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
