//! One connection of the netem proxy: two sockets, an emulated link between them, one thread.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::Connections;
use super::forwarded_header::Forward;
use crate::limits;
use crate::util::netem::{Arrival, DelayedStream, DuplexLink, SegmentCounts};
use crate::util::os::{self, PollInterest};

/// One direction of a connection.
struct OneWay<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    stream: DelayedStream,
    /// Adds `X-Forwarded-For` to the bytes read; `None` for the server's bytes.
    forward: Option<Forward>,
    /// Delivered bytes that `to` has not accepted yet.
    out: Vec<u8>,
    /// Whether the end of `from` has been read.
    has_ended: bool,
    /// Whether `from` ended with a reset.
    is_reset: bool,
    /// Whether the end has been passed on to `to`.
    is_over: bool,
}

/// The result of one step of a direction.
#[derive(Default)]
struct ForwardStep {
    bytes: usize,
    delay: Option<Duration>,
    /// Whether `to` is closed.
    is_broken: bool,
}

/// Carries bytes between a client and a server, both non-blocking, until both have ended. The
/// client's bytes pass through `forward`. The end of one side follows its bytes, as a half-close or
/// as a reset. Each delivery calls `on_progress` with the direction, the bytes, the losses and the
/// delay.
///
/// # Errors
/// One side has reset its connection, and the reset was passed on; or polling failed.
pub fn forward_bytes(
    [client, server]: [&TcpStream; 2],
    link: DuplexLink,
    forward: Forward,
    connections: &Connections,
    on_progress: impl Fn(usize, usize, SegmentCounts, Option<Duration>),
) -> io::Result<()> {
    let (began, mut buffer) = (Instant::now(), vec![0; limits::RELAY_READ_BYTES]);
    let way = |from, to, stream, forward| OneWay {
        from,
        to,
        stream,
        forward,
        out: Vec::new(),
        has_ended: false,
        is_reset: false,
        is_over: false,
    };
    let mut ways = [way(client, server, link.up, Some(forward)), way(server, client, link.down, None)];
    while !connections.is_stopping() && ways.iter().any(|way| !way.is_over) {
        for direction in 0..ways.len() {
            let way = &mut ways[direction];
            way.read(began.elapsed(), &mut buffer);
            let step = way.deliver(began.elapsed())?;
            let counts = std::mem::take(&mut way.stream.channel.counts);
            if step.bytes > 0 || step.delay.is_some() || counts != SegmentCounts::default() {
                on_progress(direction, step.bytes, counts, step.delay);
            }
            if step.is_broken {
                ways[1 - direction].abort(began.elapsed());
            }
        }
        // Once both directions have ended, no socket becomes ready, so waiting here would only
        // delay the release of the slot.
        if ways.iter().any(|way| !way.is_over) {
            wait(&mut ways, began)?;
        }
    }
    Ok(())
}

/// Whether this error means that one side has reset the connection.
pub fn is_reset(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionReset
}

