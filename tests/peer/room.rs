//! A room in virtual time: seats, queries, outputs produced only on request; and the clients of a
//! room at one worker.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use tickwire::game::{CloseReason, UpdateRates};
use tickwire::internal::connection::{DisconnectReason, WireFormat};
use tickwire::internal::games::moo::world::command::decode_frame;
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Rejection, Resource, TickHz, World,
};
use tickwire::internal::games::moo::{Moo, PublishedState};
use tickwire::internal::limits;
use tickwire::internal::server::admission::upgrade_check::AcceptedClient;
use tickwire::internal::server::clients::backlog::Backlog;
use tickwire::internal::server::clients::client::{Client, Transport};
use tickwire::internal::server::clients::update_group::{TypedUpdateGroup, UpdateGroup as _};
use tickwire::internal::server::room::inbox::InboxRejection;
use tickwire::internal::server::room::lockstep::LockstepConfig;
use tickwire::internal::server::room::seats::{Seat, Seats};
use tickwire::internal::server::room::{
    JoinAttempt, JoinOutcome, KeyedSeat, QueryQueueFull, Room, RoomConfig, RoomHandle, SeatKey, TickRequest,
    TickResult,
};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::PacketTables;
use tickwire::sim::Sim as _;
use tickwire::sim::migrate::NamedState;
use tickwire::sim::{Action as _, EncodedAction, RawCommand};

pub const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);
const ABSENT_PER_ADDRESS: usize = 40;
const ALL: TickRequest = TickRequest { frame: true, checksum: true, snapshot: true, player_events: false };

/// A room, and the time of its next tick.
struct Running {
    room: Room<Moo>,
    handle: Arc<RoomHandle>,
    now: Duration,
}

impl Running {
    fn new(seed: u32, seat_time: Duration) -> Running {
        Running::resume(World::new(identity(seed)), seat_time)
    }

    fn resume(world: World, seat_time: Duration) -> Running {
        let rates = UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 };
        let (name, epoch) = ("".into(), "0".to_owned());
        let options = RoomConfig {
            name,
            epoch,
            secret: 7,
            rates,
            delay_ticks: 0,
            resume_time: seat_time,
            absent_per_address: ABSENT_PER_ADDRESS,
            max_clients: 9,
            lockstep: LockstepConfig::default(),
        };
        let room = Room::new(world, options);
        Running { handle: Arc::clone(room.handle()), room, now: Duration::ZERO }
    }

    fn tick_with(&mut self, wants: TickRequest) -> TickResult {
        self.now += PERIOD;
        self.room.tick(self.now, wants)
    }

    fn tick(&mut self) -> TickResult {
        self.tick_with(TickRequest::default())
    }

    fn enter(&mut self, connection: u64) -> PlayerId {
        self.enter_by(None, connection).player
    }

    /// A client that has a key enters from a connection.
    fn enter_by(&self, key: Option<SeatKey>, connection: u64) -> JoinOutcome {
        let client = JoinAttempt { key, connection, from: home() };
        let entered = self.handle.join(client, self.now, |entered| vec![join(entered.player, "Ann")]);
        entered.expect("there are numbers")
    }

    /// The player to which a client comes back; `None` if it gets a new one, which leaves at once.
    fn come_back(&self, key: SeatKey, connection: u64) -> Option<PlayerId> {
        let JoinOutcome { player, is_resumed, .. } = self.enter_by(Some(key), connection);
        if !is_resumed {
            self.handle.dismiss(player, self.now);
        }
        is_resumed.then_some(player)
    }

    /// The players after another tick.
    fn players(&mut self) -> Vec<u16> {
        state(&self.tick()).players.iter().map(|seen| seen.player.0).collect()
    }
}

fn identity(seed: u32) -> Identity {
    Identity { seed, map_size_px: 3_000, tick_hz: TickHz::Hz30 }
}

/// The state that a tick has published.
fn state(ticked: &TickResult) -> &PublishedState {
    &ticked.published.of::<Moo>().expect("the game of the room").state
}

