//! Any bytes to a tree of named ranges: what each bit says, and which rule is broken.
//!
//! The bytes of one direction of a connection come in, with its upgrade or after it: one frame or several; or those of both
//! directions as they travel, in a [`Conversation`]. An [`Explanation`] goes out, whose leaves tile the bytes;
//! [`Display`](std::fmt::Display) prints it in one line, [`Explanation::report`] as something to read, [`Explanation::json`] for
//! programs, and [`Explanation::encode`] writes the bytes again from what the leaves say. The judgement is that of
//! [`ws`](crate::ws) and [`packet`](crate::packet) themselves, so what is said here about a frame is what the server would do with it.
//!
//! ```text
//!   hex ──► bytes ──head──► lines                                                      ┌► drawing, report, line
//!             └──header──► fields ──unmask──► payload ──packet──► values with names ──► tree ──► JSON
//!                                                └──► message of several frames        └► the same bytes
//! ```
//!
//! It knows the limits of our server, and judges a client's messages by them where the path of the upgrade is one that no other server has; of any
//! other endpoint it does not know the limits, and says nothing of messages that are too long.

pub mod captured;
mod drawing;
mod encode;
mod encoding;
pub mod guess;
mod head;
mod header;
pub mod hex;
pub mod input;
mod json;
mod open;
mod packet;
pub mod paint;
mod payload;
pub mod piecemeal;
mod report;
mod seek;
mod spoken;
mod stream;
mod text;
pub mod tree;
mod units;

use std::fmt;
use std::ops::Range;

use crate::packet::{Dialect, Row, visible};
use crate::ws::frame::{Header, KEY_BYTES, MASK, Opcode};
use crate::ws::violation::Answer;
use crate::ws::{Side, Violation};
use paint::{Ink, Paint};
pub use stream::Conversation;
use tree::Node;

/// Characters of one value that a line shows.
const CHARS_SHOWN: usize = 60;

/// The name of the field that is the payload of a frame.
pub const PAYLOAD: &str = "payload";

/// The name of what nobody reads: a body, and what follows the end.
pub const REST: &str = "rest";

/// The explanation of some bytes of one direction.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The bytes, as they were given.
    pub bytes: Vec<u8>,
    /// Who sent them.
    pub from: Side,
    /// The dialect in which its packets were looked up.
    pub dialect: &'a Dialect,
    /// Where nobody saw the upgrade, so that the dialect is a [`guess`]: all that it may be. Otherwise empty.
    pub candidates: Vec<&'a Dialect>,
    /// The frames in their order; before them the head of the request or response, if there is one. What follows a close frame, or something for which the other end closes, is one more that is not read.
    pub frames: Vec<Frame<'a>>,
}

/// One frame, or what there is of it; or the head of a request or response.
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
    /// What the payload is; of a last fragment, what the whole message is.
    pub content: Content<'a>,
    /// The message that it ends, if it is a last fragment.
    pub whole: Option<Whole>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
    /// Where the dialect is a [`guess`]: the other candidates that read the packet otherwise.
    pub otherwise: Vec<&'a Dialect>,
}

impl Frame<'_> {
    /// Something of which nothing is known but its place.
    fn new(place: Range<usize>, tree: Node) -> Self {
        let (header, key, payload, content) = (None, None, Vec::new(), Content::Unread);
        Frame {
            place,
            header,
            tree,
            key,
            payload,
            content,
            whole: None,
            problem: None,
            otherwise: Vec::new(),
        }
    }
}

/// A message that came in several frames.
#[derive(Debug)]
pub struct Whole {
    /// How many.
    pub frames: usize,
    /// What the first of them said it is.
    pub opcode: Opcode,
    /// Their payloads, unmasked and joined.
    pub payload: Vec<u8>,
    /// Its tree. Bits count from the front of the joined payload.
    pub tree: Node,
}

/// What a payload is.
#[derive(Debug)]
pub enum Content<'a> {
    /// No frame: the head of a request or response, in one line.
    Head(String),
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
        let answer = match violation.answer() {
            Answer::Close(code) => format!("close {code}"),
            Answer::Status(status) => format!("status {status}"),
            Answer::Drop => "drop".to_owned(),
        };
        let (rule, address) = (violation.name(), violation.address());
        Problem::Broken { rule, address, sentence: violation.to_string(), answer, bits }
    }

    /// Whether the other end closes the connection for it, so that it reads nothing more.
    fn closes(&self) -> bool {
        matches!(self, Problem::Broken { answer, .. } if answer.starts_with("close "))
    }

    /// The same problem at another place.
    fn at(mut self, place: impl FnOnce(Range<usize>) -> Range<usize>) -> Problem {
        if let Problem::Broken { bits, .. } = &mut self {
            *bits = place(bits.clone());
        }
        self
    }
}

