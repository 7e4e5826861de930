//! Clients without updates are parked: their worker visits them only at their deadlines.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tickwire::game::UpdateRates;
use tickwire::internal::connection::{DisconnectReason, WireFormat};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Action, Identity, TickHz, World};
use tickwire::internal::limits;
use tickwire::internal::server::admission::address_rate_limits::AddressRateLimits;
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::update_group::{
    EncodeBuffers, TypedUpdateGroup, UpdateFn, UpdateGroup as _, UpdateRunner,
};
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::{JoinAttempt, JoinOutcome, Room, RoomConfig, TickRequest};
use tickwire::packet::PacketTables;
use tickwire::sim::Action as _;

/// Start of the server's clock.
const START: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);

/// A transport that accepts up to `capacity` bytes.
#[derive(Debug)]
struct Pipe {
    capacity: AtomicUsize,
    sent: AtomicUsize,
}

impl Transport for Pipe {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let accepted = slices.map(<[u8]>::len).sum::<usize>().min(self.capacity.load(Ordering::Relaxed));
        self.capacity.fetch_sub(accepted, Ordering::Relaxed);
        self.sent.fetch_add(accepted, Ordering::Relaxed);
        Ok(accepted)
    }
    fn on_queued(&self, _client: &Client<Pipe>, _frames: &[u8], _now: Duration) {}
    fn abort(&self) {}
}

/// Counts the visits of a pass.
struct Visits<'a> {
    now: Duration,
    limits: &'a AddressRateLimits,
    clients: Vec<u64>,
}

impl UpdateRunner<Pipe> for Visits<'_> {
    fn now(&self) -> Duration {
        self.now
    }
    fn run(&mut self, client: &Client<Pipe>, update: &mut UpdateFn<'_>) -> bool {
        self.clients.push(client.id);
        update(self.limits);
        true
    }
}

/// A room with one update group.
struct Group {
    room: Room<Moo>,
    group: TypedUpdateGroup<Moo, Pipe>,
    now: Duration,
}

impl Group {
    fn new() -> Group {
        let world = World::new(Identity { seed: 1, map_size_px: 3_000, tick_hz: TickHz::Hz30 });
        let options = RoomConfig {
            name: "".into(),
            epoch: "0".to_owned(),
            secret: 7,
            rates: UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 30 },
            delay_ticks: 0,
            resume_time: START,
            absent_per_address: 9,
            max_clients: 9,
            lockstep: LockstepConfig::default(),
        };
        Group { room: Room::new(world, options), group: TypedUpdateGroup::default(), now: START }
    }

    fn connect(&mut self, id: u64, dialect: &str) -> Arc<Client<Pipe>> {
        let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
        let entry = AcceptedClient {
            room: Arc::clone(self.room.handle()),
            format,
            resume_key: None,
            token: None,
            is_local: false,
            response: Vec::new(),
            declined: String::new(),
        };
        let pipe = Pipe { capacity: AtomicUsize::new(usize::MAX), sent: AtomicUsize::new(0) };
        let address = "127.0.0.1:5000".parse().expect("an address");
        let client = Arc::new(Client::new((id, address), pipe, entry, self.now));
        self.group.add_client(Arc::clone(&client));
        client
    }

    /// Runs a tick and a pass. Returns the numbers of the visited clients.
    fn tick(&mut self) -> Vec<u64> {
        self.now += PERIOD;
        let ticked = self.room.tick(self.now, TickRequest::default());
        let backlog = Backlog::new(ticked.published, ticked.acks);
        let limits = AddressRateLimits::new(true);
        self.group.begin_pass(Some(&backlog), &mut std::iter::empty(), self.now);
        let mut visits = Visits { now: self.now, limits: &limits, clients: Vec::new() };
        self.group.update_all(Some(&backlog), &mut EncodeBuffers::default(), &mut visits);
        visits.clients
    }
}

fn sent(client: &Client<Pipe>) -> usize {
    client.transport.sent.load(Ordering::Relaxed)
}

#[test]
fn a_silent_client_is_visited_once_and_then_only_at_its_ping() {
    let mut group = Group::new();
    let silent = group.connect(7, "legacy");
    let watching = group.connect(8, "native");
    watching.start_updates(false);
    assert_eq!(group.tick(), [7, 8]);
    let mut pings = 0;
    while group.now < START + limits::PING_INTERVAL * 3 - PERIOD {
        let before = sent(&silent);
        let visited = group.tick();
        assert!(visited.contains(&8), "{visited:?}");
        pings += usize::from(sent(&silent) > before);
        assert_eq!(visited.contains(&7), sent(&silent) > before, "at {:?}", group.now);
    }
    assert_eq!((pings, sent(&silent), group.group.len()), (2, 4, 2), "two empty pings of two bytes");
    // Without pongs, the client counts as lost.
    while silent.sender.disconnect_reason().is_none() {
        group.tick();
        assert!(group.now <= START + limits::IDLE_TIMEOUT + 2 * PERIOD, "{:?}", group.now);
    }
}

