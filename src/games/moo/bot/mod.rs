//! Bots of this game, and the typed packets of both sides that they use.
//!
//! ```text
//!  message ──► received ──► world_model ──► policy ──► encode ──► packet
//! ```
//!
//! The modules, in the order of the flow: [`received`] (a server's packets, typed, all dialects),
//! [`world_model`] (the client's knowledge of the world), [`policy`] (decides what the player does,
//! without knowing packets), [`play_policy`] (a policy that meets other bots, builds and fights), and
//! [`agent`] (all of these together: the agent).

pub mod agent;
mod encode;
pub mod play_policy;
pub mod policy;
pub mod received;
pub mod world_model;
