//! Arrival times of the segments of one direction.

use std::collections::VecDeque;
use std::time::Duration;

use tickwire_sim::rng::Rng;

use super::{Conditions, Direction};
use crate::limits;

/// Counts of segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    /// Number of segments, not counting retransmissions.
    pub segments: u64,
    /// Number of losses, including lost retransmissions.
    pub losses: u64,
    /// Number of segments that were lost at least once, and delayed everything after them.
    pub stalls: u64,
}

impl SegmentCounts {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: SegmentCounts) {
        self.segments += other.segments;
        self.losses += other.losses;
        self.stalls += other.stalls;
    }
}

/// Computes the arrival times of the segments of one direction.
#[derive(Debug, Clone)]
pub struct SegmentScheduler {
    conditions: Conditions,
    direction: Direction,
    rng: Rng,
    /// Time at which all queued segments have been sent.
    idle_from: Duration,
    /// Arrival time of the newest segment. No later segment arrives before it.
    arrived: Duration,
    /// Segments that wait to be sent: the time at which each has been sent, and its bytes.
    waiting: VecDeque<(Duration, usize)>,
    waiting_bytes: usize,
    /// The counts so far.
    pub counts: SegmentCounts,
}

impl SegmentScheduler {
    /// Creates the scheduler of one direction. The same seed gives the same arrival times for the
    /// same bytes at the same times.
    pub fn new(conditions: &Conditions, direction: Direction, seed: u64) -> SegmentScheduler {
        SegmentScheduler {
            conditions: *conditions,
            direction,
            rng: Rng::from_state(seed),
            idle_from: Duration::ZERO,
            arrived: Duration::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            counts: SegmentCounts::default(),
        }
    }

    /// Changes the conditions for all segments sent from now on. They still arrive after the
    /// earlier ones.
    pub fn set_conditions(&mut self, conditions: &Conditions) {
        self.conditions = *conditions;
    }

    /// Sends bytes in segments, and calls `each` with the bytes and the arrival time of each
    /// segment. The times never decrease. 0 bytes are one empty segment, such as the end of a
    /// stream.
    pub fn send(&mut self, now: Duration, bytes: usize, mut each: impl FnMut(usize, Duration)) {
        let mut left = bytes;
        loop {
            let count = left.min(limits::NETEM_MSS_BYTES);
            each(count, self.segment(now, count));
            left -= count;
            if left == 0 {
                return;
            }
        }
    }

    /// Number of bytes that wait to be sent.
    pub fn queued(&mut self, now: Duration) -> usize {
        while let Some((leaves, bytes)) = self.waiting.front()
            && *leaves <= now
        {
            self.waiting_bytes -= bytes;
            self.waiting.pop_front();
        }
        self.waiting_bytes
    }

    /// Time at which the first waiting segment has been sent; `None` if none waits.
    pub fn first_departure(&self) -> Option<Duration> {
        self.waiting.front().map(|(leaves, _)| *leaves)
    }

    fn segment(&mut self, now: Duration, bytes: usize) -> Duration {
        let leaves = self.idle_from.max(now) + self.transmission_time(bytes);
        self.idle_from = leaves;
        if leaves > now {
            self.waiting.push_back((leaves, bytes));
            self.waiting_bytes += bytes;
        }
        self.counts.segments += 1;
        let stall = self.retransmission_delay();
        self.arrived = self.arrived.max(leaves + stall + self.delay());
        self.arrived
    }

    fn transmission_time(&self, bytes: usize) -> Duration {
        let Some(rate) = self.conditions.rate(self.direction) else { return Duration::ZERO };
        Duration::from_nanos(bytes as u64 * 1_000_000_000 / rate.max(1))
    }

    fn delay(&mut self) -> Duration {
        let Conditions { delay, jitter, .. } = self.conditions;
        let span_us = u32::try_from(2 * jitter.as_micros()).unwrap_or(u32::MAX - 1);
        delay.saturating_sub(jitter) + Duration::from_micros(self.rng.below(span_us + 1).into())
    }

    /// Time until the last transmission of a segment; zero if it is not lost. The timeout doubles
    /// with each loss (RFC 6298, section 5.5).
    fn retransmission_delay(&mut self) -> Duration {
        let (mut stall, mut timeout) = (Duration::ZERO, self.conditions.retransmission_timeout());
        for time in 0..limits::NETEM_MAX_CONSECUTIVE_LOSSES {
            if self.rng.below(1_000_000) >= self.conditions.loss_ppm {
                break;
            }
            self.counts.losses += 1;
            self.counts.stalls += u64::from(time == 0);
            stall += timeout;
            timeout = (timeout * 2).min(limits::NETEM_MAX_RTO);
        }
        stall
    }
}
