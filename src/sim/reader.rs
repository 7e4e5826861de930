//! Decodes the numbers and texts of an action or a state. All numbers are little-endian.

use std::fmt;

use crate::named::Migration;

/// Maximum number of commands in a frame, because the count in a frame has 16 bits. More commands
/// are an error, so that no command is silently omitted.
pub const MAX_COMMANDS: usize = 65_535;

/// The reason why bytes are not an action, a command frame or a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The number of commands exceeds [`MAX_COMMANDS`].
    TooMany(usize),
    /// The bytes end too early.
    Truncated,
    /// Bytes follow the last command.
    Trailing,
    /// No action has this number.
    Kind(u8),
    /// A value of the named type is invalid.
    Value(&'static str),
    /// A text is not UTF-8.
    Text,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::TooMany(count) => {
                write!(out, "{count} commands in one tick: a command frame holds at most {MAX_COMMANDS}")
            }
            Malformed::Truncated => out.write_str("the bytes are truncated"),
            Malformed::Trailing => out.write_str("there are extra bytes at the end"),
            Malformed::Kind(kind) => write!(out, "there is no action of kind {kind}"),
            Malformed::Value(what) => write!(out, "an impossible value: {what}"),
            Malformed::Text => out.write_str("a text is not UTF-8"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A cursor in bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// During a migration: the state with named fields, from which values are read instead of
    /// `bytes`.
    migration: Option<&'a Migration<'a>>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, migration: None }
    }

    pub(crate) fn migrating(carried: &'a Migration<'a>) -> Reader<'a> {
        Reader { bytes: &[], migration: Some(carried) }
    }

    /// The migration, if there is one. Compiled out in WebAssembly: no browser build migrates saved
    /// worlds.
    fn carried(&self) -> Option<&'a Migration<'a>> {
        if cfg!(target_family = "wasm") { None } else { self.migration }
    }

    /// Begins a field. The values up to the matching [`Reader::leave`] belong to it.
    pub fn enter(&mut self, field: &'static str) {
        if let Some(carried) = self.carried() {
            carried.enter(field);
        }
    }

    /// Begins the next item of a list. The values up to the matching [`Reader::leave`] belong to
    /// it.
    pub fn item(&mut self) {
        if let Some(carried) = self.carried() {
            carried.item();
        }
    }

    /// Ends the field or the item.
    pub fn leave(&mut self) {
        if let Some(carried) = self.carried() {
            carried.leave();
        }
    }

    /// Reads the variant of an enum, as its index in `names`.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn variant(&mut self, names: &[&str]) -> Result<u64, Malformed> {
        self.carried().map_or_else(|| self.scalar(1), |carried| Ok(carried.variant(names)))
    }

    /// The unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.carried().map_or(self.bytes, Migration::rest)
    }

    /// Reads the next `count` bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if there are fewer.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        if let Some(carried) = self.carried() {
            return carried.bytes(count).ok_or(Malformed::Truncated);
        }
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Malformed::Truncated)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Reads the next bytes as an array: `u32::from_le_bytes(reader.array()?)`.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if there are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Reads a number of `bytes` bytes, at most 8.
    ///
    /// # Errors
    /// [`Malformed::Truncated`] if there are fewer.
    pub fn scalar(&mut self, bytes: usize) -> Result<u64, Malformed> {
        if let Some(carried) = self.carried() {
            return Ok(carried.scalar(bytes));
        }
        Ok(self.take(bytes)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a byte that is 0 or 1.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], or [`Malformed::Value`].
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value("flag")),
        }
    }

    /// Reads a number of 2 bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads a number of 4 bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a number of 8 bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a text: its length in a byte, then UTF-8.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], or [`Malformed::Text`].
    pub fn text(&mut self) -> Result<String, Malformed> {
        let length = usize::from(self.u8()?);
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_owned).map_err(|_| Malformed::Text)
    }
}
