//! Events of a running server for the program around it.
//!
//! ```text
//!  client threads ─┐
//!                  ├─ try_send ─► bounded queue ─► thread "events" ─► the program's hook
//!  room threads ───┘  full: dropped, counted
//! ```
//!
//! The world does not depend on the hook, and a replay has none. No thread of the server waits for
//! the hook, except when the server stops.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::time::Instant;

use tickwire_sim::PlayerId;
use tracing::{error, warn};

use super::metrics::Metrics;
use super::room_access::RoomAccess;
use super::rooms::RunningRoom;
use crate::game::Report;
use crate::limits;
use crate::server::admission::tokens::Authenticator;
use crate::server::room::{PlayerChange, PlayerEvent, TickResult};
use crate::util::os::threads;
use crate::util::plural::count_noun;
use crate::util::sync::Mutex;

/// An event of a running server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerEvent {
    /// The room of the event.
    pub room: RoomAccess,
    /// Number of ticks that the room had completed.
    pub tick: u32,
    /// The kind of the event.
    pub kind: ServerEventKind,
}

/// The kind of an event in a room.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerEventKind {
    /// The room begins: at the start of the server, on demand, or again after a panic.
    Started,
    /// The room has ended: with the server, because it was empty, by the operator or by a panic.
    /// Its players are gone without [`ServerEventKind::Left`]; a journal may continue them.
    Ended,
    /// A client was accepted, and may join or spectate.
    Connected(ClientProfile),
    /// The connection of such a client has ended.
    Closed(ClientProfile),
    /// A player joined.
    Joined(PlayerProfile),
    /// The seat of a player was suspended, because its connection has ended.
    Disconnected(PlayerProfile),
    /// A client resumed the suspended seat of a player.
    Reconnected(PlayerProfile),
    /// A player left.
    Left(PlayerProfile),
    /// The game reported something, by
    /// [`TickContext::report`](crate::game::simple::TickContext::report).
    Reported(Report),
}

/// A client of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientProfile {
    /// The number of the connection, unique in this run of the server.
    pub connection: u64,
    /// The account: the name of the client's token, on a server with tokens.
    pub account: Option<Arc<str>>,
}

/// A player of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlayerProfile {
    /// The player number. The room reuses it after the player has left.
    pub player: PlayerId,
    /// The display name, which the client chose.
    pub name: Arc<str>,
    /// The account: the name of the client's token, on a server with tokens.
    pub account: Option<Arc<str>>,
}

/// The program's function for events. Clones share it, and one thread at a time calls it.
#[derive(Clone)]
pub struct EventHook(Arc<Mutex<dyn FnMut(ServerEvent) + Send>>);

impl EventHook {
    /// Wraps a function.
    pub fn new(hook: impl FnMut(ServerEvent) + Send + 'static) -> EventHook {
        EventHook(Arc::new(Mutex::new(hook)))
    }
}

impl fmt::Debug for EventHook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("EventHook(…)")
    }
}

/// The queue of events. Without a hook it does nothing.
#[derive(Debug, Default)]
pub struct ServerEvents {
    queue: Mutex<Option<SyncSender<ServerEvent>>>,
    /// Whether there is a hook.
    is_on: bool,
    counts: Arc<EventCounts>,
    /// The hook and its end of the queue, until the thread starts.
    not_started: Mutex<Option<(EventHook, Receiver<ServerEvent>)>>,
    /// Disconnected when the thread has handled all events.
    finished: Mutex<Option<Receiver<()>>>,
}

#[derive(Debug, Default)]
struct EventCounts {
    queued: AtomicU64,
    /// Events dropped since the last log line about them.
    dropped: AtomicU64,
}

impl ServerEvents {
    /// Creates the queue. It fills until [`ServerEvents::start`].
    pub fn new(hook: Option<EventHook>) -> ServerEvents {
        let Some(hook) = hook else { return ServerEvents::default() };
        let (queue, events) = mpsc::sync_channel(limits::SERVER_EVENTS);
        ServerEvents {
            queue: Mutex::new(Some(queue)),
            is_on: true,
            not_started: Mutex::new(Some((hook, events))),
            ..ServerEvents::default()
        }
    }

