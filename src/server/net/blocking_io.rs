//! Blocking socket calls with a time limit, for connections without an update worker.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::limits;
use crate::util::os;

/// Writes all bytes, blocking for at most `time` in total.
pub fn write_all(stream: &TcpStream, mut bytes: &[u8], time: Duration) -> std::io::Result<()> {
    let deadline = Instant::now() + time;
    while !bytes.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match (&mut &*stream).write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads and drops the remaining bytes, because closing a socket with unread bytes resets the
/// connection, and the peer could then miss our last frames. Stops after `max_bytes` or `time`, so
/// that a flood cannot prolong the drain. Passes each chunk to `on_bytes`.
pub fn drain(stream: &TcpStream, time: Duration, max_bytes: usize, mut on_bytes: impl FnMut(&[u8])) {
    let deadline = Instant::now() + time;
    // On the heap, because the next thread gets this stack with the pages that it has used.
    let (mut buffer, mut dropped) = (vec![0; limits::READ_BYTES], 0);
    while dropped < max_bytes {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(Some(count @ 1..)) = read(stream, &mut buffer, left) else { return };
        on_bytes(&buffer[..count]);
        dropped += count;
    }
}

/// Reads once and waits at most `time`. Returns the number of bytes, 0 at the end of the stream, or
/// `None` on timeout.
pub fn read(stream: &TcpStream, buffer: &mut [u8], time: Duration) -> std::io::Result<Option<usize>> {
    if time.is_zero() {
        return Ok(None);
    }
    stream.set_read_timeout(Some(time))?;
    loop {
        match os::read(stream, buffer) {
            Ok(count) => return Ok(Some(count)),
            Err(error) if is_timeout(&error) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a read failed because of its timeout.
pub fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
