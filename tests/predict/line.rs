//! A client with prediction, on a line of given conditions to a whole server, all in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tickwire::client::link::{Keys, Link};
use tickwire::client::player::Player;
use tickwire::game::predict::{LocalWorld, Prediction, Shown};
use tickwire::internal::embedded::{Options, Server, game};
use tickwire::internal::link::Conditions;
use tickwire::packet::{Codes, Decoded, Dialect, Value};

/// Time from one frame of a client's display to the next.
pub const FRAME: Duration = Duration::from_micros(16_667);

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
    pub player: Player<W>,
    pub dialect: Arc<Dialect>,
    pub shown: Option<Shown>,
}

impl<W: LocalWorld> Client<W> {
    pub fn new(server: &mut Server, name: &str, game_name: &str) -> Client<W> {
        let codes =
            Codes::from_texts(game(Some(game_name)).expect("a game").about.tables).expect("good tables");
        let dialect = codes.dialect(name).expect("the dialect");
        let link = Link::new("tab", "/play", true, keys());
        let player = Player::new(link, Arc::clone(&dialect), &[("name", "ann".into())]);
        Client { connection: server.open().expect("a place"), player, dialect, shown: None }
    }

    pub fn prediction(&self) -> &Prediction<W> {
        self.player.prediction()
    }

    /// One frame: takes what has arrived, shows each packet to `see`, and moves on.
    pub fn frame(
        &mut self,
        server: &mut Server,
        now: Duration,
        see: impl FnMut(&Decoded<'_>, &Prediction<W>),
    ) {
        let mut bytes = Vec::new();
        assert!(server.take(self.connection, &mut bytes), "the server closed the connection");
        self.player.receive(&bytes, now, see);
        assert_eq!(self.player.ended(), None);
        self.shown = self.player.advance(now);
        self.flush(server, now);
    }

    /// Sends a command for the tick that is shown.
    pub fn command(&mut self, server: &mut Server, name: &str, values: &[Value], now: Duration) {
        self.player.command(name, values, now).expect("it fits");
        self.flush(server, now);
    }

    fn flush(&mut self, server: &mut Server, now: Duration) {
        let mut bytes = Vec::new();
        self.player.drain_output(&mut bytes);
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
