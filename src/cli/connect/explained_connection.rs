//! A connection with an explanation of every byte, for the prompt of `tickwire connect`.
//!
//! ```text
//!   payload ──────► frame, masked ──► socket ──► server
//!                        └──────► explanations ◄────┘
//! ```
//!
//! Frames and raw bytes are sent as given. Each head and frame sent or received yields an
//! [`Explanation`], in order. Pings and a close are answered as RFC 6455 requires of a client;
//! these replies are explained too. Nothing is validated before sending, because the purpose is to
//! see how the server handles broken frames. With an agreement on compression, messages are
//! compressed, each by itself, so that raw bytes between them change nothing.
//!
//! Received data is limited: the head and the body of the response ([`Answer`]), and the messages
//! ([`limits::SERVER_MESSAGE_LIMITS`]). Beyond a limit, or after a violation by the server, the
//! connection ends.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;

use crate::client::answer::Answer;
use crate::client::connection::SUBPROTOCOL;
use crate::client::dial;
use crate::client::stream::Stream;
use crate::client::url::{Url, without_credentials};
use crate::connection::head_secrets::redact_head;
use crate::limits;
use crate::packet::{Dialect, PacketTables, routes};
use crate::tools::explain::{Content, Conversation, Explanation, Problem};
use crate::ws::deflate::{Deflater, MAX_WINDOW_BITS, MessageDeflater};
use crate::ws::extension::DeflateOffer;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::{CloseCode, Side, handshake};

/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;
/// The status of a successful upgrade.
const SWITCHING: u16 = 101;

/// The dialect and format of a connection.
#[derive(Clone, Copy, Debug)]
pub struct WireFormat<'a> {
    /// Codes and arguments of the packets; `None` if messages are not packets.
    pub dialect: Option<&'a Dialect>,
    /// Whether packets are JSON in text messages.
    pub json: bool,
}

/// The upgrade request of a connection.
#[derive(Clone, Copy)]
pub struct ConnectRequest<'a> {
    /// The host and the target.
    pub url: &'a Url,
    /// Offered subprotocols, after the one of a native tickwire client.
    pub subprotocols: &'a [String],
    /// Further header lines, each with its line end.
    pub header_lines: &'a str,
    /// The offer of compression, usually [`OFFER`].
    pub offer: Option<DeflateOffer>,
}

/// The offer of compression: our messages stand alone, and the server may do as it likes.
pub const OFFER: DeflateOffer = DeflateOffer {
    server_no_context_takeover: false,
    client_no_context_takeover: true,
    server_max_window_bits: MAX_WINDOW_BITS,
    client_max_window_bits: true,
};

/// A connection with an explanation of every byte.
#[derive(Debug)]
pub struct ExplainedConnection<'c> {
    stream: Stream,
    conversation: Conversation<'c>,
    json: bool,
    /// The response to the request.
    answer: Answer,
    /// The reason why this client ended the connection.
    given_up: Option<String>,
    /// Explanations not taken yet.
    items: VecDeque<Explanation<'c>>,
    /// Whether a close frame was sent.
    has_closed: bool,
    is_over: bool,
}

impl<'c> ExplainedConnection<'c> {
    /// Sends the request over a connected stream. The path selects the dialect. If the path is not
    /// an endpoint, messages are decoded as packets of `otherwise`, but only if the user requested
    /// that dialect (`is_requested`).
    ///
    /// # Errors
    /// The socket's error.
    pub fn start(
        stream: Stream,
        request: ConnectRequest<'_>,
        codes: &'c PacketTables,
        (otherwise, is_requested): (&'c Dialect, bool),
    ) -> io::Result<ExplainedConnection<'c>> {
        let target = &request.url.target;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let route = routes::find_by_room_tables(codes, path, None, None);
        let mut conversation = match route {
            Err(_) if is_requested => Conversation::in_dialect(otherwise),
            _ => Conversation::new(codes, otherwise),
        };
        conversation.with_our_client();
        let is_native = route.is_ok_and(|(dialect, _)| dialect.name() == "native");
        let head = encode_request(request, is_native);
        let mut redacted = head.clone();
        redact_head(&mut redacted);
        let mut live = ExplainedConnection {
            stream,
            // The printed request has no secrets. The conversation compares the response with the
            // real one.
            items: conversation.clone().receive(Side::Client, &redacted).into(),
            conversation,
            json: query.split('&').any(|field| field == "format=json"),
            answer: Answer::new(limits::REFUSAL_BODY_BYTES),
            given_up: None,
            has_closed: false,
            is_over: false,
        };
        live.conversation.receive(Side::Client, &head);
        live.write(&head)?;
        Ok(live)
    }

