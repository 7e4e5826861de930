//! Rows of frames, and how a connection handles them.
//!
//! Frames are written unmasked and separated by `|`; `xN` after a frame repeats it; the test masks
//! them for the client's direction. The limits are those of the server. Rows about the limits are
//! in `frames_limits.rs`, about text in `frames_text.rs`, about closing in `frames_close.rs`.
//! Events are written as `kind` or `kind:payload`, text as text, bytes as hex. A binary message
//! followed by others is not a packet of any dialect, so a live server drops it.

#![allow(dead_code, reason = "each test program uses its part")]

use super::{frames_close, frames_limits, frames_text, hex};
use tickwire::ws::Violation::{self, *};
use tickwire::ws::frame::{self, LENGTH, LENGTH_MARKER_16, LENGTH_MARKER_64, MASK, MASK_KEY_BYTES};

/// The key of every frame that a test masks.
pub const KEY: [u8; MASK_KEY_BYTES] = [0x37, 0xfa, 0x21, 0x3d];

/// The frames of a row as a client sends them.
pub fn masked(frames: &str) -> Vec<u8> {
    hex::frames(frames).into_iter().flat_map(mask_frame).collect()
}

/// One frame of a row, masked as a client would: however broken its length is, the key stands after it, if it has come so far.
fn mask_frame(mut bytes: Vec<u8>) -> Vec<u8> {
    let Some(second) = bytes.get_mut(1) else { return bytes };
    let header_bytes = match *second & LENGTH {
        LENGTH_MARKER_16 => 2 + 2,
        LENGTH_MARKER_64 => 2 + 8,
        _ => 2,
    };
    *second |= MASK;
    if bytes.len() < header_bytes {
        return bytes;
    }
    let mut payload = bytes.split_off(header_bytes);
    frame::mask(&mut payload, KEY, 0);
    [bytes, KEY.to_vec(), payload].concat()
}

/// Name with its section, frames, events, and the rule that the last frame breaks.
pub type Row = (&'static str, &'static str, &'static [&'static str], Option<Violation>);

/// All rows that both ends may send, under the limits of the server.
pub fn both_sides() -> impl Iterator<Item = &'static Row> {
    [BOTH_SIDES, frames_text::ROWS, frames_close::ROWS, frames_limits::ROWS].into_iter().flatten()
}

