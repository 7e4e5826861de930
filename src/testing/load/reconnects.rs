//! The reconnects of a bot: after a stop of its server, or after its connection was lost.

use std::sync::Arc;
use std::time::Duration;

use super::checking_bot::{self, CheckingBot, SERVER_AWAY};
use crate::client::bots::BotStage;
use crate::client::connection::ClientConnection;
use crate::game::bots::{Agent, Tolerance};
use crate::packet::Dialect;
use crate::packet::credentials::KEY_FIELD;

/// Time between two attempts to reconnect.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Time within which a reconnect must succeed. After this time the connection counts as ended by
/// the server.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Rule of an error of a bot that received another player after a reconnect.
const OTHER_PLAYER: &str = "other_player";

/// The reconnects of one bot.
#[derive(Debug)]
pub struct Reconnects {
    /// The resume key. `None` for a bot that does not reconnect after a lost connection.
    key: Option<String>,
    /// The time of the next attempt, and the time at which the bot gives up.
    next: Option<(Duration, Duration)>,
    /// The player that the bot must receive after its reconnect.
    expected: Option<u16>,
    /// Why the bot is away.
    reason: &'static str,
}

impl Reconnects {
    /// Creates the reconnects of a bot: after a stop of the server only, or with a key also after a
    /// lost connection.
    pub fn new(key: Option<[u8; 16]>) -> Reconnects {
        let key = key.map(|key| format!("{:032x}", u128::from_be_bytes(key)));
        Reconnects { key, next: None, expected: None, reason: SERVER_AWAY }
    }

    /// Whether the bot reconnects after a lost connection.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Whether the bot waits for a reconnect.
    pub fn is_away(&self) -> bool {
        self.next.is_some()
    }

    /// Whether the bot waits for a server that has stopped.
    pub fn is_server_away(&self) -> bool {
        self.is_away() && self.reason == SERVER_AWAY
    }

    /// Whether an attempt to reconnect is due.
    pub fn is_due(&self, now: Duration) -> bool {
        self.next.is_some_and(|(at, _)| at <= now)
    }

    /// Appends the resume key to the target of an upgrade request.
    pub fn with_key(&self, target: &str) -> String {
        let Some(key) = &self.key else { return target.to_owned() };
        let sign = if target.contains('?') { '&' } else { '?' };
        format!("{target}{sign}{KEY_FIELD}={key}")
    }

    /// Handles the end of the bot's connection. Returns whether the bot will reconnect.
    pub fn on_closed(&mut self, bot: &mut CheckingBot, now: Duration) -> bool {
        let (is_away, is_lost) = bot.observer.take_ending();
        if is_away {
            self.expected = None;
            self.reason = SERVER_AWAY;
        } else if is_lost {
            // A connection that is lost before the bot has its player leaves the expectation.
            self.expected = bot.player().or(self.expected);
            self.reason = "lost, and not back in time";
        } else {
            return false;
        }
        self.next = Some((now + RETRY_INTERVAL, now + RECONNECT_TIMEOUT));
        true
    }

    /// Replaces the bot by one on a new connection, which continues its measurements.
    pub fn reconnect(
        &mut self,
        bot: &mut CheckingBot,
        link: ClientConnection,
        dialect: Arc<Dialect>,
        mut agent: Box<dyn Agent>,
    ) {
        self.next = None;
        if self.expected.is_some() {
            agent.tolerate(Tolerance::Resumed);
        }
        let is_stop = self.reason == SERVER_AWAY;
        *bot = checking_bot::returning(link, dialect, agent, bot);
        bot.observer.measurements.returns += u64::from(is_stop);
        bot.observer.is_resuming = self.has_key();
    }

    /// Schedules the next attempt after a failed one. Returns false if the time is over: the bot
    /// gives up.
    pub fn on_failed(&mut self, bot: &mut CheckingBot, now: Duration) -> bool {
        let until = self.next.take().map_or(now, |(_, until)| until);
        if now < until {
            self.next = Some((now + RETRY_INTERVAL, until));
            return true;
        }
        bot.observer.measurements.disconnect(self.reason);
        false
    }

    /// Compares the player of a reconnected bot with the one that it had, once it has one.
    pub fn check_player(&mut self, bot: &mut CheckingBot) {
        if bot.stage() != BotStage::Playing {
            return;
        }
        let Some((expected, player)) = self.expected.zip(bot.player()) else { return };
        self.expected = None;
        if player == expected {
            bot.observer.measurements.resumed += 1;
        } else {
            let detail = format!(
                "player {player} instead of {expected}: --resume-seconds of the server must be longer than the absence"
            );
            bot.observer.measurements.error(OTHER_PLAYER, detail);
        }
    }
}
