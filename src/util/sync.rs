//! The locks of the program, in one place, so that a model checker can replace them.
//!
//! `parking_lot`: no poisoning (one client's panic must not lock others out), and small enough for
//! one lock per client.

pub use parking_lot::{Condvar, Mutex};
