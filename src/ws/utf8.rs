//! UTF-8 that arrives in pieces: RFC 6455 section 8.1.
//!
//! The input is pieces of text, split anywhere, even inside a character. The first byte that cannot
//! be part of UTF-8 is reported immediately, not at the end of the message. The checker keeps no
//! more than the three bytes of an unfinished character.

use std::str;

/// Bytes of the longest UTF-8 character.
const CHARACTER_BYTES: usize = 4;

/// No continuation could make this UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidUtf8;

/// Checks texts piece by piece. After a text that ends with a whole character, the next text may
/// begin.
#[derive(Clone, Debug, Default)]
pub struct Utf8Validator {
    /// The bytes of an incomplete character.
    pending: [u8; CHARACTER_BYTES],
    /// How many of them there are: 0 to 3.
    open_length: usize,
}

impl Utf8Validator {
    /// Takes the next piece of the text.
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

/// The number of bytes at the end of `bytes` that belong to an incomplete character.
fn incomplete_tail_length(bytes: &[u8]) -> Result<usize, InvalidUtf8> {
    match str::from_utf8(bytes) {
        Ok(_) => Ok(0),
        Err(error) if error.error_len().is_none() => Ok(bytes.len() - error.valid_up_to()),
        Err(_) => Err(InvalidUtf8),
    }
}
