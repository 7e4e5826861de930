//! Incremental UTF-8 validation: RFC 6455, section 8.1.
//!
//! The input is pieces of text, split anywhere, even inside a character. The first byte that cannot
//! be part of UTF-8 is reported immediately, not at the end of the message. The validator stores at
//! most three bytes: an unfinished character.

use std::str;

/// Bytes of the longest UTF-8 character.
const CHARACTER_BYTES: usize = 4;

/// The text is not UTF-8, whatever bytes follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidUtf8;

/// Validates texts piece by piece. The next text may begin when the current one ends with a whole
/// character.
#[derive(Clone, Debug, Default)]
pub struct Utf8Validator {
    /// The bytes of an incomplete character.
    pending: [u8; CHARACTER_BYTES],
    /// Number of bytes in `pending`: 0 to 3.
    open_length: usize,
}

impl Utf8Validator {
    /// Validates the next piece of the text.
    ///
    /// # Errors
    /// [`InvalidUtf8`] as soon as no continuation can make the text valid.
    pub fn receive(&mut self, piece: &[u8]) -> Result<(), InvalidUtf8> {
        let mut rest = piece;
        while self.open_length > 0 {
            let Some((&byte, after)) = rest.split_first() else { return Ok(()) };
            self.pending[self.open_length] = byte;
            self.open_length = incomplete_tail_length(&self.pending[..=self.open_length])?;
            rest = after;
        }
        self.open_length = incomplete_tail_length(rest)?;
        self.pending[..self.open_length].copy_from_slice(&rest[rest.len() - self.open_length..]);
        Ok(())
    }
}

/// Returns the number of bytes at the end of `bytes` that belong to an incomplete character.
fn incomplete_tail_length(bytes: &[u8]) -> Result<usize, InvalidUtf8> {
    match str::from_utf8(bytes) {
        Ok(_) => Ok(0),
        Err(error) if error.error_len().is_none() => Ok(bytes.len() - error.valid_up_to()),
        Err(_) => Err(InvalidUtf8),
    }
}
