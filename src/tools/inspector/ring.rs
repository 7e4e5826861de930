//! The frames that can still be explained: the newest frames of one client, by number.
//!
//! For each sender, the ring stores at most [`limits::INSPECTOR_FRAMES`] frames and
//! [`limits::INSPECTOR_RING_BYTES`] bytes, so that the many frames of the server do not displace
//! the few of the client.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::frame_mark::FrameMark;
use crate::datagram::DatagramError;
use crate::limits;
use crate::ws::Side;

/// A stored frame, or a head of the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedFrame {
    /// The number of the frame.
    pub n: u64,
    /// The sender.
    pub from: Side,
    /// Time on the server's clock.
    pub at: Duration,
    /// The current tick.
    pub tick: u32,
    /// The bytes from the start of the message to the end of the piece, shared by the frames of the
    /// piece.
    pub piece: Arc<[u8]>,
    /// The offset of the frame in `piece`.
    pub begin: usize,
    /// The offset after the frame in `piece`.
    pub end: usize,
    /// Whether the item is a head of the handshake.
    pub is_head: bool,
    /// Whether the item is a message without its frames, from a link.
    pub is_message: bool,
    /// The intervention of an inspector or a proxy.
    pub mark: Option<FrameMark>,
    /// Bytes of the compressed message on the wire, if the frame has the inflated payload.
    pub compressed_bytes: Option<u32>,
    /// The header of the compressed message on the wire; empty if it was not compressed.
    pub wire_header: Arc<[u8]>,
    /// For a datagram: the client's UDP address, and the rule by which the server dropped it. Both
    /// are optional.
    pub datagram: Option<(Option<SocketAddr>, Option<DatagramError>)>,
}

impl RetainedFrame {
    /// Creates a frame without a number: the bytes from `begin` to `end` of `piece`, sent at this
    /// time and tick.
    pub fn new(
        from: Side,
        (at, tick): (Duration, u32),
        piece: Arc<[u8]>,
        (begin, end): (usize, usize),
    ) -> RetainedFrame {
        RetainedFrame {
            n: 0,
            from,
            at,
            tick,
            piece,
            begin,
            end,
            is_head: false,
            is_message: false,
            mark: None,
            compressed_bytes: None,
            wire_header: Arc::default(),
            datagram: None,
        }
    }

    /// The bytes as sent.
    pub fn bytes(&self) -> &[u8] {
        &self.piece[self.begin..self.end]
    }
}

/// The newest frames of one client.
#[derive(Debug, Default)]
pub struct Ring {
    client: SideRing,
    server: SideRing,
}

/// The frames of one sender.
#[derive(Debug, Default)]
struct SideRing {
    frames: VecDeque<RetainedFrame>,
    bytes: usize,
}

impl SideRing {
    fn is_too_full(&self) -> bool {
        self.frames.len() > limits::INSPECTOR_FRAMES || self.bytes > limits::INSPECTOR_RING_BYTES
    }

    fn get(&self, n: u64) -> Option<&RetainedFrame> {
        let at = self.frames.binary_search_by_key(&n, |frame| frame.n).ok()?;
        self.frames.get(at)
    }
}

impl Ring {
    /// Stores a frame, which must have the highest number. If the limit for the frame's sender is
    /// exceeded, drops the oldest frames of this sender, and calls `gone` with their numbers.
    pub fn push(&mut self, frame: RetainedFrame, mut gone: impl FnMut(u64)) {
        let half = match frame.from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        half.bytes += frame.bytes().len();
        half.frames.push_back(frame);
        while half.is_too_full() {
            let Some(oldest) = half.frames.pop_front() else { return };
            half.bytes -= oldest.bytes().len();
            gone(oldest.n);
        }
    }

    /// Whether no frame is stored.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The frame with this number, if it is stored.
    pub fn get(&self, n: u64) -> Option<&RetainedFrame> {
        self.client.get(n).or_else(|| self.server.get(n))
    }

    /// All stored frames, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RetainedFrame> {
        let (mut client, mut server) =
            (self.client.frames.iter().peekable(), self.server.frames.iter().peekable());
        std::iter::from_fn(move || match (client.peek(), server.peek()) {
            (Some(one), Some(other)) if one.n < other.n => client.next(),
            (Some(_), None) => client.next(),
            _ => server.next(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u64, from: Side, length: usize) -> RetainedFrame {
        let piece = Arc::from(vec![0; length]);
        RetainedFrame { n, ..RetainedFrame::new(from, (Duration::ZERO, 0), piece, (0, length)) }
    }

    fn numbers(ring: &Ring) -> Vec<u64> {
        ring.iter().map(|frame| frame.n).collect()
    }

    #[test]
    fn the_newest_frames_are_kept_and_found_by_number() {
        let (mut ring, mut gone) = (Ring::default(), Vec::new());
        let max_frames = limits::INSPECTOR_FRAMES as u64;
        for n in 0..max_frames + 10 {
            ring.push(frame(n, Side::Server, 3), |n| gone.push(n));
        }
        assert_eq!(numbers(&ring), (10..max_frames + 10).collect::<Vec<_>>());
        assert_eq!(gone, (0..10).collect::<Vec<_>>());
        assert_eq!((ring.get(9), ring.get(10).map(|frame| frame.n)), (None, Some(10)));
        assert_eq!((ring.get(max_frames + 10), ring.server.bytes), (None, 3 * limits::INSPECTOR_FRAMES));
    }

    #[test]
    fn long_frames_push_out_more_than_one() {
        let mut ring = Ring::default();
        for n in 0..100 {
            ring.push(frame(n, Side::Client, limits::INSPECTOR_RING_BYTES / 50), |_| ());
        }
        assert!(ring.client.bytes <= limits::INSPECTOR_RING_BYTES && ring.iter().count() >= 49);
        ring.push(frame(100, Side::Client, limits::INSPECTOR_RING_BYTES), |_| ());
        assert_eq!(numbers(&ring), [100]);
    }

    #[test]
    fn the_frames_of_one_side_do_not_displace_those_of_the_other() {
        let mut ring = Ring::default();
        ring.push(frame(0, Side::Client, 3), |_| ());
        for n in 1..3 * limits::INSPECTOR_FRAMES as u64 {
            let from = if n % 1000 == 0 { Side::Client } else { Side::Server };
            ring.push(frame(n, from, 3), |gone| assert_ne!(gone % 1000, 0));
        }
        assert_eq!(ring.get(0).map(|frame| frame.n), Some(0));
        let numbers = numbers(&ring);
        assert!(numbers.is_sorted() && numbers.starts_with(&[0, 1000, 2000]), "{:?}", &numbers[..9]);
        assert!(!ring.is_empty());
    }
}
