//! Finds numbers in payloads that may be a token of digits, and overwrites them at equal length
//! with another number.
//!
//! A token has at least [`limits::MIN_TOKEN_CHARS`] characters, so shorter numbers stay.

use core::ops::Range;

use super::texts;
use crate::limits;
use crate::packet::msgpack::{self, ValueHead, ValueKind};

/// Content bytes of a 64-bit number in MessagePack.
const WIDE: usize = 8;
/// Replacement for a number in MessagePack: 16 digits 1, which fits every 64-bit type.
const COVER: u64 = 1_111_111_111_111_111;
/// The smallest number with as many digits as the shortest token.
const LEAST: u64 = 10_u64.pow(limits::MIN_TOKEN_CHARS as u32 - 1);

/// A number with enough digits for a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Long {
    /// Range of its digits, or in MessagePack of its content.
    pub place: Range<usize>,
    /// Its value, rounded.
    pub value: f64,
    /// Number of containers that enclose it.
    depth: usize,
    /// Index of the envelope's value that is or contains the number: 1 for the arguments.
    part: usize,
    /// Index of the argument that is or contains the number, if `part` is 1.
    argument: usize,
}

impl Long {
    /// The index of the argument that the number is. `None` if the number is only part of an
    /// argument, or outside of the arguments.
    pub fn argument(&self) -> Option<usize> {
        (self.depth == 2 && self.part == 1).then_some(self.argument)
    }

    /// Whether the number belongs to this argument or follows it.
    pub fn is_from(&self, argument: usize) -> bool {
        self.part > 1 || self.part == 1 && self.depth > 1 && self.argument >= argument
    }
}

/// The long numbers in MessagePack, up to the first broken rule.
pub fn packed(bytes: &[u8]) -> Vec<Long> {
    // For each open container: the number of missing values, and the index of the next one.
    let (mut open, mut found, mut at): (Vec<(usize, usize)>, Vec<Long>, usize) = (Vec::new(), Vec::new(), 0);
    let mut place = [0, 0];
    while let Ok(ValueHead { kind, head, length }) = msgpack::read_head(bytes, at) {
        let content = texts::content(kind, at + head, length);
        let depth = open.len();
        if let Some((left, index)) = open.last_mut() {
            if let Some(place) = depth.checked_sub(1).and_then(|level| place.get_mut(level)) {
                *place = *index;
            }
            (*left, *index) = (left.saturating_sub(1), *index + 1);
        }
        if let Some(value) = bytes.get(content.clone()).and_then(|content| wide(kind, bytes[at], content)) {
            found.push(Long { place: content.clone(), value, depth, part: place[0], argument: place[1] });
        }
        match kind {
            ValueKind::Array => open.push((length, 0)),
            ValueKind::Map => open.push((length.saturating_mul(2), 0)),
            _ => {}
        }
        while open.last().is_some_and(|(left, _)| *left == 0) {
            open.pop();
        }
        at = content.end;
    }
    found
}

/// The value of a 64-bit number, if it has enough digits for a token.
fn wide(kind: ValueKind, first: u8, content: &[u8]) -> Option<f64> {
    let bits = u64::from_be_bytes(<[u8; WIDE]>::try_from(content).ok()?);
    let value = match kind {
        ValueKind::Int if first == 0xd3 => bits.cast_signed() as f64,
        ValueKind::Int => bits as f64,
        ValueKind::Float => f64::from_bits(bits),
        _ => return None,
    };
    (value.is_finite() && value.abs() >= LEAST as f64).then_some(value)
}

/// Whether the bytes may contain a long MessagePack number at any offset.
pub fn may_be_packed(bytes: &[u8]) -> bool {
    let kind = |first: u8| if first == 0xcb { ValueKind::Float } else { ValueKind::Int };
    let mut heads = bytes.windows(1 + WIDE).filter(|nine| matches!(nine[0], 0xcb | 0xcf | 0xd3));
    heads.any(|nine| wide(kind(nine[0]), nine[0], &nine[1..]).is_some())
}

/// Overwrites the content of a long MessagePack number.
pub fn cover_packed(bytes: &mut [u8], Long { place, value, .. }: &Long) {
    let Some(first) = place.start.checked_sub(1).and_then(|at| bytes.get(at).copied()) else { return };
    let bits = match first {
        0xcb => (COVER as f64).copysign(*value).to_bits(),
        0xd3 if *value < 0.0 => COVER.cast_signed().wrapping_neg().cast_unsigned(),
        _ => COVER,
    };
    if let Some(content) = bytes.get_mut(place.clone()).filter(|content| content.len() == WIDE) {
        content.copy_from_slice(&bits.to_be_bytes());
    }
}

