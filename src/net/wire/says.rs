//! The messages between watcher and server: one JSON object per text message. PROTOCOL.md, "The
//! inspector", lists them all.
//!
//! Parses a watcher's text into a wish, and formats the server's messages. Text from a client is
//! always escaped.

use std::net::SocketAddr;

use serde_json::{Map, Value as Json, json};

use super::ring::Kept;
use crate::explain::{Content, Explanation, Problem};
use crate::ws::Side;

/// A request of a watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Show the frames of this client, or of none.
    Watch(Option<u64>),
    /// Explain the frame with this number.
    Explain(u64),
    /// Hold the kept frames and add no others, or continue.
    Pause(bool),
    /// Send the kept frames as a capture.
    Save,
}

impl Wish {
    /// Parses a wish; `None` if the text is not a wish.
    pub fn parse(text: &str) -> Option<Wish> {
        let object: Map<String, Json> = serde_json::from_str(text).ok()?;
        let mut entries = object.iter();
        let (name, value) = entries.next()?;
        if entries.next().is_some() {
            return None;
        }
        match name.as_str() {
            "watch" if value.is_null() => Some(Wish::Watch(None)),
            "watch" => value.as_u64().map(|client| Wish::Watch(Some(client))),
            "explain" => value.as_u64().map(Wish::Explain),
            "pause" => value.as_bool().map(Wish::Pause),
            "save" => value.as_bool().filter(|wanted| *wanted).map(|_| Wish::Save),
            _ => None,
        }
    }
}

/// A client as listed for a watcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub id: u64,
    /// Its player, 0 without one.
    pub player: u16,
    /// Its player's name, empty without one.
    pub name: String,
    /// Its dialect.
    pub dialect: String,
    /// Whether it uses JSON.
    pub json: bool,
    /// The other end.
    pub address: SocketAddr,
}

/// `{"clients":[…]}`
pub fn clients(list: &[Listed]) -> String {
    let list: Vec<Json> = list.iter().map(Listed::json).collect();
    json!({ "clients": list }).to_string()
}

impl Listed {
    fn json(&self) -> Json {
        let Listed { id, player, name, dialect, json, address } = self;
        let dialect = if *json { format!("{dialect} as JSON") } else { dialect.clone() };
        json!({ "id": id, "player": player, "name": name, "dialect": dialect, "address": address.to_string() })
    }
}

/// One entry of `{"frames":[…]}`: a frame in one line.
pub fn entry(client: u64, kept: &Kept, explained: &Explanation<'_>) -> Json {
    let frame = explained.frames.first();
    let line = frame.map(ToString::to_string).unwrap_or_default();
    let opcode = match frame.and_then(|frame| frame.header.as_ref()) {
        Some(header) => Some(header.opcode.name()),
        None => kept.is_head.then_some("upgrade"),
    };
    json!({
        "n": kept.n,
        "client": client,
        "at_ms": kept.at.as_millis() as u64,
        "tick": kept.tick,
        "from": side(kept.from),
        "line": line,
        "opcode": opcode,
        "packet": packet(explained),
        "rule": rule(explained),
        "bytes": kept.bytes.len(),
    })
}

/// `{"explained":{…}}`: the explainer's JSON, with the frame's number and its bytes as they travelled.
pub fn explained(kept: &Kept, explained: &Explanation<'_>) -> String {
    let (n, raw, rest) = (kept.n, hex(&kept.bytes), explained.json());
    let rest = rest.strip_prefix('{').unwrap_or("}");
    let text = if kept.is_head {
        format!("\"text\":{},", Json::from(String::from_utf8_lossy(&kept.bytes)))
    } else {
        String::new()
    };
    format!("{{\"explained\":{{\"n\":{n},\"raw\":\"{raw}\",{text}{rest}}}")
}

/// `{"explained":{…}}` for a frame that is no longer kept.
pub fn gone(n: u64) -> String {
    json!({ "explained": { "n": n, "gone": true } }).to_string()
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
        Problem::Broken { rule, .. } => Some(rule),
        Problem::Incomplete { .. } => Some("incomplete"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_one_object_with_one_entry() {
        for (text, expected) in [
            (r#"{"watch":7}"#, Some(Wish::Watch(Some(7)))),
            (r#" {"watch": null} "#, Some(Wish::Watch(None))),
            (r#"{"explain":12}"#, Some(Wish::Explain(12))),
            (r#"{"pause":false}"#, Some(Wish::Pause(false))),
            (r#"{"save":true}"#, Some(Wish::Save)),
            (r#"{"save":false}"#, None),
            (r#"{"watch":-1}"#, None),
            (r#"{"watch":1.5}"#, None),
            (r#"{"watch":1,"pause":true}"#, None),
            (r#"{"explode":1}"#, None),
            ("{}", None),
            ("[]", None),
            ("watch", None),
            ("", None),
        ] {
            assert_eq!(Wish::parse(text), expected, "{text}");
        }
    }
}
