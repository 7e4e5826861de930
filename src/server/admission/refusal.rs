//! A refused request: the rule to log and count, and the whole response.

use std::time::Duration;

use super::RefusalReason;
use super::address_rate_limits::LimitedAction;
use crate::connection::{DisconnectReason, WireFormat};
use crate::game::CloseReason;
use crate::limits;
use crate::packet::routes::RouteError;
use crate::ws::http::{self, RequestHead};

/// See the [module](self).
#[derive(Debug)]
pub struct Refusal {
    /// The status of the answer.
    pub status: u16,
    /// The rule's name.
    pub rule: &'static str,
    /// Whether the rule is a cap on connections, or a budget of the address.
    pub is_capacity: bool,
    /// The value that broke the rule, for the log; may be empty. Contains text of the request.
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
    /// A refusal whose body is the rule's name.
    pub fn from_rule(status: u16, rule: &'static str) -> Refusal {
        Refusal::with_headers(status, rule, &[])
    }

    /// The same with additional headers.
    pub fn with_headers(status: u16, rule: &'static str, more: &[(&str, &str)]) -> Refusal {
        let body = format!("{rule}\n");
        let response = http::response(status, "text/plain; charset=utf-8", more, body.as_bytes());
        Refusal { status, rule, is_capacity: false, detail: String::new(), response }
    }

    /// A refusal whose body is the rule's name, a sentence on the value that broke it, and the value
    /// itself, which must not be a secret.
    pub fn of_value(status: u16, rule: &'static str, sentence: &str, value: &str) -> Refusal {
        let value: String = value.chars().take(limits::REFUSED_VALUE_CHARS).collect();
        let detail = format!("{sentence}: {value:?}");
        let body = format!("{rule}\n{detail}\n");
        let response = http::response(status, "text/plain; charset=utf-8", &[], body.as_bytes());
        Refusal { status, rule, is_capacity: false, detail, response }
    }

    /// For a client that is closed at once after `accepted`, the response that accepts its upgrade: a page sees
    /// the reason of a close frame, and not the status of a refused upgrade.
    pub fn closed(accepted: Vec<u8>, endpoint: &WireFormat, breach: CloseReason) -> Refusal {
        let response = [accepted, DisconnectReason::Breach(breach).frames(endpoint)].concat();
        Refusal { status: 101, rule: breach.name(), is_capacity: false, detail: String::new(), response }
    }

    /// For an address that has spent this budget until `wait` is over.
    pub fn rate_limited(spending: LimitedAction, wait: Duration) -> Refusal {
        let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
        Refusal {
            is_capacity: true,
            ..Refusal::with_headers(429, spending.rule(), &[("Retry-After", &seconds)])
        }
    }

    /// As the answer to this request: `HEAD` gets none of the body (RFC 9110 section 9.3.2).
    pub fn to(mut self, head: &RequestHead) -> Refusal {
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        if let (true, Some(end)) = (head.method == "HEAD", end) {
            self.response.truncate(end + 4);
        }
        self
    }
}
