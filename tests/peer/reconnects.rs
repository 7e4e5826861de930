//! Bots that reconnect with their resume key after their connection was lost, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tickwire::client::bots::BotStage;
use tickwire::client::connection::{ClientConnection, ConnectionKeys};
use tickwire::game::bots::BotSpec;
use tickwire::internal::server::embedded::{EmbeddedServer, Options, game};
use tickwire::internal::testing::load::checking_bot::{self, CheckingBot};
use tickwire::internal::testing::load::reconnects::Reconnects;
use tickwire::internal::testing::load::report::CrowdReport;
use tickwire::internal::util::netem::Conditions;
use tickwire::packet::PacketTables;

const STEP: Duration = Duration::from_millis(10);

fn keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] }
}

/// A server in virtual time, and a bot.
struct Line {
    server: EmbeddedServer,
    game: &'static str,
    now: Duration,
    connection: u32,
    bot: CheckingBot,
    reconnects: Reconnects,
}

impl Line {
    /// Lets a bot play on a server that keeps players for `resume_time`. Without a key, the bot does
    /// not reconnect.
    fn new(game_name: &'static str, resume_time: Duration, key: Option<[u8; 16]>) -> Line {
        let game = game(Some(game_name)).expect("a built-in game");
        let net = Conditions::default();
        let options = Options { game, seed: 5, bots: 2, began_us: 1_000_000, keys, net, resume_time };
        let mut server = EmbeddedServer::new(&options, Duration::ZERO).expect("its tables fit");
        let reconnects = Reconnects::new(key);
        let connection = server.open().expect("a place");
        let (client, dialect, agent) = parts(game_name, &reconnects);
        let mut bot = checking_bot::bot(client, dialect, agent);
        bot.observer.is_resuming = reconnects.has_key();
        let mut line = Line { server, game: game_name, now: Duration::ZERO, connection, bot, reconnects };
        line.run(Duration::from_secs(2));
        assert_eq!(line.bot.stage(), BotStage::Playing);
        line
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            self.server.advance(self.now);
            if self.reconnects.is_away() {
                continue;
            }
            let mut bytes = Vec::new();
            let is_open = self.server.take(self.connection, &mut bytes);
            self.bot.receive(&bytes, self.now);
            assert!(is_open, "the server closes no connection");
            self.bot.act(self.now);
            bytes.clear();
            self.bot.drain_output(&mut bytes);
            self.server.receive(self.connection, &bytes, self.now);
            self.reconnects.check_player(&mut self.bot);
        }
    }

    /// Cuts the connection. Returns whether the bot will reconnect.
    fn cut(&mut self) -> bool {
        self.server.close(self.connection, self.now);
        self.bot.receive_eof(Some("connection reset"), self.now);
        self.reconnects.on_closed(&mut self.bot, self.now)
    }

    fn reconnect(&mut self) {
        self.connection = self.server.open().expect("a place");
        let (client, dialect, agent) = parts(self.game, &self.reconnects);
        self.reconnects.reconnect(&mut self.bot, client, dialect, agent);
    }

    fn report(&self) -> CrowdReport {
        let tally = self.bot.observer.measurements.clone();
        CrowdReport { dialect: String::new(), bots: 1, playing: 1, time: self.now, tally }
    }
}

type Parts = (ClientConnection, Arc<tickwire::packet::Dialect>, Box<dyn tickwire::game::bots::Agent>);

/// A connection with the resume key, and a new agent.
fn parts(game_name: &str, reconnects: &Reconnects) -> Parts {
    let game = game(Some(game_name)).expect("a built-in game").info;
    let (path, name) = game.paths[0];
    let tables = PacketTables::from_texts(game.tables).expect("its tables");
    let dialect = tables.dialect(name).expect("its dialect");
    let connection = ClientConnection::new("tab", &reconnects.with_key(path), true, keys());
    let mut spec = BotSpec::new(Arc::clone(&dialect), 3);
    spec.is_checking = true;
    (connection, dialect, game.agent(&spec).expect("a bot"))
}

#[test]
fn a_bot_resumes_its_own_player_after_each_lost_connection() {
    for game in ["moo", "tanks"] {
        let mut line = Line::new(game, Duration::from_secs(30), Some([9; 16]));
        let player = line.bot.player();
        assert!(player.is_some());
        for _ in 0..3 {
            assert!(line.cut());
            assert!(!line.reconnects.is_due(line.now), "{game}: the first attempt is later");
            line.run(Duration::from_millis(250));
            assert!(line.reconnects.is_due(line.now));
            line.reconnect();
            line.run(Duration::from_secs(2));
            assert_eq!((line.bot.stage(), line.bot.player()), (BotStage::Playing, player), "{game}");
        }
        let (report, tally) = (line.report(), &line.bot.observer.measurements);
        assert_eq!((tally.lost, tally.resumed, tally.returns), (3, 3, 0), "{game}");
        assert!(report.passed(), "{game}: {report}");
        let expected = "reconnects    3 connections lost, 3 times a bot resumed its own player";
        assert!(report.to_string().contains(expected), "{report}");
        assert!(report.json().contains(r#""lost":3"#) && report.json().contains(r#""resumed":3"#));
    }
}

#[test]
fn a_bot_that_receives_another_player_is_an_error() {
    let mut line = Line::new("tanks", Duration::from_secs(1), Some([9; 16]));
    line.cut();
    line.run(Duration::from_secs(3));
    line.reconnect();
    line.run(Duration::from_secs(2));
    let report = line.report();
    assert!(report.to_string().contains("other_player 1"), "{report}");
    assert_eq!((line.bot.observer.measurements.resumed, report.passed()), (0, false));
}

#[test]
fn a_bot_without_a_key_does_not_reconnect_and_one_with_a_key_gives_up_after_a_while() {
    let mut line = Line::new("tanks", Duration::from_secs(30), None);
    assert!(!line.cut());
    assert!(line.report().to_string().contains("\"connection reset\" 1"), "{}", line.report());

    let mut line = Line::new("tanks", Duration::from_secs(30), Some([9; 16]));
    line.cut();
    let began = line.now;
    let mut attempts = 0;
    loop {
        line.now += STEP;
        if line.reconnects.is_due(line.now) {
            attempts += 1;
            if !line.reconnects.schedule(&mut line.bot, line.now) {
                break;
            }
        }
    }
    assert_eq!((line.now.saturating_sub(began).as_secs(), attempts), (10, 40));
    let report = line.report();
    assert!(!report.passed() && report.to_string().contains("\"lost, and not back in time\" 1"), "{report}");
}
