//! The sending half of a connection: one ordered, bounded queue with one sender at a time, and
//! the connection's only close state.
//!
//! ```text
//!  worker: an update ──────┐                              ┌─ all taken: nothing is kept
//!  reader: pongs, answers ─┼─► offer ─► Batch ─► the driver's system call ─► sent ─ some taken: the rest waits
//!  anyone: a close ────────┘    (no lock is held between)  └─► Batch: what waited meanwhile, to be sent next
//! ```
//!
//! The driver's rule: the thread that gets a [`Batch`] is the only one that sends; it must send the
//! batch, report with [`Sender::sent`], and repeat this with each batch that `sent` returns, until
//! it returns `None`. Other threads only add pieces to the queue; the sending thread finds them
//! before it stops, so no piece is left unsent. Pieces are sent in the order in which they were
//! offered, nothing follows the close frame, and at most [`limits::SEND_QUEUE_BYTES`] wait.
//!
//! A [`QueuedBytes`] of the queue belongs to this client or is shared with others: one encoding can serve
//! many clients, and a snapshot is never copied.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::DisconnectReason;
use super::deadlines::{Deadlines, DueAction};
use crate::game::CloseReason;
use crate::limits;
use crate::util::sync::Mutex;

/// Bytes of whole frames.
#[derive(Debug, Clone)]
pub enum QueuedBytes {
    /// This client's alone.
    Owned(Vec<u8>),
    /// Of several clients.
    Shared(Arc<[u8]>),
}

impl QueuedBytes {
    fn bytes(&self) -> &[u8] {
        match self {
            QueuedBytes::Owned(bytes) => bytes,
            QueuedBytes::Shared(bytes) => bytes,
        }
    }
}

/// Whole frames that are offered.
#[derive(Debug, Clone, Copy)]
pub enum Frames<'a> {
    /// Bytes of the caller: sent from there, and copied only as far as they have to wait.
    Borrowed(&'a [u8]),
    /// Bytes that other clients get too: never copied.
    Shared(&'a Arc<[u8]>),
}

impl Frames<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Frames::Borrowed(bytes) => bytes,
            Frames::Shared(bytes) => bytes,
        }
    }

    /// What of the frames has to wait, behind the first `taken` bytes.
    fn queue_rest(&self, taken: usize, queue: &mut SendQueue) {
        match self {
            Frames::Borrowed(bytes) => queue.push_own(&bytes[taken..]),
            Frames::Shared(bytes) => {
                queue.skip = if queue.pieces.is_empty() { taken } else { queue.skip };
                queue.bytes += bytes.len() - taken;
                queue.pieces.push_back(QueuedBytes::Shared(Arc::clone(bytes)));
            }
        }
    }
}

/// Pieces in order; the first `skip` bytes of the first piece have been sent.
#[derive(Debug, Default)]
pub struct SendQueue {
    pieces: VecDeque<QueuedBytes>,
    skip: usize,
    bytes: usize,
}

impl SendQueue {
    /// Of the bytes, those of shared pieces.
    fn shared(&self) -> usize {
        let skips = std::iter::once(self.skip).chain(std::iter::repeat(0));
        let pieces = self.pieces.iter().zip(skips);
        pieces
            .map(|(piece, skip)| if let QueuedBytes::Shared(bytes) = piece { bytes.len() - skip } else { 0 })
            .sum()
    }

    fn push_own(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        match self.pieces.back_mut() {
            Some(QueuedBytes::Owned(last)) => last.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.pieces.push_back(QueuedBytes::Owned(bytes.to_vec())),
        }
    }

    /// Drops the first `taken` bytes.
    fn advance(&mut self, taken: usize) {
        self.bytes -= taken;
        self.skip += taken;
        while self.pieces.front().is_some_and(|piece| piece.bytes().len() <= self.skip) {
            self.skip -= self.pieces.pop_front().map_or(0, |piece| piece.bytes().len());
        }
    }

    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let skips = std::iter::once(self.skip).chain(std::iter::repeat(0));
        self.pieces.iter().zip(skips).map(|(piece, skip)| &piece.bytes()[skip..])
    }
}

