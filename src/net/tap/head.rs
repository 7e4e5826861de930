//! The head of a request as others may see it: whole, but for what is a secret.
//!
//! Comes in: the bytes of a head that was read and found in order. Goes out: the same bytes, secrets overwritten at equal length. Never:
//! a change of its length or of its lines.

use crate::ws::http::percent_decode;

/// Headers whose value lets whoever has it in.
const SECRET_HEADERS: [&str; 4] = ["Authorization", "Cookie", "Proxy-Authorization", "Referer"];
/// The header whose elements may be secrets, and what such an element begins with: a page has no other header for a token.
const PROTOCOLS_HEADER: &str = "Sec-WebSocket-Protocol";
const BEARER: &[u8] = b"bearer.";
/// The field of a query that does so, and what it ends with in other programs (`access_token`).
const SECRET_FIELD: &str = "token";
/// What stands in the place of a secret.
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

/// The target is what stands between the first two spaces; its query is what follows the question mark.
fn cover_target(line: &mut [u8]) {
    let Some(target) = line.split_mut(|byte| *byte == b' ').nth(1) else { return };
    let Some(mark) = target.iter().position(|byte| *byte == b'?') else { return };
    for field in target[mark + 1..].split_mut(|byte| *byte == b'&') {
        let Some(equals) = field.iter().position(|byte| *byte == b'=') else { continue };
        let name = percent_decode(&String::from_utf8_lossy(&field[..equals]));
        if name.to_ascii_lowercase().ends_with(SECRET_FIELD) {
            field[equals + 1..].fill(COVER);
        }
    }
}

fn cover_header(line: &mut [u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = line.split_at_mut(colon);
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    if SECRET_HEADERS.into_iter().any(is) {
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
    }
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
