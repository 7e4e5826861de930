//! The feed: the messages that tell each client about the world.
//!
//! ```text
//!  world ──► Publisher ──► Published (one a tick, shared) ──┬─► View of client 1 ──► Messages
//!            (world thread)  players, grid, records once     └─► View of client 2 ──► Messages
//! ```
//!
//! [`publish`] copies the public state out of the world after a tick; [`interest`] finds nearby
//! things; [`records`] encodes each thing once per layout; [`view`] tracks what one client knows,
//! and assembles its next messages ([`native`] and [`moomoo`] are the two layouts). The output is
//! whole messages (MessagePack), not frames. The feed uses no socket and no clock, and does not
//! decide who may play.

pub mod animals;
pub mod built;
pub mod clans;
pub mod happenings;
pub mod interest;
pub mod messages;
pub mod moomoo;
pub mod native;
pub mod pace;
pub mod publish;
pub mod records;
pub mod shots;
pub mod view;

pub use messages::Messages;
pub use publish::{Published, Publisher, Rates};
pub use view::{Scratch, View};
