//! The token of `/admin`.
//!
//! The operator chooses the token, or the kernel's random generator does. The token never appears
//! in a log, in an error or in `Debug` output, and comparing it takes the same time however much of
//! a guess is right.

use std::fmt;
use std::hint::black_box;

use crate::limits;
use crate::platform;

/// See the [module](self).
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token that cannot be guessed: 128 random bits as 32 hexadecimal digits.
    pub fn random() -> Token {
        Token(format!("{:032x}", u128::from_le_bytes(platform::random())))
    }

    /// A token chosen by the operator. It must be valid in a header and in a URL fragment without
    /// escaping.
    ///
    /// # Errors
    /// The requirement that the token misses; the error does not contain the token.
    pub fn new(text: &str) -> Result<Token, String> {
        let (least, most) = (limits::TOKEN_CHARS_LEAST, limits::TOKEN_CHARS_MOST);
        if !(least..=most).contains(&text.len()) {
            return Err(format!("the token for /admin must have {least} to {most} characters"));
        }
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if !text.bytes().all(is_fit) {
            return Err("the token for /admin may contain only letters, digits and -._~+/=".to_owned());
        }
        Ok(Token(text.to_owned()))
    }

    /// Whether this is the token. Takes the same time however much of the guess is right.
    pub fn is(&self, said: &str) -> bool {
        let own = self.0.as_bytes();
        let mut differences = usize::from(own.len() != said.len());
        for (at, byte) in said.bytes().enumerate() {
            differences = black_box(differences | usize::from(byte ^ own[at % own.len()]));
        }
        differences == 0
    }

    /// Its text, to be shown only to the user who started the server.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}
