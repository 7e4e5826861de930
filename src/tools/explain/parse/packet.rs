//! Explains a MessagePack payload: its values, named by the row of the packet tables.
//!
//! An unmasked payload becomes a tree with one leaf for each value, even if no table has the
//! packet. Malformed bytes form one leaf up to the end. The recursion is bounded, because
//! [`msgpack::check`] scans the bytes first.

use super::encoding;
use super::units;
use crate::packet::grammar::{Argument, Shape, Type};
use crate::packet::msgpack::{self, ValueKind};
use crate::packet::{Dialect, Direction, PacketError, Row};
use crate::tools::explain::explanation::{PAYLOAD_FIELD, Problem};
use crate::tools::explain::tree::{BYTE, Node};
use crate::util::plural;
use crate::ws::CloseCode;

/// The name of the node that contains the arguments.
pub const ARGUMENTS: &str = "arguments";
/// The name of the first leaf of a container: its type and its number of elements.
pub const HEAD: &str = "head";
/// The name of the leaf of a map key, before the leaf of its value.
pub const KEY: &str = "key";
/// The name of a leaf of punctuation: commas and brackets of JSON, separators of HTTP.
pub const PUNCTUATION: &str = "sign";
/// The name of the leaf of undecoded bytes.
pub const UNREAD: &str = "not_read";

/// An explained payload.
#[derive(Debug)]
pub struct ExplainedPacket<'a> {
    /// The payload, with the tree of its values.
    pub node: Node,
    /// The row of the packet, if the dialect has it.
    pub row: Option<&'a Row>,
    /// The summary line, if the packet is valid.
    pub line: Option<String>,
    /// The problem, if any.
    pub problem: Option<Problem>,
}

/// Explains the payload of a binary message, which begins at byte `start` of the input.
pub fn explain<'a>(
    payload: &[u8],
    start: usize,
    dialect: &'a Dialect,
    direction: Direction,
) -> ExplainedPacket<'a> {
    let decoded = dialect.decode(direction, payload);
    let (row, line, problem) = match &decoded {
        Ok(decoded) => (Some(decoded.row), Some(decoded.to_string()), None),
        Err(error @ PacketError::WrongArguments { packet, .. }) => {
            (dialect.row(direction, packet), None, Some(error))
        }
        Err(error) => (None, None, Some(error)),
    };
    // Decoding stops where a limit is exceeded, so that no packet can make the tree deep.
    let stop = match msgpack::check(payload, direction) {
        Ok(()) => payload.len(),
        Err(broken) => broken.offset,
    };
    let mut walk = PayloadWalker { payload, start, at: 0, stop };
    let mut parts = vec![walk.envelope(row)];
    parts.retain(|part| !part.bits.is_empty());
    if walk.at < payload.len() {
        parts.push(Node::of_bytes(UNREAD, start + walk.at, &payload[walk.at..], "not read"));
    }
    let words = plural::count_noun(payload.len(), "byte") + " of MessagePack";
    let node = Node::parent(PAYLOAD_FIELD, start * BYTE, parts).valued(words);
    let problem = problem.map(|error| problem_of(error, &node, start, payload.len()));
    ExplainedPacket { node, row, line, problem }
}

/// Explains a payload that is one MessagePack value and not a packet.
pub fn explain_value(payload: &[u8], start: usize) -> Node {
    let mut walk = PayloadWalker { payload, start, at: 0, stop: payload.len() };
    let value = walk.value("value", None);
    let words = plural::count_noun(payload.len(), "byte") + " of MessagePack";
    Node::parent(PAYLOAD_FIELD, start * BYTE, vec![value]).valued(words)
}

/// Number of arguments that the body of a command omits: sequence number and tick.
const COMMAND_NUMBERS: usize = 2;

