//! A bot inside the program: a client like any other, over a connection of its own. It leaves
//! visitors alone, who may be looking at their bytes instead of at the game.

use core::net::Ipv4Addr;
use std::time::Duration;

use crate::client::link::{Keys, Link};
use crate::games::moo::client::bot::{Bot, Stage};
use crate::games::moo::client::picture::Picture;
use crate::games::moo::client::play::{Meeting, Player};
use crate::packet::Codes;

/// Time between two looks of a bot at its picture.
const ACT_EVERY: Duration = Duration::from_millis(100);
/// How long a bot whose connection ended stays away.
const AWAY: Duration = Duration::from_secs(5);
/// Every bot has an address of its own, so that they share no rate limit: documentation addresses,
/// RFC 5737.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// The dialects of the bots, in turn.
const SPOKEN: [(&str, &str); 4] =
    [("native", "/play"), ("native", "/play"), ("legacy", "/moomoo"), ("letters", "/server")];

/// See the [module](self).
pub struct LocalBot {
    /// Its connection, if it has one.
    pub connection: Option<u32>,
    number: usize,
    seed: u64,
    meeting: Meeting,
    keys: fn() -> Keys,
    bot: Option<Bot<Picture>>,
    acts: Duration,
    comes: Duration,
}

impl LocalBot {
    /// The bot with this number, which decides by this seed.
    pub fn new(number: usize, seed: u64, meeting: Meeting, keys: fn() -> Keys) -> LocalBot {
        let (acts, comes) = (Duration::ZERO, Duration::ZERO);
        LocalBot { connection: None, number, seed, meeting, keys, bot: None, acts, comes }
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

    /// Whether its connection is no longer usable.
    pub fn is_over(&self) -> bool {
        self.bot.as_ref().is_some_and(|bot| bot.stage() == Stage::Over)
    }

    /// Comes again after a while, on another connection.
    pub fn come_again(&mut self, now: Duration) {
        (self.connection, self.bot) = (None, None);
        self.comes = now + AWAY;
    }

    fn begin(&self) -> Option<Bot<Picture>> {
        let (name, path) = SPOKEN[self.number % SPOKEN.len()];
        let dialect = Codes::builtin().dialect(name)?;
        let link = Link::new("tickwire", path, name == "native", (self.keys)());
        let policy = Box::new(Player::new(self.seed, self.meeting.clone()).sparing_visitors());
        Some(Bot::new(self.number, link, dialect, policy, Picture::new()))
    }
}
