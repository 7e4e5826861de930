//! The feed: the messages that tell each client about the world.
//!
//! ```text
//!  world ──► WorldReader ──► events, state (one a tick, shared) ──┬─► view of client 1 ──► messages
//!             (room's thread)  records once                        └─► view of client 2 ──► messages
//! ```
//!
//! `publish` copies state and events out of the world after a tick, and does not depend on a
//! layout. A view brings its client up to date with the state in three steps: `look` finds what is
//! in view, `known` compares it with the client's known set, and the layout, `native` or `moomoo`,
//! writes the records and messages for each change. `games::moo` chooses between the two. The output is
//! whole messages (MessagePack), not frames. The feed uses no socket and no clock, and does not
//! decide who may play.

mod byte_rate;
mod encode_values;
mod events;
mod in_view;
pub mod interest;
mod known_clans;
mod known_set;
mod merge_diff;
mod moomoo;
mod native;
mod objects;
pub mod outgoing_packet;
mod publish;
mod published_state;
mod send_typed;

pub use events::Events;
pub use interest::UpdateLayout;
pub(crate) use moomoo::{MoomooScratch, MoomooView};
pub use native::Pose;
pub(crate) use native::{NativeScratch, NativeView, TurnDelta};
pub(crate) use publish::WorldReader;
pub(crate) use published_state::PublicState;