    /// The dialect and format of the messages.
    pub fn format(&self) -> WireFormat<'c> {
        let dialect = (!self.conversation.is_foreign()).then(|| self.conversation.dialect());
        WireFormat { dialect, json: self.json }
    }

    /// Whether the upgrade succeeded and the connection has not ended, so that frames may be sent.
    pub fn is_open(&self) -> bool {
        self.conversation.is_open() && !self.is_over
    }

    /// Whether the connection has ended: the server's stream ended, the response is a complete
    /// refusal, or a rule or limit was broken ([`ExplainedConnection::given_up`]).
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The reason why this client ended the connection, if it did.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// The address to which a refusal redirects.
    pub fn redirection(&self) -> Option<&str> {
        self.answer.location()
    }

    /// The text of a refusal: the body of a response with another status than 101.
    pub fn refusal(&self) -> Option<String> {
        let is_refusal = self.answer.status().is_some_and(|status| status != SWITCHING);
        let text = String::from_utf8_lossy(self.answer.body());
        (is_refusal && !text.trim().is_empty()).then(|| text.trim().to_owned())
    }

    /// Whether a close frame was sent.
    pub fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// The socket, for polling. It does not report bytes that are already decrypted
    /// ([`ExplainedConnection::has_unread`]).
    pub fn socket(&self) -> &TcpStream {
        self.stream.socket()
    }

    /// Whether a read returns bytes without the socket.
    pub fn has_unread(&self) -> bool {
        self.stream.has_unread()
    }

    /// The next explanation of a head or frame, sent or received.
    pub fn next_item(&mut self) -> Option<Explanation<'c>> {
        self.items.pop_front()
    }

    /// Sends a frame, masked with an unpredictable key. A message is compressed if the server has
    /// agreed and the frame becomes shorter.
    ///
    /// # Errors
    /// The socket's error.
    pub fn send(&mut self, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        self.has_closed |= opcode == Opcode::Close;
        let agreed = self.conversation.compression(Side::Client).filter(|_| !opcode.is_control());
        let mut deflater = agreed.map(|sender| {
            MessageDeflater::new(Deflater::new(sender.window_bits, false), limits::COMPRESSION_MIN_BYTES)
        });
        let compressed = deflater.as_mut().and_then(|deflater| deflater.compress(payload));
        let (is_compressed, payload) = (compressed.is_some(), compressed.unwrap_or(payload));
        let (mask, length) = (Some(dial::random()), payload.len() as u64);
        let header = Header { fin: true, compressed: is_compressed, opcode, mask, length };
        let mut bytes = Vec::new();
        frame::write_frame(&mut bytes, &header, payload);
        self.send_bytes(&bytes)
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// The socket's error.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.items.extend(self.conversation.receive(Side::Client, bytes));
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.stream.write_all_within(bytes, limits::CONNECT_TIMEOUT) {
            // The server has closed the connection. The bytes that it sent before are still read.
            Err(error) if is_connection_lost(&error) => Ok(()),
            written => written,
        }
    }

    /// Reads the available bytes once, and sends the required replies.
    ///
    /// # Errors
    /// The socket's error.
    pub fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; READ_BYTES];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.end(),
            Ok(count) => self.receive(&buffer[..count])?,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) if is_connection_lost(&error) => self.end(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            // Sends `close_notify`. Fails if the server has closed the connection.
            let _ = self.stream.shutdown();
        }
        for side in [Side::Client, Side::Server] {
            self.items.extend(self.conversation.finish(side));
        }
    }

    /// Ends the connection without waiting for the server.
    fn give_up(&mut self, reason: Option<String>) {
        self.given_up = reason;
        self.end();
    }

    fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        let read = if self.answer.is_whole() { Ok(()) } else { self.answer.receive(bytes) };
        self.take_items(bytes)?;
        let is_refused = self.answer.is_whole() && self.answer.status() != Some(SWITCHING);
        if let Err(error) = read {
            self.give_up(Some(error.to_string()));
        } else if is_refused {
            self.give_up(None);
        } else if self.conversation.has_failed(Side::Server) {
            self.give_up(Some("the server broke a rule or a limit of this client".to_owned()));
        }
        Ok(())
    }

    fn take_items(&mut self, bytes: &[u8]) -> io::Result<()> {
        for item in self.conversation.receive(Side::Server, bytes) {
            let (answer, was_open) = (required_reply(&item), self.answer.status() == Some(SWITCHING));
            let failure = item.problem().and_then(Problem::close_code);
            self.items.push_back(item);
            match answer {
                // No reply after this client has broken a rule, because the server then reads
                // nothing.
                Some((opcode, payload)) if !self.has_closed && self.is_open() => {
                    self.send(opcode, &payload)?
                }
                // RFC 6455, section 7.1.7.
                None if was_open && !self.has_closed && self.conversation.has_failed(Side::Server) => {
                    let code = failure.unwrap_or(CloseCode::PROTOCOL_ERROR.get());
                    self.send(Opcode::Close, &code.to_be_bytes())?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The upgrade request. For a native endpoint, a token and a resume key move from the query to
/// subprotocols, because proxies log the target.
fn encode_request(request: ConnectRequest<'_>, is_native: bool) -> Vec<u8> {
    /// The line end after the headers.
    const END: &[u8] = b"\r\n";
    let ConnectRequest { url, subprotocols, header_lines, offer } = request;
    let (target, credentials) = match is_native {
        true => without_credentials(&url.target),
        false => (url.target.clone(), Vec::new()),
    };
    let own = is_native.then_some(SUBPROTOCOL).into_iter();
    let offered: Vec<&str> = own.chain(subprotocols.iter().chain(&credentials).map(String::as_str)).collect();
    let key = handshake::encode_key(dial::random());
    let mut head = handshake::request_with(&url.authority(), &target, &key, &offered, offer.as_ref());
    head.truncate(head.len() - END.len());
    head.extend_from_slice(header_lines.as_bytes());
    head.extend_from_slice(END);
    head
}

/// The required reply to a frame: the payload of a ping, or the code of a close frame.
fn required_reply(item: &Explanation<'_>) -> Option<(Opcode, Vec<u8>)> {
    /// Bytes of the close code.
    const CODE: usize = 2;
    let frame = item.frames.first()?;
    match (frame.header?.opcode, &frame.content) {
        (Opcode::Ping, _) => Some((Opcode::Pong, frame.payload.clone())),
        (Opcode::Close, Content::Close(_)) => {
            Some((Opcode::Close, frame.payload.iter().take(CODE).copied().collect()))
        }
        _ => None,
    }
}

fn is_connection_lost(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_request_has_its_token_in_a_subprotocol() {
        let url: Url = "ws://localhost/play?token=0123456789abcdef&x=1".parse().expect("a URL");
        let subprotocols = ["mqtt".to_owned()];
        let header_lines = "X-A: b\r\n";
        let request = ConnectRequest { url: &url, subprotocols: &subprotocols, header_lines, offer: None };
        for (is_native, target, offered) in [
            (true, "/play?x=1", "tickwire.v1, mqtt, bearer.MDEyMzQ1Njc4OWFiY2RlZg"),
            (false, "/play?token=0123456789abcdef&x=1", "mqtt"),
        ] {
            let head = String::from_utf8(encode_request(request, is_native)).expect("text");
            assert!(head.starts_with(&format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n")), "{head}");
            let end = format!("Sec-WebSocket-Protocol: {offered}\r\nX-A: b\r\n\r\n");
            assert!(head.ends_with(&end), "{head}");
            let head = encode_request(ConnectRequest { offer: Some(OFFER), ..request }, is_native);
            let offer = "permessage-deflate; client_no_context_takeover; client_max_window_bits\r\n";
            assert!(String::from_utf8(head).expect("text").contains(offer));
        }
    }
}