#[test]
fn a_parked_native_client_is_closed_when_its_hello_is_late() {
    let mut group = Group::new();
    let client = group.connect(1, "native");
    assert_eq!((group.tick(), group.tick()), (vec![1], vec![]));
    while client.sender.disconnect_reason().is_none() {
        group.tick();
        assert!(group.now <= START + limits::HELLO_TIMEOUT + 2 * PERIOD, "{:?}", group.now);
    }
    assert!(group.now >= START + limits::HELLO_TIMEOUT);
    let late = DisconnectReason::Closed(tickwire::game::CloseReason::HelloLate);
    assert_eq!(client.sender.disconnect_reason(), Some(late));
}

#[test]
fn whatever_needs_a_visit_ends_the_parking() {
    let parked = |group: &mut Group, id| {
        let client = group.connect(id, "legacy");
        group.tick();
        assert_eq!(group.tick(), [0; 0]);
        client
    };
    let mut group = Group::new();
    let client = parked(&mut group, 1);
    client.start_updates(false);
    assert_eq!(group.tick(), [1]);
    assert!(sent(&client) > 0, "the first update comes with the next tick");

    let mut group = Group::new();
    let client = parked(&mut group, 2);
    client.mark_reader_ended();
    group.tick();
    assert_eq!((group.group.len(), Arc::strong_count(&client)), (0, 1));

    let mut group = Group::new();
    let client = parked(&mut group, 3);
    client.transport.capacity.store(1, Ordering::Relaxed);
    client.send(tickwire::internal::connection::sender::Frames::Borrowed(b"\x89\x00"), group.now);
    client.transport.capacity.store(1, Ordering::Relaxed);
    assert_eq!((sent(&client), client.sender.backlog()), (1, 1));
    assert_eq!(group.tick(), [3]);
    assert_eq!((sent(&client), client.sender.backlog()), (2, 0));

    let mut group = Group::new();
    let client = parked(&mut group, 4);
    client.close_after_delay(tickwire::game::CloseReason::TokenWrong, group.now);
    let closes_at = group.now + limits::WRONG_TOKEN_DELAY;
    assert_eq!((group.tick(), group.tick()), (vec![4], vec![]));
    while group.now + PERIOD < closes_at {
        assert!(client.sender.disconnect_reason().is_none());
        group.tick();
    }
    group.tick();
    group.tick();
    assert!(client.sender.disconnect_reason().is_some());
    assert_eq!(group.tick(), [4], "a closing connection is visited until it has ended");
}

#[test]
fn a_moomoo_client_without_a_player_is_visited_once_a_second_until_it_joins() {
    let mut group = Group::new();
    let client = group.connect(1, "legacy");
    client.start_updates(false);
    let ticks = |group: &mut Group, count: u32| (0..count).filter(|_| !group.tick().is_empty()).count();
    ticks(&mut group, 30);
    let first = sent(&client);
    assert!(first > 0, "an empty leaderboard");
    assert_eq!((ticks(&mut group, 90), group.room.handle().viewers()), (3, 0));
    assert_eq!(sent(&client), first, "the leaderboard of an empty world does not change");

    let handle = Arc::clone(group.room.handle());
    let attempt = JoinAttempt { key: None, connection: 1, from: client.prefix() };
    let join = |entered: JoinOutcome| {
        client.set_player(entered, "Ann", None);
        vec![Action::Join { player: entered.player, name: "Ann".into(), skin: 0 }.encoded()]
    };
    handle.join(attempt, group.now, join).expect("a seat");
    assert_eq!((ticks(&mut group, 30), handle.viewers()), (30, 1));
    assert!(sent(&client) > first + 1_000, "{}", sent(&client));
}

#[test]
fn a_room_counts_the_clients_that_receive_updates_once() {
    let mut group = Group::new();
    let client = group.connect(1, "native");
    let viewers = |group: &Group| group.room.handle().viewers();
    assert_eq!(viewers(&group), 0);
    client.start_updates(false);
    client.start_updates(false);
    assert_eq!(viewers(&group), 1);
    client.leave_world(group.now);
    client.leave_world(group.now);
    client.start_updates(false);
    assert_eq!((viewers(&group), client.updates_from_tick()), (0, None));
}
