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
use std::time::Duration;

use tracing::warn;

use super::TcpGameFactory;
use super::server_state::{ClientWorkerQueue, ServerState};
use super::tcp_client::{TcpClient, TcpTransport};
use super::worker_queue::Backlogs;
use crate::connection::DisconnectReason;
use crate::game::{CloseReason, StateOutcome};
use crate::server::clients::update_group::{EncodeBuffers, UpdateFn, UpdateGroup, UpdateRunner};

/// A worker: its part of the clients of each room in which it has any, by the number of the room's run.
struct UpdateWorker {
    audiences: BTreeMap<u64, Box<dyn UpdateGroup<TcpTransport>>>,
    desk: EncodeBuffers,
}

/// A worker's loop, until its bell says stop.
pub fn run(host: &ServerState, bell: &ClientWorkerQueue) {
    let (audiences, desk) = (BTreeMap::new(), EncodeBuffers::default());
    let (mut worker, mut newcomers) = (UpdateWorker { audiences, desk }, Vec::new());
    while let Some(backlogs) = bell.wait(&mut newcomers, !worker.audiences.is_empty()) {
        worker.visit(host, backlogs, &mut newcomers);
    }
}

impl UpdateWorker {
    /// Visits the rooms that ticked, and now and then the others.
    fn visit(&mut self, host: &ServerState, mut backlogs: Backlogs, newcomers: &mut Vec<Arc<TcpClient>>) {
        let now = host.now();
        for client in newcomers.iter() {
            let room = &client.line.room;
            // The server has checked that it has the game of each room.
            if let Some(game) = TcpGameFactory::find(&host.config.games, room.handle.about) {
                self.audiences.entry(room.number).or_insert_with(game.audience);
            }
        }
        for (number, audience) in &mut self.audiences {
            let backlog = backlogs.remove(number);
            if backlog.as_ref().is_some_and(|backlog| backlog.is_lost) {
                let clients = audience.len();
                warn!(clients, "a worker fell behind, so its clients in this room are disconnected");
            }
            let mut mine = newcomers.extract_if(.., |client| client.line.room.number == *number);
            if audience.visit(backlog.as_ref(), &mut mine, now) {
                drop(mine);
                audience.serve(backlog.as_ref(), &mut self.desk, &mut CatchingRunner { host });
            }
        }
        self.audiences.retain(|_, audience| !audience.is_empty());
    }
}

/// Turns that are counted, and whose panics end their client alone.
struct CatchingRunner<'a> {
    host: &'a ServerState,
}

impl UpdateRunner<TcpTransport> for CatchingRunner<'_> {
    fn now(&self) -> Duration {
        self.host.now()
    }

    fn carry_out(&mut self, client: &TcpClient, turn: &mut UpdateFn<'_>) -> bool {
        let host = self.host;
        let Ok(served) = catch_unwind(AssertUnwindSafe(|| turn(host.budgets()))) else {
            host.metrics.panics.inc();
            client.close(DisconnectReason::Breach(CloseReason::InternalError), host.now());
            return false;
        };
        let Some(served) = served else { return true };
        for misfit in &served.misfits {
            host.metrics.misfits.inc();
            if let Some(times) = host.misfits.is_due(misfit.packet, self.now()) {
                let (room, packet, why) = (client.line.room.label(), misfit.packet, &*misfit.why);
                warn!(
                    room,
                    packet, why, times, "the game made a packet that does not fit its table; it is not sent"
                );
            }
        }
        if served.turn == StateOutcome::HeldBack {
            host.metrics.turns_held_back.inc();
        }
        if let Some(sends) = served.sends {
            host.metrics.turns.inc();
            host.metrics.turn_sends.inc_by(sends);
        }
        true
    }
}
