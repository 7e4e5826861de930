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
/// Maximum bytes of an update in datagrams: a larger one goes in the stream, because a burst of
/// more datagrams overflows the buffers of a slow line, and the stream has differences.
pub const LANE_UPDATE_BYTES: usize = 4 * DATAGRAM_BYTES;
/// Time for which updates go in the stream after one that did not fit, so that a crowded view does
/// not change between the two at each update.
pub const LANE_STREAM_TIME: Duration = Duration::from_secs(5);
/// Maximum bytes of replies in a datagram, such as pongs: the rest belongs to the state. Further
/// replies are dropped; a client that pings less than 20 times between two updates reaches none.
pub const LANE_REPLY_BYTES: usize = 256;
/// Time without a datagram of the client, beyond a round trip, after which the server leaves a
/// lane: three acknowledgements that were lost in a row.
pub const LANE_CLIENT_SILENCE: Duration = Duration::from_millis(700);
/// Maximum time between two datagrams of the server in a lane that is in use, so that the client
/// learns what has arrived: a quarter of [`LANE_SILENCE`].
pub const LANE_ACK_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time between two datagrams of a client that has nothing to send, so that the server
/// learns what has arrived. Receiving one costs the server as much as half an update.
pub const LANE_CLIENT_ACK_INTERVAL: Duration = Duration::from_millis(200);
/// Minimum time between two messages in the stream of a client with a lane in use that could wait:
/// acks of commands, and players at the edge of its view. A player is 162 px beyond the edge of the
/// screen when it comes into view, which it walks in more time than that.
pub const LANE_STREAM_INTERVAL: Duration = Duration::from_millis(200);
/// Time beyond a round trip after which a command that the server has not acknowledged goes by the
/// stream as well: about four datagrams have then been lost.
pub const LANE_PATIENCE: Duration = Duration::from_millis(150);
/// Minimum time between two datagrams of a client that repeat commands: two frames of a display.
pub const LANE_REPEAT_INTERVAL: Duration = Duration::from_millis(33);
/// Maximum number of updates by datagram whose entities a server keeps for a client until it
/// acknowledges one: two seconds at 30 Hz. After that every entity is sent in `enter`.
pub const LANE_UNACKED_UPDATES: usize = 64;
/// Maximum number of entities per list whose removal was sent in the stream and is repeated in the
/// next datagram, because the datagram may overtake the stream. Older removals are not repeated:
/// they have arrived, unless the stream has stalled.
pub const LANE_STREAM_LEAVES: usize = 128;
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
/// Maximum bytes of the offer of a data channel: a browser's offer has about 500.
pub const LANE_OFFER_BYTES: usize = 4_096;
/// Maximum bytes of a name in an offer: `ice-ufrag` has at most 256 (RFC 8839, section 5.4).
pub const LANE_OFFER_WORD_BYTES: usize = 256;
/// Maximum overhead of a datagram in a data channel, in bytes: 37 for DTLS 1.2, 28 for the headers
/// of SCTP, and 3 for the padding of its chunks to a multiple of 4.
pub const DATA_CHANNEL_OVERHEAD_BYTES: usize = 68;
/// Maximum number of addresses of a data channel from which packets are accepted: a browser tries
/// each of its networks, by IPv4 and IPv6. The oldest is dropped.
pub const DATA_CHANNEL_ADDRESSES: usize = 8;
/// Maximum bytes in the send buffer of a data channel. At the limit, datagrams are dropped, because
/// the next update replaces them.
pub const DATA_CHANNEL_SEND_BYTES: usize = 4 * DATAGRAM_BYTES;
/// Receive buffer of a data channel's SCTP association, in bytes. Each received packet is read at
/// once.
pub const DATA_CHANNEL_RECEIVE_BYTES: u32 = 64 * 1_024;
/// Interval at which the timers of data channels are checked. SCTP retransmits after 1 s and
/// acknowledges after 200 ms.
pub const DATA_CHANNEL_TIMER_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes of the buffer for a UDP packet: more than an Ethernet frame. A longer packet is truncated,
/// and breaks a rule.
pub const LANE_PACKET_BUFFER_BYTES: usize = 2_048;
/// Maximum size of the file of `--key-log`, which has about 110 bytes for each lane. At the limit,
/// no more keys are written, because clients may request any number of lanes.
pub const KEY_LOG_BYTES: u64 = 64 * 1024 * 1024;
