//! WebSocket messages in HAR files, as the network panels of browsers export them.
//!
//! An entry with a WebSocket has a list `_webSocketMessages`. A message has the direction `send` or
//! `receive`, the time in seconds since 1970, the opcode, and the data, which is Base64 in a binary
//! message. A HAR file has no frame headers: no masking keys, and no fragments.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::types::{InputMessage, UTF_8_MARK};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Microseconds per second: the precision of the time.
const MICROSECONDS: f64 = 1e6;
/// Bytes at the beginning of a HAR file that contain its first key.
const HEAD_BYTES: usize = 256;

/// A WebSocket connection of a HAR file.
#[derive(Clone, Debug, PartialEq)]
pub struct HarConnection {
    /// The address of the request.
    pub url: String,
    /// Its messages in order.
    pub messages: Vec<HarMessage>,
}

/// A message of a HAR file.
#[derive(Clone, Debug, PartialEq)]
pub struct HarMessage {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// The message, or the reason why the entry is no message.
    pub message: Result<InputMessage, String>,
}

/// Whether the contents begin like a HAR file. No frame or HTTP head begins with a brace.
pub fn is_har(contents: &[u8]) -> bool {
    let contents = contents.strip_prefix(UTF_8_MARK).unwrap_or(contents);
    let head = &contents[..contents.len().min(HEAD_BYTES)];
    let head: Vec<u8> = head.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    head.starts_with(b"{\"log\":{")
}

/// Reads the connections of a HAR file. Connections without messages are left out.
///
/// # Errors
/// The file is not JSON, or has no WebSocket messages.
pub fn read(contents: &[u8]) -> Result<Vec<HarConnection>, String> {
    let contents = contents.strip_prefix(UTF_8_MARK).unwrap_or(contents);
    let file: Value = serde_json::from_slice(contents)
        .map_err(|error| format!("a HAR file is JSON, and this one is not: {error}; export it again"))?;
    let entries = file["log"]["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let connections = entries.iter().filter_map(|entry| {
        let messages: Vec<HarMessage> = entry["_webSocketMessages"].as_array()?.iter().map(message).collect();
        let url = entry["request"]["url"].as_str().unwrap_or_default().to_owned();
        (!messages.is_empty()).then_some(HarConnection { url, messages })
    });
    let connections: Vec<HarConnection> = connections.collect();
    if connections.is_empty() {
        let entries = entries.len();
        return Err(format!(
            "none of the {entries} entries of this HAR file has WebSocket messages: open the network panel before the page connects, and export again"
        ));
    }
    Ok(connections)
}

fn message(value: &Value) -> HarMessage {
    let micros = (value["time"].as_f64().unwrap_or_default() * MICROSECONDS).round() as u64;
    let at_ns = micros.saturating_mul(1_000);
    HarMessage { at_ns, message: read_message(value) }
}

fn read_message(value: &Value) -> Result<InputMessage, String> {
    let data = value["data"].as_str().unwrap_or_default();
    let from = match value["type"].as_str() {
        Some("send") => Side::Client,
        Some("receive") => Side::Server,
        Some("error") => return Err(format!("the browser reported an error: {data:?}")),
        other => return Err(format!("the type {other:?} must be \"send\" or \"receive\"")),
    };
    let number = value["opcode"].as_u64().and_then(|bits| u8::try_from(bits).ok());
    let opcode = number
        .and_then(Opcode::new)
        .ok_or_else(|| format!("the opcode {} is not defined", value["opcode"]))?;
    let payload = match opcode {
        Opcode::Text => data.as_bytes().to_vec(),
        _ => BASE64_STANDARD
            .decode(data)
            .map_err(|error| format!("the data {data:?} must be Base64: {error}"))?,
    };
    Ok(InputMessage { from: Some(from), opcode, payload })
}
