//! Exercises about broken rules: lesson 9.

use super::check::Expected;
use super::draw::{Draft, Draw};
use crate::tools::explain::hex;
use crate::ws::{Side, Violation};

/// Rules of frames, each with bytes that break it first. The masking key is 00000000.
const BROKEN: [(Violation, &[u8]); 14] = [
    (Violation::ReservedBit, &[0xb1, 0x80, 0, 0, 0, 0]),
    (Violation::ReservedOpcode, &[0x83, 0x80, 0, 0, 0, 0]),
    (Violation::ControlFragmented, &[0x09, 0x80, 0, 0, 0, 0]),
    (Violation::MaskMissing, &[0x81, 0x02, b'h', b'i']),
    (Violation::MaskForbidden, &[0x81, 0x80, 0, 0, 0, 0]),
    (Violation::ControlTooLong, &[0x89, 0xfe, 0, 126, 0, 0, 0, 0]),
    (Violation::LengthNotMinimal, &[0x82, 0xfe, 0, 5, 0, 0, 0, 0]),
    (Violation::LengthTopBit, &[0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    (Violation::ContinuationWithoutStart, &[0x80, 0x80, 0, 0, 0, 0]),
    (Violation::MessageInterrupted, &[0x01, 0x80, 0, 0, 0, 0, 0x81, 0x80, 0, 0, 0, 0]),
    (Violation::TextNotUtf8, &[0x81, 0x81, 0, 0, 0, 0, 0xff]),
    (Violation::CloseOneByte, &[0x88, 0x81, 0, 0, 0, 0, 3]),
    (Violation::CloseCodeInvalid, &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xed]),
    (Violation::CloseReasonNotUtf8, &[0x88, 0x83, 0, 0, 0, 0, 0x03, 0xe8, 0xff]),
];

/// Returns a random rule, bytes that break it, and their sender.
fn draw_rule(draw: &mut Draw<'_>) -> (Violation, &'static [u8], Side) {
    let (rule, bytes) = draw.choose(&BROKEN);
    (rule, bytes, if rule == Violation::MaskForbidden { Side::Server } else { Side::Client })
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

pub fn break_rule(draw: &mut Draw<'_>) -> Draft {
    let (rule, bytes, from) = draw_rule(draw);
    let task = format!(
        "Write frames of a {} whose first broken rule is {} ({}): \"{rule}\" No extension is agreed.",
        name(from),
        rule.name(),
        rule.citation()
    );
    (task, Expected::Rule { rule, from, model: bytes.to_vec() })
}

pub fn which(draw: &mut Draw<'_>) -> Draft {
    let (rule, bytes, from) = draw_rule(draw);
    let task = format!(
        "After the handshake, a {} sends {}. Which rule does it break? Write the name, such as head_too_long.",
        name(from),
        hex::print(bytes)
    );
    (task, Expected::Text(rule.name().to_owned()))
}
