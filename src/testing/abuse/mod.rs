//! TODO: testing/abuse

pub mod attack;
pub mod misbehavior;
pub mod sink;
