//! The token of `/admin`.
//!
//! The operator chooses the token, or the kernel's random generator does. Its text never appears in
//! a log, in an error or in `Debug` output, and comparing it takes the same time however much of a
//! guess is right.

use std::fmt;
use std::hint::black_box;

use crate::limits;
use crate::net::platform;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::new("0123456789abcdef").expect("16 characters");
        assert!(token.is("0123456789abcdef"));
        for wrong in [
            "",
            "0",
            "0123456789abcde",
            "0123456789abcdeF",
            "1123456789abcdef",
            "0123456789abcdef0123456789abcdef",
        ] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_token_of_ones_own_is_long_enough_and_fits_a_header_and_a_url() {
        for text in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdef\n", "0123456789abcdé"] {
            let told = Token::new(text).expect_err(text);
            assert!(text.is_empty() || !told.contains(text), "{told}");
        }
        assert!(Token::new(&"a".repeat(limits::TOKEN_CHARS_MOST)).is_ok());
        assert!(Token::new(&"a".repeat(limits::TOKEN_CHARS_MOST + 1)).is_err());
    }

    #[test]
    fn a_random_one_is_fit_new_each_time_and_not_shown_by_debug() {
        let token = Token::random();
        assert_eq!(Token::new(token.reveal()), Ok(token.clone()));
        assert_ne!(token, Token::random());
        assert!(!format!("{token:?}").contains(token.reveal()));
    }
}
