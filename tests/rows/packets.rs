//! Rows of packets in MessagePack: the packet of each message, or the reason why it is dropped or
//! closes the connection.

#![allow(dead_code, reason = "each test program uses its part")]

use Outcome::{Closes, Drops, Is};

/// What comes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is this packet, with these arguments.
    Is(&'static str),
    /// It is ignored for this rule.
    Drops(&'static str),
    /// The connection is closed with 1007 for this rule.
    Closes(&'static str),
}

/// What, dialect, bytes, what comes of it.
pub type Row = (&'static str, &'static str, &'static str, Outcome);

const WRONG: Outcome = Drops("wrong_arguments");
const UNKNOWN: Outcome = Drops("unknown_code");

/// The rows.
pub const ROWS: &[Row] = &[
    // A number is a number, however many bytes it takes.
    ("1 in one byte", "legacy", "92 a23333 91 01", Is("move direction=1")),
    ("1 as u8", "legacy", "92 a23333 91 cc01", Is("move direction=1")),
    ("1 as u16", "legacy", "92 a23333 91 cd0001", Is("move direction=1")),
    ("1 as u32", "legacy", "92 a23333 91 ce00000001", Is("move direction=1")),
    ("1 as u64", "legacy", "92 a23333 91 cf0000000000000001", Is("move direction=1")),
    ("1 as i8", "legacy", "92 a23333 91 d001", Is("move direction=1")),
    ("1 as i16", "legacy", "92 a23333 91 d10001", Is("move direction=1")),
    ("1 as i32", "legacy", "92 a23333 91 d200000001", Is("move direction=1")),
    ("1 as i64", "legacy", "92 a23333 91 d30000000000000001", Is("move direction=1")),
    ("1 as f32", "legacy", "92 a23333 91 ca3f800000", Is("move direction=1")),
    ("1 as f64", "legacy", "92 a23333 91 cb3ff0000000000000", Is("move direction=1")),
    ("-1 as i64", "legacy", "92 a23333 91 d3ffffffffffffffff", Is("move direction=-1")),
    ("negative zero", "legacy", "92 a23333 91 cb8000000000000000", Is("move direction=0")),
    ("a nonce as u64", "native", "92 06 91 cf0000000000000005", Is("ping nonce=5")),
    ("a nonce as i8", "native", "92 06 91 d005", Is("ping nonce=5")),
    ("a nonce as f32", "native", "92 06 91 ca40a00000", Is("ping nonce=5")),
    ("a nonce as f64", "native", "92 06 91 cb4014000000000000", Is("ping nonce=5")),
    ("a nonce in the most bits of i32", "native", "92 06 91 d27fffffff", Is("ping nonce=2147483647")),
    ("the largest nonce", "native", "92 06 91 ceffffffff", Is("ping nonce=4294967295")),
    ("a nonce beyond", "native", "92 06 91 cf0000000100000000", WRONG),
    ("a negative nonce", "native", "92 06 91 ff", WRONG),
    ("a nonce with a fraction", "native", "92 06 91 cb4016000000000000", WRONG),
    ("the largest number of all as nonce", "native", "92 06 91 cfffffffffffffffff", WRONG),
    ("the smallest number of all as nonce", "native", "92 06 91 d38000000000000000", WRONG),
    ("a code as u64", "native", "92 cf0000000000000006 91 05", Is("ping nonce=5")),
    ("a code as i8", "native", "92 d006 91 05", Is("ping nonce=5")),
    ("a code as f64", "native", "92 cb4018000000000000 91 05", Is("ping nonce=5")),
    ("a code as text with an 8-bit length", "legacy", "92 d9023333 91 01", Is("move direction=1")),
    ("a code as text with a 32-bit length", "legacy", "92 db000000023333 91 01", Is("move direction=1")),
    ("an envelope with a 16-bit length", "legacy", "dc0002 a23333 91 01", Is("move direction=1")),
    ("an envelope with a 32-bit length", "legacy", "dd00000002 a23333 91 01", Is("move direction=1")),
    ("arguments with a 32-bit length", "legacy", "92 a23333 dd00000001 01", Is("move direction=1")),
    // What is no number.
    ("NaN", "legacy", "92 a23333 91 cb7ff8000000000000", WRONG),
    ("a NaN that signals", "legacy", "92 a23333 91 cb7ff0000000000001", WRONG),
    ("a negative NaN", "legacy", "92 a23333 91 cbfff8000000000000", WRONG),
    ("NaN in 32 bits", "legacy", "92 a23333 91 ca7fc00000", WRONG),
    ("infinity", "legacy", "92 a23333 91 cb7ff0000000000000", WRONG),
    ("minus infinity", "legacy", "92 a23333 91 cbfff0000000000000", WRONG),
    ("infinity in 32 bits", "legacy", "92 a23333 91 ca7f800000", WRONG),
    ("NaN as nonce", "native", "92 06 91 cb7ff8000000000000", WRONG),
    ("infinity as nonce", "native", "92 06 91 ca7f800000", WRONG),
    ("infinity as code", "native", "92 ca7f800000 91 05", Closes("packet_envelope")),
    ("a number as text", "legacy", "92 a23333 91 a131", WRONG),
    ("a number as bytes", "legacy", "92 a23333 91 c40101", WRONG),
    ("true as number", "native", "92 06 91 c3", WRONG),
    ("nil as number", "native", "92 06 91 c0", WRONG),
    ("an array as number", "native", "92 06 91 90", WRONG),
    ("a map as number", "native", "92 06 91 80", WRONG),
    // Text.
    ("text as bytes", "legacy", "92 a26368 91 c4026869", WRONG),
    (
        "text of 30 letters",
        "letters",
        "92 a136 91 be 61*30",
        Is("chat text=\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""),
    ),
    (
        "text of 31 letters is cut",
        "letters",
        "92 a136 91 bf 61*31",
        Is("chat text=\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""),
    ),
    ("text that is not UTF-8", "letters", "92 a136 91 a1ff", Closes("packet_invalid_utf8")),
    // Text that a person typed: surrogates of three bytes each.
    ("an emoji as two surrogates", "legacy", "92 a26368 91 a7 61 eda0bd edb0a6", Is("chat text=\"a🐦\"")),
    (
        "the first half of an emoji",
        "legacy",
        "92 a26368 91 a6 686920 eda0bd",
        Is("chat text=\"hi \u{fffd}\""),
    ),
    ("the second half of an emoji", "letters", "92 a136 91 a3 edb0a6", Is("chat text=\"\u{fffd}\"")),
    (
        "halves in the wrong order, and one too many",
        "native",
        "92 05 93 01 c0 ac edb0a6 eda0bd eda0bd edb0a6",
        Is("chat sequence=1 tick=null text=\"\u{fffd}\u{fffd}🐦\""),
    ),
    (
        "a name that was cut within an emoji",
        "letters",
        "92 a14d 91 81 a46e616d65 b1 61*14 eda0bd",
        Is("enter_game player={\"moofoll\":null,\"name\":\"aaaaaaaaaaaaaa\u{fffd}\",\"skin\":null}"),
    ),
    ("half an emoji in an argument too many", "native", "92 06 92 05 a3 eda0bd", Is("ping nonce=5")),
    ("half an emoji as the code", "letters", "92 a3 eda0bd 90", Closes("packet_invalid_utf8")),
    ("half an emoji as a key", "letters", "92 a14d 91 81 a3 eda0bd 01", Closes("packet_invalid_utf8")),
    ("half an emoji and a bad byte", "letters", "92 a136 91 a4 eda0bd ff", Closes("packet_invalid_utf8")),
    // Values that JavaScript converts.
    (
        "a flag of localStorage",
        "legacy",
        "92 a27370 91 83 a46e616d65 a3626f62 a76d6f6f666f6c6c a131 a4736b696e 00",
        Is("enter_game player={\"moofoll\":true,\"name\":\"bob\",\"skin\":0}"),
    ),
    ("NaN as a truth", "legacy", "92 a137 91 cb7ff8000000000000", Is("toggle what=0")),
    ("a float as a truth", "legacy", "92 a137 91 cb3fe0000000000000", Is("toggle what=1")),
    ("bytes as a truth", "legacy", "92 a137 91 c400", Is("toggle what=1")),
    ("an empty map as a truth", "legacy", "92 a137 91 80", Is("toggle what=1")),
    (
        "NaN as the heading of an attack",
        "letters",
        "92 a146 92 01 cb7ff8000000000000",
        Is("attack state=1 heading=null"),
    ),
    ("text with a nul", "letters", "92 a136 91 a3610062", Is("chat text=\"a\\u0000b\"")),
    // Counts.
    ("no arguments where one may be missing", "legacy", "91 a23333", Is("move direction=null")),
    ("nil in place of the arguments", "legacy", "92 a23333 c0", Is("move direction=null")),
    ("an argument too many", "native", "92 06 92 05 07", Is("ping nonce=5")),
    ("twenty arguments too many", "native", "92 06 dc0015 05 c0*20", Is("ping nonce=5")),
    ("a value behind the arguments", "native", "93 06 91 05 07", Is("ping nonce=5")),
    ("an argument too few", "native", "92 06 90", WRONG),
    ("no arguments where one must be", "native", "91 06", WRONG),
    (
        "more values than any packet may hold",
        "native",
        "92 06 dc0400 05 c0*1023",
        Closes("packet_too_many_values"),
    ),
    ("the arguments within one more array", "native", "92 06 91 91 05", WRONG),
    ("the envelope within one more array", "native", "91 92 06 91 05", Closes("packet_envelope")),
    ("two packets in one array", "native", "92 92 06 91 05 92 06 91 06", Closes("packet_envelope")),
    ("two packets in one message", "native", "92 06 91 05 92 06 91 06", Closes("packet_trailing_bytes")),
    // Maps.
    (
        "an empty map",
        "legacy",
        "92 a27370 91 80",
        Is("enter_game player={\"moofoll\":null,\"name\":null,\"skin\":null}"),
    ),
    (
        "keys in another order, and one that is unknown",
        "letters",
        "92 a14d 91 83 a4736b696e 02 a178 90 a46e616d65 a3616e6e",
        Is("enter_game player={\"moofoll\":null,\"name\":\"ann\",\"skin\":2}"),
    ),
    (
        "the same key twice",
        "letters",
        "92 a14d 91 82 a4736b696e 02 a4736b696e 03",
        Closes("packet_duplicate_key"),
    ),
    ("an unknown key twice", "letters", "92 a14d 91 82 a178 02 a178 03", Closes("packet_duplicate_key")),
    ("a number as key", "letters", "92 a14d 91 81 01 02", Closes("packet_key_not_text")),
    (
        "a name that is a number",
        "letters",
        "92 a14d 91 81 a46e616d65 07",
        Is("enter_game player={\"moofoll\":null,\"name\":\"7\",\"skin\":null}"),
    ),
    (
        "a map where a name belongs",
        "letters",
        "92 a14d 91 81 a46e616d65 80",
        Is("enter_game player={\"moofoll\":null,\"name\":null,\"skin\":null}"),
    ),
    ("an array in place of the map", "letters", "92 a14d 91 93 a3616e6e 00 02", Is("enter_game player=null")),
    // What no dialect has.
    ("a timestamp as argument", "native", "92 06 91 d6ff00000000", Closes("packet_ext_type")),
    ("an extension behind the arguments", "native", "93 06 91 05 d40000", Closes("packet_ext_type")),
    ("the reserved byte behind the arguments", "native", "93 06 91 05 c1", Closes("packet_reserved_byte")),
    (
        "arguments that are declared and not there",
        "native",
        "92 06 dd7fffffff 05",
        Closes("packet_declared_size"),
    ),
    ("half a packet", "native", "92 06", Closes("packet_declared_size")),
    ("too deep behind the arguments", "native", "93 06 91 05 91*6 90", Closes("packet_too_deep")),
    ("a code that nobody has", "native", "92 7f 90", UNKNOWN),
    ("code 0", "native", "92 00 90", UNKNOWN),
    ("a code beyond 32 bits", "native", "92 cf0000000100000006 91 05", UNKNOWN),
    ("a code of text where codes are numbers", "native", "92 a136 91 05", UNKNOWN),
    ("a name as code", "native", "92 a470696e67 91 05", UNKNOWN),
];