/// What the one sender sends next.
#[derive(Debug)]
pub enum Batch<'a> {
    /// The frames that were offered: nothing waits before them.
    Offered(Frames<'a>),
    /// What waited.
    Queued(SendQueue),
}

impl Batch<'_> {
    /// The bytes for one system call: of many pieces the first [`limits::MAX_IOVECS`].
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let (offered, waiting) = match self {
            Batch::Offered(frames) => (Some(frames.bytes()), None),
            Batch::Queued(waiting) => (None, Some(waiting)),
        };
        offered.into_iter().chain(waiting.into_iter().flat_map(SendQueue::slices)).take(limits::MAX_IOVECS)
    }
}

/// The result of an offer.
#[derive(Debug)]
pub enum EnqueueResult<'a> {
    /// The caller is the sender now.
    Send(Batch<'a>),
    /// The frames wait for the sender at work.
    Queued,
    /// They would exceed [`limits::SEND_QUEUE_BYTES`], or shared ones [`limits::SNAPSHOT_MOST_BYTES`];
    /// nothing was queued.
    Full,
    /// The connection is closing or lost; nothing was queued.
    Closed,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Sender {
    queue: Mutex<SenderState>,
    /// The deadlines.
    pub life: Deadlines,
}

#[derive(Debug, Default)]
struct SenderState {
    take_queued: SendQueue,
    /// Bytes that the sender holds: they count towards the bound.
    in_flight: usize,
    /// Of these, shared ones.
    in_flight_shared: usize,
    is_sending: bool,
    /// Why the connection ends. The close frame, if there is one, is the last of what was queued.
    ending: Option<DisconnectReason>,
    /// The peer is gone: nothing can be sent.
    is_disconnected: bool,
    /// Since when the kernel has taken nothing although bytes wait.
    stalled_since: Option<Duration>,
    sends: u64,
}

impl SenderState {
    fn backlog(&self) -> usize {
        self.take_queued.bytes + self.in_flight
    }

    /// Whether so many more bytes are within the bounds.
    fn has_room(&self, frames: &Frames<'_>) -> bool {
        let (bytes, is_divided) = (frames.bytes().len(), matches!(frames, Frames::Shared(_)));
        if self.backlog() + bytes <= limits::SEND_QUEUE_BYTES {
            return true;
        }
        let shared = self.in_flight_shared + self.take_queued.shared() + if is_divided { bytes } else { 0 };
        shared <= limits::SNAPSHOT_MOST_BYTES && self.backlog() + bytes - shared <= limits::SEND_QUEUE_BYTES
    }

    /// Makes the caller the sender of what waits.
    fn take(&mut self) -> Option<Batch<'static>> {
        (self.in_flight, self.in_flight_shared) = (self.take_queued.bytes, self.take_queued.shared());
        self.is_sending = self.in_flight > 0;
        self.is_sending.then(|| Batch::Queued(std::mem::take(&mut self.take_queued)))
    }
}

impl Sender {
    /// The sender of a connection that begins `now`; `must_greet` as for [`Deadlines::new`].
    pub fn new(must_greet: bool, now: Duration) -> Sender {
        Sender { queue: Mutex::default(), life: Deadlines::new(must_greet, now) }
    }

