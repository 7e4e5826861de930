//! What plays this game from outside: the packets of both sides, typed, and the bots.
//!
//! ```text
//!  message ──► heard ──► picture ──► policy ──► packet
//!             by table  what is     what to    said
//!                       known       do
//! ```
//!
//! The modules, in the order of the flow: [`heard`] (a server's packets, typed, all dialects),
//! [`picture`] (the client's knowledge of the world), [`policy`] (decides what the player does,
//! without knowing packets), [`play`] (a policy that meets other bots, builds and fights), and
//! [`actor`] (all of these together: the agent).

pub mod actor;
pub mod heard;
pub mod picture;
pub mod play;
pub mod policy;
mod said;
