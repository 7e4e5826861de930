//! The traits that a game implements: [`SimpleGame`], or [`Game`].
//!
//! If everybody sees the same, implement [`SimpleGame`]: [`Simple`] makes a [`Game`] of it. If each
//! client sees its own part of the world, implement [`Game`] itself. [`bots`] is for bots that play a
//! game.
//!
//! A test of a game needs no server: it steps the world.
//!
//! ```
//! use tickwire::game::simple::{Deed, Row, SimpleGame, Turns, World};
//! use tickwire::packet::Decoded;
//! use tickwire::sim::{Command, Identity, PlayerId, Sim, Stepped, fields};
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
//! #     fn new(_: &Identity) -> Presses { Presses { count: 0 } }
//! #     fn join(&mut self, _: PlayerId, _: &str, _: &mut Turns<'_>) {}
//! #     fn leave(&mut self, _: PlayerId) {}
//! #     fn action(packet: &Decoded<'_>) -> Option<Act> { (packet.row.name == "press").then_some(Act::Press) }
//! #     fn act(&mut self, _: PlayerId, _: Act, _: &mut Turns<'_>) -> Result<(), &'static str> {
//! #         self.count += 1;
//! #         Ok(())
//! #     }
//! #     fn tick(&mut self, _: &mut Turns<'_>) {}
//! #     fn show(&self, row: &mut Row) { row.set("count", self.count); }
//! # }
//!
//! // The game of the crate's page.
//! let mut world = World::<Presses>::new(&Identity::of::<World<Presses>>(1));
//! let (ann, mut stepped) = (PlayerId(1), Stepped::default());
//! let join = Deed::Join(ann, "Ann".to_owned());
//! let join = Command { player: PlayerId::OPERATOR, sequence: 1, action: join };
//! world.step(&mut vec![join], &mut stepped);
//! let press = Command { player: ann, sequence: 1, action: Deed::Act(Act::Press) };
//! world.step(&mut vec![press], &mut stepped);
//! assert_eq!(world.game().count, 1);
//!
//! // A world goes on from its snapshot.
//! assert_eq!(World::restore(&world.snapshot())?, world);
//! # Ok::<(), String>(())
//! ```
//!
//! # The parts of a `Game`
//!
//! ```text
//!   packets ─► Verbs ─► actions ─► Game::Sim ─► Game::Publisher ─► View of each client ─► Messages
//! ```
//!
//! [`Game`] names the types of a game. Everything around it (connections, rooms, captures, the
//! console) uses its [`About`], which has no type of the game in it: a room is erased once, and what
//! is asked of a game for each packet goes through one `dyn` [`Verbs`].

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
pub mod simple;

/// The rule by which a client is told that the player to which it would have come back has left, so that
/// it begins anew.
pub const PLAYER_GONE: &str = "player_gone";

pub use crate::game::bots::rng::Dice;
pub use close_reason::Breach;
pub use dyn_tick::{Roster, Tick};
pub use encode_values::{List, Values};
pub use game::{ActionOf, Game, Published, Publisher, Rates, Turn, View};
pub use info::{About, Find, Given, Kill, Looking, Onlooker, Order, OrderError, Replica, Restored, Viewer};
pub use messages::{Messages, Misfit, Writer};
pub use packet_handler::{Ask, Named, Profile, Saved, Shared, Verbs};
pub use records::{Records, Section};
pub use simple::{Simple, SimpleGame};
