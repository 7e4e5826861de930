//! Rows at the limits: one below, exactly, one above, in one frame and in fragments.

#![allow(dead_code, reason = "each test program uses its part")]

use super::frames::Row;
use tickwire::ws::Limits;
use tickwire::ws::Violation::*;

/// Other limits, for rows with lengths that the server's do not let through: small in fragments, and in bytes the first length
/// that needs 64 bits is the longest message.
pub const LONG_LIMITS: Limits = Limits { message_bytes: 65_536, fragments: 4, ..Limits::DEFAULT };

/// The rows under [`LONG_LIMITS`].
pub const LONG: &[Row] = &[
    ("5.2 length 65535", "82 7e ffff 00*65535", &["binary:00*65535"], None),
    ("5.2 length 65536", "82 7f 0000000000010000 00*65536", &["binary:00*65536"], None),
    ("10.4 one byte too many", "82 7f 0000000000010001", &[], Some(MessageTooLong)),
    ("10.4 text too long", "81 7f 0000000000010001", &[], Some(MessageTooLong)),
    ("10.4 fragments that fit exactly", "02 7e ffff 00*65535 | 80 01 00", &["binary:00*65536"], None),
    ("10.4 fragments one byte too long", "02 7e ffff 00*65535 | 80 02 0000", &[], Some(MessageTooLong)),
    ("10.4 four fragments", "02 01 01 | 00 01 02 | 00 01 03 | 80 01 04", &["binary:01020304"], None),
    (
        "10.4 five fragments",
        "02 01 01 | 00 01 02 | 00 01 03 | 00 01 04 | 80 01 05",
        &[],
        Some(TooManyFragments),
    ),
    ("10.4 empty fragments count", "01 00 | 00 00 | 00 00 | 00 00 | 00 00", &[], Some(TooManyFragments)),
];

/// The rows.
pub const ROWS: &[Row] = &[
    // 10.4: the limits, at once when the header is there.
    ("10.4 four gigabytes and a bit", "82 7f 0000000100000001", &[], Some(MessageTooLong)),
    ("10.4 the longest length there is", "82 7f 7fffffffffffffff", &[], Some(MessageTooLong)),
    ("10.4 longest length after a fragment", "02 01 00 | 80 7f 7fffffffffffffff", &[], Some(MessageTooLong)),
    (
        "10.4 pings between do not count",
        "02 00 | 89 00 | 00 00 | 89 00 | 00 00 | 80 00",
        &["ping:", "ping:", "binary:"],
        None,
    ),
    ("10.4 4,095 bytes", "82 7e 0fff 00*4095", &["binary:00*4095"], None),
    ("10.4 4,096 bytes", "82 7e 1000 00*4096", &["binary:00*4096"], None),
    ("10.4 4,097 bytes", "82 7e 1001 00*4097", &[], Some(MessageTooLong)),
    ("10.4 text of 4,096 bytes", "81 7e 1000 61*4096", &["text:*4096"], None),
    ("10.4 text of 4,097 bytes", "81 7e 1001", &[], Some(MessageTooLong)),
    ("10.4 65,535 bytes", "82 7e ffff", &[], Some(MessageTooLong)),
    ("10.4 65,536 bytes", "82 7f 0000000000010000", &[], Some(MessageTooLong)),
    ("10.4 fragments of 4,095 and 1", "02 7e 0fff 00*4095 | 80 01 00", &["binary:00*4096"], None),
    ("10.4 fragments of 4,096 and 0", "02 7e 1000 00*4096 | 80 00", &["binary:00*4096"], None),
    ("10.4 fragments of 4,096 and 1", "02 7e 1000 00*4096 | 80 01 00", &[], Some(MessageTooLong)),
    ("10.4 fragments of 1 and 4,096", "02 01 00 | 80 7e 1000", &[], Some(MessageTooLong)),
    ("10.4 a first fragment that is too long", "01 7e 1001", &[], Some(MessageTooLong)),
    (
        "10.4 half of all lengths after a fragment",
        "02 01 00 | 00 7f 3fffffffffffffff",
        &[],
        Some(MessageTooLong),
    ),
    (
        "10.4 a too long message after a message",
        "82 02 9107 | 82 7e 1001",
        &["binary:9107"],
        Some(MessageTooLong),
    ),
    ("10.4 64 fragments", "02 01 91 | 00 01 07 x62 | 80 01 07", &["binary:91 07*63"], None),
    ("10.4 65 fragments", "02 01 91 | 00 01 07 x63 | 80 01 07", &[], Some(TooManyFragments)),
    ("10.4 63 fragments", "02 01 91 | 00 01 07 x61 | 80 01 07", &["binary:91 07*62"], None),
    ("10.4 64 empty fragments", "02 00 | 00 00 x62 | 80 00", &["binary:"], None),
    ("10.4 65 empty fragments", "02 00 | 00 00 x64", &[], Some(TooManyFragments)),
    ("10.4 empty fragments of a text", "01 00 | 00 00 x64", &[], Some(TooManyFragments)),
    (
        "10.4 fragments are counted anew for each message",
        "02 00 | 00 00 x60 | 80 02 9107 | 02 00 | 00 00 x60 | 80 02 9107",
        &["binary:9107"; 2],
        None,
    ),
    (
        "10.4 too many and too long at once",
        "02 01 91 | 00 00 x63 | 00 7f 0000000000010000",
        &[],
        Some(TooManyFragments),
    ),
    ("10.4 a ping after the last fragment allowed", "02 01 91 | 00 00 x63 | 89 01 07", &["ping:07"], None),
];
