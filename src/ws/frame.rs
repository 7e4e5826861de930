//! One frame: the layout of RFC 6455, section 5.2.
//!
//! This module decodes bytes into a [`Header`] and encodes a [`Header`] into bytes. Decoding checks
//! every rule that a single header can break; [`message`](super::message) checks the rules about
//! sequences of frames. The module allocates no payload, stores no state, and uses no socket.

use std::fmt;

use super::Side;
use super::violation::Violation;

/// Mask of the FIN bit in the first byte: the final fragment of a message.
pub const FIN: u8 = 0b1000_0000;
/// Mask of the three reserved bits in the first byte. They belong to extensions.
pub const RSV: u8 = 0b0111_0000;
/// Mask of the first reserved bit: with permessage-deflate, the message is compressed (RFC 7692,
/// section 6).
pub const RSV1: u8 = 0b0100_0000;
/// Mask of the opcode in the first byte.
pub const OPCODE: u8 = 0b0000_1111;
/// Mask of the MASK bit in the second byte: the payload is masked, and its key precedes it.
pub const MASK: u8 = 0b1000_0000;
/// Mask of the payload length in the second byte, or of the marker of an extended length.
pub const LENGTH: u8 = 0b0111_1111;

/// Longest payload with a 7-bit length.
pub const LENGTH_7_MAX: u64 = 125;
/// Value of the 7 bits if the length follows in 16 bits, big-endian.
pub const LENGTH_MARKER_16: u8 = 126;
/// Value of the 7 bits if the length follows in 64 bits, big-endian, with the top bit 0.
pub const LENGTH_MARKER_64: u8 = 127;
/// Longest payload with a 16-bit length.
pub const LENGTH_16_MAX: u64 = u16::MAX as u64;
/// The bit that must be 0 in a 64-bit length.
const LENGTH_64_TOP_BIT: u64 = 1 << 63;
/// Longest payload of a control frame: RFC 6455, section 5.5.
pub const MAX_CONTROL_PAYLOAD_BYTES: usize = 125;
/// Length of the masking key in bytes.
pub const MASK_KEY_BYTES: usize = 4;
/// Length of the longest header in bytes: two bytes, a 64-bit length and a key.
pub const MAX_HEADER_BYTES: usize = 2 + 8 + MASK_KEY_BYTES;

/// The opcode of a frame: RFC 6455, section 11.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// The next fragment of the current message.
    Continuation = 0x0,
    /// The first frame of a text message, in UTF-8.
    Text = 0x1,
    /// The first frame of a binary message.
    Binary = 0x2,
    /// The last frame of its sender.
    Close = 0x8,
    /// A request for a pong.
    Ping = 0x9,
    /// A response to a ping, with the ping's payload, or an unsolicited pong.
    Pong = 0xA,
}

impl Opcode {
    /// Converts the four bits of an opcode. Returns `None` for the reserved values 3 to 7 and 11 to
    /// 15.
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

    /// Whether this is close, ping or pong. Control frames are short, are never fragmented, and may
    /// appear between the fragments of a message (RFC 6455, section 5.5).
    pub const fn is_control(self) -> bool {
        self as u8 & 0b1000 != 0
    }

    /// The name of the opcode in RFC 6455.
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
/// RSV2 and RSV3 have no field, because a frame that sets one is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether this is the last frame of its message.
    pub fin: bool,
    /// Whether RSV1 is set: the message that begins with this frame is compressed.
    pub compressed: bool,
    /// The opcode.
    pub opcode: Opcode,
    /// The masking key, if the payload is masked.
    pub mask: Option<[u8; MASK_KEY_BYTES]>,
    /// Declared payload length in bytes; below 2^63. Check it against a limit before reserving
    /// memory.
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
        Header::decode_with(bytes, from, false)
    }

    /// Like [`Header::decode`]. With `deflate`, both ends have agreed on permessage-deflate, and
    /// RSV1 may be set in the first frame of a text or binary message.
    ///
    /// # Errors
    /// As [`Header::decode`].
    pub fn decode_with(
        bytes: &[u8],
        from: Side,
        deflate: bool,
    ) -> Result<Option<(Header, usize)>, Violation> {
        let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
        let (fin, compressed) = (first & FIN != 0, first & RSV1 != 0);
        let may_compress =
            deflate && matches!(Opcode::new(first & OPCODE), Some(Opcode::Text | Opcode::Binary));
        if first & RSV & !(if may_compress { RSV1 } else { 0 }) != 0 {
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
        Ok(Some((Header { fin, compressed, opcode, mask, length }, bytes.len() - rest.len())))
    }

    /// Appends the header to `out`, with the length in its shortest form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let fin = if self.fin { FIN } else { 0 };
        let rsv1 = if self.compressed { RSV1 } else { 0 };
        let mask = if self.mask.is_some() { MASK } else { 0 };
        out.push(fin | rsv1 | self.opcode as u8);
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

/// Decodes the payload length from `seven_bits` and, if extended, from `bytes`. Returns the length
/// and the remaining bytes.
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

/// Decodes the masking key, if the frame is masked. Returns the key and the remaining bytes.
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
        let compressed = if self.compressed { ", compressed" } else { "" };
        let mask = if self.mask.is_some() { ", masked" } else { "" };
        let bytes = if self.length == 1 { "byte" } else { "bytes" };
        write!(f, "{}{fin}{compressed}{mask}, {} {bytes}", self.opcode.name(), self.length)
    }
}

/// Masks or unmasks a piece of a payload: `piece[i] ^= key[(offset + i) % 4]` (RFC 6455, section
/// 5.3). `offset` is the position of the piece in the payload, in bytes. Masking and unmasking are
/// the same operation.
pub fn mask(piece: &mut [u8], key: [u8; MASK_KEY_BYTES], offset: usize) {
    /// Bytes of a word: the key twice. The compiler combines words with vector instructions.
    const WORD: usize = 2 * MASK_KEY_BYTES;
    let wide: [u8; WORD] = std::array::from_fn(|at| key[(offset + at) % MASK_KEY_BYTES]);
    let (words, rest) = piece.as_chunks_mut::<WORD>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(wide)).to_ne_bytes();
    }
    rest.iter_mut().zip(wide).for_each(|(byte, key)| *byte ^= key);
}

/// Appends a whole frame: the header and the payload, which is masked if `key` is not `None`.
pub fn write(out: &mut Vec<u8>, opcode: Opcode, key: Option<[u8; MASK_KEY_BYTES]>, payload: &[u8]) {
    let header = Header { fin: true, compressed: false, opcode, mask: key, length: payload.len() as u64 };
    write_frame(out, &header, payload);
}

/// Appends a frame with this header, which has the length of `payload`.
pub fn write_frame(out: &mut Vec<u8>, header: &Header, payload: &[u8]) {
    header.encode(out);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = header.mask {
        mask(&mut out[start..], key, 0);
    }
}

/// An unmasked ping without payload, for a server to send.
pub const EMPTY_PING: &[u8] = &[0x89, 0];

/// Appends an unmasked frame with a whole text message, for a server to send.
pub fn write_text(out: &mut Vec<u8>, text: &str) {
    write(out, Opcode::Text, None, text.as_bytes());
}

/// Appends an unmasked frame with a whole binary message, for a server to send.
pub fn write_binary(out: &mut Vec<u8>, payload: &[u8]) {
    write(out, Opcode::Binary, None, payload);
}
