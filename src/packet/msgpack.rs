//! MessagePack: one bounded check before decoding, and a canonical encoder.
//!
//! `rmpv` decodes the values, but it accepts the reserved byte, text that is not UTF-8, bytes after
//! the value and duplicate keys, and it allocates by declared length. [`check`] therefore scans the
//! bytes first: once, from the front, without recursion, with a stack of at most
//! `limits::PACKET_DEPTH` entries. It never reserves memory because of a length field alone.
//!
//! The encoder uses the shortest form of each integer, length and text, and encodes floats without
//! a fraction as integers, as the clients of the MooMoo dialects do.

use std::fmt;

use rmpv::Value;

use crate::limits;

use super::row::Direction;

/// Returns the maximum number of values in one message, including containers and keys. Client
/// messages are short; updates of the server are long.
pub(super) fn max_values(direction: Direction) -> usize {
    match direction {
        Direction::ToServer => limits::PACKET_VALUES,
        Direction::ToClient => limits::CLIENT_PACKET_VALUES,
    }
}

tickwire_sim::named_enum! {
    /// A rule of well-formedness. Breaking one closes the connection with 1007.
    Rule {
        Truncated "packet_truncated" "the message ends within a value";
        ReservedByte "packet_reserved_byte" "the byte c1 is never used in MessagePack";
        DeclaredSize "packet_declared_size" "a length is greater than the number of bytes that follow it";
        InvalidUtf8 "packet_invalid_utf8" "text is not UTF-8, or half a surrogate pair in a code or a key";
        TrailingBytes "packet_trailing_bytes" "bytes follow the message's only value";
        DuplicateKey "packet_duplicate_key" "a map has the same key twice";
        KeyNotText "packet_key_not_text" "a map key is not text";
        TooDeep "packet_too_deep" "containers are nested too deep";
        TooManyValues "packet_too_many_values" "the message holds too many values";
        ExtType "packet_ext_type" "extension types are not part of the protocol";
        BadJson "packet_bad_json" "the text is not exactly one JSON value";
        Envelope "packet_envelope" "the message is not an array that begins with a code";
    }
}

/// A broken rule and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The rule.
    pub rule: Rule,
    /// Offset in bytes of the value or byte that breaks the rule, from the start of the message.
    pub offset: usize,
}

impl DecodeError {
    /// Creates an error from a rule and an offset in bytes.
    pub fn new(rule: Rule, offset: usize) -> Self {
        Self { rule, offset }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at byte {}: {}", self.rule.name(), self.offset, self.rule.sentence())
    }
}

impl std::error::Error for DecodeError {}

/// The type of a value, as its first byte states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the MessagePack specification")]
pub enum ValueKind {
    Nil,
    Bool,
    Int,
    Float,
    Str,
    Bin,
    Array,
    Map,
}

/// The head of one value: its type and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueHead {
    /// The type of the value.
    pub kind: ValueKind,
    /// Length of the head in bytes: the first byte and its length field.
    pub head: usize,
    /// Bytes of content after the head. For an array the number of values, for a map the number of
    /// pairs.
    pub length: usize,
}

