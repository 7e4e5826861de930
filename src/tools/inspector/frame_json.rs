//! The page's data for a frame: an entry of its list, and the whole explanation.

use serde_json::{Value as Json, json};

use super::ring::RetainedFrame;
use crate::tools::explain::{Content, Explanation, Problem, hex};
use crate::ws::Side;

/// An entry of the list: a frame in one line.
pub fn entry(client: u64, kept: &RetainedFrame, explained: &Explanation<'_>) -> Json {
    let frame = explained.frames.first();
    let line = frame.map(ToString::to_string).unwrap_or_default();
    let opcode = match frame.and_then(|frame| frame.header.as_ref()) {
        Some(header) => Some(header.opcode.name()),
        None => kept.is_head.then_some("upgrade"),
    };
    let mut entry = json!({
        "n": kept.n,
        "client": client,
        "at_ms": kept.at.as_millis() as u64,
        "tick": kept.tick,
        "from": side(kept.from),
        "line": line,
        "opcode": opcode,
        "packet": packet(explained),
        "rule": rule(explained),
        "bytes": kept.bytes().len(),
    });
    if kept.is_injected {
        entry["injected"] = Json::from(true);
    }
    entry
}

/// The explainer's JSON, with the frame's number and its bytes as they travelled; a head also as
/// text.
pub fn frame_json(kept: &RetainedFrame, explained: &Explanation<'_>) -> String {
    let (n, raw, rest) = (kept.n, hex::digits(kept.bytes()), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    let text = if kept.is_head {
        format!("\"text\":{},", Json::from(String::from_utf8_lossy(kept.bytes())))
    } else {
        String::new()
    };
    format!("{{\"n\":{n},\"raw\":\"{raw}\",{text}{rest}")
}

/// The explainer's JSON for bytes that are in no frame of the list, with the bytes themselves.
pub fn bytes(bytes: &[u8], explained: &Explanation<'_>) -> String {
    let (raw, rest) = (hex::digits(bytes), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    format!("{{\"raw\":\"{raw}\",{rest}")
}

/// The explainer's JSON of one item, with its number and its bytes as they travelled.
pub fn item(n: u64, explained: &Explanation<'_>) -> String {
    let (raw, rest) = (hex::digits(&explained.bytes), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    let is_head = explained.frames.first().is_some_and(|frame| matches!(frame.content, Content::Head(_)));
    let text = match is_head {
        true => format!("\"text\":{},", Json::from(String::from_utf8_lossy(&explained.bytes))),
        false => String::new(),
    };
    format!("{{\"n\":{n},\"raw\":\"{raw}\",{text}{rest}")
}

/// For a frame that is no longer kept.
pub fn gone_json(n: u64) -> String {
    json!({ "n": n, "gone": true }).to_string()
}

/// The name of a side.
pub fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

/// The packet's name, if its row is known.
pub fn packet<'a>(explained: &'a Explanation<'_>) -> Option<&'a str> {
    match &explained.frames.first()?.content {
        Content::Packet(row, _) => row.map(|row| row.name.as_str()),
        _ => None,
    }
}

/// The broken rule, if any.
pub fn rule(explained: &Explanation<'_>) -> Option<&'static str> {
    match explained.problem()? {
        Problem::Violation { rule, .. } => Some(rule),
        Problem::Incomplete { .. } => Some("incomplete"),
    }
}
