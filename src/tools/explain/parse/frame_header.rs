//! Splits a frame header into its fields (RFC 6455, section 5.2).
//!
//! The output has one node for each field that is present, even if the header breaks a rule.
//! [`Header::decode`] validates the header, and [`blamed_range`] finds the field that breaks the
//! rule.
//!
//! [`Header::decode`]: crate::ws::frame::Header::decode

use std::ops::Range;

use crate::tools::explain::tree::{BYTE, Node, bits};
use crate::ws::frame::{
    self, Header, LENGTH, LENGTH_MARKER_16, LENGTH_MARKER_64, MASK, MASK_KEY_BYTES, OPCODE, Opcode, RSV1,
};
use crate::ws::{Side, Violation, extension};

/// Names of the fields (RFC 6455, section 5.2).
pub mod field {
    pub const FIN: &str = "fin";
    pub const RSV1: &str = "rsv1";
    pub const RSV2: &str = "rsv2";
    pub const RSV3: &str = "rsv3";
    pub const OPCODE: &str = "opcode";
    pub const MASK: &str = "mask";
    pub const LENGTH: &str = "payload_length";
    pub const EXTENDED: &str = "extended_payload_length";
    pub const KEY: &str = "masking_key";
}

/// The negotiated extensions, which determine the reserved bits that may be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extensions {
    /// None: every reserved bit is 0.
    #[default]
    None,
    /// Only permessage-deflate: RSV1 marks the first frame of a compressed message (RFC 7692,
    /// section 6).
    Deflate,
    /// Other extensions: any reserved bit may be set.
    Unknown,
}

impl Extensions {
    /// Parses the extension names of a response, without parameters.
    pub fn of<'n>(names: impl Iterator<Item = &'n str>) -> Extensions {
        names.fold(Extensions::None, |found, name| match found {
            Extensions::None if name.eq_ignore_ascii_case(extension::NAME) => Extensions::Deflate,
            _ => Extensions::Unknown,
        })
    }

    /// The reserved bits that may be set in a frame of this opcode.
    fn bits(self, opcode: u8) -> u8 {
        match (self, Opcode::new(opcode)) {
            (Extensions::Deflate, Some(Opcode::Text | Opcode::Binary)) => RSV1,
            (Extensions::Unknown, _) => frame::RSV,
            _ => 0,
        }
    }
}

/// Decodes a header as [`Header::decode`] does, except that the extensions permit reserved bits.
/// Also returns whether a permitted bit is set.
///
/// # Errors
/// The violated rule.
pub fn decode(
    bytes: &[u8],
    from: Side,
    extensions: Extensions,
) -> Result<Option<(Header, usize, bool)>, Violation> {
    let bits = bytes.first().map_or(0, |first| first & extensions.bits(first & OPCODE));
    if bits == 0 || extensions == Extensions::Deflate {
        let header = Header::decode_with(bytes, from, bits == RSV1)?;
        return Ok(header.map(|(header, size)| (header, size, header.compressed)));
    }
    let mut plain = [0; frame::MAX_HEADER_BYTES];
    let length = bytes.len().min(plain.len());
    plain[..length].copy_from_slice(&bytes[..length]);
    plain[0] &= !bits;
    Ok(Header::decode(&plain[..length], from)?.map(|(header, size)| (header, size, true)))
}

/// The fields of a header, and the values derived from them.
#[derive(Debug)]
pub struct HeaderLayout {
    /// The fields that are present, in order; the last one may be truncated.
    pub fields: Vec<Node>,
    /// The offset after the header, or the end of the input.
    pub end: usize,
    /// The declared payload length in bytes; `None` if the length field is truncated.
    pub length: Option<u64>,
    /// The masking key; `None` if the payload is not masked or the key is truncated.
    pub key: Option<[u8; MASK_KEY_BYTES]>,
}

impl HeaderLayout {
    /// Describes RSV1 of the first frame of a compressed message.
    pub fn set_compressed(&mut self, is_compressed: bool) {
        let rsv1 = self.fields.iter_mut().find(|node| node.name == field::RSV1);
        if let Some(node) = rsv1.filter(|_| is_compressed) {
            node.value = "1, the message is compressed".to_owned();
        }
    }
}

