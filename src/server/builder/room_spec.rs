//! A room of a server: its game and its options.

use std::path::PathBuf;

use tickwire_sim::WorldParams;

use super::start_error::StartError;
use crate::game::Game;
use crate::server::net::input_files::{journaled_room, restore_room};
use crate::server::net::journal::RecoveringJournals;
use crate::server::net::{ServerConfig, TcpGameFactory, TcpRoom};

/// A room of a [`Server`](crate::Server): its game and its options.
#[derive(Debug, Clone)]
pub struct RoomSpec {
    pub(super) game: TcpGameFactory,
    seed: u32,
    tick_hz: Option<u32>,
    pub(super) update_hz: Option<u32>,
    pub(super) foreign_update_hz: Option<u32>,
    pub(super) command_delay_ticks: u32,
    pub(super) restore: Option<PathBuf>,
    max_clients: usize,
    options: Vec<(String, u32)>,
}

impl RoomSpec {
    /// Creates a room with this game and its default options.
    pub fn for_game<G: Game>() -> RoomSpec {
        let (game, max_clients) = (TcpGameFactory::for_game::<G>(), usize::MAX);
        RoomSpec {
            game,
            seed: 1,
            tick_hz: None,
            update_hz: None,
            foreign_update_hz: None,
            command_delay_ticks: 0,
            restore: None,
            max_clients,
            options: Vec::new(),
        }
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

    /// Sets the updates per second of clients of foreign dialects, at most the tick rate; 10 by
    /// default.
    #[must_use]
    pub fn foreign_update_hz(self, hz: u32) -> RoomSpec {
        RoomSpec { foreign_update_hz: Some(hz), ..self }
    }

    /// Sets the delay, in ticks, of commands without a target tick; at most one second.
    #[must_use]
    pub fn command_delay_ticks(self, ticks: u32) -> RoomSpec {
        RoomSpec { command_delay_ticks: ticks, ..self }
    }

    /// Restores the world from this file, written by the operator command `save`. The seed, the
    /// options and the tick rate in the file override the settings. The players in it are removed.
    #[must_use]
    pub fn restore(self, file: impl Into<PathBuf>) -> RoomSpec {
        RoomSpec { restore: Some(file.into()), ..self }
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
        let info = self.game.info;
        let mut identity = (info.identity)(self.seed);
        if let Some(hz) = self.tick_hz {
            identity.tick_hz = info.check_tick_hz(hz).map_err(|rule| format!("tick_hz {hz}: {rule}"))?;
        }
        for (setting, hz) in [("update_hz", self.update_hz), ("foreign_update_hz", self.foreign_update_hz)] {
            if hz == Some(0) {
                return Err(format!("{setting} 0: must be at least 1"));
            }
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

    /// Creates the room: with the world of its file or of its journal, or with a new
    /// one.
    pub(super) fn build(
        &self,
        name: &str,
        config: &ServerConfig,
        journal: &mut Option<RecoveringJournals>,
    ) -> Result<Box<TcpRoom>, StartError> {
        let identity = self.identity().map_err(|rule| StartError::room(name, rule))?;
        let options = |identity: &WorldParams| {
            let mut options = config.room_options(name, identity.tick_hz);
            options.rates.update_hz = self.update_hz.unwrap_or(identity.tick_hz).min(identity.tick_hz);
            if let Some(hz) = self.foreign_update_hz {
                options.rates.foreign_hz = hz.min(identity.tick_hz);
            }
            options.delay_ticks = self.command_delay_ticks;
            options.max_clients = self.max_clients;
            options
        };
        match &self.restore {
            Some(file) => restore_room(&self.game, file, &options)
                .map_err(|rule| StartError::room(name, format!("restore {rule}"))),
            None => journaled_room(journal, &self.game, &identity, options(&identity))
                .map_err(|rule| StartError::room(name, rule)),
        }
    }
}
