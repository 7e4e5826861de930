//! Embeds a server in another program, without a command line, signals or logs.

mod room_spec;
mod start_error;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use crate::game::{Game, GameInfo};
use crate::limits;
use crate::packet::PacketTables;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::net::console::Source;
use crate::server::net::console::admin_token::AdminToken;
use crate::server::net::recorder::CaptureTarget;
use crate::server::net::{self, PlayAccess, ServerConfig, TcpGameFactory, Tokens};
pub use crate::server::room::lockstep::LockstepAccess as Lockstep;
use crate::server::room::lockstep::LockstepConfig;
pub use room_spec::RoomSpec;
pub use start_error::StartError;

/// Builder of a server.
///
/// By default the server listens on a free port of 127.0.0.1, for programs on this machine, and has
/// one room, at `/`. [`Server::start`] checks the settings.
///
/// ```
/// # use tickwire::game::simple::{SimpleGame, StateRows, TickContext};
/// # use tickwire::sim::{PlayerId, WorldParams, fields};
/// # const TABLE: &str = concat!(
/// #     "direction\tname\tlane\tpresses:int\targuments\tmeaning\n",
/// #     "to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tthe first packet\n",
/// #     "to_server\tjoin\treliable\t2\tname:str<=15|nil\tbegin to play\n",
/// #     "to_server\tping\treliable\t3\tnonce:u32\tanswered at once\n",
/// #     "to_server\tpress\treliable\t4\tsequence:u32 tick:u32.tick|nil\tpress the button\n",
/// #     "to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str seed:u32 tick_hz:u8 update_hz:u8 epoch:str tick:u32.tick\tanswers hello\n",
/// #     "to_client\tspawned\tlatest\t2\tplayer:u16\tthe client plays\n",
/// #     "to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping\n",
/// #     "to_client\terror\treliable\t4\trule:str detail:str\ta packet was dropped\n",
/// #     "to_client\tstate\tlatest\t5\ttick:u32.tick count:u32\tall of the game\n",
/// # );
/// # tickwire::rows! {
/// #     in TABLE;
/// #     enum Action { Press in "press" {} }
/// #     struct StateRow in "state" { count: u32 }
/// # }
/// # fields! { struct Presses { count: u32 } }
/// # impl SimpleGame for Presses {
/// #     const NAME: &'static str = "presses";
/// #     const DIALECT: &'static str = "presses";
/// #     const TABLE: (&'static str, &'static str) = ("presses.tsv", TABLE);
/// #     const PAGE: &'static str = "";
/// #     type Action = Action;
/// #     fn new(_: &WorldParams) -> Presses { Presses { count: 0 } }
/// #     fn join(&mut self, _: PlayerId, _: &str, _: &mut TickContext<'_>) {}
/// #     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
/// #     fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> Result<(), &'static str> {
/// #         self.count += 1;
/// #         Ok(())
/// #     }
/// #     fn tick(&mut self, _: &mut TickContext<'_>) {}
/// #     fn write_state(&self, rows: &mut StateRows) { rows.push(StateRow { count: self.count }); }
/// # }
/// use std::time::Duration;
///
/// use tickwire::client::blocking_client::BlockingClient;
/// use tickwire::game::simple::Simple;
/// use tickwire::packet::Value;
/// use tickwire::{RoomSpec, Server};
///
/// // The game of the crate's documentation, in two rooms.
/// let arena = RoomSpec::for_game::<Simple<Presses>>().seed(7).max_clients(10);
/// let server = Server::for_game::<Simple<Presses>>().room("arena", arena).start()?;
///
/// // A player in the second room.
/// let url = format!("ws://{}/r/arena/play", server.address()).parse()?;
/// let dialect = server.tables().dialect("presses").ok_or("no such dialect")?;
/// let mut ann: BlockingClient = BlockingClient::connect(&url, None, dialect)?;
/// ann.send("hello", &[1.into(), 1.into(), "Ann".into()])?;
/// ann.receive_until(Duration::from_secs(5), |packet| packet.name == "spawned")?;
/// ann.send("press", &[1.into(), Value::Nil])?;
/// ann.receive_until(Duration::from_secs(5), |packet| packet.number("count") == Some(1))?;
///
/// server.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Server {
    bind: String,
    /// The default room first, without a name.
    rooms: Vec<(String, RoomSpec)>,
    rooms_on_demand: usize,
    max_clients: usize,
    max_clients_per_address: usize,
    address_rate_limits: bool,
    allowed_origins: Vec<String>,
    admin_token: Option<Result<AdminToken, String>>,
    tokens: Option<Result<Tokens, String>>,
    spectators: bool,
    lockstep: Lockstep,
    self_check: bool,
    capture: Option<PathBuf>,
}

impl Server {
    /// Creates a server with this game in its default room.
    pub fn for_game<G: Game>() -> Server {
        Server::with_room(RoomSpec::for_game::<G>())
    }

