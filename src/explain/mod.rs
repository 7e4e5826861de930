//! Any bytes to a tree of named ranges: what each bit says, and which rule is broken.
//!
//! The bytes of one direction of a connection come in, after its upgrade: one frame or several. An [`Explanation`] goes
//! out, whose leaves tile the bytes; [`Display`](std::fmt::Display) prints it in one line, [`Explanation::report`] as
//! something to read. The judgement is that of [`ws`](crate::ws) and [`packet`](crate::packet) themselves, so what is
//! said here about a frame is what the server would do with it.
//!
//! ```text
//!   hex ──► bytes ──header──► fields ──unmask──► payload ──packet──► values with names ──► tree ──► drawing, report
//! ```
//!
//! It never keeps state between frames: a fragment is shown as what it is, a part. It does not know the limits of an
//! endpoint either, and so says nothing of messages that are too long.

mod drawing;
mod header;
pub mod hex;
mod packet;
mod report;
pub mod tree;
mod units;

use std::fmt;
use std::ops::Range;

use crate::packet::{Dialect, Direction, Row};
use crate::ws::frame::{self, Header, KEY_BYTES, MASK, Opcode};
use crate::ws::{Event, Side, Violation, close};
use header::Layout;
use tree::{BYTE, Node, bits};

/// Characters of one value that a line shows.
const CHARS_SHOWN: usize = 60;

/// The name of the field that is the payload of a frame.
pub const PAYLOAD: &str = "payload";

/// The explanation of some bytes of one direction.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The bytes, as they were given.
    pub bytes: Vec<u8>,
    /// Who sent them.
    pub from: Side,
    /// The frames in their order. After a broken rule that ends the connection there are no more.
    pub frames: Vec<Frame<'a>>,
}

/// One frame, or what there is of it.
#[derive(Debug)]
pub struct Frame<'a> {
    /// Where it lies in the bytes.
    pub place: Range<usize>,
    /// Its header, if it is whole and breaks no rule.
    pub header: Option<Header>,
    /// Its fields, down to the values of the packet.
    pub tree: Node,
    /// The key that its payload is masked with.
    pub key: Option<[u8; KEY_BYTES]>,
    /// Its payload, unmasked, as far as it is there.
    pub payload: Vec<u8>,
    /// What the payload is.
    pub content: Content<'a>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
}

/// What a payload is.
#[derive(Debug)]
pub enum Content<'a> {
    /// Nothing that could be read.
    Unread,
    /// Bytes that mean nothing here: of a ping, a pong, or a fragment.
    Bytes,
    /// The text of a text message.
    Text(String),
    /// The body of a close frame, in one line.
    Close(String),
    /// A packet, with its row of the code table, if the dialect has it, and in one line, if it is right.
    Packet(Option<&'a Row>, Option<String>),
}

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A rule is broken.
    Broken {
        /// Its name, as in close frames, logs and metrics.
        rule: &'static str,
        /// Where it is written.
        address: String,
        /// What it says, in one sentence.
        sentence: String,
        /// What the other end does about it.
        answer: String,
        /// The bits that break it, from the front of the input.
        bits: Range<usize>,
    },
    /// The frame is not all there, and nothing is wrong with it so far.
    Incomplete {
        /// Bytes that are still to come, if that can be said.
        missing: Option<u64>,
    },
}

impl Problem {
    fn violation(violation: Violation, bits: Range<usize>) -> Problem {
        Problem::Broken {
            rule: violation.name(),
            address: violation.address(),
            sentence: violation.to_string(),
            answer: violation.close_code().map_or_else(|| "drop".to_owned(), |code| format!("close {code}")),
            bits,
        }
    }
}

/// Explains bytes that `from` sent after the upgrade; `None` asks the mask bit of the first frame who it was.
pub fn explain<'a>(bytes: &[u8], dialect: &'a Dialect, from: Option<Side>) -> Explanation<'a> {
    let from = from.unwrap_or_else(|| guess_side(bytes));
    let mut frames = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let frame = explain_frame(bytes, at, dialect, from);
        at = frame.place.end;
        frames.push(frame);
    }
    Explanation { bytes: bytes.to_vec(), from, frames }
}

