//! Rows of compressed messages, on a connection that has agreed on permessage-deflate with context takeover and the largest windows.

#![allow(dead_code, reason = "each test program uses its part")]

use super::frames::Row;
use tickwire::ws::Violation::*;

/// The rows, under the limits of the server.
pub const ROWS: &[Row] = &[
    // The examples of RFC 7692.
    ("7692 7.2.3.1 one block", "c1 07 f248cdc9c90700", &["text:Hello"], None),
    ("7692 7.2.3.1 two fragments", "41 03 f248cd | 80 04 c9c90700", &["text:Hello"], None),
    (
        "7692 7.2.3.2 the window",
        "c1 07 f248cdc9c90700 | c1 05 f200110000",
        &["text:Hello", "text:Hello"],
        None,
    ),
    ("7692 7.2.3.3 a stored block", "c1 0b 000500faff48656c6c6f00", &["text:Hello"], None),
    ("7692 7.2.3.4 a final block", "c1 08 f348cdc9c9070000", &["text:Hello"], None),
    ("7692 7.2.3.5 two blocks", "c1 0d f248050000 00ffff cac9c90700", &["text:Hello"], None),
    ("7692 7.2.3.6 empty", "c1 01 00", &["text:"], None),
    ("7692 7.2.3.6 an empty last fragment", "41 06 f248cdc9c907 | 80 01 00", &["text:Hello"], None),
    // 6: which frames have RSV1.
    ("7692 6 binary", "c2 07 f248cdc9c90700", &["binary:48656c6c6f"], None),
    (
        "7692 6 uncompressed messages are not in the window",
        "c1 07 f248cdc9c90700 | 81 02 6869 | 01 01 68 | 80 01 69 | c1 05 f200110000",
        &["text:Hello", "text:hi", "text:hi", "text:Hello"],
        None,
    ),
    (
        "7692 6 ping between fragments",
        "41 03 f248cd | 89 01 21 | 80 04 c9c90700",
        &["ping:21", "text:Hello"],
        None,
    ),
    ("7692 6 empty fragments", "41 00 | 00 00 | 00 07 f248cdc9c90700 | 80 00", &["text:Hello"], None),
    ("7692 6 rsv1 on a continuation", "41 03 f248cd | c0 04", &[], Some(ReservedBit)),
    ("7692 6 rsv1 on a middle fragment", "41 03 f248cd | 40 04", &[], Some(ReservedBit)),
    ("7692 6 rsv1 on a ping", "c9 00", &[], Some(ReservedBit)),
    ("7692 6 rsv1 on a pong", "ca 00", &[], Some(ReservedBit)),
    ("7692 6 rsv1 on a close", "c8 00", &[], Some(ReservedBit)),
    ("7692 6 rsv1 on a reserved opcode", "c3 00", &[], Some(ReservedBit)),
    ("7692 6 rsv1 and rsv2", "e1 00", &[], Some(ReservedBit)),
    ("7692 6 rsv1 and rsv3", "d2 00", &[], Some(ReservedBit)),
    ("7692 6 rsv2", "a1 00", &[], Some(ReservedBit)),
    ("5.4 interrupted", "41 03 f248cd | c1 07", &[], Some(MessageInterrupted)),
    // 7.2.2: data that is not DEFLATE.
    ("7692 7.2.2 block type 3", "c1 01 06", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 block type 3 in a fragment", "41 01 06", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 cut off", "c1 05 f248cdc9c9", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 nothing", "c1 00", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 uncompressed text", "c1 05 48656c6c6f", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 the window is empty", "c1 05 f200110000", &[], Some(CompressedDataInvalid)),
    ("7692 7.2.2 after a message", "c1 01 00 | c2 01 06", &["text:"], Some(CompressedDataInvalid)),
    // 8.1: UTF-8 after inflating.
    ("8.1 compressed euro", "c1 05 7ad4b40600", &["text:€"], None),
    ("8.1 not a start", "c1 04 faef0800", &[], Some(TextNotUtf8)),
    ("8.1 the same bytes are binary", "c2 04 faef0800", &["binary:ff41"], None),
    ("8.1 ends within a character", "c1 05 4a7cd40400", &[], Some(TextNotUtf8)),
    ("8.1 not a start in a fragment", "41 03 faef08 | 00 05 000000ffff", &[], Some(TextNotUtf8)),
    // 10.4: the limits on what a message inflates to.
    (
        "10.4 inflates to the limit",
        "c2 15 ecc1010d000000c2a0f74f6d0f0714000000f06e00",
        &["binary:00*4096"],
        None,
    ),
    ("10.4 one byte more", "c2 15 ecc1010d000000c2a0f74f6d0f0714000000706f00", &[], Some(InflatedTooLong)),
    (
        "10.4 one byte more in fragments",
        "42 0a ecc1010d000000c2a0f7 | 80 0b 4f6d0f0714000000706f00",
        &[],
        Some(InflatedTooLong),
    ),
    ("10.4 a bomb", "c2 72 ecc13101000000c2a0f54f6d0d0fa0 00*99", &[], Some(InflatedTooLong)),
    ("10.4 stored blocks that fit", "c2 7e 1006 00 0010 ffef 61*4096 00", &["binary:61*4096"], None),
    ("10.4 a longer frame than any that fits", "c2 7e 1111", &[], Some(MessageTooLong)),
];
