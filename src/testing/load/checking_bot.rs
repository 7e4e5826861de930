//! A bot that measures its traffic, and counts the faults that its agent finds.

use std::sync::Arc;
use std::time::Duration;

use super::report::Measurements;
use super::round_trip_agent::RoundTripAgent;
use crate::client::bots::{Bot, BotObserver};
use crate::client::connection::ClientConnection;
use crate::game::bots::{Agent, ServerFault, ViewStats};
use crate::packet::Dialect;

/// A bot that checks what it receives.
pub type CheckingBot = Bot<RoundTripAgent, MeasuringObserver>;

/// Observer of a bot: measures traffic and counts faults.
#[derive(Debug)]
pub struct MeasuringObserver {
    /// The bot's name, for the details of faults.
    name: String,
    /// Arrival time of the last update; `None` while no updates are expected.
    updated: Option<Duration>,
    /// Why the bot may reconnect, once its connection has ended.
    ending: Option<Ending>,
    /// Whether the bot reconnects after a lost connection.
    pub is_resuming: bool,
    /// The measurements of the bot.
    pub measurements: Measurements,
}

/// Recorded end of a connection to a server that stops.
pub const SERVER_AWAY: &str = "1001 going_away";
/// Recorded end of a connection that the server has refused for now, for example while a room moves
/// to another process.
const UNAVAILABLE: &str = "status 503";

/// An end of a connection after which a bot may reconnect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The server closed the connection because it stops.
    ServerAway,
    /// The connection of a bot with a resume key was lost.
    Lost,
    /// The server refused the connection of a bot with a resume key for now.
    Unavailable,
}

/// Creates a bot with this agent on a new connection.
pub fn bot(connection: ClientConnection, dialect: Arc<Dialect>, agent: Box<dyn Agent>) -> CheckingBot {
    let checked = MeasuringObserver {
        name: agent.name().to_owned(),
        updated: None,
        ending: None,
        is_resuming: false,
        measurements: Measurements::new(),
    };
    let agent = RoundTripAgent::new(agent, Arc::clone(&dialect));
    Bot::new(connection, dialect, agent, checked)
}

/// Creates a bot with this agent on a new connection. The bot continues the measurements of
/// `before`, the bot that it replaces.
pub fn returning(
    connection: ClientConnection,
    dialect: Arc<Dialect>,
    agent: Box<dyn Agent>,
    before: &mut CheckingBot,
) -> CheckingBot {
    let mut tally = std::mem::take(&mut before.observer.measurements);
    tally.stats.add(&before.agent.take_stats());
    tally.round_trips.merge(&before.agent.take_round_trips());
    let mut bot = bot(connection, dialect, agent);
    bot.observer.measurements = tally;
    bot
}

/// Starts the measured time. Earlier measurements are cleared; errors are retained.
pub fn begin(bot: &mut CheckingBot) {
    let MeasuringObserver { measurements: tally, updated, .. } = &mut bot.observer;
    tally.begin();
    // The players in view are recorded now, because a bot receives no update while nothing changes.
    tally.record_view(bot.agent.view_stats().visible_players);
    *updated = None;
    bot.agent.take_stats();
    bot.agent.take_round_trips();
}

impl MeasuringObserver {
    /// Takes why the bot may reconnect.
    pub fn take_ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }
}

impl BotObserver for MeasuringObserver {
    fn on_bytes(&mut self, received: usize, sent: usize) {
        self.measurements.bytes_in += received as u64;
        self.measurements.bytes_out += sent as u64;
    }

    fn on_sent(&mut self) {
        self.measurements.count_sent();
    }

    fn on_received(&mut self) {
        self.measurements.count_received();
    }

    fn on_view(&mut self, saw_update: bool, sight: ViewStats, now: Duration) {
        if saw_update {
            let gap = self.updated.replace(now).map(|before| now.saturating_sub(before));
            self.measurements.update(gap, sight.visible_players);
        }
        if sight.is_waiting {
            // The bot is dead and receives no updates, so this gap is not measured.
            self.updated = None;
        }
    }

    fn on_fault(&mut self, fault: ServerFault) {
        self.measurements.error(fault.rule, format!("{}, {}", self.name, fault.detail));
    }

    fn on_error(&mut self, name: &str, detail: String) {
        self.measurements.error(name, detail);
    }

    fn on_closed(&mut self, reason: &str) {
        self.ending = match reason {
            SERVER_AWAY => Some(Ending::ServerAway),
            UNAVAILABLE if self.is_resuming => Some(Ending::Unavailable),
            _ => None,
        };
        if self.ending.is_none() {
            self.measurements.disconnect(reason);
        }
    }

    fn on_lost(&mut self, reason: &str) {
        if self.is_resuming {
            self.ending = Some(Ending::Lost);
            self.measurements.lost += 1;
        } else {
            self.measurements.disconnect(reason);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::client::bots::BotStage;
    use crate::client::connection::ConnectionKeys;
    use crate::connection::session::has_hello;
    use crate::game::Game as _;
    use crate::game::bots::{BotBehavior, BotSpec};
    use crate::games::moo::Moo;
    use crate::limits;
    use crate::packet::{Direction, PacketTables, Value};
    use crate::testing::load::report::CrowdReport;
    use crate::ws::connection::{Connection, Role};
    use crate::ws::http::HeadReader;
    use crate::ws::{CloseCode, handshake};

    const NOW: Duration = Duration::from_secs(1);

    /// A bot that stands still, before its upgrade request.
    pub fn unconnected_bot(dialect: &Arc<Dialect>) -> CheckingBot {
        let keys = ConnectionKeys { upgrade: [1; 16], mask: || [1, 2, 3, 4] };
        let connection = ClientConnection::new("localhost:3000", "/", has_hello(dialect), keys);
        let spec = BotSpec {
            index: 3,
            count: 4,
            seed: 1,
            crowd_seed: 1,
            behavior: BotBehavior::Still,
            name: None,
            spares_visitors: false,
            is_checking: true,
            dialect: Arc::clone(dialect),
        };
        bot(connection, Arc::clone(dialect), Moo::INFO.agent(&spec).unwrap())
    }

    #[test]
    fn faults_and_the_end_of_a_connection_are_counted_by_name() {
        let dialect = PacketTables::builtin().dialect("legacy").unwrap();
        let mut bot = unconnected_bot(&dialect);
        let mut bytes = Vec::new();
        bot.drain_output(&mut bytes);
        let head = HeadReader::new(limits::HEAD_LIMITS).receive(&bytes).unwrap().unwrap();
        bot.receive(&handshake::accept(&head, &[]).unwrap().response, NOW);
        let mut server = Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS);
        let mut bytes = Vec::new();
        server.send_binary(&dialect.encode(Direction::ToClient, "setup", &[Value::from(4)]).unwrap());
        server.send_binary(b"\xc1");
        server.close(CloseCode::POLICY_VIOLATION, "message_rate");
        server.drain_output(&mut bytes);
        bot.receive(&bytes, NOW);
        assert_eq!(bot.stage(), BotStage::Closed);
        let tally = bot.observer.measurements.clone();
        let json = CrowdReport { dialect: String::new(), bots: 1, playing: 0, time: NOW, tally }.json();
        assert!(json.contains(r#""errors":{"packet_reserved_byte":1,"welcome_order":1}"#), "{json}");
        assert!(json.contains(r#""disconnects":{"1008 message_rate":1}"#), "{json}");
    }
}
