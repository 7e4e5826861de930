//! The feed: the messages that tell each client about the world.
//!
//! ```text
//!  world ──► Publisher ──► Published (one a tick, shared) ──┬─► View of client 1 ──► Messages
//!            (world thread)  events, state, records once     └─► View of client 2 ──► Messages
//! ```
//!
//! `publish` copies state and events out of the world after a tick, and knows no layout. A layout,
//! `native` or `moomoo`, owns the records of its clients and what each of them knows. It writes the
//! events, and brings a client up to date with the state in three steps: look (what is in view),
//! compare (what of it the client does not know), write. `layout` chooses between the two. The
//! output is whole messages (MessagePack), not frames. The feed uses no socket and no clock, and
//! does not decide who may play.

mod animals;
mod clans;
mod events;
pub mod interest;
mod known;
mod known_clans;
mod layout;
mod messages;
mod moomoo;
mod native;
mod objects;
mod pace;
mod publish;
mod records;
mod state;

pub use events::Events;
pub use layout::{Layout, Published, Publisher, Rates, Scratch, Turn, View};
pub use messages::Messages;
pub use native::Pose;
