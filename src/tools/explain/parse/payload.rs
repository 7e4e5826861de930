//! Explains the payload of a frame or of a message.
//!
//! An unmasked payload and its opcode become a node of the tree, a [`Content`] and a problem, if
//! any. The decoders of the server check the payload. Earlier frames are not considered.

use super::{json_text, packet};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError, Value, json, msgpack, routes};
use crate::tools::explain::explanation::{Content, PAYLOAD_FIELD, Problem};
use crate::tools::explain::hex;
use crate::tools::explain::tree::{BYTE, Node, bits};
use crate::util::plural::count_noun;
use crate::ws::frame::Opcode;
use crate::ws::{CloseCode, Event, Side, Violation, close};

/// The encoding of a text.
pub const UTF_8: &str = "UTF-8";

/// The detail in which payloads are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A tree of all values.
    Tree,
    /// The summary line, the name and the problem; the payload is a single leaf.
    Line,
    /// The name and the problem; the payload is a single leaf.
    Name,
}

/// The sender of a payload, and the wire format of its packets.
#[derive(Clone, Copy, Debug)]
pub struct SenderFormat<'a> {
    /// The sender.
    pub from: Side,
    /// The dialect of the connection.
    pub dialect: &'a Dialect,
    /// Whether packets are JSON in text messages; `None` if unknown.
    pub json: Option<bool>,
    /// The detail of the explanation.
    pub detail: Detail,
    /// Whether the connection uses another protocol, so that messages are not decoded as packets.
    pub is_foreign: bool,
}

impl SenderFormat<'_> {
    /// The direction of the packets.
    pub fn direction(self) -> Direction {
        match self.from {
            Side::Client => Direction::ToServer,
            Side::Server => Direction::ToClient,
        }
    }
}

/// An explained payload.
pub struct ExplainedPayload<'a> {
    /// The node of the payload.
    pub node: Node,
    /// The content.
    pub content: Content<'a>,
    /// The problem, if any.
    pub problem: Option<Problem>,
    /// If the dialect is a guess: the candidates that decode the payload differently.
    pub otherwise: Vec<&'a Dialect>,
}

impl<'a> ExplainedPayload<'a> {
    fn new(node: Node, content: Content<'a>, problem: Option<Problem>) -> ExplainedPayload<'a> {
        ExplainedPayload { node, content, problem, otherwise: Vec::new() }
    }

    /// Creates a payload of bytes without further meaning.
    pub fn bytes(payload: &[u8], begin: usize) -> ExplainedPayload<'a> {
        let node = Node::of_bytes(PAYLOAD_FIELD, begin, payload, count_noun(payload.len(), "byte"));
        ExplainedPayload::new(node, Content::Bytes, None)
    }

    /// Creates the payload of a message that an extension has changed.
    pub fn compressed(payload: &[u8], begin: usize) -> ExplainedPayload<'a> {
        let words = format!("{}, compressed", count_noun(payload.len(), "byte"));
        ExplainedPayload::new(Node::of_bytes(PAYLOAD_FIELD, begin, payload, words), Content::Compressed, None)
    }

    /// Sets the problem.
    pub fn with(mut self, problem: Option<Problem>) -> ExplainedPayload<'a> {
        self.problem = problem;
        self
    }

    /// Creates the payload of a text that is not known to be a packet.
    pub fn text(text: &str, begin: usize) -> ExplainedPayload<'a> {
        let node = Node::leaf(PAYLOAD_FIELD, bits(begin..begin + text.len()), format!("{text:?}")).raw(text);
        let node = node.encoded(UTF_8);
        ExplainedPayload::new(node, Content::Text(text.to_owned()), None)
    }
}

/// Explains the payload of a control frame or of a complete message, which begins at byte `begin`
/// of the input.
pub fn explain<'a>(
    payload: &[u8],
    begin: usize,
    opcode: Opcode,
    speaker: SenderFormat<'a>,
) -> ExplainedPayload<'a> {
    match opcode {
        Opcode::Ping | Opcode::Pong | Opcode::Continuation => ExplainedPayload::bytes(payload, begin),
        Opcode::Close => explain_close(payload, begin),
        Opcode::Text => explain_text(payload, begin, speaker),
        Opcode::Binary if speaker.is_foreign => foreign(payload, begin, speaker),
        Opcode::Binary if speaker.json == Some(true) => {
            wrong_frame_type(ExplainedPayload::bytes(payload, begin))
        }
        Opcode::Binary if speaker.detail != Detail::Tree => {
            let decoded = speaker.dialect.decode(speaker.direction(), payload);
            explain_briefly(payload, begin, speaker, decoded)
        }
        Opcode::Binary => {
            let packet = packet::explain(payload, begin, speaker.dialect, speaker.direction());
            let content = Content::Packet(packet.row, packet.line);
            ExplainedPayload::new(packet.node, content, packet.problem)
        }
    }
}

