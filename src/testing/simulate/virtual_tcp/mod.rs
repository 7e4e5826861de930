//! A model of one TCP connection: two byte streams with bounded buffers, delays and cuts.
//!
//! ```text
//!     client ─ write ─► up:   sent, in transit, arrived ─► server_read ────── server
//!     client ◄─ read ── down: arrived, in transit, sent ◄─ Transport::send ── server
//! ```
//!
//! Bytes arrive in order, after a delay or a stall; under [`Conditions`], when their segments
//! arrive. A client may vanish without a FIN, or leave the connection half open. The first bytes
//! sent to a half-open client are answered by a reset. The model also stores the frames that the
//! server has queued for the client, and compares every received byte with these frames.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use super::virtual_clock::VirtualClock;
use super::virtual_udp::VirtualUdp;
use crate::game::BotRng;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::client_lane::LaneGrant;
use crate::server::host::HostTransport;
use crate::util::netem::{Conditions, Direction, SegmentCounts, SegmentScheduler};
use crate::util::sync::Mutex;

/// Total capacity of the buffers of both kernels in one direction, in bytes.
pub const BUFFER_BYTES: usize = 64 * 1024;
/// Buffer capacity for a slow reader, in bytes.
pub const SLOW_BUFFER_BYTES: usize = 3 * 1024;

/// The result of a read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadResult {
    /// No bytes have arrived.
    Nothing,
    /// Bytes, at least one.
    Bytes(Vec<u8>),
    /// The other end has closed its writing half.
    End,
    /// The connection was reset.
    Reset,
}

/// One direction of a connection.
#[derive(Debug)]
struct OneWayStream {
    /// Schedules segments, if the connection has conditions.
    channel: Option<SegmentScheduler>,
    pieces: VecDeque<(Duration, Vec<u8>)>,
    bytes: usize,
    capacity: usize,
    /// Arrival time of the last piece. Pieces never overtake each other.
    last: Duration,
    has_ended: bool,
}

impl OneWayStream {
    fn new(channel: Option<SegmentScheduler>) -> OneWayStream {
        OneWayStream {
            channel,
            pieces: VecDeque::new(),
            bytes: 0,
            capacity: BUFFER_BYTES,
            last: Duration::ZERO,
            has_ended: false,
        }
    }

    fn space(&self) -> usize {
        self.capacity.saturating_sub(self.bytes)
    }

    fn push(&mut self, bytes: Vec<u8>, arrives: Duration) {
        self.last = self.last.max(arrives);
        self.bytes += bytes.len();
        self.pieces.push_back((self.last, bytes));
    }

    /// Sends bytes. The bytes arrive after the delay or, if the connection has conditions, when
    /// their segments arrive.
    fn send(&mut self, bytes: Vec<u8>, (now, delay, stalled): (Duration, Duration, Duration)) {
        let Some(mut channel) = self.channel.take() else {
            return self.push(bytes, (now + delay).max(stalled));
        };
        let mut left = &bytes[..];
        channel.send(now, bytes.len(), |count, arrives| {
            let (piece, rest) = left.split_at(count);
            self.push(piece.to_vec(), arrives.max(stalled));
            left = rest;
        });
        self.channel = Some(channel);
    }

    /// Returns at most `most` bytes that have arrived.
    fn take_arrived(&mut self, now: Duration, most: usize) -> ReadResult {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((arrives, piece)) = self.pieces.front_mut()
            && *arrives <= now
        {
            let left = most - taken.len();
            if piece.len() <= left {
                taken.append(piece);
                self.pieces.pop_front();
            } else {
                taken.extend(piece.drain(..left));
            }
        }
        self.bytes -= taken.len();
        match (taken.is_empty(), self.has_ended && self.pieces.is_empty()) {
            (false, _) => ReadResult::Bytes(taken),
            (true, true) => ReadResult::End,
            (true, false) => ReadResult::Nothing,
        }
    }
}

/// The state of a client in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientState {
    Here,
    /// The client closed its socket, so bytes sent to it reset the connection.
    Closed,
    /// The client's machine vanished without a FIN or a reset.
    Vanished,
    /// The client's machine has restarted, and answers the next bytes with a reset.
    HalfOpen,
}

/// The frames that the server has queued and that have not arrived yet.
#[derive(Debug, Default)]
struct ExpectedBytes {
    bytes: Vec<u8>,
    head: usize,
    total: usize,
    mismatch: Option<usize>,
}

#[derive(Debug)]
struct Inner {
    up: OneWayStream,
    down: OneWayStream,
    rng: BotRng,
    delay: [Duration; 2],
    stalled_until: Duration,
    client: ClientState,
    is_reset: bool,
    is_cut: bool,
    expected: ExpectedBytes,
    /// Frames queued since [`VirtualTcp::start_recording`].
    recorded_frames: Option<Vec<u8>>,
    /// Injected bug: the next send is lost although the kernel accepted it.
    loses_next: bool,
    partial_sends: u64,
    /// Time of a send that the kernel accepted only in part. The kernel accepts no more bytes until
    /// the clock advances.
    full_at: Option<Duration>,
}

