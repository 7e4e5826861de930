//! The native layout: quantised changes, without bytes for players that do not move.
//!
//! ```text
//!  update [tick, own, leaves, enters, full, moved, turned, animals, animals_gone]
//!          │     │    │       │       │     │      │       └ only for a client with a lane
//!          │     │    │       │       │     │      └ id, heading        turned players
//!          │     │    │       │       │     └ id, dx, dy                moved players
//!          │     │    │       │       └ id, x, y, heading               after a missed update
//!          │     │    │       └ id, name, skin, x, y, heading           came into view
//!          │     │    └ id                                              left the view or the game
//!          │     └ sequence, margin, x, y, vx, vy, heading, direction   own state, if changed
//!          └ empty fields at the end are omitted; an empty update is not sent
//! ```
//!
//! Positions are in half px, headings in 1/256 turn. The base of a difference is the pose in the
//! previous native update, quantised like the new pose, so that differences add up to the exact
//! quantised pose. A client that missed an update receives a full record of each player whose pose
//! differs from the pose last sent to this client. PROTOCOL.md describes the same layout.

mod animals;
mod datagram;
mod events;
mod records;
mod update;
mod update_input;
mod view;

pub use records::UpdateDelta;
pub use view::{NativeScratch, NativeTicks, NativeView};
