//! A client for tests and tools that send one packet at a time and wait for the reply.
//!
//! The caller sends packets and states how long to wait. It receives packets, and the reason why
//! the connection ended. Received packets are not checked.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmpv::Value;

use super::connection::{ClientConnection, ClientEvent};
use super::dial;
use super::url::Url;
use crate::game::bots::EncodePacket;
use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction};
use crate::util::os::PollInterest;

/// A packet from the server, of any game.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedPacket {
    /// Name of the packet.
    pub name: String,
    /// Values with the names of their arguments.
    pub values: Vec<(String, Value)>,
}

impl ReceivedPacket {
    /// The value of an argument; `None` if it is nil, or the packet has no such argument.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let own = self.values.iter().find(|(own, _)| own == name);
        own.map(|(_, value)| value).filter(|value| !value.is_nil())
    }

    /// The value of an integer argument; `None` if the value has another type or is out of range.
    pub fn number<N: TryFrom<i64>>(&self, name: &str) -> Option<N> {
        self.get(name)?.as_i64().and_then(|number| N::try_from(number).ok())
    }

    /// The value of a text argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }
}

impl From<&DecodedPacket<'_>> for ReceivedPacket {
    fn from(packet: &DecodedPacket<'_>) -> ReceivedPacket {
        let names = packet.row.arguments.iter().map(|argument| argument.name.clone());
        ReceivedPacket {
            name: packet.row.name.clone(),
            values: names.zip(packet.values.iter().cloned()).collect(),
        }
    }
}

/// A connection to a room. Packets from the server become [`ReceivedPacket`], or the type `H` of a
/// game.
#[derive(Debug)]
pub struct BlockingClient<H = ReceivedPacket> {
    stream: TcpStream,
    connection: ClientConnection,
    dialect: Arc<Dialect>,
    received: VecDeque<H>,
    close_reason: Option<String>,
}

impl<H: for<'a> From<&'a DecodedPacket<'a>>> BlockingClient<H> {
    /// Connects and upgrades, from the address `from` if there is one.
    ///
    /// # Errors
    /// The connection or the upgrade failed. A refusal by the server is `ConnectionRefused` with
    /// the status in its message.
    pub fn connect(url: &Url, from: Option<IpAddr>, dialect: Arc<Dialect>) -> io::Result<BlockingClient<H>> {
        BlockingClient::start(dial::connect(dial::resolve(url)?, from)?, url, dialect)
    }

    /// Upgrades a connected, non-blocking socket.
    ///
    /// # Errors
    /// As [`BlockingClient::connect`].
    pub fn start(stream: TcpStream, url: &Url, dialect: Arc<Dialect>) -> io::Result<BlockingClient<H>> {
        let is_native = dialect.name() == "native";
        let connection = ClientConnection::new(&url.authority(), &url.target, is_native, dial::random_keys());
        let mut client =
            BlockingClient { stream, connection, dialect, received: VecDeque::new(), close_reason: None };
        client.flush()?;
        let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
        loop {
            match client.connection.next_event() {
                Ok(Some(ClientEvent::Open)) => return Ok(client),
                Ok(Some(_)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(None) => client.read(deadline)?,
                Err(error) => return Err(io::Error::new(ErrorKind::ConnectionRefused, error)),
            }
        }
    }

    /// Sends a packet by name, with its values in order. Trailing values that may be nil can be
    /// omitted.
    ///
    /// # Errors
    /// `InvalidInput` if the table has no such packet or other values, or the socket's error.
    pub fn send(&mut self, packet: &str, values: &[Value]) -> io::Result<()> {
        let message = self.dialect.encode(Direction::ToServer, packet, values);
        let message = message.map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        self.connection.send_binary(&message);
        self.flush()
    }

    /// Sends a packet that is a value of the game's own packet type.
    ///
    /// # Errors
    /// `InvalidInput` if the dialect has no such packet, or the socket's error.
    pub fn send_packet(&mut self, packet: &impl EncodePacket) -> io::Result<()> {
        let message = packet.encode(&self.dialect);
        if message.is_empty() {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.connection.send_binary(&message);
        self.flush()
    }

    /// Sends raw bytes, which need not be frames.
    ///
    /// # Errors
    /// The socket's error; `TimedOut` if the server does not accept all bytes within
    /// 10 seconds.
    pub fn send_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + limits::CONNECT_TIMEOUT;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    dial::wait(PollInterest::writable(&self.stream), left)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the next packet. `None` at the end of the connection; then
    /// [`BlockingClient::close_reason`] has the reason.
    ///
    /// # Errors
    /// `TimedOut`, `InvalidData` for bytes that are not a packet of the dialect, or the socket's
    /// error.
    pub fn receive(&mut self, time: Duration) -> io::Result<Option<H>> {
        let deadline = Instant::now() + time;
        loop {
            if let Some(received) = self.received.pop_front() {
                return Ok(Some(received));
            }
            if self.close_reason.is_some() {
                return Ok(None);
            }
            self.read(deadline)?;
            self.take_events()?;
        }
    }

    /// Receives packets until one matches, and returns it. Drops the others.
    ///
    /// # Errors
    /// As [`BlockingClient::receive`]; `UnexpectedEof` if the connection ended before a packet
    /// matched.
    pub fn receive_until(&mut self, time: Duration, mut is_it: impl FnMut(&H) -> bool) -> io::Result<H> {
        let deadline = Instant::now() + time;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(received) if is_it(&received) => return Ok(received),
                Some(_) => {}
                None => {
                    let reason = self.close_reason.clone().unwrap_or_default();
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, reason));
                }
            }
        }
    }

    /// The name of the room that the server has chosen for `?room=any`; empty for the default room.
    /// `None` for a URL that names its room.
    pub fn room(&self) -> Option<&str> {
        self.connection.room()
    }

    /// The reason why the connection ended: the close code and the server's reason, or "end without
    /// a close frame". `None` while it is open.
    pub fn close_reason(&self) -> Option<&str> {
        self.close_reason.as_deref()
    }

    fn take_events(&mut self) -> io::Result<()> {
        let taken = self.drain_events();
        // Flushed after a violation too, because the close frame reports it (RFC 6455, section
        // 7.1.7).
        self.flush().and(taken)
    }

    fn drain_events(&mut self) -> io::Result<()> {
        loop {
            match self
                .connection
                .next_event()
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?
            {
                None => return Ok(()),
                Some(ClientEvent::Binary(message)) => {
                    let decoded = self.dialect.decode(Direction::ToClient, message);
                    let decoded = decoded.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                    self.received.push_back(H::from(&decoded));
                }
                Some(ClientEvent::Text(_)) => return Err(ErrorKind::InvalidData.into()),
                Some(ClientEvent::Open | ClientEvent::Control) => {}
                Some(ClientEvent::Closed { code, reason }) => {
                    let code = code.map_or(1005, |code| code.get());
                    self.close_reason = Some(format!("{code} {reason}"));
                }
                Some(ClientEvent::Ended) => {
                    self.close_reason.get_or_insert_with(|| "end without a close frame".to_owned());
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.connection.drain_output(&mut bytes);
        match self.send_bytes(&bytes) {
            // The server has closed the connection. The bytes that it sent before are still read.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
                ) =>
            {
                Ok(())
            }
            sent => sent,
        }
    }

    /// Reads once, before the deadline.
    fn read(&mut self, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        dial::wait(PollInterest::readable(&self.stream), left)?;
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.connection.receive_eof(),
            Ok(count) => self.connection.receive(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
