//! JSON for the page: the entry of a frame, and its whole explanation.

use serde_json::{Value as Json, json};

use super::frame_mark::FrameMark;
use super::packet_summary;
use super::ring::RetainedFrame;
use crate::tools::explain::{Content, ExplainedFrame, Explanation, Problem, hex};
use crate::ws::Side;

/// The entry of a frame, with its summary line.
pub fn entry_json(client: u64, retained: &RetainedFrame, explained: &Explanation<'_>) -> Json {
    let frame = explained.frames.first();
    let opcode = match frame.and_then(|frame| frame.header.as_ref()) {
        Some(header) => Some(header.opcode.name()),
        None if retained.is_head => Some("upgrade"),
        None => frame.and_then(ExplainedFrame::bare_opcode),
    };
    let mut entry = json!({
        "n": retained.n,
        "client": client,
        "at_ms": retained.at.as_millis() as u64,
        "tick": retained.tick,
        "from": side(retained.from),
        "line": line(explained),
        "opcode": opcode,
        "packet": packet(explained),
        "rule": rule(explained),
        "bytes": retained.bytes().len(),
    });
    FrameMark::add_to(&mut entry, retained.mark, retained.compressed_bytes);
    entry
}

/// The summary line of a frame.
pub fn line(explained: &Explanation<'_>) -> String {
    explained.frames.first().map(ToString::to_string).unwrap_or_default()
}

/// The summary line of a frame, and the values of its packet, if it has one.
pub fn line_json(explained: &Explanation<'_>) -> Json {
    json!({ "line": line(explained), "values": packet_summary::summary(explained) })
}

/// The explanation as JSON, with the number and the bytes of the frame as sent; for a head also its
/// text, and for a compressed message its header on the wire.
pub fn frame_json(
    frame: &RetainedFrame,
    explained: &Explanation<'_>,
    wire_header: Option<&Explanation<'_>>,
) -> String {
    let (n, raw, rest) = (frame.n, hex::digits(frame.bytes()), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    let text = if frame.is_head {
        format!("\"text\":{},", Json::from(String::from_utf8_lossy(frame.bytes())))
    } else {
        String::new()
    };
    let wire = wire_header
        .map(|header| format!("\"wire\":{},", bytes_json(&header.bytes, header)))
        .unwrap_or_default();
    format!("{{\"n\":{n},\"raw\":\"{raw}\",{text}{wire}{rest}")
}

/// The explanation of edited bytes as JSON, with the bytes.
pub fn bytes_json(bytes: &[u8], explained: &Explanation<'_>) -> String {
    let (raw, rest) = (hex::digits(bytes), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    format!("{{\"raw\":\"{raw}\",{rest}")
}

/// The explanation of an item as JSON, with its number and its bytes as sent; for a head also its
/// text. `received` is the message that a proxy received, if it sent this one instead.
pub fn item_json(n: u64, explained: &Explanation<'_>, received: Option<&Explanation<'_>>) -> String {
    let (raw, rest) = (hex::digits(&explained.bytes), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    let is_head = explained.frames.first().is_some_and(|frame| matches!(frame.content, Content::Head(_)));
    let text = match is_head {
        true => format!("\"text\":{},", Json::from(String::from_utf8_lossy(&explained.bytes))),
        false => String::new(),
    };
    let received = received
        .map(|received| format!("\"received\":{},", bytes_json(&received.bytes, received)))
        .unwrap_or_default();
    format!("{{\"n\":{n},\"raw\":\"{raw}\",{text}{received}{rest}")
}

/// The JSON for a frame that is no longer stored.
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

/// The name of the packet, if a table has it.
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
