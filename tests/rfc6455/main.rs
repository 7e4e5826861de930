//! The WebSocket layer against its rules: rows of bytes, other libraries as peers, and two ends joined by a pipe.

mod coverage;
mod frames;
mod peers;
mod pipe;
mod room;
mod upgrade_refusals;
#[path = "../rows"]
mod rows {
    pub mod answers;
    pub mod frames;
    pub mod heads;
    pub mod hex;
}
