//! Many bots that check what they receive, and their measurements.

mod bot_datagrams;
pub mod checking_bot;
pub mod crowd;
mod histogram;
mod plan;
pub mod reconnects;
pub mod report;
#[cfg(feature = "built-in-games")]
pub mod resume_test;
mod round_trip_agent;