/// Both ends may send these, and a client masks them.
const BOTH_SIDES: &[Row] = &[
    // 5.2: the first byte.
    ("5.2 rsv1", "c1 00", &[], Some(ReservedBit)),
    ("5.2 rsv2", "a1 00", &[], Some(ReservedBit)),
    ("5.2 rsv3", "91 00", &[], Some(ReservedBit)),
    ("5.2 all reserved bits on a continuation", "f0 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit on a ping", "c9 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit after a message", "82 02 9107 | c2 00", &["binary:9107"], Some(ReservedBit)),
    ("5.2 opcode 3", "83 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 4", "84 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 5", "85 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 6", "86 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 7", "87 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 11", "8b 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 12", "8c 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 13", "8d 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 14", "8e 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 15", "8f 00", &[], Some(ReservedOpcode)),
    ("5.2 reserved opcode with fin 0", "03 00", &[], Some(ReservedOpcode)),
    ("5.2 only the first bad byte", "83", &[], Some(ReservedOpcode)),
    ("5.2 rsv1 and rsv2", "e1 00", &[], Some(ReservedBit)),
    ("5.2 rsv1 and rsv3", "d1 00", &[], Some(ReservedBit)),
    ("5.2 rsv2 and rsv3", "b1 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit on a close", "c8 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit on a pong", "9a 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit before a reserved opcode", "c3 00", &[], Some(ReservedBit)),
    ("5.2 reserved bit on the last fragment", "02 01 91 | c0 01 07", &[], Some(ReservedBit)),
    ("5.2 reserved bit within a fragmented message", "02 01 91 | a9 00", &[], Some(ReservedBit)),
    ("5.2 opcode 4 with fin 0", "04 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 5 with fin 0", "05 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 6 with fin 0", "06 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 7 with fin 0", "07 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 11 with fin 0", "0b 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 12 with fin 0", "0c 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 13 with fin 0", "0d 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 14 with fin 0", "0e 00", &[], Some(ReservedOpcode)),
    ("5.2 opcode 15 with fin 0", "0f 00", &[], Some(ReservedOpcode)),
    ("5.2 reserved opcode within a fragmented message", "02 01 91 | 83 00", &[], Some(ReservedOpcode)),
    ("5.2 reserved opcode after a ping", "89 01 07 | 8f 00", &["ping:07"], Some(ReservedOpcode)),
    // 5.2: the length.
    ("5.2 length 0", "82 00", &["binary:"], None),
    ("5.2 length 1", "82 01 ff", &["binary:ff"], None),
    ("5.2 length 125", "82 7d 00*125", &["binary:00*125"], None),
    ("5.2 length 126", "82 7e 007e 00*126", &["binary:00*126"], None),
    ("5.2 length 127", "82 7e 007f 00*127", &["binary:00*127"], None),
    ("5.2 0 in 16 bits", "82 7e 0000", &[], Some(LengthNotMinimal)),
    ("5.2 125 in 16 bits", "82 7e 007d 00*125", &[], Some(LengthNotMinimal)),
    ("5.2 0 in 64 bits", "82 7f 0000000000000000", &[], Some(LengthNotMinimal)),
    ("5.2 125 in 64 bits", "82 7f 000000000000007d", &[], Some(LengthNotMinimal)),
    ("5.2 126 in 64 bits", "82 7f 000000000000007e", &[], Some(LengthNotMinimal)),
    ("5.2 65535 in 64 bits", "82 7f 000000000000ffff", &[], Some(LengthNotMinimal)),
    ("5.2 top bit and nothing else", "82 7f 8000000000000000", &[], Some(LengthTopBit)),
    ("5.2 top bit, small length", "82 7f 8000000000000001", &[], Some(LengthTopBit)),
    ("5.2 all ones", "82 7f ffffffffffffffff", &[], Some(LengthTopBit)),
    ("5.2 top bit on a continuation", "02 00 | 80 7f 8000000000000000", &[], Some(LengthTopBit)),
    ("5.2 1 in 16 bits", "82 7e 0001 00", &[], Some(LengthNotMinimal)),
    ("5.2 text of 125 in 16 bits", "81 7e 007d 61*125", &[], Some(LengthNotMinimal)),
    ("5.2 text of 1 in 64 bits", "81 7f 0000000000000001 61", &[], Some(LengthNotMinimal)),
    ("5.2 a continuation of 1 in 16 bits", "02 01 91 | 80 7e 0001 07", &[], Some(LengthNotMinimal)),
    ("5.2 a continuation of 65535 in 64 bits", "02 00 | 80 7f 000000000000ffff", &[], Some(LengthNotMinimal)),
    ("5.2 length 128", "82 7e 0080 00*128", &["binary:00*128"], None),
    ("5.2 length 255", "82 7e 00ff 00*255", &["binary:00*255"], None),
    ("5.2 length 256", "82 7e 0100 00*256", &["binary:00*256"], None),
    ("5.2 text of 126", "81 7e 007e 61*126", &["text:*126"], None),
    ("5.2 top bit on text", "81 7f 8000000000000005", &[], Some(LengthTopBit)),
    ("5.2 the two top bits", "82 7f c000000000000000", &[], Some(LengthTopBit)),
    ("5.2 top bit and what fits 16 bits", "82 7f 800000000000007e", &[], Some(LengthTopBit)),
    // 5.4: fragments.
    ("5.4 text in two", "01 03 48656c | 80 02 6c6f", &["text:Hello"], None),
    ("5.4 ping between fragments", "01 03 48656c | 89 01 21 | 80 02 6c6f", &["ping:21", "text:Hello"], None),
    ("5.4 pong between fragments", "01 03 48656c | 8a 01 21 | 80 02 6c6f", &["pong:21", "text:Hello"], None),
    ("5.4 close between fragments", "01 03 48656c | 88 00 | 80 02 6c6f", &["close"], None),
    ("5.4 all fragments empty", "01 00 | 00 00 | 80 00", &["text:"], None),
    ("5.4 empty first fragment", "02 00 | 80 01 05", &["binary:05"], None),
    (
        "5.4 two messages in fragments",
        "02 01 91 | 80 01 02 | 02 01 91 | 80 01 04",
        &["binary:9102", "binary:9104"],
        None,
    ),
    (
        "5.4 whole message after fragments",
        "02 01 91 | 80 01 02 | 82 02 9103",
        &["binary:9102", "binary:9103"],
        None,
    ),
    ("5.4 continuation first", "80 00", &[], Some(ContinuationWithoutStart)),
    ("5.4 open continuation first", "00 01 61", &[], Some(ContinuationWithoutStart)),
    (
        "5.4 continuation after a whole message",
        "81 01 61 | 80 01 62",
        &["text:a"],
        Some(ContinuationWithoutStart),
    ),
    ("5.4 continuation after the last", "01 00 | 80 00 | 80 00", &["text:"], Some(ContinuationWithoutStart)),
    ("5.4 text within fragments", "01 01 61 | 81 01 62", &[], Some(MessageInterrupted)),
    ("5.4 binary within fragments", "01 01 61 | 82 01 62", &[], Some(MessageInterrupted)),
    ("5.4 start within fragments", "02 01 61 | 02 01 62", &[], Some(MessageInterrupted)),
    (
        "5.4 ping, pong and ping between fragments",
        "02 01 91 | 89 01 01 | 8a 00 | 89 01 02 | 80 01 07",
        &["ping:01", "pong:", "ping:02", "binary:9107"],
        None,
    ),
    ("5.4 a ping before the first fragment", "89 00 | 02 01 91 | 80 01 07", &["ping:", "binary:9107"], None),
    ("5.4 a first fragment within fragments", "01 01 61 | 01 01 62", &[], Some(MessageInterrupted)),
    ("5.4 text within fragments of a binary", "02 01 91 | 81 01 62", &[], Some(MessageInterrupted)),
    ("5.4 an empty message within fragments", "02 01 91 | 82 00", &[], Some(MessageInterrupted)),
    (
        "5.4 a message within fragments after a ping",
        "02 01 91 | 89 00 | 82 02 9107",
        &["ping:"],
        Some(MessageInterrupted),
    ),
    ("5.4 continuation after a ping", "89 00 | 80 00", &["ping:"], Some(ContinuationWithoutStart)),
    (
        "5.4 open continuation after a binary",
        "82 02 9107 | 00 00",
        &["binary:9107"],
        Some(ContinuationWithoutStart),
    ),
    (
        "5.4 two last fragments",
        "02 01 91 | 80 01 07 | 80 01 07",
        &["binary:9107"],
        Some(ContinuationWithoutStart),
    ),
    // 5.5: control frames.
    ("5.5 close in fragments", "08 00", &[], Some(ControlFragmented)),
    ("5.5 ping in fragments", "09 00", &[], Some(ControlFragmented)),
    ("5.5 pong in fragments", "0a 00", &[], Some(ControlFragmented)),
    ("5.5 ping of 126 bytes", "89 7e 007e 00*126", &[], Some(ControlTooLong)),
    ("5.5 ping with a 64-bit length", "89 7f 0000000000000001 00", &[], Some(ControlTooLong)),
    ("5.5 close of 126 bytes", "88 7e 007e 03e8 61*124", &[], Some(ControlTooLong)),
    ("5.5 pong of 65536 bytes", "8a 7f 0000000000010000", &[], Some(ControlTooLong)),
    ("5.5.2 empty ping", "89 00", &["ping:"], None),
    ("5.5.2 longest ping", "89 7d 61*125", &["ping:61*125"], None),
    ("5.5.2 ping of bytes that are not UTF-8", "89 02 fffe", &["ping:fffe"], None),
    ("5.5.2 two pings", "89 01 01 | 89 01 02", &["ping:01", "ping:02"], None),
    ("5.5.3 pong that nobody asked for", "8a 01 07", &["pong:07"], None),
    ("5.5 a ping in fragments within a message", "02 01 91 | 09 01 07", &[], Some(ControlFragmented)),
    ("5.5 close of one byte in 16 bits", "88 7e 0001 03", &[], Some(ControlTooLong)),
    ("5.5 empty ping in 16 bits", "89 7e 0000", &[], Some(ControlTooLong)),
    ("5.5 pong of the longest length there is", "8a 7f 7fffffffffffffff", &[], Some(ControlTooLong)),
    ("5.5 ping with the top bit", "89 7f 8000000000000000", &[], Some(ControlTooLong)),
    ("5.5 close of 127 bytes", "88 7e 007f 03e8 61*125", &[], Some(ControlTooLong)),
    ("5.5.2 ping of 124 bytes", "89 7c 00*124", &["ping:00*124"], None),
    ("5.5.2 eight pings at once", "89 02 abcd x8", &["ping:abcd"; 8], None),
    ("5.5.3 longest pong", "8a 7d ff*125", &["pong:ff*125"], None),
    ("5.5.3 pong of bytes that are not UTF-8", "8a 01 80", &["pong:80"], None),
];

