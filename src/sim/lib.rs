//! Deterministic worlds: commands, ticks, snapshots, checksums, and the arithmetic for them.
//!
//! A game uses this package as `tickwire::sim`.
//!
//! ```text
//!   bytes ─► RawCommand ─► inbox ─► Command<Action> ─► Sim::step ─► StepResult: departed, rejected
//!                            └──► command frame          │
//!                                                        └─► checksum, snapshot
//! ```
//!
//! A [`Sim`] is a function of its [`WorldParams`] and the commands of each tick. Equal parameters
//! and equal commands give equal worlds in debug and release builds, on every machine and in the
//! browser. A world uses integers only, and has no clock, no globals, no hash maps and no
//! dependencies. For its arithmetic there are [`rng`] (random numbers), [`fixed`] (lengths, angles,
//! roots), [`trig`], [`geometry`], [`arena`] (walls, movement, shots), [`spatial_index`] (what is
//! near a point) and [`path`] (shortest paths on a grid). [`timer`], [`chat`] and
//! [`similar_names`] are small parts that many games need.
//!
//! ```
//! use tickwire_sim::fields::{ByteSink, Field};
//! use tickwire_sim::{Reader, Rng, fields};
//!
//! /// A part of a state. The list of its fields provides snapshot, checksum and comparison.
//! #[derive(Debug, PartialEq)]
//! struct Ball {
//!     x: i32,
//!     y: i32,
//! }
//! fields!(Ball: x: i32, y: i32);
//!
//! // The seed determines all random numbers; each purpose has its own sequence.
//! let mut random = Rng::new(7, 0);
//! let ball = Ball { x: random.between(0, 640), y: random.between(0, 480) };
//! let mut snapshot = ByteSink::default();
//! ball.write(&mut snapshot);
//! assert_eq!(Ball::read(&mut Reader::new(&snapshot.0)), Ok(ball));
//! ```

pub mod arena;
pub mod chat;
mod checksum;
mod command;
pub mod command_frame;
mod encoded_action;
pub mod fields;
pub mod fixed;
pub mod geometry;
pub mod migrate;
mod named;
mod named_enum;
pub mod path;
mod player;
mod player_map;
mod reader;
mod restore_error;
pub mod rng;
mod sim;
pub mod similar_names;
pub mod spatial_index;
pub mod state_tree;
pub mod timer;
pub mod trig;

pub use checksum::Checksum;
pub use command::{Command, RawCommand};
pub use command_frame::{MAX_COMMANDS, MAX_TEXT_BYTES};
pub use encoded_action::{Action, EncodedAction, MembershipChange};
pub use player::PlayerId;
pub use player_map::PlayerMap;
pub use reader::{Malformed, Reader};
pub use restore_error::RestoreError;
pub use rng::Rng;
pub use sim::{OptionSpec, RejectedCommand, Sim, StepResult, WorldParams};