fn join(player: PlayerId, name: &str) -> EncodedAction {
    Action::Join { player, name: name.to_owned(), skin: 0 }.encoded()
}

fn grant(player: u16) -> EncodedAction {
    Action::Grant { player: PlayerId(player), resource: Resource::Wood, amount: 5 }.encoded()
}

#[test]
fn a_seat_outlives_its_connection_and_another_connection_can_take_it() {
    let seat_time = PERIOD * 3;
    let mut running = Running::new(1, seat_time);
    let (handle, key) = (Arc::clone(&running.handle), SeatKey([7; 16]));
    let player = running.enter_by(Some(key), 7).player;
    running.tick();
    handle.disconnect(player, 7, running.now);
    assert_eq!(handle.seat(player), Some(Seat::Suspended { until: running.now + seat_time }));
    running.tick();
    assert_eq!(running.come_back(key, 8), Some(player), "in time");
    for _ in 0..4 {
        assert_eq!(running.players(), [player.0], "the seat has a connection again");
    }
    assert_eq!(handle.seat(player), Some(Seat::Connected(8)));
    handle.disconnect(player, 7, running.now);
    assert_eq!(handle.seat(player), Some(Seat::Connected(8)), "it is no longer the first one's");
    handle.disconnect(player, 8, running.now);
    assert_eq!([running.players(), running.players()], [[player.0], [player.0]]);
    assert_eq!(running.players(), [0; 0], "the time is over");
    assert_eq!(running.come_back(key, 9), None);
    assert_eq!(handle.seat(player), None);
    assert_ne!(running.enter(9), player, "its number rests");
}

/// Where the connections come from.
fn home() -> AddressPrefix {
    AddressPrefix::from_ip(std::net::Ipv4Addr::LOCALHOST.into())
}

/// A command that makes a player walk, or stop.
fn walk(player: PlayerId, sequence: u64, direction: Option<u16>) -> RawCommand {
    Command { player, sequence, action: Action::Move { direction: direction.map(Angle) } }.encoded()
}

#[test]
fn a_player_without_a_connection_stops_and_its_next_connection_counts_from_1() {
    let mut running = Running::new(1, PERIOD * 90);
    let (handle, key) = (Arc::clone(&running.handle), SeatKey([7; 16]));
    let player = running.enter_by(Some(key), 7).player;
    running.tick();
    handle.push((home(), 7), walk(player, 900, Some(0)), None, Duration::ZERO).expect("its seat");
    let place = |running: &mut Running| {
        let ticked = running.tick();
        let body = state(&ticked).players.iter().find(|seen| seen.player == player).expect("it is there");
        (body.body.x, body.body.y)
    };
    let (before, walked) = (place(&mut running), place(&mut running));
    assert_ne!(before, walked);
    handle.disconnect(player, 7, running.now);
    (0..30).for_each(|_| drop(running.tick()));
    assert_eq!(place(&mut running), place(&mut running), "it stands");
    assert_eq!(running.come_back(key, 8), Some(player));
    handle.push((home(), 8), walk(player, 1, Some(0)), None, Duration::ZERO).expect("its seat");
    let stood = place(&mut running);
    assert_ne!(stood, place(&mut running), "it walks again");
}

#[test]
fn a_connection_that_comes_back_takes_the_seat_from_one_whose_end_nobody_has_noticed() {
    let mut running = Running::new(1, PERIOD * 90);
    let (handle, key) = (Arc::clone(&running.handle), SeatKey([7; 16]));
    let player = running.enter_by(Some(key), 7).player;
    running.tick();
    handle.push((home(), 7), walk(player, 5, Some(0)), None, Duration::ZERO).expect("its seat");
    assert_eq!(running.come_back(key, 8), Some(player));
    assert_eq!([7, 8].map(|connection| handle.has_lost_seat(connection)), [true, false]);
    assert_eq!(
        handle.push((home(), 7), walk(player, 6, Some(0)), None, Duration::ZERO),
        Err(InboxRejection::TakenOver)
    );
    handle.push((home(), 8), walk(player, 1, None), None, Duration::ZERO).expect("its seat");
    assert_eq!(running.tick().rejected, [], "of the first connection nothing is left");
    handle.disconnect(player, 7, running.now);
    assert!(!handle.has_lost_seat(7), "it is gone");
    assert_eq!(running.players(), [player.0]);
}

