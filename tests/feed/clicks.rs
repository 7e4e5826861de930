//! What comes of a client's own bytes, from the message to the world and back, without a socket: clicks that begin and end in one
//! segment, and choices that the game does not have.

use std::time::Duration;

use tickwire::game::Game as _;
use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::internal::connection::session::{Session, SessionOutput};
use tickwire::internal::games::moo::client_packet::ClientPacket;
use tickwire::internal::games::moo::world::{
    Action, AnimalKind, Command, Identity, PlayerId, Spawned, TickHz, World, WorldEvent,
};
use tickwire::internal::games::moo::{Moo, MooPublisher};
use tickwire::packet::{Direction, PacketTables, Value};

use crate::told::Client;

const DIALECTS: [&str; 5] = ["native", "legacy", "letters-2023", "letters-2024", "letters"];
const OWN: u16 = 1;
/// The hammer's reload in ticks of the usual rate.
const RELOAD_TICKS: u32 = 9;

/// A world with one player in it, its session and what it is told.
struct Game {
    world: World,
    publisher: MooPublisher,
    session: Session,
    client: Client,
    dialect: &'static str,
    sequence: u32,
}

impl Game {
    fn new(dialect: &'static str) -> Game {
        let mut world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 });
        let join = Action::Join { player: PlayerId(OWN), name: "ann".to_owned(), skin: 0 };
        world.step(&mut vec![Command { player: PlayerId(0), sequence: 1, action: join }]);
        let mut session =
            Session::new(Moo::INFO, &PacketTables::builtin().dialect(dialect).expect("built in"));
        session.set_player(PlayerId(OWN));
        Game { world, publisher, session, client: Client::new(OWN, dialect), dialect, sequence: 0 }
    }

    /// The client's messages of one segment, as bytes, become commands of one tick.
    fn tick(&mut self, messages: &[Vec<u8>]) {
        let dialect = PacketTables::builtin().dialect(self.dialect).expect("built in");
        let (mut outputs, now) = (Vec::new(), Duration::from_millis(u64::from(self.world.tick()) * 33));
        for message in messages {
            let decoded = dialect.decode(Direction::ToServer, message).expect("a message of the dialect");
            self.session.handle(&decoded, now, Duration::ZERO, &mut outputs).expect("no breach");
        }
        let command = |output| match output {
            SessionOutput::Command(command, ..) => command.decoded().expect("an action of the game"),
            other => panic!("{other:?}"),
        };
        self.world.step(&mut outputs.into_iter().map(command).collect());
        let published = self.publisher.publish(&self.world, &|_| 0);
        self.client.hear(&published);
    }

    fn said(&mut self, packet: impl Fn(Option<u32>) -> ClientPacket<'static>) -> Vec<u8> {
        self.sequence += 1;
        let sequence = Some(self.sequence).filter(|_| self.dialect == "native");
        packet(sequence).encode(&PacketTables::builtin().dialect(self.dialect).expect("built in"))
    }

    /// Press and release.
    fn click(&mut self) -> Vec<Vec<u8>> {
        let attack = |state| {
            move |sequence| ClientPacket::Attack { sequence, tick: None, state, heading: Some(0x8000) }
        };
        vec![self.said(attack(true)), self.said(attack(false))]
    }

    fn strokes(&self) -> usize {
        self.world.outcome().events.iter().filter(|event| matches!(event, WorldEvent::Swung { .. })).count()
    }
}

#[test]
fn a_hundred_clicks_in_one_segment_each_are_a_hundred_strokes_in_each_dialect() {
    for dialect in DIALECTS {
        let mut game = Game::new(dialect);
        let mut strokes = 0;
        for tick in 0..100 * RELOAD_TICKS {
            let click = if tick % RELOAD_TICKS == 0 { game.click() } else { Vec::new() };
            game.tick(&click);
            strokes += game.strokes();
        }
        assert_eq!(strokes, 100, "{dialect}");
    }
}

#[test]
fn the_bytes_of_a_legacy_click_are_a_stroke() {
    let press = b"\x92\xa1c\x92\xc3\xcb\x3f\xe0\0\0\0\0\0\0".to_vec();
    let mut release = press.clone();
    release[4] = 0xc2;
    let mut game = Game::new("legacy");
    game.tick(&[press, release]);
    assert_eq!(game.strokes(), 1);
}

