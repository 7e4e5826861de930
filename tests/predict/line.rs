//! A client with prediction, on a line of given conditions to a whole server, all in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tickwire::client::link::{Event, Keys, Link};
use tickwire::game::predict::{LocalWorld, Prediction, Shown};
use tickwire::internal::embedded::{Options, Server, game};
use tickwire::internal::link::Conditions;
use tickwire::packet::{Codes, Decoded, Dialect, Direction, Value};

/// Time from one frame of a client's display to the next.
pub const FRAME: Duration = Duration::from_micros(16_667);
/// Time between two pings, as the page sends them.
const PING: Duration = Duration::from_secs(2);

pub fn keys() -> Keys {
    Keys { upgrade: [7; 16], mask: || [1, 2, 3, 4] }
}

/// 150 ms in each direction, 30 ms more or less, and every 50th segment lost.
pub fn bad() -> Conditions {
    Conditions {
        delay: Duration::from_millis(150),
        jitter: Duration::from_millis(30),
        loss_ppm: 20_000,
        ..Conditions::default()
    }
}

pub fn server(name: &str, seed: u32, bots: usize, net: Conditions) -> Server {
    let game = game(Some(name)).expect("a built-in game");
    let options = Options { game, seed, bots, began_us: 1_000_000, keys, net };
    Server::new(&options, Duration::ZERO).expect("its tables fit")
}

/// One client.
pub struct Client<W: LocalWorld> {
    connection: u32,
    link: Link,
    pub dialect: Arc<Dialect>,
    pub prediction: Prediction<W>,
    pub shown: Option<Shown>,
    sequence: u32,
    last_tick: u32,
    pinged: Duration,
    nonce: u32,
    is_open: bool,
}

impl<W: LocalWorld> Client<W> {
    pub fn new(server: &mut Server, name: &str, game: &str) -> Client<W> {
        let tables = tickwire::internal::embedded::game(Some(game)).expect("a game").about.tables;
        let codes = Codes::from_texts(tables).expect("good tables");
        let dialect = codes.dialect(name).expect("the dialect");
        let link = Link::new("tab", "/play", true, keys());
        Client {
            connection: server.open().expect("a place"),
            link,
            prediction: Prediction::new(&dialect),
            dialect,
            shown: None,
            sequence: 0,
            last_tick: 0,
            pinged: Duration::ZERO,
            nonce: 0,
            is_open: false,
        }
    }

    /// One frame: takes what has arrived, shows each packet to `see`, with the predicted state before and
    /// after it, and moves on.
    pub fn frame(
        &mut self,
        server: &mut Server,
        now: Duration,
        mut see: impl FnMut(&Decoded<'_>, Option<[&W::State; 2]>),
    ) {
        let mut bytes = Vec::new();
        assert!(server.take(self.connection, &mut bytes), "the server closed the connection");
        self.link.receive(&bytes);
        loop {
            match self.link.next_event().expect("good frames") {
                None => break,
                Some(Event::Open) => self.is_open = true,
                Some(Event::Binary(message)) => {
                    let packet = self.dialect.decode(Direction::ToClient, message).expect("a packet");
                    if packet.row.name == "spawned" {
                        (self.sequence, self.last_tick) = (0, 0);
                    }
                    let before = self.prediction.state().cloned();
                    self.prediction.hear(&packet, now);
                    let states = before.as_ref().zip(self.prediction.state());
                    see(&packet, states.map(|(before, after)| [before, after]));
                }
                Some(_) => {}
            }
        }
        if std::mem::take(&mut self.is_open) {
            self.send("hello", &[1.into(), 1.into(), "ann".into()], now);
        }
        if now >= self.pinged + PING && self.prediction.world().is_some() {
            self.pinged = now;
            self.nonce += 1;
            self.send("ping", &[self.nonce.into()], now);
        }
        self.shown = self.prediction.advance(now);
        self.flush(server, now);
    }

    fn send(&mut self, name: &str, values: &[Value], now: Duration) {
        let message = self.dialect.encode(Direction::ToServer, name, values).expect("it fits");
        self.prediction.say(&self.dialect, &message, now).expect("a packet");
        self.link.send_binary(&message);
    }

    /// Sends a command for the tick that is shown.
    pub fn command(&mut self, server: &mut Server, name: &str, values: &[Value], now: Duration) {
        self.sequence += 1;
        let tick = self.prediction.command_tick();
        self.last_tick = self.last_tick.max(tick.unwrap_or(0));
        let tick = tick.map_or(Value::Nil, |_| self.last_tick.into());
        let values: Vec<Value> =
            [self.sequence.into(), tick].into_iter().chain(values.iter().cloned()).collect();
        self.send(name, &values, now);
        self.flush(server, now);
    }

    fn flush(&mut self, server: &mut Server, now: Duration) {
        let mut bytes = Vec::new();
        self.link.drain_output(&mut bytes);
        if !bytes.is_empty() {
            server.receive(self.connection, &bytes, now);
        }
    }
}

/// Runs a server from one frame to the next.
pub fn run_until(server: &mut Server, from: Duration, to: Duration) {
    let mut now = from;
    while now < to {
        now = (now + server.advance(now).max(Duration::from_micros(100))).min(to);
    }
    server.advance(to);
}