/// Decodes the head of the value at `offset`. No byte after the head is read.
pub fn read_head(bytes: &[u8], offset: usize) -> Result<ValueHead, DecodeError> {
    let Some(&first) = bytes.get(offset) else {
        return Err(DecodeError::new(Rule::Truncated, offset));
    };
    let fixed = |kind, length| Ok(ValueHead { kind, head: 1, length });
    let sized = |kind, width| {
        let field = bytes.get(offset + 1..offset + 1 + width);
        let field = field.ok_or(DecodeError::new(Rule::Truncated, offset))?;
        let length = field.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte));
        Ok(ValueHead { kind, head: 1 + width, length })
    };
    match first {
        0x00..=0x7f | 0xe0..=0xff => fixed(ValueKind::Int, 0),
        0x80..=0x8f => fixed(ValueKind::Map, usize::from(first & 0x0f)),
        0x90..=0x9f => fixed(ValueKind::Array, usize::from(first & 0x0f)),
        0xa0..=0xbf => fixed(ValueKind::Str, usize::from(first & 0x1f)),
        0xc0 => fixed(ValueKind::Nil, 0),
        0xc1 => Err(DecodeError::new(Rule::ReservedByte, offset)),
        0xc2 | 0xc3 => fixed(ValueKind::Bool, 0),
        0xc4..=0xc6 => sized(ValueKind::Bin, 1 << (first - 0xc4)),
        0xc7..=0xc9 | 0xd4..=0xd8 => Err(DecodeError::new(Rule::ExtType, offset)),
        0xca => fixed(ValueKind::Float, 4),
        0xcb => fixed(ValueKind::Float, 8),
        0xcc..=0xcf => fixed(ValueKind::Int, 1 << (first - 0xcc)),
        0xd0..=0xd3 => fixed(ValueKind::Int, 1 << (first - 0xd0)),
        0xd9..=0xdb => sized(ValueKind::Str, 1 << (first - 0xd9)),
        0xdc | 0xdd => sized(ValueKind::Array, 2 << (first - 0xdc)),
        0xde | 0xdf => sized(ValueKind::Map, 2 << (first - 0xde)),
    }
}

/// A container that still lacks some of its values.
struct OpenContainer {
    /// Number of values that have not started, keys included.
    left: usize,
    is_map: bool,
    /// Index of this map's first key in the list of keys.
    keys_from: usize,
}

/// The map keys that a check accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MapKeys {
    /// Text only, as in packets.
    Text,
    /// Any value that is no container, as other protocols have them.
    Scalar,
}

/// Checks that the bytes are exactly one well-formed value within the limits of a direction.
pub fn check(bytes: &[u8], direction: Direction) -> Result<(), DecodeError> {
    check_with(bytes, direction, MapKeys::Text)
}

fn check_with(bytes: &[u8], direction: Direction, map_keys: MapKeys) -> Result<(), DecodeError> {
    let mut open: Vec<OpenContainer> = Vec::with_capacity(limits::PACKET_DEPTH);
    let mut keys: Vec<&[u8]> = Vec::new();
    let (mut at, mut values) = (0, 0);
    loop {
        let broken = |rule| Err(DecodeError::new(rule, at));
        let ValueHead { kind, head, length } = read_head(bytes, at)?;
        values += 1;
        if values > max_values(direction) {
            return broken(Rule::TooManyValues);
        }
        let key_of = open.last_mut().and_then(|parent| {
            parent.left -= 1;
            (parent.is_map && parent.left % 2 == 1).then_some(parent.keys_from)
        });
        let is_container = matches!(kind, ValueKind::Array | ValueKind::Map);
        let is_key_allowed = kind == ValueKind::Str || (map_keys == MapKeys::Scalar && !is_container);
        if key_of.is_some() && !is_key_allowed {
            return broken(Rule::KeyNotText);
        }
        let rest = &bytes[at + head..];
        if is_container {
            if open.len() == limits::PACKET_DEPTH {
                return broken(Rule::TooDeep);
            }
            let is_map = kind == ValueKind::Map;
            // Each value needs at least one byte.
            let left = length.saturating_mul(if is_map { 2 } else { 1 });
            if left > rest.len() {
                return broken(Rule::DeclaredSize);
            }
            open.push(OpenContainer { left, is_map, keys_from: keys.len() });
            at += head;
        } else {
            let Some(content) = rest.get(..length) else {
                let is_number = matches!(kind, ValueKind::Int | ValueKind::Float);
                return broken(if is_number { Rule::Truncated } else { Rule::DeclaredSize });
            };
            // Only arguments from a client can contain typed text. The code and the keys are names
            // of the protocol.
            let may_be_typed = direction == Direction::ToServer && key_of.is_none() && open.len() > 1;
            let is_text = || may_be_typed && typed_text(content).is_some();
            if kind == ValueKind::Str && std::str::from_utf8(content).is_err() && !is_text() {
                return broken(Rule::InvalidUtf8);
            }
            if let Some(keys_from) = key_of {
                // Without its head, the key -1 would have no bytes.
                let key = if kind == ValueKind::Str { content } else { &bytes[at..at + head + length] };
                // A packet has few keys, so linear search is fast enough.
                if keys[keys_from..].contains(&key) {
                    return broken(Rule::DuplicateKey);
                }
                keys.push(key);
            }
            at += head + length;
        }
        while open.last().is_some_and(|container| container.left == 0) {
            keys.truncate(open.pop().map_or(0, |done| done.keys_from));
        }
        if open.is_empty() {
            break;
        }
    }
    if at < bytes.len() { Err(DecodeError::new(Rule::TrailingBytes, at)) } else { Ok(()) }
}