    /// Offers whole frames. `queued` is called if they are accepted, under the queue's lock, so
    /// that its calls have the order of the wire: it must be quick, and must not use the queue.
    pub fn enqueue<'a>(&self, frames: Frames<'a>, queued: impl FnOnce(&[u8])) -> EnqueueResult<'a> {
        let mut queue = self.queue.lock();
        if queue.ending.is_some() || queue.is_disconnected {
            return EnqueueResult::Closed;
        }
        if !queue.has_room(&frames) {
            return EnqueueResult::Full;
        }
        queued(frames.bytes());
        if queue.is_sending {
            frames.queue_rest(0, &mut queue.take_queued);
            return EnqueueResult::Queued;
        }
        if queue.backlog() > 0 {
            frames.queue_rest(0, &mut queue.take_queued);
            return queue.take().map_or(EnqueueResult::Queued, EnqueueResult::Send);
        }
        queue.is_sending = true;
        queue.in_flight = frames.bytes().len();
        queue.in_flight_shared = if matches!(frames, Frames::Shared(_)) { queue.in_flight } else { 0 };
        EnqueueResult::Send(Batch::Offered(frames))
    }

    /// The waiting pieces, unless another thread is sending: the caller must then send them.
    pub fn waiting(&self) -> Option<Batch<'static>> {
        let mut queue = self.queue.lock();
        if queue.is_sending || queue.is_disconnected { None } else { queue.take() }
    }

    /// Books what the kernel took of a batch: `Ok(0)` if it takes nothing now. `Some` must be sent
    /// next; after `None` the caller is no longer the sender.
    ///
    /// An error means that the peer is gone: what waits is dropped.
    pub fn on_sent(
        &self,
        batch: Batch<'_>,
        taken: io::Result<usize>,
        now: Duration,
    ) -> Option<Batch<'static>> {
        let mut queue = self.queue.lock();
        (queue.in_flight, queue.in_flight_shared, queue.is_sending) = (0, 0, false);
        queue.sends += 1;
        let Ok(taken) = taken else {
            queue.is_disconnected = true;
            queue.take_queued = SendQueue::default();
            return None;
        };
        let given: usize = batch.slices().map(<[u8]>::len).sum();
        let taken = taken.min(given);
        let mut rest = SendQueue::default();
        match batch {
            Batch::Offered(frames) if taken < given => frames.queue_rest(taken, &mut rest),
            Batch::Offered(_) => {}
            Batch::Queued(waiting) => {
                rest = waiting;
                rest.advance(taken);
            }
        }
        if rest.bytes > 0 {
            // What came meanwhile follows the rest.
            rest.bytes += queue.take_queued.bytes;
            rest.pieces.append(&mut queue.take_queued.pieces);
            queue.take_queued = rest;
        }
        if taken > 0 {
            queue.stalled_since = None;
        }
        if taken < given {
            queue.stalled_since.get_or_insert(now);
            return None;
        }
        queue.take()
    }

    /// Ends the connection for this reason, unless it is ending: only the first reason counts.
    /// `frames` end with the close frame, and are queued even beyond the bound; `queued` as for
    /// [`Sender::offer`]. Returns whether this was the first reason; [`Sender::waiting`] then has
    /// what to send.
    pub fn close(
        &self,
        ending: DisconnectReason,
        frames: &[u8],
        queued: impl FnOnce(&[u8]),
        now: Duration,
    ) -> bool {
        let mut queue = self.queue.lock();
        if queue.ending.is_some() {
            return false;
        }
        if !queue.is_disconnected && !frames.is_empty() {
            queued(frames);
            queue.take_queued.push_own(frames);
        }
        // A thread that sees the ending finds the close frame queued and its deadline running.
        self.life.on_close_sent(now);
        queue.ending = Some(ending);
        true
    }

    /// Why the connection ends, if it does.
    pub fn ending(&self) -> Option<DisconnectReason> {
        if self.life.is_closing() { self.queue.lock().ending.clone() } else { None }
    }

    /// Whether messages can still be sent: the connection is neither closing nor lost.
    pub fn is_open(&self) -> bool {
        let queue = self.queue.lock();
        queue.ending.is_none() && !queue.is_disconnected
    }

    /// Whether state may be made for this client now (lane `latest`): nothing waits before it.
    pub fn can_take_state(&self) -> bool {
        self.queue.lock().backlog() == 0
    }

    /// Bytes that the kernel has not accepted yet.
    pub fn backlog(&self) -> usize {
        self.queue.lock().backlog()
    }

    /// System calls reported so far.
    pub fn sends(&self) -> u64 {
        self.queue.lock().sends
    }

    /// What is due `now`; see [`Deadlines::poll`]. A queue from which the kernel has taken nothing for
    /// [`limits::SEND_STALL_TIME`] closes the connection.
    pub fn poll(&self, now: Duration) -> DueAction {
        if !self.life.is_closing() {
            let stalled_since = self.queue.lock().stalled_since;
            let grace = limits::SEND_STALL_TIME + self.life.pauses.noted(now);
            if stalled_since.is_some_and(|since| now.saturating_sub(since) > grace) {
                return DueAction::Close(CloseReason::SlowClient);
            }
        }
        self.life.poll(now, limits::IDLE_TIMEOUT)
    }
}