#[test]
fn who_is_removed_with_a_connection_is_not_who_has_been_taken_over_from_it() {
    let mut running = Running::new(1, PERIOD * 90);
    let (handle, key) = (Arc::clone(&running.handle), SeatKey([7; 16]));
    let player = running.enter_by(Some(key), 7).player;
    running.tick();
    assert_eq!(running.come_back(key, 8), Some(player));
    assert!(!handle.remove_player_of(7, player, running.now), "its connection is another one now");
    assert_eq!(running.players(), [player.0]);
    assert!(handle.remove_player_of(8, player, running.now));
    assert_eq!(running.players(), [0; 0]);
}

#[test]
fn one_absent_player_too_many_of_an_address_leaves_and_cannot_come_back() {
    let mut running = Running::new(1, PERIOD * 90);
    let handle = Arc::clone(&running.handle);
    let key = |connection: u64| SeatKey(u128::from(connection).to_le_bytes());
    let seats = ABSENT_PER_ADDRESS as u64 + 1;
    let enter = |connection: u64| (connection, running.enter_by(Some(key(connection)), connection).player);
    let players: Vec<_> = (1..=seats).map(enter).collect();
    running.tick();
    players.iter().for_each(|(connection, player)| handle.disconnect(*player, *connection, running.now));
    assert_eq!(running.come_back(key(seats), 99), None);
    assert_eq!(running.players().len(), ABSENT_PER_ADDRESS);
}

#[test]
fn a_room_of_absent_players_needs_no_tick_until_the_first_of_them_leaves() {
    let seat_time = PERIOD * 90;
    let mut running = Running::new(1, seat_time);
    let handle = Arc::clone(&running.handle);
    assert_eq!(handle.idle_until(), Some(Duration::MAX), "without players");
    let players = [1, 2].map(|number| running.enter_by(Some(SeatKey([number as u8; 16])), number).player);
    assert_eq!(handle.idle_until(), None, "joins are queued");
    running.tick();
    assert_eq!(handle.idle_until(), None, "two are connected");
    handle.disconnect(players[0], 1, running.now);
    let first = running.now + seat_time;
    running.tick();
    assert_eq!(handle.idle_until(), None, "one is connected");
    handle.disconnect(players[1], 2, running.now);
    assert_eq!(handle.idle_until(), None, "the world has not stopped the second");
    running.tick();
    assert_eq!(handle.idle_until(), Some(first));
    assert!(!handle.is_idle(), "the room may not end: two players may come back");
    running.now = first - PERIOD;
    let left: Vec<_> = state(&running.tick()).players.iter().map(|seen| seen.player).collect();
    assert_eq!(left, [players[1]]);
    assert_eq!(handle.idle_until(), Some(first + PERIOD));
    let asked = handle.roster().expect("not busy");
    assert_eq!(handle.idle_until(), None, "a question waits");
    drop(asked);
    handle.dismiss(players[1], running.now);
    running.tick();
    assert_eq!((handle.idle_until(), handle.is_idle()), (Some(Duration::MAX), true));
}

#[test]
fn a_kept_key_of_a_player_who_is_not_in_the_world_is_nobodys() {
    let mut running = Running::new(1, PERIOD * 90);
    let (handle, key) = (Arc::clone(&running.handle), SeatKey([7; 16]));
    handle.restore_seats(&[KeyedSeat { key, player: PlayerId(1), from: home() }], running.now);
    assert_eq!(running.enter(7), PlayerId(1));
    running.tick();
    assert_eq!(running.come_back(key, 8), None);
}