/// One virtual TCP connection.
#[derive(Debug)]
pub struct VirtualTcp {
    clock: VirtualClock,
    /// The datagrams of the client's lane.
    pub udp: VirtualUdp,
    inner: Mutex<Inner>,
}

impl VirtualTcp {
    /// Creates a connection with delays in a range, or with conditions.
    pub fn new(
        clock: &VirtualClock,
        seed: u64,
        delay: [Duration; 2],
        conditions: Option<&Conditions>,
    ) -> Arc<VirtualTcp> {
        let pipe = |direction, seed| {
            OneWayStream::new(conditions.map(|conditions| SegmentScheduler::new(conditions, direction, seed)))
        };
        let inner = Inner {
            up: pipe(Direction::Up, seed),
            down: pipe(Direction::Down, !seed),
            rng: BotRng::new(seed),
            delay,
            stalled_until: Duration::ZERO,
            client: ClientState::Here,
            is_reset: false,
            is_cut: false,
            expected: ExpectedBytes::default(),
            recorded_frames: None,
            loses_next: false,
            partial_sends: 0,
            full_at: None,
        };
        let udp = VirtualUdp::new(clock, seed, conditions);
        Arc::new(VirtualTcp { clock: clock.clone(), udp, inner: Mutex::new(inner) })
    }

    // ---- the client's end ----

    /// Writes as many bytes as the buffers accept. Returns the number of written bytes.
    pub fn write(&self, bytes: &[u8]) -> usize {
        let inner = &mut *self.inner.lock();
        let count = bytes.len().min(inner.up.space());
        if count > 0 {
            let when = inner.sample_timing(self.clock.now());
            inner.up.send(bytes[..count].to_vec(), when);
        }
        count
    }

    /// Reads at most `most` bytes.
    pub fn read(&self, most: usize) -> ReadResult {
        let inner = &mut *self.inner.lock();
        if inner.is_reset {
            return ReadResult::Reset;
        }
        let read = inner.down.take_arrived(self.clock.now(), most);
        if let ReadResult::Bytes(bytes) = &read {
            inner.expected.arrived(bytes);
        }
        read
    }

    /// Closes the client's writing half.
    pub fn end(&self) {
        self.inner.lock().up.has_ended = true;
    }

    /// Closes the client's socket.
    pub fn close(&self) {
        let inner = &mut *self.inner.lock();
        inner.up.has_ended = true;
        inner.client = ClientState::Closed;
    }

    /// Makes the client vanish silently: the client neither reads nor writes any more.
    pub fn disappear(&self, is_half_open: bool) {
        self.inner.lock().client = if is_half_open { ClientState::HalfOpen } else { ClientState::Vanished };
    }

    /// Delays all bytes in both directions until `until`.
    pub fn stall_until(&self, until: Duration) {
        let inner = &mut *self.inner.lock();
        inner.stalled_until = inner.stalled_until.max(until);
        for pipe in [&mut inner.up, &mut inner.down] {
            pipe.last = pipe.last.max(until);
            pipe.pieces.iter_mut().for_each(|(arrives, _)| *arrives = (*arrives).max(until));
        }
    }

    /// Sets the buffer size of the direction to the client.
    pub fn set_buffer(&self, bytes: usize) {
        self.inner.lock().down.capacity = bytes;
    }

    /// Delivers all bytes in transit to the client.
    pub fn deliver_now(&self) {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        inner.down.pieces.iter_mut().for_each(|(arrives, _)| *arrives = (*arrives).min(now));
        inner.down.last = inner.down.last.min(now);
    }

    // ---- the server's end ----

    /// Reads at most `most` bytes from the client.
    pub fn server_read(&self, most: usize) -> ReadResult {
        let inner = &mut *self.inner.lock();
        match inner.client {
            _ if inner.is_cut => ReadResult::End,
            _ if inner.is_reset => ReadResult::Reset,
            ClientState::Vanished | ClientState::HalfOpen => ReadResult::Nothing,
            ClientState::Here | ClientState::Closed => inner.up.take_arrived(self.clock.now(), most),
        }
    }

    /// Closes the server's writing half.
    pub fn server_end(&self) {
        self.inner.lock().down.has_ended = true;
    }

    /// Writes the response to a request. The response always fits, because it is sent first.
    pub fn respond(&self, response: &[u8]) {
        let inner = &mut *self.inner.lock();
        inner.expected.queued(response);
        let when = inner.sample_timing(self.clock.now());
        inner.down.send(response.to_vec(), when);
    }

    // ---- checks ----

