//! The locks of `net/`, in one place, so that a model checker can be put in their stead.
//!
//! `parking_lot`: no poisoning (one client's panic must not lock others out) and small enough for one per client.

pub use parking_lot::{Condvar, Mutex};
