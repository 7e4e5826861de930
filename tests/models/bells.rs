//! The bell: a worker with clients hears every tick in its order, every worker each client and the stop.

use shuttle::sync::Arc;
use shuttle::thread;

use std::sync::OnceLock;

use crate::game::{DynTick, Publisher as _, UpdateRates};
use crate::server::net::worker_queue::WorkerQueue;
use tickwire::internal::games::moo::MooPublisher;
use tickwire::internal::games::moo::feed::Events;
use tickwire::internal::games::moo::world::{Identity, TickHz, World};

/// Two ticks of a room.
fn ticks() -> &'static [std::sync::Arc<dyn DynTick>; 2] {
    static TICKS: OnceLock<[std::sync::Arc<dyn DynTick>; 2]> = OnceLock::new();
    TICKS.get_or_init(|| {
        let mut world = World::new(Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let rates = UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 };
        let mut publisher = MooPublisher::new(&world, rates);
        [(); 2].map(|()| {
            world.step(&mut Vec::new());
            std::sync::Arc::new(publisher.publish(&world, &|_| 0)) as _
        })
    })
}

/// The world rings twice and a client comes; the worker hears both ticks without a third, and then the stop.
pub fn the_worker_hears_all() {
    let bell = Arc::new(WorkerQueue::<u32>::default());
    // A worker without clients would not hear the ticks.
    bell.push_client(6);
    let (world, reader, worker, stopper) =
        (Arc::clone(&bell), Arc::clone(&bell), Arc::clone(&bell), Arc::clone(&bell));
    let telling = thread::spawn(move || {
        let (mut newcomers, mut heard) = (Vec::new(), Vec::new());
        // In the product a time ends the wait for a tick that does not come; here the second tick has to.
        while heard.len() < 2 {
            for backlog in worker.wait(&mut newcomers, true).expect("nobody has said stop").into_values() {
                let events = backlog.missed_events.iter().map(|events| events.downcast_ref::<Events>());
                let missed = events.map(|events| events.expect("of this game").tick);
                heard.extend(missed.chain([backlog.newest.tick()]));
            }
        }
        assert_eq!(heard, [1, 2]);
        newcomers
    });
    let ringing = thread::spawn(move || {
        ticks().iter().for_each(|tick| world.push_tick(0, std::sync::Arc::clone(tick), (None, 0)));
    });
    let welcoming = thread::spawn(move || reader.push_client(7));
    let mut newcomers = telling.join().expect("no panic");
    ringing.join().expect("no panic");
    welcoming.join().expect("no panic");
    let stopping = thread::spawn(move || stopper.stop());
    while bell.wait(&mut newcomers, true).is_some() {}
    stopping.join().expect("no panic");
    assert_eq!(newcomers, [6, 7], "a client that came is taken up once");
}

/// A worker without clients sleeps whatever ticks; a client that comes wakes it, and the stop does.
pub fn a_worker_without_clients_is_woken() {
    let bell = Arc::new(WorkerQueue::<u32>::default());
    let (world, reader, worker) = (Arc::clone(&bell), Arc::clone(&bell), Arc::clone(&bell));
    let telling = thread::spawn(move || {
        let mut newcomers = Vec::new();
        while newcomers.is_empty() {
            let _ = worker.wait(&mut newcomers, false).expect("nobody has said stop");
        }
        newcomers
    });
    let ringing = thread::spawn(move || world.push_tick(0, std::sync::Arc::clone(&ticks()[0]), (None, 0)));
    reader.push_client(7);
    assert_eq!(telling.join().expect("no panic"), [7]);
    ringing.join().expect("no panic");
    let stopper = Arc::clone(&bell);
    let stopping = thread::spawn(move || stopper.stop());
    while bell.wait(&mut Vec::new(), false).is_some() {}
    stopping.join().expect("no panic");
}

pub fn every_tick_and_client_and_the_stop_are_heard() {
    crate::check(the_worker_hears_all);
    crate::check(a_worker_without_clients_is_woken);
}
