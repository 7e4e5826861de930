//! The world: integers only, made of commands, the same on every machine and in the browser.

pub mod command;
pub mod controller;
pub mod entity;
pub mod fixed;
pub mod rules;
pub mod snapshot;
pub mod state;

pub use command::{Action, Command, Refusal};
pub use controller::{Controller, SceneryKind};
pub use entity::{Body, Entity, EntityId, PlayerId};
pub use fixed::{Angle, Fixed};
pub use snapshot::SnapshotError;
pub use state::{code_hash, Event, Identity, Outcome, PlayerView, SceneryView, TickHz, World};
