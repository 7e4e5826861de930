//! A whole server inside another program, such as a page in a browser: one room with its game,
//! connections over memory, bots, and `/wire`.
//!
//! ```text
//!  program: open, receive ─► connection ─► head ─┬─► client ─► room ─► updates ───┐
//!                                                └─► inspector ◄─ observed bytes ─┤
//!           take ◄────────────────────────────────────────────────────────────────┘
//!           advance(now) ─► ticks, bots, deadlines
//! ```
//!
//! [`host`](super::host) implements the connections and the updates. The server has neither clock
//! nor threads. The program calls [`EmbeddedServer::advance`] when the next tick is due, and then
//! takes the bytes for each of its connections. A bot is an ordinary client with its own
//! connection.

mod memory_transport;
mod netem;

use core::net::{Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use memory_transport::MemoryTransport;
use netem::ConnectionNetem;
use tickwire_sim::EncodedAction;

use crate::client::connection::ConnectionKeys;
use crate::game::bots::{BotStats, names};
use crate::game::{BotRng, DynTick, Game, UpdateRates};
use crate::limits;
use crate::packet::PacketTables;
use crate::server::admission::Capacity;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::bots::LocalBot;
use crate::server::clients::client::Client;
use crate::server::clients::dyn_room::{DynRoom, GameFactory as KindOf};
use crate::server::clients::update_group::{UpdateFn, UpdateRunner};
use crate::server::host::connection::HostConnection;
use crate::server::host::{HostState, NoObserver};
use crate::server::room::lockstep::{LockstepAccess, LockstepConfig};
use crate::server::room::{RoomConfig as RoomOptions, TickRequest};
use crate::util::netem::Conditions;

/// The address of the program's own connections.
const LOCAL_ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Updates per second of clients with dialects other than the native one.
const FOREIGN_HZ: u32 = 10;

/// Makes rooms of one game for an embedded server.
pub type EmbeddedGameFactory = KindOf<MemoryTransport>;

/// The game that the program has registered.
static REGISTERED: OnceLock<EmbeddedGameFactory> = OnceLock::new();

/// Registers the program's own game. Only the first call has an effect.
pub fn register<G: Game>() {
    let _ = REGISTERED.set(EmbeddedGameFactory::for_game::<G>());
}

/// Returns the game of this name: the registered one or a built-in one. Without a name, returns the
/// registered one, or else the default game.
pub fn game(name: Option<&str>) -> Option<EmbeddedGameFactory> {
    let mut games = REGISTERED.get().copied().into_iter().chain(EmbeddedGameFactory::all());
    match name {
        None => games.next(),
        Some(name) => games.find(|factory| factory.info.name == name),
    }
}

/// Settings of an embedded server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The game.
    pub game: EmbeddedGameFactory,
    /// Seed of the world and of the bots.
    pub seed: u32,
    /// Number of bots, limited to [`limits::EMBEDDED_BOTS`].
    pub bots: usize,
    /// The time of day at time zero of the program's clock, in microseconds since 1970.
    pub began_us: u64,
    /// Makes the keys of each bot's connection.
    pub keys: fn() -> ConnectionKeys,
    /// Simulated network conditions of the program's own connections.
    pub net: Conditions,
    /// How long a player without a connection stays, so that its client may resume it.
    pub resume_time: Duration,
}

/// Counters for display.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Ticks completed.
    pub tick: u32,
    /// Connected clients, including bots.
    pub clients: usize,
    /// Players in the world.
    pub players: usize,
    /// Ticks skipped because the program called too late.
    pub skipped_ticks: u64,
}

/// A recorded tick, for comparing worlds.
#[derive(Debug)]
pub struct TickRecord {
    /// Ticks completed before this one.
    pub tick: u32,
    /// The checksum of the world before the tick.
    pub checksum: u64,
    /// The commands of the tick, as a command frame.
    pub frame: Arc<[u8]>,
    /// The snapshot before the tick.
    pub snapshot: Arc<[u8]>,
    /// The published state and events after the tick.
    pub published: Arc<dyn DynTick>,
}

/// A server driven by its program: no threads, sockets or clock.
pub struct EmbeddedServer {
    host: HostState<MemoryTransport>,
    room: Box<dyn DynRoom<MemoryTransport>>,
    connections: BTreeMap<u32, HostConnection<MemoryTransport>>,
    last_connection: u32,
    bots: Vec<LocalBot>,
    net: ConnectionNetem,
    /// Start of the schedule, and the number of ticks since then. Restarts after skipped ticks.
    schedule: (Duration, u32),
    /// Ticks per second. Native clients get this many updates per second.
    tick_hz: u32,
    stats: Stats,
    /// Ticks recorded since the last call of `take_recorded`. `None` if recording is off.
    recorded: Option<Vec<TickRecord>>,
}

