//! One client connection after the upgrade, without I/O.
//!
//! ```text
//!  bytes in ─► ServerConnection: frames ─► packets ─► session ─► requests (join, …) ─► driver
//!                │                                       └─ replies: pong, welcome, error ─┐
//!                └─ violation, close ─► DisconnectReason ─► close frame ───────────────────┤
//!  updates of the room ────────────────────────────────────────────────────────────────────┤
//!  bytes out ◄─ the driver's system call ◄─ batches ◄─ Sender: one ordered queue ◄─────────┘
//! ```
//!
//! The reading thread owns the [`ServerConnection`]. All threads that send or close share the
//! [`Sender`]. A driver passes in bytes and the time, takes the [`ConnectionOutput`]s in order and
//! executes them. The drivers are `net` (sockets), `embedded` (function calls), `replay` (a
//! capture), `simulate` and tests. Only this module turns a client's bytes into commands, and only
//! this module frames messages for a client.

pub mod connection_output;
pub mod deadlines;
pub mod disconnect_reason;
pub mod head_secrets;
pub mod message_compression;
mod message_handler;
mod observed_stream;
pub mod pauses;
pub mod rate_limits;
pub mod resume_key;
mod room_info;
pub mod sender;
pub mod server_connection;
pub mod session;
pub mod wire_format;

pub use connection_output::{
    Answer, ClientRequest, ConnectionEvent, ConnectionOutput, Denial, ObservedBytes, ReadTime,
};
pub use deadlines::Deadlines;
pub use disconnect_reason::DisconnectReason;
pub use message_compression::{DeflaterPool, MessageCompression};
pub use room_info::RoomInfo;
pub use sender::Sender;
pub use server_connection::ServerConnection;
pub use wire_format::WireFormat;
