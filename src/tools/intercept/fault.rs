//! Encodes messages that the proxy sends instead of received ones, also with a fault.

use super::rule::Fault;
use crate::ws::Side;
use crate::ws::frame::{
    self, FIN, Header, LENGTH, LENGTH_7_MAX, LENGTH_MARKER_16, LENGTH_MARKER_64, MASK, Opcode, RSV,
};

/// An opcode that RFC 6455 reserves for data frames.
const RESERVED_OPCODE: u8 = 0x3;
/// The mask of RSV3.
const RSV3: u8 = 0b0001_0000;
/// A byte that no UTF-8 text has.
const NEVER_UTF8: u8 = 0xff;
/// The masking key if the message had none: the one in the examples of RFC 6455, section 5.7.
const EXAMPLE_KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A message to encode.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'a> {
    /// The sender for which it is sent.
    pub from: Side,
    /// The opcode.
    pub opcode: Opcode,
    /// The masking key of a client.
    pub key: Option<[u8; 4]>,
    /// The payload, unmasked.
    pub payload: &'a [u8],
}

impl OutgoingMessage<'_> {
    /// The key of a valid frame: a client masks, a server does not.
    fn valid_key(&self) -> Option<[u8; 4]> {
        (self.from == Side::Client).then(|| self.key.unwrap_or(EXAMPLE_KEY))
    }

    /// Encodes the message as one valid frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, self.opcode, self.valid_key(), self.payload);
        bytes
    }

    /// Encodes the message as one frame with a fault.
    pub fn encode_with(&self, fault: Fault) -> Vec<u8> {
        let mut bytes = Vec::new();
        match fault {
            Fault::Mask => {
                let key = if self.from == Side::Client { None } else { Some(EXAMPLE_KEY) };
                frame::write(&mut bytes, self.opcode, key, self.payload);
            }
            Fault::Length => self.encode_with_long_length(&mut bytes),
            Fault::Opcode | Fault::Reserved | Fault::Fin => {
                bytes = self.encode();
                let first = &mut bytes[0];
                *first = match fault {
                    Fault::Opcode => *first & (FIN | RSV) | RESERVED_OPCODE,
                    Fault::Reserved => *first | RSV3,
                    _ => *first & !FIN,
                };
            }
            Fault::Utf8 => {
                let payload = [self.payload, &[NEVER_UTF8]].concat();
                return OutgoingMessage { payload: &payload, ..*self }.encode();
            }
        }
        bytes
    }

    /// Encodes a frame with a length field that is longer than needed.
    fn encode_with_long_length(&self, bytes: &mut Vec<u8>) {
        let length = self.payload.len() as u64;
        let mask = if self.valid_key().is_some() { MASK } else { 0 };
        bytes.push(FIN | self.opcode as u8);
        if length <= LENGTH_7_MAX {
            bytes.push(mask | LENGTH_MARKER_16 & LENGTH);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        } else {
            bytes.push(mask | LENGTH_MARKER_64 & LENGTH);
            // Above 65,535 bytes the 64-bit form is the shortest, so the length itself is wrong.
            let declared = if length > u64::from(u16::MAX) { length + 1 } else { length };
            bytes.extend_from_slice(&declared.to_be_bytes());
        }
        let key = self.valid_key();
        bytes.extend(key.iter().flatten());
        let start = bytes.len();
        bytes.extend_from_slice(self.payload);
        if let Some(key) = key {
            frame::mask(&mut bytes[start..], key, 0);
        }
    }
}

/// The opcode and the masking key of the first frame of a message.
pub fn first_header(bytes: &[u8], from: Side) -> Option<Header> {
    let mut head = bytes[..bytes.len().min(frame::MAX_HEADER_BYTES)].to_vec();
    *head.first_mut()? &= !RSV;
    Header::decode(&head, from).ok().flatten().map(|(header, _)| header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::Violation;
    use crate::ws::message::{Limits, MessageReader};

    #[test]
    fn each_fault_breaks_the_rule_that_it_names() {
        for from in [Side::Client, Side::Server] {
            let payload = &[b'a'; 200][..];
            let message = OutgoingMessage { from, opcode: Opcode::Text, key: None, payload };
            let read = |bytes: &[u8]| {
                let mut reader = MessageReader::new(from, Limits::default());
                reader.receive(bytes);
                reader.next_message().map(|message| message.is_some())
            };
            let mask = if from == Side::Client { Violation::MaskMissing } else { Violation::MaskForbidden };
            assert_eq!(read(&message.encode()), Ok(true));
            for (fault, expected) in [
                (Fault::Mask, Err(mask)),
                (Fault::Length, Err(Violation::LengthNotMinimal)),
                (Fault::Opcode, Err(Violation::ReservedOpcode)),
                (Fault::Reserved, Err(Violation::ReservedBit)),
                (Fault::Fin, Ok(false)),
                (Fault::Utf8, Err(Violation::TextNotUtf8)),
            ] {
                assert_eq!(read(&message.encode_with(fault)), expected, "{from:?} {fault:?}");
            }
            let short = OutgoingMessage { payload: b"abc", ..message };
            assert_eq!(read(&short.encode_with(Fault::Length)), Err(Violation::LengthNotMinimal));
        }
    }
}
