//! The lines of `tickwire between`: one for each event, as text or JSON.

use std::time::Duration;

use serde_json::json;

use crate::server::net::{ProxyEvent, ProxyEventKind};
use crate::tools::explain::color::ColorMode;
use crate::tools::explain::{Explanation, Problem, hex};
use crate::tools::inspector::MessageFilter;
use crate::tools::intercept::upgrade::UpgradeHeads;
use crate::tools::intercept::{Observation, Outcome};
use crate::util::escape::escape_line;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Format of the lines.
#[derive(Clone, Copy, Debug)]
pub enum LineFormat {
    /// One line for each message.
    Line(ColorMode),
    /// The drawing of each frame.
    Full(ColorMode),
    /// A JSON object for each event.
    Json,
}

/// Formats an event; `None` if the filter excludes it.
pub fn format_event(event: &ProxyEvent<'_>, filter: &MessageFilter, format: LineFormat) -> Option<String> {
    if let ProxyEventKind::Message(observation) = &event.kind {
        let mut all = observation.explained.iter().chain(observation.sent_explained);
        let is_wanted = match observation.outcome {
            Outcome::Oversized { begins } => begins,
            _ => all.any(|one| filter.matches(one, event.connection)),
        };
        if !is_wanted {
            return None;
        }
    }
    match format {
        LineFormat::Json => Some(format!("{}\n", event_json(event))),
        LineFormat::Line(paint) => text(event, |explained| explained.one_line(paint)),
        LineFormat::Full(paint) => text(event, |explained| explained.painted(paint) + "\n"),
    }
}

fn text(event: &ProxyEvent<'_>, line: impl Fn(&Explanation<'_>) -> String) -> Option<String> {
    let begin = format!("{:>9.3} #{} ", event.at.as_secs_f64(), event.connection);
    match &event.kind {
        ProxyEventKind::Upgraded(address, heads) => {
            Some(format!("{begin}= {address} {}, {}\n", request_line(heads), first_line(&heads.response)))
        }
        ProxyEventKind::Refused(address, heads, _) => {
            Some(format!("{begin}= {address} {}, {}\n", request_line(heads), first_line(&heads.response)))
        }
        ProxyEventKind::Ended(why) => Some(format!("{begin}= {why}\n")),
        ProxyEventKind::Failed(why) => Some(format!("{begin}= {}\n", escape_line(why))),
        ProxyEventKind::Message(observation) => Some(message(&begin, observation, line)),
    }
}

/// The lines of a message: what arrived and what happened to it, then what was sent instead.
fn message(
    begin: &str,
    observation: &Observation<'_, '_>,
    line: impl Fn(&Explanation<'_>) -> String,
) -> String {
    let mark = match observation.outcome {
        Outcome::Forwarded => String::new(),
        Outcome::Held(id) => format!(" [held: {id}]"),
        Outcome::Delayed(time) => format!(" [after {} ms]", time.as_millis()),
        Outcome::Dropped => " [dropped]".to_owned(),
        Outcome::Changed => " [changed]".to_owned(),
        Outcome::Repeated(copies) => format!(" [and {copies} more]"),
        Outcome::Injected => " [injected]".to_owned(),
        Outcome::Oversized { .. } => {
            let ch = if observation.from == Side::Client { '>' } else { '<' };
            return format!("{begin}{ch} a message that is too long to explain\n");
        }
    };
    let mut text = String::new();
    for explained in observation.explained {
        let own = line(explained);
        text.push_str(&format!("{begin}{}{mark}\n", own.trim_end_matches('\n')));
    }
    let sent_mark = if observation.outcome == Outcome::Injected { &mark } else { " [sent instead]" };
    for explained in observation.sent_explained {
        let own = line(explained);
        text.push_str(&format!("{begin}{}{sent_mark}\n", own.trim_end_matches('\n')));
    }
    text
}

fn event_json(event: &ProxyEvent<'_>) -> serde_json::Value {
    let (at_ms, connection) = (milliseconds(event.at), event.connection);
    match &event.kind {
        ProxyEventKind::Upgraded(address, heads) => json!({
            "event": "upgraded", "at_ms": at_ms, "connection": connection, "address": address.to_string(),
            "request": lossy(&heads.request), "response": lossy(&heads.response),
        }),
        ProxyEventKind::Refused(address, heads, status) => json!({
            "event": "refused", "at_ms": at_ms, "connection": connection, "address": address.to_string(),
            "status": status, "request": lossy(&heads.request), "response": lossy(&heads.response),
        }),
        ProxyEventKind::Ended(why) => {
            json!({ "event": "ended", "at_ms": at_ms, "connection": connection, "reason": why })
        }
        ProxyEventKind::Failed(why) => {
            json!({ "event": "failed", "at_ms": at_ms, "connection": connection, "reason": why })
        }
        ProxyEventKind::Message(observation) => message_json(at_ms, connection, observation),
    }
}

fn message_json(at_ms: f64, connection: u64, observation: &Observation<'_, '_>) -> serde_json::Value {
    let last = observation.explained.last().or(observation.sent_explained.last());
    let mut line = json!({
        "event": "message",
        "at_ms": at_ms,
        "connection": connection,
        "from": if observation.from == Side::Client { "client" } else { "server" },
        "outcome": observation.outcome.name(),
        "line": last.map(ToString::to_string),
        "names": last.map(Explanation::names).unwrap_or_default(),
        "received_bytes": observation.received.len(),
        "sent_bytes": observation.sent.len(),
    });
    match observation.outcome {
        Outcome::Held(id) => line["id"] = id.into(),
        Outcome::Delayed(time) => line["delay_ms"] = milliseconds(time).into(),
        Outcome::Repeated(copies) => line["copies"] = copies.into(),
        _ => {}
    }
    if let Some(Problem::Violation { rule, address, .. }) = last.and_then(Explanation::problem) {
        line["rule"] = (*rule).into();
        line["section"] = address.as_str().into();
    }
    if let Some(content) = observation.content {
        line["opcode"] = content.opcode.name().into();
        match std::str::from_utf8(&content.payload) {
            Ok(text) if content.opcode == Opcode::Text => line["text"] = text.into(),
            _ => line["payload"] = hex::digits(&content.payload).into(),
        }
    }
    if observation.outcome == Outcome::Changed || observation.outcome == Outcome::Injected {
        line["sent"] = hex::digits(observation.sent).into();
        line["sent_line"] = observation.sent_explained.last().map(ToString::to_string).into();
    }
    line
}

fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn first_line(head: &[u8]) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    escape_line(&String::from_utf8_lossy(line)).into_owned()
}

/// The method and the target of the request.
fn request_line(heads: &UpgradeHeads) -> String {
    let line = first_line(&heads.request);
    line.rsplit_once(' ').map_or(line.clone(), |(begin, _)| begin.to_owned())
}