/// Checks and decodes the one value of a message.
pub fn read(bytes: &[u8], direction: Direction) -> Result<Value, DecodeError> {
    check(bytes, direction)?;
    decode(bytes)
}

/// Checks and decodes the one value of another protocol's message, whose maps may have keys that
/// are no text.
pub(crate) fn read_foreign(bytes: &[u8]) -> Result<Value, DecodeError> {
    check_with(bytes, Direction::ToClient, MapKeys::Scalar)?;
    decode(bytes)
}

/// Checks a message and decodes the first values of its array, so that a packet needs no list of
/// its two parts. The values that it lacks are `None`, and all of them if it is no array.
pub(super) fn read_first<const N: usize>(
    bytes: &[u8],
    direction: Direction,
) -> Result<[Option<Value>; N], DecodeError> {
    check(bytes, direction)?;
    let mut values = [const { None }; N];
    let head = read_head(bytes, 0)?;
    if head.kind == ValueKind::Array {
        let mut rest = &bytes[head.head..];
        for value in values.iter_mut().take(head.length) {
            *value = Some(decode_next(&mut rest)?);
        }
    }
    Ok(values)
}

fn decode(mut bytes: &[u8]) -> Result<Value, DecodeError> {
    decode_next(&mut bytes)
}

/// Decodes a value, and removes its bytes from the front.
fn decode_next(bytes: &mut &[u8]) -> Result<Value, DecodeError> {
    // rmpv counts depth differently: about 2 for each container.
    let rmpv_depth = limits::PACKET_DEPTH * 2 + 4;
    let mut value = rmpv::decode::read_value_with_max_depth(bytes, rmpv_depth)
        .map_err(|_| DecodeError::new(Rule::Truncated, bytes.len()))?;
    repair(&mut value);
    Ok(value)
}

/// Decodes one value that is neither an array nor a map. Does not repair text that is not UTF-8:
/// see [`typed_text`].
pub fn scalar(bytes: &[u8]) -> Option<Value> {
    rmpv::decode::read_value_with_max_depth(&mut &bytes[..], limits::PACKET_DEPTH).ok()
}

/// Decodes text typed in a browser. JavaScript can cut text between the two surrogates of a
/// character, and old encoders write each surrogate as three bytes. A pair of surrogates becomes
/// its character, and a single one becomes U+FFFD. Returns `None` for other text that is not UTF-8.
pub fn typed_text(bytes: &[u8]) -> Option<String> {
    let (mut out, mut rest, mut units) = (String::new(), bytes, Vec::new());
    loop {
        let valid = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, after) = rest.split_at(valid);
        if !text.is_empty() || after.is_empty() {
            let halves = char::decode_utf16(units.drain(..));
            out.extend(halves.map(|half| half.unwrap_or(char::REPLACEMENT_CHARACTER)));
            out.push_str(std::str::from_utf8(text).ok()?);
        }
        let [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, after @ ..] = after else {
            return after.is_empty().then_some(out);
        };
        units.push(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f));
        rest = after;
    }
}

