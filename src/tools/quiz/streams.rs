//! Exercises about segments, endings and the network panel: lessons 12 to 14.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::check::Expected;
use super::draw::{Draft, Draw};
use super::encode::{self, frame};
use super::layout::Layout;
use crate::tools::explain::hex;
use crate::util::plural::count_noun;
use crate::ws::frame::{LENGTH_16_MAX, Opcode};
use crate::ws::{CloseCode, Side, Violation, close};

/// Frames of the server in an exercise about segments.
const FRAMES: usize = 4;

/// Returns short text frames of a server, one after the other, and the offset after each.
fn draw_frames(draw: &mut Draw<'_>) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..FRAMES {
        bytes.extend(frame(Opcode::Text, None, draw.word().as_bytes()));
        ends.push(bytes.len());
    }
    (bytes, ends)
}

pub fn complete_frames(draw: &mut Draw<'_>) -> Draft {
    let (bytes, ends) = draw_frames(draw);
    let cut = 1 + draw.below(bytes.len() - 1);
    let task = format!(
        "After the handshake, the first segment of a server has these bytes: {}. How many complete frames are in it?",
        hex::print(&bytes[..cut])
    );
    let complete = ends.iter().filter(|end| **end <= cut).count();
    let reason = format!("the frames end after the bytes {}; the segment has {cut}", list(&ends));
    (task, Expected::Numbers { numbers: vec![complete as i64], reason })
}

pub fn next_frame(draw: &mut Draw<'_>) -> Draft {
    let (bytes, ends) = draw_frames(draw);
    let task = format!(
        "After the handshake, a server sends {}. At which bytes, counted from 0, do the second and the third frame begin?",
        hex::print(&bytes)
    );
    let lengths: Vec<usize> =
        ends.iter().scan(0, |begin, end| Some(end - std::mem::replace(begin, *end))).collect();
    let reason = format!("with 2 bytes of header each, the frames have {} bytes", list(&lengths));
    (task, Expected::Numbers { numbers: vec![ends[0] as i64, ends[1] as i64], reason })
}

/// Returns numbers with commas between them.
fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Rules of frames and messages, with the code with which a receiver closes the connection.
const CLOSED: [(Violation, CloseCode); 8] = [
    (Violation::MaskMissing, CloseCode::PROTOCOL_ERROR),
    (Violation::ReservedOpcode, CloseCode::PROTOCOL_ERROR),
    (Violation::MessageInterrupted, CloseCode::PROTOCOL_ERROR),
    (Violation::TextNotUtf8, CloseCode::INVALID_PAYLOAD),
    (Violation::CloseReasonNotUtf8, CloseCode::INVALID_PAYLOAD),
    (Violation::TooManyFragments, CloseCode::POLICY_VIOLATION),
    (Violation::MessageTooLong, CloseCode::MESSAGE_TOO_BIG),
    (Violation::InflatedTooLong, CloseCode::MESSAGE_TOO_BIG),
];

pub fn close_code(draw: &mut Draw<'_>) -> Draft {
    let (rule, code) = draw.choose(&CLOSED);
    let task = format!("\"{rule}\" With which code does the receiver close the connection?");
    let reason = format!("{} ({}) closes with {code}", rule.name(), rule.citation());
    (task, Expected::Numbers { numbers: vec![code.get().into()], reason })
}

pub fn rule_close(draw: &mut Draw<'_>) -> Draft {
    let (rule, code) = draw.choose(&CLOSED);
    let (mut payload, name) = (Vec::new(), rule.name());
    close::encode(Some(code), name, &mut payload);
    let task = format!(
        "A server closes a connection with the code {} and the reason \"{name}\". Write its close frame.",
        code.get()
    );
    (task, Expected::exact(frame(Opcode::Close, None, &payload), Layout::Frames(Side::Server)))
}

pub fn panel_message(draw: &mut Draw<'_>) -> Draft {
    let (payload, (key, digits)) = (draw.bytes::<5>(), draw.key());
    let task = format!(
        "The network panel shows the binary message {}, in Base64, that the page has sent without compression. Write its frame, with the key {digits}.",
        STANDARD.encode(payload)
    );
    (task, Expected::exact(frame(Opcode::Binary, Some(key), &payload), Layout::Frames(Side::Client)))
}

pub fn panel_length(draw: &mut Draw<'_>) -> Draft {
    let from = draw.choose(&[Side::Client, Side::Server]);
    let limit = draw.choose(&[125, LENGTH_16_MAX as usize, 1 << 20]);
    let length = 1 + draw.below(limit) as u64;
    let key = (from == Side::Client).then_some([0; 4]);
    let header = encode::header(true, Opcode::Text, key, length).len() as u64;
    let sender = if from == Side::Client { "the page" } else { "the server" };
    let task = format!(
        "The network panel shows a text of {} from {sender}, in one frame without compression. How many bytes has the frame?",
        count_noun(length as usize, "byte")
    );
    let key = if from == Side::Client { ", with the key" } else { "" };
    let reason = format!("the header has {header} bytes{key}, and {length} follow");
    (task, Expected::Numbers { numbers: vec![(header + length) as i64], reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_the_ones_of_the_rules() {
        for (rule, code) in CLOSED {
            assert_eq!(rule.close_code(), Some(code), "{}", rule.name());
        }
    }
}
