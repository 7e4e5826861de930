//! A client with prediction, on a line of given conditions to a whole server, all in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tickwire::client::connection::{ClientConnection, ConnectionKeys};
use tickwire::client::predicting_client::PredictingClient;
use tickwire::game::prediction::{LocalWorld, Prediction, RenderedState};
use tickwire::internal::server::embedded::{EmbeddedServer, Options, game};
use tickwire::internal::util::netem::Conditions;
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

/// Time from one frame of a client's display to the next.
pub const FRAME: Duration = Duration::from_micros(16_667);

pub fn keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] }
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

pub fn server(name: &str, seed: u32, bots: usize, net: Conditions) -> EmbeddedServer {
    let game = game(Some(name)).expect("a built-in game");
    let options = Options { game, seed, bots, began_us: 1_000_000, keys, net, resume_time: Duration::ZERO };
    EmbeddedServer::new(&options, Duration::ZERO).expect("its tables fit")
}

/// What one update corrected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corrected {
    /// The update's tick; `None` if news between two updates moved the player.
    pub tick: Option<u32>,
    pub at: Duration,
    pub px: f64,
}

/// One client.
pub struct Client<W: LocalWorld> {
    connection: u32,
    pub player: PredictingClient<W>,
    pub dialect: Arc<Dialect>,
    /// Whether datagrams are carried.
    pub is_lane_up: bool,
    pub shown: Option<RenderedState>,
    /// Each comparison with the server's word, whether it moved the player or not.
    pub corrected: Vec<Corrected>,
    compared: u64,
}

impl<W: LocalWorld> Client<W> {
    pub fn new(server: &mut EmbeddedServer, name: &str, game_name: &str) -> Client<W> {
        let codes = PacketTables::from_texts(game(Some(game_name)).expect("a game").info.tables)
            .expect("good tables");
        let dialect = codes.dialect(name).expect("the dialect");
        let link = ClientConnection::new("tab", "/play", true, keys());
        let player = PredictingClient::new(link, Arc::clone(&dialect), &[("name", "ann".into())]);
        let connection = server.open().expect("a place");
        Client {
            connection,
            player,
            dialect,
            is_lane_up: true,
            shown: None,
            corrected: Vec::new(),
            compared: 0,
        }
    }

    /// The client requests a lane.
    pub fn with_lane(mut self) -> Client<W> {
        self.player.use_lane();
        self
    }

    pub fn prediction(&self) -> &Prediction<W> {
        self.player.prediction()
    }

    /// One frame: takes what has arrived, shows each packet to `see`, and moves on.
    pub fn frame(
        &mut self,
        server: &mut EmbeddedServer,
        now: Duration,
        mut see: impl FnMut(&DecodedPacket<'_>, &Prediction<W>),
    ) {
        let mut bytes = Vec::new();
        assert!(server.take(self.connection, &mut bytes), "the server closed the connection");
        let (list, compared) = (&mut self.corrected, &mut self.compared);
        let mut note = |prediction: &Prediction<W>, tick| {
            let corrections = prediction.corrections();
            let new = corrections.compared - std::mem::replace(compared, corrections.compared);
            assert!(new <= 1, "{new} comparisons at once: all but one would be lost");
            let px = f64::from(corrections.last()) / 65_536.0;
            list.extend((new > 0).then_some(Corrected { tick, at: now, px }));
        };
        self.player.receive(&bytes, now, |packet, prediction| {
            note(prediction, packet.integer("tick"));
            see(packet, prediction);
        });
        assert_eq!(self.player.ended(), None);
        while let Some(datagram) = server.take_datagram(self.connection) {
            if !self.is_lane_up {
                continue;
            }
            self.player.receive_datagram(&datagram, now, |packet, prediction| {
                note(prediction, packet.integer("tick"));
                see(packet, prediction);
            });
        }
        self.shown = self.player.advance(now);
        note(self.player.prediction(), None);
        self.flush(server, now);
    }

    /// Sends a command for the tick that is shown.
    pub fn command(&mut self, server: &mut EmbeddedServer, name: &str, values: &[Value], now: Duration) {
        self.player.command(name, values, now).expect("it fits");
        self.flush(server, now);
    }

    fn flush(&mut self, server: &mut EmbeddedServer, now: Duration) {
        let mut bytes = Vec::new();
        self.player.drain_output(&mut bytes);
        if !bytes.is_empty() {
            server.receive(self.connection, &bytes, now);
        }
        for datagram in self.player.drain_datagrams().into_iter().filter(|_| self.is_lane_up) {
            server.receive_datagram(self.connection, datagram, now);
        }
    }
}

/// Runs a server from one frame to the next.
pub fn run_until(server: &mut EmbeddedServer, from: Duration, to: Duration) {
    let mut now = from;
    while now < to {
        now = (now + server.advance(now).max(Duration::from_micros(100))).min(to);
    }
    server.advance(to);
}

/// Runs a server and its clients for some seconds; `act` is called in every frame before theirs.
pub fn play<W: LocalWorld>(
    server: &mut EmbeddedServer,
    players: &mut [Client<W>],
    now: &mut Duration,
    seconds: u64,
    mut act: impl FnMut(&mut [Client<W>], &mut EmbeddedServer, Duration, u64),
    mut see: impl FnMut(usize, &Client<W>, &DecodedPacket<'_>, Duration),
) {
    let (end, mut frame) = (*now + Duration::from_secs(seconds), 0);
    while *now < end {
        run_until(server, *now, *now + FRAME);
        *now += FRAME;
        for (at, player) in players.iter_mut().enumerate() {
            let mut heard = Vec::new();
            let dialect = player.dialect.clone();
            player.frame(server, *now, |packet, _| {
                heard.push((packet.row.name.clone(), packet.values.clone()))
            });
            for (name, values) in heard {
                let row = dialect.row(Direction::ToClient, &name).expect("its row");
                see(at, player, &DecodedPacket { row, values }, *now);
            }
        }
        frame += 1;
        act(players, server, *now, frame);
    }
}
