//! Access to the internal pages (`/wire`, `/metrics`, `/admin`): only for requests that pass every
//! check for coming from this machine, and for requests with the operator's token.
//!
//! A page from another site never gets access, even if the operator's browser on this machine opens
//! it: browsers let any page open a WebSocket to any host, so the `Origin` must be the server's
//! own.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::host::refused::Refused;
use crate::limits;
use crate::net::console::gate::GateRefusal;
use crate::net::forwarded::{self, Network};
use crate::net::host::Host;
use crate::net::metrics::Metrics;
use crate::ws::http::RequestHead;

/// Headers that only proxies send.
const FORWARDING: [&str; 10] = [
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Port",
    "X-Real-IP",
    "X-Client-IP",
    "CF-Connecting-IP",
    "True-Client-IP",
    "Via",
];

/// The prefix of a token in the list of subprotocols, the only header that a page can set for a
/// WebSocket.
const BEARER: &str = "bearer.";

/// Whether this request may watch `/wire`.
///
/// # Errors
/// 403 for another site's page, and for a remote client without a token; 401 and 429 for a wrong
/// token, as at `/admin`.
pub fn check(host: &Host, head: &RequestHead, address: SocketAddr) -> Result<(), Refused> {
    let is_own = is_own_origin(head);
    if !is_own && !is_listed_origin(head, &host.config.allowed_origins) {
        return Err(Refused::plain(403, "wire_origin"));
    }
    if is_own && is_at_this_machine(head, address, &host.config.trusted_proxies) {
        return Ok(());
    }
    match token(head) {
        Some(said) => check_token(host, &said, address),
        None => Err(Refused::plain(403, "wire_token_missing")),
    }
}

/// The status of the page of `/wire` for this request: that of [`check`].
pub fn status(host: &Host, head: &RequestHead, address: SocketAddr) -> u16 {
    let Err(refused) = check(host, head, address) else { return 200 };
    Metrics::count(&host.metrics.refused, "rule", refused.rule);
    refused.status
}

/// Whether no page asks, or one of this server: its `Origin` names the host that was asked.
fn is_own_origin(head: &RequestHead) -> bool {
    let Some(origin) = head.header("Origin") else { return true };
    let host = origin.split_once("://").map(|(_, host)| host);
    host.zip(head.header("Host")).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
}

/// Whether the operator has listed the page's origin, as behind a proxy that names the host anew. It then needs the token.
fn is_listed_origin(head: &RequestHead, listed: &[String]) -> bool {
    let origin = head.header("Origin").unwrap_or_default();
    listed.iter().any(|known| known.eq_ignore_ascii_case(origin))
}

/// The token that a request says: in `Authorization`, or as a subprotocol in base64.
fn token(head: &RequestHead) -> Option<String> {
    if let Some((scheme, said)) = head.header("Authorization").and_then(|said| said.split_once(' ')) {
        return scheme.eq_ignore_ascii_case("Bearer").then(|| said.trim().to_owned());
    }
    let offered = head.headers.list("Sec-WebSocket-Protocol").take(limits::SUBPROTOCOLS);
    let coded = offered.filter_map(|name| name.strip_prefix(BEARER)).next()?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(coded).ok()?).ok()
}

/// The header of a 401, which names the required credentials.
pub const BEARER_WANTED: [(&str, &str); 1] = [("WWW-Authenticate", "Bearer realm=\"tickwire\"")];

/// A 401 for this rule.
pub fn unauthorized(rule: &'static str) -> Refused {
    Refused::with(401, rule, &BEARER_WANTED)
}

/// The token in `Authorization`. Another scheme, such as the `Basic` of a proxy, carries no token: it is not a wrong guess.
pub fn bearer(head: &RequestHead) -> Option<String> {
    let said = head.header("Authorization")?;
    let (scheme, said) = said.split_once(' ').unwrap_or((said, ""));
    scheme.eq_ignore_ascii_case("Bearer").then(|| said.trim().to_owned())
}

/// Checks the token.
///
/// # Errors
/// 401, or 429 if the address sent too many wrong tokens, even if this one is right.
pub fn check_token(host: &Host, said: &str, address: SocketAddr) -> Result<(), Refused> {
    let is_right = || host.config.admin_token.is(said);
    match host.gate.attempt(address.ip(), host.now(), is_right) {
        Ok(()) => Ok(()),
        Err(GateRefusal::Wrong) => Err(unauthorized("admin_token_wrong")),
        Err(GateRefusal::TooOften(left)) => {
            // Rounded up: a client that waits so long is not early.
            let seconds = (left.as_secs() + 1).to_string();
            Err(Refused::with(429, "admin_token_too_often", &[("Retry-After", &seconds)]))
        }
    }
}

