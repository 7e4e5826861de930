//! Frame headers and masks: decoding and encoding round-trip, however the bytes are split.
//!
//! The input is bytes of one direction. For both roles, the shortest prefix that decides is as long
//! as the header, and no longer prefix decides differently; encoding gives the same bytes; masking
//! in pieces equals masking at once and the formula of RFC 6455 section 5.3.

use tickwire::ws::Side;
use tickwire::ws::frame::{self, Header, MAX_HEADER_BYTES};

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    for from in [Side::Client, Side::Server] {
        let mut rest = bytes;
        while let Some(used) = one(rest, from) {
            rest = &rest[used..];
        }
    }
}

/// The frame at the front; how many bytes of it there are, or `None` if there is no whole header or one that breaks a rule.
fn one(bytes: &[u8], from: Side) -> Option<usize> {
    let whole = Header::decode(bytes, from);
    let longest = bytes.len().min(MAX_HEADER_BYTES);
    let prefixes = (0..=longest).map(|end| (end, Header::decode(&bytes[..end], from)));
    for (end, found) in prefixes.skip_while(|(_, found)| *found == Ok(None)) {
        assert_eq!(found, whole, "{end} bytes say something else than all");
    }
    let (header, size) = match whole {
        Ok(Some(found)) => found,
        Ok(None) => {
            assert!(bytes.len() < MAX_HEADER_BYTES, "a header has an end");
            return None;
        }
        Err(_) => return None,
    };
    assert_eq!(Header::decode(&bytes[..size - 1], from), Ok(None), "shorter than it says");
    let mut encoded = Vec::new();
    header.encode(&mut encoded);
    assert_eq!(encoded, bytes[..size]);
    assert_eq!(header.mask.is_some(), from == Side::Client);
    assert!(!header.to_string().is_empty());
    let rest = &bytes[size..];
    let here = usize::try_from(header.length).map_or(rest.len(), |length| length.min(rest.len()));
    masks(&rest[..here], header.mask.unwrap_or([0; 4]));
    Some(size + here)
}

/// Masked at once, in two pieces, byte by byte, and as the RFC writes it.
fn masks(payload: &[u8], key: [u8; 4]) {
    let expected: Vec<u8> = payload.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect();
    let mut at_once = payload.to_vec();
    frame::mask(&mut at_once, key, 0);
    assert_eq!(at_once, expected, "at once");
    let cut = payload.len() / 3;
    let mut in_two = payload.to_vec();
    let (before, after) = in_two.split_at_mut(cut);
    frame::mask(before, key, 0);
    frame::mask(after, key, cut);
    assert_eq!(in_two, expected, "in two pieces, cut at {cut}");
    let mut bytewise = payload.to_vec();
    bytewise.chunks_mut(1).enumerate().for_each(|(at, byte)| frame::mask(byte, key, at));
    assert_eq!(bytewise, expected, "byte by byte");
}
