//! What a client is told of the world.
//!
//! ```text
//!  world ──► Publisher ──► Published (one a tick, shared) ──┬─► View of client 1 ──► Messages
//!            (world thread)  players, grid, records once     └─► View of client 2 ──► Messages
//! ```
//!
//! [`publish`] takes what anyone may see out of the world after a tick; [`interest`] finds what is near; [`records`]
//! encodes each thing once per layout; [`view`] knows what one client has been told, and assembles what it is told
//! next ([`native`] and [`moomoo`] are its two layouts). Comes in: the world, a dialect. Goes out: whole messages
//! (MessagePack), not frames. Never: a socket, a clock, a decision about who may play.

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
