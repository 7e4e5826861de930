//! The head of a request as listeners may see it: complete, with its secrets overwritten.
//!
//! The input is the bytes of a valid head; the output is the same bytes, with secrets overwritten
//! at equal length. The length of the head and its lines never change.

use crate::ws::http::percent_decode;

/// Substrings of the names of headers and query fields whose value grants access, such as
/// `X-Api-Key`, `Cookie`, `Cf-Access-Jwt-Assertion` or `access_token`. A name may contain one by
/// chance (`X-Author`): its value is then overwritten needlessly.
const SECRET_PARTS: [&[u8]; 15] = [
    b"auth",
    b"bearer",
    b"cookie",
    b"cred",
    b"jwt",
    b"key",
    b"otp",
    b"pass",
    b"pwd",
    b"secret",
    b"session",
    b"sid",
    b"signature",
    b"ticket",
    b"token",
];
/// A header that may hold the URL of a page, including its query.
const REFERER: &str = "Referer";
/// Headers of the handshake whose names look like those of secrets: checking the handshake needs
/// their values.
const HANDSHAKE: [&str; 1] = ["Sec-WebSocket-Key"];
/// Authentication schemes: a header value that begins with one is a secret (RFC 9110 section 11.4).
const SCHEMES: [&[u8]; 4] = [b"basic", b"bearer", b"digest", b"negotiate"];
/// The header whose elements may be secrets, and the prefix of such an element: a page can send a
/// token in no other header.
const PROTOCOLS_HEADER: &str = "Sec-WebSocket-Protocol";
const BEARER: &[u8] = b"bearer.";
/// The byte that replaces each byte of a secret.
const COVER: u8 = b'x';

/// Overwrites the secrets of a head.
pub fn cover_secrets(head: &mut [u8]) {
    let mut is_first = true;
    for line in head.split_mut(|byte| *byte == b'\n') {
        if is_first {
            cover_target(line);
        } else {
            cover_header(line);
        }
        is_first = false;
    }
}

/// The target is the text between the first two spaces; its query is the text after the question
/// mark.
fn cover_target(line: &mut [u8]) {
    if let Some(target) = line.split_mut(|byte| *byte == b' ').nth(1) {
        cover_query(target);
    }
}

/// The fields behind the question mark of a target. Some servers separate fields with `;` too, so a secret reaches to the next `&`.
fn cover_query(target: &mut [u8]) {
    let Some(mark) = target.iter().position(|byte| *byte == b'?') else { return };
    for field in target[mark + 1..].split_mut(|byte| *byte == b'&') {
        let mut start = 0;
        while let Some(equals) = field[start..].iter().position(|byte| *byte == b'=') {
            let value = start + equals + 1;
            if is_secret(percent_decode(&String::from_utf8_lossy(&field[start..value - 1])).as_bytes()) {
                cover_words(&mut field[value..]);
                break;
            }
            let Some(end) = field[value..].iter().position(|byte| *byte == b';') else { break };
            start = value + end + 1;
        }
    }
}

fn cover_header(line: &mut [u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = line.split_at_mut(colon);
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    if !HANDSHAKE.into_iter().any(is) && (is_secret(name) || is(REFERER) || has_scheme(&value[1..])) {
        cover_words(&mut value[1..]);
    } else if is(PROTOCOLS_HEADER) {
        for element in value[1..].split_mut(|byte| *byte == b',') {
            let blanks = element.iter().take_while(|byte| is_blank(**byte)).count();
            let rest = &mut element[blanks..];
            let (word, secret) = rest.split_at_mut(BEARER.len().min(rest.len()));
            if word.eq_ignore_ascii_case(BEARER) {
                cover_words(secret);
            }
        }
    } else {
        // Proxies repeat the target of a request in headers such as `X-Original-URI`.
        cover_query(&mut value[1..]);
    }
}

/// Whether the name of a header or of a field says that its value is a secret.
fn is_secret(name: &[u8]) -> bool {
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part));
    SECRET_PARTS.into_iter().any(has)
}

/// Whether a value begins with the name of a scheme and goes on behind it.
fn has_scheme(value: &[u8]) -> bool {
    let mut words = value.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    SCHEMES.into_iter().any(|scheme| scheme.eq_ignore_ascii_case(first)) && words.next().is_some()
}