/// Splits the header that begins at byte `start`, of a frame sent by `from`.
pub fn parse_header(bytes: &[u8], start: usize, from: Side) -> HeaderLayout {
    let mut layout = HeaderLayout { fields: Vec::new(), end: start, length: None, key: None };
    let Some(&first) = bytes.get(start) else { return layout };
    layout.fields.extend(first_byte(first, start * BYTE));
    layout.end += 1;
    let Some(&second) = bytes.get(layout.end) else { return layout };
    layout.fields.extend(second_byte(second, layout.end * BYTE, from));
    layout.end += 1;

    let extended_bytes = match second & LENGTH {
        LENGTH_MARKER_16 => 2,
        LENGTH_MARKER_64 => 8,
        short => {
            layout.length = Some(u64::from(short));
            0
        }
    };
    if let Some((place, whole)) = take(bytes, &mut layout.end, extended_bytes) {
        let number = bytes[place.clone()].iter().fold(0, |number, &byte| number << BYTE | u64::from(byte));
        layout.length = whole.then_some(number);
        layout.fields.push(match whole {
            true => Node::leaf(field::EXTENDED, bits(place), number.to_string()).raw(number),
            false => Node::of_bytes(field::EXTENDED, place.start, &bytes[place], "cut"),
        });
    }
    if second & MASK != 0
        && let Some((place, whole)) = take(bytes, &mut layout.end, MASK_KEY_BYTES)
    {
        layout.key = bytes[place.clone()].first_chunk().copied();
        let value =
            if whole { crate::tools::explain::hex::print(&bytes[place.clone()]) } else { "cut".to_owned() };
        layout.fields.push(Node::of_bytes(field::KEY, place.start, &bytes[place], value));
    }
    layout
}

/// Takes up to `size` bytes. Returns their range, and whether there were enough; `None` if there
/// are none.
fn take(bytes: &[u8], at: &mut usize, size: usize) -> Option<(Range<usize>, bool)> {
    let place = *at..bytes.len().min(*at + size);
    *at = place.end;
    (!place.is_empty()).then(|| (place.clone(), place.len() == size))
}

fn first_byte(byte: u8, at: usize) -> [Node; 5] {
    let bit = |name, place: usize, words: [&str; 2]| {
        let set = usize::from(byte >> (BYTE - 1 - place) & 1);
        Node::leaf(name, at + place..at + place + 1, format!("{set}, {}", words[set])).raw(set == 1)
    };
    let reserved = ["no extension", "reserved for an extension"];
    let opcode = byte & OPCODE;
    let name = Opcode::new(opcode).map_or("reserved", Opcode::name);
    [
        bit(field::FIN, 0, ["the message continues in another frame", "the message ends with this frame"]),
        bit(field::RSV1, 1, reserved),
        bit(field::RSV2, 2, reserved),
        bit(field::RSV3, 3, reserved),
        Node::leaf(field::OPCODE, at + 4..at + BYTE, format!("{opcode}, {name}")).raw(opcode),
    ]
}

fn second_byte(byte: u8, at: usize, from: Side) -> [Node; 2] {
    let is_masked = byte & MASK != 0;
    let masked = match (is_masked, from) {
        (true, Side::Client) => "1, masked: as a client must",
        (true, Side::Server) => "1, masked: a server must not mask",
        (false, Side::Client) => "0, not masked: a client must mask",
        (false, Side::Server) => "0, not masked: as a server must",
    };
    let length = match byte & LENGTH {
        LENGTH_MARKER_16 => "126: the length follows in 16 bits".to_owned(),
        LENGTH_MARKER_64 => "127: the length follows in 64 bits".to_owned(),
        short => short.to_string(),
    };
    [
        Node::leaf(field::MASK, at..at + 1, masked).raw(is_masked),
        Node::leaf(field::LENGTH, at + 1..at + BYTE, length).raw(byte & LENGTH),
    ]
}

/// Returns the bits of the field that breaks a rule of the header.
pub fn blamed_range(violation: Violation, bytes: &[u8], start: usize, layout: &HeaderLayout) -> Range<usize> {
    let place =
        |name| layout.fields.iter().find(|node: &&Node| node.name == name).map(|node| node.bits.clone());
    let found = match violation {
        Violation::ReservedBit => {
            let first_set = (bytes.get(start).unwrap_or(&0) & frame::RSV).leading_zeros() as usize;
            Some(start * BYTE + first_set..start * BYTE + first_set + 1)
        }
        Violation::ReservedOpcode | Violation::ContinuationWithoutStart | Violation::MessageInterrupted => {
            place(field::OPCODE)
        }
        Violation::ControlFragmented => place(field::FIN),
        Violation::MaskMissing | Violation::MaskForbidden => place(field::MASK),
        Violation::ControlTooLong => place(field::LENGTH),
        Violation::LengthTopBit => place(field::EXTENDED).map(|bits| bits.start..bits.start + 1),
        _ => place(field::EXTENDED),
    };
    found.unwrap_or(bits(start..layout.end))
}