/// Explains bytes that `from` sent; `None` asks the bytes who it was.
pub fn explain<'a>(bytes: &[u8], dialect: &'a Dialect, from: Option<Side>) -> Explanation<'a> {
    Conversation::in_dialect(dialect).explain(from.unwrap_or_else(|| guess_side(bytes)), bytes)
}

/// What `tickwire explain` prints: the report on bytes that are given as hexadecimal.
///
/// # Errors
/// One line that says what is wrong with the hexadecimal text.
pub fn run(text: &str, dialect: &Dialect, from: Option<Side>) -> Result<String, String> {
    Ok(explain(&hex::parse(text)?, dialect, from).report())
}

/// Who sent bytes: a client masks, a server does not; who sends less than two bytes has not said.
pub fn guess_side(bytes: &[u8]) -> Side {
    match bytes.get(1) {
        _ if head::may_begin(bytes, Side::Client) => head::side(bytes),
        Some(second) if second & MASK == 0 => Side::Server,
        _ => Side::Client,
    }
}

/// A number and what it counts.
fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

impl Explanation<'_> {
    /// The whole tree: a node for each frame. Its leaves tile the bytes.
    pub fn tree(&self) -> Node {
        Node::parent("input", 0, self.frames.iter().map(|frame| frame.tree.clone()).collect())
    }

    /// The names by which somebody may ask for it: of its packet and its code, of its opcode, of the rule that it breaks; of a close frame
    /// its code and its reason.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for frame in &self.frames {
            match &frame.content {
                Content::Packet(Some(row), _) => {
                    names.push(row.name.clone());
                    names.extend(row.code(self.dialect.name()).map(ToString::to_string));
                }
                Content::Close(_) => {
                    let said = ["code", "reason"].map(|name| frame.tree.find(name)?.raw.as_ref());
                    let said = said.into_iter().flatten();
                    names.extend(said.map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned)));
                }
                _ => {}
            }
            names.extend(frame.header.map(|header| header.opcode.name().to_owned()));
            if let Some(Problem::Broken { rule, .. }) = &frame.problem {
                names.push((*rule).to_owned());
            }
        }
        names
    }

    /// What is wrong, if anything.
    pub fn problem(&self) -> Option<&Problem> {
        self.frames.iter().find_map(|frame| frame.problem.as_ref())
    }

    /// The bytes again, written from what the leaves say; `None` when one of them does not say enough, which would be our bug.
    pub fn encode(&self) -> Option<Vec<u8>> {
        encode::encode(self)
    }

    /// Everything as one line of JSON; PROTOCOL.md says how it is made up.
    pub fn json(&self) -> String {
        json::print(self)
    }

    /// Everything, drawn and written out, for a terminal of 100 columns.
    pub fn report(&self) -> String {
        self.painted(Paint::Plain)
    }

    /// The same in colours.
    pub fn painted(&self, paint: Paint) -> String {
        report::report(self, paint)
    }
}

/// One line a frame.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.frames.iter().map(Frame::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(Paint::Plain))
    }
}

impl Frame<'_> {
    /// The frame in a line of its own, with who said it.
    pub fn said(&self, from: Side, paint: Paint) -> String {
        let mark = if from == Side::Client { '>' } else { '<' };
        format!("{mark} {}\n", self.line(paint))
    }

    /// The frame in one line: what its header says, and then what it carries or what is wrong with it.
    pub fn line(&self, paint: Paint) -> String {
        let mut before: Vec<String> = self.header.iter().map(ToString::to_string).collect();
        if let Some(Whole { frames, opcode, payload, .. }) = &self.whole {
            let bytes = count(payload.len(), "byte");
            before.push(format!("ends a {} message, {frames} frames, {bytes}", opcode.name()));
        }
        let before = paint.ink(Ink::Header, &before.join(": "));
        let says = match (&self.problem, &self.content) {
            (Some(Problem::Broken { rule, address, answer, .. }), _) => {
                paint.ink(Ink::Error, &format!("{rule} ({address}), {answer}"))
            }
            (Some(Problem::Incomplete { .. }), _) => "not all there".to_owned(),
            (None, Content::Head(line)) => visible::line(line).into_owned(),
            (None, Content::Text(text)) => cut(&format!("{text:?}")),
            (None, Content::Close(line) | Content::Packet(_, Some(line))) => cut(&visible::line(line)),
            (None, Content::Unread) => {
                let why = if self.tree.value.is_empty() { "" } else { ", " };
                format!("{} not read{why}{}", count(self.place.len(), "byte"), self.tree.value)
            }
            (None, _) => cut(&hex::print(&self.payload)),
        };
        let line = [before, says].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        if self.otherwise.is_empty() {
            return line;
        }
        format!("{line} [a guess: otherwise in {}]", guess::listed(&self.otherwise, "and"))
    }
}

/// A text as long as a line has room for.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
