//! Message boundaries in the bytes of one direction, found without decoding payloads.
//!
//! The input is bytes as they travel, starting where a message can start. The output is the number
//! of trailing bytes that belong to an unfinished message. This module reports no violations: a
//! violation ends the connection, so nothing after it counts as unfinished.

use super::Side;
use super::frame::{HEADER_BYTES_MAX, Header};

/// See the [module](self).
#[derive(Debug)]
pub struct Boundary {
    from: Side,
    /// Bytes of a header that has not come to its end.
    header: [u8; HEADER_BYTES_MAX],
    header_bytes: usize,
    /// Bytes of payload that the present frame still wants.
    payload_ahead: u64,
    /// A message has begun whose last fragment has not.
    is_open: bool,
    /// Bytes since the last place where a message could begin.
    unfinished: u64,
    /// A rule was broken: nothing that follows is read by anybody.
    is_broken: bool,
}

impl Boundary {
    /// Before the first byte that this end sends.
    pub fn new(from: Side) -> Boundary {
        Boundary {
            from,
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            payload_ahead: 0,
            is_open: false,
            unfinished: 0,
            is_broken: false,
        }
    }

    /// Takes the next bytes.
    pub fn receive(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_broken {
            let used =
                if self.payload_ahead > 0 { self.skip_payload(bytes) } else { self.take_header(bytes) };
            bytes = &bytes[used..];
        }
    }

    /// Bytes of the unfinished message, including control frames between its fragments; 0 if a new
    /// message may begin.
    pub fn unfinished_bytes(&self) -> u64 {
        self.unfinished
    }

    fn skip_payload(&mut self, bytes: &[u8]) -> usize {
        let used = self.payload_ahead.min(bytes.len() as u64);
        self.payload_ahead -= used;
        self.unfinished += used;
        self.end_frame();
        used as usize
    }

    /// Takes bytes until the header is whole or they are used up.
    fn take_header(&mut self, bytes: &[u8]) -> usize {
        for (at, byte) in bytes.iter().enumerate() {
            self.header[self.header_bytes] = *byte;
            self.header_bytes += 1;
            self.unfinished += 1;
            match Header::decode(&self.header[..self.header_bytes], self.from) {
                Ok(None) => {}
                Ok(Some((header, _))) => {
                    self.begin_frame(header);
                    return at + 1;
                }
                Err(_) => {
                    (self.is_broken, self.unfinished) = (true, 0);
                    return bytes.len();
                }
            }
        }
        bytes.len()
    }

    fn begin_frame(&mut self, header: Header) {
        self.header_bytes = 0;
        self.payload_ahead = header.length;
        if !header.opcode.is_control() {
            self.is_open = !header.fin;
        }
        self.end_frame();
    }

    fn end_frame(&mut self) {
        if self.payload_ahead == 0 && !self.is_open {
            self.unfinished = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{self, Opcode};
    use super::*;

    fn frame(fin: bool, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, Some([1, 2, 3, 4]), payload);
        bytes[0] &= if fin { 0xff } else { 0x7f };
        bytes
    }

    #[test]
    fn a_boundary_is_where_a_message_may_begin_however_the_bytes_are_cut() {
        let parts = [
            (frame(true, Opcode::Binary, b"hello"), true),
            (frame(true, Opcode::Binary, b""), true),
            (frame(false, Opcode::Text, b"one"), false),
            (frame(true, Opcode::Ping, b""), false),
            (frame(false, Opcode::Continuation, b""), false),
            (frame(true, Opcode::Continuation, b"two"), true),
            (frame(true, Opcode::Binary, &[7; 300]), true),
        ];
        let (mut whole, mut bytewise, mut expected) =
            (Boundary::new(Side::Client), Boundary::new(Side::Client), 0);
        for (bytes, is_end) in parts {
            let before = expected;
            whole.receive(&bytes);
            for (at, byte) in bytes.iter().enumerate() {
                bytewise.receive(&[*byte]);
                if at + 1 < bytes.len() {
                    assert_eq!(bytewise.unfinished_bytes(), before + at as u64 + 1);
                }
            }
            expected = if is_end { 0 } else { before + bytes.len() as u64 };
            assert_eq!((whole.unfinished_bytes(), bytewise.unfinished_bytes()), (expected, expected));
        }
    }

    #[test]
    fn behind_a_broken_rule_nothing_is_unfinished() {
        let mut boundary = Boundary::new(Side::Client);
        boundary.receive(&[0x82]);
        assert_eq!(boundary.unfinished_bytes(), 1);
        boundary.receive(&[0x05, 1, 2, 3]);
        assert_eq!(boundary.unfinished_bytes(), 0, "a client's frame without a mask");
        boundary.receive(&[1, 2, 3]);
        assert_eq!(boundary.unfinished_bytes(), 0);
    }
}