/// A player that has killed a wolf: that is worth two ages, and 500 gold.
fn grown(dialect: &'static str) -> Game {
    let mut game = Game::new(dialect);
    let body = game.world.player(PlayerId(OWN)).expect("it plays").body;
    let (x_px, y_px) = (body.x.to_px(), body.y.to_px());
    // Where there is room for it.
    for (sequence, aside_px) in (2..).zip([130, 160, 200, 250, 300]) {
        let what = Spawned::Animal(AnimalKind::Wolf);
        let spawn = Action::Spawn { what, x_px: (x_px - aside_px) as u16, y_px: y_px as u16 };
        game.world.step(&mut vec![Command { player: PlayerId(0), sequence, action: spawn }]);
        if game.world.animals().count() == 1 {
            break;
        }
    }
    assert_eq!(game.world.animals().count(), 1, "{:?}", game.world.outcome().rejected);
    let aim = game.said(|sequence| ClientPacket::Aim { sequence, tick: None, heading: 0x8000 });
    game.tick(&[aim]);
    for _ in 0..30 {
        let click = game.click();
        game.tick(&click);
        (1..RELOAD_TICKS).for_each(|_| game.tick(&[]));
    }
    assert_eq!(game.world.animals().count(), 0, "it is dead");
    game
}

#[test]
fn an_upgrade_that_the_game_lacks_is_answered_and_the_choice_is_sent_again() {
    for dialect in &DIALECTS[1..] {
        let mut game = grown(dialect);
        // Mine, sapling, platform, blocker, teleporter.
        for choice in [29, 30, 34, 37, 38] {
            game.client.heard.clear();
            let command = game.said(|sequence| ClientPacket::Upgrade { sequence, tick: None, choice });
            game.tick(&[command.clone(), command]);
            // The choice is shown with the next turn: one of three ticks.
            (0..3).for_each(|_| game.tick(&[]));
            let upgrades = [&vec![Value::from(2), 2.into()]];
            assert_eq!(game.client.all("upgrades"), upgrades, "{dialect}: {choice}, once");
            let said = vec![Value::from(OWN), "This server does not support that".into()];
            assert_eq!(game.client.all("chat"), [&said], "{dialect}: {choice}");
        }
        let command = game.said(|sequence| ClientPacket::Upgrade { sequence, tick: None, choice: 5 });
        game.client.heard.clear();
        game.tick(&[command]);
        (0..3).for_each(|_| game.tick(&[]));
        assert_eq!(game.client.all("upgrades"), [&vec![Value::from(1), 3.into()]], "{dialect}");
    }
}

#[test]
fn the_store_is_answered_by_a_chat_line_once_a_turn_in_each_moomoo_dialect() {
    for (dialect, code) in [("legacy", &b"\xa313c"[..]), ("letters-2023", b"\xa1c"), ("letters", b"\xa1c")] {
        let mut game = Game::new(dialect);
        game.tick(&[]);
        (0..3).for_each(|_| game.tick(&[]));
        game.client.heard.clear();
        let wear = [&b"\x92"[..], code, b"\x93\x00\x07\x00"].concat();
        let buy = [&b"\x92"[..], code, b"\x93\xa11\xa17\x00"].concat();
        game.tick(&[buy, wear]);
        let said = vec![Value::from(OWN), "This server does not support that".into()];
        assert_eq!(game.client.all("chat"), [&said], "{dialect}");
    }
}

#[test]
fn the_gold_of_a_hunt_is_on_the_counter_and_the_score_on_the_leaderboard_in_each_dialect() {
    // The animal gave 500 gold, and 200 food, which count as points.
    for dialect in DIALECTS {
        let mut game = grown(dialect);
        (0..60).for_each(|_| game.tick(&[]));
        let board = game.client.all("leaderboard").last().expect("once a second")[0].clone();
        assert_eq!(board.as_array().map(|row| row[2].clone()), Some(Value::from(700)), "{dialect}");
        if dialect == "native" {
            let stats = game.client.all("stats").last().expect("one's own")[..].to_vec();
            assert_eq!((&stats[3], &stats[8]), (&Value::from(500), &Value::from(700)));
        } else {
            let points = |value: &&&Vec<Value>| value[0] == Value::from("points");
            let told = game.client.all("value").iter().rfind(points).expect("told")[1].clone();
            assert_eq!(told, Value::from(500), "{dialect}");
        }
    }
}
