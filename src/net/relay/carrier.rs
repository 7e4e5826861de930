//! One connection of a relay: two sockets, a link between them, one thread.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::limits;
use crate::link::{Counts, Link, Read, Stream};
use crate::platform::{self, Watched};

/// One direction.
struct Way<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    stream: Stream,
    /// Bytes that have arrived and that `to` has not accepted.
    out: Vec<u8>,
    /// `from` sends nothing more.
    has_ended: bool,
    /// It has not closed its connection, but reset it.
    is_reset: bool,
    /// Its end was passed on.
    is_over: bool,
}

/// What a step of a direction has done.
#[derive(Default)]
struct Done {
    bytes: usize,
    delay: Option<Duration>,
    /// `to` has gone.
    is_broken: bool,
}

/// Carries bytes between a client and a server, both non-blocking, until both have ended. The end of
/// one side is passed on behind its bytes, as a half-close or as a reset. `told` is called with the
/// direction, the bytes, the losses and the delay of each delivery.
///
/// # Errors
/// One side has reset its connection, which was passed on; or waiting failed.
pub fn carry(
    [client, server]: [&TcpStream; 2],
    link: Link,
    is_stopping: &AtomicBool,
    told: impl Fn(usize, usize, Counts, Option<Duration>),
) -> io::Result<()> {
    let (began, mut buffer) = (Instant::now(), vec![0; limits::RELAY_READ_BYTES]);
    let way = |from, to, stream| Way {
        from,
        to,
        stream,
        out: Vec::new(),
        has_ended: false,
        is_reset: false,
        is_over: false,
    };
    let mut ways = [way(client, server, link.up), way(server, client, link.down)];
    while !is_stopping.load(Ordering::Acquire) && ways.iter().any(|way| !way.is_over) {
        for direction in 0..ways.len() {
            let way = &mut ways[direction];
            way.read(began.elapsed(), &mut buffer);
            let done = way.deliver(began.elapsed())?;
            let counts = std::mem::take(&mut way.stream.channel.counts);
            if done.bytes > 0 || done.delay.is_some() || counts != Counts::default() {
                told(direction, done.bytes, counts, done.delay);
            }
            if done.is_broken {
                ways[1 - direction].break_off(began.elapsed());
            }
        }
        wait(&mut ways, began)?;
    }
    Ok(())
}

/// Whether this is the error of a connection that one side has reset.
pub fn is_reset(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionReset
}

impl Way<'_> {
    fn wants_bytes(&mut self, now: Duration) -> bool {
        !self.has_ended && self.stream.space(now) > 0
    }

    /// Reads once, if there is space.
    fn read(&mut self, now: Duration, buffer: &mut [u8]) {
        if !self.wants_bytes(now) {
            return;
        }
        let most = self.stream.space(now).min(buffer.len());
        match self.from.read(&mut buffer[..most]) {
            Ok(0) => {
                self.has_ended = true;
                self.stream.end(now);
            }
            Ok(count) => self.stream.write(&buffer[..count], now),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.break_off(now),
        }
    }

    /// `from` has reset its connection, or accepts nothing more.
    fn break_off(&mut self, now: Duration) {
        self.is_reset = true;
        if !std::mem::replace(&mut self.has_ended, true) {
            self.stream.end(now);
        }
    }

    /// Writes what has arrived, and passes on the end.
    fn deliver(&mut self, now: Duration) -> io::Result<Done> {
        let mut done = Done::default();
        if self.is_over {
            return Ok(done);
        }
        if self.out.is_empty() {
            match self.stream.read(now, &mut self.out) {
                Read::Nothing => return Ok(done),
                Read::Bytes(delay) => done.delay = Some(delay),
                Read::End if self.is_reset => {
                    platform::reset(self.to)?;
                    return Err(ErrorKind::ConnectionReset.into());
                }
                Read::End => {
                    self.is_over = true;
                    done.is_broken = self.to.shutdown(Shutdown::Write).is_err();
                    return Ok(done);
                }
            }
        }
        match self.to.write(&self.out) {
            Ok(count) => {
                self.out.drain(..count);
                done.bytes = count;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => {
                (self.has_ended, self.is_over) = (true, true);
                self.out.clear();
                done.is_broken = true;
            }
        }
        Ok(done)
    }

    /// How long nothing happens here unless a socket becomes ready.
    fn rest(&mut self, now: Duration) -> Duration {
        let arrives = if self.is_over || !self.out.is_empty() { None } else { self.stream.next() };
        let is_full = !self.has_ended && self.stream.space(now) == 0;
        let leaves = if is_full { self.stream.channel.leaves() } else { None };
        let next = arrives.into_iter().chain(leaves).min();
        next.map_or(limits::RELAY_LOOK, |next| next.saturating_sub(now))
    }
}

/// Waits until a socket is ready for what one of the directions needs, or until bytes arrive.
fn wait(ways: &mut [Way<'_>; 2], began: Instant) -> io::Result<()> {
    let now = began.elapsed();
    let time = ways.iter_mut().map(|way| way.rest(now)).min().unwrap_or_default();
    let mut sockets = Vec::with_capacity(ways.len());
    for direction in 0..ways.len() {
        let reads = ways[direction].wants_bytes(now);
        let writes = !ways[1 - direction].out.is_empty();
        // A socket whose peer has gone is ready all the time, and must not be asked without need.
        if reads || writes {
            sockets.push(Watched { stream: ways[direction].from, reads, writes });
        }
    }
    platform::poll(&sockets, time).map(drop)
}
