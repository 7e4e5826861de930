//! The parts of an explanation, and its line for each frame.

use std::fmt;
use std::ops::Range;

use super::color::{ColorMode, ColorRole};
use super::tree::Node;
use super::truncate::cut;
use super::{dialect_guess, hex};
use crate::packet::{DecodedPacket, Dialect, Direction, Row};
use crate::util::escape;
use crate::util::plural::count_noun;
use crate::ws::frame::{Header, MASK_KEY_BYTES, Opcode};
use crate::ws::violation::ViolationResponse;
use crate::ws::{Side, Violation};

/// The name of the field that is the payload of a frame.
pub const PAYLOAD: &str = "payload";

/// The name of unread bytes: a body, and everything after the end.
pub const REST: &str = "rest";

/// The explanation of some bytes of one direction.
#[derive(Debug)]
pub struct Explanation<'a> {
    /// The input bytes.
    pub bytes: Vec<u8>,
    /// The sender.
    pub from: Side,
    /// The dialect in which its packets were looked up.
    pub dialect: &'a Dialect,
    /// Whether the connection is not one of tickwire: its messages are shown as they are.
    pub is_foreign: bool,
    /// All possible dialects, if the upgrade was not seen and the dialect is a guess. Otherwise
    /// empty.
    pub candidates: Vec<&'a Dialect>,
    /// The frames in order, preceded by the head of the request or response, if any. The bytes
    /// after a close frame, or after an error that makes the other end close, form one more frame
    /// that is not read.
    pub frames: Vec<ExplainedFrame<'a>>,
}

/// One frame, possibly incomplete; or the head of a request or response.
#[derive(Debug)]
pub struct ExplainedFrame<'a> {
    /// The frame's range of bytes.
    pub place: Range<usize>,
    /// The header, if it is complete and breaks no rule.
    pub header: Option<Header>,
    /// The fields, down to the values of the packet.
    pub tree: Node,
    /// The masking key of the payload.
    pub key: Option<[u8; MASK_KEY_BYTES]>,
    /// The payload, unmasked, as far as it is present.
    pub payload: Vec<u8>,
    /// The content of the payload; for a last fragment, the content of the whole message.
    pub content: Content<'a>,
    /// The message that this frame completes, if it is a last fragment.
    pub whole: Option<ReassembledMessage>,
    /// The problem, if any.
    pub problem: Option<Problem>,
    /// If the dialect is a guess: the other candidates that read the packet differently.
    pub otherwise: Vec<&'a Dialect>,
}

