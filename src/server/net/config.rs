//! The settings of a server as plain values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::WorldParams;

use super::agones::settings::AgonesSettings;
use super::cluster::settings::ClusterConfig;
use super::console::admin_token::AdminToken;
use super::forwarded::CidrRange;
use super::journal::RoomJournals;
use super::key_log::KeyLog;
use super::lane_mode::{LaneMode, UdpPublic};
use super::pages::prediction_module::PredictionModule;
use super::recorder::Rotation;
use super::server_data::ServerData;
use super::server_events::EventHook;
use super::{TcpGameFactory, TcpRoom};
use crate::game::UpdateRates;
#[cfg(feature = "built-in-games")]
use crate::games;
use crate::limits;
use crate::packet::PacketTables;
use crate::server::admission::tokens::PlayAccess;
use crate::server::room::RoomConfig;
use crate::server::room::lockstep::LockstepConfig;
use crate::util::os;

/// Returns a new random value for [`RoomConfig::epoch`].
pub fn new_epoch() -> String {
    format!("{:016x}", u64::from_le_bytes(os::random()))
}

/// The settings of one server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address to listen on.
    pub bind: SocketAddr,
    /// Games that the rooms may run.
    pub games: Vec<TcpGameFactory>,
    /// Game of the default room, one of `games`.
    pub game: TcpGameFactory,
    /// World parameters of the default room.
    pub identity: WorldParams,
    /// Updates per second for native clients, at most the tick rate.
    pub update_hz: u32,
    /// Updates per second for clients of other dialects, at most the tick rate.
    pub foreign_update_hz: u32,
    /// Maximum number of simultaneous rooms on demand; 0 disables them.
    pub rooms_on_demand: usize,
    /// Time that a room on demand may be empty before it ends.
    pub room_empty_time: Duration,
    /// Time that a suspended seat lasts, so that its client can resume.
    pub seat_time: Duration,
    /// Lockstep settings.
    pub lockstep: LockstepConfig,
    /// The carrier of lanes.
    pub lane: LaneMode,
    /// The public address of the UDP port. `None`: the local address of each client's WebSocket.
    pub udp_public: Option<UdpPublic>,
    /// The file for the keys of lanes (`--key-log`).
    pub key_log: Option<Arc<KeyLog>>,
    /// The cluster to which the server belongs (`--cluster`).
    pub cluster: Option<ClusterConfig>,
    /// The journals of the rooms (`--journal`).
    pub journal: Option<Arc<RoomJournals>>,
    /// Bans, notice and best players, with their file if there is one (`--database`).
    pub data: Arc<ServerData>,
    /// Whether the server compares its updates with a second world (`--self-check`).
    pub self_check: bool,
    /// Whether the server accepts offers of permessage-deflate (`--compression`).
    pub compression: bool,
    /// Maximum number of clients, further limited by the machine's capacity.
    pub max_clients: usize,
    /// Maximum number of clients per address prefix.
    pub max_clients_per_address: usize,
    /// Whether the clients of one address prefix share rate limits for connecting, joining and
    /// broadcast messages.
    pub address_rate_limits: bool,
    /// Number of players up to which each room is filled with bots, if its game has bots that play
    /// it; 0 for no bots.
    pub bots: usize,
    /// Player tokens and spectator rules.
    pub players: PlayAccess,
    /// Proxies with a trusted `X-Forwarded-For` header; none by default.
    pub trusted_proxies: Vec<CidrRange>,
    /// Delay, in ticks, of a command without a target tick.
    pub command_delay_ticks: u32,
    /// Allowed origins of pages that connect from a browser; empty allows any origin.
    pub allowed_origins: Vec<String>,
    /// Packet tables of all games.
    pub codes: Arc<PacketTables>,
    /// Prediction module of the games that are not built in, for their pages.
    pub prediction_module: Option<PredictionModule>,
    /// Operator token, required by `/admin`.
    pub admin_token: AdminToken,
    /// The sidecar of Agones (`--agones`).
    pub agones: Option<AgonesSettings>,
    /// Time for which the server drains after a signal to stop; 0 for no drain.
    pub drain_time: Duration,
    /// Directory for files of the operator command `save`.
    pub save_dir: PathBuf,
    /// Directory for files of the operator command `capture on`.
    pub capture_dir: PathBuf,
    /// Size and age at which a capture continues in a new file.
    pub rotation: Rotation,
    /// The program's hook for events.
    pub on_event: Option<EventHook>,
}

