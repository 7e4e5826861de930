//! The client side of one connection: the upgrade, then frames. Without I/O.
//!
//! ```text
//!   new() ─► request is in the output ─► receive(response) ─► Open ─► messages ─► Closed ─► Ended
//! ```
//!
//! The inputs are bytes and the end of the stream. The outputs are [`ClientEvent`]s and bytes to
//! send. After each input, take events until there are none left, then drain the output. The
//! connection uses no socket and no clock, and does not decode packets.
//!
//! If a connection offers our subprotocol, it moves a token and a resume key from the query of the
//! target to further offered subprotocols (`key.…` and `bearer.…`). This is because proxies log the
//! target.

use std::fmt;

use super::url::without_credentials;
use crate::limits;
#[cfg(doc)]
use crate::packet::credentials;
use crate::packet::routes::{ROOM_HEADER, room_of_page};
use crate::util::escape::Untrusted;
use crate::ws::HeadLimits;
use crate::ws::close::CloseCode;
use crate::ws::connection::{self, Connection, Role};
use crate::ws::extension::{self, DeflateOffer};
use crate::ws::frame;
use crate::ws::handshake;
use crate::ws::http::ResponseReader;
use crate::ws::violation::Violation;

/// The subprotocol that our native clients offer.
pub const SUBPROTOCOL: &str = "tickwire.v1";

/// Random bytes for a connection. [`dial::random_keys`](super::dial::random_keys) takes them from
/// the kernel, so that they are unpredictable. A test or a simulation may choose them.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionKeys {
    /// The nonce of the upgrade request.
    pub upgrade: [u8; handshake::NONCE_BYTES],
    /// Returns a new masking key. Called for each frame.
    pub mask: fn() -> [u8; frame::MASK_KEY_BYTES],
}

/// An event, borrowed from the connection until the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientEvent<'a> {
    /// The upgrade succeeded. Messages may be sent.
    Open,
    /// A binary message.
    Binary(&'a [u8]),
    /// A text message.
    Text(&'a str),
    /// A ping or a pong. The pong for a ping is already in the output.
    Control,
    /// The server closes the connection. Our close frame is in the output.
    Closed {
        /// The close code, if there is one.
        code: Option<CloseCode>,
        /// The server's reason; untrusted text.
        reason: Untrusted<&'a str>,
    },
    /// The server's byte stream has ended.
    Ended,
}

/// The reason why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientConnectionError {
    /// The status of the response is not 101.
    Refused(u16),
    /// The server broke a protocol rule.
    Violation(Violation),
}

impl fmt::Display for ClientConnectionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientConnectionError::Refused(status) => write!(out, "the server answered with status {status}"),
            ClientConnectionError::Violation(violation) => write_violation(*violation, out),
        }
    }
}

impl std::error::Error for ClientConnectionError {}

/// Writes the rule that a server broke: the limit of a response head, or the violation with its
/// section.
pub(super) fn write_violation(violation: Violation, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let HeadLimits { bytes, headers, .. } = limits::HEAD_LIMITS;
    match violation {
        Violation::HeadTooLong => write!(out, "the response head exceeds {bytes} bytes"),
        Violation::TooManyHeaders => write!(out, "the response head has more than {headers} headers"),
        _ => write!(out, "{violation} ({})", violation.citation()),
    }
}

impl From<Violation> for ClientConnectionError {
    fn from(violation: Violation) -> ClientConnectionError {
        ClientConnectionError::Violation(violation)
    }
}

#[derive(Debug)]
enum ConnectionState {
    Waiting {
        reader: ResponseReader,
        key: String,
        offer: Option<DeflateOffer>,
        mask: fn() -> [u8; frame::MASK_KEY_BYTES],
    },
    /// The response was accepted. [`ClientEvent::Open`] has not been returned yet.
    Upgraded(Connection),
    Open(Connection),
    Failed,
}

/// The client side of one connection. `Debug` omits the output, because the request may contain a
/// secret.
pub struct ClientConnection {
    state: ConnectionState,
    /// The offered subprotocol that the server may select. Credentials are never selected.
    protocol: Option<&'static str>,
    /// The room that the server has chosen.
    room: Option<String>,
    output: Vec<u8>,
    /// An error of the response that has not been returned yet.
    failure: Option<ClientConnectionError>,
    /// The stream ended before the upgrade succeeded.
    closed_early: bool,
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClientConnection").field("state", &self.state).finish_non_exhaustive()
    }
}

impl ClientConnection {
    /// A connection that requests an upgrade at `target`. With `native`, it offers our subprotocol.
    pub fn new(host: &str, target: &str, native: bool, keys: ConnectionKeys) -> ClientConnection {
        if !native {
            return ClientConnection::with_subprotocol(host, target, None, &[], keys);
        }
        let (target, credentials) = without_credentials(target);
        let credentials: Vec<&str> = credentials.iter().map(String::as_str).collect();
        ClientConnection::with_subprotocol(host, &target, Some(SUBPROTOCOL), &credentials, keys)
    }

