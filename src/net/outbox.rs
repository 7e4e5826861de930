//! The outbox: the frames to send to one client, as one ordered, bounded queue with one sender at a
//! time.
//!
//! ```text
//!  worker: state of this turn ──┐                         ┌── kernel takes all: nothing is kept
//!  reader: pongs, answers ──────┼─► push ─► sender? ─► send ── kernel takes some: the rest waits
//!  anyone: one close frame ─────┘     (a flag taken under the lock; no lock is held while sending)
//! ```
//!
//! Whole frames are pushed, and their bytes go out on the [`Wire`] in the order of the pushes. If a
//! push finds another thread sending, it leaves its bytes in the queue; the sending thread checks
//! the queue again before it stops, so no bytes are left behind. The outbox never blocks, never
//! holds a lock across a system call, sends no frame after the close frame, and holds at most
//! [`limits::OUTBOX_BYTES`].

use std::io;
use std::time::Duration;

use crate::limits;
use crate::sync::Mutex;

/// The destination of an outbox: a socket, or a test double.
pub trait Wire {
    /// Sends as many bytes as possible without blocking; `Ok(None)` if none can be sent now.
    ///
    /// # Errors
    /// The other end is gone.
    fn send_now(&self, bytes: &[u8]) -> io::Result<Option<usize>>;

    /// Called with each batch of queued frames, in the order in which they will be sent. The
    /// queue's lock is held: the call must be quick, and must not use the queue.
    fn queued(&self, _frames: &[u8], _now: Duration) {}
}

/// The result of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// Queued, or already accepted by the kernel.
    Taken,
    /// The push would exceed [`limits::OUTBOX_BYTES`]; nothing was queued.
    Full,
    /// A close frame was pushed before, or the peer is gone; nothing was queued.
    Ended,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes that wait, in order. While a sender is at work, what it holds comes before these.
    waiting: Vec<u8>,
    /// Bytes that the sender holds at the moment: they count towards the bound.
    held: usize,
    /// Someone is sending.
    sending: bool,
    /// A close frame is in the queue: nothing may follow it.
    closed: bool,
    /// The wire failed: nothing can follow.
    broken: bool,
    /// Since when the kernel has taken nothing although bytes wait.
    stuck_since: Option<Duration>,
    /// Calls of `Wire::send_now`.
    sends: u64,
}

impl State {
    fn backlog(&self) -> usize {
        self.waiting.len() + self.held
    }
}

impl Outbox {
    /// Appends whole frames to the queue and sends as much as possible without blocking. `now` is
    /// the server's clock.
    pub fn push(&self, wire: &impl Wire, frames: &[u8], now: Duration) -> Pushed {
        let mut state = self.state.lock();
        if state.closed || state.broken {
            return Pushed::Ended;
        }
        if state.backlog() + frames.len() > limits::OUTBOX_BYTES {
            return Pushed::Full;
        }
        wire.queued(frames, now);
        if state.sending || !state.waiting.is_empty() {
            state.waiting.extend_from_slice(frames);
            drop(state);
            self.drive(wire, now);
            return Pushed::Taken;
        }
        state.sending = true;
        state.held = frames.len();
        drop(state);
        // The common case: nothing waits, so the frames go out from the caller's buffer without a copy.
        let taken = wire.send_now(frames);
        if self.settle(frames, taken, now) {
            self.send_waiting(wire, now);
        }
        Pushed::Taken
    }

    /// Appends the close frame to the queue, even beyond the limit, without sending:
    /// [`Outbox::drive`] sends. Only the first close frame counts.
    pub fn close(&self, wire: &impl Wire, frame: &[u8], now: Duration) {
        let mut state = self.state.lock();
        if !state.closed && !state.broken {
            wire.queued(frame, now);
            state.closed = true;
            state.waiting.extend_from_slice(frame);
        }
    }

    /// Sends the queued bytes, unless another thread is sending.
    pub fn drive(&self, wire: &impl Wire, now: Duration) {
        let mut state = self.state.lock();
        if state.sending || state.broken || state.waiting.is_empty() {
            return;
        }
        state.sending = true;
        drop(state);
        self.send_waiting(wire, now);
    }

    /// Bytes that the kernel has not accepted yet.
    pub fn backlog(&self) -> usize {
        self.state.lock().backlog()
    }

    /// Whether bytes have waited longer than [`limits::OUTBOX_GRACE`] while the kernel accepted
    /// none.
    pub fn is_stuck(&self, now: Duration) -> bool {
        self.state.lock().stuck_since.is_some_and(|since| now.saturating_sub(since) > limits::OUTBOX_GRACE)
    }

    /// Whether a close frame was pushed, or the peer is gone.
    pub fn is_ended(&self) -> bool {
        let state = self.state.lock();
        state.closed || state.broken
    }

    /// The number of calls to send so far.
    pub fn sends(&self) -> u64 {
        self.state.lock().sends
    }

    /// The sender's loop: takes what waits, sends it without the lock, looks again.
    fn send_waiting(&self, wire: &impl Wire, now: Duration) {
        loop {
            let mut state = self.state.lock();
            if state.waiting.is_empty() {
                state.sending = false;
                return;
            }
            let batch = std::mem::take(&mut state.waiting);
            state.held = batch.len();
            drop(state);
            let taken = wire.send_now(&batch);
            if !self.settle(&batch, taken, now) {
                return;
            }
        }
    }