impl EmbeddedServer {
    /// Creates a server with its clock at `now`.
    ///
    /// # Errors
    /// The reason why the packet tables of the game are unusable.
    pub fn new(options: &Options, now: Duration) -> Result<EmbeddedServer, String> {
        let game = options.game;
        let codes = PacketTables::from_texts(game.info.tables).map_err(|error| error.to_string())?;
        game.info.check_tables(&codes).map_err(|error| error.to_string())?;
        let identity = (game.info.identity)(options.seed);
        let tick_hz = identity.tick_hz;
        let mut rng = BotRng::new(u64::from(options.seed) ^ options.began_us);
        let room = (game.new_room)(
            &identity,
            RoomOptions {
                name: "".into(),
                epoch: format!("{:016x}", rng.bits()),
                // The page and its server share one browser, which can read both.
                secret: options.began_us,
                rates: UpdateRates { tick_hz, update_hz: tick_hz, foreign_hz: FOREIGN_HZ },
                delay_ticks: 0,
                resume_time: options.resume_time,
                absent_per_address: usize::MAX,
                max_clients: usize::MAX,
                lockstep: LockstepConfig { access: LockstepAccess::Open, ..LockstepConfig::default() },
            },
        );
        let rooms = vec![Arc::clone(room.handle())];
        let host = HostState {
            now,
            began_us: options.began_us,
            ..HostState::new(game, codes, rooms, Capacity::default(), 1)
        };
        let crowd_seed = rng.bits();
        let mut bots: Vec<LocalBot> = Vec::new();
        for number in 0..options.bots.min(limits::EMBEDDED_BOTS) {
            let seeds = (rng.bits(), options.bots, crowd_seed);
            let game = (game.info, Arc::clone(&host.codes));
            let is_taken = |name: &str| bots.iter().any(|bot| bot.name.as_deref() == Some(name));
            let name = names::choose(&mut rng, is_taken).map(str::to_owned);
            let mut bot = LocalBot::new(game, number, seeds, options.keys);
            bot.name = name;
            bots.push(bot);
        }
        Ok(EmbeddedServer {
            host,
            room,
            connections: BTreeMap::new(),
            last_connection: 0,
            bots,
            net: ConnectionNetem::new(options.net, options.seed),
            schedule: (now, 0),
            tick_hz,
            stats: Stats::default(),
            recorded: None,
        })
    }

    /// Opens a connection from the program to the server, and returns the connection's number. The
    /// first bytes must be an HTTP request. Returns `None` beyond [`limits::EMBEDDED_CONNECTIONS`]
    /// or if the connection is refused.
    pub fn open(&mut self) -> Option<u32> {
        let number = self.open_from(LOCAL_ADDRESS)?;
        self.net.open(number);
        Some(number)
    }

    fn open_from(&mut self, ip: Ipv4Addr) -> Option<u32> {
        if self.connections.len() >= limits::EMBEDDED_CONNECTIONS {
            return None;
        }
        self.last_connection += 1;
        let number = self.last_connection;
        // The ephemeral port range of RFC 6335, section 6.
        let address = SocketAddr::from((ip, 49_152 + (number % 16_384) as u16));
        let line = MemoryTransport::new(&self.host.clients.inspector_queues);
        self.connections.insert(number, HostConnection::accept(address, line, &self.host).ok()?);
        Some(number)
    }

    /// Processes bytes from the other end of a connection.
    pub fn receive(&mut self, connection: u32, bytes: &[u8], now: Duration) {
        self.host.set_now(now);
        if let Some(link) = self.net.link(connection) {
            link.up.write(bytes, self.host.now);
            self.transfer(connection);
        } else if let Some(connection) = self.connections.get_mut(&connection) {
            connection.receive(bytes, &mut self.host, &mut NoObserver);
        }
    }

    /// Processes a datagram from the other end of a connection's lane.
    pub fn receive_datagram(&mut self, connection: u32, datagram: Vec<u8>, now: Duration) {
        self.host.set_now(now);
        if let Some(link) = self.net.datagrams(connection) {
            link.up.send(datagram, self.host.now);
            self.transfer_datagrams(connection);
        }
    }