    /// Creates a server with this default room.
    pub fn with_room(room: RoomSpec) -> Server {
        Server {
            bind: "127.0.0.1:0".to_owned(),
            rooms: vec![(String::new(), room)],
            rooms_on_demand: 0,
            max_clients: limits::CLIENTS_DEFAULT,
            max_clients_per_address: limits::CLIENTS_PER_ADDRESS,
            address_rate_limits: true,
            allowed_origins: Vec::new(),
            admin_token: None,
            tokens: None,
            spectators: false,
            lockstep: Lockstep::default(),
            self_check: false,
            capture: None,
        }
    }

    /// Sets the address and port to listen on, such as `0.0.0.0:3000`. With port 0, the default,
    /// the system chooses a free port: see [`RunningServer::address`].
    #[must_use]
    pub fn bind(self, address: impl ToString) -> Server {
        Server { bind: address.to_string(), ..self }
    }

    /// Adds a room at `/r/NAME/`. A name has 1 to 32 of a-z, 0-9 and -.
    #[must_use]
    pub fn room(mut self, name: &str, room: RoomSpec) -> Server {
        self.rooms.push((name.to_owned(), room));
        self
    }

    /// Sets the maximum number of rooms on demand; 0 by default. A client that connects at
    /// `/r/NAME/` then creates a room like the default room. The room ends once it has been empty
    /// for a minute.
    #[must_use]
    pub fn rooms_on_demand(self, rooms: usize) -> Server {
        Server { rooms_on_demand: rooms, ..self }
    }

    /// Sets the maximum number of clients. It is further limited by the machine's capacity.
    #[must_use]
    pub fn max_clients(self, clients: usize) -> Server {
        Server { max_clients: clients, ..self }
    }

    /// Sets the maximum number of clients per address prefix.
    #[must_use]
    pub fn max_clients_per_address(self, clients: usize) -> Server {
        Server { max_clients_per_address: clients, ..self }
    }

    /// Sets whether the clients of one address prefix share rate limits for connecting, joining and
    /// broadcast messages. Enabled by default; disable it for tests with many clients.
    #[must_use]
    pub fn address_rate_limits(self, on: bool) -> Server {
        Server { address_rate_limits: on, ..self }
    }

