//! A page's client, an inspector and bots on an embedded server.

use super::*;
use crate::client::bots::{Bot, BotStage};
use crate::client::connection::ClientConnection;
use crate::games::moo::PublishedState;
use crate::games::moo::bot::agent::MooAgent;
use crate::games::moo::bot::policy::{Intent, Policy};
use crate::games::moo::bot::world_model::WorldModel;
use crate::packet::Direction;
use crate::tools::inspector::observed_format::{self, ObservedKind};
use crate::ws::connection::{Connection, Event, Role};
use crate::ws::frame::{self, Opcode};
use crate::ws::http::ResponseReader;
use crate::ws::{Side, handshake};

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] }
}

fn server(bots: usize) -> EmbeddedServer {
    server_of(game(None).expect("the default"), bots)
}

fn server_of(game: EmbeddedGameFactory, bots: usize) -> EmbeddedServer {
    let options = Options {
        game,
        seed: 5,
        bots,
        began_us: 1_000_000,
        keys,
        net: Conditions::default(),
        resume_time: Duration::ZERO,
    };
    EmbeddedServer::new(&options, Duration::ZERO).expect("its tables fit")
}

/// Walks to the right.
struct East;

impl Policy for East {
    fn decide(&mut self, _: &WorldModel, _: Duration, intents: &mut Vec<Intent>) {
        intents.push(Intent::Walk(Some(0)));
    }
}

/// A page's client: a connection and a bot.
struct Page {
    connection: u32,
    bot: Bot<MooAgent<WorldModel>>,
}

impl Page {
    fn new(server: &mut EmbeddedServer) -> Page {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let link = ClientConnection::new("tab", &format!("/play?inspect_key={KEY}"), true, keys());
        let actor = MooAgent::new(0, Arc::clone(&dialect), Box::new(East), WorldModel::new());
        let bot = Bot::new(link, dialect, actor, ());
        Page { connection: server.open().expect("a place"), bot }
    }

    fn step(&mut self, server: &mut EmbeddedServer, now: Duration) {
        let mut bytes = Vec::new();
        let goes_on = server.take(self.connection, &mut bytes);
        self.bot.receive(&bytes, now);
        if !goes_on {
            self.bot.receive_eof(None, now);
        }
        self.bot.act(now);
        bytes.clear();
        self.bot.drain_output(&mut bytes);
        server.receive(self.connection, &bytes, now);
    }
}

/// An inspector at `/wire`.
struct TestInspector {
    connection: u32,
    conn: Connection,
    texts: Vec<String>,
    seen: Vec<(u8, Vec<u8>)>,
}

impl TestInspector {
    fn new(server: &mut EmbeddedServer) -> TestInspector {
        let connection = server.open().expect("a place");
        let request = handshake::request("tab", "/wire", &handshake::encode_key([9; 16]), &["tickwire.wire"]);
        server.receive(connection, &request, Duration::ZERO);
        let (mut bytes, mut reader) = (Vec::new(), ResponseReader::new(limits::HEAD_LIMITS));
        assert!(server.take(connection, &mut bytes));
        let head = reader.receive(&bytes).expect("a response").expect("a whole one");
        assert_eq!(head.status, 101);
        let mut conn =
            Connection::new(Role::Client { mask_key: || [4, 3, 2, 1] }, limits::SERVER_MESSAGE_LIMITS);
        conn.receive(reader.rest());
        TestInspector { connection, conn, texts: Vec::new(), seen: Vec::new() }
    }

    fn send_line(&mut self, server: &mut EmbeddedServer, text: &str) {
        self.conn.send_text(text);
        let mut bytes = Vec::new();
        self.conn.drain_output(&mut bytes);
        server.receive(self.connection, &bytes, Duration::ZERO);
    }

