//! JSON: the same packets in text frames, for typing by hand (`?format=json`).
//!
//! Decoding returns the same [`Value`] as the MessagePack message; encoding does the reverse. The
//! same limits apply. Because JSON has no bytes (MessagePack `bin`), an object `{"base64":"…"}`
//! represents them in both directions. NaN and infinities, which no packet of a table contains, are
//! encoded as `null`.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmpv::Value;
use serde_json::{Map, Value as Json};

use crate::limits;

use super::msgpack::{DecodeError, Rule, max_values};
use super::row::Direction;

/// Decodes the one JSON value of a message. A duplicate key, and too many parsed values, are
/// reported at offset 0.
pub fn read(text: &str, direction: Direction) -> Result<Value, DecodeError> {
    let max_values = max_values(direction);
    let colons = prescan(text, max_values)?;
    let Halves { text, broken } = halves(text, direction);
    let text = &*text;
    let json: Json = serde_json::from_str(text).map_err(|error| {
        let line_start: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        DecodeError::new(Rule::BadJson, (line_start + error.column()).min(text.len()))
    })?;
    if let Some(offset) = broken {
        return Err(DecodeError::new(Rule::InvalidUtf8, offset));
    }
    let (mut values, mut keys) = (0, 0);
    let value = from_json(json, &mut values, &mut keys);
    if keys < colons {
        // A parsed map keeps only one of two equal keys, so a missing key means a duplicate.
        return Err(DecodeError::new(Rule::DuplicateKey, 0));
    }
    if values + keys > max_values {
        return Err(DecodeError::new(Rule::TooManyValues, 0));
    }
    Ok(value)
}

/// Encodes a value as JSON text.
pub fn to_text(value: &Value) -> String {
    to_json(value).to_string()
}

/// Encodes a value of another protocol as JSON text. The keys of a map keep their order.
pub fn to_text_in_order(value: &Value) -> String {
    let list = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(",");
    match value {
        Value::Array(values) => format!("[{}]", list(&mut values.iter().map(to_text_in_order))),
        Value::Map(pairs) => {
            let entry =
                |(key, value): &(Value, Value)| format!("{}:{}", to_text(key), to_text_in_order(value));
            format!("{{{}}}", list(&mut pairs.iter().map(entry)))
        }
        scalar => to_text(scalar),
    }
}

/// Limits the parser's work and memory with one scan. Returns the number of colons outside strings.
fn prescan(text: &str, max_values: usize) -> Result<usize, DecodeError> {
    let (mut depth, mut commas, mut colons) = (0usize, 0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => commas += 1,
            b':' => colons += 1,
            _ => {}
        }
        if depth > limits::PACKET_DEPTH {
            return Err(DecodeError::new(Rule::TooDeep, at));
        }
        if commas > max_values {
            return Err(DecodeError::new(Rule::TooManyValues, at));
        }
    }
    Ok(colons)
}

/// A text in which escapes of single surrogates are replaced, so that it can be parsed.
struct Halves<'a> {
    text: Cow<'a, str>,
    /// Offset of the first string with such an escape that is not an argument from a client. Only
    /// arguments from a client may contain typed text.
    broken: Option<usize>,
}

/// Replaces each escape of a single surrogate with the escape of U+FFFD, which has the same length.
/// Such an escape is valid JSON (RFC 8259, section 8.2): JavaScript writes it when text is cut
/// within a character.
fn halves(text: &str, direction: Direction) -> Halves<'_> {
    let bytes = text.as_bytes();
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        is_hex.then(|| u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()).flatten()
    };
    let (mut found, mut broken, mut depth, mut at) = (Vec::new(), None, 0usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if *byte != b'"' {
            continue;
        }
        let (start, before) = (at - 1, found.len());
        while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
            at += match (byte, unit(at)) {
                (_, Some(0xd800..=0xdbff)) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
                (_, Some(0xd800..=0xdfff)) => {
                    found.push(at);
                    6
                }
                (b'\\', _) => 2,
                _ => 1,
            };
        }
        at += 1;
        let is_key = text.get(at..).is_some_and(|rest| rest.trim_ascii_start().starts_with(':'));
        let may_be_typed = direction == Direction::ToServer && depth > 1 && !is_key;
        if found.len() > before && !may_be_typed {
            broken = broken.or(Some(start));
        }
    }
    let mut repaired = Cow::Borrowed(text);
    for at in found {
        repaired.to_mut().replace_range(at..at + 6, "\\ufffd");
    }
    Halves { text: repaired, broken }
}

/// Converts JSON, and counts its values and keys. [`prescan`] has limited the recursion.
fn from_json(json: Json, values: &mut usize, keys: &mut usize) -> Value {
    *values += 1;
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Boolean(truth),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(signed), _) => Value::from(signed),
            (None, Some(unsigned)) => Value::from(unsigned),
            (None, None) => Value::F64(number.as_f64().unwrap_or(0.0)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(list) => list.into_iter().map(|value| from_json(value, values, keys)).collect(),
        Json::Object(pairs) => {
            *keys += pairs.len();
            if let Some(bytes) = as_bytes(&pairs) {
                *values += 1;
                return Value::Binary(bytes);
            }
            let pairs = pairs.into_iter();
            Value::Map(pairs.map(|(key, value)| (Value::from(key), from_json(value, values, keys))).collect())
        }
    }
}

/// The only key of an object that represents bytes.
const BASE64: &str = "base64";

/// Decodes the bytes that an object represents; `None` for any other object.
fn as_bytes(pairs: &serde_json::Map<String, Json>) -> Option<Vec<u8>> {
    let text = pairs.get(BASE64).filter(|_| pairs.len() == 1)?.as_str()?;
    BASE64_STANDARD.decode(text).ok()
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil | Value::Ext(..) => Json::Null,
        Value::Binary(bytes) => serde_json::json!({ BASE64: BASE64_STANDARD.encode(bytes) }),
        Value::Boolean(truth) => Json::Bool(*truth),
        Value::Integer(number) => match (number.as_i64(), number.as_u64()) {
            (Some(signed), _) => Json::from(signed),
            (None, unsigned) => Json::from(unsigned),
        },
        Value::F32(number) => Json::from(f64::from(*number)),
        Value::F64(number) => Json::from(*number),
        Value::String(text) => Json::from(text.as_str().unwrap_or("")),
        Value::Array(values) => values.iter().map(to_json).collect(),
        Value::Map(pairs) => {
            let entry =
                |(key, value): &(Value, Value)| (key.as_str().unwrap_or("").to_owned(), to_json(value));
            Json::Object(json_object(pairs.iter().map(entry)))
        }
    }
}

/// Collects the entries of an object. `collect` would compile a sort for each type of iterator.
pub(crate) fn json_object(entries: impl IntoIterator<Item = (String, Json)>) -> Map<String, Json> {
    let mut object = Map::new();
    for (key, value) in entries {
        object.insert(key, value);
    }
    object
}
