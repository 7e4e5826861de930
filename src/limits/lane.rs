//! Bounds of the low-latency lane.

use std::time::Duration;

/// Maximum bytes of a datagram, without the headers of IP and UDP: it fits every path that IPv6
/// allows (1,280 bytes, RFC 8200, section 5), also in a tunnel. A longer one is dropped.
pub const DATAGRAM_BYTES: usize = 1_200;
/// Maximum number of commands in a datagram: one second of a client that sends 60 commands per
/// second. Older commands go by the stream.
pub const LANE_COMMANDS: usize = 64;
/// Maximum bytes of a command in a datagram, without sequence number and tick. A longer command goes
/// by the stream, and the lane continues after it.
pub const LANE_COMMAND_BYTES: usize = 200;
/// Time without a datagram, beyond a round trip, after which a lane is not in use: about eight
/// updates at 20 Hz. The stream then carries everything.
pub const LANE_SILENCE: Duration = Duration::from_millis(400);
/// Number of datagrams from which the share of lost ones is known well enough to leave a lane.
pub const LANE_LOSS_SAMPLE: u32 = 16;
