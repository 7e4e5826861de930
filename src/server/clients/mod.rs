//! A server's logic for its connections and rooms, without I/O.
//!
//! ```text
//!  request ─► budgets, admission ─► door ─► client ─► conversation ─► seats and commands of its room
//!                                             ▲
//!             ticks of its room ─► audience ──┘  updates
//! ```
//!
//! The modules, in the order in which a connection meets them: [`budgets`] (rate limits per
//! address), [`admission`] with its [`pool`]s (which connections get a thread), [`door`] (which
//! requests become clients), [`refused`], [`client`] (a connection that is in a room),
//! [`client_driver`] (what its bytes ask of the room), [`backlog`] (ticks that wait for a worker),
//! [`update_group`] (updates), [`snapshots`] (which client in lockstep is sent one next). A request for `/wire` becomes a [`inspector_session`]. The drivers are `net` (sockets,
//! threads, a clock), `embedded` (function calls) and `simulate` (a model of the network in virtual
//! time). [`tokens`] say who may play, and a [`gate`] limits how often an address may guess a [`secret`].
//! [`secrets`] are overwritten before anybody sees a request.

pub mod backlog;
pub mod client;
pub mod client_driver;
pub mod dyn_room;
pub mod inspector_session;
pub mod lockstep_feed;
mod pending_acks;
pub mod update_group;