/// Explains the code and the arguments in the body of a command, which begins at byte `start` of
/// the input. Bytes after them form one more leaf.
pub fn explain_body(content: &[u8], start: usize, row: Option<&Row>) -> Vec<Node> {
    let members = row.map(|row| row.arguments.iter().skip(COMMAND_NUMBERS).cloned().collect());
    let arguments = members.map(Shape::Tuple);
    let mut walk = PayloadWalker { payload: content, start, at: 0, stop: content.len() };
    let mut nodes = vec![walk.value("code", None), walk.value(ARGUMENTS, arguments.as_ref())];
    nodes.retain(|node| !node.bits.is_empty());
    if walk.at < content.len() {
        nodes.push(Node::of_bytes(UNREAD, start + walk.at, &content[walk.at..], "not read"));
    }
    nodes
}

/// Converts a packet error to a problem. `node` is the tree of the payload, which begins at byte
/// `start` and has `length` bytes.
pub fn problem_of(error: &PacketError, node: &Node, start: usize, length: usize) -> Problem {
    let code = node.find("code").map(|code| code.bits.clone());
    let (bits, answer) = match error {
        PacketError::Malformed(broken) => {
            let from = (start + broken.offset) * BYTE;
            (from..((start + length) * BYTE).max(from), format!("close {}", CloseCode::INVALID_PAYLOAD))
        }
        PacketError::WrongArguments { wrong, .. } => {
            let first = wrong.argument.split('.').next().unwrap_or_default();
            let place = node.find(ARGUMENTS).and_then(|arguments| arguments.find(first).or(Some(arguments)));
            (place.map_or(node.bits.clone(), |node| node.bits.clone()), "the packet is dropped".to_owned())
        }
        PacketError::UnknownCode { .. } => {
            (code.unwrap_or(node.bits.clone()), "the packet is dropped".to_owned())
        }
    };
    let sentence = match error {
        PacketError::Malformed(broken) => broken.rule.sentence().to_owned(),
        PacketError::WrongArguments { wrong, .. } => wrong.to_string(),
        unknown => unknown.to_string(),
    };
    Problem::Violation {
        rule: error.name(),
        address: "PROTOCOL.md".to_owned(),
        description: sentence,
        answer,
        bits,
    }
}

/// Walks over the payload. `at` and `stop` are offsets in it; `start` is its offset in the input.
struct PayloadWalker<'a> {
    payload: &'a [u8],
    start: usize,
    at: usize,
    /// The offset at which decoding stops.
    stop: usize,
}

