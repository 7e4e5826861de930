//! Embeds a server in another program, without a command line, signals or logs.

mod checks;
mod operations;
mod room_spec;
mod running_server;
mod start;
mod start_error;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::game::Game;
use crate::limits;
use crate::packet::PacketTables;
use crate::server::net::Tokens;
use crate::server::net::console::admin_token::AdminToken;
use crate::server::net::input_files::read_tokens;
use crate::server::net::journal::JournalSettings;
pub use crate::server::net::journal::{Durability, OnJournalError, OnRefusedJournal};
pub use crate::server::net::lane_mode::LaneMode;
use crate::server::net::recorder::Rotation;
pub use crate::server::net::room_access::{RoomAccess, RoomError};
use crate::server::net::server_events::EventHook;
pub use crate::server::net::server_events::{ClientProfile, PlayerProfile, ServerEvent, ServerEventKind};
pub use crate::server::room::lockstep::LockstepAccess as Lockstep;
use crate::server::room::lockstep::LockstepConfig;
pub use room_spec::RoomSpec;
pub use running_server::RunningServer;
pub use start_error::StartError;

/// Builder of a server.
///
/// By default the server listens on a free port of 127.0.0.1, for programs on this machine, and has
/// one room, at `/`. [`Server::start`] checks the settings.
///
/// ```
/// # use tickwire::prelude::*;
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
/// # rows! {
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
/// #     fn join(&mut self, _: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {}
/// #     fn leave(&mut self, _: PlayerId, _: &mut TickContext<'_>) {}
/// #     fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> ActionResult {
/// #         self.count += 1;
/// #         Ok(())
/// #     }
/// #     fn tick(&mut self, _: &mut TickContext<'_>) {}
/// #     fn write_state(&self, rows: &mut StateRows) { rows.push(StateRow { count: self.count }); }
/// # }
/// use std::time::Duration;
///
/// use tickwire::client::blocking_client::BlockingClient;
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
    bots: usize,
    resume_time: Duration,
    trusted_proxies: Vec<String>,
    packet_tables: Option<PacketTables>,
    lockstep: LockstepConfig,
    self_check: bool,
    compression: bool,
    lane: LaneMode,
    udp_public: Option<String>,
    key_log: Option<PathBuf>,
    save_dir: PathBuf,
    database: Option<PathBuf>,
    journal: Option<PathBuf>,
    journal_settings: JournalSettings,
    cluster: Option<String>,
    cluster_address: Option<String>,
    cluster_public: Option<String>,
    prediction_module: Option<&'static [u8]>,
    capture: Option<PathBuf>,
    is_capture_plain: bool,
    rotation: Rotation,
    on_event: Option<EventHook>,
    drain_time: Duration,
    agones: Option<String>,
    agones_allocate: bool,
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
            bots: 0,
            resume_time: limits::RESUME_TIME,
            trusted_proxies: Vec::new(),
            packet_tables: None,
            lockstep: LockstepConfig::default(),
            self_check: false,
            compression: false,
            lane: LaneMode::Off,
            udp_public: None,
            key_log: None,
            save_dir: PathBuf::from("."),
            database: None,
            journal: None,
            journal_settings: JournalSettings::default(),
            cluster: None,
            cluster_address: None,
            cluster_public: None,
            prediction_module: None,
            capture: None,
            is_capture_plain: false,
            rotation: Rotation::default(),
            on_event: None,
            drain_time: Duration::ZERO,
            agones: None,
            agones_allocate: false,
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

    /// As [`Server::tokens`], with the lines of a token file: a name and a token, separated by a
    /// blank.
    #[must_use]
    pub fn token_file(self, file: impl AsRef<Path>) -> Server {
        Server { tokens: Some(read_tokens(file.as_ref())), ..self }
    }

    /// Sets whether clients without a token may spectate on a server with tokens. By default, their
    /// connections are closed.
    #[must_use]
    pub fn spectators(self, on: bool) -> Server {
        Server { spectators: on, ..self }
    }

    /// Sets the number of players up to which bots fill the default room, and other rooms while a
    /// client is connected; 0 by default, at most 40. Bots leave as people come. A game needs bots
    /// that play it: [`SimpleGame::bot_policy`](crate::game::simple::SimpleGame::bot_policy) or
    /// [`GameBots`](crate::game::bots::GameBots).
    #[must_use]
    pub fn bots(self, players: usize) -> Server {
        Server { bots: players, ..self }
    }

    /// Sets which clients may run the world of their room in lockstep, and thereby see all of it.
    /// By default, clients with a token and clients on this machine.
    #[must_use]
    pub fn lockstep(self, access: Lockstep) -> Server {
        Server { lockstep: LockstepConfig { access, ..self.lockstep }, ..self }
    }

    /// Sets the number of ticks between two snapshots for lockstep clients. A client that joins
    /// runs the ticks since the last snapshot.
    #[must_use]
    pub fn snapshot_interval_ticks(self, ticks: u32) -> Server {
        Server { lockstep: LockstepConfig { snapshot_ticks: ticks, ..self.lockstep }, ..self }
    }

    /// Sets the number of ticks between two checksums of lockstep clients.
    #[must_use]
    pub fn checksum_interval_ticks(self, ticks: u32) -> Server {
        Server { lockstep: LockstepConfig { checksum_ticks: ticks, ..self.lockstep }, ..self }
    }

    /// Sets the time for which a player stays in the world after its connection has ended, so that
    /// its client can resume; 30 seconds by default. With 0, players leave at once.
    #[must_use]
    pub fn resume_time(self, time: Duration) -> Server {
        Server { resume_time: time, ..self }
    }

    /// Trusts the header `X-Forwarded-For` of a proxy at this address, such as `127.0.0.1` or
    /// `10.0.0.0/8`. May be called several times. Limits and bans then apply to the client address
    /// in the header. A trusted address can claim any client address, so no client may connect from
    /// it.
    #[must_use]
    pub fn trusted_proxy(mut self, range: &str) -> Server {
        self.trusted_proxies.push(range.to_owned());
        self
    }

    /// Sets packet tables that replace the tables of the games, for example with another dialect.
    #[must_use]
    pub fn packet_tables(self, tables: PacketTables) -> Server {
        Server { packet_tables: Some(tables), ..self }
    }

    /// Sets the directory for the files of the operator commands `save` and `capture`; the current
    /// directory by default.
    #[must_use]
    pub fn save_dir(self, directory: impl Into<PathBuf>) -> Server {
        Server { save_dir: directory.into(), ..self }
    }

    /// Calls a function with each [event](ServerEvent) of the server's rooms: clients and players
    /// that come and go, and what the games report.
    ///
    /// It runs on a thread of its own, one event at a time, in the order of the events of a room,
    /// and may block, for example on a database. The worlds never wait for it. If more than
    /// 16,384 events are queued, further ones are dropped, counted in
    /// `tickwire_server_events_dropped_total` and logged. If it panics, the panic is logged, and it
    /// is called again with the next event. A stopping server waits for it, at most
    /// 5 seconds.
    ///
    /// It is not a part of the world: to change the world, it sends a command with
    /// [`RoomAccess::act`]. A replay calls no function.
    ///
    /// ```no_run
    /// # fn start<G: tickwire::game::Game>() -> Result<(), tickwire::StartError> {
    /// use tickwire::{Server, ServerEventKind};
    ///
    /// let server = Server::for_game::<G>().on_event(|event| match event.kind {
    ///     ServerEventKind::Joined(player) => println!("{} joined", player.name),
    ///     ServerEventKind::Reported(report) => println!("{}: {:?}", report.name, report.values),
    ///     _ => {}
    /// });
    /// # server.start().map(drop)
    /// # }
    /// ```
    #[must_use]
    pub fn on_event(self, hook: impl FnMut(ServerEvent) + Send + 'static) -> Server {
        Server { on_event: Some(EventHook::new(hook)), ..self }
    }

    /// Sets whether the server compares what it sends to its clients with a second world that it
    /// runs in lockstep. Differences are logged and counted in `tickwire_self_check_faults_total`.
    /// For tests: each checked client costs about as much as a bot.
    #[must_use]
    pub fn self_check(self, on: bool) -> Server {
        Server { self_check: on, ..self }
    }

    /// Sets whether the server accepts offers of permessage-deflate, as browsers make them. Off by
    /// default: it costs CPU time, and most packets are short.
    #[must_use]
    pub fn compression(self, on: bool) -> Server {
        Server { compression: on, ..self }
    }

    /// Sets how clients exchange datagrams with the server in addition to their WebSockets. If the
    /// UDP port cannot be used, the server logs it, and all clients play on their WebSockets alone.
    #[must_use]
    pub fn lane(self, mode: LaneMode) -> Server {
        Server { lane: mode, ..self }
    }

    /// Sets the public address of the UDP port of [`Server::lane`]: an IP address, with `:PORT` if
    /// the public port differs. Default: the local address of each client's WebSocket. Needed with
    /// NAT, a proxy or a container.
    #[must_use]
    pub fn udp_public(self, address: impl Into<String>) -> Server {
        Server { udp_public: Some(address.into()), ..self }
    }

    /// Sets the file to which the server appends the key of each lane, so that Wireshark can
    /// decrypt captured datagrams. For tests only: anyone with the file can read and forge
    /// datagrams.
    #[must_use]
    pub fn key_log(self, file: impl Into<PathBuf>) -> Server {
        Server { key_log: Some(file.into()), ..self }
    }

    /// Sets the module by which the page of a game predicts the local player: the file that the
    /// command `prediction` of a program with this game writes. By default, pages of games that are
    /// not built in have no prediction.
    #[must_use]
    pub fn prediction_module(self, bytes: &'static [u8]) -> Server {
        Server { prediction_module: Some(bytes), ..self }
    }

    /// Captures all traffic to this file, which must not exist yet, for Wireshark and
    /// [`capture`](crate::tools::capture).
    #[must_use]
    pub fn capture(self, file: impl Into<PathBuf>) -> Server {
        Server { capture: Some(file.into()), is_capture_plain: false, ..self }
    }

    /// As [`Server::capture`], with packets only, for tcpdump and other tools. Without the world,
    /// the capture cannot be replayed.
    #[must_use]
    pub fn capture_plain(self, file: impl Into<PathBuf>) -> Server {
        Server { capture: Some(file.into()), is_capture_plain: true, ..self }
    }

    /// Sets the size in millions of bytes, and optionally the age, of a capture file. The capture
    /// then continues in the next file: `a.pcapng` is followed by `a.1.pcapng`.
    #[must_use]
    pub fn capture_rotation(self, file_mb: u64, file_time: Option<Duration>) -> Server {
        let rotation = Rotation { bytes: file_mb.saturating_mul(1_000_000), time: file_time };
        Server { rotation, ..self }
    }
}
