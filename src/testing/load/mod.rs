//! TODO: testing/load

pub mod checking_bot;
pub mod crowd;
pub mod report;
pub mod resume_test;
