//! A hundred clients on lines of 60 kbit/s: the server closes none, and each shows a recent state.
//!
//! The lines carry a fifth of the bytes of the game. The server must skip updates, and send the
//! newest state when the bytes before it are gone.

use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{PlayerId, WorldParams, fields};

use super::counts::SimulationCounts;
use super::plan::SimGameFactory;
use super::update_check::CheckedRunner;
use super::virtual_clock::VirtualClock;
use super::virtual_tcp::{ReadResult, ServerTransport, VirtualTcp};
use crate::client::connection::{ClientConnection, ClientEvent, ConnectionKeys};
use crate::game::UpdateRates;
use crate::game::simple::{
    ActionResult, Entities, EntityInfo, Joining, ReceivedEntities, Simple, SimpleGame, StateRows,
    TickContext, rows,
};
use crate::limits;
use crate::packet::{Dialect, Direction, PacketTables};
use crate::server::admission::Capacity;
use crate::server::clients::dyn_room::DynRoom;
use crate::server::host::connection::HostConnection;
use crate::server::host::{HostState, NoObserver};
use crate::server::room::lockstep::LockstepConfig;
use crate::server::room::{RoomConfig, TickRequest};
use crate::util::netem::Conditions;

const CLIENTS: u32 = 100;
const TICK_HZ: u32 = 30;
const SECONDS: u32 = 9;
/// 60 kbit/s.
const BYTES_PER_S: u64 = 7_500;
const DELAY: Duration = Duration::from_millis(40);
/// Entities of each player.
const BIRDS: u32 = 4;
const TABLE: &str = "direction\tname\tlane\tflock:int\targuments\tmeaning
to_server\thello\treliable\t1\tversion:u16 mode:u8<=1 name:str<=15|nil\tthe first packet
to_server\tjoin\treliable\t2\tname:str<=15|nil\tjoins
to_server\tping\treliable\t3\tnonce:u32\tmeasures the round trip
to_server\twait\treliable\t4\tsequence:u32 tick:u32.tick|nil\tno effect
to_client\twelcome\treliable\t1\tversion:u16 rules_hash:str<=16 seed:u32 tick_hz:u8.hz update_hz:u8.hz epoch:str<=16 tick:u32.tick\tanswers hello
to_client\tspawned\tlatest\t2\tplayer:u16\tthe client plays
to_client\tpong\treliable\t3\tnonce:u32 tick:u32.tick\tanswers ping
to_client\terror\treliable\t4\trule:str detail:str\tan error
to_client\tbirds\tlatest\t6\ttick:u32.tick enter:[id:u16,x:u16.px,y:u16.px] leave:[u16] moved:[id:u16,dx:i8.px,dy:i8.px] placed:[id:u16,x:u16.px,y:u16.px]\tall birds
to_client\tbell\treliable\t7\tnumber:u32\trings once a second
";

fields! {
    /// Birds that fly on a known course.
    struct Flock { players: Vec<PlayerId>, ticks: u32 }
}

rows! {
    in TABLE;

    enum Action { Wait in "wait" {} }
    struct BirdRow in "birds" { id: u32, x: u16, y: u16 }
    struct Bell in "bell" { number: u32 }
}

/// Position of a bird after a number of ticks. It turns back with a step that no `i8` holds.
fn course(id: u32, ticks: u32) -> [u16; 2] {
    let at = |speed: u32| ((id * 13 + ticks * speed) % 2_000) as u16;
    [at(9), at(7)]
}

impl SimpleGame for Flock {
    const NAME: &'static str = "flock";
    const TABLE: (&'static str, &'static str) = ("flock.tsv", TABLE);
    const DIALECT: &'static str = "flock";
    const PAGE: &'static str = "";
    const TICK_RATES: &'static [u32] = &[TICK_HZ];

    type Action = Action;

    fn new(_: &WorldParams) -> Flock {
        Flock { players: Vec::new(), ticks: 0 }
    }

    fn join(&mut self, player: PlayerId, _: &Joining<'_>, _: &mut TickContext<'_>) {
        self.players.push(player);
    }

    fn leave(&mut self, player: PlayerId, _: &mut TickContext<'_>) {
        self.players.retain(|one| *one != player);
    }

