//! HTTP responses of a server: RFC 9112, section 4. Unless the caller adds a Connection header, the
//! server closes the connection after the response. [`super::handshake`] encodes the 101 response.

use std::fmt;

use super::violation::Violation;

/// The version of every response, and of every request that may be an upgrade. HTTP/2 has a
/// different upgrade (RFC 8441).
pub(super) const VERSION: &str = "HTTP/1.1";

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The broken rule.
    pub violation: Violation,
    /// A sentence about the value that broke the rule, such as the length of a key or the name of
    /// the largest header. Contains no value of a header. Empty if the rule needs no detail.
    pub detail: String,
}

impl Refusal {
    /// Creates a refusal with a detail about the value that broke the rule.
    pub fn with_detail(violation: Violation, detail: String) -> Refusal {
        Refusal { detail, ..violation.into() }
    }

    /// Encodes the whole response. It names the violation, its detail and the remedy; for 405 and
    /// 426 also the supported method or version.
    pub fn response(&self) -> Vec<u8> {
        let more: &[(&str, &str)] = match self.status {
            405 => &[("Allow", "GET")],
            // Supported versions: RFC 6455, section 4.4. Target of the upgrade: RFC 9110, section
            // 15.5.22.
            426 => &[("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")],
            _ => &[],
        };
        let Refusal { violation, .. } = self;
        let mut body = format!("{violation}\n{}: {}\n", violation.name(), violation.citation());
        for line in [&*self.detail, remedy(*violation)].into_iter().filter(|line| !line.is_empty()) {
            body.extend([line, "\n"]);
        }
        response(self.status, "text/plain; charset=utf-8", more, body.as_bytes())
    }
}

/// The remedy for a rule that a proxy breaks with its default settings; empty for other rules.
fn remedy(violation: Violation) -> &'static str {
    match violation {
        Violation::UpgradeInHttp10 | Violation::UpgradeMissing | Violation::ConnectionMissing => {
            "A proxy must speak HTTP/1.1 to this server and pass on Upgrade and Connection. nginx: \
             proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"
        }
        _ => "",
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.status, self.violation.name(), self.violation)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " {}", self.detail) }
    }
}

impl std::error::Error for Refusal {}

impl From<Violation> for Refusal {
    /// A rule that has no HTTP status becomes 400.
    fn from(violation: Violation) -> Refusal {
        Refusal { status: violation.status().unwrap_or(400), violation, detail: String::new() }
    }
}

/// Encodes a whole response with its body. The caller closes the connection after it. `more`
/// contains additional headers: names and values.
pub fn response(status: u16, content_type: &str, more: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = response_head(status, content_type, more, body.len());
    bytes.extend_from_slice(body);
    bytes
}

/// Default delay, in seconds, before a client may retry a temporarily refused request. By then an
/// unfinished request that occupied a slot has ended. The caller of [`response`] can set another
/// delay.
pub const RETRY_AFTER_S: u64 = 5;

/// Name of the header with the connection options (RFC 9112, section 9.6).
const CONNECTION_NAME: &str = "Connection";

/// Name of the header with the delay before a retry (RFC 9110, section 10.2.3).
const RETRY_AFTER_NAME: &str = "Retry-After";

/// Encodes the head of a [`response`], including its empty line. This is the whole response to
/// `HEAD` (RFC 9110, section 9.3.2). A Connection header in `more` replaces `close`. Every 503 and
/// 429 has a `Retry-After` header.
pub fn response_head(status: u16, content_type: &str, more: &[(&str, &str)], body_bytes: usize) -> Vec<u8> {
    // An upgrade is hop-by-hop, so a response with an Upgrade header names it in Connection.
    let upgrade = if more.iter().any(|(name, _)| *name == "Upgrade") { "Upgrade, " } else { "" };
    let option = more.iter().find(|(name, _)| *name == CONNECTION_NAME).map_or("close", |(_, value)| value);
    let mut head = format!(
        "{VERSION} {status} {}\r\nConnection: {upgrade}{option}\r\nContent-Type: {content_type}\r\nContent-Length: {body_bytes}\r\n",
        reason_phrase(status),
    );
    for (name, value) in more.iter().filter(|(name, _)| *name != CONNECTION_NAME) {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let has_retry_after = more.iter().any(|(name, _)| *name == RETRY_AFTER_NAME);
    if matches!(status, 429 | 503) && !has_retry_after {
        head.push_str(&format!("{RETRY_AFTER_NAME}: {RETRY_AFTER_S}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// The reason phrase of a status.
fn reason_phrase(status: u16) -> &'static str {
    match status {
        101 => "Switching Protocols",
        200 => "OK",
        204 => "No Content",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_closes_the_connection_unless_it_names_another_option() {
        for (more, expected) in [
            (&[][..], "close"),
            (&[("Connection", "keep-alive")], "keep-alive"),
            (&[("Upgrade", "websocket"), ("Connection", "keep-alive")], "Upgrade, keep-alive"),
        ] {
            let head = String::from_utf8(response_head(200, "text/plain", more, 0)).expect("text");
            let options: Vec<&str> =
                head.lines().filter_map(|line| line.strip_prefix("Connection: ")).collect();
            assert_eq!(options, [expected]);
        }
    }

    #[test]
    fn every_503_and_429_has_one_retry_after() {
        for (status, more, expected) in [
            (503, &[][..], &["5"][..]),
            (429, &[], &["5"]),
            (429, &[("Retry-After", "42")], &["42"]),
            (200, &[], &[]),
            (403, &[], &[]),
        ] {
            let head = String::from_utf8(response_head(status, "text/plain", more, 0)).expect("text");
            let values: Vec<&str> =
                head.lines().filter_map(|line| line.strip_prefix("Retry-After: ")).collect();
            assert_eq!(values, expected, "{status}");
        }
    }
}
