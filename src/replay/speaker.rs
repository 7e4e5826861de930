//! One client of a capture: decodes its bytes to commands, with the same code as the server.
//!
//! ```text
//!   pieces ─► head ─► endpoint ─► frames ─► messages ─► packets ─► session ─► commands
//! ```
//!
//! The input is the pieces of the client's side in order, each with its time and the player of a
//! join that the server granted then, and the saved session from the capture, if any. The output is
//! [`Said`] commands. A broken rule or a spent budget ends the client here as it did on the server;
//! later bytes are ignored.

use std::time::Duration;

use super::Spoken;
use crate::packet::{ClientPacket, Direction, PacketError};
use crate::session::{Output, Session};
use crate::world::{Command, PlayerId};
use crate::ws::conn::{Conn, Event, Role};
use crate::ws::http::{HeadReader, RequestHead};
use crate::ws::message::Limits;

/// A command that a client asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The command.
    pub command: Command,
    /// The number of the packet that completed it.
    pub packet: usize,
}

/// See the [module](self).
pub struct Speaker<'a> {
    find: &'a dyn Fn(&RequestHead) -> Option<Spoken>,
    state: State,
    /// Bytes to come that were counted before.
    counted: usize,
    said: Vec<Said>,
    /// The sequence of its last command before the capture.
    before: u64,
}

enum State {
    Head(HeadReader),
    Talking(Box<Talking>),
    Over,
}

struct Talking {
    spoken: Spoken,
    conn: Conn,
    session: Session,
}

/// The client is finished; later bytes are ignored.
struct End;

impl<'a> Speaker<'a> {
    /// A client that has sent nothing. `find` returns what a request asks for.
    pub fn new(find: &'a dyn Fn(&RequestHead) -> Option<Spoken>) -> Speaker<'a> {
        let state = State::Head(HeadReader::new());
        Speaker { find, state, counted: 0, said: Vec::new(), before: 0 }
    }

    /// The client's commands, and the sequence of its last command before the capture.
    pub fn finish(self) -> (Vec<Said>, u64) {
        (self.said, self.before)
    }

    /// Restores a saved session; `unfinished` of the next bytes were counted already. Returns
    /// whether the state is valid.
    pub fn resume(&mut self, session: &[u8], unfinished: usize, now: Duration) -> bool {
        let (State::Talking(talking), Some(session)) = (&mut self.state, Session::restore(session, now))
        else {
            return false;
        };
        self.before = session.sequence();
        talking.session = session;
        talking.conn = Conn::new(Role::Server, Limits::SERVER);
        self.counted = unfinished;
        true
    }

    /// Reads the bytes of one packet. `joins` is the player of a join that the server granted for
    /// these bytes.
    pub fn hear(&mut self, bytes: &[u8], packet: usize, joins: Option<PlayerId>, now: Duration) {
        let mut rest = None;
        if let State::Head(reader) = &mut self.state {
            match reader.receive(bytes) {
                Ok(None) => return,
                Ok(Some(head)) => {
                    rest = Some(reader.rest().to_vec());
                    self.state = match (self.find)(&head) {
                        None => State::Over,
                        Some(spoken) => {
                            let session = Session::new(spoken.is_native, now);
                            let conn = Conn::new(Role::Server, Limits::SERVER);
                            State::Talking(Box::new(Talking { spoken, conn, session }))
                        }
                    };
                }
                Err(_) => self.state = State::Over,
            }
        }
        let State::Talking(talking) = &mut self.state else { return };
        let bytes = rest.as_deref().unwrap_or(bytes);
        let counted = self.counted.min(bytes.len());
        self.counted -= counted;
        let mut hearing = Hearing { packet, now, joins, said: &mut self.said };
        if hearing.hear(talking, bytes, counted).is_err() {
            self.state = State::Over;
        }
    }
}

/// The work on one packet.
struct Hearing<'a> {
    packet: usize,
    now: Duration,
    joins: Option<PlayerId>,
    said: &'a mut Vec<Said>,
}

impl Hearing<'_> {
    /// Works as the client's thread on a server does.
    fn hear(&mut self, talking: &mut Talking, bytes: &[u8], counted: usize) -> Result<(), End> {
        let Talking { spoken, conn, session } = talking;
        session.spend_bytes(bytes.len() - counted, self.now).map_err(|_| End)?;
        conn.receive(bytes);
        while let Some(event) = conn.next_event().map_err(|_| End)? {
            session.spend_message(self.now).map_err(|_| End)?;
            let decoded = match event {
                Event::Binary(message) if !spoken.is_json => {
                    spoken.dialect.decode(Direction::ToServer, message)
                }
                Event::Text(text) if spoken.is_json => spoken.dialect.decode_json(Direction::ToServer, text),
                Event::Ping(_) | Event::Pong(_) => continue,
                Event::Binary(_) | Event::Text(_) | Event::Close { .. } | Event::Eof { .. } => {
                    return Err(End);
                }
            };
            match decoded {
                Ok(decoded) => self.packet(session, ClientPacket::from_decoded(&decoded))?,
                Err(error) => unusable(session, &error)?,
            }
        }
        let mut answers = Vec::new();
        conn.drain_output(&mut answers);
        Ok(())
    }

    fn packet(&mut self, session: &mut Session, packet: ClientPacket<'_>) -> Result<(), End> {
        let mut outputs = Vec::new();
        // The tick is used only in answers, which are discarded here.
        let handled = session.handle(packet, self.now, 0, &mut outputs);
        for output in outputs {
            match output {
                // A join that was rejected leaves the client watching.
                Output::Join { .. } => {
                    if let Some(player) = self.joins {
                        session.joined(player);
                    }
                }
                Output::Command(command, _) => self.said.push(Said { command, packet: self.packet }),
                Output::Welcome | Output::Reply(_) | Output::Watch(_) | Output::Dropped(_) => {}
            }
        }
        handled.map_err(|_| End)
    }
}

/// A broken packet closes; a wrong one is dropped, unless it takes the place of a hello.
fn unusable(session: &Session, error: &PacketError) -> Result<(), End> {
    if error.closes() || session.awaits_hello() { Err(End) } else { Ok(()) }
}
