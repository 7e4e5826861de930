//! A page's proof that a client is its own: 32 hex digits that the page chose and sent in its upgrade
//! request, as a subprotocol or in the query. Only with this key does `/wire` tell a page which client is its own, and
//! pass on bytes as if that client had sent them; and where seats are kept, with this key the page comes back to
//! its own. It is a secret, see [`secrets`](super::redact::http_head).

use std::fmt;

use super::redact::http_head;
use crate::packet::credentials::{self, KEY_FIELD};
use crate::ws::http::RequestHead;

/// See the [module](self).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ResumeKey([u8; 16]);

impl ResumeKey {
    /// The key in 32 hex digits.
    pub fn parse(digits: &str) -> Option<ResumeKey> {
        let is_key = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_key.then(|| u128::from_str_radix(digits, 16).ok()).flatten();
        number.map(|number| ResumeKey(number.to_be_bytes()))
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// The key of an upgrade request: an offered subprotocol, otherwise the field of the query.
    pub fn of(head: &RequestHead) -> Option<ResumeKey> {
        let offered = http_head::offered(head, |name| credentials::key_in(name).and_then(ResumeKey::parse));
        offered.or_else(|| ResumeKey::parse(&head.query(KEY_FIELD)?))
    }
}

impl fmt::Debug for ResumeKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("InspectKey")
    }
}
