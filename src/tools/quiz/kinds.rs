//! The kinds of exercises.

use super::draw::{Draft, Draw};
use super::{frames, packets, rules, streams};

/// A kind of exercise.
#[derive(Debug)]
pub struct Kind {
    /// Number of the lesson.
    pub lesson: u8,
    /// The name, which is part of the ids of its questions.
    pub name: &'static str,
    /// The hint.
    pub hint: &'static str,
    /// Creates the task.
    pub build: fn(&mut Draw<'_>) -> Draft,
}

const fn kind(lesson: u8, name: &'static str, build: fn(&mut Draw<'_>) -> Draft, hint: &'static str) -> Kind {
    Kind { lesson, name, hint, build }
}

const FRAME: &str =
    "byte 0: FIN, three reserved bits, four bits of opcode; byte 1: the mask bit, seven bits of length";
const MASKED: &str = "a client sets the mask bit, and the key follows the length; byte n of the payload is XORed with byte n mod 4 of the key";
const LENGTH: &str =
    "up to 125: in seven bits; up to 65535: 7e, then two bytes; otherwise 7f, then eight bytes";
const CLOSE: &str = "opcode 8; the payload is the code in two bytes, most significant first, then the reason";
const RULES: &str = "src/ws/violation.rs lists the rules in the order in which they are checked";
const PACK: &str = "90 + count begins a list, a0 + length a text; cc, cd, ce: 1, 2, 4 bytes follow; c0 nil, c2 false, c3 true";
const ACKS: &str = "the least significant bit covers the number before the newest one";

/// All kinds in the order of the lessons. A new kind goes after the others of its lesson, because
/// the position determines the parameters.
pub static KINDS: [Kind; 31] = [
    kind(1, "text_frame", frames::text_frame, MASKED),
    kind(1, "any_key", frames::any_key, MASKED),
    kind(1, "server_frame", frames::server_frame, FRAME),
    kind(2, "header", frames::header, LENGTH),
    kind(2, "masked_header", frames::masked_header, LENGTH),
    kind(2, "length", frames::length, LENGTH),
    kind(3, "mask", frames::mask_payload, MASKED),
    kind(3, "unmask", frames::unmask, MASKED),
    kind(4, "fragments", frames::fragments, "only the first frame has opcode 1, and only the last one FIN 1"),
    kind(4, "between", frames::between, "a ping has opcode 9 and FIN 1, also within a message"),
    kind(5, "close", frames::close, CLOSE),
    kind(5, "client_close", frames::client_close, CLOSE),
    kind(
        6,
        "accept",
        packets::accept,
        "base64 of the SHA-1 of the key and 258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
    ),
    kind(6, "key", packets::key, "base64 encodes three bytes in four letters; 16 bytes end with =="),
    kind(7, "value", packets::value, PACK),
    kind(7, "list", packets::list, PACK),
    kind(7, "number", packets::number, PACK),
    kind(
        8,
        "packet",
        packets::packet,
        "a list of two values: the code in the table, and the list of the arguments",
    ),
    kind(8, "packet_frame", packets::packet_frame, "the opcode is 2; the packet is the masked payload"),
    kind(9, "break", rules::break_rule, RULES),
    kind(9, "which", rules::which, RULES),
    kind(10, "acks", packets::acks, ACKS),
    kind(10, "lost", packets::lost, ACKS),
    kind(11, "compressed", frames::compressed, "RSV1 is bit 1 of byte 0"),
    kind(
        11,
        "stored",
        frames::stored,
        "00, the length and its complement, each least significant byte first, the text, 00",
    ),
    kind(12, "complete_frames", streams::complete_frames, FRAME),
    kind(12, "next_frame", streams::next_frame, FRAME),
    kind(13, "close_code", streams::close_code, "1002 protocol, 1007 data, 1008 policy, 1009 too big"),
    kind(13, "rule_close", streams::rule_close, CLOSE),
    kind(14, "panel_message", streams::panel_message, MASKED),
    kind(14, "panel_length", streams::panel_length, "the panel counts the payload alone"),
];
