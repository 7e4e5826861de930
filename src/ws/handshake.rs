//! The opening handshake: RFC 6455, section 4, for both roles.
//!
//! A server passes in a [`RequestHead`] and gets the response that accepts it, or the refusal. A
//! client gets the bytes of its request, and passes in the [`ResponseHead`]. The only extension is
//! compression, which [`extension`] negotiates if the caller wants it. The module
//! draws no random numbers: a client supplies its own key.
//!
//! ```text
//!   key       dGhlIHNhbXBsZSBub25jZQ==                 of the client: 16 random bytes in base64
//!   + GUID    258EAFA5-E914-47DA-95CA-C5AB0DC85B11     a constant of RFC 6455
//!   → SHA-1 → base64
//!   accept    s3pPLMBiTxaQ9kYGzzhZRbK+xOo=             of the server: proves WebSocket support
//! ```

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::extension::{self, AcceptedOffer, DeflateOffer, DeflateOptions, DeflateParameters};
use super::head_lines::is_token;
use super::http::{Headers, Refusal, RequestHead, ResponseHead};
use super::violation::Violation;

/// Suffix of the key before hashing: RFC 6455, section 1.3.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The protocol version that RFC 6455 defines, and the only supported one.
const VERSION: &str = "13";
/// Explanation of [`AcceptedUpgrade::declined`] for a log.
pub const DECLINED: &str = "no offered subprotocol is known here, so a browser closes this connection with 1006; a client must \
                            offer a known subprotocol or none";
/// Maximum characters of each element of [`AcceptedUpgrade::declined`]. The rest is cut off.
const DECLINED_CHARS: usize = 64;
/// Maximum number of offered subprotocols. One more is a [`Violation::TooManySubprotocols`].
pub const MAX_SUBPROTOCOLS: usize = 16;
/// Length of the decoded key in bytes.
pub const NONCE_BYTES: usize = 16;

/// An accepted request. `Debug` omits the declined subprotocols, because one may contain a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct AcceptedUpgrade {
    /// The whole 101 response. Frames follow it.
    pub response: Vec<u8>,
    /// The selected subprotocol, if any.
    pub subprotocol: Option<String>,
    /// The parameters of compression, if the response accepts it.
    pub deflate: Option<DeflateParameters>,
    /// The offered subprotocols, if the server supports none of them. A browser then closes the
    /// connection with 1006 (RFC 6455, section 4.1), so a log should list them, with secrets
    /// removed.
    pub declined: Vec<String>,
}

impl fmt::Debug for AcceptedUpgrade {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AcceptedUpgrade")
            .field("subprotocol", &self.subprotocol)
            .field("deflate", &self.deflate)
            .finish_non_exhaustive()
    }
}

/// Computes `Sec-WebSocket-Accept` from a key: RFC 6455, section 4.2.2, item 5.4.
pub fn accept_key(key: &str) -> String {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(key.as_bytes());
    hash.update(GUID.as_bytes());
    BASE64.encode(hash.digest().bytes())
}

/// Checks a request (RFC 6455, section 4.2.1) and encodes the 101 response (section 4.2.2). The
/// response selects the first offered subprotocol that `subprotocols` contains, if any.
///
/// # Errors
/// The first violation, with its status: 400, 405 or 426.
pub fn accept(head: &RequestHead, subprotocols: &[&str]) -> Result<AcceptedUpgrade, Refusal> {
    accept_with(head, subprotocols, None)
}

/// Like [`accept`]. With `deflate`, the response also accepts the first suitable offer of
/// compression, and [`AcceptedUpgrade::deflate`] has its parameters.
///
/// # Errors
/// As [`accept`]. An unsuitable offer is no violation: the connection is then uncompressed.
pub fn accept_with(
    head: &RequestHead,
    subprotocols: &[&str],
    deflate: Option<DeflateOptions>,
) -> Result<AcceptedUpgrade, Refusal> {
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
    let offer = deflate.and_then(|options| options.accept(&head.headers));
    Ok(AcceptedUpgrade {
        response: switching_protocols(key, subprotocol, offer.as_ref()),
        subprotocol: subprotocol.map(str::to_owned),
        deflate: offer.map(|offer| offer.parameters),
        declined,
    })
}