    fn apply(&mut self, _: PlayerId, _: Action, _: &mut TickContext<'_>) -> ActionResult {
        Ok(())
    }

    fn tick(&mut self, context: &mut TickContext<'_>) {
        self.ticks = context.tick + 1;
        if self.ticks.is_multiple_of(TICK_HZ) {
            context.broadcast(Bell { number: self.ticks / TICK_HZ });
        }
    }

    fn write_state(&self, _: &mut StateRows) {}

    fn write_entities(&self, entities: &mut Entities) {
        for id in
            self.players.iter().flat_map(|player| (0..BIRDS).map(|bird| u32::from(player.0) * BIRDS + bird))
        {
            let [x, y] = course(id, self.ticks);
            entities.push(EntityInfo::at((x.into(), y.into())), BirdRow { id, x, y });
        }
    }
}

/// The client's end of a connection.
struct SlowClient {
    tcp: Arc<VirtualTcp>,
    link: ClientConnection,
    birds: ReceivedEntities,
    /// Tick of the newest state.
    newest: u32,
    /// Longest time from a tick to the arrival of the next state.
    oldest: Duration,
    updates: u32,
    largest: usize,
    bells: Vec<i64>,
    closed: Option<String>,
}

impl SlowClient {
    fn new(number: u32, clock: &VirtualClock, dialect: &Dialect) -> SlowClient {
        let line = Conditions { delay: DELAY, down: Some(BYTES_PER_S), ..Conditions::default() };
        let tcp = VirtualTcp::new(clock, u64::from(number) + 1, [Duration::ZERO; 2], Some(&line));
        // The model counts the bytes in both kernels and in transit. The server gives its kernel
        // buffer this size.
        tcp.set_buffer(limits::SEND_BUFFER_BYTES);
        let keys = ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
        SlowClient {
            tcp,
            link: ClientConnection::new("slow", "/play", true, keys),
            birds: ReceivedEntities::new(dialect, "birds").expect("an entity list"),
            newest: 0,
            oldest: Duration::ZERO,
            updates: 0,
            largest: 0,
            bells: Vec::new(),
            closed: None,
        }
    }

    fn step(&mut self, dialect: &Dialect, now: Duration) {
        if let ReadResult::Bytes(bytes) = self.tcp.read(usize::MAX) {
            self.link.receive(&bytes);
        }
        let mut hello = None;
        loop {
            match self.link.next_event().expect("frames of a server") {
                None => break,
                Some(ClientEvent::Open) => {
                    let values = [1.into(), 1.into(), "slow".into()];
                    hello = dialect.encode(Direction::ToServer, "hello", &values).ok();
                }
                Some(ClientEvent::Binary(message)) => {
                    let packet = dialect.decode(Direction::ToClient, message).expect("by the table");
                    match &*packet.row.name {
                        "birds" => {
                            self.birds.apply(&packet).expect("changes of known birds");
                            let tick = packet.integer("tick").expect("a number");
                            if self.updates > 0 {
                                self.oldest = self.oldest.max(now - time_of(self.newest));
                            }
                            self.newest = tick;
                            self.updates += 1;
                            self.largest = self.largest.max(message.len());
                        }
                        "bell" => self.bells.extend(packet.integer::<i64>("number")),
                        _ => {}
                    }
                }
                Some(ClientEvent::Closed { reason, .. }) => self.closed = Some(reason.to_string()),
                Some(_) => {}
            }
        }
        if let Some(hello) = hello {
            self.link.send_binary(&hello);
        }
        let mut out = Vec::new();
        self.link.drain_output(&mut out);
        assert_eq!(self.tcp.write(&out), out.len());
    }

    /// Compares the birds with their courses at the tick of the newest state.
    fn check_birds(&self) {
        let birds =
            self.birds.iter().map(|(id, values)| (id, [&values[1], &values[2]].map(|value| value.as_u64())));
        for (id, place) in birds {
            assert_eq!(place, course(id, self.newest).map(|at| Some(at.into())), "bird {id}");
        }
        assert_eq!(self.birds.len(), (CLIENTS * BIRDS) as usize);
    }
}

/// Virtual time at which a tick is completed.
fn time_of(tick: u32) -> Duration {
    Duration::from_secs(1) * tick / TICK_HZ
}

