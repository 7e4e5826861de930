//! Bounds of the low-latency lane.

use std::time::Duration;

/// Maximum bytes of a datagram, without the headers of IP and UDP: it fits every path that IPv6
/// allows (1,280 bytes, RFC 8200, section 5), also in a tunnel. A longer one is dropped.
pub const DATAGRAM_BYTES: usize = 1_200;
/// Maximum number of commands in a datagram: one second of a client that sends 60 commands per
/// second. Older commands go by the stream.
pub const LANE_COMMANDS: usize = 64;
/// Maximum bytes of a command in a datagram, without sequence number and tick. A longer command
/// goes by the stream, and the lane continues after it.
pub const LANE_COMMAND_BYTES: usize = 200;
/// Time without a datagram, beyond a round trip, after which a lane is not in use: about eight
/// updates at 20 Hz. The stream then carries everything.
pub const LANE_SILENCE: Duration = Duration::from_millis(400);
/// Number of datagrams from which the share of lost ones is known well enough to leave a lane.
pub const LANE_LOSS_SAMPLE: u32 = 16;
/// Maximum bytes of a packet in a datagram of the server: the rest is for the headers, the tag, an
/// acknowledgement and replies. An update with a longer packet goes in the stream.
pub const LANE_PACKET_BYTES: usize = DATAGRAM_BYTES - 12 - 16 - 3 - 7 - LANE_REPLY_BYTES;
/// Time for which updates go in the stream after one that did not fit, so that a crowded view does
/// not change between the two at each update.
pub const LANE_STREAM_TIME: Duration = Duration::from_secs(5);
/// Maximum bytes of replies in a datagram, such as pongs: the rest belongs to the state. Further
/// replies are dropped; a client that pings less than 20 times between two updates reaches none.
pub const LANE_REPLY_BYTES: usize = 256;
/// Maximum time between two datagrams of a lane that is in use, so that each end learns what has
/// arrived: a quarter of [`LANE_SILENCE`].
pub const LANE_ACK_INTERVAL: Duration = Duration::from_millis(100);
/// Time beyond a round trip after which a command that the server has not acknowledged goes by the
/// stream as well: about four datagrams have then been lost.
pub const LANE_PATIENCE: Duration = Duration::from_millis(150);
/// Minimum time between two datagrams of a client that repeat commands: two frames of a display.
pub const LANE_REPEAT_INTERVAL: Duration = Duration::from_millis(33);
/// Maximum number of updates by datagram whose entities a server keeps for a client until it
/// acknowledges one: two seconds at 30 Hz. After that every entity is sent in `enter`.
pub const LANE_UNACKED_UPDATES: usize = 64;
/// Maximum number of players whose positions a client keeps until they enter its view: more than a
/// screen shows. The lowest number is dropped.
pub const LANE_WAITING_PLAYERS: usize = 256;
/// Maximum number of datagrams of a connection that an embedded server keeps for its program: those
/// of one second at 60 Hz. Further datagrams are lost.
pub const EMBEDDED_DATAGRAMS: usize = 60;
/// Maximum number of datagrams of a client in a second of the server's clock: four times the
/// datagrams of a client that sends 60. Further ones are dropped, and the stream carries their
/// commands.
pub const LANE_DATAGRAMS_PER_SECOND: u32 = 240;
/// Pause of the thread of the UDP socket after an error, so that a lasting error does not use a
/// core.
pub const LANE_ERROR_PAUSE: Duration = Duration::from_millis(50);