/// A client sends these as they are.
pub const FROM_CLIENT: &[Row] = &[
    ("5.1 text without a mask", "81 05 48656c6c6f", &[], Some(MaskMissing)),
    ("5.1 ping without a mask", "89 00", &[], Some(MaskMissing)),
    ("5.1 no mask on the second frame", "82 82 00000000 9107 82 01 07", &["binary:9107"], Some(MaskMissing)),
    ("5.3 key of zeros", "81 85 00000000 48656c6c6f", &["text:Hello"], None),
    ("5.7 the eleven bytes", "81 85 37fa213d 7f9f4d5158", &["text:Hello"], None),
    ("5.7 fragments, each with its key", "01 83 01010101 49646d 80 82 ff000000 936f", &["text:Hello"], None),
    ("5.2 bytes of another protocol", "47 45 54 20 2f", &[], Some(ReservedBit)),
    ("5.2 a TLS hello", "16 03 01 00 a5", &[], Some(ReservedBit)),
    ("5.1 binary without a mask", "82 00", &[], Some(MaskMissing)),
    ("5.1 close without a mask", "88 02 03e8", &[], Some(MaskMissing)),
    ("5.1 pong without a mask", "8a 00", &[], Some(MaskMissing)),
    ("5.1 fragment without a mask", "02 81 00000000 91 80 01 07", &[], Some(MaskMissing)),
    ("5.1 long message without a mask", "82 7f 0000000000010000", &[], Some(MaskMissing)),
    ("5.1 long ping without a mask", "89 7e 007e", &[], Some(MaskMissing)),
    ("5.3 key of ones", "89 82 ffffffff 0f5d", &["ping:f0a2"], None),
    ("5.3 empty ping with a key", "89 80 01020304", &["ping:"], None),
    (
        "5.3 the key begins anew with each frame",
        "89 83 01020304 010203 89 83 01020304 010203",
        &["ping:000000"; 2],
        None,
    ),
    ("5.3 the length is not masked", "82 fe 007d 01020304", &[], Some(LengthNotMinimal)),
];