/// What `tickwire explain` prints: the report on bytes that are given as hexadecimal.
///
/// # Errors
/// One line that says what is wrong with the hexadecimal text.
pub fn run(text: &str, dialect: &Dialect, from: Option<Side>) -> Result<String, String> {
    Ok(explain(&hex::parse(text)?, dialect, from).report())
}

/// A client masks, a server does not; who sends less than two bytes has not said.
fn guess_side(bytes: &[u8]) -> Side {
    match bytes.get(1) {
        Some(second) if second & MASK == 0 => Side::Server,
        _ => Side::Client,
    }
}

fn explain_frame<'a>(bytes: &[u8], start: usize, dialect: &'a Dialect, from: Side) -> Frame<'a> {
    let layout = header::lay_out(bytes, start);
    let header = match Header::decode(&bytes[start..], from) {
        Ok(Some((header, _))) => header,
        Ok(None) => return unread(bytes, start, layout, Problem::Incomplete { missing: None }),
        Err(violation) => {
            let culprit = header::culprit(violation, bytes, start, &layout);
            return unread(bytes, start, layout, Problem::violation(violation, culprit));
        }
    };
    let begin = layout.end;
    let come = ((bytes.len() - begin) as u64).min(header.length) as usize;
    let mut payload = bytes[begin..begin + come].to_vec();
    if let Some(key) = header.mask {
        frame::mask(&mut payload, key, 0);
    }
    let missing = header.length - come as u64;
    let inside = match missing {
        0 => explain_payload(&payload, begin, header, dialect, from),
        _ => Inside::bytes(&payload, begin).with(Some(Problem::Incomplete { missing: Some(missing) })),
    };
    let mut fields = layout.fields;
    if come > 0 {
        fields.push(inside.node);
    }
    let place = start..begin + come;
    let tree = Node::parent("frame", start * BYTE, fields).valued(header.to_string());
    Frame {
        place,
        header: Some(header),
        tree,
        key: header.mask,
        payload,
        content: inside.content,
        problem: inside.problem,
    }
}

/// A frame whose header ends the connection or is not all there: nothing after it is read.
fn unread<'a>(bytes: &[u8], start: usize, layout: Layout, problem: Problem) -> Frame<'a> {
    let mut fields = layout.fields;
    if layout.end < bytes.len() {
        fields.push(Node::leaf(packet::NOT_READ, bits(layout.end..bytes.len()), "not read"));
    }
    Frame {
        place: start..bytes.len(),
        header: None,
        tree: Node::parent("frame", start * BYTE, fields),
        key: layout.key,
        payload: Vec::new(),
        content: Content::Unread,
        problem: Some(problem),
    }
}

/// A number and what it counts.
fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// What is in a payload: its part of the tree, what it is, and what is wrong with it.
struct Inside<'a> {
    node: Node,
    content: Content<'a>,
    problem: Option<Problem>,
}

impl<'a> Inside<'a> {
    fn bytes(payload: &[u8], begin: usize) -> Inside<'a> {
        let place = bits(begin..begin + payload.len());
        let node = Node::leaf(PAYLOAD, place, count(payload.len(), "byte"));
        Inside { node, content: Content::Bytes, problem: None }
    }

    fn with(mut self, problem: Option<Problem>) -> Inside<'a> {
        self.problem = problem;
        self
    }
}

fn explain_payload<'a>(
    payload: &[u8],
    begin: usize,
    header: Header,
    dialect: &'a Dialect,
    from: Side,
) -> Inside<'a> {
    let direction = match from {
        Side::Client => Direction::ToServer,
        Side::Server => Direction::ToClient,
    };
    match header.opcode {
        Opcode::Ping | Opcode::Pong | Opcode::Continuation => Inside::bytes(payload, begin),
        Opcode::Close => explain_close(payload, begin),
        _ if !header.fin => Inside::bytes(payload, begin),
        Opcode::Text => explain_text(payload, begin, dialect, direction),
        Opcode::Binary => {
            let packet = packet::explain(payload, begin, dialect, direction);
            let content = Content::Packet(packet.row, packet.line);
            Inside { node: packet.node, content, problem: packet.problem }
        }
    }
}