/// Explains a binary message of another protocol: as JSON or MessagePack if the message is one list
/// or map, otherwise as bytes and the characters among them.
fn foreign<'a>(payload: &[u8], begin: usize, speaker: SenderFormat<'a>) -> ExplainedPayload<'a> {
    let is_container = |value: &Value| matches!(value, Value::Array(_) | Value::Map(_));
    if speaker.detail == Detail::Name {
        return ExplainedPayload::bytes(payload, begin);
    }
    if let Ok(text) = std::str::from_utf8(payload)
        && let Some(json) = foreign_json(text, begin, speaker.detail)
    {
        return json;
    }
    match msgpack::read_foreign(payload).ok().filter(is_container) {
        Some(value) => {
            let content = Content::Foreign(format!("MessagePack {}", json::to_text_in_order(&value)));
            ExplainedPayload::new(packet::explain_value(payload, begin), content, None)
        }
        None => {
            let content = Content::Foreign(bytes_and_characters(payload));
            ExplainedPayload { content, ..ExplainedPayload::bytes(payload, begin) }
        }
    }
}

/// Explains a text of another protocol that is a list or a map in JSON. Its line has no line ends.
fn foreign_json<'a>(text: &str, begin: usize, detail: Detail) -> Option<ExplainedPayload<'a>> {
    if detail == Detail::Name || !text.trim_start().starts_with(['[', '{']) {
        return None;
    }
    json::read(text, Direction::ToClient).ok()?;
    // A string in JSON has no line end, so these spaces are outside of strings.
    let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let content = Content::Foreign(format!("JSON {line}"));
    if detail == Detail::Line {
        return Some(ExplainedPayload { content, ..ExplainedPayload::text(text, begin) });
    }
    let node = Node::parent(PAYLOAD_FIELD, begin * BYTE, json_text::explain(text, begin, None, "value"));
    let words = count_noun(text.len(), "byte") + " of JSON";
    Some(ExplainedPayload::new(node.encoded(UTF_8).valued(words), content, None))
}

/// The bytes in hexadecimal, and their printable characters if some are a word.
fn bytes_and_characters(payload: &[u8]) -> String {
    /// Bytes in hexadecimal. The line has room for their characters, too.
    const BYTES: usize = 32;
    /// Printable characters in a row that are probably text.
    const WORD_BYTES: usize = 4;
    let mut line = hex::print(&payload[..payload.len().min(BYTES)]);
    if payload.len() > BYTES {
        line.push_str(" …");
    }
    let is_printable = |byte: &u8| (b' '..=b'~').contains(byte);
    if payload.windows(WORD_BYTES).any(|window| window.iter().all(is_printable)) {
        let characters = payload.iter().map(|byte| if is_printable(byte) { char::from(*byte) } else { '.' });
        line.extend(["  ".to_owned(), characters.collect()]);
    }
    line
}

/// Explains a packet without a tree.
fn explain_briefly<'a>(
    payload: &[u8],
    begin: usize,
    speaker: SenderFormat<'a>,
    decoded: Result<DecodedPacket<'a>, PacketError>,
) -> ExplainedPayload<'a> {
    let ExplainedPayload { node, .. } = ExplainedPayload::bytes(payload, begin);
    let row = decoded.as_ref().map_or_else(|error| row_of_error(speaker, error), |packet| Some(packet.row));
    let line = decoded.as_ref().ok().filter(|_| speaker.detail == Detail::Line).map(ToString::to_string);
    let problem = decoded.err().map(|error| packet::problem_of(&error, &node, begin, payload.len()));
    ExplainedPayload::new(node, Content::Packet(row, line), problem)
}

