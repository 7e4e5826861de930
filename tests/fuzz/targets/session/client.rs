//! One client of the game: what it sends, as a server hears it, and what it is told.
//!
//! Comes in: bytes, or arguments that are framed first; published ticks. Goes out: commands, for the world and for the operator.
//! Everything that it is told is decoded in its dialect.

use std::sync::Arc;
use std::time::Duration;

use tickwire::feed::view::Layout;
use tickwire::feed::{Messages, Published, Scratch, View};
use tickwire::packet::{ClientPacket, Decoded, Dialect, Direction, PacketError, msgpack};
use tickwire::session::{Output, Session};
use tickwire::world::{Action, Command, PlayerId, Resource};
use tickwire::ws::conn::{Conn, Event, Role};
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::message::Limits;

/// What a client's bytes lead to.
#[derive(Default)]
pub struct Asked {
    pub commands: Vec<(Command, Option<u32>)>,
    pub of_operator: Vec<Action>,
}

/// See the [module](self).
pub struct Client {
    dialect: Arc<Dialect>,
    is_json: bool,
    conn: Conn,
    session: Session,
    player: Option<PlayerId>,
    /// Nothing more is heard of it.
    is_over: bool,
    wish: Option<PlayerId>,
    view: View,
    scratch: Scratch,
}

impl Client {
    pub fn new(dialect: Arc<Dialect>, is_json: bool, now: Duration) -> Client {
        let is_native = dialect.name() == "native";
        Client {
            view: View::new(if is_native { Layout::Native } else { Layout::Moomoo }),
            session: Session::new(is_native, now),
            conn: Conn::new(Role::Server, Limits::SERVER),
            player: None,
            is_over: false,
            wish: None,
            scratch: Scratch::default(),
            dialect,
            is_json,
        }
    }

    /// Another one of the same dialect in its place.
    pub fn begin_again(&mut self, now: Duration) {
        *self = Client::new(Arc::clone(&self.dialect), self.is_json, now);
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
        let saved = self.session.save(now);
        let again = Session::restore(&saved, now).expect("what was saved");
        assert_eq!(again.save(now), saved);
    }

    /// A message in a frame of the client's.
    pub fn framed(&self, payload: &[u8]) -> Vec<u8> {
        let opcode = if self.is_json { Opcode::Text } else { Opcode::Binary };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, Some([0; 4]), payload);
        bytes
    }

    /// A packet of the dialect, chosen by its row, with these arguments as they are.
    pub fn packet(&self, row: u8, arguments: &[u8]) -> Vec<u8> {
        let names: Vec<&str> = self.dialect.rows(Direction::ToServer).map(|row| row.name.as_str()).collect();
        let name = names[usize::from(row) % names.len()];
        if self.is_json {
            let arguments = String::from_utf8_lossy(arguments);
            return self.framed(format!("[\"{name}\",[{arguments}]]").as_bytes());
        }
        let mut payload = self.dialect.prefix(Direction::ToServer, name).expect("its own row").to_vec();
        payload.extend_from_slice(arguments);
        self.framed(&payload)
    }

    /// The same with whole numbers as arguments: most packets are that.
    pub fn packet_of_numbers(&self, row: u8, numbers: &[u8]) -> Vec<u8> {
        if self.is_json {
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
        if self.is_over || self.session.spend_bytes(bytes.len(), now).is_err() {
            self.is_over = true;
            return asked;
        }
        self.conn.receive(bytes);
        let mut outputs = Vec::new();
        while !self.is_over {
            let event = match self.conn.next_event() {
                Ok(None) => break,
                Ok(Some(event)) if self.session.spend_message(now).is_ok() => event,
                Ok(Some(_)) | Err(_) => {
                    self.is_over = true;
                    break;
                }
            };
            let decoded = match event {
                Event::Binary(message) if !self.is_json => self.dialect.decode(Direction::ToServer, message),
                Event::Text(text) if self.is_json => self.dialect.decode_json(Direction::ToServer, text),
                Event::Ping(_) | Event::Pong(_) => continue,
                _ => {
                    self.is_over = true;
                    break;
                }
            };
            self.is_over = decoded_leads_to(&mut self.session, decoded, now, tick, &mut outputs);
            for output in outputs.drain(..) {
                carry_out(output, &self.dialect, &mut self.session, &mut self.wish, players, &mut asked);
            }
            self.player = self.session.player();
        }
        self.conn.drain_output(&mut Vec::new());
        asked
    }

    /// Is told of a published tick.
    pub fn be_told(&mut self, published: &Published) {
        if self.is_over || self.session.awaits_hello() {
            return;
        }
        let mut messages = Messages::default();
        self.view.follow(self.player, self.wish);
        if self.view.is_due(published) {
            self.view.turn(published, &self.dialect, &mut self.scratch, &mut messages);
        }
        self.view.events(published, &self.dialect, &mut self.scratch, &mut messages);
        for message in messages.iter() {
            is_of_the_dialect(&self.dialect, message);
        }
    }
}

/// Whether it ends there.
fn decoded_leads_to(
    session: &mut Session,
    decoded: Result<Decoded<'_>, PacketError>,
    now: Duration,
    tick: u32,
    outputs: &mut Vec<Output>,
) -> bool {
    match decoded {
        Ok(decoded) => session.handle(ClientPacket::from_decoded(&decoded), now, tick, outputs).is_err(),
        Err(error) => error.closes() || session.awaits_hello(),
    }
}

fn carry_out(
    output: Output,
    dialect: &Dialect,
    session: &mut Session,
    wish: &mut Option<PlayerId>,
    players: &mut u16,
    asked: &mut Asked,
) {
    match output {
        Output::Reply(packet) => {
            let bytes = packet.encode(dialect);
            if !bytes.is_empty() {
                is_of_the_dialect(dialect, &bytes);
            }
        }
        Output::Join { name, skin, gift } => {
            *players += 1;
            let player = PlayerId(*players);
            session.joined(player);
            asked.of_operator.push(Action::Join { player, name, skin });
            let gifts = Resource::ALL.into_iter().filter(|_| gift);
            asked.of_operator.extend(gifts.map(|resource| Action::Grant { player, resource, amount: 100 }));
        }
        Output::Command(command, tick) => asked.commands.push((command, tick)),
        Output::Watch(player) => *wish = player,
        Output::Welcome | Output::Dropped(_) => {}
    }
}

/// What the server says, a client of the dialect understands.
fn is_of_the_dialect(dialect: &Dialect, message: &[u8]) {
    if let Err(error) = dialect.decode(Direction::ToClient, message) {
        panic!("{error}: {message:02x?}");
    }
}
