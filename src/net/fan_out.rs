//! The fan-out: workers that turn each published tick into updates for clients.
//!
//! ```text
//!  room thread ──ring(published)──► bell of each worker ──► for each of its clients:
//!                                                             its turn, see `host::audience`
//! ```
//!
//! Each client belongs to one worker, which alone holds the client's known set. The worker also
//! enforces its clients' deadlines: it pings idle clients, closes slow ones, and shuts down
//! connections that do not end. A worker visits only the rooms that ticked, never waits for a
//! client, and one client's panic never reaches the others. A worker that falls behind skips
//! states, but never events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::bell::Backlogs;
use super::client::{Client, Socket};
use super::host::{Bell, Host};
use crate::feed::Turn;
use crate::host::audience::{Desk, Member};
use crate::host::backlog::Backlog;
use crate::limits;
use crate::peer::Ending;
use crate::session::Breach;

/// The clients of one room at one worker.
#[derive(Default)]
struct Audience {
    members: Vec<Member<Socket>>,
    /// When they were last served.
    served: Duration,
}

/// A worker: its part of each room's clients, in the order of the host's rooms.
struct Worker {
    audiences: Vec<Audience>,
    desk: Desk,
}

/// A worker's loop, until its bell says stop.
pub fn run(host: &Host, bell: &Bell) {
    let (mut worker, mut newcomers) = (Worker::new(host), Vec::new());
    while let Some(backlogs) = bell.wait(&mut newcomers) {
        worker.visit(host, host.now(), backlogs, &mut newcomers);
    }
}

impl Worker {
    fn new(host: &Host) -> Worker {
        let audiences = host.rooms.iter().map(|_| Audience::default()).collect();
        Worker { audiences, desk: Desk::default() }
    }

    /// Visits the rooms that ticked. A room that does not tick still has clients with deadlines: it
    /// is visited now and then.
    fn visit(
        &mut self,
        host: &Host,
        now: Duration,
        mut backlogs: Backlogs,
        newcomers: &mut Vec<Arc<Client>>,
    ) {
        for (at, audience) in self.audiences.iter_mut().enumerate() {
            let backlog = backlogs.remove(&at);
            if backlog.as_ref().is_some_and(|backlog| backlog.is_lost) {
                audience.give_up(now);
            }
            let mine = newcomers.extract_if(.., |client| Arc::ptr_eq(&client.room, &host.rooms[at]));
            audience.members.extend(mine.map(Member::new));
            if backlog.is_some() || now.saturating_sub(audience.served) >= limits::WORKER_IDLE {
                audience.served = now;
                audience.serve(host, backlog.as_ref(), &mut self.desk);
            }
        }
    }
}

impl Audience {
    /// Closes the clients: events that they should have received are lost.
    fn give_up(&self, now: Duration) {
        warn!(clients = self.members.len(), "a worker fell behind and closes its clients in a room");
        for member in &self.members {
            member.client.close(Ending::Breach(Breach::Overloaded), now);
        }
    }

    fn serve(&mut self, host: &Host, backlog: Option<&Backlog>, desk: &mut Desk) {
        self.members.retain(|member| !member.client.is_gone());
        for member in &mut self.members {
            let served = catch_unwind(AssertUnwindSafe(|| serve(host, member, backlog, desk)));
            if served.is_err() {
                host.metrics.panics.inc();
                member.client.close(Ending::Breach(Breach::InternalError), host.now());
                *desk = Desk::default();
            }
        }
    }
}

fn serve(host: &Host, member: &mut Member<Socket>, backlog: Option<&Backlog>, desk: &mut Desk) {
    let ticks = backlog.map(|backlog| (&backlog.missed[..], &*backlog.newest));
    let Some(served) = member.serve(ticks, desk, host.now()) else { return };
    if served.turn == Turn::HeldBack {
        host.metrics.turns_held_back.inc();
    }
    if let Some(sends) = served.sends {
        host.metrics.turns.inc();
        host.metrics.turn_sends.inc_by(sends);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::feed::{Publisher, Rates};
    use crate::net::Config;
    use crate::packet::Codes;
    use crate::peer::Endpoint;
    use crate::world::World;

    fn host() -> (Host, Worker) {
        let host = Host::for_tests(Config::new("127.0.0.1:0".parse().expect("an address")));
        let worker = Worker::new(&host);
        (host, worker)
    }

    /// A client of the host's room.
    fn client(host: &Host, id: u64) -> Arc<Client> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let stream = Arc::new(TcpStream::connect(address).expect("a connection"));
        let line = Socket { stream, tap: host.tap.clone(), bytes_out: host.metrics.bytes_out.clone() };
        let endpoint = Endpoint::new(Codes::builtin().dialect("legacy").expect("built in"), false);
        Arc::new(Client::new((id, address), line, Arc::clone(host.room()), endpoint, Duration::ZERO))
    }

    fn published(host: &Host) -> Arc<Published> {
        let rates = Rates { tick_hz: 30, native_hz: 30, moomoo_hz: 10 };
        let world = World::new(host.config.identity);
        Arc::new(Publisher::new(&world, rates).publish(&world, |_| 0))
    }

    #[test]
    fn a_worker_that_lost_events_closes_the_clients_that_would_miss_them() {
        let (host, mut worker) = host();
        let (bell, published, now) = (Bell::default(), published(&host), Duration::from_millis(1));
        let (early, late) = (client(&host, 1), client(&host, 2));
        worker.visit(&host, now, Backlogs::new(), &mut vec![Arc::clone(&early)]);
        for _ in 0..limits::MISSED_EVENT_BYTES / published.events.bytes() + 2 {
            bell.ring(0, Arc::clone(&published));
        }
        bell.welcome(Arc::clone(&late));
        let mut newcomers = Vec::new();
        let backlogs = bell.wait(&mut newcomers).expect("not stopping");
        worker.visit(&host, now, backlogs, &mut newcomers);
        assert_eq!(early.sender.ending(), Some(Ending::Breach(Breach::Overloaded)));
        assert_eq!(late.sender.ending(), None, "it begins with the newest state");
    }

    #[test]
    fn a_room_that_does_not_tick_is_visited_for_the_deadlines_of_its_clients_only() {
        let (host, mut worker) = host();
        let bell = Bell::default();
        let served = |worker: &Worker| worker.audiences[0].served;
        let early = limits::WORKER_IDLE / 2;
        worker.visit(&host, early, Backlogs::new(), &mut Vec::new());
        assert_eq!(served(&worker), Duration::ZERO);
        worker.visit(&host, limits::WORKER_IDLE, Backlogs::new(), &mut Vec::new());
        assert_eq!(served(&worker), limits::WORKER_IDLE);
        bell.ring(0, published(&host));
        let soon = limits::WORKER_IDLE + early;
        worker.visit(&host, soon, bell.wait(&mut Vec::new()).expect("not stopping"), &mut Vec::new());
        assert_eq!(served(&worker), soon);
    }
}
