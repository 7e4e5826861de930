//! One client of the game: the bytes that it sends, and the messages that it receives.
//!
//! The input is bytes, or arguments that are framed first, and published ticks. The results are
//! commands for the world. Every message to the client is decoded in its dialect.

use std::sync::Arc;
use std::time::Duration;

use tickwire::connection::{
    Answer, ClientRequest, ConnectionOutput, DisconnectReason, ReadTime, RoomInfo, ServerConnection,
    WireFormat,
};
use tickwire::game::{Game as _, Messages, Published, View as _};
use tickwire::games::moo::world::{Action, Command, Identity, PlayerId, TickHz};
use tickwire::games::moo::{Moo, MooScratch, MooView};
use tickwire::limits;
use tickwire::packet::{Dialect, Direction, msgpack};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::message::{Message, MessageReader};

/// What a client's bytes lead to.
#[derive(Default)]
pub struct Asked {
    pub commands: Vec<(Command, Option<u32>)>,
    pub of_operator: Vec<Action>,
}

/// See the [module](self).
pub struct Client {
    format: WireFormat,
    connection: ServerConnection,
    player: Option<PlayerId>,
    /// Nothing more is heard of it.
    is_over: bool,
    spectated: Option<PlayerId>,
    view: MooView,
    scratch: MooScratch,
}

impl Client {
    pub fn new(dialect: Arc<Dialect>, is_json: bool, now: Duration) -> Client {
        let format = WireFormat::new(dialect, is_json);
        Client {
            view: MooView::new(&format.dialect),
            connection: ServerConnection::new(format.clone(), room(), now),
            format,
            player: None,
            is_over: false,
            spectated: None,
            scratch: MooScratch::default(),
        }
    }

    /// Another one of the same dialect in its place.
    pub fn begin_again(&mut self, now: Duration) {
        *self = Client::new(Arc::clone(&self.format.dialect), self.format.is_json, now);
    }

    pub fn player(&self) -> Option<PlayerId> {
        self.player
    }

    /// Gives its body back, if it has one.
    pub fn leave(&mut self) -> Option<PlayerId> {
        self.player.take()
    }

    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the session remembers comes back.
    pub fn remembers(&self, now: Duration) {
        let saved = self.connection.save(now);
        let (format, room) = (self.format.clone(), room());
        let again = ServerConnection::restore(format, room, &saved, now).expect("what was saved");
        assert_eq!(again.save(now), saved);
    }

    /// A message in a frame of the client's.
    pub fn framed(&self, payload: &[u8]) -> Vec<u8> {
        let opcode = if self.format.is_json { Opcode::Text } else { Opcode::Binary };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, Some([0; 4]), payload);
        bytes
    }

    /// A packet of the dialect, chosen by its row, with these arguments as they are.
    pub fn packet(&self, row: u8, arguments: &[u8]) -> Vec<u8> {
        let names: Vec<&str> =
            self.format.dialect.rows(Direction::ToServer).map(|row| row.name.as_str()).collect();
        let name = names[usize::from(row) % names.len()];
        if self.format.is_json {
            let arguments = String::from_utf8_lossy(arguments);
            return self.framed(format!("[\"{name}\",[{arguments}]]").as_bytes());
        }
        let mut payload =
            self.format.dialect.prefix(Direction::ToServer, name).expect("its own row").0.to_vec();
        payload.extend_from_slice(arguments);
        self.framed(&payload)
    }

    /// The same with whole numbers as arguments: most packets are that.
    pub fn packet_of_numbers(&self, row: u8, numbers: &[u8]) -> Vec<u8> {
        if self.format.is_json {
            let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
            return self.packet(row, numbers.join(",").as_bytes());
        }
        let mut arguments = Vec::new();
        msgpack::write_array_len(&mut arguments, numbers.len());
        numbers.iter().for_each(|number| msgpack::write_uint(&mut arguments, u64::from(*number)));
        self.packet(row, &arguments)
    }

    /// Hears bytes as a server does. `players` is the last number given to a body.
    pub fn hear(&mut self, bytes: &[u8], now: Duration, tick: u32, players: &mut u16) -> Asked {
        let mut asked = Asked::default();
        if self.is_over {
            return asked;
        }
        let mut server = Server {
            asked: &mut asked,
            players,
            spectated: &mut self.spectated,
            player: &mut self.player,
            said: Vec::new(),
        };
        self.connection.receive(bytes, ReadTime { now, tick, slack: Duration::ZERO });
        let reason = server.drain(&mut self.connection).err();
        let mut said = server.said;
        if let Some(reason) = reason {
            self.is_over = true;
            said.extend(reason.frames(&self.format));
        }
        are_of_the_dialect(&self.format, &said);
        asked
    }

    /// Is told of a published tick.
    pub fn be_told(&mut self, published: &Published<Moo>) {
        if self.is_over || self.connection.awaits_hello() {
            return;
        }
        let mut messages = Messages::default();
        self.view.set_subject(self.player, self.spectated);
        self.view.update(&[], published, false, &self.format.dialect, &mut self.scratch, &mut messages);
        for message in messages.iter() {
            if let Err(error) = self.format.dialect.decode(Direction::ToClient, message) {
                panic!("{error}: {message:02x?}");
            }
        }
    }
}

