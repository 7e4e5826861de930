//! Parses and prints hexadecimal text.
//!
//! Digits are accepted without separators or in groups, separated by white space, colons or commas,
//! each group with or without the prefix `0x`. A group with an odd number of digits is an error.

use std::fmt;

/// The reason why text is not hexadecimal. Its message is one line, safe for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HexError {
    /// A character is not a hexadecimal digit.
    Digit(char),
    /// A group has an odd number of digits.
    OddDigits(String),
    /// The text has no digits.
    Empty,
}

impl fmt::Display for HexError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HexError::Digit(ch) => write!(out, "{ch:?} is not a hexadecimal digit"),
            HexError::OddDigits(digits) => {
                write!(out, "{digits:?} has an odd number of digits: each byte needs two")
            }
            HexError::Empty => out.write_str("no bytes to explain"),
        }
    }
}

impl std::error::Error for HexError {}

/// Parses hexadecimal text.
///
/// # Errors
/// The first invalid group.
pub fn parse(text: &str) -> Result<Vec<u8>, HexError> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let groups = text.split(|ch: char| ch.is_whitespace() || ch == ':' || ch == ',');
    for group in groups.filter(|group| !group.is_empty()) {
        let digits = group.strip_prefix("0x").or(group.strip_prefix("0X")).unwrap_or(group);
        if let Some(ch) = digits.chars().find(|ch| !ch.is_ascii_hexdigit()) {
            return Err(HexError::Digit(ch));
        }
        if digits.len() % 2 != 0 {
            return Err(HexError::OddDigits(digits.to_owned()));
        }
        let values: Vec<u8> =
            digits.chars().filter_map(|ch| ch.to_digit(16)).map(|digit| digit as u8).collect();
        bytes.extend(values.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    }
    if bytes.is_empty() { Err(HexError::Empty) } else { Ok(bytes) }
}

/// Formats bytes as two digits each, separated by spaces.
pub fn print(bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    groups.join(" ")
}

/// Formats bytes as digits without separators.
pub fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
