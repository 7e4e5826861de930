//! The frames that can still be explained: the newest frames of one client, by number.
//!
//! The ring never holds more than [`limits::INSPECTOR_FRAMES`] frames or [`limits::INSPECTOR_RING_BYTES`]
//! bytes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::limits;
use crate::ws::Side;

/// One frame, or one head of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The number of the frame.
    pub n: u64,
    /// The side that sent it.
    pub from: Side,
    /// When, on the server's clock.
    pub at: Duration,
    /// The tick that was running.
    pub tick: u32,
    /// The bytes with which it came, from the beginning of its message on; shared by their frames.
    pub piece: Arc<[u8]>,
    /// Where the frame begins in them.
    pub begin: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether it is a head of the handshake.
    pub is_head: bool,
    /// Whether a watcher sent it as the client.
    pub is_injected: bool,
}

impl Kept {
    /// The bytes as they travelled.
    pub fn bytes(&self) -> &[u8] {
        &self.piece[self.begin..self.end]
    }
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
        self.bytes += frame.bytes().len();
        self.kept.push_back(frame);
        while self.kept.len() > limits::INSPECTOR_FRAMES || self.bytes > limits::INSPECTOR_RING_BYTES {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes -= oldest.bytes().len();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u64, length: usize) -> Kept {
        let (from, at, piece) = (Side::Client, Duration::ZERO, Arc::from(vec![0; length]));
        Kept { n, from, at, tick: 0, piece, begin: 0, end: length, is_head: false, is_injected: false }
    }

    #[test]
    fn the_newest_frames_are_kept_and_found_by_number() {
        let mut ring = Ring::default();
        let most = limits::INSPECTOR_FRAMES as u64;
        for n in 0..most + 10 {
            ring.push(frame(n, 3));
        }
        assert_eq!(ring.iter().count() as u64, most);
        assert_eq!((ring.get(9), ring.get(10).map(|kept| kept.n)), (None, Some(10)));
        assert_eq!(ring.get(most + 9).map(|kept| kept.n), Some(most + 9));
        assert_eq!((ring.get(most + 10), ring.bytes), (None, 3 * limits::INSPECTOR_FRAMES));
    }

    #[test]
    fn long_frames_push_out_more_than_one() {
        let mut ring = Ring::default();
        for n in 0..100 {
            ring.push(frame(n, limits::INSPECTOR_RING_BYTES / 50));
        }
        assert!(ring.bytes <= limits::INSPECTOR_RING_BYTES && ring.iter().count() >= 49);
        ring.push(frame(100, limits::INSPECTOR_RING_BYTES));
        assert_eq!(ring.iter().map(|kept| kept.n).collect::<Vec<_>>(), [100]);
    }
}
