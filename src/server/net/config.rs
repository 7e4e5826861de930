//! The settings of a server as plain values, which the command line or a test fills in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::WorldParams;

use super::console::admin_token::AdminToken;
use super::forwarded::CidrRange;
use super::recorder::Rotation;
use super::{TcpGameFactory, TcpRoom};
use crate::game::UpdateRates;
use crate::games;
use crate::limits;
use crate::packet::PacketTables;
use crate::server::admission::tokens::PlayAccess;
use crate::server::room::RoomConfig;
use crate::server::room::lockstep::LockstepConfig;
use crate::util::os;

/// A new value for [`RoomConfig::epoch`].
pub fn new_epoch() -> String {
    format!("{:016x}", u64::from_le_bytes(os::random()))
}

/// The settings of one server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen.
    pub bind: SocketAddr,
    /// The games that its rooms may play.
    pub games: Vec<TcpGameFactory>,
    /// The game of the default room: one of them.
    pub game: TcpGameFactory,
    /// The parameters of the default room's world.
    pub identity: WorldParams,
    /// Updates a second for native clients, at most the tick rate.
    pub update_hz: u32,
    /// Updates a second for clients of foreign dialects, at most the tick rate.
    pub foreign_update_hz: u32,
    /// Rooms that a path may make, at once; 0 if no path makes one.
    pub rooms_on_demand: usize,
    /// How long a room on demand may be empty before it ends.
    pub room_empty_time: Duration,
    /// How long a player stays in its world without a connection, so that its client can come back.
    pub seat_time: Duration,
    /// Lockstep.
    pub lockstep: LockstepConfig,
    /// Whether the server follows what it sends, and compares it with a world of its own.
    pub self_check: bool,
    /// Clients in total, at most what the machine supports.
    pub max_clients: usize,
    /// Clients of one address.
    pub max_clients_per_address: usize,
    /// Whether the clients of one address share budgets for connecting, joining and messages to
    /// everyone.
    pub address_budgets: bool,
    /// Who may play.
    pub players: PlayAccess,
    /// Proxies whose `X-Forwarded-For` header is trusted; none by default.
    pub trusted_proxies: Vec<CidrRange>,
    /// Delay, in ticks, of a command that names no tick.
    pub command_delay_ticks: u32,
    /// Origins whose pages may connect from a browser; empty allows any origin.
    pub allowed_origins: Vec<String>,
    /// The packet tables.
    pub codes: Arc<PacketTables>,
    /// The token that `/admin` requires.
    pub admin_token: AdminToken,
    /// Where the operator's `save` puts its files.
    pub save_dir: PathBuf,
    /// Where the operator's `capture on` puts its files.
    pub capture_dir: PathBuf,
    /// When a capture file is full.
    pub rotation: Rotation,
}

impl ServerConfig {
    /// The defaults, with this address and a random token: the first of the games.
    pub fn new(bind: SocketAddr) -> ServerConfig {
        let game = TcpGameFactory::default_game();
        ServerConfig {
            bind,
            games: TcpGameFactory::all(),
            game,
            identity: (game.about.identity)(1),
            update_hz: 30,
            foreign_update_hz: 10,
            rooms_on_demand: 0,
            room_empty_time: limits::EMPTY_ROOM_TIMEOUT,
            seat_time: Duration::ZERO,
            lockstep: LockstepConfig::default(),
            self_check: false,
            max_clients: limits::CLIENTS_DEFAULT,
            max_clients_per_address: limits::CLIENTS_PER_ADDRESS,
            address_budgets: true,
            players: PlayAccess::default(),
            trusted_proxies: Vec::new(),
            command_delay_ticks: 0,
            allowed_origins: Vec::new(),
            codes: games::codes(),
            admin_token: AdminToken::random(),
            save_dir: PathBuf::from("."),
            capture_dir: PathBuf::from("."),
            rotation: Rotation::default(),
        }
    }

    /// The update rates of the default room.
    pub fn rates(&self) -> UpdateRates {
        self.rates_at(self.identity.tick_hz)
    }

    /// A room of the configured game, with these settings, whose world begins.
    pub fn room(&self, name: &str, identity: &WorldParams) -> Box<TcpRoom> {
        (self.game.begin)(identity, self.room_options(name, identity.tick_hz))
    }

    /// The options of a room with these settings and a world with this tick rate.
    pub fn room_options(&self, name: &str, tick_hz: u32) -> RoomConfig {
        RoomConfig {
            name: name.into(),
            epoch: new_epoch(),
            rates: self.rates_at(tick_hz),
            delay_ticks: self.command_delay_ticks,
            resume_time: self.seat_time,
            absent_per_address: self.absent_per_address(),
            max_clients: usize::MAX,
            lockstep: self.lockstep,
        }
    }

    /// Absent seats of one address in a room: as many as it may have clients, so that a restart of the
    /// server costs no player behind a shared address its place.
    fn absent_per_address(&self) -> usize {
        let is_limited = self.address_budgets && self.max_clients_per_address < self.max_clients;
        if is_limited { self.max_clients_per_address } else { usize::MAX }
    }

    /// The update rates, none above this tick rate.
    fn rates_at(&self, tick_hz: u32) -> UpdateRates {
        let at_most = |hz: u32| hz.clamp(1, tick_hz);
        UpdateRates {
            tick_hz,
            update_hz: at_most(self.update_hz),
            foreign_hz: at_most(self.foreign_update_hz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_as_many_absent_seats_as_clients_and_all_without_limits() {
        let most = |per_address: usize, address_budgets: bool| {
            let bind = SocketAddr::from(([127, 0, 0, 1], 0));
            let config = ServerConfig {
                max_clients_per_address: per_address,
                address_budgets,
                ..ServerConfig::new(bind)
            };
            config.room_options("", 30).absent_per_address
        };
        assert_eq!(most(64, true), 64);
        assert_eq!(most(64, false), usize::MAX);
        assert_eq!(most(limits::CLIENTS_DEFAULT, true), usize::MAX, "one address may have all clients");
    }
}
