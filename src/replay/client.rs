//! One client of a capture: passes its bytes to a [`Receiver`], as the server did.
//!
//! The input is the pieces of the client's side in order, each with its time, its tick and the
//! player of a join that the server granted then, and the saved receiver from the capture, if any.
//! The output is [`Said`] commands, and the server's answers. The replayed client ends for the same
//! reason as on the server; later bytes are ignored.

use std::time::Duration;

use super::answers::{self, Answers, Differing};
use crate::capture::Connection;
use crate::peer::receiver::{At, Denied, RoomFacts};
use crate::peer::{Driver, Endpoint, Receiver};
use crate::session::Profile;
use crate::world::{Command, PlayerId};
use crate::ws::http::{HeadReader, RequestHead};

/// A command that a client asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The command.
    pub command: Command,
    /// The number of the packet that completed it.
    pub packet: usize,
}

/// One piece of a client's bytes.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The number of their packet.
    pub packet: usize,
    /// When they were read.
    pub at: At,
    /// The player of a join that the server granted for these bytes.
    pub joins: Option<PlayerId>,
}

/// See the [module](self).
pub struct Client<'a> {
    find: &'a dyn Fn(&RequestHead) -> Option<Endpoint>,
    room: RoomFacts,
    endpoint: Option<Endpoint>,
    state: State,
    said: Vec<Said>,
    answers: Answers,
    /// The sequence of its last command before the capture.
    pub before: u64,
}

enum State {
    Head(HeadReader),
    Open(Box<Receiver>),
    Over,
}

impl<'a> Client<'a> {
    /// A client of this room that has sent nothing. `find` returns what a request asks for.
    pub fn new(find: &'a dyn Fn(&RequestHead) -> Option<Endpoint>, room: RoomFacts) -> Client<'a> {
        let state = State::Head(HeadReader::new());
        Client { find, room, endpoint: None, state, said: Vec::new(), answers: Answers::default(), before: 0 }
    }

    /// Restores a saved receiver. Returns whether it is valid. Answers before it are not known.
    pub fn resume(&mut self, saved: &[u8], now: Duration, packet: usize) -> bool {
        let Some(endpoint) = self.endpoint.clone() else { return false };
        let Some(receiver) = Receiver::restore(endpoint, self.room.clone(), saved, now) else {
            return false;
        };
        self.before = receiver.sequence();
        self.answers = Answers::from_packet(packet);
        self.state = State::Open(Box::new(receiver));
        true
    }

    /// Hears one piece.
    pub fn hear(&mut self, heard: Heard<'_>, connection: &Connection<'_>) {
        let mut rest = None;
        if let State::Head(reader) = &mut self.state {
            match reader.receive(heard.bytes) {
                Ok(None) => return,
                Ok(Some(head)) => {
                    rest = Some(reader.rest().to_vec());
                    self.begin(&head, heard, connection);
                }
                Err(_) => self.state = State::Over,
            }
        }
        let (State::Open(receiver), Some(endpoint)) = (&mut self.state, &self.endpoint) else { return };
        let bytes = rest.as_deref().unwrap_or(heard.bytes);
        let mut asked = Asked { heard, said: &mut self.said, answers: &mut self.answers };
        if let Err(ending) = receiver.receive(bytes, heard.at, &mut asked) {
            self.answers.add(heard.packet, &ending.frames(endpoint));
            self.state = State::Over;
        }
    }

    fn begin(&mut self, head: &RequestHead, heard: Heard<'_>, connection: &Connection<'_>) {
        let Some(endpoint) = (self.find)(head) else {
            self.state = State::Over;
            return;
        };
        let number = answers::learn(connection, &endpoint, &mut self.room);
        let mut receiver = Receiver::new(endpoint.clone(), self.room.clone(), heard.at.now);
        let mut asked = Asked { heard, said: &mut self.said, answers: &mut self.answers };
        receiver.begin(number, &mut asked);
        (self.state, self.endpoint) = (State::Open(Box::new(receiver)), Some(endpoint));
    }

    /// The client's commands, and the comparison of the server's answers.
    pub fn finish(self, connection: &Connection<'_>) -> (Vec<Said>, (usize, Option<Differing>)) {
        let compared = self.endpoint.map(|endpoint| self.answers.compare(connection, &endpoint));
        (self.said, compared.unwrap_or_default())
    }
}

/// What the client's bytes ask for, as the recording grants it.
struct Asked<'a> {
    heard: Heard<'a>,
    said: &'a mut Vec<Said>,
    answers: &'a mut Answers,
}

impl Driver for Asked<'_> {
    fn answer(&mut self, frames: &[u8]) {
        self.answers.add(self.heard.packet, frames);
    }

    fn follow(&mut self) {}

    /// A join that the server rejected leaves the client watching, and the recording has the answer.
    fn join(&mut self, _profile: Profile) -> Result<PlayerId, Denied> {
        self.heard.joins.ok_or(Denied::Unanswered)
    }

    fn command(&mut self, command: Command, _intended: Option<u32>) -> Result<(), Denied> {
        self.said.push(Said { command, packet: self.heard.packet });
        Ok(())
    }

    fn watch(&mut self, _player: Option<PlayerId>) {}
}