    /// Allows pages of this origin, such as `https://example.org`, to connect. May be called
    /// several times; pages of other origins are then refused. By default, pages of any origin may
    /// connect.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Server {
        self.allowed_origins.push(origin.to_owned());
        self
    }

    /// Sets the token for `/admin`. By default it is random: see [`RunningServer::admin_token`].
    #[must_use]
    pub fn admin_token(self, token: &str) -> Server {
        Server { admin_token: Some(AdminToken::new(token)), ..self }
    }

    /// Allows only clients with one of these tokens, given as names and tokens, to play. A token
    /// has 16 to 256 letters, digits and `-._~+/=`. Clients send it in their upgrade request, as a
    /// subprotocol or as `?token=` in the URL. With an empty list, all clients spectate. By
    /// default, all clients may play without a token.
    #[must_use]
    pub fn tokens<N: AsRef<str>, T: AsRef<str>>(self, tokens: impl IntoIterator<Item = (N, T)>) -> Server {
        let mut all = Tokens::default();
        let mut inserted = tokens.into_iter().map(|(name, token)| all.insert(name.as_ref(), token.as_ref()));
        let tokens = inserted.try_for_each(|inserted| inserted);
        Server { tokens: Some(tokens.map(|()| all)), ..self }
    }

    /// Sets whether clients without a token may spectate on a server with tokens. By default, their
    /// connections are closed.
    #[must_use]
    pub fn spectators(self, on: bool) -> Server {
        Server { spectators: on, ..self }
    }

    /// Sets which clients may run the world of their room in lockstep, and thereby see all of it.
    /// By default, clients with a token and clients on this machine.
    #[must_use]
    pub fn lockstep(self, access: Lockstep) -> Server {
        Server { lockstep: access, ..self }
    }

    /// Sets whether the server compares what it sends to its clients with a second world that it
    /// runs in lockstep. Differences are logged and counted in `tickwire_self_check_faults_total`.
    /// For tests: each checked client costs about as much as a bot.
    #[must_use]
    pub fn self_check(self, on: bool) -> Server {
        Server { self_check: on, ..self }
    }

    /// Captures all traffic to this file, which must not exist yet, for Wireshark and
    /// [`capture`](crate::tools::capture).
    #[must_use]
    pub fn capture(self, file: impl Into<PathBuf>) -> Server {
        Server { capture: Some(file.into()), ..self }
    }

    /// Starts the server: binds the address, creates the worlds, starts the threads.
    ///
    /// # Errors
    /// A setting is invalid, the packet tables of the games conflict, or the system returns an
    /// error.
    pub fn start(self) -> Result<RunningServer, StartError> {
        let config = self.config()?;
        let begin = |(name, room): &(String, RoomSpec)| room.build(name, &config);
        let rooms = self.rooms.iter().map(begin).collect::<Result<Vec<_>, _>>()?;
        let server = net::ServerHandle::start_rooms(config, rooms).map_err(StartError::System)?;
        // From here on, an error drops `running`, which stops the server.
        let running = RunningServer { server };
        if let Some(file) = self.capture {
            let started = running.server.capture(CaptureTarget::File(file));
            started.map_err(|rule| StartError::setting("capture", rule))?;
        }
        Ok(running)
    }

    fn config(&self) -> Result<ServerConfig, StartError> {
        let bind: SocketAddr = self.bind.parse().map_err(|_| {
            let rule = format!("{:?} must be ADDRESS:PORT, such as 127.0.0.1:3000", self.bind);
            StartError::setting("bind", rule)
        })?;
        self.check_names()?;
        for (setting, clients) in
            [("max_clients", self.max_clients), ("max_clients_per_address", self.max_clients_per_address)]
        {
            if clients == 0 {
                return Err(StartError::setting(setting, "0: must be at least 1"));
            }
        }
        let admin_token = self.admin_token.clone().unwrap_or_else(|| Ok(AdminToken::random()));
        let tokens = self.tokens.clone().transpose().map_err(|rule| StartError::setting("tokens", rule))?;
        let mut games: Vec<TcpGameFactory> = Vec::new();
        for (_, room) in &self.rooms {
            if TcpGameFactory::find(&games, room.game.about).is_none() {
                games.push(room.game);
            }
        }
        let abouts: Vec<&GameInfo> = games.iter().map(|game| game.about).collect();
        let codes = GameInfo::tables_of(&abouts).map_err(StartError::Tables)?;
        let first = &self.rooms[0].1;
        let identity = first.identity().map_err(|rule| StartError::room("", rule))?;
        Ok(ServerConfig {
            update_hz: first.update_hz.unwrap_or(identity.tick_hz),
            identity,
            rooms_on_demand: self.rooms_on_demand,
            max_clients: self.max_clients,
            max_clients_per_address: self.max_clients_per_address,
            address_rate_limits: self.address_rate_limits,
            players: PlayAccess { tokens, spectators: self.spectators },
            lockstep: LockstepConfig { access: self.lockstep, ..LockstepConfig::default() },
            self_check: self.self_check,
            allowed_origins: self.allowed_origins.clone(),
            admin_token: admin_token.map_err(|rule| StartError::setting("admin_token", rule))?,
            ..ServerConfig::for_games(bind, first.game, games, Arc::new(codes))
        })
    }

    /// Checks the names and the number of the rooms.
    fn check_names(&self) -> Result<(), StartError> {
        let rooms = self.rooms.len().saturating_add(self.rooms_on_demand);
        if rooms > limits::ROOMS {
            let rule = format!("{rooms} with those on demand: must be at most {}", limits::ROOMS);
            return Err(StartError::setting("rooms", rule));
        }
        for (at, (name, _)) in self.rooms.iter().enumerate().skip(1) {
            let rule = if !is_room_name(name) {
                format!("a room's name must be 1 to {} of a-z, 0-9 and -", limits::ROOM_NAME_CHARS)
            } else if is_alias(name) {
                "this is what the log calls a private room: choose another name".to_owned()
            } else if self.rooms[..at].iter().any(|(other, _)| other == name) {
                "two rooms have this name".to_owned()
            } else {
                continue;
            };
            return Err(StartError::room(name, rule));
        }
        Ok(())
    }
}

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub struct RunningServer {
    server: net::ServerHandle,
}

impl RunningServer {
    /// Returns the address on which the server listens, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the packet tables in use.
    pub fn tables(&self) -> &Arc<PacketTables> {
        &self.server.config().codes
    }

    /// Returns the token for `/admin`.
    pub fn admin_token(&self) -> &str {
        self.server.config().admin_token.expose()
    }

    /// Executes an operator command, such as `players` or `kick NAME`; `help` lists them. Commands
    /// that write files write them to the current directory.
    ///
    /// # Errors
    /// Why the command failed, in one line.
    pub fn command(&self, line: &str) -> Result<String, String> {
        match self.server.console().run(line, Source::Program) {
            None => Ok(String::new()),
            Some(answer) if answer.is_ok => Ok(answer.text),
            Some(answer) => Err(answer.text.trim_start_matches("error: ").trim_end().to_owned()),
        }
    }

    /// Whether an operator has entered `stop`, with [`RunningServer::command`] or at `/admin`. Call
    /// [`RunningServer::stop`] then.
    pub fn is_stop_requested(&self) -> bool {
        self.server.is_stop_requested()
    }

    /// Returns the metrics as Prometheus text.
    pub fn metrics(&self) -> String {
        self.server.metrics_text()
    }

    /// Accepts no more connections, closes all clients with 1001, and waits for the threads:
    /// usually a few milliseconds, at most about two seconds.
    pub fn stop(mut self) {
        self.server.shut_down();
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.server.shut_down();
    }
}