    /// Books what a send took; the rest goes back to the front. Returns whether this thread stays the sender.
    fn settle(&self, batch: &[u8], taken: io::Result<Option<usize>>, now: Duration) -> bool {
        let mut state = self.state.lock();
        state.held = 0;
        state.sends += 1;
        let Ok(taken) = taken else {
            state.broken = true;
            state.sending = false;
            state.waiting = Vec::new();
            return false;
        };
        let count = taken.unwrap_or(0).min(batch.len());
        if count > 0 {
            state.stuck_since = None;
        }
        if count == batch.len() {
            return true;
        }
        state.waiting.splice(0..0, batch[count..].iter().copied());
        state.stuck_since.get_or_insert(now);
        state.sending = false;
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Takes at most `room` bytes, then nothing until room is made.
    #[derive(Default)]
    struct Pipe {
        room: AtomicUsize,
        got: Mutex<Vec<u8>>,
        gone: bool,
        /// What was queued, as the wire heard of it.
        heard: Mutex<Vec<u8>>,
    }

    impl Pipe {
        fn with_room(room: usize) -> Pipe {
            Pipe { room: AtomicUsize::new(room), ..Pipe::default() }
        }
    }

    impl Wire for Pipe {
        fn send_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
            if self.gone {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let take = self.room.load(Ordering::SeqCst).min(bytes.len());
            self.room.fetch_sub(take, Ordering::SeqCst);
            self.got.lock().extend_from_slice(&bytes[..take]);
            Ok((take > 0).then_some(take))
        }

        fn queued(&self, frames: &[u8], _: Duration) {
            self.heard.lock().extend_from_slice(frames);
        }
    }

    const START: Duration = Duration::ZERO;

    #[test]
    fn what_the_kernel_takes_is_not_kept() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(100));
        assert_eq!(outbox.push(&pipe, b"one", START), Pushed::Taken);
        assert_eq!((outbox.backlog(), outbox.sends()), (0, 1));
        assert_eq!(*pipe.got.lock(), b"one");
    }

    #[test]
    fn the_rest_of_a_frame_goes_before_what_comes_later() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(2));
        outbox.push(&pipe, b"abcd", START);
        outbox.push(&pipe, b"ef", START);
        assert_eq!(outbox.backlog(), 4);
        pipe.room.store(100, Ordering::SeqCst);
        outbox.drive(&pipe, START);
        assert_eq!(*pipe.got.lock(), b"abcdef");
        assert_eq!(outbox.backlog(), 0);
    }

    #[test]
    fn past_the_bound_nothing_is_kept() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(0));
        assert_eq!(outbox.push(&pipe, &vec![7; limits::OUTBOX_BYTES], START), Pushed::Taken);
        assert_eq!(outbox.push(&pipe, b"x", START), Pushed::Full);
        assert_eq!(outbox.backlog(), limits::OUTBOX_BYTES);
    }

    #[test]
    fn the_close_frame_is_the_last_one_and_fits_past_the_bound() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(0));
        outbox.push(&pipe, &vec![7; limits::OUTBOX_BYTES], START);
        outbox.close(&pipe, b"bye", START);
        outbox.close(&pipe, b"again", START);
        assert_eq!(outbox.push(&pipe, b"x", START), Pushed::Ended);
        pipe.room.store(usize::MAX, Ordering::SeqCst);
        outbox.drive(&pipe, START);
        assert!(pipe.got.lock().ends_with(b"bye"));
        assert_eq!(*pipe.got.lock(), *pipe.heard.lock(), "what was not taken is not heard of");
    }

    #[test]
    fn stuck_counts_from_the_last_byte_taken() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(1));
        outbox.push(&pipe, b"abc", START);
        let later = limits::OUTBOX_GRACE;
        assert!(!outbox.is_stuck(later));
        assert!(outbox.is_stuck(later + Duration::from_millis(1)));
        pipe.room.store(1, Ordering::SeqCst);
        outbox.drive(&pipe, later);
        assert!(!outbox.is_stuck(later + limits::OUTBOX_GRACE));
    }

    #[test]
    fn a_lost_peer_ends_the_queue() {
        let (outbox, pipe) = (Outbox::default(), Pipe { gone: true, ..Pipe::default() });
        outbox.push(&pipe, b"abc", START);
        assert_eq!(outbox.backlog(), 0);
        assert_eq!(outbox.push(&pipe, b"x", START), Pushed::Ended);
        assert!(outbox.is_ended());
    }

    #[test]
    fn threads_that_push_together_lose_and_tear_nothing() {
        let (outbox, pipe) = (Outbox::default(), Pipe::with_room(usize::MAX / 2));
        thread::scope(|scope| {
            for byte in 0..4u8 {
                let (outbox, pipe) = (&outbox, &pipe);
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        while outbox.push(pipe, &[byte; 8], START) == Pushed::Full {}
                    }
                });
            }
        });
        let got = pipe.got.lock();
        assert_eq!(got.len(), 4 * 2_000 * 8);
        assert!(got.chunks(8).all(|frame| frame.iter().all(|byte| *byte == frame[0])), "a frame was torn");
        assert_eq!(outbox.backlog(), 0, "a push was left behind");
        assert_eq!(*got, *pipe.heard.lock(), "what is heard of has the order of the wire");
    }
}