    /// Starts the thread of the hook, if there is one.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(&self, metrics: &Arc<Metrics>) -> io::Result<()> {
        let Some((hook, events)) = self.not_started.lock().take() else { return Ok(()) };
        let (done, finished) = mpsc::channel();
        let (metrics, counts) = (Arc::clone(metrics), Arc::clone(&self.counts));
        threads::spawn("events", move || {
            run_hook(&hook, &events, &counts, &metrics);
            drop(done);
        })?;
        *self.finished.lock() = Some(finished);
        Ok(())
    }

    /// Whether there is a hook.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Queues an event of a room. Counts it as dropped if the queue is full.
    pub fn push(&self, room: &Arc<RunningRoom>, kind: ServerEventKind, metrics: &Metrics) {
        if !self.is_on {
            return;
        }
        let event = ServerEvent { tick: room.handle.tick(), room: RoomAccess::new(Arc::clone(room)), kind };
        let Some(queue) = &*self.queue.lock() else { return };
        match queue.try_send(event) {
            Ok(()) => {
                self.counts.queued.fetch_add(1, Ordering::Relaxed);
                metrics.server_events.inc();
            }
            // Disconnected: only after a panic outside of the hook.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
                metrics.server_events_dropped.inc();
            }
        }
    }

    /// Queues what a tick has done to the players, and what the game reports.
    pub fn push_tick(
        &self,
        room: &Arc<RunningRoom>,
        ticked: &TickResult,
        authenticator: &Authenticator,
        metrics: &Metrics,
    ) {
        if !self.is_on {
            return;
        }
        for PlayerEvent { change, player, name, key } in &ticked.player_events {
            let account = key.and_then(|key| authenticator.account_of(key));
            let profile = PlayerProfile { player: *player, name: Arc::clone(name), account };
            let kind = match change {
                PlayerChange::Joined => ServerEventKind::Joined(profile),
                PlayerChange::Disconnected => ServerEventKind::Disconnected(profile),
                PlayerChange::Reconnected => ServerEventKind::Reconnected(profile),
                PlayerChange::Left => ServerEventKind::Left(profile),
            };
            self.push(room, kind, metrics);
        }
        for report in ticked.published.reports() {
            self.push(room, ServerEventKind::Reported(report.clone()), metrics);
        }
    }

    /// Accepts no more events, and waits until the hook has handled the queued ones, at most
    /// [`limits::SERVER_EVENTS_STOP_TIMEOUT`].
    pub fn finish(&self) {
        self.queue.lock().take();
        let Some(finished) = self.finished.lock().take() else { return };
        let ended = finished.recv_timeout(limits::SERVER_EVENTS_STOP_TIMEOUT);
        if ended == Err(RecvTimeoutError::Timeout) {
            let left = self.counts.queued.load(Ordering::Relaxed) as usize;
            error!("the hook for events is too slow: {} is lost", count_noun(left, "event"));
        }
    }
}

/// Calls the hook with each event, until the queue is closed and empty.
fn run_hook(hook: &EventHook, events: &Receiver<ServerEvent>, counts: &EventCounts, metrics: &Metrics) {
    let mut logged: Option<Instant> = None;
    let log_dropped = || match counts.dropped.swap(0, Ordering::Relaxed) as usize {
        0 => {}
        dropped => warn!("the hook for events is too slow: {} dropped", count_noun(dropped, "event")),
    };
    for event in events {
        counts.queued.fetch_sub(1, Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| (hook.0.lock())(event))).is_err() {
            metrics.panics.inc();
            error!("the hook for events has panicked; it is called again with the next event");
        }
        if logged.is_none_or(|at| at.elapsed() >= limits::SERVER_EVENTS_LOG_INTERVAL)
            && counts.dropped.load(Ordering::Relaxed) > 0
        {
            logged = Some(Instant::now());
            log_dropped();
        }
    }
    log_dropped();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::net::ServerConfig;
    use crate::server::net::server_state::ServerState;

    fn host(hook: impl FnMut(ServerEvent) + Send + 'static) -> ServerState {
        let config = ServerConfig::new(([127, 0, 0, 1], 0).into());
        let config = ServerConfig { on_event: Some(EventHook::new(hook)), ..config };
        let host = ServerState::for_tests(config);
        host.events.start(&host.metrics).expect("a thread");
        host
    }

    fn push(host: &ServerState, connection: u64) {
        let kind = ServerEventKind::Connected(ClientProfile { connection, account: None });
        host.events.push(&host.room(), kind, &host.metrics);
    }

    fn connection(event: &ServerEvent) -> u64 {
        match &event.kind {
            ServerEventKind::Connected(client) => client.connection,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hook_that_blocks_loses_events_beyond_the_queue_and_delays_no_client() {
        let (open, gate) = mpsc::channel::<()>();
        let (seen, received) = mpsc::channel();
        let host = host(move |event| {
            seen.send(connection(&event)).expect("the test receives");
            let _ = gate.recv();
        });
        push(&host, 0);
        assert_eq!(received.recv(), Ok(0), "the hook has the first event, and blocks");
        let queued = limits::SERVER_EVENTS as u64;
        (1..=queued + 10).for_each(|number| push(&host, number));
        assert_eq!(
            (host.metrics.server_events.get(), host.metrics.server_events_dropped.get()),
            (queued + 1, 10)
        );
        drop(open);
        host.events.finish();
        assert!(received.try_iter().eq(1..=queued), "the queued events in order");
        push(&host, 1);
        assert_eq!(host.metrics.server_events.get(), queued + 1, "a stopped server has no events");
    }

    #[test]
    fn a_hook_that_panics_is_called_again() {
        let (seen, received) = mpsc::channel();
        let host = host(move |event| {
            let number = connection(&event);
            assert_ne!(number, 1, "a panic of the test");
            seen.send(number).expect("the test receives");
        });
        (0..3).for_each(|number| push(&host, number));
        host.events.finish();
        assert!(received.try_iter().eq([0, 2]));
        assert_eq!(host.metrics.panics.get(), 1);
    }
}
