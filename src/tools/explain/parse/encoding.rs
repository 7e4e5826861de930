//! The encodings of MessagePack: their names, and values written in a given encoding.
//!
//! This module never selects an encoding, because the sender's choice is part of the explanation.

use crate::packet::Value;

/// The MessagePack name of the encoding with this first byte.
pub fn name(first: u8) -> &'static str {
    match first {
        0x00..=0x7f => "positive fixint",
        0x80..=0x8f => "fixmap",
        0x90..=0x9f => "fixarray",
        0xa0..=0xbf => "fixstr",
        0xc0 => "nil",
        0xc1 => "never used",
        0xc2 => "false",
        0xc3 => "true",
        0xc4 => "bin 8",
        0xc5 => "bin 16",
        0xc6 => "bin 32",
        0xc7..=0xc9 | 0xd4..=0xd8 => "ext",
        0xca => "float 32",
        0xcb => "float 64",
        0xcc => "uint 8",
        0xcd => "uint 16",
        0xce => "uint 32",
        0xcf => "uint 64",
        0xd0 => "int 8",
        0xd1 => "int 16",
        0xd2 => "int 32",
        0xd3 => "int 64",
        0xd9 => "str 8",
        0xda => "str 16",
        0xdb => "str 32",
        0xdc => "array 16",
        0xdd => "array 32",
        0xde => "map 16",
        0xdf => "map 32",
        0xe0..=0xff => "negative fixint",
    }
}

/// Appends a value in this encoding. For a container, only the head is written, and `value` is its
/// number of elements or pairs. Returns `None` if the encoding cannot represent the value.
pub fn write(out: &mut Vec<u8>, name: &str, value: &Value) -> Option<()> {
    match name {
        "nil" => out.push(0xc0),
        "false" => out.push(0xc2),
        "true" => out.push(0xc3),
        "positive fixint" | "negative fixint" => out.push(value.as_i64()? as u8),
        "uint 8" => number(out, 0xcc, 1, value.as_u64()?),
        "uint 16" => number(out, 0xcd, 2, value.as_u64()?),
        "uint 32" => number(out, 0xce, 4, value.as_u64()?),
        "uint 64" => number(out, 0xcf, 8, value.as_u64()?),
        "int 8" => number(out, 0xd0, 1, value.as_i64()? as u64),
        "int 16" => number(out, 0xd1, 2, value.as_i64()? as u64),
        "int 32" => number(out, 0xd2, 4, value.as_i64()? as u64),
        "int 64" => number(out, 0xd3, 8, value.as_i64()? as u64),
        "float 32" => match value {
            Value::F32(float) => number(out, 0xca, 4, float.to_bits().into()),
            _ => return None,
        },
        "float 64" => number(out, 0xcb, 8, value.as_f64()?.to_bits()),
        "fixarray" => out.push(0x90 | value.as_u64()? as u8),
        "array 16" => number(out, 0xdc, 2, value.as_u64()?),
        "array 32" => number(out, 0xdd, 4, value.as_u64()?),
        "fixmap" => out.push(0x80 | value.as_u64()? as u8),
        "map 16" => number(out, 0xde, 2, value.as_u64()?),
        "map 32" => number(out, 0xdf, 4, value.as_u64()?),
        _ => {
            let content = content(value)?;
            let length = content.len() as u64;
            match name {
                "fixstr" => out.push(0xa0 | length as u8),
                "str 8" => number(out, 0xd9, 1, length),
                "str 16" => number(out, 0xda, 2, length),
                "str 32" => number(out, 0xdb, 4, length),
                "bin 8" => number(out, 0xc4, 1, length),
                "bin 16" => number(out, 0xc5, 2, length),
                "bin 32" => number(out, 0xc6, 4, length),
                _ => return None,
            }
            out.extend_from_slice(content);
        }
    }
    Some(())
}

/// The bytes of a string or byte string.
pub fn content(value: &Value) -> Option<&[u8]> {
    match value {
        Value::String(text) => Some(text.as_bytes()),
        Value::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

/// The number of bytes before the content of a value in this encoding: its first byte and its
/// length field. Returns 0 if the first byte is also the content, and for other encodings than
/// MessagePack.
pub fn header_length(name: &str) -> usize {
    match name {
        "fixstr" | "uint 8" | "uint 16" | "uint 32" | "uint 64" => 1,
        "int 8" | "int 16" | "int 32" | "int 64" | "float 32" | "float 64" => 1,
        "str 8" | "bin 8" => 2,
        "str 16" | "bin 16" => 3,
        "str 32" | "bin 32" => 5,
        _ => 0,
    }
}

/// Appends a first byte and the lowest `width` bytes of a number, most significant byte first.
fn number(out: &mut Vec<u8>, first: u8, width: usize, value: u64) {
    out.push(first);
    out.extend_from_slice(&value.to_be_bytes()[size_of::<u64>() - width..]);
}
