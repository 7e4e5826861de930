//! A stop: whoever comes at that moment is told or turned away, all threads end, and who waits for the last of them wakes.

use std::time::Instant;

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::thread;

use crate::server::net::registry::Registry;
use crate::util::sync::{Condvar, Mutex};

/// A client as far as a stop is concerned: somebody closes it, and its own thread waits for that.
#[derive(Default)]
struct Client {
    closed: Mutex<u32>,
    told: Condvar,
}

impl Client {
    fn close(&self) {
        *self.closed.lock() += 1;
        self.told.notify_one();
    }

    fn wait(&self) {
        let mut closed = self.closed.lock();
        while *closed == 0 {
            self.told.wait_until(&mut closed, Instant::now());
        }
    }
}

#[derive(Default)]
struct House {
    stopping: AtomicBool,
    clients: Registry<Arc<Client>>,
}

/// What a client's thread does, as in `conversation.rs`: list, look whether the server is shutting
/// down, live until closed, leave.
fn live(house: &House, number: u64) {
    let client = Arc::new(Client::default());
    house.clients.add(number, Arc::clone(&client));
    if house.stopping.load(Ordering::Acquire) {
        client.close();
    }
    client.wait();
    house.clients.remove(number);
}

/// What a stop does, as in `server.rs`: say so, close all that are listed, wait for the last.
fn stop(house: &House) {
    house.stopping.store(true, Ordering::Release);
    house.clients.all().iter().for_each(|client| client.close());
    assert_eq!(house.clients.wait_until_empty(Instant::now()), 0);
}

/// Two come while the server is shutting down.
pub fn nobody_is_left_behind() {
    let house = Arc::new(House::default());
    let come = |number| {
        let house = Arc::clone(&house);
        thread::spawn(move || live(&house, number))
    };
    let clients = [come(1), come(2)];
    stop(&house);
    // Whoever is listed only now has seen that the server is shutting down.
    clients.into_iter().for_each(|client| client.join().expect("no panic"));
    assert_eq!(house.clients.wait_until_empty(Instant::now()), 0);
}

pub fn whoever_comes_while_the_server_stops_is_told() {
    crate::check(nobody_is_left_behind);
}
