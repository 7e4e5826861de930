//! A server of a game of one file, and somebody who speaks with it by its table.

use std::sync::Arc;

use tickwire::game::Game;
use tickwire::internal::server::net::{ServerConfig, ServerHandle, TcpGameFactory};
use tickwire::packet::{DecodedPacket, Dialect, Direction, PacketTables, Value};

use crate::support::Peer;

/// A server whose only game is this one.
pub fn server_of<G: Game>() -> ServerHandle {
    ServerHandle::start(config_of::<G>()).expect("a free port")
}

/// Its settings.
pub fn config_of<G: Game>() -> ServerConfig {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    let game = TcpGameFactory::for_game::<G>();
    config.codes = Arc::new(PacketTables::from_texts(G::TABLES).expect("the table of the example"));
    (config.games, config.game) = (vec![game], game);
    config.identity = (G::INFO.identity)(7);
    (config.update_hz, config.address_rate_limits) = (60, false);
    config
}

/// Somebody at the server, who speaks by the table.
pub struct Guest {
    pub peer: Peer,
    pub dialect: Arc<Dialect>,
    sequence: u32,
}

impl Guest {
    /// Connects to the server of a game, and says hello as a watcher.
    pub fn connect(server: &ServerHandle) -> Guest {
        let config = server.config();
        let dialect = config.codes.dialect(config.game.info.name).expect("the game's");
        let mut guest = Guest { peer: Peer::connect(server.address(), "/play"), dialect, sequence: 0 };
        guest.say("hello", &[1.into(), 0.into()]);
        let hz = guest.hear("welcome", |_| true).integer("tick_hz");
        assert_eq!(hz, Some(config.identity.tick_hz));
        guest
    }

    /// Sends a packet.
    pub fn say(&mut self, packet: &str, values: &[Value]) {
        let message = self.dialect.encode(Direction::ToServer, packet, values).expect("a packet of the game");
        self.peer.send(&message);
    }

    /// Reads up to the first packet of this name with which `wanted` is content.
    pub fn hear(&mut self, name: &str, wanted: impl Fn(&DecodedPacket<'_>) -> bool) -> DecodedPacket<'_> {
        let Guest { peer, dialect, .. } = self;
        let decode = |message: &[u8]| dialect.decode(Direction::ToClient, message).expect("by the table");
        let is_it = |message: &[u8]| {
            let packet = decode(message);
            packet.row.name == name && wanted(&packet)
        };
        let message = peer.receive_until(is_it).unwrap_or_else(|how| panic!("{name}: {how}"));
        decode(&message)
    }

    /// Begins to play; gives the number of the player.
    pub fn enter(&mut self, name: &str) -> u16 {
        self.say("join", &[name.into()]);
        self.hear("spawned", |_| true).integer("player").expect("a number")
    }

    /// Sends a packet in which the player acts, with the next sequence and for no tick.
    pub fn act(&mut self, packet: &str, values: &[Value]) {
        self.sequence += 1;
        let stamp = [self.sequence.into(), Value::Nil];
        self.say(packet, &[&stamp, values].concat());
    }
}
