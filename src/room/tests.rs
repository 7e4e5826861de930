//! A room in virtual time: seats, questions, and what is made only when somebody wants it.

use std::time::Duration;

use super::seats::Seat;
use super::*;
use crate::feed::Rates;
use crate::household::Household;
use crate::world::{Action, Identity, Resource, TickHz};

const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 30);

fn world(seed: u32) -> World {
    World::new(Identity { seed, map_size_px: 3_000, tick_hz: TickHz::Hz30 })
}

fn options(seat_time: Duration) -> Options {
    let rates = Rates { tick_hz: 30, native_hz: 30, moomoo_hz: 10 };
    Options { name: "".into(), epoch: "0".to_owned(), rates, delay_ticks: 0, seat_time }
}

/// A room, and the time of its next tick.
struct Running {
    room: Room,
    now: Duration,
}

impl Running {
    fn new(seat_time: Duration) -> Running {
        Running { room: Room::new(world(1), options(seat_time)), now: Duration::ZERO }
    }

    fn tick(&mut self) -> Ticked {
        self.now += PERIOD;
        self.room.tick(self.now, Wants::default())
    }

    fn enter(&mut self, connection: u64) -> PlayerId {
        let player = self.room.handle.take_seat(connection, self.now).expect("there are numbers");
        self.room.handle.push_operator(vec![join(player)]);
        player
    }

    fn players(&self) -> Vec<u16> {
        self.room.world.players().map(|player| player.id.0).collect()
    }
}

fn join(player: PlayerId) -> Action {
    Action::Join { player, name: "Ann".to_owned(), skin: 0 }
}

fn grant(player: u16) -> Action {
    Action::Grant { player: PlayerId(player), resource: Resource::Wood, amount: 5 }
}

#[test]
fn a_seat_outlives_its_connection_and_another_connection_can_take_it() {
    let seat_time = PERIOD * 3;
    let mut running = Running::new(seat_time);
    let player = running.enter(7);
    running.tick();
    running.room.handle.disconnect(player, running.now);
    let until = running.now + seat_time;
    assert_eq!(running.room.handle.seat(player), Some(Seat::Waiting { until }));
    running.tick();
    assert!(running.room.handle.resume_seat(player, 8), "in time");
    for _ in 0..4 {
        running.tick();
    }
    assert_eq!(running.players(), [player.0], "the seat has a connection again");
    assert_eq!(running.room.handle.seat(player), Some(Seat::Connected(8)));
    assert!(!running.room.handle.resume_seat(player, 9), "it has one");
    running.room.handle.disconnect(player, running.now);
    running.tick();
    running.tick();
    assert_eq!(running.players(), [player.0]);
    running.tick();
    assert_eq!(running.players(), [0; 0], "the time is over");
    assert!(!running.room.handle.resume_seat(player, 9));
    assert_eq!(running.room.handle.seat(player), None);
    assert_ne!(running.enter(9), player, "its number rests");
}

#[test]
fn a_player_without_connection_leaves_in_the_next_tick_if_seats_do_not_wait() {
    let mut running = Running::new(Duration::ZERO);
    let player = running.enter(7);
    running.tick();
    let stop = Command { player, sequence: 1, action: Action::Move { direction: None } };
    let from = Household::of(std::net::Ipv4Addr::LOCALHOST.into());
    running.room.handle.push(from, stop, Some(running.room.handle.tick() + 9)).expect("room for one");
    running.room.handle.disconnect(player, running.now);
    running.tick();
    assert_eq!(running.players(), [0; 0]);
    let rejected: Vec<_> = (0..10).flat_map(|_| running.tick().rejected).collect();
    assert_eq!(rejected, [], "its commands were dropped");
}

#[test]
fn the_players_of_a_restored_world_leave_and_their_numbers_are_not_taken_before() {
    let mut before = Running::new(Duration::ZERO);
    before.enter(1);
    before.enter(2);
    before.tick();
    let mut running =
        Running { room: Room::new(before.room.world, options(Duration::ZERO)), now: before.now };
    assert_eq!(running.enter(3), PlayerId(3));
    running.tick();
    assert_eq!(running.players(), [3]);
}