    /// Position of the first received byte that differs from the queued byte.
    pub fn mismatch(&self) -> Option<usize> {
        self.inner.lock().expected.mismatch
    }

    /// Number of queued bytes that have not arrived.
    pub fn missing(&self) -> usize {
        self.inner.lock().expected.missing()
    }

    /// Starts to record the queued frames.
    pub fn start_recording(&self) {
        self.inner.lock().recorded_frames = Some(Vec::new());
    }

    /// Returns the frames queued since [`VirtualTcp::start_recording`].
    pub fn recorded_frames(&self) -> Vec<u8> {
        self.inner.lock().recorded_frames.take().unwrap_or_default()
    }

    /// Injects a bug: the next send is lost.
    pub fn lose_next(&self) {
        self.inner.lock().loses_next = true;
    }

    /// Counts of the segments under the connection's conditions.
    pub fn segments(&self) -> SegmentCounts {
        let inner = &*self.inner.lock();
        let mut counts = SegmentCounts::default();
        [&inner.up, &inner.down]
            .into_iter()
            .flat_map(|pipe| &pipe.channel)
            .for_each(|channel| counts.add(channel.counts));
        counts
    }

    /// Number of sends that the kernel accepted only in part.
    pub fn partial_sends(&self) -> u64 {
        self.inner.lock().partial_sends
    }
}

impl Inner {
    /// The current time, the delay, and the time before which nothing arrives.
    fn sample_timing(&mut self, now: Duration) -> (Duration, Duration, Duration) {
        (now, self.rng.between(self.delay[0], self.delay[1]), self.stalled_until)
    }
}

impl ExpectedBytes {
    fn queued(&mut self, frames: &[u8]) {
        if self.head > BUFFER_BYTES && self.head * 2 > self.bytes.len() {
            self.bytes.drain(..self.head);
            self.head = 0;
        }
        self.bytes.extend_from_slice(frames);
    }

    fn missing(&self) -> usize {
        self.bytes.len() - self.head
    }

    fn arrived(&mut self, bytes: &[u8]) {
        let next = self.bytes.get(self.head..self.head + bytes.len());
        if next != Some(bytes) && self.mismatch.is_none() {
            self.mismatch = Some(self.total);
        }
        self.head = (self.head + bytes.len()).min(self.bytes.len());
        self.total += bytes.len();
    }
}

/// The server's end of a connection, as the transport of a client.
#[derive(Debug, Clone)]
pub struct ServerTransport(pub Arc<VirtualTcp>);

impl Transport for ServerTransport {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let inner = &mut *self.0.inner.lock();
        if matches!(inner.client, ClientState::Closed | ClientState::HalfOpen)
            || inner.is_reset
            || inner.is_cut
        {
            inner.is_reset = true;
            return Err(ErrorKind::ConnectionReset.into());
        }
        let mut bytes: Vec<u8> = slices.flatten().copied().collect();
        let given = bytes.len();
        let mut space = inner.down.space();
        let now = self.0.clock.now();
        if inner.full_at == Some(now) {
            space = 0;
        } else if inner.rng.below(50) == 0 {
            // A kernel may accept any part of a send, and then accept no more bytes for some time.
            space = space.min(inner.rng.below(400) as usize);
            inner.full_at = Some(now);
        }
        bytes.truncate(space);
        inner.partial_sends += u64::from(bytes.len() < given);
        let taken = bytes.len();
        if std::mem::take(&mut inner.loses_next) || taken == 0 {
            return Ok(taken);
        }
        let when = inner.sample_timing(now);
        inner.down.send(bytes, when);
        Ok(taken)
    }

    fn on_queued(&self, _: &Client<ServerTransport>, frames: &[u8], _: Duration) {
        let inner = &mut *self.0.inner.lock();
        inner.expected.queued(frames);
        if let Some(recorded) = &mut inner.recorded_frames {
            recorded.extend_from_slice(frames);
        }
    }

    fn grant_lane(&self, client: u64, _offer: Option<&str>) -> Result<LaneGrant, &'static str> {
        Ok(self.0.udp.grant(client))
    }

    fn send_datagram(
        &self,
        _: &Client<ServerTransport>,
        to: Option<SocketAddr>,
        datagram: &[u8],
        _: &[u8],
        _: Duration,
    ) {
        to.into_iter().for_each(|to| self.0.udp.server_send(to, datagram));
    }

    fn abort(&self) {
        let inner = &mut *self.0.inner.lock();
        inner.is_cut = true;
        inner.down.has_ended = true;
    }
}

impl HostTransport for ServerTransport {
    fn write(&self, bytes: &[u8]) {
        self.0.respond(bytes);
    }

    fn close_output(&self) {
        self.0.server_end();
    }

    fn is_aborted(&self) -> bool {
        self.0.inner.lock().is_cut
    }
}

#[cfg(test)]
mod tests;
