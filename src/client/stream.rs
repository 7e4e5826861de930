//! A connected, non-blocking byte stream: a socket, or TLS over a socket.
//!
//! Reads and writes return `WouldBlock` instead of waiting. The driver polls
//! [`Stream::interest`], and reads again without polling while [`Stream::has_unread`] is true.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::dial;
use super::tls::{ClientConfig, TlsStream};
use super::url::Url;
use crate::limits;
use crate::util::os::PollInterest;

/// A connected, non-blocking byte stream.
#[derive(Debug)]
pub(crate) enum Stream {
    /// `ws://`.
    Plain(TcpStream),
    /// `wss://`.
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Connects to the host of a URL, with TLS if there is a configuration, and completes the TLS
    /// handshake. Each of connecting and the handshake has `CONNECT_TIMEOUT`.
    ///
    /// # Errors
    /// The host name has no address; the system's error; `TimedOut`; `InvalidData` if the TLS
    /// handshake failed, such as for a certificate that is not accepted.
    pub fn open(url: &Url, tls: Option<&Arc<ClientConfig>>) -> io::Result<Stream> {
        let socket = dial::connect(dial::resolve_host(url)?, None)?;
        let Some(config) = tls else { return Ok(Stream::Plain(socket)) };
        let mut stream = TlsStream::connect(socket, &url.host, config.clone())?;
        let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
        while !stream.handshake()? {
            let interest =
                PollInterest { stream: stream.socket(), reads: true, writes: stream.wants_write() };
            dial::wait(interest, deadline.saturating_duration_since(Instant::now()))?;
        }
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// The socket, for polling and for its addresses.
    pub fn socket(&self) -> &TcpStream {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => stream.socket(),
        }
    }

    /// The events to wait for before the next read: bytes, and room for the records of TLS that
    /// wait.
    pub fn interest(&self) -> PollInterest<'_> {
        PollInterest { stream: self.socket(), reads: true, writes: self.wants_write() }
    }

    /// Whether accepted bytes wait until the socket is writable. `flush` then sends them. Always
    /// false without TLS.
    pub fn wants_write(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.wants_write(),
        }
    }

    /// Whether the next read returns bytes without the socket, which a poll cannot see.
    pub fn has_unread(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => stream.has_unread(),
        }
    }

    /// Writes all bytes, and waits at most `time` until the socket has accepted them.
    ///
    /// # Errors
    /// The socket's error, or `TimedOut`.
    pub fn write_all_within(&mut self, mut bytes: &[u8], time: Duration) -> io::Result<()> {
        let deadline = Instant::now() + time;
        while !bytes.is_empty() || self.wants_write() {
            let written = if bytes.is_empty() { self.flush().map(|()| 0) } else { self.write(bytes) };
            match written {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if !bytes.is_empty() || self.wants_write() {
                let left = deadline.saturating_duration_since(Instant::now());
                dial::wait(PollInterest::writable(self.socket()), left)?;
            }
        }
        Ok(())
    }

    /// Ends the direction to the peer. With TLS, also sends `close_notify`.
    ///
    /// # Errors
    /// The socket's error.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        if let Stream::Tls(stream) = self {
            stream.close()?;
        }
        self.socket().shutdown(Shutdown::Write)
    }

    /// Ends both directions: with TLS, sends `close_notify` first.
    ///
    /// # Errors
    /// The socket's error, also if the peer has ended the connection already.
    pub fn shutdown(&mut self) -> io::Result<()> {
        if let Stream::Tls(stream) = self {
            stream.close()?;
        }
        self.socket().shutdown(Shutdown::Both)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}
