//! The hostile clients of all tests: their names, the bytes that simple kinds send, and the ways in
//! which a server must end their connections.
//!
//! `abuse::attack` runs them over sockets, and `simulate` in virtual time.

use crate::game::BotRng;
use crate::ws::frame::{self, Opcode};

/// The masking key of all frames. It need not be secret.
pub const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A kind of hostile client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostileKind {
    /// Connects and sends nothing.
    Idle,
    /// Sends a request head that never ends.
    Slowloris,
    /// Joins, sends a hundred pings per second, and never reads.
    StalledReaders,
    /// Joins, and reads 64 bytes ten times per second, fewer than the server sends.
    DripReaders,
    /// Joins and sends small messages, more than its rate limit allows.
    MessageFlood,
    /// Joins, and sends 64 pings of 125 bytes a hundred times per second.
    PingFlood,
    /// Joins, and sends messages of 4 KB as fast as the server accepts them.
    ByteFlood,
    /// Sends an endless message in one-byte fragments: a hundred times per second, 4,096 fragments.
    TinyFragments,
    /// Sends random bytes after the upgrade.
    Garbage,
    /// Joins and sends commands: every second attacker far too many, the others as many as the rate
    /// limit allows.
    CommandFlood,
    /// Joins and sends as many commands as the rate limit allows. The commands of a third of the
    /// attackers have target ticks in the far future. The commands of another third alternate
    /// between the past and the far future. The last third uses sequence numbers that repeat,
    /// decrease and end with the largest possible number.
    Contradictions,
    /// Joins with a new resume key, drops the connection so that its player is suspended, and
    /// reconnects with another key.
    SeatHolders,
    /// Spectates in lockstep, and requests a hundred snapshots per second.
    SyncFlood,
    /// Spectates in lockstep, and sends a false checksum for every checksum tick.
    FalseChecksums,
    /// Connects and disconnects immediately: before its request, after its request, or after
    /// joining. Over sockets, this happens a given number of times per second.
    Churn,
    /// Connects, joins, sends a chat message and leaves, a given number of times per second. Each
    /// connection has the rate limits of a new client.
    Reconnect,
    /// Sends MessagePack with headers of huge or deeply nested values.
    Bombs,
    /// Requests a page and does not read the response until the server must have given up. Then it
    /// reconnects.
    HalfOpenPages,
    /// Requests an upgrade. Every second attacker then joins. Afterwards the attacker sends
    /// nothing, and does not close.
    HalfOpen,
    /// Sends malformed MessagePack, unknown codes and wrong arguments in valid frames.
    BrokenPackets,
    /// Sends nearly as many messages as its rate limit allows.
    AtBudget,
    /// Joins with a lane, and sends 25 datagrams a hundred times per second: repeated ones, forged
    /// ones, and ones without a lane.
    DatagramFlood,
    /// Joins with a lane, and sends each datagram from another address too: half of them before it
    /// sends them itself, and half of them after.
    LaneTheft,
    /// Stops in the middle of a frame.
    HalfFrame,
    /// Never sends `hello`.
    NoHello,
    /// Sends `hello` late, but within the timeout.
    LateHello,
    /// Plays under a name that other players have, and sends commands that are visible to others,
    /// such as founding clans, as fast as its limits allow.
    Spam,
    /// Spectates without a body.
    Spectator,
}

use HostileKind::{
    AtBudget, Bombs, BrokenPackets, ByteFlood, Churn, CommandFlood, Contradictions, DatagramFlood,
    DripReaders, FalseChecksums, Garbage, HalfFrame, HalfOpen, HalfOpenPages, Idle, LaneTheft, LateHello,
    MessageFlood, NoHello, PingFlood, Reconnect, SeatHolders, Slowloris, Spam, Spectator, StalledReaders,
    SyncFlood, TinyFragments,
};

/// Ways in which the connection of a slow reader ends. Over a socket, the client often detects only
/// the reset.
const SLOW: &[&str] = &["1008 slow_client", "broken pipe", "connection reset"];

