//! The sending half of a connection: an ordered, bounded queue, and the only close state of the
//! connection.
//!
//! ```text
//!  worker: an update ───────┐                   ┌► the driver's system call ─► Sender::on_sent ─┐
//!  reader: pongs, replies ──┼─► enqueue ─► Batch┤   (no lock is held)                           │
//!  any thread: a close ─────┘                   └─────────────────── next Batch, if any ◄───────┘
//! ```
//!
//! A thread that receives a [`Batch`] becomes the sending thread. It must send the batch, report
//! the result with [`Sender::on_sent`], and repeat this with each returned batch until `on_sent`
//! returns `None`. Other threads only add pieces to the queue, and the sending thread takes these
//! pieces before it stops, so no piece stays unsent. Pieces are sent in the order in which they
//! were enqueued. The close frame is last. The queue holds at most [`limits::SEND_QUEUE_BYTES`].
//!
//! [`QueuedBytes`] belong to one client or are shared. One encoding can serve many clients, and a
//! snapshot is never copied.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::DisconnectReason;
use super::deadlines::{Deadlines, DueAction};
use crate::game::CloseReason;
use crate::limits;
use crate::util::sync::Mutex;

/// The bytes of whole frames.
#[derive(Debug, Clone)]
pub enum QueuedBytes {
    /// Bytes for one client.
    Owned(Vec<u8>),
    /// Bytes shared by several clients.
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

/// Whole frames offered to the queue.
#[derive(Debug, Clone, Copy)]
pub enum Frames<'a> {
    /// Bytes that the caller owns. The bytes that the kernel accepts are sent without a copy. The
    /// remaining bytes are copied.
    Borrowed(&'a [u8]),
    /// Bytes that are also sent to other clients. They are never copied.
    Shared(&'a Arc<[u8]>),
}

impl Frames<'_> {
    /// The bytes of all frames.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Frames::Borrowed(bytes) => bytes,
            Frames::Shared(bytes) => bytes,
        }
    }

    /// Queues the bytes after the first `taken`.
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

/// Pieces in sending order. The first `skip` bytes of the first piece have been sent.
#[derive(Debug, Default)]
pub struct SendQueue {
    pieces: VecDeque<QueuedBytes>,
    skip: usize,
    bytes: usize,
}

impl SendQueue {
    /// Unsent bytes in shared pieces.
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

/// The bytes that the sending thread sends next.
#[derive(Debug)]
pub enum Batch<'a> {
    /// The offered frames, sent directly because the queue is empty.
    Offered(Frames<'a>),
    /// The queued pieces.
    Queued(SendQueue),
}

impl Batch<'_> {
    /// The slices for one system call: at most [`limits::MAX_IOVECS`].
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let (offered, waiting) = match self {
            Batch::Offered(frames) => (Some(frames.bytes()), None),
            Batch::Queued(waiting) => (None, Some(waiting)),
        };
        offered.into_iter().chain(waiting.into_iter().flat_map(SendQueue::slices)).take(limits::MAX_IOVECS)
    }
}

/// The state of a send queue at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendState {
    /// Whether messages can still be sent: the connection is neither closing nor lost.
    pub is_open: bool,
    /// Whether no byte is queued or being sent. Only then may a state update (lane `latest`) be
    /// encoded.
    pub is_empty: bool,
}

/// The result of [`Sender::enqueue`].
#[derive(Debug)]
pub enum EnqueueResult<'a> {
    /// The caller is now the sending thread and must send this batch.
    Send(Batch<'a>),
    /// The frames are queued; another thread is sending.
    Queued,
    /// The queue would exceed [`limits::SEND_QUEUE_BYTES`], or its shared pieces
    /// [`limits::SNAPSHOT_MOST_BYTES`]. Nothing was queued.
    Full,
    /// The connection is closing or lost. Nothing was queued.
    Closed,
}

/// The sending half of a connection: a bounded queue and the close state.
#[derive(Debug)]
pub struct Sender {
    queue: Mutex<SenderState>,
    /// The deadlines of the connection.
    pub deadlines: Deadlines,
}

#[derive(Debug, Default)]
struct SenderState {
    queued: SendQueue,
    /// Bytes of the batch that is being sent. They count towards the limit of the queue.
    in_flight: usize,
    /// Bytes of shared pieces in `in_flight`.
    in_flight_shared: usize,
    is_sending: bool,
    /// The reason why the connection is closing. The close frame, if there is one, is the last
    /// piece of the queue. Boxed, because each update reads the fields around it.
    reason: Option<Box<DisconnectReason>>,
    /// The transport has failed, so nothing can be sent.
    is_disconnected: bool,
    /// Time since which the kernel has accepted no bytes although some are queued.
    stalled_since: Option<Duration>,
    sends: u64,
}

impl SenderState {
    fn backlog(&self) -> usize {
        self.queued.bytes + self.in_flight
    }

    /// Whether the frames fit within the limits of the queue.
    fn has_room(&self, frames: &Frames<'_>) -> bool {
        let (bytes, is_divided) = (frames.bytes().len(), matches!(frames, Frames::Shared(_)));
        if self.backlog() + bytes <= limits::SEND_QUEUE_BYTES {
            return true;
        }
        let shared = self.in_flight_shared + self.queued.shared() + if is_divided { bytes } else { 0 };
        shared <= limits::SNAPSHOT_MOST_BYTES && self.backlog() + bytes - shared <= limits::SEND_QUEUE_BYTES
    }

    fn state(&self) -> SendState {
        let is_open = self.reason.is_none() && !self.is_disconnected;
        SendState { is_open, is_empty: self.backlog() == 0 }
    }

