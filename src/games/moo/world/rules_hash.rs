//! The hash of the code: of everything that decides what a world computes.

use crate::controller::Controller;
use crate::fields::Sink as _;
use crate::rules::{self, ITEMS};
use tickwire_sim::Checksum;

/// A hash of this code: its version and every constant that affects the simulation. Worlds with
/// equal hashes can execute one another's commands with the same results.
pub fn rules_hash() -> u64 {
    let mut hash = Checksum::new();
    rules::visit_constants(|value| hash.put(value as u64, 8));
    for time in ITEMS.iter().filter_map(|item| Controller::built(item).ends_in()) {
        hash.put(u64::from(time), 8);
    }
    hash.get()
}
