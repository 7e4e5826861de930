//! The feed: the messages that inform each client about the world.
//!
//! ```text
//!  world ──► WorldReader ──► events, state (shared) ──┬─► view of client 1 ──► messages
//!             (room's thread)  once per tick          └─► view of client 2 ──► messages
//! ```
//!
//! `publish` copies state and events out of the world after a tick, independently of the layout. A
//! view updates its client in three steps: `in_view` determines the entities in view, `known_set`
//! compares them with the client's known set, and the layout (`native` or `moomoo`) writes records
//! and messages for each change. `games::moo` chooses the layout. The output is whole MessagePack
//! messages, not frames. The feed uses no socket and no clock, and does not decide about
//! permissions.

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
mod pose;
mod publish;
mod published_state;

pub use events::Events;
pub use interest::UpdateLayout;
pub(crate) use moomoo::{MoomooScratch, MoomooView};
pub(crate) use native::{NativeScratch, NativeTicks, NativeView, UpdateDelta};
pub use pose::Pose;
pub(crate) use publish::WorldReader;
pub(crate) use published_state::PublicState;
