//! Cuts the bytes of one side into messages, without a check of their content.
//!
//! ```text
//!   text, FIN 0 ─► ping ─► continuation, FIN 1
//!                   └──► control frame      └──► message: both frames, as they arrived
//! ```
//!
//! The reserved bits are ignored, because they belong to extensions. After a header that cannot be
//! decoded, frame boundaries are unknown, and all later bytes are returned as they arrive.

use std::mem;

use crate::limits;
use crate::ws::Side;
use crate::ws::frame::{Header, MAX_HEADER_BYTES, Opcode, RSV};

/// Bytes of one side, as they arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WirePiece {
    /// The kind of the bytes.
    pub kind: PieceKind,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A whole text or binary message, with all of its frames.
    Message,
    /// A control frame.
    Control(Opcode),
    /// The first bytes of a message longer than [`limits::INTERCEPT_MESSAGE_BYTES`].
    OversizedStart,
    /// More bytes of such a message.
    Oversized,
    /// Bytes without known frame boundaries.
    Unframed,
}

/// Cuts the bytes of one side into pieces.
#[derive(Debug)]
pub struct Framer {
    from: Side,
    /// Bytes of the unfinished frame.
    input: Vec<u8>,
    /// The complete frames of the unfinished message.
    message: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Frames,
    /// Within a message that is too long. `left` payload bytes of the current frame have not
    /// arrived; `fin` is the FIN bit of that frame.
    Oversized {
        left: u64,
        fin: bool,
    },
    Unframed,
}

impl Framer {
    /// Creates a framer for the bytes that `from` sends after the upgrade.
    pub fn new(from: Side) -> Framer {
        Framer { from, input: Vec::new(), message: Vec::new(), stage: Stage::Frames }
    }

    /// Whether the next byte begins a message, or frame boundaries are unknown.
    pub fn is_at_boundary(&self) -> bool {
        self.input.is_empty() && self.message.is_empty() && !matches!(self.stage, Stage::Oversized { .. })
    }

    /// Accepts bytes, and passes each piece that they complete to `each`.
    pub fn receive(&mut self, bytes: &[u8], mut each: impl FnMut(WirePiece)) {
        self.input.extend_from_slice(bytes);
        while let Some(piece) = self.next_piece() {
            each(piece);
        }
    }

    /// The bytes of the unfinished message, which its sender will not complete.
    pub fn take_rest(&mut self) -> Option<WirePiece> {
        let mut bytes = mem::take(&mut self.message);
        bytes.append(&mut self.input);
        (!bytes.is_empty()).then_some(WirePiece { kind: PieceKind::Unframed, bytes })
    }

    fn next_piece(&mut self) -> Option<WirePiece> {
        loop {
            match self.stage {
                Stage::Unframed => return self.take_rest(),
                Stage::Oversized { left, fin } if left > 0 => {
                    let count = (self.input.len() as u64).min(left) as usize;
                    self.stage = Stage::Oversized { left: left - count as u64, fin };
                    let bytes: Vec<u8> = self.input.drain(..count).collect();
                    return (count > 0).then_some(WirePiece { kind: PieceKind::Oversized, bytes });
                }
                Stage::Oversized { fin: true, .. } => self.stage = Stage::Frames,
                Stage::Frames | Stage::Oversized { .. } => {
                    let Some((header, size)) = self.next_header()? else { continue };
                    if let Some(piece) = self.next_frame(header, size)? {
                        return Some(piece);
                    }
                }
            }
        }
    }

    /// Decodes the next header. Returns `None` while it is incomplete, and `Some(None)` if it
    /// cannot be decoded.
    fn next_header(&mut self) -> Option<Option<(Header, usize)>> {
        let mut head = [0; MAX_HEADER_BYTES];
        let count = self.input.len().min(head.len());
        head[..count].copy_from_slice(&self.input[..count]);
        head[0] &= !RSV;
        match Header::decode(&head[..count], self.from) {
            Ok(None) => None,
            Ok(found) => Some(found),
            Err(_) => {
                self.stage = Stage::Unframed;
                Some(None)
            }
        }
    }

