//! Rooms on demand: a client that comes while a room ends is in that room, which then lives on, or in a new one.

use std::time::Duration;

use shuttle::sync::Arc;
use shuttle::thread;

use crate::seats;
use crate::server::net::metrics::Metrics;
use crate::server::net::rooms::{RoomLimits, RoomPermit, Rooms, RunningRoom};
use crate::server::net::tap::Tap;
use crate::util::address_prefix::AddressPrefix;

const NAME: &str = "den";

/// What the threads share.
#[derive(Default)]
struct House {
    rooms: Rooms,
    metrics: Metrics,
    tap: Tap,
}

/// Enters the room, or makes it, as `demand.rs` does; its thread then tries to end it, as `room_thread.rs` does.
fn enter(house: &Arc<House>) -> (std::sync::Arc<RunningRoom>, RoomPermit) {
    let by = AddressPrefix::from_ip([127, 0, 0, 1].into());
    loop {
        if let Some((room, presence)) = house.rooms.enter(NAME) {
            return (room, presence.expect("it is not full"));
        }
        let max = RoomLimits { rooms: 1, of_address: None };
        let making = house.rooms.reserve(NAME, by, max);
        let Some(making) = making.expect("the room before has given its place back") else { continue };
        let handle = std::sync::Arc::new(seats::handle());
        let (room, presence) = making.create_run(handle, &house.metrics, Duration::ZERO);
        making.publish(&room);
        let (own, ending) = (Arc::clone(house), std::sync::Arc::clone(&room));
        thread::spawn(move || (0..6).any(|_| own.rooms.end(&ending, &own.metrics, &own.tap)));
        return (room, presence.expect("it is the first"));
    }
}

/// Comes, and looks around for a while.
fn visit(house: &Arc<House>) {
    let (room, presence) = enter(house);
    for _ in 0..3 {
        let listed = house.rooms.find(NAME).expect("a room with a client is listed");
        assert!(std::sync::Arc::ptr_eq(&listed, &room), "there are two rooms of one name");
        assert!(!room.is_ending(), "the room has ended although a client is in it");
    }
    drop(presence);
}

pub fn whoever_comes_is_in_a_living_room() {
    crate::check(|| {
        let house = Arc::new(House::default());
        let others: Vec<_> =
            (0..2).map(|_| Arc::clone(&house)).map(|house| thread::spawn(move || visit(&house))).collect();
        visit(&house);
        others.into_iter().for_each(|other| other.join().expect("no panic"));
    });
}
