//! The world: integers only, made of commands, the same on every machine and in the browser.
//!
//! ```text
//!              seed ─► map ─► scenery ─┐
//!                                      ▼
//!   commands ─► apply ─► state ─► controllers act on terrain ─► bodies push ─► shots fly ─► the ground acts ─► strokes land
//!                          │
//!                          └─► the walk over all fields ─► snapshot · checksum · comparison
//! ```
//!
//! State is a function of an [`Identity`] and the commands of each tick. Equal ones make equal worlds: in debug and
//! release, on every machine, in the browser. Therefore: whole numbers only, entities in the order of their numbers, an own
//! generator, no clock, no global, no map with an order of its own, and no dependency.
//!
//! The modules, in the order of the flow: [`rules`], [`map`], [`command`], [`entity`], [`controller`], [`terrain`],
//! [`World`], [`snapshot`]. What they are made of: [`fixed`], [`trig`], [`rng`], [`text`].
//!
//! The package keeps to what Rust 1.63 knows, since that is the compiler that Debian carries with a WebAssembly target.

pub mod rules;

mod land;
pub mod map;
mod spawn;

mod alike;
pub mod command;
mod frame;
pub mod text;

mod body;
pub mod controller;
pub mod entity;
mod id;

pub mod clan;

mod built;
mod crowd;
mod grid;
mod row;
pub mod terrain;

mod appear;
mod apply;
mod clans;
mod deeds;
mod event;
mod fight;
mod herd;
mod life;
mod scratch;
mod shoot;
mod start;
mod state;
mod step;
mod touch;
mod turret;
mod view;
mod world;

mod check;
mod checksum;
mod difference;
mod fields;
pub mod snapshot;

pub mod fixed;
pub mod rng;
pub mod trig;

#[cfg(test)]
mod tests;

pub use clan::ClanId;
pub use command::{Action, Command, Refusal, Selection, Spawned};
pub use controller::{Controller, SceneryKind};
pub use difference::Difference;
pub use entity::{Body, Entity, EntityId, PlayerId};
pub use event::{Event, Outcome};
pub use fixed::{Angle, Fixed};
pub use map::{Bands, Biome};
pub use rules::{code_hash, AnimalKind, Resource, TickHz};
pub use snapshot::SnapshotError;
pub use state::Identity;
pub use view::{AnimalView, PlayerView, ProjectileView, SceneryView, StructureView};
pub use world::World;
