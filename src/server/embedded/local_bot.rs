//! A bot inside the program: a client like any other, over a connection of its own. It leaves
//! visitors alone, who may be looking at their bytes instead of at the game.

use core::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use crate::client::bots::{Bot, BotStage};
use crate::client::connection::{ClientConnection, ConnectionKeys};
use crate::connection::session::says_hello;
use crate::game::GameInfo;
use crate::game::bots::{Agent, BotBehavior, BotSpec, BotStats};
use crate::packet::PacketTables;

/// Time between two looks of a bot at its picture.
const ACT_EVERY: Duration = Duration::from_millis(100);
/// How long a bot whose connection ended stays away.
const RECONNECT_DELAY: Duration = Duration::from_secs(5);
/// Every bot has an address of its own, so that they share no rate limit: documentation addresses,
/// RFC 5737.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// See the [module](self).
pub struct LocalBot {
    /// Its connection, if it has one.
    pub connection: Option<u32>,
    game: &'static GameInfo,
    codes: Arc<PacketTables>,
    number: usize,
    /// Its own seed, the number of bots, and the seed that all share.
    seeds: (u64, usize, u64),
    keys: fn() -> ConnectionKeys,
    bot: Option<Bot<Box<dyn Agent>>>,
    acts: Duration,
    comes: Duration,
    /// Whether it checks what it is told, which also counts what it does.
    pub checks: bool,
    /// What it did over connections that have ended.
    deeds: BotStats,
}

impl LocalBot {
    /// The bot with this number of a game: its own seed, the number of bots, and the seed that all
    /// of them share decide what it does.
    pub fn new(
        (game, codes): (&'static GameInfo, Arc<PacketTables>),
        number: usize,
        seeds: (u64, usize, u64),
        keys: fn() -> ConnectionKeys,
    ) -> LocalBot {
        let (acts, comes) = (Duration::ZERO, Duration::ZERO);
        LocalBot {
            connection: None,
            game,
            codes,
            number,
            seeds,
            keys,
            bot: None,
            acts,
            comes,
            checks: false,
            deeds: BotStats::default(),
        }
    }

    /// Its address.
    pub fn ip(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(FIRST.to_bits() + self.number as u32)
    }

    /// Whether it stays away for a while.
    pub fn is_away(&self, now: Duration) -> bool {
        now < self.comes
    }

    /// Takes bytes of the server, which ended the connection unless it `goes_on`.
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

    /// Acts if it is time to, and puts its bytes for the server at the end of `out`.
    pub fn act(&mut self, now: Duration, out: &mut Vec<u8>) {
        let Some(bot) = &mut self.bot else { return };
        if now >= self.acts {
            self.acts = now + ACT_EVERY;
            bot.act(now);
        }
        bot.drain_output(out);
    }

    /// Adds what it has done since the last call.
    pub fn add_deeds(&mut self, all: &mut BotStats) {
        all.add(&self.deeds);
        self.deeds = BotStats::default();
        if let Some(bot) = &mut self.bot {
            all.add(&bot.agent.take_deeds());
        }
    }

    /// Whether its connection is no longer usable.
    pub fn is_over(&self) -> bool {
        self.bot.as_ref().is_some_and(|bot| bot.stage() == BotStage::Closed)
    }

    /// Comes again after a while, on another connection.
    pub fn reconnect_later(&mut self, now: Duration) {
        if let Some(mut bot) = self.bot.take() {
            self.deeds.add(&bot.agent.take_deeds());
        }
        self.connection = None;
        self.comes = now + RECONNECT_DELAY;
    }

    fn begin(&self) -> Option<Bot<Box<dyn Agent>>> {
        let (path, name) = self.place();
        let dialect = self.codes.dialect(name)?;
        let link = ClientConnection::new("tickwire", path, says_hello(&dialect), (self.keys)());
        let (seed, count, crowd_seed) = self.seeds;
        let agent = self.game.agent(&BotSpec {
            index: self.number,
            count,
            seed,
            crowd_seed,
            behavior: BotBehavior::Play,
            // Who checks is among bots alone.
            spares_visitors: !self.checks,
            is_checking: self.checks,
            dialect: Arc::clone(&dialect),
        })?;
        Some(Bot::new(link, dialect, agent, ()))
    }

    /// The path and the dialect: every other bot is at the game's first path, and the others are at
    /// the rest of them in turn.
    fn place(&self) -> (&'static str, &'static str) {
        let (half, paths) = (self.number / 2, self.game.paths);
        match self.number % 2 {
            1 if paths.len() > 1 => paths[1 + half % (paths.len() - 1)],
            _ => paths[0],
        }
    }
}
