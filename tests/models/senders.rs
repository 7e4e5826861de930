//! The sending half of a peer: several threads offer, one at a time sends, and nothing is left behind, torn or out of order.

use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;
use tickwire::game::CloseReason;

use crate::connection::DisconnectReason;
use crate::connection::sender::{Batch, EnqueueResult, Frames, Sender};
use crate::util::sync::Mutex;

/// Bytes of a frame of these models: so many times the number of the thread that offered it, and which of its frames it is.
const FRAME_BYTES: usize = 4;
const NOW: Duration = Duration::ZERO;

/// A connection whose kernel takes what it likes: all, some or nothing, and minds if two send at once.
pub struct Line {
    pub sender: Sender,
    is_sending: AtomicBool,
    takes_all: bool,
    got: Mutex<Vec<u8>>,
    queued: Mutex<Vec<u8>>,
}

impl Line {
    pub fn new(takes_all: bool) -> Arc<Line> {
        Arc::new(Line {
            sender: Sender::new(false, NOW),
            is_sending: AtomicBool::new(false),
            takes_all,
            got: Mutex::default(),
            queued: Mutex::default(),
        })
    }

    /// Offers a frame, as a driver does; every other frame is one that other clients share.
    fn offer(&self, frame: [u8; FRAME_BYTES]) {
        let shared: std::sync::Arc<[u8]> = frame.as_slice().into();
        let frames =
            if frame[3].is_multiple_of(2) { Frames::Shared(&shared) } else { Frames::Borrowed(&frame) };
        match self.sender.enqueue(frames, |bytes| self.queued.lock().extend_from_slice(bytes)) {
            EnqueueResult::Send(batch) => self.transmit(batch),
            EnqueueResult::Queued | EnqueueResult::Closed => {}
            EnqueueResult::Full => panic!("the bound is far"),
        }
    }

    fn close(&self, frame: [u8; FRAME_BYTES]) {
        let queued = |bytes: &[u8]| self.queued.lock().extend_from_slice(bytes);
        if self.sender.close(DisconnectReason::Closed(CloseReason::Kicked), &frame, queued, NOW) {
            self.drive();
        }
    }

    fn drive(&self) {
        if let Ok(batch) = self.sender.take_queued() {
            self.transmit(batch);
        }
    }

    fn transmit(&self, batch: Batch<'_>) {
        let taken = self.send(batch.slices());
        let mut next = self.sender.on_sent(batch, Ok(taken), NOW);
        while let Some(batch) = next {
            let taken = self.send(batch.slices());
            next = self.sender.on_sent(batch, Ok(taken), NOW);
        }
    }

    pub fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> usize {
        assert!(!self.is_sending.swap(true, Ordering::SeqCst), "two threads send at once");
        let bytes: Vec<u8> = slices.flatten().copied().collect();
        let taken =
            if self.takes_all { bytes.len() } else { shuttle::rand::thread_rng().gen_range(0..=bytes.len()) };
        self.got.lock().extend_from_slice(&bytes[..taken]);
        self.is_sending.store(false, Ordering::SeqCst);
        taken
    }
}

fn frame(thread: u8, number: u8) -> [u8; FRAME_BYTES] {
    [thread, thread, thread, number]
}

/// The frames in what was sent: whole, and each thread's in its order.
fn assert_whole(got: &[u8]) {
    let mut last = [0; 8];
    for frame in got.chunks(FRAME_BYTES) {
        let [a, b, c, number] = *frame else { panic!("half a frame at the end: {got:?}") };
        assert!(a == b && b == c, "a frame was torn: {got:?}");
        let before = std::mem::replace(&mut last[usize::from(a)], number);
        assert!(before < number, "out of order: {got:?}");
    }
}

/// Three threads offer two frames each, while the kernel takes all: then all must have been sent, though nobody comes later to look.
pub fn nothing_is_left_behind() {
    let line = Line::new(true);
    let offer = |thread: u8| {
        let line = Arc::clone(&line);
        thread::spawn(move || (1..=2).for_each(|number| line.offer(frame(thread, number))))
    };
    for offering in [offer(1), offer(2), offer(3)] {
        offering.join().expect("no panic");
    }
    assert_eq!(line.sender.backlog(), 0, "a frame was left behind");
    let got = line.got.lock().clone();
    assert_whole(&got);
    assert_eq!(got.len(), 3 * 2 * FRAME_BYTES);
}

pub fn what_is_offered_while_another_sends_is_sent() {
    crate::check(nothing_is_left_behind);
}

/// Some is taken, some waits: nothing is torn or lost, and the close frame is last.
pub fn a_kernel_that_takes_some_tears_nothing() {
    crate::check(|| {
        let line = Line::new(false);
        let (worker, reader, closer) = (Arc::clone(&line), Arc::clone(&line), Arc::clone(&line));
        let threads = [
            thread::spawn(move || {
                for number in 1..=3 {
                    worker.offer(frame(1, number));
                    worker.drive();
                }
            }),
            thread::spawn(move || (1..=2).for_each(|number| reader.offer(frame(2, number)))),
            thread::spawn(move || {
                closer.close(frame(3, 1));
                closer.close(frame(3, 2));
                assert!(closer.sender.disconnect_reason().is_some() && !closer.sender.is_open());
                closer.offer(frame(4, 1));
            }),
        ];
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        while line.sender.backlog() > 0 {
            line.drive();
        }
        let got = line.got.lock().clone();
        assert_whole(&got);
        assert!(got.ends_with(&frame(3, 1)), "the first close frame is the last word");
        assert_eq!(got, line.queued.lock().clone(), "what is observed has the order of the wire");
    });
}
