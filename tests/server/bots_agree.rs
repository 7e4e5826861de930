//! Two native clients who see each other: what one knows of the other by adding up differences is, tick for tick,
//! the rounded exact state that the other one is told of itself.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tickwire::client::url::Url;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::checker::PacketChecker;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::packet::PacketTables;

/// Long enough for anything that happens at all, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time without an update after which a walker turns.
const STUCK: Duration = Duration::from_millis(300);
/// Updates that each of the two hears while both are there.
const UPDATES: u64 = 150;
/// Updates after which a walker turns.
const STRIDE: u64 = 7;

/// Where somebody is by tick, in px.
type Places = BTreeMap<u32, (f64, f64)>;

struct Walker {
    talk: MooTestClient,
    check: PacketChecker,
    sequence: u32,
}

impl Walker {
    fn join(url: &Url, name: &str) -> Walker {
        let native = PacketTables::builtin().dialect("native").unwrap();
        let mut talk = MooTestClient::connect(url, None, native).unwrap();
        let name = Some(name.to_owned());
        talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Play, name, skin: None }).unwrap();
        let mut walker = Walker { talk, check: PacketChecker::new(true), sequence: 0 };
        while walker.check.world_model().own_player_id.is_none() {
            walker.hear(PATIENCE).expect("something is said before there is a body");
        }
        walker
    }

    /// The next packet, if one comes in time.
    fn hear(&mut self, time: Duration) -> Option<ServerPacket> {
        let heard = match self.talk.receive(time) {
            Ok(heard) => heard.expect("an open connection"),
            Err(error) if error.kind() == ErrorKind::TimedOut => return None,
            Err(error) => panic!("{error}"),
        };
        assert_eq!(self.check.check_packet(&heard, Duration::ZERO), [], "{heard:?}");
        Some(heard)
    }

    /// Walks in a zigzag; gives where it and the other one were, as it was told.
    fn walk(&mut self) -> (Places, Places) {
        let (mut own, mut others) = (Places::new(), Places::new());
        let (mut updates, mut of_both, started) = (0, 0, Instant::now());
        while of_both < UPDATES {
            assert!(started.elapsed() < PATIENCE, "{of_both} of {updates} updates of both");
            let heard = self.hear(STUCK);
            // Who is stuck behind a tree, and alone with it, is told nothing.
            if heard.is_none() || updates % STRIDE == 0 {
                self.turn();
            }
            let Some(ServerPacket::Update(update)) = heard else { continue };
            updates += 1;
            let picture = self.check.world_model();
            of_both += u64::from(picture.players.len() == 2);
            for (player, known) in &picture.players {
                let places = if Some(*player) == picture.own_player_id { &mut own } else { &mut others };
                places.insert(update.tick, (known.x_px, known.y_px));
            }
        }
        (own, others)
    }

    fn turn(&mut self) {
        self.sequence += 1;
        let direction = (!self.sequence.is_multiple_of(5)).then_some((self.sequence * 23_456) as u16);
        let packet = ClientPacket::Move { sequence: Some(self.sequence), tick: None, direction };
        self.check.on_sent(&packet);
        self.talk.send_packet(&packet).unwrap();
    }
}

/// What two walkers say of one of them, compared where both say something.
fn assert_agree(exact: &Places, seen: &Places) {
    let both = exact.iter().filter_map(|(tick, exact)| Some((tick, exact, seen.get(tick)?)));
    let mut compared = 0;
    for (tick, exact, seen) in both {
        let (dx, dy) = ((exact.0 - seen.0).abs(), (exact.1 - seen.1).abs());
        assert!(dx <= 0.25 && dy <= 0.25, "tick {tick}: is at {exact:?}, seen at {seen:?}");
        compared += 1;
    }
    assert!(compared > UPDATES / 2, "only {compared} ticks compared");
}

#[test]
fn differences_add_up_to_the_rounded_exact_state() {
    let server = ServerHandle::start(ServerConfig::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let url: Url = format!("ws://{}/play", server.address()).parse().unwrap();
    // Both stay until both have walked: who leaves is seen no more.
    let (mut ada, mut bob) = (Walker::join(&url, "Ada"), Walker::join(&url, "Bob"));
    let (by_ada, by_bob) = std::thread::scope(|scope| {
        let by_ada = scope.spawn(|| ada.walk());
        let by_bob = bob.walk();
        (by_ada.join().unwrap(), by_bob)
    });
    assert_agree(&by_ada.0, &by_bob.1);
    assert_agree(&by_bob.0, &by_ada.1);
    drop((ada, bob));
    assert_eq!(server.stop(), 0);
}
