//! The frames that a watcher can still request: the newest frames of one client, by number.
//!
//! The ring never holds more than [`limits::WIRE_FRAMES`] frames or [`limits::WIRE_RING_BYTES`]
//! bytes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits;
use crate::ws::Side;

/// One frame, or one head of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The number of the frame, counted per watcher.
    pub n: u64,
    /// The side that sent it.
    pub from: Side,
    /// When, on the server's clock.
    pub at: Duration,
    /// The tick that was running.
    pub tick: u32,
    /// The bytes as they travelled.
    pub bytes: Vec<u8>,
    /// Whether it is a head of the handshake.
    pub is_head: bool,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Ring {
    kept: VecDeque<Kept>,
    bytes: usize,
}

impl Ring {
    /// Keeps a frame, whose number must be higher than all before it; drops the oldest frames if
    /// there is no room.
    pub fn push(&mut self, frame: Kept) {
        self.bytes += frame.bytes.len();
        self.kept.push_back(frame);
        while self.kept.len() > limits::WIRE_FRAMES || self.bytes > limits::WIRE_RING_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.bytes.len();
        }
    }

    /// The frame with this number, if it is still kept.
    pub fn get(&self, n: u64) -> Option<&Kept> {
        let at = self.kept.binary_search_by_key(&n, |frame| frame.n).ok()?;
        self.kept.get(at)
    }

    /// All kept frames, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.kept.iter()
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        *self = Ring::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u64, length: usize) -> Kept {
        Kept { n, from: Side::Client, at: Duration::ZERO, tick: 0, bytes: vec![0; length], is_head: false }
    }

    #[test]
    fn the_newest_frames_are_kept_and_found_by_number() {
        let mut ring = Ring::default();
        let most = limits::WIRE_FRAMES as u64;
        for n in 0..most + 10 {
            ring.push(frame(n, 3));
        }
        assert_eq!(ring.iter().count() as u64, most);
        assert_eq!((ring.get(9), ring.get(10).map(|kept| kept.n)), (None, Some(10)));
        assert_eq!(ring.get(most + 9).map(|kept| kept.n), Some(most + 9));
        assert_eq!((ring.get(most + 10), ring.bytes), (None, 3 * limits::WIRE_FRAMES));
        ring.clear();
        assert_eq!((ring.iter().count(), ring.bytes), (0, 0));
    }

    #[test]
    fn long_frames_push_out_more_than_one() {
        let mut ring = Ring::default();
        for n in 0..100 {
            ring.push(frame(n, limits::WIRE_RING_BYTES / 50));
        }
        assert!(ring.bytes <= limits::WIRE_RING_BYTES && ring.iter().count() >= 49);
        ring.push(frame(100, limits::WIRE_RING_BYTES));
        assert_eq!(ring.iter().map(|kept| kept.n).collect::<Vec<_>>(), [100]);
    }
}