#[test]
fn a_dismissed_player_leaves_with_or_without_a_connection_and_nobody_comes_back_to_it() {
    let mut running = Running::new(1, PERIOD * 90);
    let (handle, keys) = (Arc::clone(&running.handle), [SeatKey([1; 16]), SeatKey([2; 16])]);
    let players = [1, 2].map(|number| running.enter_by(Some(keys[number as usize - 1]), number).player);
    running.tick();
    handle.disconnect(players[1], 2, running.now);
    let seats = players.map(|player| handle.dismiss(player, running.now));
    assert!(matches!(seats, [Some(Seat::Connected(1)), Some(Seat::Suspended { .. })]), "{seats:?}");
    assert_eq!(keys.map(|key| running.come_back(key, 9)), [None, None]);
    assert_eq!(running.players(), [0; 0]);
    assert_eq!(handle.dismiss(players[0], running.now), None, "there is nobody");
}

#[test]
fn a_player_without_a_key_leaves_at_once_though_another_waits_longer() {
    let mut running = Running::new(1, PERIOD * 90);
    let (stays, leaves) = (running.enter_by(Some(SeatKey([1; 16])), 1).player, running.enter(2));
    running.tick();
    running.handle.disconnect(stays, 1, running.now);
    running.handle.disconnect(leaves, 2, running.now);
    assert_eq!(running.players(), [stays.0]);
}

#[test]
fn a_client_comes_back_to_its_seat_in_the_next_run_by_its_key_alone() {
    let (mut before, key) = (Running::new(1, PERIOD * 9), SeatKey([7; 16]));
    let player = before.enter_by(Some(key), 1).player;
    before.enter(2);
    before.tick();
    before.handle.push((home(), 1), walk(player, 5, Some(0)), None, Duration::ZERO).expect("its seat");
    before.tick();
    let (seats, named) = (before.handle.hashed_seats(), before.room.world().save_named());
    assert_eq!(seats.iter().map(|seat| (seat.player, seat.from)).collect::<Vec<_>>(), [(player, home())]);
    let saved = NamedState::new(&named).expect("just written");
    let world = World::carried(identity(1), &saved).expect("the same rules");
    let mut running = Running::resume(world, PERIOD * 9);
    running.handle.restore_hashed_seats(&seats, running.now);
    assert_eq!(running.come_back(SeatKey([8; 16]), 5), None, "another key");
    assert_eq!(running.come_back(key, 5), Some(player));
    assert_eq!(running.players(), [player.0], "without a key nobody can come back");
    let direction = state(&running.tick()).players.iter().next().and_then(|seen| seen.direction);
    assert_eq!(direction, None, "it walked when the run before ended, and stands");
    (0..12).for_each(|_| assert_eq!(running.players(), [player.0]));
    running.handle.disconnect(player, 5, running.now);
    assert_eq!(running.come_back(key, 7), Some(player), "after a reload, too");
}

#[test]
fn a_player_without_connection_leaves_in_the_next_tick_if_seats_do_not_wait() {
    let mut running = Running::new(1, Duration::ZERO);
    let player = running.enter(7);
    running.tick();
    let stop = Command { player, sequence: 1, action: Action::Move { direction: None } };
    running
        .handle
        .push((home(), 7), stop.encoded(), Some(running.handle.tick() + 9), Duration::ZERO)
        .expect("room for one");
    running.handle.disconnect(player, 7, running.now);
    assert_eq!(running.players(), [0; 0]);
    let rejected: Vec<_> = (0..10).flat_map(|_| running.tick().rejected).collect();
    assert_eq!(rejected, [], "its commands were dropped");
}

#[test]
fn the_players_of_a_restored_world_leave_before_their_numbers_are_reused() {
    let mut before = Running::new(1, Duration::ZERO);
    before.enter(1);
    before.enter(2);
    before.tick();
    let snapshot = before.tick_with(ALL).snapshot.expect("wanted");
    let world = World::restore(&snapshot.bytes).expect("our own snapshot");
    let mut running = Running::resume(world, Duration::ZERO);
    assert_eq!(running.enter(3), PlayerId(3));
    assert_eq!(running.players(), [3]);
}