    /// A connection with a chosen subprotocol, or none, and with credentials as further
    /// subprotocols.
    pub fn with_subprotocol(
        host: &str,
        target: &str,
        protocol: Option<&'static str>,
        credentials: &[&str],
        keys: ConnectionKeys,
    ) -> ClientConnection {
        let key = handshake::encode_key(keys.upgrade);
        let offered: Vec<&str> = protocol.into_iter().chain(credentials.iter().copied()).collect();
        let output = handshake::request(host, target, &key, &offered);
        let state = ConnectionState::Waiting {
            reader: ResponseReader::new(limits::HEAD_LIMITS),
            key,
            offer: None,
            mask: keys.mask,
        };
        ClientConnection { state, protocol, room: None, output, failure: None, closed_early: false }
    }

    /// Offers permessage-deflate, as browsers do. Call it before the output is drained. Messages
    /// are compressed if the server accepts.
    #[must_use]
    pub fn with_compression(mut self) -> ClientConnection {
        if let ConnectionState::Waiting { offer, .. } = &mut self.state {
            let header = format!("{}: {}\r\n\r\n", extension::HEADER, offer.insert(DeflateOffer::default()));
            // The request ends with an empty line.
            self.output.truncate(self.output.len() - b"\r\n".len());
            self.output.extend_from_slice(header.as_bytes());
        }
        self
    }

    /// The name of the room that the server has chosen for `?room=any`; empty for the default room.
    /// `None` before the upgrade, and for a request that names its room.
    pub fn room(&self) -> Option<&str> {
        self.room.as_deref()
    }

    /// Handles bytes from the server.
    pub fn receive(&mut self, bytes: &[u8]) {
        match &mut self.state {
            ConnectionState::Waiting { .. } => {
                if let Err(failure) = self.handshake(bytes) {
                    self.state = ConnectionState::Failed;
                    self.failure = Some(failure);
                }
            }
            ConnectionState::Upgraded(conn) | ConnectionState::Open(conn) => conn.receive(bytes),
            ConnectionState::Failed => {}
        }
    }

    /// Handles the end of the byte stream.
    pub fn receive_eof(&mut self) {
        match &mut self.state {
            ConnectionState::Upgraded(conn) | ConnectionState::Open(conn) => conn.receive_eof(),
            ConnectionState::Waiting { .. } | ConnectionState::Failed => self.closed_early = true,
        }
    }

    fn handshake(&mut self, bytes: &[u8]) -> Result<(), ClientConnectionError> {
        let ConnectionState::Waiting { reader, key, offer, mask } = &mut self.state else { return Ok(()) };
        let Some(head) = reader.receive(bytes)? else { return Ok(()) };
        if head.status != 101 {
            return Err(ClientConnectionError::Refused(head.status));
        }
        let protocols = self.protocol.as_slice();
        let agreed = handshake::check_response_with(&head, key, protocols, offer.as_ref())?;
        self.room = head.headers.get(ROOM_HEADER).and_then(room_of_page).map(str::to_owned);
        let mut conn = Connection::new(Role::Client { mask_key: *mask }, limits::SERVER_MESSAGE_LIMITS);
        if let Some(parameters) = agreed.deflate {
            conn.enable_compression(parameters, limits::COMPRESSION_MIN_BYTES);
        }
        conn.receive(reader.rest());
        self.state = ConnectionState::Upgraded(conn);
        Ok(())
    }

