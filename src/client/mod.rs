//! Clients and bots.
//!
//! A [`BlockingClient`](blocking_client::BlockingClient) sends packets by name and waits for
//! replies on a socket. The documentation of [`Server`](crate::Server) has an example. A
//! [`Bot`](bots::Bot) plays without a socket; the example below explains it.
//!
//! ```text
//!  socket ──► connection ──► message ──► bot ──► agent ──► packet ──► connection ──► socket
//!             upgrade,                by table  decides               masked
//!             frames                                                  frames
//! ```
//!
//! The modules in the order of the flow:
//!
//! - [`url`]: the target address.
//! - [`dial`]: a connected socket.
//! - [`connection`]: upgrade and frames.
//! - [`bots`]: a connection and an [`Agent`](crate::game::bots::Agent), which plays.
//! - [`predicting_client`]: a connection and a [`Prediction`](crate::game::prediction::Prediction),
//!   which simulates the local player before the server's answer.
//! - [`local_worlds`]: the worlds of the built-in games for predictions, with the feature
//!   `built-in-games`.
//! - [`blocking_client`]: a client for tests and tools, which waits for replies.
//! - [`room_list`]: the rooms of a server, with the properties that their games have set.
//!
//! Only `dial`, `blocking_client` and `room_list` use sockets and clocks, and the private modules
//! `stream` and `tls`, which `tickwire connect` uses for `wss://`. The other modules are pure; time
//! is an argument.
//!
//! # Writing a bot
//!
//! An [`Agent`](crate::game::bots::Agent) decides; a [`Bot`](bots::Bot) does the rest. The driver
//! of the bot moves bytes: after each input it sends the bytes from `drain_output`, and it calls
//! `act` about ten times a second. In this example, the server is a few lines of code. With a
//! socket, connect with [`dial::connect`] and take the keys from [`dial::random_keys`].
//!
//! ```
//! use std::time::Duration;
//!
//! use tickwire::client::bots::{Bot, BotStage};
//! use tickwire::client::connection::{ClientConnection, ConnectionKeys};
//! use tickwire::game::bots::{Agent, AgentOutput, ViewStats};
//! use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};
//! use tickwire::ws::http::HeadReader;
//! use tickwire::ws::{Connection, Event, HeadLimits, Limits, Role, handshake};
//!
//! /// Walks to the right.
//! struct East {
//!     dialect: std::sync::Arc<Dialect>,
//!     sequence: u32,
//!     player: Option<u16>,
//! }
//!
//! impl East {
//!     fn send(&self, packet: &str, values: &[Value], out: &mut AgentOutput) {
//!         out.packets.extend(self.dialect.encode(Direction::ToServer, packet, values));
//!     }
//! }
//!
//! impl Agent for East {
//!     fn name(&self) -> &str {
//!         "east"
//!     }
//!     fn on_open(&mut self, out: &mut AgentOutput) {
//!         self.send("hello", &[1.into(), 1.into(), self.name().into()], out);
//!     }
//!     fn on_packet(&mut self, packet: &DecodedPacket<'_>, _: Duration, _: &mut AgentOutput) {
//!         if packet.row.name == "spawned" {
//!             self.player = packet.integer("player");
//!         }
//!     }
//!     fn act(&mut self, _: Duration, out: &mut AgentOutput) {
//!         self.sequence += 1;
//!         self.send("move", &[self.sequence.into(), Value::Nil, 0.into()], out);
//!     }
//!     fn is_playing(&self) -> bool {
//!         self.player.is_some()
//!     }
//!     fn view_stats(&self) -> ViewStats {
//!         ViewStats::default()
//!     }
//! }
//!
//! let dialect = PacketTables::builtin().dialect("native").ok_or("no such dialect")?;
//! let keys = ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
//! let connection = ClientConnection::new("localhost:3000", "/play", true, keys);
//! let agent = East { dialect: dialect.clone(), sequence: 0, player: None };
//! let mut bot = Bot::new(connection, dialect.clone(), agent, ());
//!
//! // Send the request, receive the server's response.
//! let (mut out, mut now) = (Vec::new(), Duration::ZERO);
//! bot.drain_output(&mut out);
//! let request = HeadReader::new(HeadLimits::default()).receive(&out)?.ok_or("half a request")?;
//! bot.receive(&handshake::accept(&request, &["tickwire.v1"])?.response, now);
//!
//! // The bot has sent hello. The server sends the id of the bot's player.
//! let mut server = Connection::new(Role::Server, Limits::default());
//! server.send_binary(&dialect.encode(Direction::ToClient, "spawned", &[9.into()])?);
//! let mut bytes = Vec::new();
//! server.drain_output(&mut bytes);
//! bot.receive(&bytes, now);
//! assert_eq!(bot.stage(), BotStage::Playing);
//!
//! // The bot walks.
//! now += Duration::from_millis(100);
//! bot.act(now);
//! out.clear();
//! bot.drain_output(&mut out);
//! server.receive(&out);
//! let mut received = Vec::new();
//! while let Some(event) = server.next_event()? {
//!     if let Event::Binary(message) = event {
//!         received.push(dialect.decode(Direction::ToServer, message)?.row.name.clone());
//!     }
//! }
//! assert_eq!(received, ["hello", "move"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(not(target_family = "wasm"))]
pub(crate) mod answer;
#[cfg(not(target_family = "wasm"))]
pub mod blocking_client;
pub mod bots;
pub mod client_lane;
pub mod connection;
#[cfg(not(target_family = "wasm"))]
pub mod dial;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod echo;
#[cfg(feature = "built-in-games")]
pub mod local_worlds;
pub mod lockstep_follower;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod outgoing;
pub mod predicting_client;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod recv_buffer;
#[cfg(not(target_family = "wasm"))]
pub mod room_list;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod stream;
#[cfg(not(target_family = "wasm"))]
#[cfg_attr(not(feature = "tls"), path = "no_tls.rs")]
pub(crate) mod tls;
pub mod url;
