//! A refused request: the rule to log and count, and the whole response.

use std::time::Duration;

use super::host::Host;
use super::metrics::Metrics;
use crate::host::admission::RefusedBy;
use crate::host::budgets::Spending;
use crate::packet::endpoint::NoEndpoint;
use crate::ws::http::{self, RequestHead};

/// See the [module](self).
pub struct Refused {
    /// The status of the answer.
    pub status: u16,
    /// The rule's name.
    pub rule: &'static str,
    /// The whole response.
    pub response: Vec<u8>,
}

impl From<http::Refusal> for Refused {
    fn from(refusal: http::Refusal) -> Refused {
        Refused { status: refusal.status, rule: refusal.violation.name(), response: refusal.response() }
    }
}

impl From<NoEndpoint> for Refused {
    fn from(missing: NoEndpoint) -> Refused {
        let (status, rule) = missing.status();
        Refused::plain(status, rule)
    }
}

impl Refused {
    /// A refusal whose body is the rule's name.
    pub fn plain(status: u16, rule: &'static str) -> Refused {
        Refused::with(status, rule, &[])
    }

    /// As the answer to this request: `HEAD` gets none of the body (RFC 9110 section 9.3.2).
    pub fn to(mut self, head: &RequestHead) -> Refused {
        let end = self.response.windows(4).position(|four| four == b"\r\n\r\n");
        if let (true, Some(end)) = (head.method == "HEAD", end) {
            self.response.truncate(end + 4);
        }
        self
    }

    /// The same with additional headers.
    pub fn with(status: u16, rule: &'static str, more: &[(&str, &str)]) -> Refused {
        let body = format!("{rule}\n");
        let response = http::response(status, "text/plain; charset=utf-8", more, body.as_bytes());
        Refused { status, rule, response }
    }
}

/// The refusal for an address whose budget is spent, with the seconds after which to retry.
pub fn too_often(host: &Host, spending: Spending, wait: Duration) -> Refused {
    Metrics::count(&host.metrics.refused_connections, "cap", spending.rule());
    let seconds = wait.as_millis().div_ceil(1000).max(1).to_string();
    Refused::with(429, spending.rule(), &[("Retry-After", &seconds)])
}

/// Counts and returns the refusal of a request for which there is no place.
pub fn refused_by(host: &Host, cap: RefusedBy) -> Refused {
    Metrics::count(&host.metrics.refused_connections, "cap", cap.name());
    Refused::plain(cap.status(), cap.name())
}
