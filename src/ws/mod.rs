//! The WebSocket protocol, RFC 6455, written by hand, without I/O, for both roles.
//!
//! ```text
//!   bytes in                                                    bytes out
//!      │                                                            ▲
//!   http      lines ──► request head           response head ──────►┤   before the upgrade
//!   upgrade   request head ──► 101 or a refusal ───────────────────►┤
//!   ───────────────────────────────────────────────────────────────────────────────
//!   frame     two to fourteen bytes ──► header           header ───►┤   after it
//!   message   headers and payloads ──► whole messages               │
//!   conn      messages ──► events      pong, close answer ─────────►┤
//!      │                                                            │
//!      ▼ events                                  what you send ─────┘
//! ```
//!
//! **The driver's rule**: after each input, drain the outputs. Feed [`connection::Connection`] with `receive`
//! (or `room` and `received`) and `receive_eof`; then call `next_event` until it returns `None`,
//! and empty the send queue with `drain_output`. "Not yet" is `Ok(None)`, never an error. Every
//! error is a [`Violation`]: a rule with its section and its response.
//!
//! Read in this order: [`frame`], [`message`], [`close`], [`connection`], and then the opening handshake:
//! [`http`], [`handshake`].
//!
//! What a peer may send is bounded by [`HeadLimits`] and [`Limits`], which are arguments. The module
//! uses `std`, SHA-1 and base64, and nothing else of this crate.
//!
//! # A server and a client
//!
//! A server that echoes every message, on a blocking socket, and a client of it:
//!
//! ```
//! use std::error::Error;
//! use std::io::{Read, Write};
//! use std::net::{TcpListener, TcpStream};
//!
//! use tickwire::ws::http::{HeadReader, ResponseReader};
//! use tickwire::ws::{CloseCode, Conn, Event, HeadLimits, Limits, Role, handshake};
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
//!     let (mut conn, mut output) = (Conn::new(Role::Server, limits), Vec::new());
//!     conn.receive(head.rest());
//!     loop {
//!         // A broken rule ends this loop too, with a close frame in the output.
//!         while let Ok(Some((event, sending))) = conn.next_with_sending() {
//!             match event {
//!                 Event::Text(text) => sending.text(text),
//!                 Event::Binary(bytes) => sending.binary(bytes),
//!                 _ => {}
//!             }
//!         }
//!         conn.drain_output(&mut output);
//!         stream.write_all(&output)?;
//!         output.clear();
//!         if conn.is_over() {
//!             return Ok(());
//!         }
//!         match stream.read(&mut buffer)? {
//!             0 => conn.receive_eof(),
//!             count => conn.receive(&buffer[..count]),
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
//!     // Real keys and masks come from a random generator: RFC 6455 sections 4.1 and 5.3.
//!     let key = handshake::encode_key([7; handshake::KEY_BYTES]);
//!     let mut stream = TcpStream::connect(address)?;
//!     stream.write_all(&handshake::request(&address.to_string(), "/", &key, &[]))?;
//!     let (mut head, mut buffer) = (ResponseReader::new(HeadLimits::default()), [0; 4096]);
//!     let response = loop {
//!         let count = stream.read(&mut buffer)?;
//!         match head.receive(&buffer[..count])? {
//!             Some(response) => break response,
//!             None if count == 0 => return Err("the server hung up".into()),
//!             None => {}
//!         }
//!     };
//!     handshake::check_response(&response, &key, &[])?;
//!     let mut conn = Conn::new(Role::Client { mask_key: || [1, 2, 3, 4] }, Limits::default());
//!     conn.receive(head.rest());
//!     conn.send_text("hello");
//!     let (mut output, mut heard) = (Vec::new(), Vec::new());
//!     while !conn.is_over() {
//!         conn.drain_output(&mut output);
//!         stream.write_all(&output)?;
//!         output.clear();
//!         match stream.read(&mut buffer)? {
//!             0 => conn.receive_eof(),
//!             count => conn.receive(&buffer[..count]),
//!         }
//!         while let Some((event, _)) = conn.next_with_sending()? {
//!             heard.push(event.to_string());
//!         }
//!         if heard.len() == 1 {
//!             conn.close(CloseCode::NORMAL, "that is all");
//!         }
//!     }
//!     assert_eq!(heard, ["text, 5 bytes, \"hello\"", "close 1000 normal, \"\""]);
//!     assert!(server.join().expect("no panic"));
//!     Ok(())
//! }
//! ```
//!
//! The module has no extensions, and therefore no compression (which would let a few bytes expand
//! to megabytes, and which common versions of Wireshark cannot decompress). It never sends
//! fragments, since our messages are short. It has no clock, so the driver enforces the deadlines
//! of RFC 6455 7.1.1, and no randomness, so the driver supplies a client's masking keys.

pub mod close;
mod close_code;
pub mod connection;
mod defaults;
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

/// The sender of a frame. A client masks all of its frames, a server none (RFC 6455 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that requested the upgrade.
    Client,
    /// The end that accepted it.
    Server,
}
