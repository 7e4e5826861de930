//! Counts the allowed differences by name.
//!
//! It prints a line for each name when the program ends, so that a too generous allowance is
//! noticed. A difference without a name is a panic in the target.

use std::cell::RefCell;

thread_local! {
    static TALLY: RefCell<Tally> = const { RefCell::new(Tally(Vec::new())) };
}

struct Tally(Vec<(&'static str, &'static str, u64)>);

impl Drop for Tally {
    /// libFuzzer ends the program by returning from its main thread, which drops each thread-local
    /// value.
    fn drop(&mut self) {
        self.0.sort_unstable();
        for (what, name, count) in &self.0 {
            eprintln!("allowed: {what}: {name}: {count}");
        }
    }
}

/// Counts a difference of this kind and name.
pub fn allow(what: &'static str, name: &'static str) {
    TALLY.with_borrow_mut(|Tally(counts)| {
        match counts.iter_mut().find(|(known, of, _)| *known == what && *of == name) {
            Some((.., count)) => *count += 1,
            None => counts.push((what, name, 1)),
        }
    });
}
