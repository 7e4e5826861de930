//! From HTTP to WebSocket: RFC 6455 section 4, both roles.
//!
//! A server passes in a [`RequestHead`] and gets the response that accepts it, or the refusal. A
//! client gets the bytes of its request, and passes in the [`ResponseHead`]. This module never
//! agrees to an extension, and draws no random numbers: a client supplies its own key.
//!
//! ```text
//!   key       dGhlIHNhbXBsZSBub25jZQ==                     the client's: 16 random bytes in base64
//!   + GUID    258EAFA5-E914-47DA-95CA-C5AB0DC85B11         the same for everyone, used only here
//!   → SHA-1 → base64
//!   accept    s3pPLMBiTxaQ9kYGzzhZRbK+xOo=                   the server's: it speaks WebSocket
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::head_lines::is_token;
use super::http::{Headers, Refusal, RequestHead, ResponseHead};
use super::violation::Violation;

/// What is appended to the key before it is hashed: section 1.3.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The protocol version that RFC 6455 defines, and the only supported one.
const VERSION: &str = "13";
/// The consequence of [`AcceptedUpgrade::declined`], for a log.
pub const DECLINED: &str = "no offered subprotocol is known here, so a browser closes this connection with 1006; a client must \
                            offer a known subprotocol or none";
/// Characters of each element of [`AcceptedUpgrade::declined`].
const DECLINED_CHARS: usize = 64;
/// Subprotocols that a client may offer. Beyond: [`Violation::TooManySubprotocols`].
pub const MAX_SUBPROTOCOLS: usize = 16;
/// Bytes of the key before base64.
pub const NONCE_BYTES: usize = 16;

/// An accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedUpgrade {
    /// The whole 101 response, after which frames begin.
    pub response: Vec<u8>,
    /// The subprotocol agreed on, if any.
    pub subprotocol: Option<String>,
    /// The offered subprotocols, if none of them is known. A browser then closes the connection with
    /// 1006 (section 4.1), so a log should list them, after removing those that carry secrets.
    pub declined: Vec<String>,
}

/// The answer to a key: section 4.2.2, item 5.4.
pub fn accept_key(key: &str) -> String {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key.as_bytes());
    hash.update(GUID.as_bytes());
    BASE64.encode(hash.digest().bytes())
}

/// Checks a request as section 4.2.1 requires, and writes the response of 4.2.2. The response
/// selects the first subprotocol that the client offers and `subprotocols` contains, if there is
/// one.
///
/// # Errors
/// The first violation, with its status: 400, 405, or 426.
pub fn accept(head: &RequestHead, subprotocols: &[&str]) -> Result<AcceptedUpgrade, Refusal> {
    if head.is_http_1_0 {
        return Err(Violation::UpgradeInHttp10.into());
    }
    if head.method != "GET" {
        return Err(Violation::MethodNotGet.into());
    }
    if !head.is_upgrade() {
        return Err(Violation::UpgradeMissing.into());
    }
    if !head.headers.has_token("Connection", "upgrade") {
        return Err(Violation::ConnectionMissing.into());
    }
    if head.header("Sec-WebSocket-Version") != Some(VERSION) {
        return Err(Violation::VersionNot13.into());
    }
    let key = head.header("Sec-WebSocket-Key").ok_or(Violation::KeyMissing)?;
    check_key(key)?;
    let (subprotocol, declined) = select_subprotocol(&head.headers, subprotocols)?;
    Ok(AcceptedUpgrade {
        response: switching_protocols(key, subprotocol),
        subprotocol: subprotocol.map(str::to_owned),
        declined,
    })
}

/// Checks the Origin that a browser sends (section 10.2). An empty list allows all origins.
/// Non-browser clients send no Origin and could forge one, so they are allowed.
///
/// # Errors
/// [`Violation::OriginForbidden`], status 403.
pub fn check_origin(head: &RequestHead, allowed: &[String]) -> Result<(), Refusal> {
    match head.header("Origin") {
        Some(origin)
            if !allowed.is_empty() && !allowed.iter().any(|known| known.eq_ignore_ascii_case(origin)) =>
        {
            Err(Violation::OriginForbidden.into())
        }
        _ => Ok(()),
    }
}