fn room() -> RoomInfo {
    let identity = Identity { seed: 4, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    RoomInfo { game: Moo::INFO, epoch: "0".to_owned(), identity, update_hz: 30 }
}

/// What a server does for the client.
struct Server<'a> {
    asked: &'a mut Asked,
    players: &'a mut u16,
    spectated: &'a mut Option<PlayerId>,
    player: &'a mut Option<PlayerId>,
    said: Vec<u8>,
}

impl Server<'_> {
    /// Executes the outputs of the last input.
    fn drain(&mut self, connection: &mut ServerConnection) -> Result<(), DisconnectReason> {
        while let Some(output) = connection.next_output()? {
            let answer = match output {
                ConnectionOutput::Send(frames) => {
                    self.said.extend_from_slice(frames);
                    None
                }
                ConnectionOutput::Request(request) => self.execute(request),
                ConnectionOutput::Datagram(_)
                | ConnectionOutput::Observed { .. }
                | ConnectionOutput::Event(_) => None,
            };
            if let Some(answer) = answer {
                connection.answer(answer);
            }
        }
        Ok(())
    }

    fn execute(&mut self, request: ClientRequest) -> Option<Answer> {
        match request {
            ClientRequest::Authenticate => return Some(Answer::Authenticated(Ok(()))),
            ClientRequest::Lockstep => return Some(Answer::LockstepChecked(Ok(()))),
            ClientRequest::Join { profile, .. } => {
                *self.players += 1;
                let player = PlayerId(*self.players);
                *self.player = Some(player);
                self.asked.of_operator.extend(Moo::join(player, &profile));
                return Some(Answer::Joined(Ok(player)));
            }
            ClientRequest::Command { command, target_tick, .. } => {
                let command = command.decoded().expect("an action of the game");
                self.asked.commands.push((command, target_tick));
                return Some(Answer::CommandQueued(Ok(())));
            }
            ClientRequest::Spectate(player) => *self.spectated = player,
            _ => {}
        }
        None
    }
}

/// Each frame that the server sends is one that a client of the dialect understands.
fn are_of_the_dialect(format: &WireFormat, frames: &[u8]) {
    let mut reader = MessageReader::new(Side::Server, limits::SERVER_MESSAGE_LIMITS);
    reader.receive(frames);
    while let Some(message) = reader.next_message().expect("our own frames") {
        let decoded = match message {
            Message::Binary(message) => format.dialect.decode(Direction::ToClient, message),
            Message::Text(text) => format.dialect.decode_json(Direction::ToClient, text),
            _ => continue,
        };
        if let Err(error) = decoded {
            panic!("{error}: {message:02x?}");
        }
    }
    assert!(reader.is_between_messages(), "half a frame");
}
