//! The bounds of a connection of our own clients.

use std::time::Duration;

/// Time for connecting, and for a server to answer the request. Beyond: the client gives up.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the body of a refusal that `talk` reads and shows: a page of text. Beyond: the connection is
/// ended.
pub const REFUSAL_BODY_BYTES: usize = 64 * 1024;
/// Bytes that a client of ours queues for a server that does not read, such as pongs: the pongs of one read
/// (three times `READ_BYTES` of `testkit/crowd.rs`) and a second of commands. Beyond: the connection is ended.
pub const CLIENT_QUEUE_BYTES: usize = 256 * 1024;
/// Silence after which `echo --connect` gives up on its server: as long as common proxies wait.
pub const CLIENT_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that a server has to end the connection once both ends have closed: RFC 6455 section 7.1.1
/// asks the server to end it first. Beyond: the client ends it.
pub const CLIENT_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often `platform/plain.rs` looks at sockets that it cannot wait for: 200 calls a second each.
pub const PORTABLE_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How often its reads without a timeout look up: a shutdown by another thread may not wake them.
pub const PORTABLE_READ_TIMEOUT: Duration = Duration::from_secs(1);
