//! Encodes frames and payloads of right answers.

use crate::tools::explain::tree::BYTE;
use crate::ws::frame::{self, Header, MASK_KEY_BYTES, Opcode};

/// Returns a frame.
pub fn frame(opcode: Opcode, key: Option<[u8; MASK_KEY_BYTES]>, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(&mut out, opcode, key, payload);
    out
}

/// Returns a header.
pub fn header(fin: bool, opcode: Opcode, mask: Option<[u8; MASK_KEY_BYTES]>, length: u64) -> Vec<u8> {
    let mut out = Vec::new();
    Header { fin, compressed: false, opcode, mask, length }.encode(&mut out);
    out
}

/// Returns the frames of a text that is cut after `first` bytes, with a ping between them.
pub fn with_ping(text: &str, first: usize) -> Vec<u8> {
    let (one, other) = text.as_bytes().split_at(first);
    let mut out = header(false, Opcode::Text, None, one.len() as u64);
    out.extend([one, frame::EMPTY_PING].concat());
    out.extend(header(true, Opcode::Continuation, None, other.len() as u64));
    out.extend(other);
    out
}

/// Compresses ASCII text with the fixed codes of DEFLATE (RFC 1951, section 3.2.6), without
/// distances, as a message of permessage-deflate.
pub fn fixed_block(text: &str) -> Vec<u8> {
    /// BFINAL 0 and BTYPE 01, least significant bit first.
    const HEADER: u8 = 0b010;
    const HEADER_BITS: usize = 3;
    /// Bits of the end of the block, and of the header of the empty stored block; all 0.
    const END_BITS: usize = 7 + 3;
    /// The code of the byte 0. A code begins with its most significant bit.
    const FIRST_CODE: u8 = 0x30;
    let mut out = vec![0; (HEADER_BITS + text.len() * BYTE + END_BITS).div_ceil(BYTE)];
    out[0] = HEADER;
    for (at, byte) in text.bytes().enumerate() {
        let code = (byte + FIRST_CODE).reverse_bits();
        out[at] |= code << HEADER_BITS;
        out[at + 1] |= code >> (BYTE - HEADER_BITS);
    }
    out
}