    /// Returns the next event. `None` means that more input is needed.
    ///
    /// # Errors
    /// The server's violation, returned once. After a violation of RFC 6455 a close frame is in the
    /// output.
    pub fn next_event(&mut self) -> Result<Option<ClientEvent<'_>>, ClientConnectionError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if std::mem::take(&mut self.closed_early) {
            self.state = ConnectionState::Failed;
            return Ok(Some(ClientEvent::Ended));
        }
        if matches!(self.state, ConnectionState::Upgraded(_)) {
            if let ConnectionState::Upgraded(conn) =
                std::mem::replace(&mut self.state, ConnectionState::Failed)
            {
                self.state = ConnectionState::Open(conn);
            }
            return Ok(Some(ClientEvent::Open));
        }
        let ConnectionState::Open(conn) = &mut self.state else { return Ok(None) };
        let event = conn.next_event()?.map(|event| match event {
            connection::Event::Binary(message) => ClientEvent::Binary(message),
            connection::Event::Text(text) => ClientEvent::Text(text),
            connection::Event::Ping(_) | connection::Event::Pong(_) => ClientEvent::Control,
            connection::Event::Close { code, reason } => {
                ClientEvent::Closed { code, reason: Untrusted::new(reason) }
            }
            connection::Event::Eof { .. } => ClientEvent::Ended,
        });
        Ok(event)
    }

    /// Sends a binary message. Does nothing before the upgrade and after the close.
    pub fn send_binary(&mut self, message: &[u8]) {
        if let ConnectionState::Open(conn) = &mut self.state {
            conn.send_binary(message);
        }
    }

    /// Sends a text message. Does nothing before the upgrade and after the close.
    pub fn send_text(&mut self, text: &str) {
        if let ConnectionState::Open(conn) = &mut self.state {
            conn.send_text(text);
        }
    }

    /// Starts the closing handshake.
    pub fn close(&mut self) {
        self.close_with(CloseCode::NORMAL);
    }

    /// Starts the closing handshake with this code.
    pub fn close_with(&mut self, code: CloseCode) {
        if let ConnectionState::Open(conn) = &mut self.state {
            conn.close(code, "");
        }
    }

    /// Appends the bytes to send to `into`.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        into.append(&mut self.output);
        if let ConnectionState::Upgraded(conn) | ConnectionState::Open(conn) = &mut self.state {
            conn.drain_output(into);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: ConnectionKeys = ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
    use crate::ws::frame;
    use crate::ws::http::HeadReader;

    /// A server's response to the request in the output of the connection.
    fn answer(connection: &mut ClientConnection) -> Vec<u8> {
        let mut request = Vec::new();
        connection.drain_output(&mut request);
        let head = HeadReader::new(limits::HEAD_LIMITS).receive(&request).unwrap().unwrap();
        assert_eq!(head.path(), "/play");
        handshake::accept(&head, &[SUBPROTOCOL]).unwrap().response
    }

    #[test]
    fn a_link_opens_and_carries_messages_however_the_bytes_are_cut() {
        let mut connection = ClientConnection::new("localhost:3000", "/play", true, KEYS);
        let mut bytes = answer(&mut connection);
        frame::write_binary(&mut bytes, b"hello");
        let mut events = Vec::new();
        for byte in bytes {
            connection.receive(&[byte]);
            while let Some(event) = connection.next_event().unwrap() {
                events.push(format!("{event:?}"));
            }
        }
        assert_eq!(events, ["Open", "Binary([104, 101, 108, 108, 111])"]);
        connection.receive_eof();
        assert_eq!(connection.next_event(), Ok(Some(ClientEvent::Ended)));
        assert_eq!(connection.next_event(), Ok(None));
    }

    #[test]
    fn the_room_that_the_server_has_chosen_is_known_from_the_response() {
        for (header, room) in [
            ("", None),
            ("Tickwire-Room: /r/arena/\r\n", Some("arena")),
            ("tickwire-room: /\r\n", Some("")),
            ("Tickwire-Room: /r/Arena/\r\n", None),
            ("Tickwire-Room: arena\r\n", None),
        ] {
            let mut connection = ClientConnection::new("localhost:3000", "/play", true, KEYS);
            let response = answer(&mut connection);
            let (head, end) = response.split_at(response.len() - 2);
            connection.receive(&[head, header.as_bytes(), end].concat());
            assert_eq!(connection.next_event(), Ok(Some(ClientEvent::Open)));
            assert_eq!(connection.room(), room, "{header}");
        }
    }

    #[test]
    fn a_refusal_is_reported_with_its_status() {
        let mut connection = ClientConnection::new("localhost:3000", "/play", true, KEYS);
        connection.receive(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(connection.next_event(), Err(ClientConnectionError::Refused(503)));
        assert_eq!(connection.next_event(), Ok(None));
    }

    #[test]
    fn a_response_head_over_a_limit_is_reported_with_the_limit() {
        let mut connection = ClientConnection::new("localhost:3000", "/play", true, KEYS);
        connection.receive(format!("HTTP/1.1 101 {}", "x".repeat(limits::HEAD_LIMITS.bytes)).as_bytes());
        let error = connection.next_event().unwrap_err();
        assert_eq!(error.to_string(), "the response head exceeds 40960 bytes");
    }

    #[test]
    fn a_masked_frame_of_a_server_is_refused() {
        let mut connection = ClientConnection::new("localhost:3000", "/play", true, KEYS);
        let mut bytes = answer(&mut connection);
        frame::write(&mut bytes, frame::Opcode::Binary, Some([1, 2, 3, 4]), b"x");
        connection.receive(&bytes);
        assert_eq!(connection.next_event(), Ok(Some(ClientEvent::Open)));
        assert_eq!(connection.next_event(), Err(ClientConnectionError::Violation(Violation::MaskForbidden)));
    }
}
