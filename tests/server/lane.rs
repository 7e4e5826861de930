//! The lane of a server over real sockets: granted over the WebSocket, used, refused to strangers, and left when it dies.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::LaneMode;
use tickwire::capture::TcpSide;
use tickwire::client::connection::ClientConnection;
use tickwire::client::dial;
use tickwire::client::local_worlds::MooLocalWorld;
use tickwire::client::predicting_client::PredictingClient;
use tickwire::explain::capture_walk::{self, CaptureItemKind};
use tickwire::explain::{Content, hex};
use tickwire::internal::datagram::header::{DatagramHeader, HEADER_BYTES};
use tickwire::internal::datagram::{DatagramError, LaneEndpoint, LaneKey, message};
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::key_log::KeyLog;
#[cfg(target_os = "linux")]
use tickwire::internal::server::net::netem_proxy::{NetemProxy, ProxyConfig};
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::tap::{EventKind, Side};
use tickwire::packet::{Direction, PacketTables};

use crate::replay::{File, number, replay};
use crate::support::server_with;

/// How long a condition may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A player with a lane.
struct Player {
    client: PredictingClient<MooLocalWorld>,
    stream: TcpStream,
    lane: Option<UdpSocket>,
    /// Whether datagrams are carried.
    is_line_up: bool,
    began: Instant,
    /// Packets `update` in the stream that contain the own player.
    own_in_stream: usize,
    commands: u32,
    last_command: Duration,
    last_datagram: Vec<u8>,
    refusals: Vec<String>,
    /// The newest sealed datagram of the server.
    sealed: Vec<u8>,
    /// Sends each datagram of the player before the player does.
    stranger: Option<UdpSocket>,
    from_stranger: usize,
}

impl Player {
    fn new(server: &ServerHandle) -> Player {
        Player::at(server.address())
    }

    fn at(address: SocketAddr) -> Player {
        let stream = dial::connect(address, None).expect("a connection");
        let link = ClientConnection::new("localhost", "/play", true, dial::random_keys());
        let dialect = PacketTables::builtin().dialect("native").expect("a built-in dialect");
        let mut client = PredictingClient::new(link, dialect, &[("name", "ann".into())]);
        client.use_lane();
        Player {
            client,
            stream,
            lane: None,
            is_line_up: true,
            began: Instant::now(),
            own_in_stream: 0,
            commands: 0,
            last_command: Duration::ZERO,
            last_datagram: Vec::new(),
            refusals: Vec::new(),
            sealed: Vec::new(),
            stranger: None,
            from_stranger: 0,
        }
    }

