//! The fan-out: workers that turn each published tick into updates for clients.
//!
//! ```text
//!  room thread ──ring(published)──► bell of each worker ──► for each of its clients:
//!                                                             its turn, see `host::audience`
//! ```
//!
//! Each client belongs to one worker, which alone holds the client's known set, and also enforces
//! the client's deadlines. A worker never waits for a client, and one client's panic never reaches
//! the others. A worker that falls behind skips states, but not events: if too many events wait,
//! its clients in that room are disconnected.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tracing::warn;

use super::bell::Backlogs;
use super::client::{Client, Socket};
use super::host::{Bell, Host};
use crate::feed::Turn;
use crate::host::audience::{Audience, Desk, Member};
use crate::host::backlog::Backlog;
use crate::peer::Ending;
use crate::session::Breach;

/// A worker: its part of the clients of each room in which it has any, by the number of the room's run.
struct Worker {
    audiences: BTreeMap<u64, Audience<Socket>>,
    desk: Desk,
}

/// A worker's loop, until its bell says stop.
pub fn run(host: &Host, bell: &Bell) {
    let (audiences, desk) = (BTreeMap::new(), Desk::default());
    let (mut worker, mut newcomers) = (Worker { audiences, desk }, Vec::new());
    while let Some(backlogs) = bell.wait(&mut newcomers, !worker.audiences.is_empty()) {
        worker.visit(host, backlogs, &mut newcomers);
    }
}

impl Worker {
    /// Visits the rooms that ticked, and now and then the others.
    fn visit(&mut self, host: &Host, mut backlogs: Backlogs, newcomers: &mut Vec<Arc<Client>>) {
        let now = host.now();
        for client in newcomers.iter() {
            self.audiences.entry(client.line.room.number).or_default();
        }
        for (number, audience) in &mut self.audiences {
            let backlog = backlogs.remove(number);
            if backlog.as_ref().is_some_and(|backlog| backlog.is_lost) {
                let clients = audience.members.len();
                warn!(clients, "a worker fell behind, so its clients in this room are disconnected");
            }
            let mine = newcomers.extract_if(.., |client| client.line.room.number == *number);
            if !audience.visit(backlog.as_ref(), mine, now) {
                continue;
            }
            for member in &mut audience.members {
                let desk = &mut self.desk;
                let served = AssertUnwindSafe(|| serve(host, member, backlog.as_ref(), desk));
                if catch_unwind(served).is_err() {
                    host.metrics.panics.inc();
                    member.client.close(Ending::Breach(Breach::InternalError), host.now());
                    self.desk = Desk::default();
                }
            }
        }
        self.audiences.retain(|_, audience| !audience.members.is_empty());
    }
}

fn serve(host: &Host, member: &mut Member<Socket>, backlog: Option<&Backlog>, desk: &mut Desk) {
    let Some(served) = member.serve(backlog, desk, host.now()) else { return };
    if served.turn == Turn::HeldBack {
        host.metrics.turns_held_back.inc();
    }
    if let Some(sends) = served.sends {
        host.metrics.turns.inc();
        host.metrics.turn_sends.inc_by(sends);
    }
}
