//! A client that echoes a server's messages: the counterpart of the echo server, and just as small.
//! It offers compression, and compresses its echoes if the server accepts.
//!
//! The client sends each message back to the server, and passes each event to the caller. The
//! socket blocks, and one thread does everything. At most [`limits::MAX_ECHO_MESSAGE_BYTES`] of one
//! message are in memory, and the wait after our close frame is bounded.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use super::connection::ClientConnectionError;
use super::dial;
use super::url::Url;
use crate::limits;
use crate::ws::extension::{DeflateOffer, DeflateParameters};
use crate::ws::http::ResponseReader;
use crate::ws::{Connection, Event, Limits, Role, handshake};

/// Connects, echoes until either end closes, and calls `on_event` for each event. With
/// `compression`, the request offers permessage-deflate.
///
/// # Errors
/// The connection fails or is lost, or the server breaks a rule. After a broken rule, a close frame
/// with the rule was sent.
pub fn run(url: &Url, compression: bool, mut on_event: impl FnMut(&Event<'_>)) -> io::Result<()> {
    let stream = dial::connect(dial::resolve(url)?, None)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(limits::CLIENT_IDLE_TIMEOUT))?;
    stream.set_write_timeout(Some(limits::CLIENT_IDLE_TIMEOUT))?;
    // The server may forbid context takeover, and limit our window.
    let offer = DeflateOffer { client_no_context_takeover: true, ..DeflateOffer::default() };
    let (deflate, rest) = handshake(&stream, url, compression.then_some(&offer))?;
    let limits = Limits {
        message_bytes: limits::MAX_ECHO_MESSAGE_BYTES,
        fragments: limits::ECHO_FRAGMENTS,
        ..limits::SERVER_MESSAGE_LIMITS
    };
    let mut conn = Connection::new(Role::Client { mask_key: dial::random }, limits);
    if let Some(parameters) = deflate {
        conn.enable_compression(parameters, limits::COMPRESSION_MIN_BYTES);
    }
    conn.receive(&rest);
    let mut output = Vec::new();
    loop {
        let mut is_lost = false;
        let echoed = echo(&mut conn, &mut output, &mut |event| {
            is_lost |= matches!(event, Event::Eof { clean: false });
            on_event(event);
        });
        if let Err(error) = (&stream).write_all(&output) {
            return read_remaining(&stream, &mut conn, error, &mut on_event);
        }
        output.clear();
        if echoed.is_err() || conn.is_finished() {
            wait_for_end(&stream);
            if is_lost {
                return Err(io::Error::new(
                    ErrorKind::UnexpectedEof,
                    "the server ended the connection without a close frame",
                ));
            }
            return echoed.map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
        }
        match read(&stream, conn.recv_buffer(limits::ECHO_READ_BYTES))? {
            0 => conn.receive_eof(),
            count => conn.commit(count),
        }
    }
}

/// Requests the upgrade. Returns the agreement on compression, and the bytes after the response.
fn handshake(
    mut stream: &TcpStream,
    url: &Url,
    offer: Option<&DeflateOffer>,
) -> io::Result<(Option<DeflateParameters>, Vec<u8>)> {
    let wrong = |error: ClientConnectionError| io::Error::new(ErrorKind::InvalidData, error);
    let key = handshake::encode_key(dial::random());
    stream.write_all(&handshake::request_with(&url.authority(), &url.target, &key, &[], offer))?;
    let (mut reader, mut buffer) = (ResponseReader::new(limits::HEAD_LIMITS), [0; limits::READ_BYTES]);
    let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
    loop {
        let count = read_until(stream, &mut buffer, deadline)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if let Some(head) = reader.receive(&buffer[..count]).map_err(|rule| wrong(rule.into()))? {
            if head.status != 101 {
                return Err(wrong(ClientConnectionError::Refused(head.status)));
            }
            let agreed = handshake::check_response_with(&head, &key, &[], offer);
            let deflate = agreed.map_err(|rule| wrong(rule.into()))?.deflate;
            stream.set_read_timeout(Some(limits::CLIENT_IDLE_TIMEOUT))?;
            return Ok((deflate, reader.rest().to_vec()));
        }
    }
}

/// Handles all pending events, and appends the masked replies to `output`.
fn echo(
    conn: &mut Connection,
    output: &mut Vec<u8>,
    on_event: &mut impl FnMut(&Event<'_>),
) -> Result<(), ClientConnectionError> {
    loop {
        let event = conn.next_event_with_sender();
        let done = event.map(|event| {
            let Some((event, sending)) = event else { return true };
            on_event(&event);
            match event {
                Event::Text(text) => sending.text(text),
                Event::Binary(payload) => sending.binary(payload),
                _ => {}
            }
            false
        });
        conn.drain_output(output);
        if done? {
            return Ok(());
        }
    }
}

/// Reads the server's last bytes, above all a close frame, after a write failed with `lost`.
fn read_remaining(
    stream: &TcpStream,
    conn: &mut Connection,
    lost: io::Error,
    on_event: &mut impl FnMut(&Event<'_>),
) -> io::Result<()> {
    if !matches!(
        lost.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    ) {
        return Err(lost);
    }
    let (mut is_closed, mut unsent) = (false, Vec::new());
    let deadline = Instant::now() + limits::CLIENT_CLOSE_TIMEOUT;
    loop {
        match read_until(stream, conn.recv_buffer(limits::ECHO_READ_BYTES), deadline) {
            Ok(count) if count > 0 => conn.commit(count),
            _ => return if is_closed { Ok(()) } else { Err(lost) },
        }
        let taken = echo(conn, &mut unsent, &mut |event| {
            is_closed |= matches!(event, Event::Close { .. });
            on_event(event);
        });
        taken.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        unsent.clear();
    }
}

fn read(mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "timed out waiting for the server"));
            }
            read => return read,
        }
    }
}

/// Like [`read`], with a deadline that received bytes do not extend.
fn read_until(stream: &TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::Error::new(ErrorKind::TimedOut, "timed out waiting for the server"));
    }
    stream.set_read_timeout(Some(left))?;
    read(stream, buffer)
}

/// Waits until the server ends the connection, and ends it after a timeout.
fn wait_for_end(stream: &TcpStream) {
    let (deadline, mut buffer) = (Instant::now() + limits::CLIENT_CLOSE_TIMEOUT, [0; limits::READ_BYTES]);
    while read_until(stream, &mut buffer, deadline).is_ok_and(|count| count > 0) {}
    let _ = stream.shutdown(Shutdown::Both);
}