/// Each kind in enum order, with its name in reports, and the expected ends of its connection. Each
/// end is the start of a text in a report. An empty list means that the server has no reason to
/// close the connection.
const ROWS: [(HostileKind, &str, &[&str]); 28] = [
    (Idle, "hostile: idle", &["end without an answer"]),
    (Slowloris, "hostile: slowloris", &["status 408"]),
    (StalledReaders, "hostile: stalled-readers", SLOW),
    (DripReaders, "hostile: drip-readers", SLOW),
    (MessageFlood, "hostile: message-flood", &["1008 message_rate"]),
    (PingFlood, "hostile: ping-flood", &["1008 message_rate"]),
    (ByteFlood, "hostile: byte-flood", &["1008 byte_rate"]),
    (TinyFragments, "hostile: tiny-fragments", &["1008 too_many_fragments"]),
    (Garbage, "hostile: garbage", &["1002 ", "1003 ", "1007 ", "1008 ", "1009 "]),
    (CommandFlood, "hostile: command-flood", &["1008 message_rate"]),
    (Contradictions, "hostile: contradictions", &[]),
    (SeatHolders, "hostile: seat-holders", &[]),
    (SyncFlood, "hostile: sync-flood", &[]),
    (FalseChecksums, "hostile: false-checksums", &[]),
    (Churn, "hostile: churn", &[]),
    (Reconnect, "hostile: reconnect", &[]),
    (Bombs, "hostile: bombs", &["1007 "]),
    (HalfOpenPages, "hostile: half-open-pages", &["ended by the server"]),
    (
        HalfOpen,
        "hostile: half-open",
        &["1008 hello_late", "1011 idle_timeout", "broken pipe", "connection reset"],
    ),
    (BrokenPackets, "hostile: broken-packets", &["1003 ", "1007 "]),
    (AtBudget, "hostile: at-budget", &[]),
    (DatagramFlood, "hostile: datagram-flood", &[]),
    (LaneTheft, "hostile: lane-theft", &[]),
    (HalfFrame, "hostile: half-frame", &["1011 idle_timeout"]),
    (NoHello, "hostile: no-hello", &["1008 hello_late"]),
    (LateHello, "hostile: late-hello", &[]),
    (Spam, "hostile: spam", &[]),
    (Spectator, "hostile: spectator", &[]),
];

impl HostileKind {
    /// The kinds that run over sockets.
    pub const ATTACKS: [HostileKind; 21] = [
        Idle,
        Slowloris,
        StalledReaders,
        DripReaders,
        MessageFlood,
        PingFlood,
        ByteFlood,
        TinyFragments,
        Garbage,
        CommandFlood,
        Contradictions,
        SeatHolders,
        SyncFlood,
        FalseChecksums,
        Churn,
        Reconnect,
        Bombs,
        HalfOpenPages,
        HalfOpen,
        DatagramFlood,
        LaneTheft,
    ];
    /// The kinds that run in a simulation.
    pub const SIMULATED: [HostileKind; 12] = [
        Garbage,
        BrokenPackets,
        MessageFlood,
        AtBudget,
        HalfFrame,
        NoHello,
        LateHello,
        Slowloris,
        Churn,
        Spam,
        Spectator,
        SeatHolders,
    ];

    /// Name on the command line and in reports.
    pub fn name(self) -> &'static str {
        let name = self.count_name();
        name.strip_prefix("hostile: ").unwrap_or(name)
    }

    /// Name in the counts of a simulation.
    pub fn count_name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// Whether `reason` is an expected end of the connection: a close code with its reason, a
    /// status, or an error of the socket.
    pub fn must_get(self, reason: &str) -> bool {
        ROWS[self as usize].2.iter().any(|start| reason.starts_with(start))
    }

    /// Whether the number of attackers is a number of new clients per second, instead of a number
    /// of concurrent clients.
    pub fn is_per_second(self) -> bool {
        matches!(self, Churn | Reconnect)
    }
}

/// Appends a masked frame.
pub fn write_frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8]) {
    frame::write(out, opcode, Some(KEY), payload);
}

/// Random bytes instead of frames.
pub fn garbage(rng: &mut BotRng, bytes: usize) -> impl Iterator<Item = u8> {
    (0..bytes).map(|_| rng.bits() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_row_and_a_driver() {
        for (place, (kind, name, _)) in ROWS.iter().enumerate() {
            assert_eq!(*kind as usize, place, "{name}");
            assert!(HostileKind::ATTACKS.contains(kind) || HostileKind::SIMULATED.contains(kind), "{name}");
        }
    }

    #[test]
    fn an_end_has_to_start_like_an_expected_one() {
        assert!(HostileKind::ByteFlood.must_get("1008 byte_rate"));
        assert!(!HostileKind::ByteFlood.must_get("1008 message_rate"));
        assert!(!HostileKind::Spam.must_get("1008 message_rate"));
    }
}