/// Whether a request comes from this machine by every check: the peer is a loopback address and not
/// a trusted proxy, the `Host` is a literal loopback address (which prevents DNS rebinding by
/// another site), and there is no forwarding header. A trusted proxy never counts as this machine,
/// even if it does not name its client.
pub fn is_at_this_machine(head: &RequestHead, address: SocketAddr, proxies: &[Network]) -> bool {
    let host = head.header("Host").unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_literal = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_here = address.ip().is_loopback() && !forwarded::is_trusted(proxies, address.ip());
    is_here && is_literal && FORWARDING.iter().all(|name| head.header(name).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Config;
    use crate::net::console::token::Token;
    use crate::ws::http::HeadReader;

    fn host() -> Host {
        let mut config = Config::new("127.0.0.1:0".parse().expect("an address"));
        config.admin_token = Token::new("a-token-of-the-test").expect("long enough");
        Host::for_tests(config)
    }

    fn head(lines: &str) -> RequestHead {
        let bytes = format!("GET /wire HTTP/1.1\r\n{lines}\r\n\r\n");
        HeadReader::new().receive(bytes.as_bytes()).expect("well formed").expect("complete")
    }

    #[test]
    fn another_address_needs_the_token_whatever_it_says() {
        let host = host();
        let token = "Host: localhost\r\nAuthorization: Bearer a-token-of-the-test";
        for (address, lines, expected) in [
            ("127.0.0.1:9", "Host: localhost", None),
            ("127.0.0.2:9", "Host: localhost", None),
            ("[::1]:9", "Host: [::1]:3000", None),
            ("203.0.113.9:9", "Host: localhost", Some((403, "wire_token_missing"))),
            (
                "203.0.113.9:9",
                "Host: localhost\r\nOrigin: http://localhost",
                Some((403, "wire_token_missing")),
            ),
            (
                "203.0.113.9:9",
                "Host: localhost\r\nAuthorization: Bearer wrong",
                Some((401, "admin_token_wrong")),
            ),
            ("203.0.113.9:9", token, None),
            ("127.0.0.1:9", "Host: localhost\r\nOrigin: http://evil.example", Some((403, "wire_origin"))),
        ] {
            let refused = check(&host, &head(lines), address.parse().expect("an address")).err();
            let told = refused.map(|refused| (refused.status, refused.rule));
            assert_eq!(told, expected, "{address} {lines}");
        }
    }

    #[test]
    fn an_origin_is_our_own_only_if_it_names_the_host_that_was_asked() {
        for (lines, expected) in [
            ("Host: localhost:3000", true),
            ("Host: localhost:3000\r\nOrigin: http://localhost:3000", true),
            ("Host: Play.example\r\nOrigin: https://play.EXAMPLE", true),
            ("Host: localhost:3000\r\nOrigin: http://localhost:8080", false),
            ("Host: localhost:3000\r\nOrigin: http://evil.example", false),
            ("Host: localhost:3000\r\nOrigin: null", false),
            ("Host: localhost:3000\r\nOrigin: localhost:3000", false),
        ] {
            assert_eq!(is_own_origin(&head(lines)), expected, "{lines}");
        }
        let listed = ["https://play.example".to_owned()];
        assert!(is_listed_origin(&head("Host: a\r\nOrigin: https://play.example"), &listed));
        assert!(!is_listed_origin(&head("Host: a\r\nOrigin: https://evil.example"), &listed));
        assert!(!is_listed_origin(&head("Host: a"), &[]));
    }

    #[test]
    fn a_token_is_said_in_a_header_or_as_a_subprotocol() {
        for (lines, expected) in [
            ("Host: a", None),
            ("Host: a\r\nAuthorization: Bearer abc", Some("abc")),
            ("Host: a\r\nAuthorization: bearer  abc ", Some("abc")),
            ("Host: a\r\nAuthorization: Basic abc", None),
            (
                "Host: a\r\nSec-WebSocket-Protocol: tickwire.wire, bearer.YS10b2tlbi1vZi10aGUtdGVzdA",
                Some("a-token-of-the-test"),
            ),
            ("Host: a\r\nSec-WebSocket-Protocol: tickwire.wire, bearer.***", None),
            ("Host: a\r\nSec-WebSocket-Protocol: tickwire.wire, bearer._w", None),
            ("Host: a\r\nSec-WebSocket-Protocol: tickwire.wire", None),
        ] {
            assert_eq!(token(&head(lines)).as_deref(), expected, "{lines}");
        }
    }

    #[test]
    fn the_inside_is_for_this_machine_only() {
        let near: SocketAddr = "127.0.0.1:5000".parse().unwrap();
        let far: SocketAddr = "203.0.113.9:5000".parse().unwrap();
        assert!(is_at_this_machine(&head("Host: localhost:3000"), near, &[]));
        assert!(is_at_this_machine(&head("Host: [::1]:3000"), "[::1]:9".parse().unwrap(), &[]));
        assert!(!is_at_this_machine(&head("Host: localhost:3000"), far, &[]));
        assert!(!is_at_this_machine(&head("Host: evil.example:3000"), near, &[]));
    }

    #[test]
    fn a_declared_proxy_is_never_this_machine() {
        let (head, near) = (head("Host: localhost:3000"), "127.0.0.1:5000".parse().unwrap());
        for (proxy, expected) in
            [("127.0.0.1", false), ("127.0.0.0/8", false), ("127.0.0.2", true), ("::1", true)]
        {
            let proxies = [proxy.parse().expect("a network")];
            assert_eq!(is_at_this_machine(&head, near, &proxies), expected, "{proxy}");
        }
    }

    #[test]
    fn forwarding_headers_of_any_proxy_make_a_request_remote() {
        let near: SocketAddr = "127.0.0.1:5000".parse().unwrap();
        for said in [
            "forwarded: for=203.0.113.9",
            "X-Forwarded-For: 203.0.113.9",
            "X-Forwarded-Host: play.example",
            "X-Forwarded-Proto: https",
            "X-Forwarded-Port: 443",
            "X-Real-IP: 203.0.113.9",
            "X-Client-IP: 203.0.113.9",
            "CF-Connecting-IP: 203.0.113.9",
            "True-Client-IP: 203.0.113.9",
            "Via: 1.1 proxy",
        ] {
            assert!(!is_at_this_machine(&head(&format!("Host: localhost\r\n{said}")), near, &[]), "{said}");
        }
    }
}
