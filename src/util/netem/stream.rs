//! One direction of a connection with its bytes, and a line of two of them.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Channel, Conditions, Direction};
use crate::limits;

/// What has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Nothing yet.
    Nothing,
    /// Bytes, which were appended, and the time since the first of them was sent.
    Bytes(Duration),
    /// The sender will send nothing more.
    End,
}

/// Bytes on their way in one direction.
#[derive(Debug, Clone)]
pub struct Stream {
    /// When the bytes arrive.
    pub channel: Channel,
    /// Segments: when each was sent, when it arrives, and its bytes.
    segments: VecDeque<(Duration, Duration, usize)>,
    bytes: VecDeque<u8>,
    /// When the end arrives.
    end: Option<Duration>,
}

impl Stream {
    /// A stream without bytes.
    pub fn new(conditions: &Conditions, direction: Direction, seed: u64) -> Stream {
        let channel = Channel::new(conditions, direction, seed);
        Stream { channel, segments: VecDeque::new(), bytes: VecDeque::new(), end: None }
    }

    /// Bytes that may be written now. At 0 the sender must wait: its own peer then notices, as with TCP.
    pub fn space(&mut self, now: Duration) -> usize {
        let queue = limits::LINK_QUEUE_BYTES.saturating_sub(self.channel.queued(now));
        queue.min(limits::LINK_WINDOW_BYTES.saturating_sub(self.bytes.len()))
    }

    /// Sends bytes. All are taken; [`Stream::space`] says how many should be.
    pub fn write(&mut self, bytes: &[u8], now: Duration) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend(bytes);
        let segments = &mut self.segments;
        self.channel.send(now, bytes.len(), |count, arrives| segments.push_back((now, arrives, count)));
    }

    /// Sends the end, which arrives after all bytes.
    pub fn end(&mut self, now: Duration) {
        let end = &mut self.end;
        self.channel.send(now, 0, |_, arrives| *end = Some(arrives));
    }

    /// Appends the bytes that have arrived.
    pub fn read(&mut self, now: Duration, into: &mut Vec<u8>) -> Read {
        let (mut count, mut longest) = (0, Duration::ZERO);
        while let Some((sent, arrives, bytes)) = self.segments.front()
            && *arrives <= now
        {
            count += bytes;
            longest = longest.max(now.saturating_sub(*sent));
            self.segments.pop_front();
        }
        into.extend(self.bytes.drain(..count));
        match self.end {
            _ if count > 0 => Read::Bytes(longest),
            Some(end) if end <= now => Read::End,
            _ => Read::Nothing,
        }
    }

    /// When something arrives next.
    pub fn next(&self) -> Option<Duration> {
        self.segments.front().map(|(_, arrives, _)| *arrives).or(self.end)
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

/// Both directions of a connection.
#[derive(Debug, Clone)]
pub struct Link {
    /// From the client to the server.
    pub up: Stream,
    /// From the server to the client.
    pub down: Stream,
}

impl Link {
    /// A connection without bytes. Each direction has random numbers of its own.
    pub fn new(conditions: &Conditions, seed: u64) -> Link {
        Link {
            up: Stream::new(conditions, Direction::Up, seed),
            down: Stream::new(conditions, Direction::Down, !seed),
        }
    }

    /// Whether no bytes are on their way.
    pub fn is_empty(&self) -> bool {
        self.up.is_empty() && self.down.is_empty()
    }

    /// Changes the conditions of both directions for everything that is sent from now on.
    pub fn change(&mut self, conditions: &Conditions) {
        self.up.channel.change(conditions);
        self.down.channel.change(conditions);
    }
}
