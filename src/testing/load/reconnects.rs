//! The reconnects of a bot: after a stop of its server, or after its connection was lost.

use std::sync::Arc;
use std::time::Duration;

use super::checking_bot::{self, CheckingBot, Ending, SERVER_AWAY};
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
    /// The time of the next attempt.
    next: Option<Duration>,
    /// The time at which the bot gives up; `None` while it plays.
    until: Option<Duration>,
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
        Reconnects { key, next: None, until: None, expected: None, reason: SERVER_AWAY }
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
        self.next.is_some_and(|at| at <= now)
    }

    /// Appends the resume key to the target of an upgrade request.
    pub fn with_key(&self, target: &str) -> String {
        let Some(key) = &self.key else { return target.to_owned() };
        let separator = if target.contains('?') { '&' } else { '?' };
        format!("{target}{separator}{KEY_FIELD}={key}")
    }

    /// Handles the end of the bot's connection. Returns whether the bot will reconnect.
    pub fn on_closed(&mut self, bot: &mut CheckingBot, now: Duration) -> bool {
        match bot.observer.take_ending() {
            Some(Ending::ServerAway) => {
                self.expected = None;
                self.reason = SERVER_AWAY;
            }
            Some(Ending::Lost) => {
                // A connection that is lost before the bot has its player leaves the expectation.
                self.expected = bot.player().or(self.expected);
                self.reason = "lost, and not back in time";
            }
            Some(Ending::Unavailable) if self.until.is_none() => self.reason = "refused with status 503",
            Some(Ending::Unavailable) => {}
            None => return false,
        }
        self.schedule(bot, now)
    }

    /// Schedules the next attempt. Returns false if the time is over: the bot gives up.
    pub fn schedule(&mut self, bot: &mut CheckingBot, now: Duration) -> bool {
        if now < *self.until.get_or_insert(now + RECONNECT_TIMEOUT) {
            self.next = Some(now + RETRY_INTERVAL);
            return true;
        }
        self.next = None;
        bot.observer.measurements.disconnect(self.reason);
        false
    }

    /// Replaces the bot by one on a new connection, which continues its measurements.
    pub fn reconnect(
        &mut self,
        bot: &mut CheckingBot,
        connection: ClientConnection,
        dialect: Arc<Dialect>,
        mut agent: Box<dyn Agent>,
    ) {
        self.next = None;
        if self.expected.is_some() {
            agent.tolerate(Tolerance::Resumed);
        }
        let is_stop = self.reason == SERVER_AWAY;
        *bot = checking_bot::returning(connection, dialect, agent, bot);
        bot.observer.measurements.returns += u64::from(is_stop);
        bot.observer.is_resuming = self.has_key();
    }

    /// Compares the player of a reconnected bot with the one that it had, once it has one.
    pub fn check_player(&mut self, bot: &mut CheckingBot) {
        if bot.stage() != BotStage::Playing {
            return;
        }
        self.until = None;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;
    use crate::testing::load::checking_bot::tests::unconnected_bot;
    use crate::testing::load::report::CrowdReport;

    /// A bot with a resume key, whose connection is refused with status 503 at the time 0.
    fn refused_bot() -> CheckingBot {
        let dialect = PacketTables::builtin().dialect("native").unwrap();
        let mut bot = unconnected_bot(&dialect);
        bot.observer.is_resuming = true;
        bot.drain_output(&mut Vec::new());
        bot.receive(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", Duration::ZERO);
        assert_eq!(bot.stage(), BotStage::Closed);
        bot
    }

    #[test]
    fn a_refusal_for_now_is_retried_until_the_time_is_over() {
        let mut reconnects = Reconnects::new(Some([7; 16]));
        let mut bot = refused_bot();
        assert!(reconnects.on_closed(&mut bot, Duration::ZERO));
        assert!(!reconnects.is_due(Duration::ZERO) && reconnects.is_due(RETRY_INTERVAL));
        let mut again = refused_bot();
        assert!(reconnects.on_closed(&mut again, RECONNECT_TIMEOUT - RETRY_INTERVAL), "in time");
        let mut late = refused_bot();
        assert!(!reconnects.on_closed(&mut late, RECONNECT_TIMEOUT) && !reconnects.is_away());
        let by_reason = |bot: &CheckingBot| {
            let mut report = CrowdReport::new("native", Duration::ZERO);
            report.tally.merge(&bot.observer.measurements);
            report.disconnects_by_reason().keys().cloned().collect::<Vec<_>>()
        };
        assert!(by_reason(&bot).is_empty() && by_reason(&again).is_empty());
        assert_eq!(by_reason(&late), ["refused with status 503"]);
    }
}
