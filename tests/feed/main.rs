//! What a client is told: worlds by hand, and the packets that come of them.

mod clans;
mod clicks;
mod company;
mod fight;
mod interest;
mod lanes;
mod stream;
#[path = "../support/told.rs"]
mod told;
