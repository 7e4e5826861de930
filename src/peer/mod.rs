//! One connection's whole conversation with the server, without I/O.
//!
//! ```text
//!  bytes in ─► Receiver: frames ─► packets ─► session ─► commands, joins, watch  ─► Driver
//!                │                               └─ answers: pong, welcome, error ──┐
//!                └─ a broken rule, a close ─► Ending ─► close frame ────────────────┤
//!  updates of the room ─────────────────────────────────────────────────────────────┤
//!  bytes out ◄── the driver's system call ◄── batches ◄── Sender: one ordered queue ◄┘
//! ```
//!
//! The reading thread owns the [`Receiver`]; all threads that send or close share the [`Sender`]. A
//! driver passes in bytes and the time, and carries out the results. The drivers are `net`
//! (sockets), `embedded` (function calls), `replay` (a capture), `simulate` and tests. This module
//! is the only code that turns a client's bytes into commands, and the only code that frames
//! messages for a client.

mod books;
pub mod budgets;
mod cover;
mod driver;
pub mod ending;
pub mod endpoint;
pub mod life;
mod numbers;
mod observed;
pub mod pauses;
pub mod receiver;
pub mod sender;
mod texts;
mod unused;

pub use ending::Ending;
pub use endpoint::Endpoint;
pub use life::Life;
pub use receiver::{Driver, Receiver, RoomFacts};
pub use sender::Sender;