    /// Takes the next datagram for the other end of a connection's lane.
    pub fn take_datagram(&mut self, connection: u32) -> Option<Vec<u8>> {
        self.transfer_datagrams(connection);
        self.net.datagrams(connection)?.down.receive(self.host.now)
    }

    /// Moves arrived datagrams of a connection to the server, and the server's datagrams to the
    /// link.
    fn transfer_datagrams(&mut self, number: u32) {
        let now = self.host.now;
        let Some(link) = self.net.datagrams(number) else { return };
        let Some(connection) = self.connections.get(&number) else { return };
        while let Some(datagram) = link.up.receive(now) {
            connection.receive_datagram((&datagram, None), &self.host, &mut NoObserver);
        }
        for datagram in connection.line.take_datagrams() {
            link.down.send(datagram, now);
        }
    }

    /// Changes the network conditions of the program's connections for all bytes sent from now on.
    pub fn set_netem(&mut self, conditions: Conditions) {
        self.net.change(conditions);
    }

    /// Moves arrived bytes from a connection's link to the server, and the server's bytes to the
    /// link.
    fn transfer(&mut self, number: u32) {
        let now = self.host.now;
        let Some(link) = self.net.link(number) else { return };
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut bytes = Vec::new();
        link.up.read(now, &mut bytes);
        if !bytes.is_empty() {
            connection.receive(&bytes, &mut self.host, &mut NoObserver);
        }
        if connection.is_inspector() {
            self.net.set_inspector(number);
        }
        // Under ideal conditions there is no link, and the bytes stay in the connection.
        let Some(link) = self.net.link(number) else { return };
        if link.down.writable_bytes(now) > 0 {
            bytes.clear();
            connection.flush_inspector();
            connection.line.take(&mut bytes);
            link.down.write(&bytes, now);
        }
    }

    /// Closes a connection at the other end. Bytes in transit to the server still arrive.
    pub fn close(&mut self, connection: u32, now: Duration) {
        self.host.set_now(now);
        let rest = self.net.close(connection);
        if let Some(mut connection) = self.connections.remove(&connection) {
            if !rest.is_empty() {
                connection.receive(&rest, &mut self.host, &mut NoObserver);
            }
            connection.on_disconnected(&mut self.host, &mut NoObserver);
        }
    }

    /// Moves the bytes for the other end of a connection to the end of `into`. Returns false if the
    /// connection has ended and no bytes remain.
    pub fn take(&mut self, connection: u32, into: &mut Vec<u8>) -> bool {
        self.transfer(connection);
        let Some(found) = self.connections.get_mut(&connection) else { return false };
        match self.net.link(connection) {
            Some(link) => _ = link.down.read(self.host.now, into),
            None => {
                found.flush_inspector();
                found.line.take(into);
            }
        }
        let is_over = has_ended(found) && self.net.is_drained(connection);
        if is_over {
            self.connections.remove(&connection);
            self.net.close(connection);
        }
        !is_over
    }

    /// Returns whether a connection is open or has bytes left to take.
    pub fn is_open(&self, connection: u32) -> bool {
        let found = self.connections.get(&connection);
        found.is_some_and(|found| !has_ended(found) || !self.net.is_drained(connection))
    }

    /// Runs everything that is due: ticks, bots, deadlines, inspectors and arriving bytes. Returns
    /// the time until the next call is due.
    pub fn advance(&mut self, now: Duration) -> Duration {
        self.host.set_now(now);
        let now = self.host.now;
        for _ in 0..limits::EMBEDDED_MAX_CATCH_UP_TICKS {
            if self.next_tick() > now {
                break;
            }
            self.schedule.1 += 1;
            self.tick();
        }
        if self.next_tick() <= now {
            // The program was suspended, for example on a sleeping laptop. The world continues
            // without the skipped ticks.
            let late = now.saturating_sub(self.next_tick());
            self.stats.skipped_ticks += 1 + late.as_nanos() as u64 * u64::from(self.tick_hz) / 1_000_000_000;
            self.schedule = (now, 1);
        }
        for number in self.net.numbers() {
            self.transfer(number);
            self.transfer_datagrams(number);
        }
        self.net.next(now).map_or(self.next_tick(), |next| next.min(self.next_tick())).saturating_sub(now)
    }

