//! A bot inside the program: a client with its own connection. It does not attack visitors, because
//! they may be inspecting their bytes instead of playing.

use core::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use crate::client::bots::{Bot, BotStage};
use crate::client::connection::{ClientConnection, ConnectionKeys};
use crate::connection::session::has_hello;
use crate::game::GameInfo;
use crate::game::bots::{Agent, BotBehavior, BotSpec, BotStats};
use crate::packet::{PacketTables, routes};

/// Interval between two decisions of a bot.
const ACT_EVERY: Duration = Duration::from_millis(100);
/// Delay before a bot reconnects.
const RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// Address of the first bot. Bots of a room have different addresses, so that they share no rate
/// limit. The addresses are in a range for documentation (RFC 5737, section 3).
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// Number of addresses of this range. After it, the addresses repeat.
const ADDRESSES: u32 = 254;

/// A bot of a server in the same program.
pub struct LocalBot {
    /// The number of the bot's connection at an embedded server, if it has one.
    pub connection: Option<u32>,
    /// The name of its player. `None`: the default name of a bot.
    pub name: Option<String>,
    /// The name of its room in paths; empty for the default room.
    pub room: Arc<str>,
    game: &'static GameInfo,
    codes: Arc<PacketTables>,
    number: usize,
    /// The bot's seed, the number of bots, and the seed shared by all bots.
    seeds: (u64, usize, u64),
    keys: fn() -> ConnectionKeys,
    bot: Option<Bot<Box<dyn Agent>>>,
    acts_at: Duration,
    connects_at: Duration,
    /// Whether the bot checks received packets, which also enables its statistics.
    pub checks: bool,
    /// Statistics of the bot's closed connections.
    stats: BotStats,
}

impl LocalBot {
    /// Creates the bot with this number. `seeds` are its own seed, the number of bots, and the seed
    /// shared by all bots; they determine its decisions.
    pub fn new(
        (game, codes): (&'static GameInfo, Arc<PacketTables>),
        number: usize,
        seeds: (u64, usize, u64),
        keys: fn() -> ConnectionKeys,
    ) -> LocalBot {
        let (acts, comes) = (Duration::ZERO, Duration::ZERO);
        LocalBot {
            connection: None,
            name: None,
            room: "".into(),
            game,
            codes,
            number,
            seeds,
            keys,
            bot: None,
            acts_at: acts,
            connects_at: comes,
            checks: false,
            stats: BotStats::default(),
        }
    }

    /// Returns the number of the bot.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the bot's address.
    pub fn ip(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(FIRST.to_bits() + self.number as u32 % ADDRESSES)
    }

    /// Starts the bot's connection. Returns the bytes of its request; none if the tables lack its
    /// dialect.
    pub fn request(&mut self, now: Duration) -> Vec<u8> {
        let mut request = Vec::new();
        self.receive(&[], true, now);
        self.act(now, &mut request);
        request
    }

    /// Returns whether the bot still waits before a reconnect.
    pub fn is_waiting(&self, now: Duration) -> bool {
        now < self.connects_at
    }

    /// Processes bytes from the server. `goes_on` is false if the server has closed the connection.
    pub fn receive(&mut self, bytes: &[u8], goes_on: bool, now: Duration) {
        if self.bot.is_none() {
            self.bot = self.begin();
        }
        let Some(bot) = &mut self.bot else { return };
        bot.receive(bytes, now);
        if !goes_on {
            bot.receive_eof(None, now);
        }
    }

    /// Lets the bot act if its interval has passed, and appends its bytes for the server to `out`.
    pub fn act(&mut self, now: Duration, out: &mut Vec<u8>) {
        let Some(bot) = &mut self.bot else { return };
        if now >= self.acts_at {
            self.acts_at = now + ACT_EVERY;
            bot.act(now);
        }
        bot.drain_output(out);
    }

    /// Adds the bot's statistics since the last call.
    pub fn add_stats(&mut self, all: &mut BotStats) {
        all.add(&self.stats);
        self.stats = BotStats::default();
        if let Some(bot) = &mut self.bot {
            all.add(&bot.agent.take_stats());
        }
    }

    /// Returns whether the bot's connection is no longer usable.
    pub fn is_over(&self) -> bool {
        self.bot.as_ref().is_some_and(|bot| bot.stage() == BotStage::Closed)
    }

    /// Drops the bot's connection, and schedules the reconnect.
    pub fn reconnect_later(&mut self, now: Duration) {
        if let Some(mut bot) = self.bot.take() {
            self.stats.add(&bot.agent.take_stats());
        }
        self.connection = None;
        self.connects_at = now + RECONNECT_DELAY;
    }

    fn begin(&self) -> Option<Bot<Box<dyn Agent>>> {
        let (path, name) = self.place();
        let dialect = self.codes.dialect(name)?;
        let target = routes::room_path(&self.room) + path.trim_start_matches('/');
        let connection = ClientConnection::new("tickwire", &target, has_hello(&dialect), (self.keys)());
        let (seed, count, crowd_seed) = self.seeds;
        let agent = self.game.agent(&BotSpec {
            index: self.number,
            count,
            seed,
            crowd_seed,
            behavior: BotBehavior::Play,
            name: self.name.clone(),
            // A checking bot may attack every player, because all players are bots.
            spares_visitors: !self.checks,
            is_checking: self.checks,
            dialect: Arc::clone(&dialect),
        })?;
        Some(Bot::new(connection, dialect, agent, ()))
    }

    /// Returns the path and the dialect. Every second bot uses the game's first path; the other
    /// bots cycle through the game's other paths.
    fn place(&self) -> (&'static str, &'static str) {
        let (half, paths) = (self.number / 2, self.game.paths);
        match self.number % 2 {
            1 if paths.len() > 1 => paths[1 + half % (paths.len() - 1)],
            _ => paths[0],
        }
    }
}
