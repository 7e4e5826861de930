//! The native layout: quantised changes, and no bytes for players who stand still.
//!
//! ```text
//!  update [tick, own, leaves, enters, full, moved, turned]     positions in half px, headings in 1/256 turn
//!          │     │    │       │       │     │      └ id, heading          who turned since the previous turn
//!          │     │    │       │       │     └ id, dx, dy                  who moved since the previous turn
//!          │     │    │       │       └ id, x, y, heading                 known, but a turn was missed
//!          │     │    │       └ id, name, skin, x, y, heading             came into view
//!          │     │    └ id                                                went out of view or away
//!          │     └ sequence, margin, x, y, vx, vy, heading, direction     one's own exact state, when it changed
//!          └ what is empty at the end is left out; an update that says nothing is not sent
//! ```
//!
//! The base of a difference is the pose of the previous native turn, quantised like the new one, so
//! that differences add up to the exact quantised pose. A client that missed a turn receives full
//! records of the players whose pose differs from the last one sent. PROTOCOL.md describes the same
//! layout.

mod events;
mod records;
mod update;

pub use records::{Pose, Since};
pub use update::{Scratch, View};
