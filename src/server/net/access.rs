//! Access control for `/wire` and `/metrics`: a request must either pass all checks of a local
//! request, or carry the operator's token. Operator commands (`POST /admin`) always require the
//! token, which is also checked here.
//!
//! Browsers let any page open a WebSocket to any host. At `/wire`, a page's `Origin` must therefore
//! be the server's own or, with the token, one listed in `--allow-origin`.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::connection::head_secrets;
use crate::packet::credentials;
use crate::server::admission::auth_limiter::AuthError;
use crate::server::admission::refusal::Refusal;
use crate::server::net::forwarded::{self, CidrRange};
use crate::server::net::metrics::Metrics;
use crate::server::net::server_state::ServerState;
use crate::ws::http::RequestHead;

/// Headers that only proxies send.
const PROXY_HEADERS: [&str; 10] = [
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

/// Checks whether this request may access `/wire`.
///
/// # Errors
/// 403 for a page of another origin and for a remote client without a token; 401 and 429 for a
/// wrong token, as at `/admin`.
pub fn check(host: &ServerState, head: &RequestHead, address: SocketAddr) -> Result<(), Refusal> {
    if !is_own_origin(head) && !is_listed_origin(head, &host.config.allowed_origins) {
        return Err(Refusal::from_rule(403, "inspector_origin"));
    }
    if is_local_request(head, address, &host.config.trusted_proxies) {
        return Ok(());
    }
    let offered = || head_secrets::offered(head, credentials::token_in);
    match bearer(head).filter(|token| !token.is_empty()).or_else(offered) {
        Some(token) => check_token(host, &token, address),
        None => Err(Refusal::from_rule(403, "inspector_token_missing")),
    }
}

/// Returns the HTTP status of the page at `/wire`, as determined by [`check`].
pub fn status(host: &ServerState, head: &RequestHead, address: SocketAddr) -> u16 {
    let Err(refused) = check(host, head, address) else { return 200 };
    Metrics::count(&host.metrics.refused, "rule", refused.rule);
    refused.status
}

/// Whether the request has no `Origin`, or its `Origin` equals its `Host`.
fn is_own_origin(head: &RequestHead) -> bool {
    let Some(origin) = head.header("Origin") else { return true };
    let host = origin.split_once("://").map(|(_, host)| host);
    host.zip(head.header("Host")).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
}

/// Whether `--allow-origin` lists the page's origin. A proxy that rewrites `Host` makes this
/// necessary. Such a request also needs the token.
fn is_listed_origin(head: &RequestHead, listed: &[String]) -> bool {
    let origin = head.header("Origin").unwrap_or_default();
    listed.iter().any(|known| known.eq_ignore_ascii_case(origin))
}

/// Header of a 401 response, which names the required authentication scheme (RFC 9110, section
/// 11.6.1).
pub const WWW_AUTHENTICATE: [(&str, &str); 1] = [("WWW-Authenticate", "Bearer realm=\"tickwire\"")];

/// Returns a 401 refusal for this rule.
pub fn unauthorized(rule: &'static str) -> Refusal {
    Refusal::with_headers(401, rule, &WWW_AUTHENTICATE)
}

/// Returns the token in `Authorization`. Another scheme, such as a proxy's `Basic`, carries no
/// token and does not count as a wrong one.
pub fn bearer(head: &RequestHead) -> Option<String> {
    let header = head.header("Authorization")?;
    let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
    scheme.eq_ignore_ascii_case("Bearer").then(|| rest.trim().to_owned())
}

/// Checks the operator's token.
///
/// # Errors
/// 401 for a wrong token. 429 after too many wrong tokens from the address, if this token is wrong
/// or was not checked.
pub fn check_token(host: &ServerState, candidate: &str, address: SocketAddr) -> Result<(), Refusal> {
    let is_right = || host.config.admin_token.matches(candidate);
    match host.admin_auth.attempt(address.ip(), host.now(), is_right) {
        Ok(()) => Ok(()),
        Err(AuthError::WrongToken) => Err(unauthorized("admin_token_wrong")),
        Err(AuthError::TooManyAttempts(left)) => {
            // Rounded up, so that a retry after `Retry-After` is never too early.
            let seconds = (left.as_secs() + 1).to_string();
            Err(Refusal::with_headers(429, "admin_token_too_often", &[("Retry-After", &seconds)]))
        }
    }
}

/// Whether a request comes from this machine. It guards `/wire`, `/metrics`, lockstep and served
/// captures. All checks must hold:
///
/// - The peer is a loopback address and not a trusted proxy.
/// - `Host` is `localhost` or a literal loopback address. This prevents DNS rebinding.
/// - `Origin` is absent or the server's own.
/// - No forwarding header is present.
pub fn is_local_request(head: &RequestHead, address: SocketAddr, proxies: &[CidrRange]) -> bool {
    let is_peer = address.ip().is_loopback() && !forwarded::is_trusted(proxies, address.ip());
    let is_direct = PROXY_HEADERS.iter().all(|name| head.header(name).is_none());
    is_peer && is_direct && is_own_origin(head) && head.header("Host").is_some_and(is_loopback_host)
}

/// Whether a `Host` value is `localhost` or a literal loopback address, with or without a port.
/// Host names are case-insensitive (RFC 9110, section 4.2.3).
fn is_loopback_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_v6 = literal.and_then(|literal| literal.parse().ok()).is_some_and(|ip: Ipv6Addr| ip.is_loopback());
    let is_v4 = name.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback());
    is_v6 || is_v4 || name.eq_ignore_ascii_case("localhost")
}
