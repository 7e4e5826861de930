//! The WebSocket protocol, RFC 6455, implemented without I/O for both roles.
//!
//! ```text
//!   bytes in                                                    bytes out
//!      │                                                            ▲
//!   http        lines ──► request head           response head ────►┤   before the upgrade
//!   handshake   request head ──► 101 or a refusal ─────────────────►┤
//!   ───────────────────────────────────────────────────────────────────────────────
//!   frame       2 to 14 bytes ──► header                 header ───►┤   after the upgrade
//!   message     headers and payloads ──► whole messages             │
//!   connection  messages ──► events      pong, close frame ────────►┤
//!      │                                                            │
//!      ▼ events                                  your messages ─────┘
//! ```
//!
//! **The driver's rule**: after each input, drain the outputs. Pass received bytes to
//! [`connection::Connection`] with `receive` (or `recv_buffer` and `commit`), and the end of the
//! stream with `receive_eof`. Then call `next_event` until it returns `Ok(None)`, and send the
//! bytes that `drain_output` returns. "Not yet" is `Ok(None)`, never an error. Every error is a
//! [`Violation`]: a rule with its section and its response.
//!
//! Read in this order: [`frame`], [`message`], [`close`], [`connection`], and then the opening
//! handshake: [`http`], [`handshake`]. Compression comes last: [`extension`], [`deflate`].
//!
//! [`HeadLimits`] and [`Limits`] bound the input; both are arguments. The module uses `std`, SHA-1,
//! base64 and DEFLATE, and nothing else of this crate.
//!
//! # A server and a client
//!
//! A server that echoes every message on a blocking socket, and a client for it:
//!
//! ```
//! use std::error::Error;
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//!
//! use tickwire::ws::http::{HeadReader, ResponseReader};
//! use tickwire::ws::{CloseCode, Connection, Event, HeadLimits, Limits, Role, handshake};
//!
//! fn echo(mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
//!     let (mut head, mut buffer) = (HeadReader::new(HeadLimits::default()), [0; 4096]);
//!     let request = loop {
//!         let count = stream.read(&mut buffer)?;
//!         match head.receive(&buffer[..count])? {
//!             Some(request) => break request,
//!             None if count == 0 => return Ok(()),
//!             None => {}
//!         }
//!     };
//!     stream.write_all(&handshake::accept(&request, &[])?.response)?;
//!     let limits = Limits { message_bytes: 64 * 1024, ..Limits::default() };
//!     let (mut connection, mut output) = (Connection::new(Role::Server, limits), Vec::new());
//!     connection.receive(head.rest());
//!     loop {
//!         // A violation also ends the inner loop; its close frame is in the output.
//!         while let Ok(Some((event, send_half))) = connection.next_event_with_sender() {
//!             match event {
//!                 Event::Text(text) => send_half.text(text),
//!                 Event::Binary(bytes) => send_half.binary(bytes),
//!                 _ => {}
//!             }
//!         }
//!         connection.drain_output(&mut output);
//!         stream.write_all(&output)?;
//!         output.clear();
//!         if connection.is_finished() {
//!             return Ok(());
//!         }
//!         match stream.read(&mut buffer)? {
//!             0 => connection.receive_eof(),
//!             count => connection.receive(&buffer[..count]),
//!         }
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn Error>> {
//!     let listener = TcpListener::bind("127.0.0.1:0")?;
//!     let address = listener.local_addr()?;
//!     let serve = move || echo(listener.accept().expect("a client").0).is_ok();
//!     let server = std::thread::spawn(serve);
//!
//!     // Real keys and masks come from a random generator: RFC 6455, sections 4.1 and 5.3.
//!     let key = handshake::encode_key([7; handshake::NONCE_BYTES]);
//!     let mut stream = TcpStream::connect(address)?;
//!     stream.write_all(&handshake::request(&address.to_string(), "/", &key, &[]))?;
//!     let (mut head, mut buffer) = (ResponseReader::new(HeadLimits::default()), [0; 4096]);
//!     let response = loop {
//!         let count = stream.read(&mut buffer)?;
//!         match head.receive(&buffer[..count])? {
//!             Some(response) => break response,
//!             None if count == 0 => return Err("the server closed the connection".into()),
//!             None => {}
//!         }
//!     };
//!     handshake::check_response(&response, &key, &[])?;
//!     let role = Role::Client { mask_key: || [1, 2, 3, 4] };
//!     let mut connection = Connection::new(role, Limits::default());
//!     connection.receive(head.rest());
//!     connection.send_text("hello");
//!     let (mut output, mut received) = (Vec::new(), Vec::new());
//!     while !connection.is_finished() {
//!         connection.drain_output(&mut output);
//!         stream.write_all(&output)?;
//!         output.clear();
//!         match stream.read(&mut buffer)? {
//!             0 => connection.receive_eof(),
//!             count => connection.receive(&buffer[..count]),
//!         }
//!         while let Some((event, _)) = connection.next_event_with_sender()? {
//!             received.push(event.to_string());
//!         }
//!         if received.len() == 1 {
//!             connection.close(CloseCode::NORMAL, "finished");
//!         }
//!     }
//!     assert_eq!(received, ["text, 5 bytes, \"hello\"", "close 1000 normal, \"\""]);
//!     assert!(server.join().expect("no panic"));
//!     Ok(())
//! }
//! ```
//!
//! The only extension is permessage-deflate, RFC 7692. It is off unless the caller negotiates it:
//! [`extension`] has the agreement, [`deflate`] the compressed form. Compression lets a few bytes
//! expand to megabytes, so the limit of a message also bounds the inflated bytes. The module never
//! sends fragments, because tickwire's messages are short. It has no clock, so the driver enforces
//! the deadlines of RFC 6455, section 7.1.1. It has no randomness, so the driver supplies a
//! client's masking keys.

pub mod close;
mod close_code;
pub mod connection;
mod defaults;
pub mod deflate;
pub mod extension;
pub mod frame;
pub mod handshake;
mod head_lines;
pub mod http;
pub mod message;
mod response;
pub(crate) mod utf8;
pub mod violation;

pub use close::CloseCode;
pub use connection::{Connection, Event, Role};
pub use http::HeadLimits;
pub use message::Limits;
pub use violation::Violation;

/// The sender of a frame. A client masks all of its frames, a server none (RFC 6455, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that requested the upgrade.
    Client,
    /// The end that accepted the upgrade.
    Server,
}
