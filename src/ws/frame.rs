//! One frame: RFC 6455 section 5.2, drawn and then implemented.
//!
//! This module decodes bytes into a [`Header`] and encodes a [`Header`] into bytes. Decoding checks
//! every rule that a single header can break; rules about sequences of frames are in
//! [`message`](super::message). It never allocates for a payload, keeps no state, and knows nothing
//! of sockets.

use std::fmt;

use super::Side;
use super::violation::Violation;

/// The final fragment of a message (first byte).
pub const FIN: u8 = 0b1000_0000;
/// Reserved for extensions; we never negotiate any (first byte).
pub const RSV: u8 = 0b0111_0000;
/// The opcode (first byte).
pub const OPCODE: u8 = 0b0000_1111;
/// The payload is masked, and the key precedes it (second byte).
pub const MASK: u8 = 0b1000_0000;
/// The payload length, or the marker of an extended length (second byte).
pub const LENGTH: u8 = 0b0111_1111;

/// Longest payload whose length fits the seven bits.
pub const LENGTH_7_MAX: u64 = 125;
/// In the seven bits: the length follows in 16 bits, big-endian.
pub const LENGTH_MARKER_16: u8 = 126;
/// In the seven bits: the length follows in 64 bits, big-endian, the top one 0.
pub const LENGTH_MARKER_64: u8 = 127;
/// Longest payload whose length fits 16 bits.
pub const LENGTH_16_MAX: u64 = u16::MAX as u64;
/// The bit that must be 0 in a 64-bit length.
const LENGTH_64_TOP_BIT: u64 = 1 << 63;
/// Longest payload of a control frame: section 5.5.
pub const MAX_CONTROL_PAYLOAD_BYTES: usize = 125;
/// Bytes of the masking key.
pub const MASK_KEY_BYTES: usize = 4;
/// Bytes of the longest header: two, a 64-bit length, a key.
pub const MAX_HEADER_BYTES: usize = 2 + 8 + MASK_KEY_BYTES;

/// The opcode of a frame: section 11.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// The preceding message continues.
    Continuation = 0x0,
    /// A UTF-8 text message begins.
    Text = 0x1,
    /// A binary message begins.
    Binary = 0x2,
    /// The sender will send nothing more.
    Close = 0x8,
    /// Asks the peer for a pong.
    Ping = 0x9,
    /// Answers a ping with the ping's payload.
    Pong = 0xA,
}

impl Opcode {
    /// The opcode of these four bits, or `None` for 3 to 7 and 11 to 15, which are reserved.
    pub const fn new(bits: u8) -> Option<Opcode> {
        match bits {
            0x0 => Some(Opcode::Continuation),
            0x1 => Some(Opcode::Text),
            0x2 => Some(Opcode::Binary),
            0x8 => Some(Opcode::Close),
            0x9 => Some(Opcode::Ping),
            0xA => Some(Opcode::Pong),
            _ => None,
        }
    }

    /// Close, ping and pong: short, whole, and allowed between the fragments of a message (section 5.5).
    pub const fn is_control(self) -> bool {
        self as u8 & 0b1000 != 0
    }

    /// The RFC's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Opcode::Continuation => "continuation",
            Opcode::Text => "text",
            Opcode::Binary => "binary",
            Opcode::Close => "close",
            Opcode::Ping => "ping",
            Opcode::Pong => "pong",
        }
    }
}

/// The header that precedes a payload.
///
/// ```text
///   0                   1                   2                   3
///   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///  +-+-+-+-+-------+-+-------------+-------------------------------+
///  |F|R|R|R| opcode|M| payload len |    extended payload length    |
///  |I|S|S|S|  (4)  |A|     (7)     |           (16 or 64)          |
///  |N|V|V|V|       |S|             |   if payload len is 126, 127  |
///  | |1|2|3|       |K|             |                               |
///  +-+-+-+-+-------+-+-------------+ - - - - - - - - - - - - - - - +
///  |       extended payload length continued, if payload len is 127|
///  + - - - - - - - - - - - - - - - +-------------------------------+
///  |                               |  masking key, if MASK is 1    |
///  +-------------------------------+-------------------------------+
///  |     masking key continued     |         payload data          |
///  +-------------------------------+ - - - - - - - - - - - - - - - +
///  :                    payload data continued                     :
///  +---------------------------------------------------------------+
/// ```
///
/// The reserved bits have no field: a frame that sets one is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether this is the last frame of its message.
    pub fin: bool,
    /// What the frame is.
    pub opcode: Opcode,
    /// The masking key, if the payload is masked.
    pub mask: Option<[u8; MASK_KEY_BYTES]>,
    /// Declared payload length in bytes; below 2^63. Check it against a limit before reserving
    /// memory for it.
    pub length: u64,
}

