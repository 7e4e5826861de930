//! JSON that is the payload of a text message, as browsers show it.

use serde_json::Value;

use super::types::InputMessage;
use crate::ws::frame::Opcode;

/// Reads JSON as a text message; `None` if the text is no JSON list or object, or is a list of
/// bytes.
pub fn read(text: &str) -> Option<InputMessage> {
    let text = text.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let is_bytes = match &value {
        Value::Array(values) => values.iter().all(Value::is_number),
        // What `JSON.stringify` makes of a buffer of Node.js.
        value => value["type"] == "Buffer" && value["data"].is_array(),
    };
    let message = InputMessage { from: None, opcode: Opcode::Text, payload: text.as_bytes().to_vec() };
    (!is_bytes).then_some(message)
}
