//! Formats an explanation as one line of JSON.
//!
//! PROTOCOL.md defines the format. The order of keys is fixed, so that explanations can be compared
//! as text. All information comes from the [`Explanation`].

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::arguments::arguments;
use crate::packet::msgpack::typed_text;
use crate::packet::{Code, Dialect, Value};
use crate::tools::explain::explanation::{
    Content, ExplainedFrame, Explanation, MESSAGE, PAYLOAD_FIELD, Problem, UNREAD_FIELD,
};
use crate::tools::explain::hex::digits as hex;
use crate::tools::explain::parse::datagram::DATAGRAM;
use crate::tools::explain::parse::frame_header::field;
use crate::tools::explain::tree::Node;
use crate::util::escape;
use crate::util::plural;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// The text after the frames.
pub const FOOTER: &str = "]}";

/// Formats the whole explanation.
pub fn print(explanation: &Explanation<'_>) -> String {
    let mut out = header_json(explanation);
    for (index, frame) in explanation.frames.iter().enumerate() {
        out += &frame_json(explanation, frame, index);
    }
    out + FOOTER
}

/// Formats one frame, after a comma if `index` is not 0.
pub fn frame_json(explanation: &Explanation<'_>, frame: &ExplainedFrame<'_>, index: usize) -> String {
    let comma = if index > 0 { "," } else { "" };
    comma.to_owned() + &print_frame(explanation, frame)
}

