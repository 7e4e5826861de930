//! The scripts in a real Redis do the same as the model of the store that the simulation uses.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tickwire_sim::Rng;

use crate::limits;
use crate::server::cluster::model_store::ModelStore;
use crate::server::cluster::{AcquireReply, Holder, LeaseStore as _};
use crate::server::net::cluster::redis_store::RedisStore;

/// A Redis server on a free port, without files.
pub struct Redis(Child);

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts Redis. Returns `None`, with a line that says so, if it is not installed.
pub fn start_redis() -> Option<(Redis, String)> {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()]);
    match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
        Ok(child) => Some((Redis(child), format!("redis://127.0.0.1:{port}/3"))),
        Err(_) => {
            println!("NOT RUN: redis-server is not installed");
            None
        }
    }
}

pub fn process(name: &str) -> Holder {
    Holder {
        process: name.to_owned(),
        address: format!("{name}:3000"),
        relay_key: format!("key of {name}"),
        public_url: format!("https://{name}.example.org"),
    }
}

/// Connects as soon as Redis responds.
pub fn connect(store: &mut RedisStore) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.connect().is_err() {
        assert!(Instant::now() < deadline, "Redis does not respond");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_scripts_do_the_same_as_the_model() {
    let Some((_redis, url)) = start_redis() else { return };
    let holders = ["a", "b", "c"].map(process);
    let mut stores = holders.clone().map(|holder| RedisStore::new(&url, holder).expect("a URL"));
    connect(&mut stores[0]);
    let (mut model, mut rng) = (ModelStore::default(), Rng::new(1, 0));
    let started = Instant::now();
    for step in 0..3_000 {
        let (at, room) = (rng.below(3) as usize, ["arena", "hall"][rng.below(2) as usize]);
        let (store, holder) = (&mut stores[at], &holders[at]);
        store.connect().expect("a connection");
        let now = started.elapsed();
        match rng.below(6) {
            0 | 1 => {
                let above = u64::from(rng.below(2) * rng.below(step + 1));
                let without_time = |reply| match reply {
                    AcquireReply::Held { holder, .. } => AcquireReply::Held { holder, left: Duration::ZERO },
                    acquired => acquired,
                };
                let found = store.acquire(room, above).expect("a reply");
                // The model has no time for the fence.
                let above = match &found {
                    AcquireReply::Acquired { fence } => {
                        assert!(*fence > above, "step {step}: {fence}");
                        fence - 1
                    }
                    AcquireReply::Held { .. } => above,
                };
                if let AcquireReply::Held { left, .. } = &found {
                    assert!(*left <= limits::CLUSTER_LEASE, "{left:?}");
                }
                let expected = model.acquire(holder, room, above, now);
                assert_eq!(without_time(found), without_time(expected), "step {step}");
            }
            2 => {
                let last = model.last_lease(room).map_or(1, |(_, fence)| fence);
                let fence = last + u64::from(rng.below(3)) - 1;
                let found = store.renew(&[(room.to_owned(), fence)]).expect("a reply");
                assert_eq!(found, [model.renew(holder, room, fence, now)], "step {step}");
            }
            3 => {
                let last = model.last_lease(room).filter(|(process, _)| process == holder);
                let own = last.map_or(0, |(_, fence)| fence);
                store.release(room, own).expect("a reply");
                model.release(holder, room, own);
            }
            _ => {
                let found = store.look_up(room).expect("a reply");
                assert_eq!(found, model.look_up(room, now), "step {step}");
            }
        }
        // Keeps the lease from its end, whose time the two measure differently.
        if let (Some(owner), Some((_, fence))) = (model.look_up(room, now), model.last_lease(room)) {
            let at = holders.iter().position(|holder| *holder == owner).expect("one of them");
            stores[at].connect().expect("a connection");
            stores[at].renew(&[(room.to_owned(), fence)]).expect("a reply");
            model.renew(&owner, room, fence, started.elapsed());
        }
    }
}
