//! The bell: a worker that waits hears every tick in its order, every client, and the stop.

use shuttle::sync::Arc;
use shuttle::thread;

use crate::bell::Bell;
use crate::host::backlog::Tick;

#[derive(Debug)]
struct Number(u32);

impl Tick for Number {
    type Events = u32;

    fn into_events(self) -> (u32, usize) {
        (self.0, 4)
    }
}

/// The world rings twice and a client comes; the worker hears both ticks without a third, and then the stop.
pub fn the_worker_hears_all() {
    let bell = Arc::new(Bell::<Number, u32>::default());
    let (world, reader, worker, stopper) =
        (Arc::clone(&bell), Arc::clone(&bell), Arc::clone(&bell), Arc::clone(&bell));
    let telling = thread::spawn(move || {
        let (mut newcomers, mut heard) = (Vec::new(), Vec::new());
        // In the product a time ends the wait for a tick that does not come; here the second tick has to.
        while heard.len() < 2 {
            for backlog in worker.wait(&mut newcomers).expect("nobody has said stop").into_values() {
                heard.extend(backlog.missed.into_iter().chain([backlog.newest.0]));
            }
        }
        assert_eq!(heard, [1, 2]);
        newcomers
    });
    let ringing = thread::spawn(move || {
        world.ring(0, Number(1));
        world.ring(0, Number(2));
    });
    let welcoming = thread::spawn(move || reader.welcome(7));
    let mut newcomers = telling.join().expect("no panic");
    ringing.join().expect("no panic");
    welcoming.join().expect("no panic");
    let stopping = thread::spawn(move || stopper.stop());
    while bell.wait(&mut newcomers).is_some() {}
    stopping.join().expect("no panic");
    assert_eq!(newcomers, [7], "a client that came is taken up once");
}

pub fn every_tick_and_client_and_the_stop_are_heard() {
    crate::check(the_worker_hears_all);
}