    /// One frame: receives, turns five times a second, and sends.
    fn frame(&mut self) {
        let (now, mut buffer) = (self.began.elapsed(), [0; 16 * 1024]);
        loop {
            let (own, refusals) = (&mut self.own_in_stream, &mut self.refusals);
            match self.stream.read(&mut buffer) {
                Ok(read) => self.client.receive(&buffer[..read], now, |packet, _| {
                    let is_own = packet
                        .get("own")
                        .is_some_and(|own| own.as_array().is_some_and(|own| !own.is_empty()));
                    *own += usize::from(packet.row.name == "update" && is_own);
                    if packet.row.name == "error" {
                        refusals.extend(packet.text("rule"));
                    }
                }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(self.client.ended(), None);
        if let Some(offer) = self.client.lane().filter(|_| self.lane.is_none()) {
            let address =
                SocketAddr::new(self.stream.peer_addr().expect("it is connected").ip(), offer.port());
            self.lane = Some(dial::connect_lane(address).expect("a free port"));
        }
        while let Some(read) = self.lane.as_ref().and_then(|lane| lane.recv(&mut buffer).ok()) {
            if self.is_line_up {
                self.sealed = buffer[..read].to_vec();
                self.client.receive_datagram(&buffer[..read], now, |_, _| {});
            }
        }
        if self.client.advance(now).is_some() && now >= self.last_command + Duration::from_millis(200) {
            self.last_command = now;
            self.commands += 1;
            let direction = self.commands.wrapping_mul(40_503) as u16;
            self.client.command("move", &[direction.into()], now).expect("it fits");
        }
        let mut bytes = Vec::new();
        self.client.drain_output(&mut bytes);
        self.stream.write_all(&bytes).expect("the server reads");
        for datagram in self.client.drain_datagrams().iter().filter(|_| self.is_line_up) {
            if let Some(stranger) = &self.stranger {
                self.from_stranger += stranger.send(datagram).expect("it is sent");
            }
            let _ = self.lane.as_ref().map(|lane| lane.send(datagram));
            self.last_datagram.clone_from(datagram);
        }
        thread::sleep(Duration::from_millis(5));
    }

    /// Runs frames until the condition holds.
    fn until(&mut self, what: &str, condition: impl Fn(&Player) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition(self) {
            assert!(Instant::now() < deadline, "{what}: {:?}", self.client.lane());
            self.frame();
        }
    }

    fn is_usable(&self) -> bool {
        self.client.lane().is_some_and(|lane| lane.is_usable(self.began.elapsed()))
    }

    /// Number of updates that were compared with the prediction.
    fn compared(&self) -> u64 {
        self.client.prediction().corrections().compared
    }
}

fn metric(server: &ServerHandle, name: &str) -> u64 {
    let text = server.metrics_text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.map_or(0, |figure| figure.parse().expect("a number"))
}

#[test]
fn a_player_moves_by_datagram_and_returns_to_the_stream_when_the_lane_dies() {
    let mut server = server_with(|config| config.lane = LaneMode::Udp);
    let mut player = Player::new(&server);
    player.until("the lane is in use", Player::is_usable);
    player.until("commands go by datagram", |player| {
        player.client.lane().is_some_and(|lane| lane.stats().acknowledged > 40)
    });
    let (commands, compared) = (player.commands, player.compared());
    player.until("the server follows", |player| {
        player.commands > commands + 10 && player.compared() > compared + 60
    });
    assert!(metric(&server, "tickwire_datagrams_in_total") > 40);
    assert_eq!(player.refusals, Vec::<String>::new());
    let own = player.own_in_stream;
    player.is_line_up = false;
    player.until("the state is in the stream again", |player| player.own_in_stream > own + 20);
    let (commands, compared) = (player.commands, player.compared());
    player.until("the server follows", |player| {
        player.commands > commands + 10 && player.compared() > compared + 60
    });
    player.is_line_up = true;
    player.until("the lane is back", Player::is_usable);
    assert_eq!(player.refusals, Vec::<String>::new(), "no command was refused, whatever its way");
    assert_eq!(server.shut_down(), 0);
}

#[test]
fn a_stranger_gets_no_answer_and_the_owner_of_a_lane_plays_on() {
    let mut server = server_with(|config| config.lane = LaneMode::Udp);
    let mut player = Player::new(&server);
    player.until("the lane is in use", Player::is_usable);
    let stranger = dial::connect_lane(server.address()).expect("a free port");
    let before = metric(&server, "tickwire_datagrams_dropped_total{rule=\"datagram_unknown_connection\"}");
    for n in 0..50u32 {
        // Datagrams of many lengths with unknown connection ids. Packets of data channels have lower first bytes.
        let datagram = vec![n as u8 ^ 0xda; 12 + n as usize * 30];
        stranger.send(&datagram).expect("it is sent");
    }
    stranger.send(&[0xff]).expect("it is sent");
    let dropped = |server: &ServerHandle| {
        ["unknown_connection", "too_short", "too_long", "wrong_tag"]
            .map(|rule| {
                metric(server, &format!("tickwire_datagrams_dropped_total{{rule=\"datagram_{rule}\"}}"))
            })
            .iter()
            .sum::<u64>()
    };
    let deadline = Instant::now() + PATIENCE;
    while dropped(&server) < before + 51 {
        assert!(Instant::now() < deadline, "{} were dropped", dropped(&server));
        player.frame();
    }
    assert_eq!(stranger.recv(&mut [0; 2_000]).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));
    let compared = player.compared();
    player.until("the player plays on", |player| player.compared() > compared + 30 && player.is_usable());
    assert_eq!(server.shut_down(), 0);
}

#[test]
fn a_stranger_that_sends_the_datagrams_first_gets_no_update_and_the_player_plays_on() {
    let mut server = server_with(|config| config.lane = LaneMode::Udp);
    let mut player = Player::new(&server);
    player.until("the lane is in use", Player::is_usable);
    player.stranger = Some(dial::connect_lane(server.address()).expect("a free port"));
    let (own, commands, compared) = (player.own_in_stream, player.commands, player.compared());
    player.until("the state is in the stream", |player| {
        let plays = player.commands > commands + 10 && player.compared() > compared + 60;
        player.own_in_stream > own + 20 && plays
    });
    let stranger = player.stranger.take().expect("it is there");
    player.until("the lane is back", Player::is_usable);
    let compared = player.compared();
    player.until("the server follows", |player| player.compared() > compared + 60);
    let to_stranger: usize = std::iter::from_fn(|| stranger.recv(&mut [0; 2_000]).ok()).sum();
    assert!((1..=player.from_stranger).contains(&to_stranger), "{to_stranger} of {}", player.from_stranger);
    assert_eq!(player.refusals, Vec::<String>::new(), "no command was refused, whatever its way");
    assert_eq!(server.shut_down(), 0);
}

#[test]
fn the_key_log_has_connection_id_key_and_client_of_each_lane() {
    let file = File::new("lane-keys");
    let log = KeyLog::open(&file.0).expect("a new file");
    let server = server_with(|config| {
        config.lane = LaneMode::Udp;
        config.key_log = Some(log.into());
    });
    let mut player = Player::new(&server);
    player.until("the lane is in use", Player::is_usable);
    let text = std::fs::read_to_string(&file.0).expect("the key log");
    let words: Vec<&str> = text.split_whitespace().collect();
    let client = player.stream.local_addr().expect("it is connected").to_string();
    assert!(matches!(words[..], ["TICKWIRE_LANE", _, _, address] if address == client), "{text}");
    let connection = u32::from_str_radix(words[1], 16).expect("a number");
    let key = hex::parse(words[2]).expect("hexadecimal").try_into().expect("32 bytes");
    let mut end = LaneEndpoint::new(Direction::ToServer, connection, Some(&LaneKey(key)));
    let opened = end.open(&player.sealed, Duration::ZERO).expect("the key of the lane");
    assert_eq!(message::read(&opened.messages).find_map(Result::err), None);
    #[cfg(unix)]
    {
        let mode = std::fs::metadata(&file.0).expect("the key log").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&file.0, std::fs::Permissions::from_mode(0o644)).expect("its own file");
        let refused = KeyLog::open(&file.0).expect_err("every user may read it");
        assert!(refused.to_string().contains("chmod 600"), "{refused}");
    }
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_server_without_lanes_says_so_and_the_player_plays() {
    let mut server = server_with(|_| {});
    let mut player = Player::new(&server);
    player.until("the request is refused", |player| player.refusals == ["no_lane"]);
    let compared = player.compared();
    player.until("the player plays", |player| player.compared() > compared + 30);
    assert!(player.client.lane().is_none());
    assert_eq!(server.shut_down(), 0);
}

#[test]
fn subscriptions_receive_opened_datagrams_and_only_inspectors_receive_dropped_ones() {
    let mut server = server_with(|config| config.lane = LaneMode::Udp);
    let mut player = Player::new(&server);
    player.until("the lane is in use", Player::is_usable);
    assert!(!server.tap().is_on(), "nothing is copied without a subscription");
    let all = server.tap().subscribe(None, 1 << 20);
    let opened = all.receive(Duration::ZERO).items;
    let client = opened.first().expect("the player").client;
    let (inspector, recorder) = (
        server.tap().subscribe(Some(client), 1 << 20),
        server.tap().subscribe_with_world(Some(client), 1 << 20),
    );
    let lane = player.lane.as_ref().expect("it has one");
    let address = lane.local_addr().expect("it is bound");
    let mut forged = player.last_datagram.clone();
    forged[5] ^= 0x20;
    for datagram in [&player.last_datagram, &forged] {
        lane.send(datagram).expect("it is sent");
    }
    let (mut sent, mut received, mut dropped) = (0, 0, Vec::new());
    let deadline = Instant::now() + PATIENCE;
    while sent < 5 || received < 5 || dropped.len() < 2 {
        assert!(Instant::now() < deadline, "{sent} sent, {received} received, dropped: {dropped:?}");
        player.frame();
        for event in inspector.receive(Duration::ZERO).items {
            match &event.kind {
                EventKind::Datagram { from, address: udp, bytes, .. } => {
                    assert_eq!(*udp, address);
                    *(if *from == Side::Client { &mut received } else { &mut sent }) += 1;
                    let header = DatagramHeader::read(bytes).expect("a header");
                    assert_eq!(header.connection.to_be_bytes(), player.last_datagram[..4]);
                    let messages: Result<Vec<_>, _> = message::read(&bytes[HEADER_BYTES..]).collect();
                    assert!(messages.is_ok(), "{messages:?}: they are opened");
                }
                EventKind::DroppedDatagram { rule, bytes, .. } => dropped.push((*rule, bytes.clone())),
                _ => {}
            }
        }
    }
    let repeated = dropped.iter().find(|(rule, _)| *rule == DatagramError::Repeated);
    assert_eq!(repeated.map(|(_, bytes)| bytes.len()), Some(forged.len()), "as it arrived");
    assert!(dropped.contains(&(DatagramError::WrongTag, forged)), "{dropped:?}");
    for other in [all, recorder] {
        let events = other.receive(Duration::ZERO).items;
        assert!(events.iter().any(|event| matches!(event.kind, EventKind::Datagram { .. })));
        assert!(!events.iter().any(|event| matches!(event.kind, EventKind::DroppedDatagram { .. })));
    }
    assert_eq!(server.shut_down(), 0);
}

/// A capture that begins before a player comes, and one that begins while it plays by datagram.
#[test]
fn a_capture_has_the_datagrams_and_replays_the_commands_in_them() {
    for is_late in [false, true] {
        let file = File::new(if is_late { "lane-late" } else { "lane" });
        let mut server = server_with(|config| config.lane = LaneMode::Udp);
        let target = || CaptureTarget::File(file.0.clone());
        if !is_late {
            server.capture(target()).expect("a new file");
        }
        let mut player = Player::new(&server);
        player.until("the lane is in use", Player::is_usable);
        if is_late {
            server.capture(target()).expect("a new file");
        }
        let (commands, compared) = (player.commands, player.compared());
        player.until("the server follows", |player| {
            player.commands > commands + 10 && player.compared() > compared + 60
        });
        assert_eq!(server.shut_down(), 0);
        let bytes = std::fs::read(&file.0).expect("the capture");
        let capture = tickwire::capture::read(&bytes).expect("a capture");
        let connections = capture.connections();
        let of_server =
            connections.iter().flat_map(|one| &one.pieces).filter(|piece| piece.from == TcpSide::Server);
        // The array of `lane_offer`: a u32, then a binary of 32 bytes.
        let offer = |bytes: &[u8]| {
            bytes.windows(2).position(|two| two == [0xc4, 32]).map(|at| bytes[at + 2..at + 34].to_vec())
        };
        let keys: Vec<Vec<u8>> = of_server.filter_map(|piece| offer(piece.bytes)).collect();
        assert!(keys.iter().all(|key| *key == [0; 32]), "a capture has no key");
        assert_eq!(keys.len(), usize::from(!is_late));
        let of_udp =
            capture.packets.iter().filter(|packet| packet.bytes.get(9) == Some(&17) && packet.link == 101);
        assert!(of_udp.count() > 50, "the capture has the datagrams");
        let codes = PacketTables::builtin();
        let native = codes.dialect("native").expect("built in");
        let (mut lines, mut broken) = (Vec::new(), 0);
        let found = (&capture.connections()[..], &capture_walk::datagrams(&capture)[..]);
        capture_walk::walk(found, &codes, (None, &native), None, |found| {
            if let CaptureItemKind::Item(item) = found.what {
                broken += usize::from(item.problem().is_some());
                lines.extend(item.frames.iter().filter_map(|frame| match &frame.content {
                    Content::Datagram(line) => Some(line.clone()),
                    _ => None,
                }));
            }
        });
        assert_eq!(broken, 0, "{lines:#?}");
        let is_there = |words: &[&str]| lines.iter().any(|line| words.iter().all(|word| line.contains(word)));
        assert!(is_there(&["datagram ", " acknowledges ", "; move sequence="]), "{lines:#?}");
        assert!(is_there(&["datagram ", "; received commands up to ", "; update tick="]), "{lines:#?}");
        let (text, status) = replay(&bytes, "lane-copy", &["--json"]);
        assert_eq!(status, 0, "{text}");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(report["verdict"], "same");
        assert!(number(&report, "matched") >= 5, "{report}");
        assert_eq!(
            (number(&report, "not_captured"), number(&report, "dropped_while_connected")),
            (0, 0),
            "{report}"
        );
    }
}

/// A server with lanes, and `tickwire netem` before it, at another address with the same port for datagrams.
#[cfg(target_os = "linux")]
fn server_behind_netem(conditions: &str) -> (ServerHandle, NetemProxy) {
    loop {
        let server = server_with(|config| config.lane = LaneMode::Udp);
        let (listen, to) = ("127.0.0.2:0".parse().expect("an address"), server.address());
        let conditions = conditions.parse().expect("conditions");
        let proxy = NetemProxy::start(ProxyConfig { listen, to, conditions, seed: 7 }).expect("a free port");
        // Another program may have this port at the other address.
        if proxy.datagrams().is_some() {
            return (server, proxy);
        }
        proxy.stop();
        server.stop();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn netem_delays_and_loses_datagrams() {
    let (server, proxy) = server_behind_netem("delay=20ms,jitter=5ms,loss=10%");
    let mut player = Player::at(proxy.address());
    player.until("the lane is in use", Player::is_usable);
    player.until("commands go by datagram", |player| {
        player.client.lane().is_some_and(|lane| lane.stats().acknowledged > 100)
    });
    let stats = player.client.lane().expect("it has one").stats();
    assert_eq!(player.refusals, Vec::<String>::new());
    let totals = proxy.stop();
    assert!(totals.lost_datagrams > 0, "{totals:?}");
    assert!(totals.datagrams >= stats.acknowledged + stats.received, "{totals:?} {stats:?}");
    assert!(metric(&server, "tickwire_datagrams_in_total") < totals.datagrams);
    assert_eq!(server.stop(), 0);
}