fn cover_words(value: &mut [u8]) {
    value.iter_mut().filter(|byte| !is_blank(**byte)).for_each(|byte| *byte = COVER);
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(head: &str) -> String {
        let mut bytes = head.as_bytes().to_vec();
        cover_secrets(&mut bytes);
        assert_eq!(bytes.len(), head.len());
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn secrets_are_overwritten_at_equal_length_and_nothing_else_is() {
        let head = "GET /play?format=json&token=a%20b?c&x=token HTTP/1.1\r\nHost: a\r\nauthorization: Bearer sesame open\r\n\
                    Cookie:a=b; c=d\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Note: Cookie: a\r\n\r\n";
        let expected = "GET /play?format=json&token=xxxxxxx&x=token HTTP/1.1\r\nHost: a\r\nauthorization: xxxxxx xxxxxx xxxx\r\n\
                        Cookie:xxxx xxx\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-Note: Cookie: a\r\n\r\n";
        assert_eq!(covered(head), expected);
    }

    #[test]
    fn a_header_or_a_field_whose_name_says_secret_is_overwritten() {
        for name in [
            "X-Api-Key",
            "x-auth-token",
            "Cf-Access-Jwt-Assertion",
            "X-CSRF-TOKEN",
            "Proxy-Authorization",
            "X-Amz-Signature",
            "X-Session-Id",
            "My-Password",
            "X-Credentials",
            "Referer",
        ] {
            assert_eq!(
                covered(&format!("GET / HTTP/1.1\r\n{name}: a b\r\n")),
                format!("GET / HTTP/1.1\r\n{name}: x x\r\n")
            );
        }
        assert_eq!(
            covered(
                "GET /?key=1&auth=2&jwt=3&password=4&apiKey=5&client_secret=6&dialect=native&format=json HTTP/1.1\r\n"
            ),
            "GET /?key=x&auth=x&jwt=x&password=x&apiKey=x&client_secret=x&dialect=native&format=json HTTP/1.1\r\n"
        );
        let scheme = "GET / HTTP/1.1\r\nX-Forwarded-Access: Bearer abc\r\nX-Note: bearer\r\n";
        assert_eq!(covered(scheme), "GET / HTTP/1.1\r\nX-Forwarded-Access: xxxxxx xxx\r\nX-Note: bearer\r\n");
    }

    #[test]
    fn redaction_keeps_the_headers_of_the_handshake() {
        let head = "GET /play HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\nOrigin: http://a\r\nConnection: keep-alive, Upgrade\r\n\
                    Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Extensions: permessage-deflate\r\nCache-Control: no-cache\r\nX-Forwarded-For: 203.0.113.9\r\n\
                    Accept-Language: de\r\nAccept-Encoding: gzip\r\nPragma: no-cache\r\n\r\n";
        assert_eq!(covered(head), head);
    }

    #[test]
    fn a_query_in_the_value_of_a_header_is_covered_like_that_of_the_target() {
        let head =
            "GET / HTTP/1.1\r\nX-Original-URI: /play?format=json&token=abc\r\nX-Note: why? a=b\r\n\r\n";
        let expected =
            "GET / HTTP/1.1\r\nX-Original-URI: /play?format=json&token=xxx\r\nX-Note: why? a=b\r\n\r\n";
        assert_eq!(covered(head), expected);
    }

    #[test]
    fn a_secret_behind_a_semicolon_is_covered_to_the_next_ampersand() {
        assert_eq!(covered("GET /?a=b;token=c;d&e=f HTTP/1.1\r\n"), "GET /?a=b;token=xxx&e=f HTTP/1.1\r\n");
        assert_eq!(covered("GET /?token=c;d=e HTTP/1.1\r\n"), "GET /?token=xxxxx HTTP/1.1\r\n");
    }

    #[test]
    fn a_header_that_only_begins_like_the_handshakes_is_covered() {
        assert_eq!(
            covered("GET / HTTP/1.1\r\nSec-WebSocket-Token: abc\r\n"),
            "GET / HTTP/1.1\r\nSec-WebSocket-Token: xxx\r\n"
        );
    }

    #[test]
    fn a_token_among_the_subprotocols_is_overwritten_on_every_line() {
        let head = "GET /play HTTP/1.1\r\nSec-WebSocket-Protocol: tickwire.v1, bearer.YS10b2tlbg ,bearer\r\n\
                    sec-websocket-protocol:Bearer.Yg,\tbearer.\r\nX-Note: bearer.abc\r\n\r\n";
        let expected = "GET /play HTTP/1.1\r\nSec-WebSocket-Protocol: tickwire.v1, bearer.xxxxxxxxxx ,bearer\r\n\
                        sec-websocket-protocol:Bearer.xx,\tbearer.\r\nX-Note: bearer.abc\r\n\r\n";
        assert_eq!(covered(head), expected);
    }

    #[test]
    fn a_field_is_known_however_its_name_is_written() {
        assert_eq!(covered("GET /?%74oken=abc HTTP/1.1\r\n"), "GET /?%74oken=xxx HTTP/1.1\r\n");
        assert_eq!(
            covered("GET /?access_Token=abc&token HTTP/1.1\r\n"),
            "GET /?access_Token=xxx&token HTTP/1.1\r\n"
        );
        assert_eq!(
            covered("GET /token=abc HTTP/1.1\r\n"),
            "GET /token=abc HTTP/1.1\r\n",
            "a path is no query"
        );
    }
}
