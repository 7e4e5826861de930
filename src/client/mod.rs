//! Clients and bots.
//!
//! To send packets by name and wait for answers, on a socket, use [`Talk`](blocking_client::BlockingClient); the page of
//! [`Server`](crate::Server) has an example. To let a bot play, or to move the bytes yourself, use
//! [`Bot`](bots::Bot), which is explained below.
//!
//! ```text
//!  socket ──► link ──► message ──► bot ──► agent ──► packet ──► link ──► socket
//!             upgrade,             by table  decides            masked
//!             frames                                            frames
//! ```
//!
//! The modules, in the order of the flow: [`url`] (the target address), [`dial`] (a connected
//! socket), [`connection`] (upgrade and frames), [`bots`] (a link and an
//! [`Agent`](crate::game::bots::Agent), which plays), [`predicting_client`] (a link and a
//! [`Prediction`](crate::game::prediction::Prediction): a client whose own player is ahead of the server),
//! [`local_worlds`] (the worlds of the built-in games for it), [`blocking_client`] (a client for tests and tools, which
//! waits for answers).
//!
//! Only `dial` and `talk` touch sockets and clocks; the others are values, with time as an argument.
//!
//! # A bot of your own
//!
//! An [`Agent`](crate::game::bots::Agent) decides; a [`Bot`](bots::Bot) does the rest. The bot's
//! driver moves bytes: after each input it sends the bytes from `drain_output`, and it calls `act`
//! about ten times a second. In this example, the server is a few lines of code; with a socket,
//! connect with [`dial::dial`] and take the keys from [`dial::keys`].
//!
//! ```
//! use std::time::Duration;
//!
//! use tickwire::client::bots::{Bot, Stage};
//! use tickwire::client::connection::{Keys, Link};
//! use tickwire::game::bots::{Agent, Outcome, Sight};
//! use tickwire::packet::{Codes, Decoded, Dialect, Direction, Value};
//! use tickwire::ws::http::HeadReader;
//! use tickwire::ws::{Conn, Event, HeadLimits, Limits, Role, handshake};
//!
//! /// Walks to the right.
//! struct East {
//!     dialect: std::sync::Arc<Dialect>,
//!     sequence: u32,
//!     player: Option<u16>,
//! }
//!
//! impl East {
//!     fn say(&self, packet: &str, values: &[Value], out: &mut Outcome) {
//!         out.packets.extend(self.dialect.encode(Direction::ToServer, packet, values));
//!     }
//! }
//!
//! impl Agent for East {
//!     fn name(&self) -> &str {
//!         "east"
//!     }
//!     fn begin(&mut self, out: &mut Outcome) {
//!         self.say("hello", &[1.into(), 1.into(), self.name().into()], out);
//!     }
//!     fn hear(&mut self, packet: &Decoded<'_>, _: Duration, _: &mut Outcome) {
//!         if packet.row.name == "spawned" {
//!             self.player = packet.number("player");
//!         }
//!     }
//!     fn act(&mut self, _: Duration, out: &mut Outcome) {
//!         self.sequence += 1;
//!         self.say("move", &[self.sequence.into(), Value::Nil, 0.into()], out);
//!     }
//!     fn is_playing(&self) -> bool {
//!         self.player.is_some()
//!     }
//!     fn sight(&self) -> Sight {
//!         Sight::default()
//!     }
//! }
//!
//! let dialect = Codes::builtin().dialect("native").ok_or("no such dialect")?;
//! let keys = Keys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
//! let link = Link::new("localhost:3000", "/play", true, keys);
//! let agent = East { dialect: dialect.clone(), sequence: 0, player: None };
//! let mut bot = Bot::new(link, dialect.clone(), agent, ());
//!
//! // The request leaves, the server's response arrives.
//! let (mut out, mut now) = (Vec::new(), Duration::ZERO);
//! bot.drain_output(&mut out);
//! let request = HeadReader::new(HeadLimits::default()).receive(&out)?.ok_or("half a request")?;
//! bot.receive(&handshake::accept(&request, &["tickwire.v1"])?.response, now);
//!
//! // The bot has sent hello. The server sends it its own player.
//! let mut server = Conn::new(Role::Server, Limits::default());
//! server.send_binary(&dialect.encode(Direction::ToClient, "spawned", &[9.into()])?);
//! let mut bytes = Vec::new();
//! server.drain_output(&mut bytes);
//! bot.receive(&bytes, now);
//! assert_eq!(bot.stage(), Stage::Playing);
//!
//! // The bot walks.
//! now += Duration::from_millis(100);
//! bot.act(now);
//! out.clear();
//! bot.drain_output(&mut out);
//! server.receive(&out);
//! let mut said = Vec::new();
//! while let Some(event) = server.next_event()? {
//!     if let Event::Binary(message) = event {
//!         said.push(dialect.decode(Direction::ToServer, message)?.row.name.clone());
//!     }
//! }
//! assert_eq!(said, ["hello", "move"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(not(target_family = "wasm"))]
pub(crate) mod answer;
#[cfg(not(target_family = "wasm"))]
pub mod blocking_client;
pub mod bots;
pub mod connection;
#[cfg(not(target_family = "wasm"))]
pub mod dial;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod echo;
pub mod local_worlds;
pub mod lockstep_follower;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod outgoing;
pub mod predicting_client;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod room_list;
pub mod url;
