//! The resume key of a client: 32 hex digits that a page chose and sent in its upgrade request, as
//! a subprotocol or in the query.
//!
//! A page needs the key to find its own client at `/wire` and to inject bytes for it. On servers
//! with suspended seats, a client with this key resumes its own seat. The key is a secret and is
//! redacted in [`head_secrets`](super::head_secrets).

use std::fmt;

use super::head_secrets;
use crate::packet::credentials::{self, KEY_FIELD};
use crate::ws::http::RequestHead;

/// A secret that identifies the client of one page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ResumeKey([u8; 16]);

impl ResumeKey {
    /// Parses 32 hex digits.
    pub fn parse(digits: &str) -> Option<ResumeKey> {
        let is_key = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_key.then(|| u128::from_str_radix(digits, 16).ok()).flatten();
        number.map(|number| ResumeKey(number.to_be_bytes()))
    }

    /// The bytes of the key.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The key in an upgrade request: an offered subprotocol, otherwise the field of the query.
    pub fn of(head: &RequestHead) -> Option<ResumeKey> {
        let offered =
            head_secrets::offered(head, |name| credentials::key_in(name).and_then(ResumeKey::parse));
        offered.or_else(|| ResumeKey::parse(&head.query(KEY_FIELD)?))
    }
}

impl fmt::Debug for ResumeKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ResumeKey")
    }
}
