//! A secret chosen by the operator, such as a player's token.
//!
//! It never appears in `Debug` output or in an error. A comparison takes constant time. The
//! `subtle` library compares texts that are padded to the maximum length, so that the length of the
//! secret is not observable either.

use std::fmt;

use subtle::{Choice, ConstantTimeEq};

use crate::limits;

/// A token that is compared in constant time.
#[derive(Clone)]
pub struct Secret {
    text: String,
    padded: Padded,
}

/// A text prepared for comparison: the padded text as 64-bit words, and its length in bytes.
#[derive(Clone)]
pub struct Padded([u64; WORDS], u64);

const WORD: usize = size_of::<u64>();
const WORDS: usize = limits::MAX_TOKEN_CHARS.div_ceil(WORD);

impl Secret {
    /// Creates a secret of [`limits::MIN_TOKEN_CHARS`] to [`limits::MAX_TOKEN_CHARS`] characters
    /// that are valid in a header and in a URL without escaping.
    ///
    /// # Errors
    /// The requirement that the text breaks. The error does not contain the text.
    pub fn new(text: &str) -> Result<Secret, String> {
        let (min, max) = (limits::MIN_TOKEN_CHARS, limits::MAX_TOKEN_CHARS);
        if !(min..=max).contains(&text.len()) {
            return Err(format!("must have {min} to {max} characters"));
        }
        if !text.bytes().all(is_secret_char) {
            return Err("may contain only letters, digits and -._~+/=".to_owned());
        }
        Ok(Secret { text: text.to_owned(), padded: Padded::new(text) })
    }

    /// Compares a text with the secret in constant time.
    pub fn matches(&self, candidate: &str) -> bool {
        self.ct_eq(&Padded::new(candidate)).into()
    }

    /// Like [`Secret::matches`], with a result that can be combined without a branch.
    pub fn ct_eq(&self, candidate: &Padded) -> Choice {
        self.padded.0.ct_eq(&candidate.0) & self.padded.1.ct_eq(&candidate.1)
    }

    /// Returns the secret's text. It must not reach a log, a capture or an inspector.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl Padded {
    /// Prepares a received text. Only its first [`limits::MAX_TOKEN_CHARS`] bytes are stored. A
    /// longer text equals no secret, because its length differs.
    pub fn new(text: &str) -> Padded {
        let mut words = [0; WORDS];
        for (word, bytes) in words.iter_mut().zip(text.as_bytes().chunks(WORD)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        Padded(words, text.len() as u64)
    }
}

/// Whether a secret may contain this byte.
fn is_secret_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        self.ct_eq(&other.padded).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}
