//! A refused request: the rule to log and count, and the whole response.

use std::time::Duration;

use super::RefusalReason;
use super::address_rate_limits::LimitedAction;
use crate::connection::{DisconnectReason, WireFormat};
use crate::game::CloseReason;
use crate::limits;
use crate::packet::routes::RouteError;
use crate::ws::http::{self, RequestHead};

/// A refused request.
#[derive(Debug)]
pub struct Refusal {
    /// Status of the response.
    pub status: u16,
    /// Name of the rule.
    pub rule: &'static str,
    /// Whether the rule is a cap on connections or a rate limit of the address.
    pub is_capacity: bool,
    /// Description of the value that broke the rule, for the log; may be empty. Contains text from
    /// the request.
    pub detail: String,
    /// The whole response.
    pub response: Vec<u8>,
}

impl From<http::Refusal> for Refusal {
    fn from(refusal: http::Refusal) -> Refusal {
        let (response, rule) = (refusal.response(), refusal.violation.name());
        Refusal { status: refusal.status, rule, is_capacity: false, detail: refusal.detail, response }
    }
}

impl From<RouteError> for Refusal {
    fn from(missing: RouteError) -> Refusal {
        let (status, rule) = missing.status();
        Refusal::from_rule(status, rule)
    }
}

impl From<RefusalReason> for Refusal {
    fn from(cap: RefusalReason) -> Refusal {
        Refusal { is_capacity: true, ..Refusal::from_rule(cap.status(), cap.name()) }
    }
}

impl Refusal {
    /// Creates a refusal with the rule's name as its body.
    pub fn from_rule(status: u16, rule: &'static str) -> Refusal {
        Refusal::with_headers(status, rule, &[])
    }

    /// Like [`Refusal::from_rule`], with additional headers.
    pub fn with_headers(status: u16, rule: &'static str, more: &[(&str, &str)]) -> Refusal {
        let body = format!("{rule}\n");
        let response = http::response(status, "text/plain; charset=utf-8", more, body.as_bytes());
        Refusal { status, rule, is_capacity: false, detail: String::new(), response }
    }

    /// Creates a refusal. Its body has the rule's name, a sentence about the value that broke it,
    /// and the value itself, which must not be a secret.
    pub fn of_value(status: u16, rule: &'static str, sentence: &str, value: &str) -> Refusal {
        let value: String = value.chars().take(limits::REFUSED_VALUE_CHARS).collect();
        let detail = format!("{sentence}: {value:?}");
        let body = format!("{rule}\n{detail}\n");
        let response = http::response(status, "text/plain; charset=utf-8", &[], body.as_bytes());
        Refusal { status, rule, is_capacity: false, detail, response }
    }

    /// Creates a refusal that accepts the upgrade with `accepted` and closes the connection
    /// immediately. A page can read the reason in a close frame, but not the status of a refused
    /// upgrade.
    pub fn closed(accepted: Vec<u8>, format: &WireFormat, close_reason: CloseReason) -> Refusal {
        let response = [accepted, DisconnectReason::Closed(close_reason).frames(format)].concat();
        Refusal {
            status: 101,
            rule: close_reason.name(),
            is_capacity: false,
            detail: String::new(),
            response,
        }
    }

    /// Creates a 429 for a rate limit that admits the next action after `wait`.
    pub fn rate_limited(spending: LimitedAction, wait: Duration) -> Refusal {
        let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
        Refusal {
            is_capacity: true,
            ..Refusal::with_headers(429, spending.rule(), &[("Retry-After", &seconds)])
        }
    }

    /// Adapts the response to the request: a response to `HEAD` has no body (RFC 9110, section
    /// 9.3.2).
    pub fn to(mut self, head: &RequestHead) -> Refusal {
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        if let (true, Some(end)) = (head.method == "HEAD", end) {
            self.response.truncate(end + 4);
        }
        self
    }
}
