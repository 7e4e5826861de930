//! Lockstep over sockets, and what went wrong with it in the first seed system: each defect is tried here, with clients of another
//! library.

use std::time::Instant;

use tickwire::client::lockstep_follower::{DesyncReport, FollowEvent, LockstepFollower};
use tickwire::game::simple::{ActionResult, Joining, Simple, SimpleGame, StateRows, TickContext};
use tickwire::game::{Game as _, Messages};
use tickwire::internal::limits;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::server::room::lockstep::{LockstepAccess, LockstepConfig};
use tickwire::packet::{Direction, Value, json};
use tickwire::sim::{PlayerId, WorldParams, fields};

use crate::clients::Native;
use crate::guest::config_of;
use crate::program_of_units::{Action, Units};
use crate::support::{PATIENCE, Peer};

/// A client that runs the world itself.
struct Locked {
    peer: Peer,
    follower: LockstepFollower,
    dialect: std::sync::Arc<tickwire::packet::Dialect>,
    is_json: bool,
    reports: Vec<DesyncReport>,
    /// Other packets, in words.
    others: Vec<String>,
}

impl Locked {
    fn connect(server: &ServerHandle, is_json: bool, mode: u8, token: Option<&str>) -> Locked {
        let game = Simple::<Units>::INFO;
        let dialect = server.config().codes.dialect("units").expect("its own");
        let format = if is_json { "json" } else { "msgpack" };
        let path = format!("/play?format={format}&token={}", token.unwrap_or_default());
        let peer = Peer::connect(server.address(), &path);
        let follower = LockstepFollower::new(game, std::sync::Arc::clone(&dialect));
        let (reports, others) = (Vec::new(), Vec::new());
        let mut locked = Locked { peer, follower, dialect, is_json, reports, others };
        locked.say("hello", &[1.into(), mode.into(), "Ann".into()]);
        locked
    }

    fn say(&mut self, name: &str, values: &[Value]) {
        let message = self.dialect.encode(Direction::ToServer, name, values).expect("by the table");
        self.send(&message);
    }

    fn send(&mut self, message: &[u8]) {
        if self.is_json {
            let text = self.dialect.json_from_msgpack(Direction::ToServer, message).expect("just encoded");
            self.peer.send_text(&text);
        } else {
            self.peer.send(message);
        }
    }

    fn march(&mut self, sequence: u32, targets: &[u16]) {
        self.march_to(sequence, targets, 600);
    }

    fn march_to(&mut self, sequence: u32, targets: &[u16], x: i32) {
        let targets = Value::Array(targets.iter().map(|target| Value::from(*target)).collect());
        self.say("march", &[sequence.into(), Value::Nil, targets, x.into(), 200.into()]);
    }

    /// Takes messages until something holds.
    fn until(&mut self, what: &str, mut holds: impl FnMut(&Locked) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            assert!(began.elapsed() < PATIENCE, "{what}; so far: {:?} {:?}", self.others, self.reports);
            let message = self.peer.receive().expect("it goes on");
            let dialect = std::sync::Arc::clone(&self.dialect);
            let packet = if self.is_json {
                let text = std::str::from_utf8(&message).expect("JSON");
                dialect.decode_json(Direction::ToClient, text)
            } else {
                dialect.decode(Direction::ToClient, &message)
            };
            let packet = packet.expect("by the table");
            let (mut say, mut told) = (Vec::new(), Messages::default());
            match self.follower.on_packet(&packet, &mut say, &mut told).expect("the same rules") {
                FollowEvent::Report(report) => self.reports.push(report),
                FollowEvent::Other => self.others.push(packet.to_string()),
                FollowEvent::Synced(_) | FollowEvent::Stepped(_) | FollowEvent::Handled => {}
            }
            say.iter().for_each(|message| self.send(message));
        }
    }

    fn tick(&self) -> u32 {
        self.follower.world().map_or(0, |world| world.tick())
    }

    fn ticks(&mut self, count: u32) {
        let until = self.tick() + count;
        self.until("ticks", |one| one.tick() >= until);
    }

    fn hears(&mut self, words: &str) {
        self.until(words, |one| one.others.iter().any(|other| other.contains(words)));
    }
}

/// The value of a metric.
pub fn metric(server: &ServerHandle, name: &str) -> u64 {
    let text = server.metrics_text();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("tickwire_{name} ")));
    line.expect(name).parse().expect("a number")
}

