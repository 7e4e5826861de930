//! Tests of leases: single rules. `testing::simulate::cluster` simulates whole clusters with them.

mod rules;
mod shared_settings;
