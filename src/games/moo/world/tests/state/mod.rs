//! Encoding of the state: snapshots, validation, fixed point, and the world of a client.

pub mod client_world;
pub mod command_frame;
pub mod corrupted;
pub mod extrapolation;
pub mod fixed_point;
pub mod snapshot;
pub mod state_bounds;
pub mod validate;
