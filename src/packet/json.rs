//! JSON: the same packets in text frames, for people who type by hand (`?format=json`).
//!
//! Reading a text gives the [`Value`] that the MessagePack message would have held; printing does
//! the reverse. The same bounds hold. JSON has no bytes (MessagePack `bin`): they are an object
//! `{"base64":"…"}`, in both directions. NaN and infinities, which no packet of a table has, print as
//! `null`.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmpv::Value;
use serde_json::Value as Json;

use crate::limits;

use super::msgpack::{Broken, Rule, most_values};
use super::row::Direction;

/// Reads the one JSON value of a message. A rule that is checked after the whole text is read has
/// offset 0.
pub fn read(text: &str, direction: Direction) -> Result<Value, Broken> {
    let most = most_values(direction);
    let colons = survey(text, most)?;
    let json: Json = serde_json::from_str(text).map_err(|error| {
        let line_start: usize =
            text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        Broken::new(Rule::BadJson, (line_start + error.column()).min(text.len()))
    })?;
    let (mut values, mut keys) = (0, 0);
    let value = from_json(json, &mut values, &mut keys);
    if keys < colons {
        // A parsed map keeps only one of two equal keys, so a duplicate key shows as a missing one.
        return Err(Broken::new(Rule::DuplicateKey, 0));
    }
    if values + keys > most {
        return Err(Broken::new(Rule::TooManyValues, 0));
    }
    Ok(value)
}

/// Prints a value as JSON text.
pub fn print(value: &Value) -> String {
    to_json(value).to_string()
}

/// Bounds the parser's work and memory by one scan; returns the number of colons outside strings.
fn survey(text: &str, most_values: usize) -> Result<usize, Broken> {
    let (mut depth, mut commas, mut colons) = (0usize, 0usize, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for (at, sign) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || sign != b'"';
            escaped = !escaped && sign == b'\\';
            continue;
        }
        match sign {
            b'"' => in_string = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => commas += 1,
            b':' => colons += 1,
            _ => {}
        }
        if depth > limits::PACKET_DEPTH {
            return Err(Broken::new(Rule::TooDeep, at));
        }
        if commas > most_values {
            return Err(Broken::new(Rule::TooManyValues, at));
        }
    }
    Ok(colons)
}

/// Converts JSON and counts its values and keys. The survey has bounded the recursion.
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

/// The only key of an object that is bytes.
const BASE64: &str = "base64";

/// The bytes that an object stands for.
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
            pairs.iter().map(|(key, value)| (key.as_str().unwrap_or(""), to_json(value))).collect()
        }
    }
}
