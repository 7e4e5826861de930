//! Tokens and resume keys as subprotocols of an upgrade request.
//!
//! `Sec-WebSocket-Protocol` is the only header that a page can set for a WebSocket. Proxies do not
//! log it, unlike the target of the request, and no message contains it. A server never selects a
//! subprotocol that contains a secret.
//!
//! ```text
//!  Sec-WebSocket-Protocol: tickwire.v1, key.001122…, bearer.YW5ucy10b2tlbi0wMTIzNDU2Nzg5
//!                          └ selected   │            └ the token in base64url, unpadded
//!                                       └ 32 hexadecimal digits
//! ```

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The prefix of a token: of a player, or of the operator at `/wire`.
const BEARER: &str = "bearer.";
/// The prefix of a resume key.
const KEY: &str = "key.";

/// The query field with a token.
pub const TOKEN_FIELD: &str = "token";
/// The query field with a resume key.
pub const KEY_FIELD: &str = "inspect_key";

/// Encodes a token as a subprotocol (RFC 4648, section 5, without padding).
pub fn bearer(token: &str) -> String {
    format!("{BEARER}{}", URL_SAFE_NO_PAD.encode(token))
}

/// Encodes a resume key as a subprotocol.
pub fn keyed(digits: &str) -> String {
    format!("{KEY}{digits}")
}

/// Decodes the token in an offered subprotocol. Returns `None` if the subprotocol has another
/// prefix, or is not base64url of UTF-8.
pub fn token_in(offered: &str) -> Option<String> {
    let coded = offered.strip_prefix(BEARER)?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(coded).ok()?).ok()
}

/// Returns the digits of the resume key in an offered subprotocol. Returns `None` if the
/// subprotocol has another prefix.
pub fn key_in(offered: &str) -> Option<&str> {
    offered.strip_prefix(KEY)
}

/// Whether a subprotocol is a token or a resume key.
pub fn is_credential(offered: &str) -> bool {
    offered.starts_with(BEARER) || offered.starts_with(KEY)
}

/// The offset of the secret in an offered subprotocol: after the first dot that follows the name of
/// a secret. `None` if there is no secret.
pub fn secret_start(offered: &[u8]) -> Option<usize> {
    let mut dots = (0..offered.len()).filter(|at| offered[*at] == b'.');
    dots.find(|at| is_secret_name(&offered[..*at])).map(|at| at + 1)
}

/// Formats offered subprotocols for a log line, without secrets.
pub fn redact_list(offered: &[String]) -> String {
    offered.iter().map(|one| redact(one)).collect::<Vec<_>>().join(", ")
}

/// Formats an offered subprotocol for log lines and error messages, without its secret, as
/// `bearer.…`.
pub fn redact(offered: &str) -> Cow<'_, str> {
    match secret_start(offered.as_bytes()) {
        Some(start) => format!("{}…", &offered[..start]).into(),
        None => offered.into(),
    }
}

/// Parts of names that indicate a secret value, for headers, query fields and subprotocols, such as
/// `X-Api-Key`, `Cookie`, `Cf-Access-Jwt-Assertion` or `access_token`. A name may contain a part by
/// chance (`X-Author`); its value is then redacted without need.
const SECRET_PARTS: &str =
    "auth bearer cookie cred jwt key otp pass pwd secret session sid signature ticket token";

/// Whether the value of a header, a query field or a subprotocol of this name is a secret.
pub fn is_secret_name(name: &[u8]) -> bool {
    let has =
        |part: &str| name.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()));
    SECRET_PARTS.split(' ').any(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_a_subprotocol_and_is_shown_without_its_secret() {
        let token = "a+/=~._-token-of-16";
        let offered = bearer(token);
        assert!(offered.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)));
        assert_eq!(token_in(&offered).as_deref(), Some(token));
        let digits = "00112233445566778899aabbccddeeff";
        assert_eq!(key_in(&keyed(digits)), Some(digits));
        for (offered, expected) in [
            (&*offered, "bearer.…"),
            (&keyed(digits), "key.…"),
            ("Access-Token.abc.def", "Access-Token.…"),
            ("base64url.bearer.authorization.k8s.io.abc", "base64url.bearer.…"),
            ("tickwire.v1", "tickwire.v1"),
            ("bearer", "bearer"),
            ("graphql-transport-ws", "graphql-transport-ws"),
        ] {
            assert_eq!(redact(offered), expected);
        }
        for offered in ["bearer.***", "bearer._w", "key", "Bearer.YQ"] {
            assert_eq!((token_in(offered), key_in(offered)), (None, None), "{offered}");
        }
    }
}
