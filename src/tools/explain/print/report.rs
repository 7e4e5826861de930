//! Formats an explanation as a report: a drawing, the unmasking, the fields, the meaning, and the
//! problem.
//!
//! The report fits a terminal of 100 columns. All information comes from the [`Explanation`].

use std::fmt::Write as _;
use std::ops::Range;

use super::bit_diagram;
use crate::packet::Row;
use crate::tools::explain::color::{ColorMode, ColorRole};
use crate::tools::explain::explanation::{
    Content, ExplainedFrame, Explanation, PAYLOAD_FIELD, Problem, ReassembledMessage,
};
use crate::tools::explain::parse::encoding;
use crate::tools::explain::parse::packet::{ARGUMENTS, HEAD, KEY, PUNCTUATION};
use crate::tools::explain::tree::{BYTE, Node};
use crate::tools::explain::truncate::truncate;
use crate::tools::explain::{dialect_guess, hex};
use crate::util::escape;
use crate::util::plural::count_noun;
use crate::ws::Side;
use crate::ws::frame::MASK_KEY_BYTES;

/// Maximum number of bytes shown in the unmasking.
const UNMASKED_BYTES: usize = 16;
/// Maximum number of bytes shown per value; a float with its first byte fits.
const MAX_VALUE_BYTES: usize = 9;

/// Width of the bytes column in the field table.
const BYTES_COLUMNS: usize = 28;
/// Maximum width of a line.
const COLUMNS: usize = 100;
/// Columns before the values of an argument.
const INDENT: usize = 16;

/// Formats the whole report.
pub fn report(explanation: &Explanation<'_>, paint: ColorMode) -> String {
    let many = explanation.frames.len();
    let frames = explanation.frames.iter().enumerate();
    frames.map(|(index, frame)| one(explanation, frame, (index, many), paint)).collect()
}

/// Formats the section of one frame. `many` is the total number of frames.
pub fn one(
    explanation: &Explanation<'_>,
    frame: &ExplainedFrame<'_>,
    (index, many): (usize, usize),
    paint: ColorMode,
) -> String {
    let mut out = if index > 0 { "\n".to_owned() } else { String::new() };
    let number = if many > 1 { format!("Frame {}, ", index + 1) } else { String::new() };
    let _ = writeln!(out, "{number}{}: {}", sender_line(explanation, frame), frame.line(paint));
    if !matches!(frame.content, Content::Head(_)) {
        out.push('\n');
        bit_diagram::draw_frame(frame, &explanation.bytes, paint).iter().for_each(|line| {
            let _ = writeln!(out, "  {}", line.trim_end());
        });
    }
    unmasking(&mut out, frame, paint);
    fields(&mut out, explanation, frame, paint);
    write_meaning(&mut out, frame, explanation.from);
    if !frame.alternatives.is_empty() {
        let (leaves, others) =
            (explanation.dialect.name(), dialect_guess::join_names(&frame.alternatives, "or"));
        let _ = writeln!(
            out,
            "\nThe dialect {leaves} is a guess: in {others} this message means something else."
        );
    }
    problem(&mut out, frame, paint);
    out
}

fn sender_line(explanation: &Explanation<'_>, frame: &ExplainedFrame<'_>) -> String {
    let sender = match explanation.from {
        Side::Client => "a client",
        Side::Server => "a server",
    };
    let place = &frame.range;
    let bytes = count_noun(place.len(), "byte");
    if place.start == 0 {
        format!("{bytes} from {sender}")
    } else {
        format!("{bytes} from {sender}, at byte {}", place.start)
    }
}

