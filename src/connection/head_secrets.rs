//! Secrets in a request head: lookup in the offered subprotocols, and redaction for recorders and
//! inspectors.
//!
//! [`redact_head`] replaces each byte of a secret in a valid head, so the lengths of the head and
//! of its lines do not change.

use crate::limits;
use crate::packet::credentials::{is_secret_name, secret_start};
use crate::ws::http::{RequestHead, percent_decode};

/// A header that may contain the URL of a page, including its query.
const REFERER: &str = "Referer";
/// Its name matches `is_secret_name`, but its value stays, because the handshake check needs it.
const HANDSHAKE_KEY_HEADER: &str = "Sec-WebSocket-Key";
/// Authentication schemes (RFC 9110, section 11.4). A header value that starts with one is a
/// secret.
const SCHEMES: [&[u8]; 4] = [b"basic", b"bearer", b"digest", b"negotiate"];
/// The header with subprotocols, which may be [`credentials`](crate::packet::credentials).
const PROTOCOLS_HEADER: &str = "Sec-WebSocket-Protocol";
/// The byte that replaces each byte of a secret.
const MASK_BYTE: u8 = b'x';

/// The first offered subprotocol that `read` accepts.
pub fn offered<T>(head: &RequestHead, read: impl FnMut(&str) -> Option<T>) -> Option<T> {
    head.headers.list(PROTOCOLS_HEADER).take(limits::SUBPROTOCOLS).find_map(read)
}

/// Overwrites the secrets of a head.
pub fn redact_head(head: &mut [u8]) {
    let mut lines = head.split_mut(|byte| *byte == b'\n');
    // The target is the text between the first two spaces.
    let target = lines.next().and_then(|line| line.split_mut(|byte| *byte == b' ').nth(1));
    target.into_iter().for_each(redact_query);
    lines.for_each(redact_header);
}

/// Overwrites secrets in the query of a target. Some servers also separate fields with `;`, and
/// some programs append a second query with another `?`. A secret extends to the next `&`.
fn redact_query(target: &mut [u8]) {
    let Some(mark) = target.iter().position(|byte| *byte == b'?') else { return };
    for field in target[mark + 1..].split_mut(|byte| *byte == b'&') {
        let mut start = 0;
        while let Some(equals) = field[start..].iter().position(|byte| *byte == b'=') {
            let value = start + equals + 1;
            if is_secret_name(percent_decode(&String::from_utf8_lossy(&field[start..value - 1])).as_bytes()) {
                redact_words(&mut field[value..]);
                break;
            }
            let Some(end) = field[value..].iter().position(|byte| b";?".contains(byte)) else { break };
            start = value + end + 1;
        }
    }
}

fn redact_header(line: &mut [u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return };
    let (name, value) = line.split_at_mut(colon);
    let is = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
    if !is(HANDSHAKE_KEY_HEADER) && (is_secret_name(name) || is(REFERER) || has_scheme(&value[1..])) {
        redact_words(&mut value[1..]);
    } else if is(PROTOCOLS_HEADER) {
        for element in value[1..].split_mut(|byte| *byte == b',') {
            let blanks = element.iter().take_while(|byte| is_blank(**byte)).count();
            let offered = &mut element[blanks..];
            if let Some(start) = secret_start(offered) {
                redact_words(&mut offered[start..]);
            }
        }
    } else {
        // Proxies repeat the target of a request in headers such as `X-Original-URI`.
        redact_query(&mut value[1..]);
    }
}

/// Whether a value is the name of a scheme followed by credentials.
fn has_scheme(value: &[u8]) -> bool {
    let mut words = value.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    SCHEMES.into_iter().any(|scheme| scheme.eq_ignore_ascii_case(first)) && words.next().is_some()
}

fn redact_words(value: &mut [u8]) {
    value.iter_mut().filter(|byte| !is_blank(**byte)).for_each(|byte| *byte = MASK_BYTE);
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
