//! What a client is sent: hand-made worlds, and the packets that result from them.

mod clans;
mod clicks;
mod company;
mod datagrams;
mod fight;
mod interest;
mod lanes;
mod order;
mod shared;
mod stream;
#[path = "../support/told.rs"]
mod told;