/// The long numbers in JSON, outside of strings.
pub fn json(text: &str) -> Vec<Long> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    let (mut depth, mut part, mut argument) = (0_usize, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'"' => at = texts::end_of_json(bytes, at) + 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => part += 1,
            b',' if depth == 2 && part == 1 => argument += 1,
            b'0'..=b'9' => {
                let rest = |at: usize, part: &[u8]| {
                    bytes[at..].iter().take_while(|byte| part.contains(byte)).count()
                };
                at += rest(at, b"0123456789");
                let whole = at - start;
                at += rest(at, b".0123456789");
                let digits = bytes[start..at].iter().filter(|byte| byte.is_ascii_digit()).count();
                let end = at + rest(at, b"eE+-0123456789");
                let sign = usize::from(start > 0 && bytes[start - 1] == b'-');
                let value: f64 = text[start - sign..end].parse().unwrap_or(f64::NAN);
                // A fraction, such as an angle, is not a token. A large number may have an
                // exponent.
                let is_large = end > at && digits >= limits::MIN_TOKEN_CHARS && value.abs() >= LEAST as f64;
                if whole >= limits::MIN_TOKEN_CHARS || is_large {
                    found.push(Long { place: start..at, value, depth, part, argument });
                }
                at = end;
            }
            _ => {}
        }
    }
    found
}

/// Overwrites the digits of a long JSON number.
pub fn cover_json(bytes: &mut [u8], Long { place, .. }: &Long) {
    let Some(digits) = bytes.get_mut(place.clone()) else { return };
    digits.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'1');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_number_is_found_at_its_argument_and_replaced_in_its_length() {
        for (json_text, expected) in [
            ("[1,[2,1234567890123456]]", vec![(Some(1), "[1,[2,1111111111111111]]")]),
            ("[1,[-1.234567890123456e15]]", vec![(Some(0), "[1,[-1.111111111111111e15]]")]),
            ("[1,[0.1234567890123456,1.234567890123456e3]]", vec![]),
            ("[1,[{\"a\":1234567890123456}]]", vec![(None, "[1,[{\"a\":1111111111111111}]]")]),
            ("[1,[],1234567890123456]", vec![(None, "[1,[],1111111111111111]")]),
            ("[1,[\"1234567890123456\",123456789012345]]", vec![]),
        ] {
            let found: Vec<_> = json(json_text)
                .iter()
                .map(|long| {
                    let mut bytes = json_text.as_bytes().to_vec();
                    cover_json(&mut bytes, long);
                    (long.argument(), String::from_utf8(bytes).expect("ASCII"))
                })
                .collect();
            let expected: Vec<_> = expected.into_iter().map(|(at, text)| (at, text.to_owned())).collect();
            assert_eq!(found, expected, "{json_text}");
        }
        let digits = 1_234_567_890_123_456_u64;
        for (first, bits) in [
            (0xcf, digits),
            (0xd3, digits),
            (0xd3, digits.cast_signed().wrapping_neg().cast_unsigned()),
            (0xcb, (digits as f64).to_bits()),
            (0xcb, (-(digits as f64)).to_bits()),
        ] {
            let number = [&[first][..], &bits.to_be_bytes()].concat();
            let bytes = [b"\x93\x01\x93\x05".as_slice(), &number, b"\x81\xa1a", &number, &number].concat();
            let found = packed(&bytes);
            let arguments: Vec<_> = found.iter().map(Long::argument).collect();
            assert_eq!(arguments, [Some(1), None, None]);
            let from: Vec<_> = found.iter().map(|long| long.is_from(2)).collect();
            assert_eq!(from, [false, true, true]);
            let mut out = bytes.clone();
            found.iter().for_each(|long| cover_packed(&mut out, long));
            assert!(may_be_packed(&bytes) && out != bytes);
            let again = packed(&out);
            assert_eq!(again.len(), 3);
            for (before, after) in found.iter().zip(again) {
                assert_eq!(after.value, 1_111_111_111_111_111_f64.copysign(before.value));
            }
        }
        assert!(packed(b"\x92\x01\x91\xcf\x00\x00\x00\x00\xff\xff\xff\xff").is_empty(), "ten digits");
    }
}
