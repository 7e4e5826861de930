//! Bots of this game, and the typed packets that they receive and send.
//!
//! ```text
//!  message ──► received ──► world_model ──► policy ──► encode ──► packet
//! ```
//!
//! The modules in the order of the flow: [`received`] (typed server packets of all dialects),
//! [`world_model`] (the client's knowledge of the world), [`policy`] (decides what the player does,
//! independently of packets), [`play_policy`] (a policy that meets other bots, builds and fights),
//! and [`agent`] (combines them). `update_merge` merges updates by datagram and by stream.

pub mod agent;
mod encode;
pub mod play_policy;
pub mod policy;
pub mod received;
mod update_merge;
pub mod world_model;
