//! The native layout: quantised changes, and no bytes for players who stand still.
//!
//! ```text
//!  update [tick, own, leaves, enters, full, moved, turned]     positions in half px, headings in 1/256 turn
//!          │     │    │       │       │     │      └ id, heading          players that turned since the previous turn
//!          │     │    │       │       │     └ id, dx, dy                  players that moved since the previous turn
//!          │     │    │       │       └ id, x, y, heading                 known players, after a missed turn
//!          │     │    │       └ id, name, skin, x, y, heading             players that came into view
//!          │     │    └ id                                                players that left the view or the game
//!          │     └ sequence, margin, x, y, vx, vy, heading, direction     the client's own exact state, if it changed
//!          └ empty fields at the end are omitted; an empty update is not sent
//! ```
//!
//! The base of a difference is the pose of the previous native turn, quantised like the new one, so
//! that differences add up to the exact quantised pose. A client that missed a turn receives full
//! records of the players whose pose differs from the last one sent. PROTOCOL.md describes the same
//! layout.

mod events;
mod records;
mod update;

pub use records::{Pose, TurnDelta};
pub use update::{NativeScratch, NativeView};