impl Header {
    /// Decodes the header at the start of `bytes`. Returns the header and its size in bytes, or
    /// `None` if the header is incomplete.
    ///
    /// The fields are checked in order, so the result does not depend on how the bytes were split.
    ///
    /// # Errors
    /// The first violation, in the order of the bytes.
    pub fn decode(bytes: &[u8], from: Side) -> Result<Option<(Header, usize)>, Violation> {
        let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
        let fin = first & FIN != 0;
        if first & RSV != 0 {
            return Err(Violation::ReservedBit);
        }
        let opcode = Opcode::new(first & OPCODE).ok_or(Violation::ReservedOpcode)?;
        if opcode.is_control() && !fin {
            return Err(Violation::ControlFragmented);
        }

        let Some((&second, rest)) = rest.split_first() else { return Ok(None) };
        let masked = second & MASK != 0;
        match (from, masked) {
            (Side::Client, false) => return Err(Violation::MaskMissing),
            (Side::Server, true) => return Err(Violation::MaskForbidden),
            _ => {}
        }
        if opcode.is_control() && u64::from(second & LENGTH) > MAX_CONTROL_PAYLOAD_BYTES as u64 {
            return Err(Violation::ControlTooLong);
        }

        let Some((length, rest)) = decode_length(second & LENGTH, rest)? else { return Ok(None) };
        let Some((mask, rest)) = decode_mask(masked, rest) else { return Ok(None) };
        Ok(Some((Header { fin, opcode, mask, length }, bytes.len() - rest.len())))
    }

    /// Appends the header to `out`, with the length in its shortest form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let fin = if self.fin { FIN } else { 0 };
        let mask = if self.mask.is_some() { MASK } else { 0 };
        out.push(fin | self.opcode as u8);
        if self.length <= LENGTH_7_MAX {
            out.push(mask | self.length as u8);
        } else if let Ok(length) = u16::try_from(self.length) {
            out.push(mask | LENGTH_MARKER_16);
            out.extend_from_slice(&length.to_be_bytes());
        } else {
            out.push(mask | LENGTH_MARKER_64);
            out.extend_from_slice(&self.length.to_be_bytes());
        }
        out.extend(self.mask.iter().flatten());
    }
}

/// Decodes the payload length that the seven bits introduce; returns it with the remaining bytes.
fn decode_length(seven_bits: u8, bytes: &[u8]) -> Result<Option<(u64, &[u8])>, Violation> {
    let (length, shorter_max, rest) = match seven_bits {
        LENGTH_MARKER_16 => {
            let Some((field, rest)) = bytes.split_first_chunk() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*field)), LENGTH_7_MAX, rest)
        }
        LENGTH_MARKER_64 => {
            let Some((field, rest)) = bytes.split_first_chunk() else { return Ok(None) };
            (u64::from_be_bytes(*field), LENGTH_16_MAX, rest)
        }
        short => return Ok(Some((u64::from(short), bytes))),
    };
    match length {
        _ if length & LENGTH_64_TOP_BIT != 0 => Err(Violation::LengthTopBit),
        _ if length <= shorter_max => Err(Violation::LengthNotMinimal),
        _ => Ok(Some((length, rest))),
    }
}

/// Decodes the masking key, if the frame is masked; returns it with the remaining bytes.
fn decode_mask(masked: bool, bytes: &[u8]) -> Option<(Option<[u8; MASK_KEY_BYTES]>, &[u8])> {
    if !masked {
        return Some((None, bytes));
    }
    let (key, rest) = bytes.split_first_chunk()?;
    Some((Some(*key), rest))
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fin = if self.fin { "" } else { ", not the last" };
        let mask = if self.mask.is_some() { ", masked" } else { "" };
        let bytes = if self.length == 1 { "byte" } else { "bytes" };
        write!(f, "{}{fin}{mask}, {} {bytes}", self.opcode.name(), self.length)
    }
}

/// Masks or unmasks a piece of a payload that starts at byte `offset` of the payload: `piece[i] ^=
/// key[(offset + i) % 4]` (section 5.3). Masking and unmasking are the same operation.
pub fn mask(piece: &mut [u8], key: [u8; MASK_KEY_BYTES], offset: usize) {
    /// Bytes of a word: the key twice. The compiler takes two or four words at once, with the vectors of the machine.
    const WORD: usize = 2 * MASK_KEY_BYTES;
    let wide: [u8; WORD] = std::array::from_fn(|at| key[(offset + at) % MASK_KEY_BYTES]);
    let (words, rest) = piece.as_chunks_mut::<WORD>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(wide)).to_ne_bytes();
    }
    rest.iter_mut().zip(wide).for_each(|(byte, key)| *byte ^= key);
}

/// Appends a whole frame: the header, and the payload, masked if there is a key.
pub fn write(out: &mut Vec<u8>, opcode: Opcode, key: Option<[u8; MASK_KEY_BYTES]>, payload: &[u8]) {
    Header { fin: true, opcode, mask: key, length: payload.len() as u64 }.encode(out);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = key {
        mask(&mut out[start..], key, 0);
    }
}

/// An unmasked ping without payload, as a server sends it.
pub const EMPTY_PING: &[u8] = &[0x89, 0];

/// Appends an unmasked frame with a whole text message, as a server sends it.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    write(out, Opcode::Text, None, text.as_bytes());
}

/// Appends an unmasked frame with a whole binary message, as a server sends it.
pub fn write_binary(out: &mut Vec<u8>, payload: &[u8]) {
    write(out, Opcode::Binary, None, payload);
}