    fn step(&mut self, server: &mut EmbeddedServer) {
        let mut bytes = Vec::new();
        server.take(self.connection, &mut bytes);
        self.conn.receive(&bytes);
        while let Some(event) = self.conn.next_event().expect("frames of a server") {
            match event {
                Event::Text(text) => self.texts.push(text.to_owned()),
                Event::Binary(message) => {
                    for record in observed_format::read(message).expect("records").1 {
                        self.seen.push(match record.what {
                            ObservedKind::Opened(opened) => (1, opened.request),
                            ObservedKind::Bytes(Side::Client, bytes) => (2, bytes.to_vec()),
                            ObservedKind::Bytes(Side::Server, bytes) => (3, bytes.to_vec()),
                            ObservedKind::Lost(_) => (4, Vec::new()),
                            ObservedKind::Ended(rule) => (5, rule.as_bytes().to_vec()),
                            ObservedKind::Injected(bytes) => (6, bytes.to_vec()),
                            ObservedKind::Datagram(datagram) => (7, datagram.bytes.to_vec()),
                            ObservedKind::Intercepted(message) => (8, message.received.to_vec()),
                        });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Runs a server with these connections for some ticks.
fn run(
    server: &mut EmbeddedServer,
    mut page: Option<&mut Page>,
    mut inspector: Option<&mut TestInspector>,
    ticks: u32,
) {
    for _ in 0..ticks {
        let now = server.next_tick();
        server.advance(now);
        page.iter_mut().for_each(|page| page.step(server, now));
        inspector.iter_mut().for_each(|inspector| inspector.step(server));
    }
}

#[test]
fn a_client_joins_walks_and_leaves() {
    let mut server = server(0);
    let mut page = Page::new(&mut server);
    run(&mut server, Some(&mut page), None, 30);
    assert_eq!(page.bot.stage(), BotStage::Playing);
    let start_px = page.bot.agent.observer.own().expect("a body").x_px;
    run(&mut server, Some(&mut page), None, 30);
    let way_px = page.bot.agent.observer.own().expect("a body").x_px - start_px;
    assert!(way_px > 50.0, "walked {way_px} px");
    assert_eq!(server.stats(), Stats { tick: 60, clients: 1, players: 1, skipped_ticks: 0 });
    server.close(page.connection, server.next_tick());
    run(&mut server, None, None, 2);
    assert_eq!(server.stats().clients + server.stats().players, 0);
}

#[test]
fn bots_of_three_dialects_play_and_the_same_seed_gives_the_same_world() {
    let played = |mut server: EmbeddedServer| {
        run(&mut server, None, None, 20 * 30);
        assert_eq!(server.stats().players, 12);
        let dialects: std::collections::BTreeSet<&str> =
            server.host.clients.listed.iter().map(|listed| &*listed.opened.dialect).collect();
        assert_eq!(dialects, ["legacy", "letters", "native"].into());
        server.room.tick(server.host.now, TickRequest { checksum: true, ..TickRequest::default() }).checksum
    };
    assert_eq!(played(server(12)), played(server(12)));
}

#[test]
fn a_watcher_sees_every_byte_of_its_own_client_and_no_key() {
    let mut server = server(3);
    let (mut page, mut inspector) = (Page::new(&mut server), TestInspector::new(&mut server));
    run(&mut server, Some(&mut page), Some(&mut inspector), 5);
    inspector.send_line(&mut server, &format!(r#"{{"find_own":"{KEY}"}}"#));
    run(&mut server, Some(&mut page), Some(&mut inspector), 2);
    let own = page_number(&server);
    assert_eq!(inspector.texts.last(), Some(&format!(r#"{{"own":{own}}}"#)));
    inspector.send_line(&mut server, &format!(r#"{{"select":{own}}}"#));
    run(&mut server, Some(&mut page), Some(&mut inspector), 30);
    let head = String::from_utf8(inspector.seen[0].1.clone()).expect("a head");
    assert!(inspector.seen[0].0 == 1 && !head.contains(KEY), "{head}");
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let moves = inspector.seen.iter().filter(|(kind, _)| *kind == 2).filter(|(_, bytes)| {
        let (header, head) = frame::Header::decode(bytes, Side::Client).expect("a frame").expect("whole");
        let mut payload = bytes[head..].to_vec();
        frame::mask(&mut payload, header.mask.expect("masked"), 0);
        dialect.decode(Direction::ToServer, &payload).is_ok_and(|decoded| decoded.row.name == "move")
    });
    assert!(moves.count() >= 8, "a bot acts ten times a second");
    assert!(inspector.seen.iter().filter(|(kind, _)| *kind == 3).count() >= 25, "an update for each tick");
}

#[test]
fn injected_bytes_reach_the_client_that_has_the_key_exactly_as_given() {
    let mut server = server(0);
    let (mut page, mut inspector) = (Page::new(&mut server), TestInspector::new(&mut server));
    run(&mut server, Some(&mut page), Some(&mut inspector), 10);
    let own = page_number(&server);
    inspector.send_line(&mut server, &format!(r#"{{"select":{own}}}"#));
    let other = "f".repeat(32);
    inspector.send_line(&mut server, &format!(r#"{{"inject":"{other}","bytes":"8200"}}"#));
    run(&mut server, Some(&mut page), Some(&mut inspector), 2);
    let refused = r#"{"injected":null,"error":"no connected client has this key"}"#;
    assert!(inspector.texts.iter().any(|text| json(text) == json(refused)), "{:?}", inspector.texts);
    assert_eq!(page.bot.stage(), BotStage::Playing);
    // A frame without a mask violates RFC 6455, section 5.1.
    inspector.send_line(&mut server, &format!(r#"{{"inject":"{KEY}","bytes":"8200"}}"#));
    run(&mut server, Some(&mut page), Some(&mut inspector), 10);
    assert!(inspector.texts.contains(&format!(r#"{{"injected":{own}}}"#)), "{:?}", inspector.texts);
    assert!(inspector.seen.contains(&(6, vec![0x82, 0x00])));
    let mut close = Vec::new();
    let payload = [&1002_u16.to_be_bytes()[..], b"mask_missing"].concat();
    frame::write(&mut close, Opcode::Close, None, &payload);
    assert!(inspector.seen.contains(&(3, close)), "{:?}", inspector.seen);
    assert_eq!(page.bot.stage(), BotStage::Closed);
    server.close(page.connection, server.next_tick());
    run(&mut server, None, Some(&mut inspector), 4);
    assert_eq!(inspector.seen.last(), Some(&(5, b"mask_missing".to_vec())));
    assert_eq!(server.stats().players, 0);
}

#[test]
fn a_program_that_was_away_skips_ticks_and_goes_on() {
    let mut server = server(2);
    run(&mut server, None, None, 30);
    let wait = server.advance(server.next_tick() + Duration::from_secs(60));
    let stats = server.stats();
    assert_eq!(stats.tick, 30 + limits::EMBEDDED_MAX_CATCH_UP_TICKS);
    assert_eq!(stats.skipped_ticks, 60 * 30 - u64::from(limits::EMBEDDED_MAX_CATCH_UP_TICKS) + 1);
    assert!(wait <= Duration::from_millis(34), "{wait:?}");
    let before = server.host.now;
    server.advance(Duration::ZERO);
    assert_eq!(server.host.now, before, "the clock never goes back");
}

#[test]
fn requests_that_are_no_game_and_connections_without_a_place_are_refused() {
    let mut server = server(0);
    let mut answer = |request: &str| {
        let connection = server.open().expect("a place");
        server.receive(connection, request.as_bytes(), Duration::ZERO);
        let mut bytes = Vec::new();
        server.take(connection, &mut bytes);
        server.close(connection, Duration::ZERO);
        String::from_utf8_lossy(&bytes).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(answer("GET /other HTTP/1.1\r\nHost: tab\r\n\r\n"), "HTTP/1.1 426 Upgrade Required");
    assert_eq!(answer("nonsense\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let opened = std::iter::from_fn(|| server.open()).take(2 * limits::EMBEDDED_CONNECTIONS).count();
    assert_eq!(opened, limits::EMBEDDED_CONNECTIONS);
    assert!(!server.take(u32::MAX, &mut Vec::new()));
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

/// Returns the number of the client with the page's key.
fn page_number(server: &EmbeddedServer) -> u64 {
    let key = crate::connection::resume_key::ResumeKey::parse(KEY).expect("a key");
    server.host.clients.own(key).expect("the page's client").id
}

#[test]
fn another_game_is_played_by_bots_at_its_own_rate_and_an_unknown_one_is_none() {
    let mut server = server_of(game(Some("tanks")).expect("built in"), 3);
    run(&mut server, None, None, 120);
    assert_eq!(server.stats(), Stats { tick: 120, clients: 3, players: 3, skipped_ticks: 0 });
    assert_eq!(server.next_tick(), Duration::from_secs(2));
    assert!(game(Some("chess")).is_none());
}

/// Steps a page 30 times a second until the condition holds. Returns the elapsed time.
fn wait(server: &mut EmbeddedServer, page: &mut Page, is_so: impl Fn(&Page) -> bool) -> Duration {
    let from = server.host.now;
    while !is_so(page) {
        let now = server.host.now + Duration::from_millis(33);
        server.advance(now);
        page.step(server, now);
        assert!(now < from + Duration::from_secs(60), "it never happened");
    }
    server.host.now - from
}

#[test]
fn a_page_plays_under_network_conditions_that_can_change_at_any_time() {
    let ms = Duration::from_millis;
    let mut server = server(2);
    server.set_netem("delay=150ms,jitter=30ms,loss=2%".parse().expect("conditions"));
    let mut page = Page::new(&mut server);
    // Upgrade and response, then `hello` and `welcome`: two round trips.
    let took = wait(&mut server, &mut page, |page| page.bot.stage() == BotStage::Playing);
    assert!(took >= ms(2 * 240) && took < ms(5_000), "{took:?}");
    assert_eq!(server.stats().clients, 3, "bots have no conditions");
    let x_px = |page: &Page| page.bot.agent.observer.own().map(|own| own.x_px);
    let start = x_px(&page).expect("a body");
    let walked = wait(&mut server, &mut page, |page| x_px(page).is_some_and(|x| x > start + 200.0));
    assert!(walked < ms(10_000), "{walked:?}");
    server.set_netem(Conditions::default());
    // Bytes in transit still arrive with a delay; later bytes are not delayed.
    for _ in 0..150 {
        let now = server.host.now + ms(33);
        server.advance(now);
        page.step(&mut server, now);
    }
    assert!(server.net.link(page.connection).is_none());
    assert_eq!(page.bot.stage(), BotStage::Playing);
    server.close(page.connection, server.host.now);
    assert_eq!(server.stats().clients, 2);
}

#[test]
fn a_slow_line_delivers_all_bytes_and_then_the_end() {
    let mut server = server(0);
    server.set_netem("delay=50ms,rate=20kB".parse().expect("conditions"));
    let connection = server.open().expect("a place");
    server.receive(connection, b"nonsense\r\n\r\n", Duration::ZERO);
    let (mut bytes, mut now) = (Vec::new(), Duration::ZERO);
    while server.take(connection, &mut bytes) {
        assert!(server.is_open(connection) && now < Duration::from_secs(10));
        let wait = server.advance(now);
        assert!(wait > Duration::ZERO);
        now += wait;
    }
    assert!(bytes.starts_with(b"HTTP/1.1 400 Bad Request"), "{}", String::from_utf8_lossy(&bytes));
    assert!(!server.is_open(connection));
}

#[test]
fn a_watcher_is_not_delayed_and_what_a_page_sent_last_arrives_when_it_leaves() {
    let mut server = server(0);
    server.set_netem("delay=100ms".parse().expect("conditions"));
    let number = server.open().expect("a place");
    let request = handshake::request("tab", "/wire", &handshake::encode_key([9; 16]), &["tickwire.wire"]);
    server.receive(number, &request, Duration::ZERO);
    server.advance(Duration::from_millis(100));
    let mut bytes = Vec::new();
    assert!(server.take(number, &mut bytes) && bytes.starts_with(b"HTTP/1.1 101"));
    assert!(server.net.link(number).is_none(), "from then on");
    let mut page = Page::new(&mut server);
    wait(&mut server, &mut page, |page| page.bot.stage() == BotStage::Playing);
    let mut close = Vec::new();
    frame::write(&mut close, Opcode::Close, Some([1, 2, 3, 4]), &[]);
    let client = Arc::clone(&server.host.clients.listed[0].client);
    server.receive(page.connection, &close, server.host.now);
    server.close(page.connection, server.host.now);
    assert!(matches!(
        client.sender.disconnect_reason(),
        Some(crate::connection::DisconnectReason::PeerClosed(_))
    ));
}

#[test]
fn the_score_of_each_bot_rises_by_more_than_its_gold_in_the_first_minute() {
    let mut server = server(8);
    run(&mut server, None, None, 59 * 30);
    server.record();
    run(&mut server, None, None, 1);
    let last = server.take_recorded().pop().expect("a tick");
    let state = last.published.state().downcast_ref::<PublishedState>().expect("a state of this game");
    let scores: Vec<(u32, u32)> = state.players.iter().map(|one| (one.resources[3], one.score)).collect();
    assert_eq!(scores.len(), 8);
    assert!(scores.iter().all(|(gold, score)| score > gold), "gold and score: {scores:?}");
}
