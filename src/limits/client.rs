//! Bounds of the connections of tickwire's own clients.

use std::time::Duration;

/// Maximum time for connecting, and for the server's response to the request. After this time, the
/// client fails.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for which `connect` waits for the list of rooms, by which it recognises a tickwire
/// server. After this time, the server counts as another one.
pub const CONNECT_PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum bytes of the body of a refusal that `connect` reads and prints: a page of text. A longer
/// body ends the connection.
pub const REFUSAL_BODY_BYTES: usize = 64 * 1024;
/// Maximum bytes that a client queues for a server that does not read. The pongs of one read (three
/// times `READ_BYTES` of `testing/load`) and the commands of a second fit. More bytes end the
/// connection.
pub const CLIENT_QUEUE_BYTES: usize = 256 * 1024;
/// Time without received bytes after which `echo --connect` fails. It is a common timeout of
/// proxies.
pub const CLIENT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a server has to close the TCP connection after both close frames, because RFC 6455,
/// section 7.1.1, requires the server to close it first. After this time, the client closes it.
pub const CLIENT_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which `util/os/portable.rs` polls sockets, because it cannot wait for them: 200
/// calls per second for each socket.
pub const PORTABLE_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Timeout that `util/os/portable.rs` sets for a read if the caller sets none, because a shutdown
/// by another thread may not wake the read.
pub const PORTABLE_READ_TIMEOUT: Duration = Duration::from_secs(1);
