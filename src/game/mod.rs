//! The traits that a game implements: [`SimpleGame`] or [`Game`].
//!
//! If all clients see the same state, or see different lists of entities, implement [`SimpleGame`]:
//! [`Simple`] makes a [`Game`] of it. If each client needs a view of its own, implement [`Game`]
//! itself. [`bots`] contains the hooks for bots.
//!
//! A test of a game needs no server. It steps the world directly:
//!
//! ```
//! use tickwire::game::simple::{NamedValues, SimpleAction, SimpleGame, SimpleWorld, TickContext};
//! use tickwire::packet::DecodedPacket;
//! use tickwire::sim::{Command, PlayerId, Sim, StepResult, WorldParams, fields};
//! # #[derive(Clone, Debug, PartialEq)]
//! # struct Presses { count: u32 }
//! # fields!(Presses: count: u32);
//! # #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
//! # enum Act { Press }
//! # fields!(enum Act: Press {});
//! # impl SimpleGame for Presses {
//! #     const NAME: &'static str = "presses";
//! #     const DIALECT: &'static str = "presses";
//! #     const TABLE: (&'static str, &'static str) = ("presses.tsv", "");
//! #     const PAGE: &'static str = "";
//! #     type Action = Act;
//! #     fn new(_: &WorldParams) -> Presses { Presses { count: 0 } }
//! #     fn join(&mut self, _: PlayerId, _: &str, _: &mut TickContext<'_>) {}
//! #     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
//! #     fn action(packet: &DecodedPacket<'_>) -> Option<Act> {
//! #         (packet.row.name == "press").then_some(Act::Press)
//! #     }
//! #     fn apply(
//! #         &mut self, _: PlayerId, _: Act, _: &mut TickContext<'_>,
//! #     ) -> Result<(), &'static str> {
//! #         self.count += 1;
//! #         Ok(())
//! #     }
//! #     fn tick(&mut self, _: &mut TickContext<'_>) {}
//! #     fn write_state(&self, row: &mut NamedValues) { row.set("count", self.count); }
//! # }
//!
//! // The game of the crate's page.
//! let params = WorldParams::default_for::<SimpleWorld<Presses>>(1);
//! let mut world = SimpleWorld::<Presses>::new(&params);
//! let (ann, mut stepped) = (PlayerId(1), StepResult::default());
//! let join = SimpleAction::Join(ann, "Ann".to_owned());
//! let join = Command { player: PlayerId::OPERATOR, sequence: 1, action: join };
//! world.step(&mut vec![join], &mut stepped);
//! let press = Command { player: ann, sequence: 1, action: SimpleAction::Act(Act::Press) };
//! world.step(&mut vec![press], &mut stepped);
//! assert_eq!(world.game().count, 1);
//!
//! // A snapshot restores the world.
//! assert_eq!(SimpleWorld::restore(&world.snapshot())?, world);
//! # Ok::<(), String>(())
//! ```
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
pub mod room_properties;
pub mod simple;

/// Rule of the `error` packet to a client that could not resume, because its player has left. The
/// client gets a new player.
pub const PLAYER_GONE: &str = "player_left";

pub use crate::game::bots::rng::BotRng;
pub use close_reason::CloseReason;
pub use dyn_tick::{DynTick, Roster};
pub use encode_values::{Boolean, List, WireValues};
pub use game::{ActionOf, Game, Published, Publisher, StateOutcome, UpdateRates, View};
pub use info::{
    ClientFeed, DynWorld, DynWorldResult, GameInfo, KillPacket, OperatorCommand, OperatorCommandError,
    ParsedCommand, PlayerLookup, SpectatorWorld, SpectatorWorldResult,
};
pub use messages::{MessageWriter, Messages, Misfit};
pub use packet_handler::{
    JoinRequest, NamedPacket, PacketEffect, PacketHandler, SavedReader, SharedRateLimit,
};
pub use records::{RecordList, Records};
pub use room_properties::{PropertyValue, RoomConditions, RoomProperties};
pub use simple::{Simple, SimpleGame};
