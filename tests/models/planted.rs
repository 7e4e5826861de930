//! Faults planted on purpose, each of which loses a wake-up: the checker has to find them with the very models that the product passes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shuttle::sync::Arc;
use shuttle::thread;

use crate::senders::Line;
use crate::util::sync::{self, Mutex};
use crate::{bells, check, stops};

/// What the checker says when it finds something.
fn found(model: impl Fn() + Send + Sync + 'static) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| check(model))).expect_err("the fault was not found");
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

pub fn a_worker_is_found_asleep() {
    let said = sync::with_a_gap_before_waiting(|| found(bells::the_worker_hears_all));
    assert!(said.contains("deadlock"), "{said}");
}

pub fn a_stop_is_found_asleep() {
    let said = sync::with_a_gap_before_waiting(|| found(stops::nobody_is_left_behind));
    assert!(said.contains("deadlock"), "{said}");
}

/// The hand-over of the sender with one fault: the sender looks for more, lets go of the lock, and only then says that it sends no longer.
#[derive(Default)]
struct Forgetful {
    state: Mutex<(Vec<u8>, bool)>,
}

impl Forgetful {
    fn push(&self, line: &Line, frame: &[u8]) {
        let mut state = self.state.lock();
        state.0.extend_from_slice(frame);
        if state.1 {
            return;
        }
        state.1 = true;
        drop(state);
        loop {
            let batch = std::mem::take(&mut self.state.lock().0);
            if batch.is_empty() {
                break;
            }
            line.send([&batch[..]].into_iter());
        }
        self.state.lock().1 = false;
    }
}

pub fn a_sender_is_found_to_leave_bytes() {
    let said = found(|| {
        let (queue, line) = (Arc::new(Forgetful::default()), Line::new(true));
        let push = |frame: &'static [u8]| {
            let (queue, line) = (Arc::clone(&queue), Arc::clone(&line));
            thread::spawn(move || queue.push(&line, frame))
        };
        let threads = [push(b"one"), push(b"two")];
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(queue.state.lock().0.is_empty(), "bytes were left behind");
    });
    assert!(said.contains("left behind"), "{said}");
}
