//! The seats of a room: however many connections come and go while it ticks, no two players have one number, and none is lost.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use shuttle::sync::Arc;
use shuttle::thread;

use crate::game::{Game as _, Rates};
use crate::household::Household;
use crate::limits;
use crate::room::answers::Batch;
use crate::room::lockstep::Rules;
use crate::room::{Handle, Options};
use crate::sync::Mutex;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz, World};
use tickwire::sim::{Membership, Stepped};

/// One tick of the room, in which those that leave have left.
fn tick(handle: &Handle, now: Duration) {
    let (tick, mut batch) = (handle.tick(), Batch::default());
    drop(handle.begin(tick, now, &mut batch, &mut []));
    let left = batch.commands.iter().filter_map(|command| match (handle.about.membership)(&command.action) {
        Some(Membership::Leaves(player)) => Some(player),
        _ => None,
    });
    handle.end(tick + 1, &Stepped { left: left.collect(), ..Stepped::default() }, now);
}

pub fn handle() -> Handle {
    static WORLD: OnceLock<World> = OnceLock::new();
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 };
    let rates = Rates { tick_hz: 30, update_hz: 30, foreign_hz: 10 };
    let (name, epoch) = ("".into(), String::new());
    let options = Options {
        name,
        epoch,
        rates,
        delay_ticks: 0,
        seat_time: Duration::ZERO,
        max_clients: 9,
        lockstep: Rules::default(),
    };
    Handle::new(Moo::ABOUT, WORLD.get_or_init(|| World::new(identity)), options)
}

pub fn no_two_have_one_number_and_none_is_lost() {
    crate::check(|| {
        let (handle, held) = (Arc::new(handle()), Arc::new(Mutex::new(BTreeSet::new())));
        let come_and_go = |connection: u64| {
            let (handle, held) = (Arc::clone(&handle), Arc::clone(&held));
            thread::spawn(move || {
                for round in 0..2 {
                    // Each round comes after the rest of the one before, so that numbers come again.
                    let now = limits::PLAYER_NUMBER_REST * (2 * round + connection as u32 % 2);
                    let player = handle.take_seat(connection, now).expect("there are many");
                    assert!(held.lock().insert(player.0), "{player:?} is another's");
                    thread::yield_now();
                    assert!(held.lock().remove(&player.0));
                    handle.disconnect(
                        player,
                        (Household::of(std::net::Ipv4Addr::LOCALHOST.into()), connection),
                        now,
                    );
                }
            })
        };
        let room = Arc::clone(&handle);
        let ticking = thread::spawn(move || {
            (0..4).for_each(|period| tick(&room, limits::PLAYER_NUMBER_REST * period));
        });
        let threads: Vec<_> = (0..3).map(come_and_go).chain([ticking]).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let later = limits::PLAYER_NUMBER_REST * 100;
        tick(&handle, later);
        let all: Vec<PlayerId> = (0..6).filter_map(|_| handle.take_seat(9, later * 2)).collect();
        assert_eq!(
            all,
            [1, 2, 3, 4, 5, 6].map(PlayerId),
            "every connection that went has given its number back"
        );
    });
}