    /// Makes the caller the sending thread of the queued pieces. `None` if the queue is empty.
    fn take(&mut self) -> Option<Batch<'static>> {
        (self.in_flight, self.in_flight_shared) = (self.queued.bytes, self.queued.shared());
        self.is_sending = self.in_flight > 0;
        self.is_sending.then(|| Batch::Queued(std::mem::take(&mut self.queued)))
    }
}

impl Sender {
    /// A sender for a connection that starts at `now`. `has_hello` is passed to
    /// [`Deadlines::new`].
    pub fn new(has_hello: bool, now: Duration) -> Sender {
        Sender { queue: Mutex::default(), deadlines: Deadlines::new(has_hello, now) }
    }

    /// Enqueues whole frames. If the queue accepts them, it calls `queued` while it is locked, so
    /// that the calls have the order of the sent bytes. `queued` must be quick and must not use the
    /// queue.
    pub fn enqueue<'a>(&self, frames: Frames<'a>, queued: impl FnOnce(&[u8])) -> EnqueueResult<'a> {
        let mut queue = self.queue.lock();
        if queue.reason.is_some() || queue.is_disconnected {
            return EnqueueResult::Closed;
        }
        if !queue.has_room(&frames) {
            return EnqueueResult::Full;
        }
        queued(frames.bytes());
        if queue.is_sending {
            frames.queue_rest(0, &mut queue.queued);
            return EnqueueResult::Queued;
        }
        if queue.backlog() > 0 {
            frames.queue_rest(0, &mut queue.queued);
            return queue.take().map_or(EnqueueResult::Queued, EnqueueResult::Send);
        }
        queue.is_sending = true;
        queue.in_flight = frames.bytes().len();
        queue.in_flight_shared = if matches!(frames, Frames::Shared(_)) { queue.in_flight } else { 0 };
        EnqueueResult::Send(Batch::Offered(frames))
    }

    /// Takes the queued pieces, which the caller must then send.
    ///
    /// # Errors
    /// The state of the queue if there is nothing to send: another thread is sending, the transport
    /// has failed, or nothing is queued.
    pub fn take_queued(&self) -> Result<Batch<'static>, SendState> {
        let mut queue = self.queue.lock();
        let batch = if queue.is_sending || queue.is_disconnected { None } else { queue.take() };
        batch.ok_or_else(|| queue.state())
    }

    /// Records how many bytes of a batch the kernel accepted; `Ok(0)` if it accepts none now. The
    /// caller must send the returned batch next. After `None`, the caller is no longer the sending
    /// thread.
    ///
    /// An error means that the transport has failed. All queued bytes are dropped.
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
            queue.queued = SendQueue::default();
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
            // Pieces queued during the system call follow the unsent bytes.
            rest.bytes += queue.queued.bytes;
            rest.pieces.append(&mut queue.queued.pieces);
            queue.queued = rest;
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

    /// Closes the connection. Only the first reason counts. `frames` end with the close frame, and
    /// are queued even beyond the limit. `queued` is called as in [`Sender::enqueue`]. Returns
    /// whether this was the first call; the caller then sends the pieces from
    /// [`Sender::take_queued`].
    pub fn close(
        &self,
        reason: DisconnectReason,
        frames: &[u8],
        queued: impl FnOnce(&[u8]),
        now: Duration,
    ) -> bool {
        let mut queue = self.queue.lock();
        if queue.reason.is_some() {
            return false;
        }
        if !queue.is_disconnected && !frames.is_empty() {
            queued(frames);
            queue.queued.push_own(frames);
        }
        // Set last: a thread that reads `reason` also finds the close frame queued and its deadline
        // running.
        self.deadlines.on_close_sent(now);
        queue.reason = Some(Box::new(reason));
        true
    }

    /// The reason why the connection is closing; `None` while it is open.
    pub fn disconnect_reason(&self) -> Option<DisconnectReason> {
        if self.deadlines.is_closing() { self.queue.lock().reason.as_deref().cloned() } else { None }
    }

    /// The state of the queue.
    pub fn state(&self) -> SendState {
        self.queue.lock().state()
    }

    /// Whether messages can still be sent, see [`SendState::is_open`].
    pub fn is_open(&self) -> bool {
        self.state().is_open
    }

    /// Bytes that the kernel has not accepted yet.
    pub fn backlog(&self) -> usize {
        self.queue.lock().backlog()
    }

    /// Whether the connection is open and no bytes are queued or being sent.
    pub fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.reason.is_none() && !queue.is_sending && queue.backlog() == 0
    }

    /// Loads the state that an update uses into the CPU cache.
    pub fn prefetch(&self) {
        std::hint::black_box((self.queue.is_locked(), self.deadlines.is_closing()));
    }

    /// Number of system calls reported so far.
    pub fn sends(&self) -> u64 {
        self.queue.lock().sends
    }

    /// Returns the action due at `now`, with the `slack` of the driver's pauses; see
    /// [`Deadlines::poll`]. Closes the client if the kernel has accepted no queued byte for
    /// [`limits::SEND_STALL_TIME`].
    pub fn poll(&self, now: Duration, slack: Duration) -> DueAction {
        if !self.deadlines.is_closing() {
            let stalled_since = self.queue.lock().stalled_since;
            let grace = limits::SEND_STALL_TIME + slack;
            if stalled_since.is_some_and(|since| now.saturating_sub(since) > grace) {
                return DueAction::Close(CloseReason::SlowClient);
            }
        }
        self.deadlines.poll(now, limits::IDLE_TIMEOUT, slack)
    }
}
