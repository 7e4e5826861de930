//! Prediction, reconciliation and dead reckoning against a whole server on a bad line, in virtual time.

mod line;
mod moo;
mod pictures;
mod tanks;
