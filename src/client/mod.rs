//! The library for writing a client or a bot.
//!
//! ```text
//!  socket ──► link ──► message ──► heard ──► picture ──► policy ──► packet ──► link ──► socket
//!             upgrade,             by table  what is     what to               masked
//!             frames                         known       do                    frames
//! ```
//!
//! The modules, in the order of the flow: [`url`] (the target address), [`dial`] (a connected
//! socket), [`link`] (upgrade and frames), [`heard`] (a server's packets, typed, all dialects),
//! [`picture`] (the client's knowledge of the world), [`policy`] (decides what the player does,
//! without knowing packets) and [`play`] (a policy that meets other bots, builds and fights),
//! [`bot`] (all of these together), [`talk`] (a client for tests and tools, which waits for
//! answers; and one for an interactive prompt), [`echo`] (a client that echoes messages).
//!
//! Only `dial`, `talk` and `echo` touch sockets and clocks; the others are values, with time as an argument. Nothing here uses the
//! server's `net`. Checks of a server are in [`testkit`](crate::testkit).
//!
//! # A bot of your own
//!
//! A [`Policy`](policy::Policy) decides; a [`Bot`](bot::Bot) does the rest. The bot's driver moves
//! bytes: after each input it sends the bytes from `drain_output`, and it calls `act` about ten
//! times a second. In this example, the server is a few lines of code; with a socket, connect with
//! [`dial::dial`] and take the keys from [`dial::keys`].
//!
//! ```
//! use std::time::Duration;
//!
//! use tickwire::games::moo::client::bot::{Bot, Stage};
//! use tickwire::client::link::{Keys, Link};
//! use tickwire::games::moo::client::picture::Picture;
//! use tickwire::games::moo::client::policy::{Intent, Policy};
//! use tickwire::packet::{Codes, Direction};
//! use tickwire::ws::conn::{Conn, Event, Role};
//! use tickwire::ws::http::HeadReader;
//! use tickwire::ws::message::Limits;
//! use tickwire::ws::upgrade;
//!
//! /// Walks to the right until it has gone 100 px.
//! struct East(Option<f64>);
//!
//! impl Policy for East {
//!     fn decide(&mut self, picture: &Picture, _now: Duration, intents: &mut Vec<Intent>) {
//!         let Some(me) = picture.own() else { return };
//!         let begin = *self.0.get_or_insert(me.x_px);
//!         intents.push(Intent::Walk((me.x_px < begin + 100.0).then_some(0)));
//!     }
//! }
//!
//! let dialect = Codes::builtin().dialect("native").ok_or("no such dialect")?;
//! let keys = Keys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
//! let link = Link::new("localhost:3000", "/play", true, keys);
//! let mut bot = Bot::new(0, link, dialect.clone(), Box::new(East(None)), Picture::new());
//!
//! // The request leaves, the server's response arrives.
//! let (mut out, mut now) = (Vec::new(), Duration::ZERO);
//! bot.drain_output(&mut out);
//! let request = HeadReader::new().receive(&out)?.ok_or("half a request")?;
//! bot.receive(&upgrade::accept(&request, &["tickwire.v1"])?.response, now);
//!
//! // The bot has sent hello. The server sends it the world and its own player.
//! let mut server = Conn::new(Role::Server, Limits::SERVER);
//! for text in [
//!     r#"["welcome",[1,"0",1,14400,30,30,"0",5]]"#,
//!     r#"["spawned",[9]]"#,
//!     r#"["update",[6,[0,0,65536000,65536000,0,0,0,null],[],[9,"bot 0",3,2000,2000,0]]]"#,
//! ] {
//!     let packet = dialect.decode_json(Direction::ToClient, text)?;
//!     server.send_binary(&dialect.encode(Direction::ToClient, &packet.row.name, &packet.values)?);
//! }
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
//! assert_eq!(said, ["hello", "ping", "move"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bot;
#[cfg(not(target_family = "wasm"))]
pub mod dial;
#[cfg(not(target_family = "wasm"))]
pub mod echo;
pub mod link;
#[cfg(not(target_family = "wasm"))]
pub mod talk;
pub mod url;
