//! Bounds of simulated network conditions, and of `tickwire netem`.

use std::time::Duration;

// ---- netem: the model -----------------------------------------------------------------------

/// Payload bytes of one segment: an Ethernet frame of 1,500 bytes minus 40 bytes of IPv4 and TCP
/// headers. More bytes become several segments, and each may be lost.
pub const NETEM_MSS_BYTES: usize = 1_460;
/// Minimum time before a lost segment is resent, as in Linux (`TCP_RTO_MIN`). RFC 6298 recommends 1
/// s.
pub const NETEM_MIN_RTO: Duration = Duration::from_millis(200);
/// Maximum time before a repeatedly lost segment is resent, as in Linux (`TCP_RTO_MAX`).
pub const NETEM_MAX_RTO: Duration = Duration::from_secs(120);
/// Maximum number of consecutive losses of one segment, as in Linux (`tcp_retries2`). After this
/// number of losses, the segment arrives. TCP would abort the connection.
pub const NETEM_MAX_CONSECUTIVE_LOSSES: u32 = 15;
/// Maximum delay of one direction; satellites take 0.3 s. A longer delay is rejected.
pub const NETEM_MAX_DELAY: Duration = Duration::from_secs(10);
/// Maximum segment loss, in parts per million. At one half, a segment is already sent twice on
/// average. A higher loss is rejected.
pub const NETEM_MAX_LOSS_PPM: u32 = 500_000;
/// Minimum rate in bytes per second: half the speed of a modem. A lower rate is rejected.
pub const NETEM_MIN_RATE: u64 = 1_000;
/// Maximum rate in bytes per second, 80 Gbit/s: more than a program can send on one machine. A
/// higher rate is rejected.
pub const NETEM_MAX_RATE: u64 = 10_000_000_000;
/// Maximum bytes of one direction that wait to be sent at the configured rate: the buffer of a home
/// router. While it is full, nothing is read from the sender.
pub const NETEM_QUEUE_BYTES: usize = 64 * 1024;
/// Maximum bytes of one direction that have been read and not delivered: the window of a TCP
/// connection. While it is full, nothing is read from the sender.
pub const LINK_WINDOW_BYTES: usize = 256 * 1024;
/// Maximum number of datagrams of one direction in flight: a second of a client of a server that
/// ticks 60 times per second, 60 times over. Further ones are lost.
pub const NETEM_DATAGRAMS: usize = 3_600;
/// Maximum characters of network conditions in a URL or after `--netem`. A text with all six parts
/// has fewer than 100. A longer text is rejected.
pub const LINK_TEXT_CHARS: usize = 200;

// ---- netem: the proxy of `tickwire netem` -----------------------------------------------------

/// Maximum number of connections of `tickwire netem`, each with a thread and two sockets; fewer if
/// the machine supports fewer. Further connections are reset and counted.
pub const NETEM_PROXY_MAX_CLIENTS: usize = 2_048;
/// Maximum bytes of one read by a thread of `tickwire netem`.
pub const RELAY_READ_BYTES: usize = 16 * 1024;
/// Time between two looks for datagrams of the server while a client has a lane: a delay is longer
/// by at most this time, and by the granularity of the system's timers.
pub const NETEM_LANE_WAIT: Duration = Duration::from_millis(1);
/// Time between two looks for the end of `tickwire netem` while no client has a lane.
pub const NETEM_LANES_WAIT: Duration = Duration::from_millis(100);
/// Time without a datagram of a client after which `tickwire netem` closes its socket: far longer
/// than a lane in use is silent ([`LANE_SILENCE`](super::LANE_SILENCE)).
pub const NETEM_LANE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum sleep of a thread of `tickwire netem` that waits for nothing else.
pub const NETEM_PROXY_IDLE_WAIT: Duration = Duration::from_secs(60);
