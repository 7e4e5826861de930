//! The delayed bytes of one direction of a connection, and a link with both directions.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Conditions, Direction, SegmentScheduler};
use crate::limits;

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// No bytes have arrived yet.
    Nothing,
    /// Bytes have arrived and were appended. Contains the time since the first of them was sent.
    Bytes(Duration),
    /// The stream has ended: all bytes were read, and the sender sends no more.
    End,
}

/// The bytes in flight in one direction.
#[derive(Debug, Clone)]
pub struct DelayedStream {
    /// Computes the arrival times.
    pub channel: SegmentScheduler,
    /// Segments in flight: the time of sending, the time of arrival, and the bytes.
    segments: VecDeque<(Duration, Duration, usize)>,
    bytes: VecDeque<u8>,
    /// Arrival time of the end of the stream, once it was sent.
    finish: Option<Duration>,
}

impl DelayedStream {
    /// Creates a stream without bytes.
    pub fn new(conditions: &Conditions, direction: Direction, seed: u64) -> DelayedStream {
        let channel = SegmentScheduler::new(conditions, direction, seed);
        DelayedStream { channel, segments: VecDeque::new(), bytes: VecDeque::new(), finish: None }
    }

    /// Number of bytes that may be written now. At 0 the driver must stop reading from the sender,
    /// which creates backpressure as in TCP.
    pub fn writable_bytes(&mut self, now: Duration) -> usize {
        let queue = limits::NETEM_QUEUE_BYTES.saturating_sub(self.channel.queued(now));
        queue.min(limits::LINK_WINDOW_BYTES.saturating_sub(self.bytes.len()))
    }

    /// Sends bytes. All are accepted; the caller should respect [`DelayedStream::writable_bytes`].
    pub fn write(&mut self, bytes: &[u8], now: Duration) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend(bytes);
        let segments = &mut self.segments;
        self.channel.send(now, bytes.len(), |count, arrives| segments.push_back((now, arrives, count)));
    }

    /// Sends the end of the stream, which arrives after all bytes.
    pub fn end(&mut self, now: Duration) {
        let end = &mut self.finish;
        self.channel.send(now, 0, |_, arrives| *end = Some(arrives));
    }

    /// Appends the bytes that have arrived by `now` to `into`.
    pub fn read(&mut self, now: Duration, into: &mut Vec<u8>) -> Arrival {
        let (mut count, mut longest) = (0, Duration::ZERO);
        while let Some((sent, arrives, bytes)) = self.segments.front()
            && *arrives <= now
        {
            count += bytes;
            longest = longest.max(now.saturating_sub(*sent));
            self.segments.pop_front();
        }
        into.extend(self.bytes.drain(..count));
        match self.finish {
            _ if count > 0 => Arrival::Bytes(longest),
            Some(end) if end <= now => Arrival::End,
            _ => Arrival::Nothing,
        }
    }

    /// Time of the next arrival; `None` if nothing is in flight.
    pub fn next(&self) -> Option<Duration> {
        self.segments.front().map(|(_, arrives, _)| *arrives).or(self.finish)
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

/// Both directions of a connection.
#[derive(Debug, Clone)]
pub struct DuplexLink {
    /// From the client to the server.
    pub up: DelayedStream,
    /// From the server to the client.
    pub down: DelayedStream,
}

impl DuplexLink {
    /// Creates a link without bytes. Each direction has its own random numbers.
    pub fn new(conditions: &Conditions, seed: u64) -> DuplexLink {
        DuplexLink {
            up: DelayedStream::new(conditions, Direction::Up, seed),
            down: DelayedStream::new(conditions, Direction::Down, !seed),
        }
    }

    /// Whether no bytes are in flight.
    pub fn is_empty(&self) -> bool {
        self.up.is_empty() && self.down.is_empty()
    }

    /// Changes the conditions of both directions for all bytes sent from now on.
    pub fn change(&mut self, conditions: &Conditions) {
        self.up.channel.set_conditions(conditions);
        self.down.channel.set_conditions(conditions);
    }
}
