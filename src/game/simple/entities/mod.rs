//! Entity lists: what a client sees of a game's entities, as differences.
//!
//! ```text
//!   SimpleGame::write_entities ─► EntityFrame (values at a due tick) ─► changes, encoded once
//!   SimpleGame::sight, sees ────► visible entities of one client ──┐       │
//!                                  KnownEntities of that client ───┴───────┴─► packet
//! ```
//!
//! An *entity list* is a row of the packet table in the lane `latest` that has an argument `enter`:
//!
//! ```text
//! soldiers  latest  7  tick:u32.tick enter:[player:u16,name:str<=15,x:u16.px,y:u16.px] leave:[u16]
//!                      moved:[player:u16,dx:i8.px,dy:i8.px] placed:[player:u16,x:u16.px,y:u16.px]
//! ```
//!
//! - `enter` has all fields of an entity. The first one is its id.
//! - `leave` lists the ids of entities that the client no longer sees.
//! - Every other list is a *change list*: the id, and some of the fields. A field `dx` is the
//!   difference of `x` to its last value. Likewise, `dplayer` in place of the id is its difference
//!   to the id of the record before, which takes one byte for large ids too.
//! - A field `vx` is the velocity of `x`: what a client adds to it in each tick.
//! - Empty lists with `|nil` at the end of a packet are omitted.
//!
//! At each update, a client is sent the entities that it sees from now on, the ids of entities
//! that it no longer sees, and the changed fields of the others. A changed entity uses the shortest
//! change list that contains its changed fields, or the first lists that contain each. If a
//! difference does not fit its type, the list is not used; if no list fits, the entity is sent in
//! `enter` again. A field with a velocity has changed if the velocity has not led to its value.
//!
//! A client first moves the entities by their velocities, up to the tick of the packet. It then
//! applies `leave`, `enter`, and the change lists. With a new velocity, the entity has already
//! moved in the last tick, so the field changes by the difference of the velocities. Updates by
//! datagram have no differences, and repeat what the client may lack, so they may name an unknown
//! id in `leave`.

mod entity_diff;
mod entity_frame;
mod entity_values;
mod index_set;
mod known_entities;
mod lane_entities;
#[cfg(test)]
mod lane_tests;
mod layout;
mod received_entities;
#[cfg(test)]
mod shared_tests;
mod sight;
#[cfg(test)]
mod tests;
mod velocity;

pub(super) use entity_diff::EntityScratch;
#[cfg(not(target_family = "wasm"))]
pub(super) use entity_frame::visible_entities;
pub(super) use entity_frame::{EntityFrame, FrameBuilder};
pub use entity_values::Entities;
#[cfg(not(target_family = "wasm"))]
pub(super) use entity_values::EntityValues;
pub(super) use known_entities::KnownEntities;
#[cfg(not(target_family = "wasm"))]
pub(crate) use layout::ChangeList;
pub(crate) use layout::EntityLayout;
pub(super) use layout::check_layouts;
pub use received_entities::{EntityError, ReceivedEntities};
pub use sight::{EntityInfo, EntityRef, Sight, Viewer};
#[cfg(not(target_family = "wasm"))]
pub(crate) use velocity::Velocity;
