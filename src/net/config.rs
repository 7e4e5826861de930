//! What can be set about a server, in plain values: the command line fills it in, tests write it down.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::console::token::Token;
use super::forwarded::Network;
use super::recorder::Rotation;
use crate::feed::Rates;
use crate::limits;
use crate::packet::Codes;
use crate::world::{Identity, TickHz, rules};

/// The settings of one server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub bind: SocketAddr,
    /// What the world is made from.
    pub identity: Identity,
    /// Updates a second for native clients, at most the tick rate.
    pub update_hz: u32,
    /// Updates a second for MooMoo clients, at most the tick rate.
    pub moomoo_update_hz: u32,
    /// Clients in all, at most what the machine carries.
    pub max_clients: usize,
    /// Clients of one address.
    pub max_clients_per_address: usize,
    /// Whether the clients of one address share budgets for connecting, joining and what they say to everyone.
    pub address_budgets: bool,
    /// Proxies that are believed when they say for whom they speak; none by default.
    pub trusted_proxies: Vec<Network>,
    /// Ticks that commands of dialects without ticks wait.
    pub command_delay_ticks: u32,
    /// Origins that may play from a browser; empty takes any.
    pub allowed_origins: Vec<String>,
    /// The code tables.
    pub codes: Arc<Codes>,
    /// What `/admin` asks for.
    pub admin_token: Token,
    /// Where the operator's `save` puts its files.
    pub save_dir: PathBuf,
    /// Where the operator's `capture on` puts its files.
    pub capture_dir: PathBuf,
    /// When a capture file is full.
    pub rotation: Rotation,
}

impl Config {
    /// The defaults, with this address and a token that nobody knows yet.
    pub fn new(bind: SocketAddr) -> Config {
        Config {
            bind,
            identity: Identity { seed: 1, map_size_px: rules::MAP_SIZE_PX, tick_hz: TickHz::Hz30 },
            update_hz: 30,
            moomoo_update_hz: 10,
            max_clients: limits::CLIENTS_DEFAULT,
            max_clients_per_address: limits::CLIENTS_PER_ADDRESS,
            address_budgets: true,
            trusted_proxies: Vec::new(),
            command_delay_ticks: 0,
            allowed_origins: Vec::new(),
            codes: Codes::builtin(),
            admin_token: Token::random(),
            save_dir: PathBuf::from("."),
            capture_dir: PathBuf::from("."),
            rotation: Rotation::default(),
        }
    }

    /// The rates, none above the tick rate.
    pub fn rates(&self) -> Rates {
        let tick_hz = self.identity.tick_hz.get();
        let at_most = |hz: u32| hz.clamp(1, tick_hz);
        Rates { tick_hz, native_hz: at_most(self.update_hz), moomoo_hz: at_most(self.moomoo_update_hz) }
    }
}
