//! A room of a server: its game and its options.

use tickwire_sim::WorldParams;

use super::start_error::StartError;
use crate::game::Game;
use crate::server::net::{ServerConfig, TcpGameFactory, TcpRoom};

/// A room of a [`Server`](crate::Server): its game and its options.
#[derive(Debug, Clone)]
pub struct RoomSpec {
    pub(super) game: TcpGameFactory,
    seed: u32,
    tick_hz: Option<u32>,
    pub(super) update_hz: Option<u32>,
    max_clients: usize,
    options: Vec<(String, u32)>,
}

impl RoomSpec {
    /// Creates a room with this game and its default options.
    pub fn for_game<G: Game>() -> RoomSpec {
        let (game, max_clients) = (TcpGameFactory::for_game::<G>(), usize::MAX);
        RoomSpec { game, seed: 1, tick_hz: None, update_hz: None, max_clients, options: Vec::new() }
    }

    /// Sets the seed of the world's random numbers; 1 by default.
    #[must_use]
    pub fn seed(self, seed: u32) -> RoomSpec {
        RoomSpec { seed, ..self }
    }

    /// Sets the ticks per second: one of the game's tick rates. The default is the first of them.
    #[must_use]
    pub fn tick_hz(self, hz: u32) -> RoomSpec {
        RoomSpec { tick_hz: Some(hz), ..self }
    }

    /// Sets the updates per second, at most the tick rate; the tick rate by default.
    #[must_use]
    pub fn update_hz(self, hz: u32) -> RoomSpec {
        RoomSpec { update_hz: Some(hz), ..self }
    }

    /// Sets the maximum number of clients in this room. Further clients are refused with status
    /// 503. By default only the server's maximum applies.
    #[must_use]
    pub fn max_clients(self, clients: usize) -> RoomSpec {
        RoomSpec { max_clients: clients, ..self }
    }

    /// Sets an option of the game by its [flag](tickwire_sim::OptionSpec::flag).
    #[must_use]
    pub fn option(mut self, flag: &str, value: u32) -> RoomSpec {
        self.options.push((flag.to_owned(), value));
        self
    }

    /// Returns the parameters of the world, or the rule that an option breaks.
    pub(super) fn identity(&self) -> Result<WorldParams, String> {
        let info = self.game.about;
        let mut identity = (info.identity)(self.seed);
        if let Some(hz) = self.tick_hz {
            identity.tick_hz = info.check_tick_hz(hz).map_err(|rule| format!("tick_hz {hz}: {rule}"))?;
        }
        if self.update_hz == Some(0) {
            return Err("update_hz 0: must be at least 1".to_owned());
        }
        if self.max_clients == 0 {
            return Err("max_clients 0: must be at least 1".to_owned());
        }
        for (flag, value) in &self.options {
            let Some(own) = info.options.iter().find(|own| own.flag == flag) else {
                let flags: Vec<&str> = info.options.iter().map(|own| own.flag).collect();
                let flags = if flags.is_empty() { "none".to_owned() } else { flags.join(", ") };
                return Err(format!("{flag}: unknown option; those of {} are: {flags}", info.name));
            };
            if !(own.min..=own.max).contains(value) {
                return Err(format!("{flag} {value}: must be {} to {}", own.min, own.max));
            }
            identity.set(own.name, *value);
        }
        Ok(identity)
    }

    /// Creates the room with a new world.
    pub(super) fn build(&self, name: &str, config: &ServerConfig) -> Result<Box<TcpRoom>, StartError> {
        let identity = self.identity().map_err(|rule| StartError::room(name, rule))?;
        let mut options = config.room_options(name, identity.tick_hz);
        options.rates.update_hz = self.update_hz.unwrap_or(identity.tick_hz).min(identity.tick_hz);
        options.max_clients = self.max_clients;
        Ok((self.game.new_room)(&identity, options))
    }
}
