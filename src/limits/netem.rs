//! The bounds of simulated network conditions, and of `tickwire net`.

use std::time::Duration;

// ---- link: the model ------------------------------------------------------------------------

/// Payload bytes of one segment: an Ethernet frame of 1,500 bytes less 40 bytes of IPv4 and TCP headers. More bytes
/// are several segments, and each may be lost.
pub const NETEM_MSS_BYTES: usize = 1_460;
/// Shortest time after which a lost segment is sent again, as in Linux (`TCP_RTO_MIN`). RFC 6298 recommends a second.
pub const NETEM_MIN_RTO: Duration = Duration::from_millis(200);
/// Longest time after which a segment that was lost several times is sent again, as in Linux (`TCP_RTO_MAX`).
pub const NETEM_MAX_RTO: Duration = Duration::from_secs(120);
/// How often one segment can be lost, as in Linux (`tcp_retries2`). Beyond: it arrives, where TCP would give up.
pub const NETEM_MAX_CONSECUTIVE_LOSSES: u32 = 15;
/// Longest delay of one direction: satellites take 0.3 s. Beyond: rejected.
pub const NETEM_MAX_DELAY: Duration = Duration::from_secs(10);
/// Most segments lost, in parts per million: at half, a segment is already sent twice on average. Beyond: rejected.
pub const NETEM_MAX_LOSS_PPM: u32 = 500_000;
/// Lowest rate in bytes a second: half of a modem's. Below: rejected.
pub const NETEM_MIN_RATE: u64 = 1_000;
/// Highest rate in bytes a second, 80 Gbit/s: more than a program on one machine carries. Beyond: rejected.
pub const NETEM_MAX_RATE: u64 = 10_000_000_000;
/// Bytes of one direction that wait for the line when there is a rate: the buffer of a home router. Beyond: the
/// sender is not read until there is space.
pub const NETEM_QUEUE_BYTES: usize = 64 * 1024;
/// Bytes of one direction that have been read and not delivered: the window of a TCP connection. Beyond: the
/// sender is not read until some are delivered.
pub const LINK_WINDOW_BYTES: usize = 256 * 1024;
/// Characters of conditions in an address or after `--net`: all six parts have under 100. Beyond: rejected.
pub const LINK_TEXT_CHARS: usize = 200;

// ---- net: the relay of `tickwire net` -------------------------------------------------------

/// Connections of `tickwire net` at once, each with a thread and two sockets; fewer if the machine carries fewer.
/// Beyond: a connection is reset, and counted.
pub const NETEM_PROXY_MAX_CLIENTS: usize = 2_048;
/// Bytes that a thread of `tickwire net` reads at once.
pub const RELAY_READ_BYTES: usize = 16 * 1024;
/// How often a thread of `tickwire net` that waits for nothing else looks up.
pub const NETEM_PROXY_IDLE_WAIT: Duration = Duration::from_secs(60);