impl ExplainedFrame<'_> {
    /// An item of which only the place is known.
    pub(super) fn new(place: Range<usize>, tree: Node) -> Self {
        let (header, key, payload, content) = (None, None, Vec::new(), Content::Unread);
        ExplainedFrame {
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
pub struct ReassembledMessage {
    /// The number of frames.
    pub frames: usize,
    /// The opcode of the first frame.
    pub opcode: Opcode,
    /// Their payloads, unmasked and joined.
    pub payload: Vec<u8>,
    /// Its tree. Bits count from the front of the joined payload.
    pub tree: Node,
}

/// The content of a payload.
#[derive(Debug)]
pub enum Content<'a> {
    /// No frame: the head of a request or response, in one line.
    Head(String),
    /// Could not be read.
    Unread,
    /// Bytes that mean nothing here: of a ping, a pong, or a fragment.
    Bytes,
    /// The text of a text message.
    Text(String),
    /// The body of a close frame, in one line.
    Close(String),
    /// A compressed message, or another that an extension has changed.
    Compressed,
    /// A message on a connection that is not one of tickwire, in one line.
    Foreign(String),
    /// A packet: its row of the packet tables, if the dialect has it, and its one-line form, if it
    /// is valid.
    Packet(Option<&'a Row>, Option<String>),
}

/// The reaction of an end that sends no answer.
const DROPPED: &str = "drop the connection";

/// A problem of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A rule is broken.
    Broken {
        /// The rule's name, as in close frames, logs and metrics.
        rule: &'static str,
        /// The section that defines the rule.
        address: String,
        /// The rule, in one sentence.
        sentence: String,
        /// The other end's reaction.
        answer: String,
        /// The bits that break the rule, from the front of the input.
        bits: Range<usize>,
    },
    /// The frame is incomplete, and nothing is wrong with it so far.
    Incomplete {
        /// The number of bytes still to come, if known.
        missing: Option<u64>,
    },
}

impl Problem {
    pub(super) fn violation(violation: Violation, bits: Range<usize>) -> Problem {
        let answer = match violation.response() {
            ViolationResponse::Close(code) => format!("close {code}"),
            ViolationResponse::Status(status) => format!("status {status}"),
            ViolationResponse::Drop => DROPPED.to_owned(),
        };
        let (rule, address) = (violation.name(), violation.citation());
        Problem::Broken { rule, address, sentence: violation.to_string(), answer, bits }
    }

    /// Like [`Problem::violation`], in the head of a response: a client answers no status.
    pub(super) fn in_response(violation: Violation, bits: Range<usize>) -> Problem {
        let mut problem = Problem::violation(violation, bits);
        if let (Problem::Broken { answer, .. }, Some(_)) = (&mut problem, violation.status()) {
            *answer = DROPPED.to_owned();
        }
        problem
    }

    /// Whether the other end closes the connection and so reads nothing more.
    pub(super) fn closes(&self) -> bool {
        matches!(self, Problem::Broken { answer, .. } if answer.starts_with("close "))
    }

    /// The code with which the other end closes the connection, if it does.
    pub fn close_code(&self) -> Option<u16> {
        let Problem::Broken { answer, .. } = self else { return None };
        answer.strip_prefix("close ")?.split(' ').next()?.parse().ok()
    }

    /// The same problem at another place.
    pub(super) fn at(mut self, place: impl FnOnce(Range<usize>) -> Range<usize>) -> Problem {
        if let Problem::Broken { bits, .. } = &mut self {
            *bits = place(bits.clone());
        }
        self
    }
}

impl Explanation<'_> {
    /// The whole tree: a node for each frame. Its leaves tile the bytes.
    pub fn tree(&self) -> Node {
        Node::parent("input", 0, self.frames.iter().map(|frame| frame.tree.clone()).collect())
    }

    /// The names that can select this frame: those of its packet and code, of its opcode, and of
    /// the rule that it breaks; for a close frame also its code and its reason.
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

    /// The problem, if any.
    pub fn problem(&self) -> Option<&Problem> {
        self.frames.iter().find_map(|frame| frame.problem.as_ref())
    }

    /// The values of the packet, and the masking key, if the first frame is a whole binary packet of a
    /// client.
    pub fn decoded(&self) -> Option<(DecodedPacket<'_>, Option<[u8; MASK_KEY_BYTES]>)> {
        let frame = self.frames.first().filter(|_| self.from == Side::Client)?;
        frame.header.filter(|header| header.fin && header.opcode == Opcode::Binary)?;
        Some((self.dialect.decode(Direction::ToServer, &frame.payload).ok()?, frame.key))
    }

    /// One line for each frame, with its sender.
    #[doc(hidden)]
    pub fn said(&self, paint: ColorMode) -> String {
        self.frames.iter().map(|frame| frame.said(self.from, paint)).collect()
    }
}

/// One line a frame.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.frames.iter().map(ExplainedFrame::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for ExplainedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(ColorMode::Plain))
    }
}

impl ExplainedFrame<'_> {
    /// The frame in one line, with its sender.
    pub(crate) fn said(&self, from: Side, paint: ColorMode) -> String {
        let mark = if from == Side::Client { '>' } else { '<' };
        format!("{mark} {}\n", self.line(paint))
    }

    /// The bytes of the message that the frame is or ends.
    fn message(&self) -> &[u8] {
        self.whole.as_ref().map_or(&self.payload, |whole| &whole.payload)
    }

    /// The frame in one line: its header, then its content or its problem.
    pub(crate) fn line(&self, paint: ColorMode) -> String {
        let mut before: Vec<String> = self.header.iter().map(ToString::to_string).collect();
        if let Some(ReassembledMessage { frames, opcode, payload, .. }) = &self.whole {
            let bytes = count_noun(payload.len(), "byte");
            before.push(format!(
                "ends a {} message, {}, {bytes}",
                opcode.name(),
                count_noun(*frames, "frame")
            ));
        }
        let before = paint.ink(ColorRole::Header, &before.join(": "));
        let says = match (&self.problem, &self.content) {
            (Some(Problem::Broken { rule, address, answer, .. }), _) => {
                paint.ink(ColorRole::Error, &format!("{rule} ({address}), {answer}"))
            }
            (Some(Problem::Incomplete { .. }), _) => "incomplete".to_owned(),
            (None, Content::Head(line)) => escape::escape_line(line).into_owned(),
            (None, Content::Text(text)) => cut(&format!("{text:?}")),
            (None, Content::Close(line) | Content::Foreign(line) | Content::Packet(_, Some(line))) => {
                cut(&escape::escape_line(line))
            }
            (None, Content::Compressed) => format!("compressed, {}", cut(&hex::print(self.message()))),
            (None, Content::Unread) => {
                let why = if self.tree.value.is_empty() { "" } else { ", " };
                format!("{} not decoded{why}{}", count_noun(self.place.len(), "byte"), self.tree.value)
            }
            (None, _) => cut(&hex::print(&self.payload)),
        };
        let line = [before, says].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        if self.otherwise.is_empty() {
            return line;
        }
        format!("{line} [a guess: reads differently in {}]", dialect_guess::listed(&self.otherwise, "and"))
    }
}
