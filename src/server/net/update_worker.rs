//! Update workers: threads that turn each published tick into updates for clients.
//!
//! ```text
//!  room thread ─────push_tick─────► queue of each worker ──► each of its clients: one update pass,
//!                                                            see `server::clients::update_group`
//! ```
//!
//! Each client belongs to one worker, which alone holds the client's known set and enforces the
//! client's deadlines. A worker never waits for a client, and a panic in one client's update never
//! affects the others. A worker that falls behind skips states but not events. If too many events
//! of a room accumulate, the worker's clients in that room are disconnected.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::TcpGameFactory;
use super::metrics::{RoomMetrics, WorkerMetrics};
use super::server_state::ServerState;
use super::tcp_client::{TcpClient, TcpTransport};
use super::worker_queue::Backlogs;
use crate::connection::DisconnectReason;
use crate::game::{CloseReason, StateOutcome};
use crate::server::clients::update_group::{EncodeBuffers, UpdateFn, UpdateGroup, UpdateRunner};

/// An update worker. Holds its share of each room's clients, by the number of the room's run.
struct UpdateWorker<'a> {
    metrics: &'a WorkerMetrics,
    groups: BTreeMap<u64, RoomGroup>,
    buffers: EncodeBuffers,
}

/// The clients of one room at one update worker.
struct RoomGroup {
    clients: Box<dyn UpdateGroup<TcpTransport>>,
    metrics: RoomMetrics,
}

/// Runs the worker with this index until its queue is stopped.
pub fn run(host: &ServerState, number: usize) {
    let (queue, metrics) = (&host.worker_queues[number], &*host.metrics.workers[number]);
    let (groups, buffers) = (BTreeMap::new(), EncodeBuffers::default());
    let (mut worker, mut newcomers) = (UpdateWorker { metrics, groups, buffers }, Vec::new());
    while let Some(backlogs) = queue.wait(&mut newcomers, !worker.groups.is_empty()) {
        worker.run_pass(host, backlogs, &mut newcomers);
    }
}

impl UpdateWorker<'_> {
    /// Updates the clients of rooms that ticked. Clients of other rooms are updated at intervals of
    /// `WORKER_IDLE_WAKEUP`.
    fn run_pass(&mut self, host: &ServerState, mut backlogs: Backlogs, newcomers: &mut Vec<Arc<TcpClient>>) {
        let now = host.now();
        for client in newcomers.iter() {
            let room = &client.transport.room;
            // `ServerHandle::start_rooms` has checked that the server has the game of each room.
            if let Some(game) = TcpGameFactory::find(&host.config.games, room.handle.game) {
                self.groups.entry(room.number).or_insert_with(|| RoomGroup {
                    clients: (game.new_update_group)(),
                    metrics: room.metrics.clone(),
                });
            }
        }
        for (number, RoomGroup { clients, metrics }) in &mut self.groups {
            let backlog = backlogs.remove(number);
            let merged_ticks = backlog.as_ref().map_or(0, |backlog| backlog.missed_events.len());
            metrics.merged_ticks.inc_by(merged_ticks as u64);
            if backlog.as_ref().is_some_and(|backlog| backlog.has_overflowed) {
                let clients = clients.len();
                warn!(clients, "a worker fell behind, so its clients in this room are disconnected");
            }
            let mut mine = newcomers.extract_if(.., |client| client.transport.room.number == *number);
            if clients.begin_pass(backlog.as_ref(), &mut mine, now) {
                drop(mine);
                let mut runner = CatchingRunner::new(host, self.metrics);
                clients.update_all(backlog.as_ref(), &mut self.buffers, &mut runner);
                host.metrics.client_updates.inc_by(runner.updates);
                host.metrics.update_sends.inc_by(runner.sends);
            }
        }
        self.groups.retain(|_, group| !group.clients.is_empty());
    }
}

/// Runs update passes and counts them. A panic in a client's pass closes only the connection of
/// this client.
struct CatchingRunner<'a> {
    host: &'a ServerState,
    metrics: &'a WorkerMetrics,
    /// Start of the current update.
    started: Cell<Duration>,
    /// End of the previous update's send, at which the next update starts.
    send_ended: Cell<Option<Duration>>,
    /// Updates of the pass. The workers share the metric, so each adds to it once per pass.
    updates: u64,
    /// Sends of the pass.
    sends: u64,
}

impl<'a> CatchingRunner<'a> {
    fn new(host: &'a ServerState, metrics: &'a WorkerMetrics) -> CatchingRunner<'a> {
        CatchingRunner {
            host,
            metrics,
            started: Cell::default(),
            send_ended: Cell::default(),
            updates: 0,
            sends: 0,
        }
    }

    /// Records the time of the update that just ended, without its last send. Reads the clock only
    /// if nothing was sent.
    fn record_update(&self, client: &TcpClient) {
        let (started, [send_started, send_ended]) = (self.started.get(), client.transport.last_send());
        let has_sent = send_started >= started;
        let ended = if has_sent { send_started } else { self.host.now() };
        self.send_ended.set(has_sent.then_some(send_ended.max(started)));
        self.metrics.updates.record(ended.saturating_sub(started));
    }
}

impl UpdateRunner<TcpTransport> for CatchingRunner<'_> {
    fn now(&self) -> Duration {
        let now = self.send_ended.take().unwrap_or_else(|| self.host.now());
        self.started.set(now);
        now
    }

    fn run(&mut self, client: &TcpClient, update: &mut UpdateFn<'_>) -> bool {
        let host = self.host;
        let Ok(result) = catch_unwind(AssertUnwindSafe(|| update(host.address_limits()))) else {
            host.metrics.panics.inc();
            client.close(DisconnectReason::Closed(CloseReason::InternalError), host.now());
            return false;
        };
        let Some(result) = result else { return true };
        for misfit in &result.misfits {
            host.metrics.misfits.inc();
            if let Some(times) = host.misfits.is_due(misfit.packet, host.now()) {
                let (room, packet, reason) = (client.transport.room.label(), misfit.packet, &*misfit.why);
                warn!(
                    room,
                    packet,
                    reason,
                    times,
                    "the game made a packet that does not fit its table; it is not sent"
                );
            }
        }
        if result.outcome == StateOutcome::Deferred {
            host.metrics.updates_deferred.inc();
        }
        if let Some(sends) = result.send_calls {
            self.updates += 1;
            self.sends += sends;
            self.record_update(client);
        }
        true
    }
}
