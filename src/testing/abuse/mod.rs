//! Clients that break rules, alone and in large numbers, and a server that drops all input.

pub mod attack;
pub mod client;
pub mod sink;
