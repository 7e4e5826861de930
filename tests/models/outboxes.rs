//! The outbox: several threads push, one at a time sends, and nothing is left behind, torn or out of order.

use std::io;
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

use crate::outbox::{Outbox, Pushed, Wire};
use crate::sync::Mutex;

/// Bytes of a frame of these models: so many times the number of the thread that pushed it, and which of its frames it is.
const FRAME_BYTES: usize = 4;
const NOW: Duration = Duration::ZERO;

/// A kernel that takes what it likes: all, some or nothing, and minds if two send at once.
pub struct Kernel {
    is_sending: AtomicBool,
    takes_all: bool,
    got: Mutex<Vec<u8>>,
    queued: Mutex<Vec<u8>>,
}

impl Kernel {
    pub fn new(takes_all: bool) -> Kernel {
        Kernel {
            is_sending: AtomicBool::new(false),
            takes_all,
            got: Mutex::default(),
            queued: Mutex::default(),
        }
    }

    pub fn got(&self) -> Vec<u8> {
        self.got.lock().clone()
    }
}

impl Wire for Kernel {
    fn send_now(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        assert!(!self.is_sending.swap(true, Ordering::SeqCst), "two threads send at once");
        let taken =
            if self.takes_all { bytes.len() } else { shuttle::rand::thread_rng().gen_range(0..=bytes.len()) };
        self.got.lock().extend_from_slice(&bytes[..taken]);
        self.is_sending.store(false, Ordering::SeqCst);
        Ok((taken > 0).then_some(taken))
    }

    fn queued(&self, frames: &[u8], _now: Duration) {
        self.queued.lock().extend_from_slice(frames);
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

/// Two that push two frames each, while the kernel takes all: then all must have been sent, though nobody comes later to look.
pub fn nothing_is_left_behind() {
    let (outbox, kernel) = (Arc::new(Outbox::default()), Arc::new(Kernel::new(true)));
    let push = |thread: u8| {
        let (outbox, kernel) = (Arc::clone(&outbox), Arc::clone(&kernel));
        thread::spawn(move || {
            for number in 1..=2 {
                assert_eq!(outbox.push(&*kernel, &frame(thread, number), NOW), Pushed::Taken);
            }
        })
    };
    for pushing in [push(1), push(2), push(3)] {
        pushing.join().expect("no panic");
    }
    assert_eq!(outbox.backlog(), 0, "a push was left behind");
    assert_whole(&kernel.got());
    assert_eq!(kernel.got().len(), 3 * 2 * FRAME_BYTES);
}

pub fn what_is_pushed_while_another_sends_is_sent() {
    crate::check(nothing_is_left_behind);
}

/// Some is taken, some waits: nothing is torn or lost, and the close frame is last.
pub fn a_kernel_that_takes_some_tears_nothing() {
    crate::check(|| {
        let (outbox, kernel) = (Arc::new(Outbox::default()), Arc::new(Kernel::new(false)));
        let both = || (Arc::clone(&outbox), Arc::clone(&kernel));
        let (worker, reader, closer) = (both(), both(), both());
        let threads = [
            thread::spawn(move || {
                for number in 1..=3 {
                    worker.0.push(&*worker.1, &frame(1, number), NOW);
                    worker.0.drive(&*worker.1, NOW);
                }
            }),
            thread::spawn(move || {
                (1..=2).for_each(|number| {
                    reader.0.push(&*reader.1, &frame(2, number), NOW);
                });
            }),
            thread::spawn(move || {
                closer.0.close(&*closer.1, &frame(3, 1), NOW);
                closer.0.close(&*closer.1, &frame(3, 2), NOW);
                closer.0.drive(&*closer.1, NOW);
                assert_eq!(closer.0.push(&*closer.1, &frame(4, 1), NOW), Pushed::Ended);
            }),
        ];
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        while outbox.backlog() > 0 {
            outbox.drive(&*kernel, NOW);
        }
        let got = kernel.got();
        assert_whole(&got);
        assert!(got.ends_with(&frame(3, 1)), "the first close frame is the last word");
        assert_eq!(got, kernel.queued.lock().clone(), "who listens heard what was sent");
    });
}