impl ServerConfig {
    /// Returns the defaults for the built-in games.
    #[cfg(feature = "built-in-games")]
    pub fn new(bind: SocketAddr) -> ServerConfig {
        let games = TcpGameFactory::all();
        ServerConfig::for_games(bind, games[0], games, games::built_in_tables())
    }

    /// Returns the defaults, with this address, these games and a random operator token. `game` is
    /// the game of the default room, one of `games`.
    pub fn for_games(
        bind: SocketAddr,
        game: TcpGameFactory,
        games: Vec<TcpGameFactory>,
        codes: Arc<PacketTables>,
    ) -> ServerConfig {
        ServerConfig {
            bind,
            games,
            game,
            identity: (game.info.identity)(1),
            update_hz: 30,
            foreign_update_hz: 10,
            rooms_on_demand: 0,
            room_empty_time: limits::EMPTY_ROOM_TIMEOUT,
            seat_time: Duration::ZERO,
            lockstep: LockstepConfig::default(),
            lane: LaneMode::Off,
            udp_public: None,
            key_log: None,
            cluster: None,
            journal: None,
            data: Arc::default(),
            self_check: false,
            compression: false,
            max_clients: limits::CLIENTS_DEFAULT,
            max_clients_per_address: limits::CLIENTS_PER_ADDRESS,
            address_rate_limits: true,
            bots: 0,
            players: PlayAccess::default(),
            trusted_proxies: Vec::new(),
            command_delay_ticks: 0,
            allowed_origins: Vec::new(),
            codes,
            prediction_module: None,
            admin_token: AdminToken::random(),
            agones: None,
            drain_time: Duration::ZERO,
            save_dir: PathBuf::from("."),
            capture_dir: PathBuf::from("."),
            rotation: Rotation::default(),
            on_event: None,
        }
    }

    /// Returns the update rates of the default room.
    pub fn rates(&self) -> UpdateRates {
        self.rates_at(self.identity.tick_hz)
    }

    /// Creates a room of the configured game with a new world.
    pub fn room(&self, name: &str, identity: &WorldParams) -> Box<TcpRoom> {
        (self.game.new_room)(identity, self.room_options(name, identity.tick_hz))
    }

    /// Returns the configuration of a room with this tick rate.
    pub fn room_options(&self, name: &str, tick_hz: u32) -> RoomConfig {
        RoomConfig {
            name: name.into(),
            epoch: new_epoch(),
            secret: u64::from_le_bytes(os::random()),
            rates: self.rates_at(tick_hz),
            delay_ticks: self.command_delay_ticks,
            resume_time: self.seat_time,
            absent_per_address: self.absent_per_address(),
            max_clients: usize::MAX,
            lockstep: self.lockstep,
        }
    }

    /// Maximum number of suspended seats per address prefix in a room. It equals the client limit,
    /// so that all players at one address keep their seats across a restart.
    fn absent_per_address(&self) -> usize {
        let is_limited = self.address_rate_limits && self.max_clients_per_address < self.max_clients;
        if is_limited { self.max_clients_per_address } else { usize::MAX }
    }

    /// Returns the update rates, each at most `tick_hz`.
    fn rates_at(&self, tick_hz: u32) -> UpdateRates {
        let limited = |hz: u32| hz.clamp(1, tick_hz);
        UpdateRates {
            tick_hz,
            update_hz: limited(self.update_hz),
            foreign_hz: limited(self.foreign_update_hz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_as_many_absent_seats_as_clients_and_all_without_limits() {
        let max_seats = |per_address: usize, address_rate_limits: bool| {
            let bind = SocketAddr::from(([127, 0, 0, 1], 0));
            let config = ServerConfig {
                max_clients_per_address: per_address,
                address_rate_limits,
                ..ServerConfig::new(bind)
            };
            config.room_options("", 30).absent_per_address
        };
        assert_eq!(max_seats(64, true), 64);
        assert_eq!(max_seats(64, false), usize::MAX);
        assert_eq!(max_seats(limits::CLIENTS_DEFAULT, true), usize::MAX, "one address may have all clients");
    }
}
