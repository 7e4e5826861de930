//! Prediction, reconciliation and dead reckoning against a whole server on a bad line, in virtual time.

mod corrections;
#[allow(dead_code, reason = "its `main` is of the program")]
#[path = "../../examples/fog.rs"]
mod fog_example;
mod hostile;
mod lane;
mod line;
mod moo;
mod others;
mod own;
mod pictures;
mod shots;
mod tanks;
#[allow(dead_code, reason = "the tests of packets use the rest")]
#[path = "../rows/values.rs"]
mod values;
