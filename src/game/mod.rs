//! The traits that a game implements: [`SimpleGame`] or [`Game`].
//!
//! If all clients see the same state, or see different lists of entities, implement [`SimpleGame`]:
//! [`Simple`] makes a [`Game`] of it. If each client needs a view of its own, implement [`Game`]
//! itself. [`bots`] contains the hooks for bots.
//!
//! A test of a game needs no server: [`simple::TestWorld`] is a world whose players join and act as
//! the test says.
//!
//! # The parts of a `Game`
//!
//! ```text
//!   packets ─► PacketHandler ─► actions ─► Game::Sim ─► Game::Publisher ─► View of each client
//!                                                                           │
//!                                                                           ▼
//!                                                                       Messages
//! ```
//!
//! [`Game`] names the types of a game. The rest of the server (connections, rooms, captures,
//! console) uses its [`GameInfo`], which contains none of these types. Each room is erased once,
//! and each packet is handled through one `dyn` [`PacketHandler`].

pub mod bots;
pub mod client_authority;
mod close_reason;
pub(crate) mod command_acks;
mod dyn_tick;
mod encode_values;
mod erase;
#[allow(clippy::module_inception, reason = "the trait Game and its file have one name")]
mod game;
mod info;
pub mod lockstep_packets;
mod messages;
mod packet_handler;
pub mod prediction;
mod records;
#[cfg(tickwire_world_module)]
pub mod registered_game;
mod report;
pub mod room_properties;
mod shared_updates;
pub mod simple;

/// Rule of the `error` packet to a client that could not resume, because its player has left. The
/// client gets a new player.
pub const PLAYER_GONE: &str = "player_left";
/// Rule of the error for a client that requests a lane and cannot have one.
pub const NO_LANE: &str = "no_lane";

pub use crate::game::bots::rng::BotRng;
pub use crate::game::bots::{AgentOutput, BotStats};
pub use close_reason::CloseReason;
pub use dyn_tick::{DynTick, PlayerScore, Roster};
pub use encode_values::{Boolean, List, WireValues};
pub use game::{ActionOf, Game, Published, Publisher, StateOutcome, UpdateRates, View};
pub use info::{
    ClientFeed, DynWorld, DynWorldResult, GameInfo, KillPacket, OperatorCommand, OperatorCommandError,
    ParsedCommand, PlayerLookup, SpectatorWorld, SpectatorWorldResult,
};
pub use messages::{LaneBaseline, MessageWriter, Messages, Misfit};
pub use packet_handler::{
    JoinRequest, NamedPacket, PacketEffect, PacketHandler, SavedReader, SharedRateLimit,
};
pub use records::{RecordList, Records};
pub use report::Report;
pub use room_properties::{ConditionError, PropertyValue, RoomConditions, RoomProperties};
pub(crate) use shared_updates::{SharedState, SharedUpdates};
pub use simple::{Simple, SimpleGame};
