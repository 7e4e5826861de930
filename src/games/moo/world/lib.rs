//! The world: a deterministic simulation in integers, driven by commands.
//!
//! ```text
//!              seed ─► map ─► scenery ─┐
//!                                      ▼
//!   commands ─► apply ─► state ─► controllers act on terrain ─► bodies push ─► projectiles fly ─► structures act ─► attacks
//!                          │
//!                          └─► visit of all fields ─► snapshot · checksum · comparison
//! ```
//!
//! The state is a function of an [`Identity`] and the commands of each tick. Equal identities and
//! equal commands give equal worlds: in debug and release, on every machine, and in the browser.
//! For this reason, the world uses only integers, keeps entities in the order of their numbers, has
//! its own random generator, and has no clock, no globals, no hash maps and no dependencies.
//!
//! The modules, in the order of the flow: [`rules`], [`map`], [`command`], [`entity`],
//! [`controller`], [`terrain`], [`World`], [`snapshot`]. They are built on [`fixed`], [`trig`],
//! [`rng`] and [`text`].

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
pub mod local;
mod scratch;
mod shoot;
mod sim;
mod start;
mod state;
mod step;
mod touch;
mod turret;
mod view;
mod world;

mod check;
mod code;
mod fields;
pub mod snapshot;

pub use tickwire_sim::{fixed, rng, trig};

#[cfg(test)]
mod tests;

pub use clan::ClanId;
pub use code::code_hash;
pub use command::{Action, Command, Rejection, Selection, Spawned};
pub use controller::{Controller, SceneryKind};
pub use entity::{Body, Entity, EntityId, PlayerId};
pub use event::{Event, Outcome};
pub use fixed::{Angle, Fixed};
pub use map::{Bands, Biome};
pub use rules::{AnimalKind, Resource, TickHz};
pub use snapshot::SnapshotError;
pub use state::Identity;
pub use view::{AnimalView, PlayerView, ProjectileView, SceneryView, StructureView};
pub use world::World;
