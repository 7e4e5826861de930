//! The examples of RFC 6455 itself, and the limits of its length field, as rows: name, hex, header,
//! payload.
//!
//! Flip a bit in a row and read the violation. Each row is decoded whole and one byte at a time, and encoded back.

#[path = "rows/hex.rs"]
mod hex;

use tickwire::ws::frame::{self, Header, Opcode};
use tickwire::ws::{Side, Violation, handshake};

/// Name with its section, the frame, who sends it, FIN, opcode, key, payload.
type Row = (&'static str, &'static str, Side, bool, Opcode, Option<[u8; 4]>, &'static str);

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

const ROWS: &[Row] = &[
    // Section 5.7, in its order.
    ("5.7 text, unmasked", "81 05 48656c6c6f", Side::Server, true, Opcode::Text, None, "48656c6c6f"),
    (
        "5.7 text, masked",
        "81 85 37fa213d 7f9f4d5158",
        Side::Client,
        true,
        Opcode::Text,
        Some(KEY),
        "48656c6c6f",
    ),
    ("5.7 first fragment", "01 03 48656c", Side::Server, false, Opcode::Text, None, "48656c"),
    ("5.7 last fragment", "80 02 6c6f", Side::Server, true, Opcode::Continuation, None, "6c6f"),
    ("5.7 ping", "89 05 48656c6c6f", Side::Server, true, Opcode::Ping, None, "48656c6c6f"),
    (
        "5.7 pong, masked",
        "8a 85 37fa213d 7f9f4d5158",
        Side::Client,
        true,
        Opcode::Pong,
        Some(KEY),
        "48656c6c6f",
    ),
    ("5.7 256 bytes", "82 7e 0100 ab*256", Side::Server, true, Opcode::Binary, None, "ab*256"),
    ("5.7 64 KiB", "82 7f 0000000000010000 ab*65536", Side::Server, true, Opcode::Binary, None, "ab*65536"),
    // Section 5.2: each form of the length, at both its ends.
    ("5.2 empty", "82 00", Side::Server, true, Opcode::Binary, None, ""),
    ("5.2 empty, masked", "82 80 37fa213d", Side::Client, true, Opcode::Binary, Some(KEY), ""),
    ("5.2 longest in 7 bits", "82 7d 00*125", Side::Server, true, Opcode::Binary, None, "00*125"),
    ("5.2 shortest in 16 bits", "82 7e 007e 00*126", Side::Server, true, Opcode::Binary, None, "00*126"),
    ("5.2 longest in 16 bits", "82 7e ffff 00*65535", Side::Server, true, Opcode::Binary, None, "00*65535"),
    // Section 5.5: control frames at their longest, and one without a payload.
    ("5.5.1 close", "88 02 03e8", Side::Server, true, Opcode::Close, None, "03e8"),
    ("5.5.2 longest ping", "89 7d 61*125", Side::Server, true, Opcode::Ping, None, "61*125"),
    ("5.5.3 empty pong", "8a 00", Side::Server, true, Opcode::Pong, None, ""),
    // Section 5.3: payload that is not a multiple of the key, with a key of which each byte matters.
    (
        "5.3 seven bytes",
        "82 87 01020408 01020408 010204",
        Side::Client,
        true,
        Opcode::Binary,
        Some([1, 2, 4, 8]),
        "00*7",
    ),
];

fn header((_, _, _, fin, opcode, mask, payload): &Row) -> Header {
    Header {
        fin: *fin,
        compressed: false,
        opcode: *opcode,
        mask: *mask,
        length: hex::bytes(payload).len() as u64,
    }
}

#[test]
fn each_row_decodes_to_its_header_and_payload() {
    for row in ROWS {
        let (name, frame, from, .., mask, payload) = row;
        let mut bytes = hex::bytes(frame);
        let (decoded, size) = Header::decode(&bytes, *from).expect(name).expect(name);
        assert_eq!(decoded, header(row), "{name}");
        if let Some(key) = mask {
            frame::mask(&mut bytes[size..], *key, 0);
        }
        assert_eq!(bytes[size..], hex::bytes(payload), "{name}");
    }
}

#[test]
fn each_row_one_byte_at_a_time_is_not_yet_a_header_and_then_the_same_one() {
    for row in ROWS {
        let (name, frame, from, ..) = row;
        let bytes = hex::bytes(frame);
        let (_, size) = Header::decode(&bytes, *from).expect(name).expect(name);
        for come in 0..size {
            assert_eq!(Header::decode(&bytes[..come], *from), Ok(None), "{name}: {come} bytes");
        }
        for come in size..bytes.len().min(size + 10) {
            assert_eq!(
                Header::decode(&bytes[..come], *from),
                Ok(Some((header(row), size))),
                "{name}: {come} bytes"
            );
        }
    }
}

#[test]
fn each_row_encodes_to_its_bytes() {
    for row in ROWS {
        let (name, frame, .., mask, payload) = row;
        let mut payload = hex::bytes(payload);
        let mut out = Vec::new();
        header(row).encode(&mut out);
        if let Some(key) = mask {
            frame::mask(&mut payload, *key, 0);
        }
        out.extend_from_slice(&payload);
        assert_eq!(out, hex::bytes(frame), "{name}");
    }
}

#[test]
fn a_complete_frame_is_encoded_in_one_call() {
    for (name, frame, _, fin, opcode, mask, payload) in ROWS.iter().filter(|row| row.3) {
        let mut out = vec![0xEE];
        frame::write(&mut out, *opcode, *mask, &hex::bytes(payload));
        assert!(*fin && out[0] == 0xEE && out[1..] == hex::bytes(frame), "{name}");
    }
    let mut out = Vec::new();
    frame::write_text(&mut out, "Hello");
    frame::write_binary(&mut out, &[1, 2]);
    assert_eq!(out, hex::bytes("81 05 48656c6c6f 82 02 0102"));
}

#[test]
fn section_5_3_masking_in_pieces_is_masking_at_once() {
    let plain: Vec<u8> = (0..=255).cycle().take(1000).collect();
    let mut whole = plain.clone();
    frame::mask(&mut whole, KEY, 0);
    for (at, byte) in whole.iter().enumerate() {
        assert_eq!(*byte, plain[at] ^ KEY[at % 4], "byte {at}");
    }
    for size in [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 999] {
        let mut pieces = plain.clone();
        let mut offset = 0;
        for piece in pieces.chunks_mut(size) {
            frame::mask(piece, KEY, offset);
            offset += piece.len();
        }
        assert_eq!(pieces, whole, "pieces of {size}");
    }
}

#[test]
fn flipping_one_bit_of_the_eleven_bytes_gives_the_violation_of_that_bit() {
    let eleven = hex::bytes("81 85 37fa213d 7f9f4d5158");
    let flipped = |byte: usize, mask: u8| {
        let mut bytes = eleven.clone();
        bytes[byte] ^= mask;
        Header::decode(&bytes, Side::Client)
    };
    assert_eq!(flipped(0, 0b0100_0000), Err(Violation::ReservedBit));
    assert_eq!(flipped(0, 0b0010_0000), Err(Violation::ReservedBit));
    assert_eq!(flipped(0, 0b0001_0000), Err(Violation::ReservedBit));
    assert_eq!(flipped(0, 0b0000_0010), Err(Violation::ReservedOpcode));
    assert_eq!(flipped(1, 0b1000_0000), Err(Violation::MaskMissing));
    assert_eq!(Header::decode(&eleven, Side::Server), Err(Violation::MaskForbidden));
}

#[test]
fn every_opcode_and_its_four_bits() {
    let known = [0x0, 0x1, 0x2, 0x8, 0x9, 0xA];
    for bits in 0..16 {
        let opcode = Opcode::new(bits);
        assert_eq!(opcode.is_some(), known.contains(&bits), "{bits:#x}");
        if let Some(opcode) = opcode {
            assert_eq!(opcode as u8, bits);
            assert_eq!(opcode.is_control(), bits >= 8, "{bits:#x}");
        }
    }
}

#[test]
fn section_1_3_accept_key() {
    assert_eq!(handshake::accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(handshake::encode_key(*b"the sample nonce"), "dGhlIHNhbXBsZSBub25jZQ==");
}

#[test]
fn a_header_prints_itself_in_one_line() {
    let header = Header { fin: true, compressed: false, opcode: Opcode::Text, mask: Some(KEY), length: 5 };
    assert_eq!(header.to_string(), "text, masked, 5 bytes");
    let header =
        Header { fin: false, compressed: false, opcode: Opcode::Continuation, mask: None, length: 0 };
    assert_eq!(header.to_string(), "continuation, not the last, 0 bytes");
}
