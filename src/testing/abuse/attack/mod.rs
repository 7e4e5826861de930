//! Many clients that misbehave at the same time: the behaviour of each kind of attack, and a report
//! of the results.
//!
//! An [`Attack`] runs against a server on this machine, or against a [`sink`](super::sink) for
//! comparison. Addresses of other machines are refused. The result is an [`AttackReport`] of the
//! achieved load and of the connections' ends. One thread runs all attackers, each at its own rate,
//! so that the load does not depend on the target. [`super::misbehavior`] instead runs one client
//! after the other, each as fast as the server allows.

mod behavior;
mod lockstep;
pub mod msgpack_bombs;
mod swarm;
mod victim;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

pub use swarm::{AttackPlan, run};

use crate::util::plural;

/// A kind of attack. Each of the attackers behaves as described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Sends a request head, one byte per second, without end.
    Slowloris,
    /// Joins, sends a hundred pings per second, and never reads.
    StalledReaders,
    /// Joins, and reads 64 bytes ten times per second, which is slower than the server sends.
    DripReaders,
    /// Joins, and sends 64 pings of 125 bytes a hundred times per second.
    PingFlood,
    /// Sends one message in one-byte fragments, 4,096 of them a hundred times per second.
    TinyFragments,
    /// Joins and sends commands. Every second attacker sends far too many; the others send as many
    /// as the rate limit allows.
    CommandFlood,
    /// Joins and sends as many commands as the rate limit allows. A third have target ticks in the
    /// far future; a third alternate between the past and the far future; a third have sequence
    /// numbers that repeat, decrease and end with the largest possible one.
    Contradictions,
    /// Joins with a new resume key, drops the connection so that its player is suspended, and
    /// reconnects with another key.
    SeatHolders,
    /// Spectates in lockstep, and requests a hundred snapshots per second.
    SyncFlood,
    /// Spectates in lockstep, and sends a false checksum for every checksum tick.
    FalseChecksums,
    /// Connects and disconnects immediately, a given number of times per second: before a request,
    /// after it, or after joining.
    Churn,
    /// Connects, joins, sends a chat message and leaves, a given number of times per second. Each
    /// connection has the rate limits of a new client.
    Reconnect,
    /// Sends MessagePack with headers of huge or deeply nested values.
    Bombs,
    /// Requests a page and does not read it until the server must have given up. After that, it
    /// reconnects.
    HalfOpenPages,
    /// Requests an upgrade, and every second attacker also joins. After that, an attacker sends
    /// nothing and does not close.
    HalfOpen,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Attack; 15] = [
        Attack::Slowloris,
        Attack::StalledReaders,
        Attack::DripReaders,
        Attack::PingFlood,
        Attack::TinyFragments,
        Attack::CommandFlood,
        Attack::Contradictions,
        Attack::SeatHolders,
        Attack::SyncFlood,
        Attack::FalseChecksums,
        Attack::Churn,
        Attack::Reconnect,
        Attack::Bombs,
        Attack::HalfOpenPages,
        Attack::HalfOpen,
    ];

    /// Name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Attack::Slowloris => "slowloris",
            Attack::StalledReaders => "stalled-readers",
            Attack::DripReaders => "drip-readers",
            Attack::PingFlood => "ping-flood",
            Attack::TinyFragments => "tiny-fragments",
            Attack::CommandFlood => "command-flood",
            Attack::Contradictions => "contradictions",
            Attack::SeatHolders => "seat-holders",
            Attack::SyncFlood => "sync-flood",
            Attack::FalseChecksums => "false-checksums",
            Attack::Churn => "churn",
            Attack::Reconnect => "reconnect",
            Attack::Bombs => "bombs",
            Attack::HalfOpenPages => "half-open-pages",
            Attack::HalfOpen => "half-open",
        }
    }

    /// Whether the count is connections per second, each a new client, instead of concurrent
    /// clients.
    fn is_per_second(self) -> bool {
        matches!(self, Attack::Churn | Attack::Reconnect)
    }
}

/// The achieved load, and the ends of the connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttackReport {
    /// Number of connections made.
    pub connections: u64,
    /// Number of connections that failed.
    pub unreachable: u64,
    /// Maximum number of concurrent connections.
    pub at_once: usize,
    /// Number of bytes that the kernel accepted.
    pub bytes: u64,
    /// Number of frames in these bytes, excluding the openings.
    pub frames: u64,
    /// Number of connections by the way in which they ended.
    pub endings: BTreeMap<String, u64>,
    /// Number of the attackers' chat messages that a nearby client received, for
    /// [`Attack::Reconnect`].
    pub chat_lines_received: Option<u64>,
    /// Duration of the attack.
    pub time: Duration,
}

impl AttackReport {
    fn per_second(&self, count: u64) -> f64 {
        (count as f64 / self.time.as_secs_f64().max(0.001)).round()
    }

    /// Formats the report as text, in several lines.
    pub fn text(&self, attack: Attack) -> String {
        let mut text = format!(
            "{}, {:.1} s\n  connections  {} ({} a second), {} at once, {} unreachable\n  sent         {} frames ({} a second), {} bytes a second\n",
            attack.name(),
            self.time.as_secs_f64(),
            self.connections,
            self.per_second(self.connections),
            self.at_once,
            self.unreachable,
            self.frames,
            self.per_second(self.frames),
            self.per_second(self.bytes),
        );
        if let Some(lines) = self.chat_lines_received {
            let _ = writeln!(
                text,
                "  chat         {}, received by a client on the same map",
                plural::count_noun(lines, "line")
            );
        }
        for (ending, count) in &self.endings {
            let _ = writeln!(text, "  {ending:?} {}", plural::count_noun(*count, "time"));
        }
        text
    }

    /// Formats the report as one line of JSON.
    pub fn json(&self, attack: Attack) -> String {
        let AttackReport {
            connections,
            unreachable,
            at_once,
            bytes,
            frames,
            endings,
            chat_lines_received: lines_heard,
            time,
        } = self;
        let seconds = time.as_secs_f64();
        serde_json::json!({
            "attack": attack.name(), "seconds": seconds, "connections": connections, "unreachable": unreachable,
            "at_once": at_once, "bytes": bytes, "frames": frames, "endings": endings, "lines_heard": lines_heard,
        })
        .to_string()
    }
}