/// Prints the unmasking of the first bytes of the payload, and of the first byte bit by bit.
fn unmasking(out: &mut String, frame: &ExplainedFrame<'_>, paint: ColorMode) {
    let (Some(key), Some(&plain)) = (frame.key, frame.payload.first()) else { return };
    out.push_str(
        "\nUnmasking: each byte of the payload XOR the next byte of the key (RFC 6455 section 5.3)\n\n",
    );
    let mut by_hand = |byte: u8, ink: Option<ColorRole>, words: String| {
        let text = format!("{byte:02x}  {:04b} {:04b}", byte >> 4, byte & 0xf);
        let text = ink.map_or(text.clone(), |ink| paint.color(ink, &text));
        let _ = writeln!(out, "  {text}  {words}");
    };
    by_hand(plain ^ key[0], None, "first byte of the payload, as sent".to_owned());
    by_hand(key[0], Some(ColorRole::Key), "first byte of the key".to_owned());
    let meanings = if is_printable(plain) {
        format!("unmasked: {:?}", char::from(plain))
    } else {
        "unmasked".to_owned()
    };
    by_hand(plain, Some(ColorRole::Value), meanings);

    let visible_payload = &frame.payload[..frame.payload.len().min(UNMASKED_BYTES)];
    let keys: Vec<u8> = (0..visible_payload.len()).map(|at| key[at % MASK_KEY_BYTES]).collect();
    let masked: Vec<u8> = visible_payload.iter().zip(&keys).map(|(byte, key)| byte ^ key).collect();
    let more = frame.payload.len() - visible_payload.len();
    let more = if more > 0 { format!("  and {more} more") } else { String::new() };
    let letters: Vec<String> = visible_payload
        .iter()
        .map(|&byte| if is_printable(byte) { char::from(byte) } else { '.' }.to_string())
        .collect();
    let _ = writeln!(out, "\n  masked  {}{more}", hex::print(&masked));
    let _ = writeln!(out, "  key     {}", paint.color(ColorRole::Key, &hex::print(&keys)));
    let _ = writeln!(out, "  plain   {}", paint.color(ColorRole::Value, &hex::print(visible_payload)));
    let _ = writeln!(out, "          {}", paint.color(ColorRole::Value, &letters.join("  ")));
}

fn is_printable(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte == b' '
}

/// Prints one line for each node of the tree.
fn fields(out: &mut String, explanation: &Explanation<'_>, frame: &ExplainedFrame<'_>, paint: ColorMode) {
    let masked = if frame.key.is_some() && !frame.payload.is_empty() { ", the payload unmasked" } else { "" };
    let _ = writeln!(out, "\nFields{masked}\n\n  byte  {:<28}{:<26}value", "bits or bytes", "field");
    let mut table = FieldTable {
        out,
        input: &explanation.bytes,
        payload: &frame.payload,
        payload_at: frame.range.end - frame.payload.len(),
        broken: if let Some(Problem::Violation { bits, .. }) = &frame.problem { bits.clone() } else { 0..0 },
        paint,
    };
    frame.tree.children.iter().for_each(|child| table.lines(child, 0));
    if let Some(ReassembledMessage { frames, compressed_bytes, payload, tree, .. }) = &frame.message {
        let (words, frames) = (count_noun(payload.len(), "byte"), count_noun(*frames, "frame"));
        let _ = match compressed_bytes {
            None => writeln!(out, "\nThe whole message, {words} in {frames}\n"),
            Some(compressed) => {
                let compressed = count_noun(*compressed, "byte");
                writeln!(out, "\nThe inflated message, {words} from {compressed} in {frames}\n")
            }
        };
        FieldTable { out, input: payload, payload, payload_at: 0, broken: 0..0, paint }.lines(tree, 0);
    }
}

/// Prints the nodes of a tree with their bytes from the input. Payload bytes are printed unmasked.
struct FieldTable<'a> {
    out: &'a mut String,
    input: &'a [u8],
    payload: &'a [u8],
    /// The offset of the payload in the input.
    payload_at: usize,
    /// The bits that break a rule.
    broken: Range<usize>,
    paint: ColorMode,
}

