//! Reads a request head before a deadline, and answers a request or refuses it.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::accept::Connections;
use super::blocking_io::{drain, read, write_all};
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::util::os;
use crate::ws::http::{HeadReader, RequestHead};

/// A received request head.
#[derive(Debug)]
pub struct ReceivedHead {
    /// The parsed head.
    pub head: RequestHead,
    /// The bytes of the head.
    pub raw: Vec<u8>,
    /// The bytes after the head: frames or the start of a body.
    pub early_bytes: Vec<u8>,
}

/// Reads a head of at most [`limits::HEAD_LIMITS`], which starts with the `received` bytes. Returns
/// `Ok(None)` if the peer closes before the head is complete or sends nothing before `deadline`.
/// With `connections`, also returns `Ok(None)` once their server is stopping. This is checked every
/// [`limits::ECHO_POLL_INTERVAL`].
///
/// # Errors
/// The violation in the head, or 408 if its end does not arrive before `deadline`.
pub fn read_head(
    stream: &TcpStream,
    mut reader: HeadReader,
    received: Vec<u8>,
    deadline: Instant,
    connections: Option<&Connections>,
) -> Result<Option<ReceivedHead>, Refusal> {
    let mut raw = received;
    let longest_wait = connections.map_or(Duration::MAX, |_| limits::ECHO_POLL_INTERVAL);
    let mut unread = 0..raw.len();
    loop {
        if let Some(head) = reader.receive(&raw[unread])? {
            let early_bytes = reader.rest().to_vec();
            raw.truncate(raw.len() - early_bytes.len());
            return Ok(Some(ReceivedHead { head, raw, early_bytes }));
        }
        // A socket timeout restarts with each read; the remaining time makes the deadline absolute.
        let left = deadline.saturating_duration_since(Instant::now());
        let start = raw.len();
        // Read on the heap: pages of the stack that were used once stay in memory.
        raw.resize(start + limits::READ_BYTES, 0);
        let count = match read(stream, &mut raw[start..], left.min(longest_wait)) {
            Ok(None) if deadline > Instant::now() => {
                if connections.is_some_and(Connections::is_stopping) {
                    return Ok(None);
                }
                0
            }
            Ok(None) if !reader.has_begun() => return Ok(None),
            Ok(None) => return Err(Refusal::from_rule(408, "head_late")),
            Ok(Some(0)) | Err(_) => return Ok(None),
            Ok(Some(count)) => count,
        };
        raw.truncate(start + count);
        unread = start..raw.len();
    }
}

/// Sends a refusal from the listener's thread. The send does not block, because the send buffer of
/// a new connection is empty.
pub fn refuse_at_accept(stream: &TcpStream, refusal: &Refusal) {
    let _ = os::try_send(stream, [&refusal.response[..]].into_iter());
}

/// Writes a response of one or two parts within [`limits::PAGE_WRITE_TIMEOUT`], then closes the
/// connection so that the peer can read it.
pub fn respond_and_close(stream: &TcpStream, response: &[u8], body: &[u8]) {
    if write_response(stream, response, body).is_ok() {
        finish(stream, limits::MAX_DRAIN_BYTES);
    }
}

/// Writes a response of one or two parts within [`limits::PAGE_WRITE_TIMEOUT`].
///
/// # Errors
/// The write fails, or takes too long.
pub fn write_response(stream: &TcpStream, response: &[u8], body: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + limits::PAGE_WRITE_TIMEOUT;
    write_all(stream, response, limits::PAGE_WRITE_TIMEOUT)?;
    write_all(stream, body, deadline.saturating_duration_since(Instant::now()))
}

/// Shuts down the sending side after the last bytes, and drains at most `max_bytes` from the peer.
/// Closing a socket with unread bytes resets the connection, and a reset can discard the last
/// bytes.
pub fn finish(stream: &TcpStream, max_bytes: usize) {
    let _ = stream.shutdown(Shutdown::Write);
    drain(stream, limits::CLOSE_TIMEOUT, max_bytes, |_| {});
}