/// Replaces each text that is not UTF-8 and that [`check`] has accepted.
fn repair(value: &mut Value) {
    match value {
        Value::String(text) if text.is_err() => {
            *value = Value::from(typed_text(text.as_bytes()).unwrap_or_default());
        }
        Value::Array(values) => values.iter_mut().for_each(repair),
        Value::Map(pairs) => pairs.iter_mut().for_each(|(_, value)| repair(value)),
        _ => {}
    }
}

// Writing to a `Vec` cannot fail. The functions of `rmp` return a result because they are generic.

/// Appends an unsigned integer in its shortest form.
pub fn write_uint(out: &mut Vec<u8>, value: u64) {
    // Most numbers are one byte.
    if value < 128 {
        out.push(value as u8);
    } else {
        let _ = rmp::encode::write_uint(out, value);
    }
}

/// Appends a signed integer in its shortest form.
pub fn write_int(out: &mut Vec<u8>, value: i64) {
    if (0..128).contains(&value) {
        out.push(value as u8);
    } else {
        let _ = rmp::encode::write_sint(out, value);
    }
}

/// Appends `nil`.
#[inline]
pub fn write_nil(out: &mut Vec<u8>) {
    out.push(0xc0);
}

/// Appends `true` or `false`.
#[inline]
pub fn write_bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

/// Appends text with the shortest length field.
#[inline]
pub fn write_str(out: &mut Vec<u8>, text: &str) {
    let _ = rmp::encode::write_str(out, text);
}

/// Appends the head of an array of `values` values. The caller appends the values.
#[inline]
pub fn write_array_len(out: &mut Vec<u8>, values: usize) {
    let _ = rmp::encode::write_array_len(out, u32::try_from(values).unwrap_or(u32::MAX));
}

/// Appends the head of a map of `pairs` pairs. The caller appends the pairs.
#[inline]
pub fn write_map_len(out: &mut Vec<u8>, pairs: usize) {
    let _ = rmp::encode::write_map_len(out, u32::try_from(pairs).unwrap_or(u32::MAX));
}

/// Appends a number: as an integer if it has no fraction, else as a 64-bit float.
#[inline]
pub fn write_number(out: &mut Vec<u8>, number: f64) {
    match float_to_integer(number) {
        Some(whole) => write_int(out, whole),
        None => drop(rmp::encode::write_f64(out, number)),
    }
}

/// Converts a number without a fraction to an integer. Returns `None` for other numbers.
#[inline]
pub(super) fn float_to_integer(number: f64) -> Option<i64> {
    // Above 2^53 a float no longer identifies a single integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Appends a number rounded to two decimals, as the MooMoo dialects encode angles.
#[inline]
pub fn write_f64_2dec(out: &mut Vec<u8>, number: f64) {
    write_number(out, super::angle::round_2dec(number));
}

/// Appends any value in canonical form. Extension types are encoded as `nil`, because no dialect
/// has any.
pub fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Nil | Value::Ext(..) => write_nil(out),
        Value::Boolean(value) => write_bool(out, *value),
        Value::Integer(value) => match (value.as_i64(), value.as_u64()) {
            (Some(signed), _) => write_int(out, signed),
            (None, unsigned) => write_uint(out, unsigned.unwrap_or(u64::MAX)),
        },
        Value::F32(value) => write_number(out, f64::from(*value)),
        Value::F64(value) => write_number(out, *value),
        Value::String(text) => write_str(out, text.as_str().unwrap_or("")),
        Value::Binary(bytes) => drop(rmp::encode::write_bin(out, bytes)),
        Value::Array(values) => {
            write_array_len(out, values.len());
            values.iter().for_each(|value| write_value(out, value));
        }
        Value::Map(pairs) => {
            write_map_len(out, pairs.len());
            for (key, value) in pairs {
                write_value(out, key);
                write_value(out, value);
            }
        }
    }
}