impl FieldTable<'_> {
    fn lines(&mut self, node: &Node, depth: usize) {
        let name = format!("{}{}", "  ".repeat(depth), escape::escape_line(&node.name));
        // A parent node and its head share one line.
        let head = node.children.first().filter(|child| child.name == HEAD);
        let text = match head {
            Some(head) => self.bytes(head),
            None if node.children.is_empty() => self.bytes(node),
            None => " ".repeat(BYTES_COLUMNS),
        };
        let written = head.unwrap_or(node);
        let encoding = if written.encoding.is_empty() {
            String::new()
        } else {
            format!("  [{}]", escape::escape_line(&written.encoding))
        };
        let value = truncate(&escape::escape_line(&written.value));
        let line = format!("{:>6}  {text}{name:<26}{value}{encoding}", node.bits.start / BYTE);
        let _ = writeln!(self.out, "{}", line.trim_end());
        let below = node.children[usize::from(head.is_some())..].iter();
        below.filter(|child| child.name != PUNCTUATION).for_each(|child| self.lines(child, depth + 1));
    }

    /// Formats the bytes of a leaf in hexadecimal, or its bits at their positions, in colour and
    /// padded to the column width.
    fn bytes(&self, leaf: &Node) -> String {
        let text = format!("{:<BYTES_COLUMNS$}", self.plain(leaf));
        let is_broken = leaf.bits.start < self.broken.end && self.broken.start < leaf.bits.end;
        let ink = match leaf.name.as_str() {
            _ if is_broken => ColorRole::Error,
            HEAD => ColorRole::Head,
            _ => bit_diagram::color_role(leaf),
        };
        // A byte takes three columns: two digits and a space.
        let head = 3 * encoding::header_length(&leaf.encoding);
        let (head, value) = text.split_at(if is_broken { 0 } else { head });
        self.paint.color(ColorRole::Head, head) + &self.paint.color(ink, value)
    }

    fn plain(&self, leaf: &Node) -> String {
        let place = leaf.bytes();
        if !leaf.bits.len().is_multiple_of(BYTE) {
            let byte = self.input[place.start];
            let first = place.start * BYTE;
            let ch = |at: usize| match leaf.bits.contains(&(first + at)) {
                true if byte >> (BYTE - 1 - at) & 1 == 1 => '1',
                true => '0',
                false => '.',
            };
            let (high, low): (String, String) = ((0..4).map(ch).collect(), (4..BYTE).map(ch).collect());
            return format!("{high} {low}");
        }
        let bytes = match place.start.checked_sub(self.payload_at) {
            Some(start) if !self.payload.is_empty() => &self.payload[start..start + place.len()],
            _ => &self.input[place],
        };
        match bytes.len() {
            0..=MAX_VALUE_BYTES => hex::print(bytes),
            _ => format!("{} …", hex::print(&bytes[..MAX_VALUE_BYTES - 1])),
        }
    }
}

/// Prints the meaning of the frame, if it was decoded.
fn write_meaning(out: &mut String, frame: &ExplainedFrame<'_>, from: Side) {
    match &frame.content {
        Content::Unread | Content::Bytes | Content::Head(_) => {}
        Content::Text(text) => {
            let _ = writeln!(out, "\nText: {text:?}");
        }
        Content::Close(line) => {
            let _ = writeln!(out, "\nClose: {line}");
        }
        Content::Compressed => {
            let _ = writeln!(
                out,
                "\nCompressed: an extension has changed the message or fragment; it is not decoded."
            );
        }
        Content::Datagram(line) => {
            let parts = escape::escape_line(line);
            parts.split("; ").for_each(|part| _ = writeln!(out, "\n{}", truncate(part)));
        }
        Content::Foreign(line) => {
            let _ = writeln!(out, "\nNo packet of tickwire: {}", truncate(&escape::escape_line(line)));
        }
        Content::Packet(None, _) => {}
        Content::Packet(Some(row), _) => packet(out, frame, row, from),
    }
}

