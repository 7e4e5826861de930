//! Prediction, reconciliation and dead reckoning against a whole server on a bad line, in virtual time.

mod corrections;
mod hostile;
mod line;
mod moo;
mod others;
mod pictures;
mod shots;
mod tanks;
#[allow(dead_code, reason = "the tests of packets use the rest")]
#[path = "../rows/values.rs"]
mod values;
