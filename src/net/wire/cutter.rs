//! Splits the bytes of one direction into frames as they arrive.
//!
//! The input is pieces as they travelled; after a gap, it continues at the start of a frame. The
//! output is whole frames, in order. A cutter never holds more than [`limits::WIRE_FRAME_BYTES`],
//! and never joins the parts of a frame across a gap.

use crate::limits;
use crate::ws::Side;
use crate::ws::frame::Header;

/// See the [module](self).
#[derive(Debug)]
pub struct Cutter {
    from: Side,
    held: Vec<u8>,
    /// A rule was broken: there is no telling where the next frame begins.
    is_over: bool,
}

impl Cutter {
    /// A cutter for the bytes of this side, starting at the beginning of a frame.
    pub fn new(from: Side) -> Cutter {
        Cutter { from, held: Vec::new(), is_over: false }
    }

    /// Records a gap: the next bytes begin a frame.
    pub fn lose(&mut self) {
        self.held.clear();
    }

    /// Takes the next piece. Returns the frames that it completes; a frame that breaks a rule is
    /// returned as far as it has arrived, and is the last.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        if !self.is_over {
            self.held.extend_from_slice(bytes);
        }
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            let length = match Header::decode(rest, self.from) {
                Ok(Some((header, head))) => header.length.saturating_add(head as u64),
                Ok(None) => break,
                Err(_) => u64::MAX,
            };
            if length > limits::WIRE_FRAME_BYTES as u64 {
                self.is_over = true;
                frames.push(rest.to_vec());
                at = self.held.len();
            } else if length > rest.len() as u64 {
                break;
            } else {
                let end = at + length as usize;
                frames.push(self.held[at..end].to_vec());
                at = end;
            }
        }
        self.held.drain(..at);
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::frame::{self, Opcode};

    fn frames() -> Vec<Vec<u8>> {
        [0, 1, 125, 126, 70_000]
            .map(|length| {
                let mut out = Vec::new();
                frame::write(&mut out, Opcode::Binary, Some([1, 2, 3, 4]), &vec![7; length]);
                out
            })
            .to_vec()
    }

    #[test]
    fn frames_come_out_whole_however_they_were_cut() {
        let all = frames();
        let bytes = all.concat();
        for step in [1, 2, 3, 7, 100, 1 << 20] {
            let mut cutter = Cutter::new(Side::Client);
            let cut: Vec<_> = bytes.chunks(step).flat_map(|piece| cutter.receive(piece)).collect();
            assert!(cut == all, "pieces of {step}");
            assert!(cutter.held.is_empty());
        }
    }

    #[test]
    fn after_a_gap_a_frame_begins_with_what_comes() {
        let mut cutter = Cutter::new(Side::Client);
        let frame = &frames()[1];
        assert!(cutter.receive(&frame[..3]).is_empty());
        cutter.lose();
        assert_eq!(cutter.receive(frame), std::slice::from_ref(frame));
    }

    #[test]
    fn a_broken_rule_is_the_last_that_is_given() {
        let mut cutter = Cutter::new(Side::Client);
        let whole = frames()[1].clone();
        let unmasked = [0x82, 0x01, 0x07];
        let given = cutter.receive(&[whole.clone(), unmasked.to_vec()].concat());
        assert_eq!(given, [whole.clone(), unmasked.to_vec()]);
        assert!(cutter.receive(&whole).is_empty());
        cutter.lose();
        assert!(cutter.receive(&whole).is_empty(), "a gap mends nothing");
    }

    #[test]
    fn a_frame_that_is_too_long_is_not_held() {
        let mut cutter = Cutter::new(Side::Server);
        let mut bytes = vec![0x82, 127];
        bytes.extend_from_slice(&(limits::WIRE_FRAME_BYTES as u64).to_be_bytes());
        assert_eq!(cutter.receive(&bytes), [bytes.clone()]);
        assert!(cutter.receive(&[7; 5000]).is_empty() && cutter.held.is_empty());
    }
}