impl OneWay<'_> {
    fn can_read(&mut self, now: Duration) -> bool {
        !self.has_ended && self.stream.writable_bytes(now) > 0
    }

    /// Reads once, if the link has space.
    fn read(&mut self, now: Duration, buffer: &mut [u8]) {
        if !self.can_read(now) {
            return;
        }
        let max_bytes = self.stream.writable_bytes(now).min(buffer.len());
        match self.from.read(&mut buffer[..max_bytes]) {
            Ok(0) => {
                self.has_ended = true;
                self.stream.end(now);
            }
            Ok(count) => self.pass(&buffer[..count], now),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.abort(now),
        }
    }

    fn pass(&mut self, bytes: &[u8], now: Duration) {
        let Some(forward) = &mut self.forward else { return self.stream.write(bytes, now) };
        let mut changed = Vec::with_capacity(bytes.len());
        forward.pass(bytes, &mut changed);
        self.stream.write(&changed, now);
    }

    /// Ends the direction: `from` has reset its connection or accepts no more bytes.
    fn abort(&mut self, now: Duration) {
        self.is_reset = true;
        if !std::mem::replace(&mut self.has_ended, true) {
            self.stream.end(now);
        }
    }

    /// Writes delivered bytes and passes on the end.
    fn deliver(&mut self, now: Duration) -> io::Result<ForwardStep> {
        let mut step = ForwardStep::default();
        if self.is_over {
            return Ok(step);
        }
        if self.out.is_empty() {
            match self.stream.read(now, &mut self.out) {
                Arrival::Nothing => return Ok(step),
                Arrival::Bytes(delay) => step.delay = Some(delay),
                Arrival::End if self.is_reset => {
                    os::set_reset_on_close(self.to)?;
                    return Err(ErrorKind::ConnectionReset.into());
                }
                Arrival::End => {
                    self.is_over = true;
                    step.is_broken = self.to.shutdown(Shutdown::Write).is_err();
                    return Ok(step);
                }
            }
        }
        match self.to.write(&self.out) {
            Ok(count) => {
                self.out.drain(..count);
                step.bytes = count;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => {
                (self.has_ended, self.is_over) = (true, true);
                self.out.clear();
                step.is_broken = true;
            }
        }
        Ok(step)
    }

    /// Returns the time to wait for the next delivery or for space in the link. A ready socket ends
    /// the wait earlier.
    fn idle_time(&mut self, now: Duration) -> Duration {
        let arrives = if self.is_over || !self.out.is_empty() { None } else { self.stream.next() };
        let is_full = !self.has_ended && self.stream.writable_bytes(now) == 0;
        let leaves = if is_full { self.stream.channel.first_departure() } else { None };
        let next = arrives.into_iter().chain(leaves).min();
        next.map_or(limits::NETEM_PROXY_IDLE_WAIT, |next| next.saturating_sub(now))
    }
}

/// Waits until a socket is ready for one of the directions, or until bytes are due for delivery.
fn wait(ways: &mut [OneWay<'_>; 2], began: Instant) -> io::Result<()> {
    let now = began.elapsed();
    let time = ways.iter_mut().map(|way| way.idle_time(now)).min().unwrap_or_default();
    let mut sockets = Vec::with_capacity(ways.len());
    for direction in 0..ways.len() {
        let reads = ways[direction].can_read(now);
        let writes = !ways[1 - direction].out.is_empty();
        // A closed socket is always ready, so it is polled only if needed.
        if reads || writes {
            sockets.push(PollInterest { stream: ways[direction].from, reads, writes });
        }
    }
    os::poll(&sockets, time).map(drop)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::util::netem::Conditions;

    /// Returns two ends of a connection; the second one is non-blocking.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let far = listener.accept().expect("a connection").0;
        far.set_nonblocking(true).expect("a socket");
        (near, far)
    }

    #[test]
    fn the_server_reads_the_address_of_a_remote_client_and_the_client_reads_unchanged_bytes() {
        let ((mut client, client_end), (mut server, server_end)) = (pair(), pair());
        let carrying = thread::spawn(move || {
            let forward = Forward::new("192.168.1.20".parse().expect("an address"));
            let link = DuplexLink::new(&Conditions::default(), 1);
            forward_bytes([&client_end, &server_end], link, forward, &Connections::default(), |_, _, _, _| {})
        });
        let head = b"GET / HTTP/1.1\r\n\r\n";
        for stream in [&mut client, &mut server] {
            stream.write_all(head).expect("sent");
            stream.shutdown(Shutdown::Write).expect("closed");
        }
        let (mut up, mut down) = (String::new(), String::new());
        server.read_to_string(&mut up).expect("all bytes, then the end");
        client.read_to_string(&mut down).expect("all bytes, then the end");
        assert_eq!(up, "GET / HTTP/1.1\r\nX-Forwarded-For: 192.168.1.20\r\n\r\n");
        assert_eq!(down.as_bytes(), head);
        carrying.join().expect("no panic").expect("both ends");
    }
}