fn packet(out: &mut String, frame: &ExplainedFrame<'_>, row: &Row, from: Side) {
    let direction = if from == Side::Client { "to the server" } else { "to the client" };
    let _ = writeln!(out, "\nPacket {} {direction}: {}\n", row.name, row.meaning);
    let payload =
        frame.message.as_ref().map_or_else(|| frame.tree.find(PAYLOAD_FIELD), |whole| Some(&whole.tree));
    let arguments = payload.and_then(|payload| payload.find(ARGUMENTS));
    let given: &[Node] = arguments.map_or(&[], |node| &node.children);
    let mut left_out = Vec::new();
    for argument in &row.arguments {
        match given.iter().find(|node| node.name == argument.name) {
            Some(node) => argument_lines(out, node),
            None => left_out.push(argument.name.as_str()),
        }
    }
    if !left_out.is_empty() {
        let _ = writeln!(out, "  omitted, so nil: {}", left_out.join(", "));
    }
}

/// Prints an argument by name: one line, or one for each of its groups.
fn argument_lines(out: &mut String, node: &Node) {
    let parts: Vec<&Node> = values(node).collect();
    let lines: Vec<String> = match parts.iter().any(|part| !part.children.is_empty()) {
        true => parts.into_iter().map(inline).collect(),
        false => vec![inline(node)],
    };
    let mut label = node.name.as_str();
    for line in lines.iter().flat_map(|line| wrap(line)) {
        let _ = writeln!(out, "  {label:<width$}{line}", width = INDENT - 2);
        label = "";
    }
}

/// The children that are values, without heads, keys and punctuation.
fn values(node: &Node) -> impl Iterator<Item = &Node> {
    node.children.iter().filter(|child| ![HEAD, KEY, PUNCTUATION].contains(&child.name.as_str()))
}

/// Formats a node in one line.
fn inline(node: &Node) -> String {
    if node.children.is_empty() {
        return escape::escape_line(&node.value).into_owned();
    }
    let parts: Vec<String> = values(node)
        .map(|part| match part.name.starts_with('[') {
            true => inline(part),
            false => format!("{} {}", escape::escape_line(&part.name), inline(part)),
        })
        .collect();
    if parts.is_empty() { "empty".to_owned() } else { parts.join(", ") }
}

/// Wraps a line after commas, to the width that remains after the label.
fn wrap(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in line.split_inclusive(", ") {
        let last =
            lines.last_mut().filter(|last| last.chars().count() + part.chars().count() <= COLUMNS - INDENT);
        match last {
            Some(last) => last.push_str(part),
            None => lines.push(part.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Capitalizes the first letter, and ends the text with a full stop.
fn as_sentence(words: &str) -> String {
    let mut signs = words.chars();
    let first: String = signs.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", signs.as_str().trim_end_matches('.'))
}

fn problem(out: &mut String, frame: &ExplainedFrame<'_>, paint: ColorMode) {
    match &frame.problem {
        None => {}
        Some(Problem::Violation { rule, address, description: sentence, answer, bits }) => {
            let bit = match bits.start % BYTE {
                0 if bits.len() % BYTE == 0 => String::new(),
                bit => format!(", bit {bit}"),
            };
            let kind = if answer.starts_with("close") { "Broken rule" } else { "Not accepted" };
            let line = format!("{kind}, at byte {}{bit}: {rule}", bits.start / BYTE);
            let _ = writeln!(out, "\n{}\n", paint.color(ColorRole::Error, &line));
            let _ = writeln!(
                out,
                "  {}\n  Defined in {address}. Response: {answer}.",
                escape::escape_line(&as_sentence(sentence))
            );
        }
        Some(Problem::Incomplete { missing }) => {
            let words = match missing {
                Some(missing) => format!("the payload lacks {}", count_noun(*missing, "byte")),
                None => "the header is incomplete".to_owned(),
            };
            let _ = writeln!(out, "\nIncomplete: {words}.");
        }
    }
}
