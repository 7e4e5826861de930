//! A secret that the operator has chosen, such as a player's token.
//!
//! It never appears in `Debug` output or in an error, and comparing it takes the same time whatever is
//! guessed: the `subtle` library compares it padded to the longest length, so that not even its own
//! length shows.

use std::fmt;

use subtle::{Choice, ConstantTimeEq};

use crate::limits;

/// See the [module](self).
#[derive(Clone)]
pub struct Secret {
    text: String,
    padded: Padded,
}

/// A text as it is compared: padded, in words, and its length.
#[derive(Clone)]
pub struct Padded([u64; WORDS], u64);

const WORD: usize = size_of::<u64>();
const WORDS: usize = limits::MAX_TOKEN_CHARS.div_ceil(WORD);

impl Secret {
    /// A secret of [`limits::MIN_TOKEN_CHARS`] to [`limits::MAX_TOKEN_CHARS`] characters that are
    /// valid in a header and in a URL without escaping.
    ///
    /// # Errors
    /// What the text must be; the error does not contain the text.
    pub fn new(text: &str) -> Result<Secret, String> {
        let (least, most) = (limits::MIN_TOKEN_CHARS, limits::MAX_TOKEN_CHARS);
        if !(least..=most).contains(&text.len()) {
            return Err(format!("must have {least} to {most} characters"));
        }
        if !text.bytes().all(is_secret_char) {
            return Err("may contain only letters, digits and -._~+/=".to_owned());
        }
        Ok(Secret { text: text.to_owned(), padded: Padded::new(text) })
    }

    /// Whether this is the secret, in constant time.
    pub fn matches(&self, said: &str) -> bool {
        self.ct_eq(&Padded::new(said)).into()
    }

    /// As [`Secret::is`], to be combined with other results without a branch.
    pub fn ct_eq(&self, said: &Padded) -> Choice {
        self.padded.0.ct_eq(&said.0) & self.padded.1.ct_eq(&said.1)
    }

    /// Its text. It must not reach a log, a capture or a watcher.
    pub fn expose(&self) -> &str {
        &self.text
    }
}

impl Padded {
    /// A text that was said. Only its first [`limits::MAX_TOKEN_CHARS`] bytes are kept: a longer one
    /// equals no secret by its length.
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