/// Checks that a key is the canonical base64 encoding of 16 bytes. The refusal says how long it is.
fn check_key(key: &str) -> Result<(), Refusal> {
    let detail = match BASE64.decode(key) {
        Ok(bytes) if bytes.len() == NONCE_BYTES => return Ok(()),
        Ok(bytes) => format!("It is base64 of {} bytes.", bytes.len()),
        Err(error) => format!("Its {} characters are not base64: {error}.", key.chars().count()),
    };
    Err(Refusal::with_detail(Violation::KeyMalformed, detail))
}

/// The first offered subprotocol that is known, or else the offered ones, cut to a length for a log. Takes time linear in the bounded size of the offer.
fn select_subprotocol<'a>(
    headers: &Headers,
    known: &[&'a str],
) -> Result<(Option<&'a str>, Vec<String>), Violation> {
    let (mut chosen, mut declined) = (None, Vec::new());
    for (index, offered) in headers.list("Sec-WebSocket-Protocol").enumerate() {
        if index == MAX_SUBPROTOCOLS {
            return Err(Violation::TooManySubprotocols);
        }
        if !is_token(offered.as_bytes()) {
            return Err(Violation::SubprotocolMalformed);
        }
        chosen = chosen.or_else(|| known.iter().copied().find(|&known| known == offered));
        if chosen.is_none() {
            // A token is ASCII.
            declined.push(offered[..offered.len().min(DECLINED_CHARS)].to_owned());
        }
    }
    if chosen.is_some() {
        declined.clear();
    }
    Ok((chosen, declined))
}

fn switching_protocols(key: &str, subprotocol: Option<&str>) -> Vec<u8> {
    let mut response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
        accept_key(key)
    );
    if let Some(subprotocol) = subprotocol {
        response.extend(["Sec-WebSocket-Protocol: ", subprotocol, "\r\n"]);
    }
    response.push_str("\r\n");
    response.into_bytes()
}

/// The key of a request: the caller's 16 random bytes in base64.
pub fn encode_key(random: [u8; NONCE_BYTES]) -> String {
    BASE64.encode(random)
}

/// A client's request (section 4.1). `host` includes the port unless it is 80; `target` begins with
/// `/`; `key` comes from [`encode_key`]. The arguments are not checked, so they must not come from
/// untrusted input.
pub fn request(host: &str, target: &str, key: &str, subprotocols: &[&str]) -> Vec<u8> {
    let mut request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: {VERSION}\r\n"
    );
    if !subprotocols.is_empty() {
        request.extend(["Sec-WebSocket-Protocol: ", &subprotocols.join(", "), "\r\n"]);
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// Checks the response to a [`request`] as section 4.1 requires, and returns the agreed
/// subprotocol.
///
/// # Errors
/// The first rule that the server broke; the connection is then unusable.
pub fn check_response(head: &ResponseHead, key: &str, offered: &[&str]) -> Result<Option<String>, Violation> {
    let ResponseHead { status, headers } = head;
    if *status != 101 {
        return Err(Violation::StatusNot101);
    }
    if !headers.get("Upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket")) {
        return Err(Violation::AnswerUpgradeMissing);
    }
    if !headers.has_token("Connection", "upgrade") {
        return Err(Violation::AnswerConnectionMissing);
    }
    if headers.get("Sec-WebSocket-Accept") != Some(&accept_key(key)) {
        return Err(Violation::AcceptWrong);
    }
    if headers.list("Sec-WebSocket-Extensions").next().is_some() {
        return Err(Violation::ExtensionNotOffered);
    }
    let mut agreed = headers.get_all("Sec-WebSocket-Protocol");
    match (agreed.next(), agreed.next()) {
        (None, _) => Ok(None),
        (Some(one), None) if offered.contains(&one) => Ok(Some(one.to_owned())),
        _ => Err(Violation::SubprotocolNotOffered),
    }
}
