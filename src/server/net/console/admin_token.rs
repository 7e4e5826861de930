//! The token of `/admin`.
//!
//! The operator chooses the token, or the kernel's random generator does. The token never appears
//! in a log, in an error or in `Debug` output; it is compared in constant time, as every
//! [`Secret`].

use crate::server::admission::secret::Secret;
use crate::util::os;

/// See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminToken(Secret);

impl AdminToken {
    /// A token that cannot be guessed: 128 random bits as 32 hexadecimal digits.
    pub fn random() -> AdminToken {
        let digits = format!("{:032x}", u128::from_le_bytes(os::random()));
        AdminToken(Secret::new(&digits).expect("32 hexadecimal digits are a secret"))
    }

    /// A token chosen by the operator. It must be valid in a header and in a URL fragment without
    /// escaping.
    ///
    /// # Errors
    /// The requirement that the token misses; the error does not contain the token.
    pub fn new(text: &str) -> Result<AdminToken, String> {
        Secret::new(text).map(AdminToken).map_err(|rule| format!("the token for /admin {rule}"))
    }

    /// Whether this is the token, in constant time.
    pub fn matches(&self, said: &str) -> bool {
        self.0.matches(said)
    }

    /// Its text, to be shown only to the user who started the server.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}