#[test]
fn a_hundred_clients_on_slow_lines_stay_connected_and_show_a_recent_state() {
    let game = SimGameFactory::for_game::<Simple<Flock>>();
    let codes = PacketTables::from_texts(game.info.tables).expect("its table");
    let dialect = codes.dialect("flock").expect("its dialect");
    let config = RoomConfig {
        name: "".into(),
        epoch: "1".to_owned(),
        secret: 7,
        rates: UpdateRates { tick_hz: TICK_HZ, update_hz: TICK_HZ, foreign_hz: TICK_HZ },
        delay_ticks: 0,
        resume_time: Duration::ZERO,
        absent_per_address: 0,
        max_clients: CLIENTS as usize,
        lockstep: LockstepConfig::default(),
    };
    let mut room: Box<dyn DynRoom<ServerTransport>> = (game.new_room)(&(game.info.identity)(1), config);
    let mut host = HostState::new(game, codes, vec![Arc::clone(room.handle())], Capacity::default(), 1);
    let clock = VirtualClock::default();
    let mut counts = SimulationCounts::default();
    let mut clients: Vec<_> = (0..CLIENTS).map(|number| SlowClient::new(number, &clock, &dialect)).collect();
    let mut connections = Vec::new();
    for (number, client) in (0..).zip(&clients) {
        let address = ([10, 0, 0, number], 50_000).into();
        let line = ServerTransport(Arc::clone(&client.tcp));
        connections.push(
            HostConnection::accept(address, line, &host).unwrap_or_else(|_| panic!("{address} is refused")),
        );
    }
    for step in 1..=SECONDS * TICK_HZ {
        let now = time_of(step);
        clock.set(now);
        host.set_now(now);
        for (client, connection) in clients.iter_mut().zip(&mut connections) {
            client.step(&dialect, now);
            if let ReadResult::Bytes(bytes) = client.tcp.server_read(usize::MAX) {
                connection.receive(&bytes, &mut host, &mut NoObserver);
            }
        }
        let ticked = room.tick(now, TickRequest::default());
        let worker = &mut host.workers[0];
        worker.push_tick(0, &ticked.published, ticked.acks.clone());
        let backlog = worker.take_backlog(0).expect("the tick");
        let mut runner = CheckedRunner::new(now, &host.address_limits, &mut counts);
        worker.run_pass(0, &backlog, now, &mut runner);
        runner.finish().expect("lanes and queues within their rules");
        for connection in &mut connections {
            connection.end_if_closed(&host, &mut NoObserver);
            connection.poll(&mut host, &mut NoObserver);
        }
    }
    check(&clients, &counts);
}

/// Checks that the lines were too slow, and what the clients have received nevertheless.
fn check(clients: &[SlowClient], counts: &SimulationCounts) {
    let largest = clients.iter().map(|client| client.largest).max().unwrap_or_default();
    // The server writes a state once the kernel has accepted the state before it. The state arrives
    // after the bytes in the kernel's buffer and its own; the next one arrives later by the time of
    // its own bytes. The other ticks are for the wait until the server writes and the client reads.
    let bytes = (limits::SEND_BUFFER_BYTES + 2 * largest) as u64;
    let bound = Duration::from_nanos(bytes * 1_000_000_000 / BYTES_PER_S) + DELAY + time_of(3);
    let now = time_of(SECONDS * TICK_HZ);
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    for (number, client) in clients.iter().enumerate() {
        assert_eq!(client.closed, None, "client {number}");
        client.check_birds();
        let age = now.saturating_sub(time_of(client.newest)).max(client.oldest);
        assert!(age <= bound, "client {number}: a state of {age:?} ago, bound {bound:?}");
        assert!(client.bells.is_sorted() && client.bells.windows(2).all(|pair| pair[0] + 1 == pair[1]));
        assert!(client.bells.len() > SECONDS as usize / 2, "client {number}: {:?}", client.bells);
        (slowest, most) = (slowest.max(age), most.max(client.updates));
    }
    println!("oldest state {slowest:?}, bound {bound:?}, largest update {largest} B, at most {most} updates");
    assert!(most < SECONDS * TICK_HZ / 3, "the lines are not too slow: {most} updates");
    assert!(counts.of("state held back") > 0);
}