#[test]
fn a_server_that_checks_itself_compares_what_its_clients_are_sent() {
    let mut config = config(LockstepAccess::Open);
    config.self_check = true;
    let server = ServerHandle::start(config).expect("a free port");
    let mut streams = [Locked::connect(&server, false, 1, None), Locked::connect(&server, true, 1, None)];
    let mut locked = Locked::connect(&server, false, 3, None);
    let began = Instant::now();
    // The sequence of a march is a tick, and 0 counts as repeated.
    locked.ticks(1);
    let mut x = 300;
    while metric(&server, "self_check_compared_total") < 40 {
        // Back and forth, because a unit that has arrived changes no state.
        x = 900 - x;
        assert!(began.elapsed() < PATIENCE, "{}", server.metrics_text());
        for (number, one) in streams.iter_mut().enumerate() {
            one.others.clear();
            one.march_to(locked.tick(), &[number as u16 + 1], x);
            // Two marches in one tick, there and back, change no state, but each is answered.
            one.hears("command_accepted");
        }
        locked.ticks(1);
    }
    assert_eq!(metric(&server, "self_check_faults_total"), 0);
    assert_eq!(server.stop(), 0);
}

fn config(access: LockstepAccess) -> ServerConfig {
    let mut config = config_of::<Simple<Units>>();
    config.lockstep = LockstepConfig { access, snapshot_ticks: 30, checksum_ticks: 10 };
    config
}

/// Runs worlds to the same tick, and holds them against each other.
fn agree(worlds: &mut [&mut Locked]) {
    let tick = worlds.iter().map(|one| one.tick()).max().unwrap_or_default() + 1;
    let at = worlds.iter_mut().map(|one| {
        one.until("a tick that all have", |one| one.tick() >= tick);
        (one.tick(), one.follower.world().expect("it has one").checksum())
    });
    let at: Vec<(u32, u64)> = at.collect();
    assert!(at.iter().all(|one| *one == at[0]), "{at:x?}");
}