#[test]
fn a_number_whose_join_is_rejected_is_given_back() {
    let mut running = Running::new(Duration::ZERO);
    let player = running.room.handle.take_seat(7, running.now).expect("there are numbers");
    let name = "A name that is too long for the world".to_owned();
    running.room.handle.push_operator(vec![Action::Join { player, name, skin: 0 }]);
    let rejected = running.tick().rejected;
    assert_eq!(rejected, [(PlayerId::OPERATOR, Refusal::NameTooLong)]);
    assert_eq!(running.room.handle.seat(player), None);
}

#[test]
fn frame_checksum_and_snapshot_are_made_only_if_wanted() {
    let mut running = Running::new(Duration::ZERO);
    let ticked = running.tick();
    assert!(ticked.frame.is_none() && ticked.checksum.is_none() && ticked.snapshot.is_none());
    let player = running.enter(7);
    let (checksum, snapshot) = (running.room.world.checksum(), running.room.world.snapshot());
    let ticked = running.room.tick(running.now, Wants { frame: true, checksum: true, snapshot: true });
    let frame = ticked.frame.expect("wanted");
    let frame = crate::world::command::decode_frame(&frame).expect("our own frame");
    assert_eq!(frame.commands.len(), 1);
    assert_eq!(frame.commands[0].action, join(player));
    assert_eq!(ticked.checksum, Some(checksum), "of the world before the tick");
    assert_eq!(*ticked.snapshot.expect("wanted").bytes, *snapshot);
}

#[test]
fn questions_are_answered_after_the_tick_and_one_snapshot_serves_all() {
    let mut running = Running::new(Duration::ZERO);
    let handle = Arc::clone(&running.room.handle);
    let (joined, granted, refused) =
        (handle.command(join(PlayerId(1))), handle.command(grant(1)), handle.command(grant(2)));
    let (picture, one, two) = (handle.picture(), handle.snapshot(), handle.snapshot());
    let ticked = running.tick();
    let outcomes = [joined, granted, refused].map(|asked| asked.expect("not busy").try_recv());
    assert_eq!(outcomes, [Ok(Ok(())), Ok(Ok(())), Ok(Err(Refusal::UnknownPlayer))]);
    assert_eq!(running.room.world.player(PlayerId(1)).expect("joined").resources[0], 5);
    let picture = picture.expect("not busy").try_recv().expect("answered");
    assert!(Arc::ptr_eq(&picture, &ticked.published));
    let one = one.expect("not busy").try_recv().expect("answered");
    let two = two.expect("not busy").try_recv().expect("answered");
    assert!(Arc::ptr_eq(&one, &two) && Arc::ptr_eq(&one, &ticked.snapshot.expect("made")));
    assert_eq!(World::restore(&one.bytes).expect("our own snapshot").tick(), one.tick);
}

#[test]
fn waiting_questions_are_bounded_and_end_with_the_room() {
    let running = Running::new(Duration::ZERO);
    let handle = &running.room.handle;
    let asked: Vec<_> = (0..limits::INQUIRIES).map(|_| handle.picture().expect("not busy")).collect();
    assert_eq!(handle.picture().err(), Some(Busy));
    handle.set_over();
    let gone = std::sync::mpsc::TryRecvError::Disconnected;
    assert!(asked.iter().all(|answer| answer.try_recv().err() == Some(gone)));
}

#[test]
fn rooms_in_one_process_are_independent() {
    let mut rooms = [1, 2].map(|seed| Running { room: Room::new(world(seed), options(PERIOD)), now: PERIOD });
    rooms[0].enter(1);
    for _ in 0..3 {
        rooms.iter_mut().for_each(|room| drop(room.tick()));
    }
    assert_eq!(rooms.each_ref().map(|running| running.players().len()), [1, 0]);
    let mut alone = Running { room: Room::new(world(2), options(PERIOD)), now: PERIOD };
    (0..3).for_each(|_| drop(alone.tick()));
    assert_eq!(rooms[1].room.world.checksum(), alone.room.world.checksum());
}