#[test]
fn a_number_whose_join_is_rejected_is_released() {
    let mut running = Running::new(1, Duration::ZERO);
    let client = JoinAttempt { key: None, connection: 7, from: home() };
    let long = |JoinOutcome { player, .. }| vec![join(player, "A name that is too long for the world")];
    let player = running.handle.join(client, running.now, long).expect("there are numbers").player;
    assert_eq!(running.tick().rejected, [(PlayerId::OPERATOR, Rejection::NameTooLong.name())]);
    assert_eq!(running.handle.seat(player), None);
}

#[test]
fn the_lowest_number_is_taken_and_released_numbers_rest_before_reuse() {
    let start = Duration::from_secs(1);
    let mut seats = Seats::restore([PlayerId(2), PlayerId(4)].into_iter(), start);
    assert_eq!([1, 2, 3].map(|_| seats.assign(1, start)), [1, 3, 5].map(|number| Some(PlayerId(number))));
    seats.release(PlayerId(2), start);
    assert_eq!(seats.assign(1, start), Some(PlayerId(6)), "it rests first");
    assert_eq!(seats.assign(1, start + limits::PLAYER_ID_COOLDOWN), Some(PlayerId(2)));
    // A shorter while if no other is free.
    let mut full = Seats::default();
    assert!((0..limits::PLAYERS).all(|_| full.assign(1, start).is_some()));
    assert_eq!(full.assign(1, start), None);
    full.release(PlayerId(7), start);
    let rested = start + limits::MIN_PLAYER_ID_COOLDOWN;
    assert_eq!(full.assign(1, rested - Duration::from_millis(1)), None);
    assert_eq!(full.assign(1, rested), Some(PlayerId(7)));
}

#[test]
fn frame_checksum_and_snapshot_are_made_only_if_wanted_of_the_world_before_the_tick() {
    let mut running = Running::new(1, Duration::ZERO);
    let ticked = running.tick();
    assert!(ticked.frame.is_none() && ticked.checksum.is_none() && ticked.snapshot.is_none());
    let player = running.enter(7);
    let ticked = running.tick_with(ALL);
    let mut commands = decode_frame(&ticked.frame.expect("wanted")).expect("our own frame").commands;
    let actions: Vec<_> = commands.iter().map(|command| command.action.encoded()).collect();
    assert_eq!(actions, [join(player, "Ann")]);
    let mut world = World::restore(&ticked.snapshot.expect("wanted").bytes).expect("our own snapshot");
    assert_eq!((world.tick(), Some(world.checksum())), (ticked.tick, ticked.checksum));
    world.step(&mut commands);
    assert_eq!(running.tick_with(ALL).checksum, Some(world.checksum()));
}

#[test]
fn questions_are_answered_after_the_tick_and_one_snapshot_serves_all() {
    let mut running = Running::new(1, Duration::ZERO);
    let handle = Arc::clone(&running.handle);
    let asked = [join(PlayerId(1), "Ann"), grant(1), grant(2)].map(|action| handle.command(action));
    let (roster, one, two) = (handle.roster(), handle.snapshot(), handle.snapshot());
    let ticked = running.tick();
    let outcomes = asked.map(|asked| asked.expect("not busy").try_recv());
    assert_eq!(outcomes, [Ok(Ok(())), Ok(Ok(())), Ok(Err(Rejection::UnknownPlayer.name()))]);
    assert_eq!(state(&ticked).players.iter().next().expect("joined").resources[0], 5);
    let roster = roster.expect("not busy").try_recv().expect("answered");
    assert_eq!(roster, ticked.published.roster());
    let names: Vec<_> = roster.players.iter().map(|(player, name, _)| (*player, name.as_str())).collect();
    assert_eq!(names, [(PlayerId(1), "Ann")], "after the tick in which it joins");
    let [one, two] = [one, two].map(|asked| asked.expect("not busy").try_recv().expect("answered"));
    assert!(Arc::ptr_eq(&one, &two) && Arc::ptr_eq(&one, &ticked.snapshot.expect("made")));
    assert_eq!(World::restore(&one.bytes).expect("our own snapshot").tick(), one.tick);
}

