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
//! [`conversation`] (what its bytes ask of the room), [`backlog`] (ticks that wait for a worker),
//! [`audience`] (updates), [`snapshots`] (which client in lockstep is sent one next). A request for `/wire` becomes a [`watch`]. The drivers are `net` (sockets,
//! threads, a clock), `embedded` (function calls) and `simulate` (a model of the network in virtual
//! time). [`tokens`] say who may play, and a [`gate`] limits how often an address may guess a [`secret`].
//! [`secrets`] are overwritten before anybody sees a request.

pub mod admission;
mod answers;
pub mod audience;
pub mod backlog;
pub mod budgets;
pub mod client;
pub mod conversation;
pub mod core;
pub mod door;
pub mod gate;
pub mod inspect_key;
pub mod lockstep;
pub mod pool;
pub mod refused;
pub mod secret;
pub mod secrets;
pub mod snapshots;
pub mod tokens;
pub mod watch;