#[test]
fn what_stopped_the_first_seed_system_stops_no_world() {
    let server = ServerHandle::start(config(LockstepAccess::Open)).expect("a free port");
    let mut ann = Locked::connect(&server, false, 3, None);
    let mut bob = Locked::connect(&server, true, 3, None);
    for one in [&mut ann, &mut bob] {
        one.until("two players", |one| one.follower.world().is_some_and(|world| world.players().len() == 2));
    }
    // A target that exists and is not the sender's own, and one that does not exist: there, the match stood still for ever.
    ann.march(1, &[7, 8, 999, 0]);
    ann.hears("command_accepted");
    // A sequence of thirty digits: there, it closed its sender, and each later client.
    bob.peer.send_text(r#"["march",[999999999999999999999999999999,null,[1],1,1]]"#);
    bob.hears("wrong_arguments");
    bob.peer.send_text(r#"["march",["1",null,[1],1,1]]"#);
    // The same sequence again and again: there, each was taken.
    for _ in 0..3 {
        ann.march(2, &[1]);
    }
    ann.hears(r#"commands=[2,"repeated",2,"repeated"]"#);
    // An issuer: there, the client sent it. Here there is no place for one, and what comes behind the arguments is dropped.
    bob.peer.send_text(r#"["march",[1,null,[1],600,200,1]]"#);
    bob.hears("command_accepted commands=[1,1,");
    // The world has gone on all the time; so it is for those who come now, as spectators too.
    let mut late = Locked::connect(&server, false, 2, None);
    late.ticks(25);
    assert_eq!((late.follower.player(), ann.follower.player().is_some()), (None, true));
    agree(&mut [&mut late, &mut ann, &mut bob]);
    // Somebody leaves: there, the unit walked on.
    bob.peer.close();
    ann.until("one player", |one| one.follower.world().is_some_and(|world| world.players().len() == 1));
    agree(&mut [&mut late, &mut ann]);
    assert!(late.reports.is_empty() && ann.reports.is_empty());
    let metrics = server.metrics_text();
    assert!(metrics.contains("tickwire_lockstep_desyncs_total 0"), "{metrics}");
    assert!(metrics.contains("tickwire_lockstep_clients 2"), "{metrics}");
    assert!(!metrics.contains("tickwire_lockstep_checksums_total 0"), "{metrics}");
    server.stop();
}

#[test]
fn in_json_a_world_is_followed_as_well_and_a_changed_field_is_named() {
    let server = ServerHandle::start(config(LockstepAccess::Open)).expect("a free port");
    let mut ann = Locked::connect(&server, true, 3, None);
    let mut bob = Locked::connect(&server, false, 2, None);
    ann.ticks(3);
    ann.follower.corrupt(11);
    ann.until("a report", |one| !one.reports.is_empty());
    bob.until("a report", |one| !one.reports.is_empty());
    let (tick, changed) = ann.follower.corrupted().expect("a field was changed").clone();
    for one in [&ann, &bob] {
        assert_eq!(one.reports[0].tick, tick);
        assert_eq!(one.reports[0].fields, [("player 1".to_owned(), changed.clone())]);
    }
    agree(&mut [&mut ann, &mut bob]);
    server.stop();
}

#[test]
fn without_a_token_nobody_else_sees_the_whole_world() {
    // This machine may, by default.
    let server = ServerHandle::start(config(LockstepAccess::Token)).expect("a free port");
    let mut here = Locked::connect(&server, false, 2, None);
    here.ticks(3);
    // A page of another site in a browser on this machine is not this machine.
    let own = format!("http://{}", server.address());
    for (origin, may) in
        [(&*own, true), ("http://evil.example", false), ("http://127.0.0.1:1", false), ("null", false)]
    {
        let headers = [("Origin", origin)];
        let (peer, _) = Peer::try_connect_with(server.address(), "/play", &headers).expect("the upgrade");
        let mut page = Native { peer };
        page.say("hello", &[1.into(), 2.into()]);
        match may {
            true => assert!(page.peer.receive().is_ok(), "a welcome"),
            false => assert_eq!(page.peer.receive_close(), "1008 lockstep_off", "{origin}"),
        }
    }
    server.stop();
    let server = ServerHandle::start(config(LockstepAccess::Off)).expect("a free port");
    let mut refused = Locked::connect(&server, false, 2, None);
    assert_eq!(refused.peer.receive_close(), "1008 lockstep_off");
    server.stop();
}

/// Units whose state is larger than a message may be.
#[derive(Clone, Debug, PartialEq)]
struct Huge {
    units: Units,
    padding: Vec<u8>,
}

fields!(Huge: units: Units, padding: Vec<u8>);

impl SimpleGame for Huge {
    const NAME: &'static str = Units::NAME;
    const DIALECT: &'static str = Units::DIALECT;
    const TABLE: (&'static str, &'static str) = Units::TABLE;
    const PAGE: &'static str = Units::PAGE;
    const TICK_RATES: &'static [u32] = Units::TICK_RATES;

    type Action = Action;

    fn new(identity: &WorldParams) -> Huge {
        Huge { units: Units::new(identity), padding: vec![7; limits::SNAPSHOT_MOST_BYTES] }
    }

    fn join(&mut self, player: PlayerId, joining: &Joining<'_>, context: &mut TickContext<'_>) {
        self.units.join(player, joining, context);
    }

    fn leave(&mut self, player: PlayerId, context: &mut TickContext<'_>) {
        self.units.leave(player, context);
    }

    fn apply(&mut self, player: PlayerId, action: Action, context: &mut TickContext<'_>) -> ActionResult {
        self.units.apply(player, action, context)
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        self.units.tick(context);
    }

    fn write_state(&self, rows: &mut StateRows) {
        self.units.write_state(rows);
    }
}

#[test]
fn of_a_world_too_large_to_be_sent_clients_are_told_and_those_of_a_stream_stay() {
    let mut config = config_of::<Simple<Huge>>();
    config.lockstep = LockstepConfig { access: LockstepAccess::Open, snapshot_ticks: 30, checksum_ticks: 10 };
    let server = ServerHandle::start(config).expect("a free port");
    let mut stream = Locked::connect(&server, false, 1, None);
    stream.until("a state", |one| one.others.iter().any(|other| other.starts_with("state ")));
    let mut follows = Locked::connect(&server, true, 2, None);
    assert_eq!(follows.peer.receive_close(), "1008 lockstep_too_large");
    stream.others.clear();
    stream.march(1, &[1]);
    stream.hears("command_accepted");
    assert_eq!(metric(&server, "lockstep_snapshots_total"), 0);
    server.stop();
}

#[test]
fn bytes_in_json_are_an_object() {
    let value = Value::Array(vec![Value::Binary(vec![0, 255, 7]), Value::Binary(Vec::new())]);
    let text = json::to_text(&value);
    assert_eq!(text, r#"[{"base64":"AP8H"},{"base64":""}]"#);
    assert_eq!(json::read(&text, Direction::ToClient), Ok(value));
    for other in [r#"{"base64":"?"}"#, r#"{"base64":"AA==","more":1}"#, r#"{"base64":1}"#] {
        assert!(matches!(json::read(other, Direction::ToClient), Ok(Value::Map(_))), "{other}");
    }
}