/// Checks the `Origin` header that a browser sends (RFC 6455, section 10.2). An empty list allows
/// all origins. A request without the header is allowed, because only browsers send it and other
/// clients could forge it.
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

/// Checks that a key is the canonical base64 encoding of 16 bytes. The refusal names the actual
/// length.
fn check_key(key: &str) -> Result<(), Refusal> {
    let detail = match BASE64.decode(key) {
        Ok(bytes) if bytes.len() == NONCE_BYTES => return Ok(()),
        Ok(bytes) => format!("It is base64 of {} bytes.", bytes.len()),
        Err(error) => format!("Its {} characters are not base64: {error}.", key.chars().count()),
    };
    Err(Refusal::with_detail(Violation::KeyMalformed, detail))
}

/// Returns the first offered subprotocol in `known`. If there is none, also returns the offered
/// subprotocols, truncated for a log. [`MAX_SUBPROTOCOLS`] bounds the time of the search.
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
            // A token is ASCII, so every index is a character boundary.
            declined.push(offered[..offered.len().min(DECLINED_CHARS)].to_owned());
        }
    }
    if chosen.is_some() {
        declined.clear();
    }
    Ok((chosen, declined))
}

fn switching_protocols(key: &str, subprotocol: Option<&str>, offer: Option<&AcceptedOffer>) -> Vec<u8> {
    let mut response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
        accept_key(key)
    );
    if let Some(subprotocol) = subprotocol {
        response.extend(["Sec-WebSocket-Protocol: ", subprotocol, "\r\n"]);
    }
    if let Some(offer) = offer {
        response.extend([extension::HEADER, ": ", &offer.value, "\r\n"]);
    }
    response.push_str("\r\n");
    response.into_bytes()
}

/// Encodes the caller's 16 random bytes as the `Sec-WebSocket-Key` of a request.
pub fn encode_key(random: [u8; NONCE_BYTES]) -> String {
    BASE64.encode(random)
}

/// Encodes a client's request (RFC 6455, section 4.1). `host` includes the port unless it is 80;
/// `target` begins with `/`; `key` comes from [`encode_key`]. The arguments are not checked, so
/// they must not contain untrusted input.
pub fn request(host: &str, target: &str, key: &str, subprotocols: &[&str]) -> Vec<u8> {
    request_with(host, target, key, subprotocols, None)
}

/// Like [`request`], with an offer of compression.
pub fn request_with(
    host: &str,
    target: &str,
    key: &str,
    subprotocols: &[&str],
    offer: Option<&DeflateOffer>,
) -> Vec<u8> {
    let mut request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: {VERSION}\r\n"
    );
    if !subprotocols.is_empty() {
        request.extend(["Sec-WebSocket-Protocol: ", &subprotocols.join(", "), "\r\n"]);
    }
    if let Some(offer) = offer {
        request.extend([extension::HEADER, ": ", &offer.to_string(), "\r\n"]);
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// Checks the response to a [`request`] (RFC 6455, section 4.1), and returns the selected
/// subprotocol.
///
/// # Errors
/// The first rule that the server broke. The connection is then unusable.
pub fn check_response(head: &ResponseHead, key: &str, offered: &[&str]) -> Result<Option<String>, Violation> {
    Ok(check_response_with(head, key, offered, None)?.subprotocol)
}

/// The parameters on which both ends agree, from the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreedUpgrade {
    /// The selected subprotocol, if any.
    pub subprotocol: Option<String>,
    /// The parameters of compression, if the server accepted the offer.
    pub deflate: Option<DeflateParameters>,
}

/// Like [`check_response`], for a request with an offer of compression ([`request_with`]).
///
/// # Errors
/// As [`check_response`].
pub fn check_response_with(
    head: &ResponseHead,
    key: &str,
    subprotocols: &[&str],
    offer: Option<&DeflateOffer>,
) -> Result<AgreedUpgrade, Violation> {
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
    let deflate = DeflateParameters::check_response(headers, offer)?;
    let mut agreed = headers.get_all("Sec-WebSocket-Protocol");
    let subprotocol = match (agreed.next(), agreed.next()) {
        (None, _) => None,
        (Some(one), None) if subprotocols.contains(&one) => Some(one.to_owned()),
        _ => return Err(Violation::SubprotocolNotOffered),
    };
    Ok(AgreedUpgrade { subprotocol, deflate })
}
