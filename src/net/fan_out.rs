//! The fan-out: workers that turn each published tick into updates for clients.
//!
//! ```text
//!  room thread ──ring(published)──► bell of each worker ──► for each of its clients:
//!                                                             its turn, see `host::audience`
//! ```
//!
//! Each client belongs to one worker, which alone holds the client's known set. The worker also
//! watches over its clients: it pings idle clients, closes slow ones, and cuts connections that do
//! not end. A worker visits only
//! the rooms that ticked, never waits for a client, and one client's panic never reaches the others.
//! A worker that falls behind skips states, and never events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::client::Socket;
use super::host::{Bell, Host};
use crate::feed::{Published, Turn};
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

/// A worker's loop, until its bell says stop.
pub fn run(host: &Host, bell: &Bell) {
    let mut audiences: Vec<Audience> = host.rooms.iter().map(|_| Audience::default()).collect();
    let (mut newcomers, mut desk) = (Vec::new(), Desk::default());
    while let Some(mut backlogs) = bell.wait(&mut newcomers) {
        let now = host.now();
        for (at, audience) in audiences.iter_mut().enumerate() {
            let backlog = backlogs.remove(&at);
            if backlog.as_ref().is_some_and(|backlog| backlog.is_lost) {
                audience.give_up(now);
            }
            let mine = newcomers.extract_if(.., |client| Arc::ptr_eq(&client.room, &host.rooms[at]));
            audience.members.extend(mine.map(Member::new));
            // A room that does not tick still has clients with deadlines.
            if backlog.is_some() || now.saturating_sub(audience.served) >= limits::WORKER_IDLE {
                audience.served = now;
                audience.serve(host, backlog.as_ref(), &mut desk);
            }
        }
    }
}

impl Audience {
    /// Closes the clients: events that they should have received are lost.
    fn give_up(&self, now: Duration) {
        warn!(clients = self.members.len(), "a worker fell behind and closes its clients of a room");
        for member in &self.members {
            member.client.close(Ending::Breach(Breach::Overloaded), now);
        }
    }

    fn serve(&mut self, host: &Host, backlog: Option<&Backlog<Arc<Published>>>, desk: &mut Desk) {
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

fn serve(
    host: &Host,
    member: &mut Member<Socket>,
    backlog: Option<&Backlog<Arc<Published>>>,
    desk: &mut Desk,
) {
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
