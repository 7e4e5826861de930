//! The bounds of WebSocket connections.

// ---- ws: the request head -------------------------------------------------------------------

/// Bytes of a request head, request line included. A browser's is under 2 KiB, plus the cookies of
/// every other server on the same host, whatever its port: on `localhost` often more than 8 KiB. At
/// this value, a head with 32 KiB of cookies is read. All unfinished requests of an address hold at
/// most `MAX_PENDING_REQUESTS_PER_ADDRESS` times this. Beyond: 431, with the name of the largest header.
pub const HEAD_BYTES: usize = 40 * 1024;
/// Characters of a value that a refusal quotes: enough for every address with a port. The rest is
/// left out.
pub const REFUSED_VALUE_CHARS: usize = 64;
/// Header lines of a request head. A browser sends about 15. Beyond: 431.
pub const HEAD_HEADERS: usize = 64;
/// Bytes of the request target (path and query). Beyond: 431, as for a head that is too large.
pub const TARGET_BYTES: usize = 2 * 1024;
/// Subprotocols that a client may offer. The server knows one. Beyond: 400.
pub const SUBPROTOCOLS: usize = crate::ws::handshake::MAX_SUBPROTOCOLS;

// ---- ws: frames and messages ----------------------------------------------------------------

/// Payload bytes of a control frame, RFC 6455 5.5. Beyond: close 1002.
pub const CONTROL_PAYLOAD_BYTES: usize = crate::ws::frame::MAX_CONTROL_PAYLOAD_BYTES;
/// Bytes of one client message, all its fragments together. 4 KiB of MessagePack can grow to 0.6 MB
/// of values, and no packet of any dialect needs more than 200 bytes. Beyond: close 1009.
pub const MESSAGE_BYTES: usize = 4 * 1024;
/// Fragments of one client message, empty ones included. Beyond: close 1008 with the rule's name.
pub const MESSAGE_FRAGMENTS: usize = 64;
/// Bytes that a driver may read at once because a frame header announced them. This saves reads,
/// and bounds the memory that a header alone can claim. A longer frame is read in several steps.
pub const READ_AHEAD_BYTES: usize = 128 * 1024;
/// Bytes of a message that our own client accepts from a server. One update of a crowded screen is
/// under 16 KiB.
pub const CLIENT_MESSAGE_BYTES: usize = 1024 * 1024;