/// A text message; in a connection with `?format=json` it is a packet.
fn explain_text<'a>(payload: &[u8], begin: usize, dialect: &'a Dialect, direction: Direction) -> Inside<'a> {
    let text = match std::str::from_utf8(payload) {
        Ok(text) => text,
        Err(error) => {
            let bad = begin + error.valid_up_to();
            let problem = Problem::violation(Violation::TextNotUtf8, bits(bad..begin + payload.len()));
            return Inside::bytes(payload, begin).with(Some(problem));
        }
    };
    let content = match dialect.decode_json(direction, text) {
        Ok(decoded) => Content::Packet(Some(decoded.row), Some(decoded.to_string())),
        Err(_) => Content::Text(text.to_owned()),
    };
    let node = Node::leaf(PAYLOAD, bits(begin..begin + payload.len()), format!("{text:?}"));
    Inside { node: node.encoded("UTF-8"), content, problem: None }
}

/// The body of a close frame: section 5.5.1.
fn explain_close<'a>(payload: &[u8], begin: usize) -> Inside<'a> {
    /// Bytes of the code.
    const CODE: usize = 2;
    let end = begin + payload.len();
    match close::decode(payload) {
        Ok(close) => {
            let line = Event::Close { code: close.code, reason: close.reason }.to_string();
            let mut parts = Vec::new();
            if let Some(code) = close.code {
                parts.push(Node::leaf("code", bits(begin..begin + CODE), code.to_string()));
            }
            if !close.reason.is_empty() {
                parts.push(Node::leaf("reason", bits(begin + CODE..end), format!("{:?}", close.reason)));
            }
            let node = Node::parent(PAYLOAD, begin * BYTE, parts).valued("why the connection ends");
            Inside { node, content: Content::Close(line), problem: None }
        }
        Err(violation) => {
            let reason = payload.get(CODE..).unwrap_or_default();
            let culprit = match (violation, std::str::from_utf8(reason)) {
                (Violation::CloseReasonNotUtf8, Err(error)) => begin + CODE + error.valid_up_to()..end,
                _ => begin..end.min(begin + CODE),
            };
            Inside::bytes(payload, begin).with(Some(Problem::violation(violation, bits(culprit))))
        }
    }
}

impl Explanation<'_> {
    /// The whole tree: a node for each frame. Its leaves tile the bytes.
    pub fn tree(&self) -> Node {
        Node::parent("input", 0, self.frames.iter().map(|frame| frame.tree.clone()).collect())
    }

    /// What is wrong, if anything.
    pub fn problem(&self) -> Option<&Problem> {
        self.frames.iter().find_map(|frame| frame.problem.as_ref())
    }

    /// Everything, drawn and written out, for a terminal of 100 columns.
    pub fn report(&self) -> String {
        report::report(self)
    }
}

/// One line a frame.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, frame) in self.frames.iter().enumerate() {
            let line_end = if index == 0 { "" } else { "\n" };
            write!(f, "{line_end}{frame}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(header) = &self.header {
            write!(f, "{header}: ")?;
        }
        match (&self.problem, &self.content) {
            (Some(Problem::Broken { rule, address, answer, .. }), _) => {
                write!(f, "{rule} ({address}), {answer}")
            }
            (Some(Problem::Incomplete { .. }), _) => f.write_str("not all there"),
            (None, Content::Text(text)) => f.write_str(&cut(&format!("{text:?}"))),
            (None, Content::Close(line) | Content::Packet(_, Some(line))) => f.write_str(&cut(line)),
            (None, _) => f.write_str(&cut(&hex::print(&self.payload))),
        }
    }
}

/// A text as long as a line has room for.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