/// A server sends these as they are.
pub const FROM_SERVER: &[Row] = &[
    ("5.1 text with a mask", "81 85 37fa213d 7f9f4d5158", &[], Some(MaskForbidden)),
    ("5.1 close with a mask", "88 80 00000000", &[], Some(MaskForbidden)),
    ("5.7 text without a mask", "81 05 48656c6c6f", &["text:Hello"], None),
    ("5.1 ping with a mask", "89 80 01020304", &[], Some(MaskForbidden)),
    ("5.1 mask on the last fragment", "02 01 91 80 81 00000000 07", &[], Some(MaskForbidden)),
];

/// Frames that break no rule and have no end: the other end waits, and hears that the connection broke when it ends.
pub const UNFINISHED: &[(&str, &str)] = &[
    ("5.2 one byte", "82"),
    ("5.2 no byte of a 16-bit length", "82 7e"),
    ("5.2 half a 16-bit length", "82 7e 01"),
    ("5.2 seven bytes of a 64-bit length", "82 7f 00000000000001"),
    ("5.2 no payload", "82 05"),
    ("5.2 half a payload", "82 05 9107"),
    ("5.4 a first fragment", "02 02 9107"),
    ("5.4 a fragment and the next one's first byte", "02 02 9107 | 00"),
    ("5.4 a ping within that is not complete", "02 02 9107 | 89 05 0102"),
    ("5.5.1 half a close", "88 02 03"),
    ("8.1 text inside a character", "01 02 e282"),
];
