//! Bounds of WebSocket connections.

// ---- ws: the request head -------------------------------------------------------------------

/// Maximum bytes of a request head, including the request line. A browser's head is under 2 KiB,
/// plus the cookies of every other server on the same host, whatever its port; on `localhost` these
/// are often more than 8 KiB. At this value, a head with 32 KiB of cookies is read. All unfinished
/// requests of an address use at most `MAX_PENDING_REQUESTS_PER_ADDRESS` times this. A longer head
/// is refused with 431, with the name of the largest header.
pub const HEAD_BYTES: usize = 40 * 1024;
/// Maximum characters of a value that a refusal quotes: enough for every address with a port. The
/// rest is omitted.
pub const REFUSED_VALUE_CHARS: usize = 64;
/// Maximum number of header lines of a request head. A browser sends about 15. More lines are
/// refused with 431.
pub const HEAD_HEADERS: usize = 64;
/// Maximum bytes of the request target (path and query). A longer target is refused with 431, as a
/// head that is too large.
pub const TARGET_BYTES: usize = 2 * 1024;
/// Maximum number of subprotocols that a client may offer. The server supports one. A request that
/// offers more is refused with 400.
pub const SUBPROTOCOLS: usize = crate::ws::handshake::MAX_SUBPROTOCOLS;

// ---- ws: frames and messages ----------------------------------------------------------------

/// Maximum payload bytes of a control frame: RFC 6455, section 5.5. A longer one closes the
/// connection with 1002.
pub const CONTROL_PAYLOAD_BYTES: usize = crate::ws::frame::MAX_CONTROL_PAYLOAD_BYTES;
/// Maximum bytes of one client message, all its fragments together. 4 KiB of MessagePack can decode
/// to 0.6 MB of values, and no packet of any dialect needs more than 200 bytes. A longer message
/// closes the connection with 1009.
pub const MESSAGE_BYTES: usize = 4 * 1024;
/// Maximum number of fragments of one client message, including empty ones. More fragments close
/// the connection with 1008 and the rule's name.
pub const MESSAGE_FRAGMENTS: usize = 64;
/// Maximum bytes of one read of a long frame. A larger value saves reads; a smaller one limits the
/// memory that a header alone can claim. A longer frame is read in several steps.
pub const READ_AHEAD_BYTES: usize = 128 * 1024;
/// Minimum bytes of a message that is compressed on a connection with permessage-deflate. A message
/// of 20 bytes gains at most a few bytes, and costs as much time as one of 200. A shorter message
/// is sent as it is.
pub const COMPRESSION_MIN_BYTES: usize = 32;
/// Maximum bytes of a message that tickwire's own client accepts from a server. One update of a
/// crowded screen is under 16 KiB.
pub const CLIENT_MESSAGE_BYTES: usize = 1024 * 1024;
