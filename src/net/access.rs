//! Controls access to `/wire` and `/metrics`: a request must pass every check that it comes from
//! this machine, or carry the operator's token. Operator commands (`POST /admin`) always need the
//! token; it is checked here too.
//!
//! Browsers let any page open a WebSocket to any host, so at `/wire` a page's `Origin` must be the
//! server's own or, with the token, one that `--allow-origin` lists.

use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::host::gate::GateRefusal;
use crate::host::refused::Refused;
use crate::limits;
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
    match bearer(head).filter(|said| !said.is_empty()).or_else(|| offered_token(head)) {
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

/// The token as a subprotocol, in base64.
fn offered_token(head: &RequestHead) -> Option<String> {
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
/// another site), and there is no forwarding header.
pub fn is_at_this_machine(head: &RequestHead, address: SocketAddr, proxies: &[Network]) -> bool {
    is_here(head, address, proxies, None)
}

/// As [`is_at_this_machine`], for a server without proxies that listens on one loopback address alone: the
/// `Host` may also be that address.
pub fn is_at_address(head: &RequestHead, address: SocketAddr, bound: IpAddr) -> bool {
    is_here(head, address, &[], Some(bound).filter(IpAddr::is_loopback))
}

fn is_here(head: &RequestHead, address: SocketAddr, proxies: &[Network], bound: Option<IpAddr>) -> bool {
    let host = head.header("Host").unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_bound = bound.is_some_and(|bound| name.parse() == Ok(bound));
    let is_literal = is_bound || matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let is_peer = address.ip().is_loopback() && !forwarded::is_trusted(proxies, address.ip());
    is_peer && is_literal && FORWARDING.iter().all(|name| head.header(name).is_none())
}
