//! The requests of a page at the intercepting proxy, as JSON objects.
//!
//! ```text
//!   {"select": 7}                                             observe a connection, or null
//!   {"decide": 3, "client": 7, "action": "forward"|"drop"}
//!   {"decide": 3, "client": 7, "action": "repeat", "copies": 2}
//!   {"decide": 3, "client": 7, "text": "…" | "binary": HEX | "wire": HEX}
//!   {"send": "client"|"server", "client": 7, "text": "…" | "binary": HEX | "wire": HEX}
//!   {"rules": ["client move: hold", …]}
//! ```

use serde_json::{Map, Value as Json};

use super::traffic_log::PageCommand;
use crate::limits;
use crate::server::clients::inspector_session::Selection;
use crate::tools::explain::hex;
use crate::tools::intercept::{Decision, Substitute};
use crate::ws::Side;

/// A request of a page.
#[derive(Debug, Clone)]
pub enum PageRequest {
    /// Selects the observed connections.
    Select(Selection),
    /// A request for the thread of a connection.
    Command(u64, PageCommand),
    /// Replaces the rules, given as texts.
    SetRules(Vec<String>),
}

/// Parses a request. Returns `None` if the text is not one.
pub fn read(text: &str) -> Option<PageRequest> {
    let object: Map<String, Json> = serde_json::from_str(text).ok()?;
    if let Some(selected) = object.get("select") {
        return Selection::parse(selected).map(PageRequest::Select);
    }
    if let Some(rules) = object.get("rules") {
        let texts = rules.as_array()?.iter().map(|rule| rule.as_str().map(str::to_owned));
        return Some(PageRequest::SetRules(texts.collect::<Option<_>>()?));
    }
    // Pages of the game's inspector ask for their own client; a proxy has none.
    let client = object.get("client")?.as_u64()?;
    if let Some(id) = object.get("decide") {
        return Some(PageRequest::Command(client, PageCommand::Decide(id.as_u64()?, decision(&object)?)));
    }
    let from = match object.get("send")?.as_str()? {
        "client" => Side::Client,
        "server" => Side::Server,
        _ => return None,
    };
    Some(PageRequest::Command(client, PageCommand::Inject(from, substitute(&object)?)))
}

fn decision(object: &Map<String, Json>) -> Option<Decision> {
    match object.get("action").and_then(Json::as_str) {
        Some("forward") => Some(Decision::Forward),
        Some("drop") => Some(Decision::Drop),
        Some("repeat") => {
            let copies = u32::try_from(object.get("copies")?.as_u64()?).ok()?;
            (1..=limits::INTERCEPT_MAX_COPIES).contains(&copies).then_some(Decision::Repeat(copies))
        }
        Some(_) => None,
        None => substitute(object).map(Decision::Replace),
    }
}

/// The bytes to send: a text, a payload or a frame.
fn substitute(object: &Map<String, Json>) -> Option<Substitute> {
    let text = |name: &str| object.get(name).and_then(Json::as_str);
    let bytes = |digits: &str| if digits.is_empty() { Some(Vec::new()) } else { hex::parse(digits).ok() };
    match (text("text"), text("binary"), text("wire")) {
        (Some(words), None, None) => Some(Substitute::Text(words.to_owned())),
        (None, Some(digits), None) => bytes(digits).map(Substitute::Binary),
        (None, None, Some(digits)) => bytes(digits).map(Substitute::Wire),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_or_refused() {
        for (text, expected) in [
            (r#"{"select":7}"#, "Select(Client(7))"),
            (r#"{"select":"all"}"#, "Select(All)"),
            (r#"{"select":null}"#, "Select(Nothing)"),
            (r#"{"rules":["all: hold"]}"#, "SetRules([\"all: hold\"])"),
            (r#"{"decide":3,"client":7,"action":"forward"}"#, "Command(7, Decide(3, Forward))"),
            (r#"{"decide":3,"client":7,"action":"drop"}"#, "Command(7, Decide(3, Drop))"),
            (r#"{"decide":3,"client":7,"action":"repeat","copies":2}"#, "Command(7, Decide(3, Repeat(2)))"),
            (r#"{"decide":3,"client":7,"text":"hi"}"#, "Command(7, Decide(3, Replace(Text(\"hi\"))))"),
            (
                r#"{"send":"server","client":7,"binary":"00ff"}"#,
                "Command(7, Inject(Server, Binary([0, 255])))",
            ),
            (r#"{"send":"client","client":7,"wire":""}"#, "Command(7, Inject(Client, Wire([])))"),
        ] {
            assert_eq!(format!("{:?}", read(text).expect(text)), expected);
        }
        for text in [
            "",
            "[]",
            "{}",
            r#"{"select":-1}"#,
            r#"{"rules":[1]}"#,
            r#"{"decide":3,"action":"drop"}"#,
            r#"{"decide":3,"client":7,"action":"repeat","copies":1001}"#,
            r#"{"decide":3,"client":7}"#,
            r#"{"decide":3,"client":7,"text":"a","wire":"00"}"#,
            r#"{"send":"nobody","client":7,"text":"a"}"#,
            r#"{"send":"client","client":7,"binary":"0g"}"#,
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
