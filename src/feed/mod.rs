//! The feed: the messages that tell each client about the world.
//!
//! ```text
//!  world ──► Publisher ──► Published (one a tick, shared) ──┬─► View of client 1 ──► Messages
//!            (world thread)  events, state, records once     └─► View of client 2 ──► Messages
//! ```
//!
//! `publish` copies state and events out of the world after a tick, and does not depend on a
//! layout. A view brings its client up to date with the state in three steps: `look` finds what is
//! in view, `known` compares it with the client's known set, and the layout, `native` or `moomoo`,
//! writes the records and messages for each change. `layout` chooses between the two. The output is
//! whole messages (MessagePack), not frames. The feed uses no socket and no clock, and does not
//! decide who may play.

mod events;
pub mod interest;
mod known;
mod known_clans;
mod layout;
mod look;
mod merge;
mod messages;
mod moomoo;
mod native;
mod objects;
mod pace;
mod publish;
mod records;
mod state;
mod values;

pub use events::Events;
pub use interest::Layout;
pub use layout::{Published, Publisher, Rates, Scratch, Turn, View};
pub use messages::Messages;
pub use native::Pose;