/// Marks a message that the connection rejects for its frame type, text or binary.
fn wrong_frame_type(inside: ExplainedPayload<'_>) -> ExplainedPayload<'_> {
    let (rule, sentence, code) = routes::WRONG_FRAME_TYPE;
    let (address, sentence, answer) =
        ("PROTOCOL.md".to_owned(), sentence.to_owned(), format!("close {code}"));
    let problem =
        Problem::Violation { rule, address, description: sentence, answer, bits: inside.node.bits.clone() };
    ExplainedPayload { content: Content::Packet(None, None), ..inside.with(Some(problem)) }
}

/// Explains a text message; with `?format=json` it is a packet. If the format is unknown, a text
/// that is not a packet is JSON of another protocol or plain text, without a problem.
fn explain_text<'a>(payload: &[u8], begin: usize, speaker: SenderFormat<'a>) -> ExplainedPayload<'a> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => {
            let bad = begin + error.valid_up_to();
            let problem = Problem::violation(Violation::TextNotUtf8, bits(bad..begin + payload.len()));
            return ExplainedPayload::bytes(payload, begin).with(Some(problem));
        }
    };
    let inside = ExplainedPayload::text(text, begin);
    let no_packet = |inside| foreign_json(text, begin, speaker.detail).unwrap_or(inside);
    if speaker.is_foreign {
        return no_packet(inside);
    }
    if speaker.json == Some(false) {
        return wrong_frame_type(inside);
    }
    let direction = speaker.direction();
    let decoded = speaker.dialect.decode_json(direction, text);
    if speaker.detail != Detail::Tree {
        return match decoded {
            Err(error)
                if speaker.json != Some(true) && !matches!(error, PacketError::WrongArguments { .. }) =>
            {
                no_packet(inside)
            }
            decoded => explain_briefly(payload, begin, speaker, decoded),
        };
    }
    let (row, line, error) = match decoded {
        Ok(decoded) => (Some(decoded.row), Some(decoded.to_string()), None),
        Err(error @ PacketError::WrongArguments { .. }) => (row_of_error(speaker, &error), None, Some(error)),
        Err(error) if speaker.json == Some(true) => (None, None, Some(error)),
        Err(_) => return no_packet(inside),
    };
    let node = match &error {
        Some(PacketError::Malformed(_)) => inside.node,
        _ => Node::parent(PAYLOAD_FIELD, begin * BYTE, json_text::explain(text, begin, row, "packet"))
            .encoded(UTF_8),
    };
    let node = node.valued(format!("{text:?}"));
    let problem = error.map(|error| packet::problem_of(&error, &node, begin, payload.len()));
    ExplainedPayload::new(node, Content::Packet(row, line), problem)
}

/// The row of a packet with wrong arguments.
fn row_of_error<'a>(speaker: SenderFormat<'a>, error: &PacketError) -> Option<&'a crate::packet::Row> {
    let PacketError::WrongArguments { packet, .. } = error else { return None };
    speaker.dialect.row(speaker.direction(), packet)
}

/// Explains the body of a close frame (RFC 6455, section 5.5.1).
fn explain_close<'a>(payload: &[u8], begin: usize) -> ExplainedPayload<'a> {
    /// The size of the close code in bytes.
    const CODE: usize = 2;
    let end = begin + payload.len();
    match close::decode(payload) {
        Ok(close) => {
            let line = Event::Close { code: close.code, reason: close.reason }.to_string();
            let mut parts = Vec::new();
            if let Some(code) = close.code {
                let node = Node::leaf("code", bits(begin..begin + CODE), code.to_string());
                parts.push(node.raw(CloseCode::get(code)));
            }
            if !close.reason.is_empty() {
                let node = Node::leaf("reason", bits(begin + CODE..end), format!("{:?}", close.reason));
                parts.push(node.raw(close.reason));
            }
            let node = Node::parent(PAYLOAD_FIELD, begin * BYTE, parts).valued("why the connection ends");
            ExplainedPayload::new(node, Content::Close(line), None)
        }
        Err(violation) => {
            let reason = payload.get(CODE..).unwrap_or_default();
            let culprit = match (violation, std::str::from_utf8(reason)) {
                (Violation::CloseReasonNotUtf8, Err(error)) => begin + CODE + error.valid_up_to()..end,
                _ => begin..end.min(begin + CODE),
            };
            ExplainedPayload::bytes(payload, begin).with(Some(Problem::violation(violation, bits(culprit))))
        }
    }
}
