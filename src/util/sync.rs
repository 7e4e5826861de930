//! The locks of the program, in one place, so that a model checker can replace them.
//!
//! They come from `parking_lot`: it has no poisoning, so a panic in one client's thread cannot
//! block others, and its locks are small enough for one per client.

pub use parking_lot::{Condvar, Mutex};