#[test]
fn waiting_questions_are_bounded_and_end_with_the_room() {
    let handle = Running::new(1, Duration::ZERO).handle;
    let asked: Vec<_> = (0..limits::MAX_ROOM_QUERIES).map(|_| handle.roster().expect("not busy")).collect();
    assert_eq!(handle.roster().err(), Some(QueryQueueFull));
    handle.mark_ended();
    assert!(asked.iter().all(|answer| answer.try_recv().err() == Some(TryRecvError::Disconnected)));
}

#[test]
fn rooms_in_one_process_are_independent() {
    let [mut busy, mut other, mut alone] = [1, 2, 2].map(|seed| Running::new(seed, PERIOD));
    busy.enter(1);
    for _ in 0..3 {
        let ticked = [&mut busy, &mut other, &mut alone].map(|running| running.tick_with(ALL));
        assert_eq!(ticked[1].checksum, ticked[2].checksum);
    }
    assert_eq!([busy.players().len(), other.players().len()], [1, 0]);
}

/// A line that takes everything.
#[derive(Debug)]
struct Open;

impl Transport for Open {
    fn send<'a>(&self, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        Ok(slices.map(<[u8]>::len).sum())
    }
    fn on_queued(&self, _client: &Client<Open>, _frames: &[u8], _now: Duration) {}
    fn abort(&self) {}
}

#[test]
fn missed_ticks_keep_their_events_up_to_a_bound_beyond_which_the_clients_are_closed() {
    let mut running = Running::new(1, Duration::ZERO);
    let client = |id| {
        let format = WireFormat::new(PacketTables::builtin().dialect("legacy").expect("built in"), false);
        let who = (id, "127.0.0.1:5000".parse().expect("an address"));
        let room = Arc::clone(&running.handle);
        let entry = AcceptedClient {
            room,
            format,
            resume_key: None,
            token: None,
            is_local: false,
            response: Vec::new(),
            declined: String::new(),
        };
        Arc::new(Client::new(who, Open, entry, Duration::ZERO))
    };
    let (early, late) = (client(1), client(2));
    let ticks = [(); 3].map(|()| running.tick().published);
    let [first, second, third] = &ticks;
    let mut backlog = Backlog::new(Arc::clone(first), None);
    backlog.push(Arc::clone(second), None);
    backlog.push(Arc::clone(third), None);
    assert!(Arc::ptr_eq(&backlog.newest, third) && !backlog.has_overflowed);
    assert_eq!(backlog.missed_events.len(), 2);
    for (missed, tick) in backlog.missed_events.iter().zip([first, second]) {
        assert!(Arc::ptr_eq(missed, &tick.events()), "{tick:?}");
    }

    let mut audience = TypedUpdateGroup::<Moo, Open>::default();
    let visit = |audience: &mut TypedUpdateGroup<Moo, Open>, backlog: Option<&Backlog>, newcomer, now| {
        audience.begin_pass(backlog, &mut Option::into_iter(newcomer), now)
    };
    let early_visit = limits::WORKER_IDLE_WAKEUP / 2;
    assert!(!visit(&mut audience, None, Some(Arc::clone(&early)), early_visit), "no tick, and no deadline");
    assert!(visit(&mut audience, Some(&backlog), None, early_visit), "a tick");
    assert!(!visit(&mut audience, None, None, limits::WORKER_IDLE_WAKEUP));
    assert!(visit(&mut audience, None, None, early_visit + limits::WORKER_IDLE_WAKEUP), "deadlines");
    for _ in 0..limits::MISSED_EVENT_BYTES / third.event_bytes() {
        backlog.push(Arc::clone(third), None);
    }
    assert!(backlog.has_overflowed && backlog.missed_events.is_empty(), "{}", backlog.missed_events.len());
    assert!(visit(&mut audience, Some(&backlog), Some(Arc::clone(&late)), limits::WORKER_IDLE_WAKEUP * 2));
    assert_eq!(early.sender.disconnect_reason(), Some(DisconnectReason::Closed(CloseReason::Overloaded)));
    assert_eq!(late.sender.disconnect_reason(), None, "it begins with the newest state");
}
