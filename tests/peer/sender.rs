//! The sending half: what the kernel accepts, in which order, and when the connection ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tickwire::game::CloseReason;
use tickwire::internal::connection::deadlines::DueAction;
use tickwire::internal::connection::sender::{Batch, EnqueueResult, Frames};
use tickwire::internal::connection::{DisconnectReason, Sender};
use tickwire::internal::limits;

const START: Duration = Duration::ZERO;

/// A sender and a kernel that takes at most `room` bytes, or has lost its peer.
pub struct Line {
    pub sender: Sender,
    pub room: usize,
    pub is_lost: bool,
    pub got: Vec<u8>,
    pub observed: Vec<u8>,
}

impl Line {
    pub fn with_room(room: usize) -> Line {
        let sender = Sender::new(false, START);
        Line { sender, room, is_lost: false, got: Vec::new(), observed: Vec::new() }
    }

    /// Offers frames and sends; returns whether they were accepted.
    pub fn offer(&mut self, frames: Frames<'_>, now: Duration) -> Option<bool> {
        let observed = &mut self.observed;
        let offered = self.sender.enqueue(frames, |bytes| observed.extend_from_slice(bytes));
        match offered {
            EnqueueResult::Send(batch) => self.send(Some(batch), now),
            EnqueueResult::Queued => {}
            EnqueueResult::Full => return Some(false),
            EnqueueResult::Closed => return None,
        }
        Some(true)
    }

    pub fn close(&mut self, breach: CloseReason, frames: &[u8], now: Duration) -> bool {
        let observed = &mut self.observed;
        self.sender.close(
            DisconnectReason::Closed(breach),
            frames,
            |bytes| observed.extend_from_slice(bytes),
            now,
        )
    }

    pub fn drive(&mut self, now: Duration) {
        let batch = self.sender.take_queued().ok();
        self.send(batch, now);
    }

    fn send(&mut self, first: Option<Batch<'_>>, now: Duration) {
        let mut next = first
            .map(|batch| (self.take(&batch), batch))
            .and_then(|(taken, batch)| self.sender.on_sent(batch, taken, now));
        while let Some(batch) = next {
            let taken = self.take(&batch);
            next = self.sender.on_sent(batch, taken, now);
        }
    }

    fn take(&mut self, batch: &Batch<'_>) -> io::Result<usize> {
        if self.is_lost {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let bytes: Vec<u8> = batch.slices().flatten().copied().take(self.room).collect();
        self.room -= bytes.len();
        self.got.extend_from_slice(&bytes);
        Ok(bytes.len())
    }
}

#[test]
fn the_rest_of_a_frame_precedes_later_frames_and_sent_bytes_are_not_kept() {
    let shared: Arc<[u8]> = b"SHARED".as_slice().into();
    for room in 0..14 {
        let mut line = Line::with_room(room);
        for frames in [Frames::Borrowed(b"abcd"), Frames::Shared(&shared), Frames::Borrowed(b"ef")] {
            assert_eq!(line.offer(frames, START), Some(true));
        }
        assert_eq!(line.sender.backlog(), 12 - room.min(12));
        assert_eq!(line.sender.state().is_empty, room >= 12, "{room}");
        line.room = 100;
        line.drive(START);
        assert_eq!((&line.got[..], line.sender.backlog()), (&b"abcdSHAREDef"[..], 0), "{room}");
        assert_eq!(line.got, line.observed, "what is observed has the order of the wire");
    }
    assert_eq!(Arc::strong_count(&shared), 1, "sent pieces are given back");
}

#[test]
fn shared_pieces_are_not_copied_and_many_are_sent_in_several_calls() {
    let mut line = Line::with_room(0);
    let shared: Vec<Arc<[u8]>> = (0..40).map(|number| vec![number; 10].into()).collect();
    for piece in &shared {
        assert_eq!(line.offer(Frames::Shared(piece), START), Some(true));
        assert_eq!(Arc::strong_count(piece), 2, "the queue holds the same bytes");
    }
    line.room = usize::MAX;
    let before = line.sender.sends();
    line.drive(START);
    assert_eq!(line.sender.sends() - before, 40_u64.div_ceil(limits::MAX_IOVECS as u64));
    assert_eq!(line.got, shared.iter().flat_map(|piece| piece.iter().copied()).collect::<Vec<_>>());
}

#[test]
fn the_limit_holds_for_everything_but_the_final_close_frame() {
    let mut line = Line::with_room(0);
    assert_eq!(line.offer(Frames::Borrowed(&vec![7; limits::SEND_QUEUE_BYTES]), START), Some(true));
    assert_eq!(line.offer(Frames::Borrowed(b"x"), START), Some(false));
    assert!(line.sender.is_open() && line.sender.disconnect_reason().is_none());
    assert!(line.close(CloseReason::Kicked, b"bye", START));
    assert!(!line.close(CloseReason::SlowClient, b"again", START));
    assert_eq!(line.offer(Frames::Borrowed(b"x"), START), None);
    assert_eq!(
        line.sender.disconnect_reason(),
        Some(DisconnectReason::Closed(CloseReason::Kicked)),
        "the first reason counts"
    );
    line.room = usize::MAX;
    line.drive(START);
    assert!(line.got.ends_with(b"\x07bye"));
    assert_eq!(line.got, line.observed, "what was not accepted is not observed");
}

#[test]
fn a_send_buffer_full_for_the_grace_period_makes_a_slow_client() {
    let mut line = Line::with_room(1);
    line.offer(Frames::Borrowed(b"abc"), START);
    let later = limits::SEND_STALL_TIME;
    assert_eq!(
        line.sender.poll(later + Duration::from_millis(1), Duration::ZERO),
        DueAction::Close(CloseReason::SlowClient)
    );
    line.room = 1;
    line.drive(later);
    assert!(matches!(
        line.sender.poll(later + limits::SEND_STALL_TIME, Duration::ZERO),
        DueAction::Nothing(_) | DueAction::Ping
    ));
}

#[test]
fn a_lost_peer_ends_the_queue_without_a_reason() {
    let mut line = Line::with_room(0);
    line.is_lost = true;
    line.offer(Frames::Borrowed(b"abc"), START);
    assert_eq!((line.sender.backlog(), line.sender.is_open()), (0, false));
    assert_eq!(line.offer(Frames::Borrowed(b"x"), START), None);
    assert_eq!(line.sender.disconnect_reason(), None);
}
