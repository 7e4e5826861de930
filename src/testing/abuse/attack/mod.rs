//! Many clients that misbehave at the same time: the behaviour of each kind of attack, and a report
//! of the results.
//!
//! A [`HostileKind`] runs against a server on this machine, or against a [`sink`](super::sink) for
//! comparison. Addresses of other machines are refused. The [`AttackReport`] contains the achieved
//! load, and the ways in which the connections ended. One thread runs all attackers, each at its
//! own rate, so that the load does not depend on the target.

mod behavior;
mod datagram_flood;
mod lane_theft;
mod lockstep;
pub mod msgpack_bombs;
mod swarm;
mod victim;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

pub use swarm::{AttackPlan, run};

use crate::testing::hostile::HostileKind;
use crate::util::plural;

/// The achieved load, and the ways in which the connections ended.
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
    /// Number of datagrams that the kernel accepted.
    pub datagrams: u64,
    /// Number of datagrams that clients opened. Counted only for [`HostileKind::LaneTheft`].
    pub answers: u64,
    /// Number of bytes that strangers received beyond those that they sent; as `answers`.
    pub stolen_bytes: u64,
    /// Number of connections by the way in which they ended.
    pub endings: BTreeMap<String, u64>,
    /// Number of the attackers' chat messages that a nearby client received. Present only for
    /// [`HostileKind::Reconnect`].
    pub chat_lines_received: Option<u64>,
    /// Duration of the attack.
    pub time: Duration,
}

impl AttackReport {
    fn per_second(&self, count: u64) -> f64 {
        (count as f64 / self.time.as_secs_f64().max(0.001)).round()
    }

    /// Formats the report as text, in several lines.
    pub fn text(&self, kind: HostileKind) -> String {
        let mut text = format!(
            "{}, {:.1} s\n  connections  {} ({} a second), {} at once, {} unreachable\n  sent         {} frames ({} a second), {} bytes a second\n",
            kind.name(),
            self.time.as_secs_f64(),
            self.connections,
            self.per_second(self.connections),
            self.at_once,
            self.unreachable,
            self.frames,
            self.per_second(self.frames),
            self.per_second(self.bytes),
        );
        if self.datagrams > 0 {
            let rate = self.per_second(self.datagrams);
            let _ = writeln!(text, "  datagrams    {} ({rate} a second)", self.datagrams);
        }
        if kind == HostileKind::LaneTheft {
            let (answers, stolen) = (self.answers, self.stolen_bytes);
            let _ =
                writeln!(text, "  answers      {answers} to clients, {stolen} bytes too many to strangers");
        }
        if let Some(lines) = self.chat_lines_received {
            let _ = writeln!(
                text,
                "  chat         {}, received by a client on the same map",
                plural::count_noun(lines, "line")
            );
        }
        for (ending, count) in &self.endings {
            let times = plural::count_noun(*count, "time");
            let expected = if kind.must_get(ending) { ", as expected" } else { "" };
            let _ = writeln!(text, "  {ending:?} {times}{expected}");
        }
        text
    }

    /// Formats the report as one line of JSON.
    pub fn json(&self, kind: HostileKind) -> String {
        let AttackReport {
            connections,
            unreachable,
            at_once,
            bytes,
            frames,
            datagrams,
            answers,
            stolen_bytes,
            endings,
            chat_lines_received: lines_received,
            time,
        } = self;
        let seconds = time.as_secs_f64();
        serde_json::json!({
            "attack": kind.name(), "seconds": seconds, "connections": connections, "unreachable": unreachable,
            "at_once": at_once, "bytes": bytes, "frames": frames, "datagrams": datagrams, "answers": answers,
            "stolen_bytes": stolen_bytes, "endings": endings, "lines_heard": lines_received,
        })
        .to_string()
    }
}
