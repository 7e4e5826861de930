//! One client connection after the upgrade, without I/O.
//!
//! ```text
//!  bytes in ─► Receiver: frames ─► packets ─► session ─► commands, joins, spectating ─► Driver
//!                │                               └─ replies: pong, welcome, error ──┐
//!                └─ violation, close ─► DisconnectReason ─► close frame ────────────┤
//!  updates of the room ─────────────────────────────────────────────────────────────┤
//!  bytes out ◄─ the driver's system call ◄─ batches ◄─ Sender: one ordered queue ◄──┘
//! ```
//!
//! The reading thread owns the [`Receiver`]. All threads that send or close share the [`Sender`]. A
//! driver passes in bytes and the time, and executes the results. The drivers are `net` (sockets),
//! `embedded` (function calls), `replay` (a capture), `simulate` and tests. Only this module turns
//! a client's bytes into commands, and only this module frames messages for a client.

pub mod deadlines;
pub mod disconnect_reason;
mod driver;
mod events;
mod observed_stream;
pub mod pauses;
pub mod rate_limits;
pub mod receiver;
pub mod redact;
pub mod resume_key;
pub mod sender;
pub mod session;
pub mod wire_format;

pub use deadlines::Deadlines;
pub use disconnect_reason::DisconnectReason;
pub use receiver::{Driver, Receiver, RoomInfo};
pub use sender::Sender;
pub use wire_format::WireFormat;
