//! The world: a deterministic simulation in integers, driven by commands.
//!
//! ```text
//!              seed ─► map ─► scenery ─┐
//!                                      ▼
//!   commands ─► apply ─► state ─► controllers act ─► bodies push ─► projectiles fly
//!                          │          ─► structures affect players ─► attacks ─► turrets
//!                          │
//!                          └─► visit of all fields ─► snapshot · checksum · comparison
//! ```
//!
//! The state is a function of an [`Identity`] and the commands of each tick. Equal identities and
//! equal commands give equal worlds: in debug and release, on every machine, and in the browser.
//! For this reason, the world uses only integers, stores entities in ascending order of ID, has its
//! own random generator, and has no clock, no globals, no hash maps and no dependencies except
//! `tickwire-sim`.
//!
//! The modules, in the order of the flow: [`rules`], [`spawn::map`], [`command`], [`entity`],
//! [`controller`], [`terrain`], [`World`], [`snapshot`]. They are built on [`fixed`], [`trig`],
//! [`rng`] and [`command::text`].

pub mod rules;
pub mod spawn;

pub mod command;

mod body;
pub mod controller;
pub mod entity;
mod id;

pub mod clan;

mod player_index;
pub mod terrain;

pub mod client_world;
mod event;
mod public_view;
mod scratch;
mod sim;
mod state;
mod tick;
mod world;

mod fields;
mod rules_hash;
pub mod snapshot;
mod validate;

pub use tickwire_sim::{fixed, rng, trig};

#[cfg(test)]
mod tests;

pub use crate::spawn::map::{Biome, BiomeBands};
pub use clan::ClanId;
pub use command::{Action, Command, Rejection, Selection, Spawned};
pub use controller::{Controller, SceneryKind};
pub use entity::{Body, Entity, EntityId, PlayerId};
pub use event::{TickOutcome, WorldEvent};
pub use fixed::{Angle, Fixed};
pub use public_view::{AnimalView, PlayerView, ProjectileView, SceneryView, StructureView};
pub use rules::{AnimalKind, Resource, TickHz};
pub use rules_hash::rules_hash;
pub use snapshot::SnapshotError;
pub use state::Identity;
pub use world::World;
