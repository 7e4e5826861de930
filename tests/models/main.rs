//! Hand-over points between threads in `server/net/` and `server/room/`, run by a model checker that chooses the
//! next thread at every lock.
//!
//! ```text
//!  sender.rs, worker_queue.rs, registry.rs, rooms/, room/ of the product ─┐
//!  sync.rs of this folder, in which every lock is the checker's ───────────┴─► thousands of schedules, each from its seed
//! ```
//!
//! The models compile the product's own files. A failure is an order of events in which something
//! is lost, torn or waits for ever, with the schedule that replays it. There is no clock: a wait
//! that would time out waits for ever, so a lost wake-up is noticed. [`planted`] loses some on
//! purpose, to show that the checker finds them.

use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

/// What the product's files see as their crate.
pub(crate) use product::{connection, server};
pub use tickwire::game;
pub use tickwire::internal::limits;

/// The same, with a private part of it.
pub mod packet {
    pub use tickwire::internal::packet::routes;
    pub use tickwire::packet::*;
}

/// The same, with the locks of the checker.
pub(crate) mod util {
    pub(crate) use crate::sync;
    pub use tickwire::internal::util::{address_prefix, escape};
}

#[allow(dead_code, unused_imports, reason = "models use what threads hand over, and none of the unit tests")]
#[path = "../../src"]
mod product {
    pub(crate) mod connection {
        pub(crate) mod sender;
        pub use tickwire::internal::connection::{DisconnectReason, deadlines};
    }
    pub(crate) mod server {
        pub(crate) mod net {
            pub(crate) mod registry;
            pub(crate) mod rooms;
            pub(crate) mod worker_queue;
            pub use tickwire::internal::server::net::{metrics, tap};
        }
        pub(crate) mod room;
        pub use tickwire::internal::server::{admission, clients};
    }
}

mod bells;
mod planted;
mod rooms_end;
mod seats;
mod senders;
mod stops;
mod sync;

/// Schedules that each model is run with, of each of the two kinds.
const SCHEDULES: usize = 2_000;

/// Every model by its name. A list instead of `#[test]`: under that, the files of the product would bring their own tests, which know no checker.
const MODELS: [(&str, fn()); 10] = [
    ("what_is_offered_while_another_sends_is_sent", senders::what_is_offered_while_another_sends_is_sent),
    ("a_kernel_that_takes_some_tears_nothing", senders::a_kernel_that_takes_some_tears_nothing),
    ("every_tick_and_client_and_the_stop_are_heard", bells::every_tick_and_client_and_the_stop_are_heard),
    ("no_two_have_one_number_and_none_is_lost", seats::no_two_have_one_number_and_none_is_lost),
    ("one_key_has_one_seat", seats::one_key_has_one_seat),
    ("whoever_comes_while_the_server_stops_is_told", stops::whoever_comes_while_the_server_stops_is_told),
    ("whoever_comes_while_a_room_ends_is_in_a_living_one", rooms_end::whoever_comes_is_in_a_living_room),
    ("planted_a_worker_is_found_asleep", planted::a_worker_is_found_asleep),
    ("planted_a_stop_is_found_asleep", planted::a_stop_is_found_asleep),
    ("planted_a_sender_is_found_to_leave_bytes", planted::a_sender_is_found_to_leave_bytes),
];

/// Runs a model with many schedules: at random, and with few changes of who goes on, of which most faults need two or three.
fn check(model: impl Fn() + Send + Sync + 'static) {
    let model = Arc::new(model);
    let same = Arc::clone(&model);
    shuttle::check_random(move || model(), SCHEDULES);
    shuttle::check_pct(move || same(), SCHEDULES, 3);
}

/// Runs the models whose name has one of the arguments in it, or all.
fn main() -> ExitCode {
    let mut asked: Vec<String> = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // What the usual harness takes with a value, which is no name then.
            "--test-threads" | "--skip" | "--format" | "--color" => drop(words.next()),
            _ if word.starts_with('-') => {}
            _ => asked.push(word),
        }
    }
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|word| name.contains(word.as_str()));
    let (mut passed, mut failed) = (0, 0);
    let mut out = io::stdout();
    for (name, model) in MODELS.iter().filter(|(name, _)| is_asked(name)) {
        let is_well = catch_unwind(AssertUnwindSafe(model)).is_ok();
        let verdict = if is_well { "ok" } else { "FAILED" };
        *(if is_well { &mut passed } else { &mut failed }) += 1;
        let _ = writeln!(out, "test {name} ... {verdict}");
    }
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let _ = writeln!(out, "\ntest result: {verdict}. {passed} passed; {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