impl PayloadWalker<'_> {
    fn bits(&self, from: usize, to: usize) -> std::ops::Range<usize> {
        (self.start + from) * BYTE..(self.start + to) * BYTE
    }

    /// Explains the envelope, `[code, [arguments…]]`.
    fn envelope(&mut self, row: Option<&Row>) -> Node {
        let name = row.map_or("packet", |row| row.name.as_str());
        if !msgpack::read_head(self.payload, self.at).is_ok_and(|token| token.kind == ValueKind::Array) {
            return self.value(name, None);
        }
        let arguments = row.map(|row| Shape::Tuple(row.arguments.clone()));
        self.container(name, |walk, index, children| {
            children.push(match index {
                0 => walk.value("code", None),
                1 => walk.value(ARGUMENTS, arguments.as_ref()),
                _ => walk.value("ignored", None),
            });
        })
    }

    /// Explains one value. `shape` names its elements.
    fn value(&mut self, name: &str, shape: Option<&Shape>) -> Node {
        let Ok(token) = msgpack::read_head(self.payload, self.at) else { return self.missing_node(name) };
        match (token.kind, shape) {
            (ValueKind::Array, Some(Shape::Groups { members, .. })) => self.groups(name, members),
            (ValueKind::Array, Some(Shape::Tuple(members))) => {
                self.container(name, |walk, index, children| {
                    children.push(walk.member(members.get(index), index));
                })
            }
            (ValueKind::Array, Some(Shape::List { each, .. })) => {
                self.container(name, |walk, index, children| {
                    children.push(walk.typed(&format!("[{index}]"), each));
                })
            }
            (ValueKind::Map, shape) => self.map(name, shape),
            (ValueKind::Array, _) => self.container(name, |walk, index, children| {
                children.push(walk.value(&format!("[{index}]"), None));
            }),
            _ => self.scalar(name, shape, token.head + token.length),
        }
    }

    fn typed(&mut self, name: &str, kind: &Type) -> Node {
        self.value(name, Some(&kind.shape))
    }

    /// Explains the element at `index`. Arguments beyond the row are named `ignored_…`.
    fn member(&mut self, member: Option<&Argument>, index: usize) -> Node {
        match member {
            Some(member) => self.typed(&member.name, &member.ty),
            None => self.value(&format!("ignored_{index}"), None),
        }
    }

    /// Explains an array or a map: its head, then the nodes that `each` adds for each index.
    fn container(&mut self, name: &str, mut each: impl FnMut(&mut Self, usize, &mut Vec<Node>)) -> Node {
        let begin = self.at;
        let token = msgpack::read_head(self.payload, begin).ok().filter(|_| begin < self.stop);
        let Some(token) = token else { return self.missing_node(name) };
        self.at = begin + token.head;
        let what = if token.kind == ValueKind::Map { "map" } else { "array" };
        let head = Node::leaf(HEAD, self.bits(begin, self.at), format!("{what} of {}", token.length));
        let head = head.raw(token.length as u64).encoded(encoding::name(self.payload[begin]));
        let mut children = vec![head];
        for index in 0..token.length {
            if self.at >= self.stop {
                break;
            }
            each(self, index, &mut children);
        }
        Node::parent(name, self.bits(begin, begin).start, children)
    }

    fn map(&mut self, name: &str, shape: Option<&Shape>) -> Node {
        let members: &[Argument] = if let Some(Shape::Map(members)) = shape { members } else { &[] };
        self.container(name, |walk, index, children| {
            let key_at = walk.at;
            let key = walk.value(KEY, None);
            let head = msgpack::read_head(walk.payload, key_at).ok();
            let text = head.filter(|token| token.kind == ValueKind::Str).and_then(|token| {
                let content = walk.payload.get(key_at + token.head..key_at + token.head + token.length)?;
                std::str::from_utf8(content).ok()
            });
            let member = members.iter().find(|member| Some(member.name.as_str()) == text);
            // A number as a key is its own name. A container has no value.
            let number = if key.value.is_empty() { index.to_string() } else { key.value.clone() };
            let name = text.map_or(number, str::to_owned);
            children.push(key);
            if walk.at < walk.stop {
                children.push(walk.value(&name, member.map(|member| &member.ty.shape)));
            }
        })
    }

    /// Explains flat groups: a node for each group, without bytes of its own.
    fn groups(&mut self, name: &str, members: &[Argument]) -> Node {
        let mut node = self.container(name, |walk, index, children| {
            let member = &members[index % members.len()];
            let value = walk.typed(&member.name, &member.ty);
            if index % members.len() == 0 {
                let group = format!("[{}]", index / members.len());
                children.push(Node::parent(group, value.bits.start, Vec::new()));
            }
            if let Some(group) = children.last_mut() {
                group.bits.end = value.bits.end;
                group.children.push(value);
            }
        });
        let count = node.children.len().saturating_sub(1);
        if let Some(head) = node.children.first_mut() {
            head.value =
                format!("{}: {} of {}", head.value, plural::count_noun(count, "group"), members.len());
        }
        node
    }

    fn scalar(&mut self, name: &str, shape: Option<&Shape>, size: usize) -> Node {
        let (begin, end) = (self.at, self.at + size);
        let Some(bytes) = self.payload.get(begin..end).filter(|_| begin < self.stop) else {
            return self.missing_node(name);
        };
        self.at = end;
        match msgpack::scalar(bytes) {
            Some(value) => Node::leaf(name, self.bits(begin, end), units::print(&value, shape))
                .raw(value)
                .encoded(encoding::name(bytes[0])),
            None => Node::of_bytes(name, self.start + begin, bytes, "not MessagePack"),
        }
    }

    /// Creates an empty node for a value that cannot be decoded. Its bytes become an unread leaf.
    fn missing_node(&self, name: &str) -> Node {
        Node::leaf(name, self.bits(self.at, self.at), "nothing that can be decoded")
    }
}