    /// Takes the next frame. Returns `None` while it is incomplete, and `Some(None)` if it
    /// completes no piece.
    fn next_frame(&mut self, header: Header, size: usize) -> Option<Option<WirePiece>> {
        let is_control = header.opcode.is_control();
        let whole = header.length.saturating_add(size as u64);
        let is_oversized = matches!(self.stage, Stage::Oversized { .. });
        let max_bytes = limits::INTERCEPT_MESSAGE_BYTES.saturating_sub(self.message.len());
        if !is_control && (is_oversized || whole > max_bytes as u64) {
            self.stage = Stage::Oversized { left: header.length, fin: header.fin };
            let mut bytes = mem::take(&mut self.message);
            bytes.extend(self.input.drain(..size));
            let kind = if is_oversized { PieceKind::Oversized } else { PieceKind::OversizedStart };
            return Some(Some(WirePiece { kind, bytes }));
        }
        let whole = whole as usize;
        if self.input.len() < whole {
            return None;
        }
        let frame = self.input.drain(..whole);
        if is_control {
            let kind = PieceKind::Control(header.opcode);
            return Some(Some(WirePiece { kind, bytes: frame.collect() }));
        }
        self.message.extend(frame);
        let is_complete = header.fin;
        Some(is_complete.then(|| WirePiece { kind: PieceKind::Message, bytes: mem::take(&mut self.message) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::frame;

    /// The pieces of these bytes, in one read and in reads of one byte.
    fn pieces(bytes: &[u8]) -> Vec<WirePiece> {
        let (mut framer, mut found) = (Framer::new(Side::Server), Vec::new());
        framer.receive(bytes, |piece| found.push(piece));
        let (mut slow, mut slowly) = (Framer::new(Side::Server), Vec::new());
        bytes.iter().for_each(|byte| slow.receive(&[*byte], |piece| slowly.push(piece)));
        let joined =
            |pieces: &[WirePiece]| pieces.iter().flat_map(|piece| piece.bytes.clone()).collect::<Vec<_>>();
        assert_eq!(joined(&found), joined(&slowly), "the reads change nothing");
        assert_eq!(framer.is_at_boundary(), slow.is_at_boundary());
        found
    }

    #[test]
    fn a_message_is_returned_with_all_of_its_frames_and_a_ping_between_them_at_once() {
        let bytes = [&[0x01, 1, b'a'][..], &[0x89, 0], &[0x80, 1, b'b'], &[0x82, 0]].concat();
        let kinds = [PieceKind::Control(Opcode::Ping), PieceKind::Message, PieceKind::Message];
        let found = pieces(&bytes);
        assert_eq!(found.iter().map(|piece| piece.kind).collect::<Vec<_>>(), kinds);
        assert_eq!(found[1].bytes, [0x01, 1, b'a', 0x80, 1, b'b']);
    }

    #[test]
    fn reserved_bits_are_ignored_and_a_broken_header_ends_the_framing() {
        let bytes = [&[0xc1, 1, b'a'][..], &[0x83, 1, 2, 3], &[0x81, 0]].concat();
        let found = pieces(&bytes);
        assert_eq!(found[0].kind, PieceKind::Message);
        assert_eq!(found[1], WirePiece { kind: PieceKind::Unframed, bytes: bytes[3..].to_vec() });
    }

    #[test]
    fn a_message_that_is_too_long_is_never_stored() {
        let mut framer = Framer::new(Side::Server);
        let mut huge = vec![0x82, 127];
        huge.extend_from_slice(&(1_u64 << 62).to_be_bytes());
        let mut seen = 0;
        framer.receive(&huge, |piece| seen += piece.bytes.len());
        for _ in 0..100 {
            framer.receive(&[7; 10_000], |piece| {
                assert_eq!(piece.kind, PieceKind::Oversized);
                seen += piece.bytes.len();
            });
        }
        assert_eq!((seen, framer.input.len()), (10 + 1_000_000, 0));
        assert!(!framer.is_at_boundary());
    }

    #[test]
    fn fragments_after_the_limit_belong_to_the_same_message() {
        let part = vec![1; limits::INTERCEPT_MESSAGE_BYTES - 100];
        let header = |opcode, fin, length: usize| {
            let mut bytes = Vec::new();
            Header { fin, compressed: false, opcode, mask: None, length: length as u64 }.encode(&mut bytes);
            bytes
        };
        let mut bytes = [header(Opcode::Binary, false, part.len()), part.clone()].concat();
        bytes.extend(header(Opcode::Continuation, true, 200));
        bytes.extend([2; 200]);
        frame::write_text(&mut bytes, "next");
        let (mut framer, mut found) = (Framer::new(Side::Server), Vec::new());
        framer.receive(&bytes, |piece| found.push(piece));
        let kinds: Vec<PieceKind> = found.iter().map(|piece| piece.kind).collect();
        assert_eq!(kinds, [PieceKind::OversizedStart, PieceKind::Oversized, PieceKind::Message]);
        assert_eq!(found[2].bytes, [&[0x81, 4][..], b"next"].concat());
    }
}
