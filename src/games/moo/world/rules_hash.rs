//! The hash of everything that affects the result of a tick.

use crate::controller::Controller;
use crate::fields::Sink as _;
use crate::rules::{self, ITEMS};
use tickwire_sim::Checksum;

/// A hash of the code version and of every constant that affects the simulation. Worlds with equal
/// hashes compute the same result from the same commands.
pub fn rules_hash() -> u64 {
    let mut hash = Checksum::new();
    rules::visit_constants(|value| hash.put(value as u64, 8));
    for time in ITEMS.iter().filter_map(|item| Controller::built(item).ends_in()) {
        hash.put(u64::from(time), 8);
    }
    hash.get()
}
