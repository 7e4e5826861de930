//! Draws a frame like the diagram in RFC 6455, section 5.2, with the values of its bits.
//!
//! The drawing has 32 bits per row and two columns per bit. A broken header is drawn like a valid
//! one, with the rule's name under the bits that break it.

use std::ops::Range;

use crate::tools::explain::color::{ColorMode, ColorRole};
use crate::tools::explain::explanation::{ExplainedFrame, PAYLOAD_FIELD, Problem};
use crate::tools::explain::hex;
use crate::tools::explain::parse::frame_header::field;
use crate::tools::explain::parse::packet;
use crate::tools::explain::tree::{BYTE, Node};
use crate::util::plural;
use crate::ws::frame::{LENGTH, LENGTH_MARKER_16, LENGTH_MARKER_64, OPCODE, Opcode};

/// Bits in a row.
const ROW: usize = 32;
/// Maximum number of payload rows after the row in which the header ends.
const PAYLOAD_ROWS: usize = 2;
/// Label lines of a row with single bits, because the longest name of a single bit has four
/// letters.
const LETTER_LINES: usize = 4;

const RULER: [&str; 2] = [
    " 0                   1                   2                   3",
    " 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1",
];

/// A box of the drawing: the part of a field in one row. Bit positions count from the start of the
/// frame.
struct DiagramBox {
    bits: Range<usize>,
    /// The label below the bits.
    label: String,
    value: String,
    ink: ColorRole,
}

impl DiagramBox {
    fn width(&self) -> usize {
        self.bits.len()
    }

    /// The number of columns between the borders.
    fn columns(&self) -> usize {
        2 * self.width() - 1
    }

    fn row(&self) -> usize {
        self.bits.start / ROW
    }

    /// Line `number` of the label.
    fn line(&self, number: usize) -> String {
        if self.width() == 1 {
            return self.label.chars().nth(number).unwrap_or(' ').to_string();
        }
        let text = [&self.label, &self.value].get(number).map_or("", |text| text.as_str());
        let line_text: String = text.chars().take(self.columns()).collect();
        format!("{line_text:^width$}", width = self.columns())
    }
}

/// Draws the frame. `input` contains the frame.
pub fn draw_frame(frame: &ExplainedFrame<'_>, input: &[u8], paint: ColorMode) -> Vec<String> {
    let bytes = &input[frame.range.clone()];
    let (cells, left_out) = cells(frame, bytes);
    let mut lines: Vec<String> = RULER.iter().map(|line| (*line).to_owned()).collect();
    let mut above: Vec<&DiagramBox> = Vec::new();
    for row in 0..=cells.last().map_or(0, DiagramBox::row) {
        let cells_of_row: Vec<&DiagramBox> = cells.iter().filter(|cell| cell.row() == row).collect();
        lines.push(border(&above, &cells_of_row));
        lines.extend(content(&cells_of_row, bytes, paint));
        above = cells_of_row;
        if let Some(mark) = underline(frame, row) {
            lines.push(border(&above, &[]));
            lines.push(paint.color(ColorRole::Error, &mark));
            above = Vec::new();
        }
    }
    if !above.is_empty() {
        lines.push(border(&above, &[]));
    }
    if left_out > 0 {
        let words = plural::count_noun(left_out, "more byte");
        lines.push(format!(":{words:^width$}:", width = 2 * ROW - 1));
        lines.push(format!("+{:-^width$}+", "", width = 2 * ROW - 1));
    }
    lines
}

/// The boxes of a frame, and the number of bytes at its end that are not drawn.
fn cells(frame: &ExplainedFrame<'_>, bytes: &[u8]) -> (Vec<DiagramBox>, usize) {
    let origin = frame.range.start * BYTE;
    let mut cells = Vec::new();
    let mut drawn = 0;
    for field in &frame.tree.children {
        let begin = field.bits.start - origin;
        let mut end = field.bits.end - origin;
        if field.name == PAYLOAD_FIELD || field.name == packet::UNREAD {
            end = end.min((begin.div_ceil(ROW) + PAYLOAD_ROWS) * ROW);
        }
        drawn = end;
        let mut from = begin;
        while from < end {
            let to = end.min((from / ROW + 1) * ROW);
            cells.push(cell(field, from..to, from > begin, bytes));
            from = to;
        }
    }
    (cells, bytes.len() - drawn / BYTE)
}