    /// Starts recording ticks. Also makes the bots check received packets and collect statistics.
    pub fn record(&mut self) {
        self.recorded.get_or_insert_default();
        self.bots.iter_mut().for_each(|bot| bot.checks = true);
    }

    /// Takes the ticks recorded since the last call.
    pub fn take_recorded(&mut self) -> Vec<TickRecord> {
        self.recorded.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Queues an operator command for the next tick.
    pub fn queue_operator_action(&self, action: EncodedAction) {
        self.room.handle().push_operator(vec![action]);
    }

    /// Drops a bot's connection. The bot reconnects after a delay.
    pub fn disconnect_bot(&mut self, which: usize) {
        let (now, count) = (self.host.now, self.bots.len().max(1));
        let Some(bot) = self.bots.get_mut(which % count) else { return };
        let connection = bot.connection;
        bot.reconnect_later(now);
        if let Some(connection) = connection {
            self.close(connection, now);
        }
    }

    /// Takes the statistics of the bots since the last call.
    pub fn take_stats(&mut self) -> BotStats {
        let mut all = BotStats::default();
        self.bots.iter_mut().for_each(|bot| bot.add_stats(&mut all));
        all
    }

    /// Returns the counters.
    pub fn stats(&self) -> Stats {
        let (tick, clients) = (self.room.handle().tick(), self.host.clients.listed.len());
        Stats { tick, clients, ..self.stats }
    }

    fn next_tick(&self) -> Duration {
        let (from, ticks) = self.schedule;
        from + Duration::from_nanos(u64::from(ticks) * 1_000_000_000 / u64::from(self.tick_hz))
    }

    fn tick(&mut self) {
        let is_recorded = self.recorded.is_some();
        let wants = TickRequest {
            frame: is_recorded,
            checksum: is_recorded,
            snapshot: is_recorded,
            ..TickRequest::default()
        };
        let ticked = self.room.tick(self.host.now, wants);
        if let (Some(recorded), Some(frame), Some(checksum), Some(snapshot)) =
            (&mut self.recorded, &ticked.frame, ticked.checksum, &ticked.snapshot)
        {
            let (frame, snapshot) = (Arc::clone(frame), Arc::clone(&snapshot.bytes));
            let published = Arc::clone(&ticked.published);
            recorded.push(TickRecord { tick: ticked.tick, checksum, frame, snapshot, published });
        }
        self.stats.players = ticked.published.players();
        let HostState { workers, address_limits, now, .. } = &mut self.host;
        for worker in workers {
            worker.push_tick(0, &ticked.published, ticked.acks.clone());
            if let Some(backlog) = worker.take_backlog(0) {
                worker.run_pass(0, &backlog, *now, &mut DirectRunner(*now, address_limits));
            }
        }
        self.step_bots();
        for connection in self.connections.values_mut() {
            connection.end_if_closed(&self.host, &mut NoObserver);
            connection.poll(&mut self.host, &mut NoObserver);
        }
    }

    /// Lets each bot receive, act and send.
    fn step_bots(&mut self) {
        let mut bots = std::mem::take(&mut self.bots);
        let now = self.host.now;
        let mut bytes = Vec::new();
        for bot in bots.iter_mut().filter(|bot| !bot.is_waiting(now)) {
            let Some(connection) = bot.connection.or_else(|| self.open_from(bot.ip())) else { continue };
            bot.connection = Some(connection);
            bytes.clear();
            let goes_on = self.take(connection, &mut bytes);
            bot.receive(&bytes, goes_on, now);
            bytes.clear();
            bot.act(now, &mut bytes);
            if !bytes.is_empty() {
                self.receive(connection, &bytes, now);
            }
            if bot.is_over() {
                self.close(connection, now);
                bot.reconnect_later(now);
            }
        }
        self.bots = bots;
    }
}

/// Returns whether a connection is over and all of its bytes were taken.
fn has_ended(connection: &HostConnection<MemoryTransport>) -> bool {
    connection.is_over() && connection.line.is_empty()
}

/// Runs updates with one fixed time. Does not catch panics, because the program has no other thread
/// to continue.
struct DirectRunner<'a>(Duration, &'a AddressRateLimits);

impl UpdateRunner<MemoryTransport> for DirectRunner<'_> {
    fn now(&self) -> Duration {
        self.0
    }

    fn run(&mut self, _: &Client<MemoryTransport>, update: &mut UpdateFn<'_>) -> bool {
        update(self.1);
        true
    }
}

#[cfg(test)]
mod tests;