/// The text before the frames.
pub fn header_json(explanation: &Explanation<'_>) -> String {
    let from = match explanation.from {
        Side::Client => "client",
        Side::Server => "server",
    };
    let dialect = match explanation.is_foreign {
        true => "null".to_owned(),
        false => quoted(explanation.dialect.name()),
    };
    let bytes = explanation.bytes.len();
    let candidates = names(",\"candidates\":", &explanation.candidates);
    format!(r#"{{"from":"{from}","dialect":{dialect}{candidates},"bytes":{bytes},"frames":["#)
}

fn print_frame(explanation: &Explanation<'_>, frame: &ExplainedFrame<'_>) -> String {
    let mut out = String::new();
    let _ = write!(out, r#"{{"start":{},"end":{}"#, frame.range.start, frame.range.end);
    let mut entry = |name: &str, value: String| {
        let _ = write!(out, r#","{name}":{value}"#);
    };
    let is_head = matches!(frame.content, Content::Head(_));
    let is_named = is_head || [UNREAD_FIELD, DATAGRAM, MESSAGE].contains(&frame.tree.name.as_str());
    entry("kind", quoted(if is_named { &frame.tree.name } else { "frame" }));
    entry("line", quoted(&frame.to_string()));
    // The header fields are read from the tree, because a broken header is not decoded.
    let of_header =
        |name| if is_head { None } else { frame.tree.children.iter().find(|node| node.name == name) };
    let raw = |name| of_header(name).and_then(|node| node.raw.as_ref());
    let opcode = raw(field::OPCODE).and_then(Value::as_u64).and_then(|bits| Opcode::new(bits as u8));
    let opcode = opcode.map(Opcode::name).or(frame.bare_opcode());
    entry("opcode", opcode.map_or("null".to_owned(), quoted));
    entry("fin", raw(field::FIN).map_or(Json::Null, json).to_string());
    entry("masked", raw(field::MASK).map_or(Json::Null, json).to_string());
    let row = if let Content::Packet(row, _) = frame.content { row } else { None };
    entry("packet", row.map_or("null".to_owned(), |row| quoted(&row.name)));
    let tree =
        frame.message.as_ref().map_or_else(|| frame.tree.find(PAYLOAD_FIELD), |whole| Some(&whole.tree));
    let code =
        tree.filter(|_| matches!(frame.content, Content::Packet(..))).and_then(|tree| tree.find("code"));
    let code = match row.and_then(|row| row.code(explanation.dialect.name())) {
        Some(Code::Int(code)) => Json::from(*code),
        Some(Code::Str(code)) => Json::from(code.as_str()),
        None => code.and_then(|code| code.raw.as_ref()).map_or(Json::Null, json),
    };
    entry("code", printed(&code));
    let arguments = arguments(explanation, frame);
    entry(
        "arguments",
        arguments.map_or("null".to_owned(), |object| escape::escape_line(&object).into_owned()),
    );
    entry("payload", quoted(&hex(&frame.payload)));
    if let Some(whole) = &frame.message {
        let (frames, bytes, payload) = (whole.frames, whole.payload.len(), hex(&whole.payload));
        let mut tree = String::new();
        print_node(&mut tree, &whole.tree);
        let opcode = whole.opcode.name();
        let compressed =
            whole.compressed_bytes.map_or(String::new(), |bytes| format!(r#""compressed_bytes":{bytes},"#));
        let message = format!(
            r#"{{"opcode":"{opcode}","frames":{frames},{compressed}"bytes":{bytes},"payload":"{payload}","tree":{tree}}}"#
        );
        entry("message", message);
    }
    out.push_str(r#","tree":"#);
    print_node(&mut out, &frame.tree);
    out.push_str(&names(",\"otherwise\":", &frame.alternatives));
    out.push_str(r#","problem":"#);
    out.push_str(
        &frame
            .problem
            .as_ref()
            .map_or("null".to_owned(), |problem| print_problem(problem, explanation.bytes.len())),
    );
    out.push('}');
    out
}

/// Formats the names of dialects under `key`; empty if there are none.
fn names(key: &str, dialects: &[&Dialect]) -> String {
    if dialects.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    format!("{key}{}", Json::from(names))
}

fn print_node(out: &mut String, node: &Node) {
    let (name, value, bits) = (quoted(&node.name), quoted(&node.value), &node.bits);
    let _ = write!(out, r#"{{"name":{name},"bits":[{},{}],"value":{value}"#, bits.start, bits.end);
    if let Some(raw) = &node.raw {
        let _ = write!(out, r#","raw":{}"#, printed(&json(raw)));
    }
    let _ = write!(out, r#","encoding":{},"children":["#, quoted(&node.encoding));
    for (index, child) in node.children.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        print_node(out, child);
    }
    out.push_str("]}");
}

/// Converts a value to JSON: bytes to hexadecimal text, infinity and NaN to strings.
fn json(value: &Value) -> Json {
    match value {
        Value::Nil | Value::Ext(..) | Value::Array(_) | Value::Map(_) => Json::Null,
        Value::Boolean(truth) => Json::from(*truth),
        Value::Integer(number) => number.as_i64().map_or_else(|| Json::from(number.as_u64()), Json::from),
        Value::F32(number) => float_json(f64::from(*number)),
        Value::F64(number) => float_json(*number),
        Value::String(text) => Json::from(typed_text(text.as_bytes()).unwrap_or_default()),
        Value::Binary(bytes) => Json::from(hex(bytes)),
    }
}

fn float_json(number: f64) -> Json {
    if number.is_finite() { Json::from(number) } else { Json::from(number.to_string()) }
}

fn print_problem(problem: &Problem, end: usize) -> String {
    let print = |rule: &str, citation: &str, description: &str, response: &str, from: usize, to: usize| {
        let [rule, citation, description, response] = [rule, citation, description, response].map(quoted);
        format!(
            r#"{{"rule":{rule},"citation":{citation},"description":{description},"response":{response},"bits":[{from},{to}]}}"#
        )
    };
    match problem {
        Problem::Violation { rule, address, description: sentence, answer, bits } => {
            print(rule, address, sentence, answer, bits.start, bits.end)
        }
        Problem::Incomplete { missing } => {
            let sentence = missing.map_or_else(
                || "the header is incomplete".to_owned(),
                |missing| format!("the payload lacks {}", plural::count_noun(missing, "byte")),
            );
            print(
                "incomplete",
                "",
                &sentence,
                "wait",
                end * crate::tools::explain::tree::BYTE,
                end * crate::tools::explain::tree::BYTE,
            )
        }
    }
}

fn quoted(text: &str) -> String {
    printed(&Json::from(text))
}

/// Formats JSON, with escapes for characters that are unsafe for a terminal.
fn printed(value: &Json) -> String {
    escape::escape_line(&value.to_string()).into_owned()
}
