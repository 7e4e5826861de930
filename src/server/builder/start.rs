//! Starts a [`Server`]: checks its settings, creates the worlds and the threads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::room_spec::RoomSpec;
use super::running_server::RunningServer;
use super::start_error::StartError;
use super::{Server, checks};
use crate::limits;
use crate::server::net::cluster::settings::ClusterConfig;
use crate::server::net::console::admin_token::AdminToken;
use crate::server::net::journal::{JournalPlace, JournalSettings, RecoveringJournals};
use crate::server::net::pages::prediction_module::PredictionModule;
use crate::server::net::server_data::ServerData;
use crate::server::net::{self, PlayAccess, ServerConfig, TcpGameFactory};

/// Updates per second of clients of foreign dialects, as on the command line.
const FOREIGN_UPDATE_HZ: u32 = 10;

impl Server {
    /// Starts the server: binds the address, creates the worlds, starts the threads.
    ///
    /// # Errors
    /// A setting is invalid, the packet tables of the games conflict, or the system returns an
    /// error.
    pub fn start(self) -> Result<RunningServer, StartError> {
        let mut config = self.config()?;
        let failed = |rule| StartError::setting("database", rule);
        if let Some(file) = &self.database {
            config.data = Arc::new(ServerData::open(file).map_err(failed)?);
        }
        let settings = JournalSettings { is_shared: self.cluster.is_some(), ..self.journal_settings };
        let place = |path| JournalPlace::of_server(path, self.cluster.as_deref());
        let journal = self.journal.as_deref().map(|path| RecoveringJournals::open(place(path)?, settings));
        let mut journal = journal.transpose().map_err(|rule| StartError::setting("journal", rule))?;
        let begin = |(name, room): &(String, RoomSpec)| room.build(name, &config, &mut journal);
        let rooms = self.rooms.iter().map(begin).collect::<Result<Vec<_>, _>>()?;
        config.journal = journal.map(RecoveringJournals::begin);
        let server = net::ServerHandle::start_rooms(config, rooms).map_err(StartError::System)?;
        // From here on, an error drops `running`, which stops the server.
        let running = RunningServer::new(server);
        if let Some(file) = self.capture {
            running.capture(file, self.is_capture_plain)?;
        }
        Ok(running)
    }

    /// Checks the settings, and returns them as plain values.
    fn config(&self) -> Result<ServerConfig, StartError> {
        let bind: SocketAddr = self.bind.parse().map_err(|_| {
            let rule = format!("{:?} must be ADDRESS:PORT, such as 127.0.0.1:3000", self.bind);
            StartError::setting("bind", rule)
        })?;
        let names: Vec<&str> = self.rooms.iter().map(|(name, _)| &**name).collect();
        checks::room_names(&names, self.rooms_on_demand)?;
        for (setting, clients) in
            [("max_clients", self.max_clients), ("max_clients_per_address", self.max_clients_per_address)]
        {
            if clients == 0 {
                return Err(StartError::setting(setting, "0: must be at least 1"));
            }
        }
        checks::resume_time(self.resume_time)?;
        checks::lockstep(&self.lockstep)?;
        checks::rotation(&self.rotation)?;
        self.check_files()?;
        let trusted_proxies = checks::trusted_proxies(&self.trusted_proxies)?;
        let admin_token = self.admin_token.clone().unwrap_or_else(|| Ok(AdminToken::random()));
        let tokens = self.tokens.clone().transpose().map_err(|rule| StartError::setting("tokens", rule))?;
        let mut games: Vec<TcpGameFactory> = Vec::new();
        for (_, room) in &self.rooms {
            if TcpGameFactory::find(&games, room.game.info).is_none() {
                games.push(room.game);
            }
        }
        let codes = checks::tables(&games, self.packet_tables.as_ref())?;
        let first = &self.rooms[0].1;
        let identity = first.identity().map_err(|rule| StartError::room("", rule))?;
        Ok(ServerConfig {
            update_hz: first.update_hz.unwrap_or(identity.tick_hz),
            identity,
            rooms_on_demand: self.rooms_on_demand,
            cluster: self.cluster_config()?,
            max_clients: self.max_clients,
            max_clients_per_address: self.max_clients_per_address,
            address_rate_limits: self.address_rate_limits,
            foreign_update_hz: first.foreign_update_hz.unwrap_or(FOREIGN_UPDATE_HZ),
            command_delay_ticks: first.command_delay_ticks,
            seat_time: self.seat_time(),
            bots: checks::bots(self.bots, &games)?,
            players: PlayAccess { tokens, spectators: self.spectators },
            trusted_proxies,
            agones: checks::agones(self.agones.as_deref(), self.agones_allocate)?,
            drain_time: checks::drain_time(self.drain_time)?,
            save_dir: self.save_dir.clone(),
            capture_dir: self.save_dir.clone(),
            rotation: self.rotation,
            on_event: self.on_event.clone(),
            lockstep: self.lockstep,
            self_check: self.self_check,
            compression: self.compression,
            lane: self.lane,
            udp_public: checks::udp_public(self.udp_public.as_deref())?,
            key_log: checks::key_log(self.key_log.as_deref(), self.lane)?,
            allowed_origins: self.allowed_origins.clone(),
            prediction_module: self.prediction_module.map(PredictionModule::new),
            admin_token: admin_token.map_err(|rule| StartError::setting("admin_token", rule))?,
            ..ServerConfig::for_games(bind, first.game, games, Arc::new(codes))
        })
    }

    /// Checks the settings of a cluster.
    fn cluster_config(&self) -> Result<Option<ClusterConfig>, StartError> {
        let Some(url) = &self.cluster else {
            let settings =
                [("cluster_address", &self.cluster_address), ("cluster_public", &self.cluster_public)];
            let alone = settings.iter().find(|(_, value)| value.is_some());
            return alone.map_or(Ok(None), |(name, _)| Err(StartError::setting(name, "needs cluster")));
        };
        let addresses = (self.cluster_address.as_deref(), self.cluster_public.as_deref());
        ClusterConfig::new(url, addresses, self.rooms_on_demand, self.rooms.len() > 1)
            .map(Some)
            .map_err(|(setting, rule)| StartError::setting(setting, rule))
    }

    /// Time for which a seat stays suspended: with a journal, at least the time of a restart.
    fn seat_time(&self) -> Duration {
        let of_restart = self.journal.is_some().then_some(limits::RESTART_RESUME_TIME);
        self.resume_time.max(of_restart.unwrap_or_default())
    }

    fn check_files(&self) -> Result<(), StartError> {
        if !self.save_dir.is_dir() {
            let rule = format!("{}: no such directory", self.save_dir.display());
            return Err(StartError::setting("save_dir", rule));
        }
        let restores = self.rooms.iter().any(|(_, room)| room.restore.is_some());
        let settings = [("cluster", self.cluster.is_some()), ("journal", self.journal.is_some())];
        if let Some((setting, _)) = settings.into_iter().find(|(_, is_set)| restores && *is_set) {
            return Err(StartError::setting(setting, "cannot be combined with restore of a room"));
        }
        Ok(())
    }
}