fn cell(node: &Node, bits: Range<usize>, goes_on: bool, bytes: &[u8]) -> DiagramBox {
    let cell_bytes = &bytes[bits.start / BYTE..bits.end.div_ceil(BYTE)];
    let hexadecimal = || hex::print(cell_bytes);
    let ink = color_role(node);
    let (label, value) = match node.name.as_str() {
        field::FIN | field::RSV1 | field::RSV2 | field::RSV3 | field::MASK => {
            (node.name.to_uppercase(), String::new())
        }
        field::OPCODE => ("opcode".to_owned(), short_opcode(cell_bytes[0])),
        field::LENGTH => ("payload len".to_owned(), short_length(cell_bytes[0])),
        field::EXTENDED if !goes_on => ("extended payload length".to_owned(), node.value.clone()),
        field::EXTENDED => ("extended payload length".to_owned(), String::new()),
        field::KEY => ("masking key".to_owned(), hexadecimal()),
        packet::UNREAD => ("not read".to_owned(), hexadecimal()),
        _ => ("payload data".to_owned(), hexadecimal()),
    };
    let long = if goes_on { format!("{label} continued") } else { label.clone() };
    let columns = 2 * bits.len() - 1;
    let candidates = [long, label, node.name.split('_').next_back().unwrap_or_default().to_owned()];
    let label = candidates.into_iter().find(|label| bits.len() == 1 || label.len() <= columns);
    DiagramBox { bits, label: label.unwrap_or_default(), value, ink }
}

/// The colour role of a field.
pub fn color_role(field: &Node) -> ColorRole {
    match field.name.as_str() {
        field::LENGTH | field::EXTENDED => ColorRole::Length,
        field::KEY => ColorRole::Key,
        field::FIN | field::RSV1 | field::RSV2 | field::RSV3 | field::OPCODE | field::MASK => {
            ColorRole::Header
        }
        _ => ColorRole::Value,
    }
}

/// Formats an opcode in at most seven columns.
fn short_opcode(byte: u8) -> String {
    match Opcode::new(byte & OPCODE) {
        Some(Opcode::Continuation) => "contin.".to_owned(),
        Some(opcode) => opcode.name().to_owned(),
        None => format!("{:#x} ?", byte & OPCODE),
    }
}

/// Formats the seven bits of the length in at most 13 columns.
fn short_length(byte: u8) -> String {
    match byte & LENGTH {
        LENGTH_MARKER_16 => format!("{LENGTH_MARKER_16}: 16 bits"),
        LENGTH_MARKER_64 => format!("{LENGTH_MARKER_64}: 64 bits"),
        short => short.to_string(),
    }
}

/// The line between two rows, with `+` wherever a box of either row begins or ends.
fn border(above: &[&DiagramBox], below: &[&DiagramBox]) -> String {
    let end = above.iter().chain(below).map(|cell| cell.bits.end - cell.row() * ROW).max().unwrap_or(0);
    let mut line = String::new();
    for bit in 0..=end {
        let is_edge = above.iter().chain(below).any(|cell| {
            let origin = cell.row() * ROW;
            cell.bits.start - origin == bit || cell.bits.end - origin == bit
        });
        line.push(if is_edge { '+' } else { '-' });
        if bit < end {
            line.push('-');
        }
    }
    line
}

/// The lines of a row: its bits, then its labels.
fn content(cells: &[&DiagramBox], bytes: &[u8], paint: ColorMode) -> Vec<String> {
    let has_letters = cells.iter().any(|cell| cell.width() == 1);
    let framed = |text: &dyn Fn(&DiagramBox) -> String| {
        let inside: Vec<String> = cells.iter().map(|cell| paint.color(cell.ink, &text(cell))).collect();
        format!("|{}|", inside.join("|"))
    };
    let bit = |at: usize| if bytes[at / BYTE] >> (BYTE - 1 - at % BYTE) & 1 == 1 { "1" } else { "0" };
    let mut lines = vec![framed(&|cell| cell.bits.clone().map(bit).collect::<Vec<_>>().join(" "))];
    lines.extend(
        (0..if has_letters { LETTER_LINES } else { 2 }).map(|number| framed(&|cell| cell.line(number))),
    );
    lines
}

/// The line that marks the bits that break a rule, below the row in which they begin.
fn underline(frame: &ExplainedFrame<'_>, row: usize) -> Option<String> {
    let Some(Problem::Violation { rule, bits, .. }) = &frame.problem else { return None };
    let origin = frame.range.start * BYTE + row * ROW;
    if !(origin..origin + ROW).contains(&bits.start) || bits.is_empty() {
        return None;
    }
    let from = bits.start - origin;
    let to = (bits.end - origin).min(ROW);
    Some(format!("{}{} {rule}", " ".repeat(2 * from + 1), "^".repeat(2 * (to - from) - 1)))
}
