//! The WebSocket layer against its rules: rows of bytes, other libraries as peers, and two ends joined by a pipe.

mod coverage;
mod frames;
mod others_wrong;
mod peers;
mod pipe;
mod room;
mod upgrade_refusals;
#[path = "../rows"]
mod rows {
    pub mod answers;
    pub mod frames;
    pub mod frames_close;
    pub mod frames_deflate;
    pub mod frames_limits;
    pub mod frames_text;
    pub mod heads;
    pub mod heads_http;
    pub mod heads_unfinished;
    pub mod heads_upgrade;
    pub mod hex;
    pub mod pieces;
}
