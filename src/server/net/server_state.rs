//! The host: what the threads of one server share, and the rooms that it hosts.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::config::ServerConfig;
use super::inspector::ended_clients::EndedClients;
use super::metrics::Metrics;
use super::misfit_log::Misfits;
use super::recorder::Recorder;
use super::registry::Registry;
use super::room_threads::RoomThreads;
use super::rooms::{Rooms, RunningRoom};
use super::tap::Tap;
use super::tcp_client::TcpClient;
use super::worker_queue;
use crate::server::admission::Admission;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::auth_limiter::AuthLimiter;
use crate::server::admission::tokens::Authenticator;
use crate::server::room::RoomHandle;
use crate::util::os::Suspended;

/// The bell that wakes a worker.
pub type ClientWorkerQueue = worker_queue::WorkerQueue<Arc<TcpClient>>;

/// The stage of a shutdown; it never goes back.
#[derive(Debug, Clone, Copy)]
pub enum ShutdownStage {
    /// The server runs.
    Running,
    /// The operator has asked the server to stop; its owner then stops it.
    AskedToStop,
    /// The server accepts no new connections.
    Stopping,
    /// The clients have gone: each room's thread ends after its current tick.
    RoomsStopping,
}

/// See the [module](self).
#[derive(Debug)]
pub struct ServerState {
    /// The settings in use.
    pub config: ServerConfig,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Counts wrong tokens of `/admin` per address.
    pub gate: AuthLimiter,
    /// Knows who may play.
    pub guard: Authenticator,
    /// Decides which packets that do not fit their table are logged.
    pub misfits: Misfits,
    /// Passes traffic to listeners.
    pub tap: Tap,
    /// The clients that ended last, for watchers.
    pub ended: EndedClients,
    /// Writes traffic to a file while a capture is running.
    pub recorder: Recorder,
    /// Decides which connection gets a thread.
    pub admission: Arc<Admission>,
    /// Rate limits shared by the clients of one address: see [`ServerState::budgets`].
    budgets: AddressRateLimits,
    /// One for each fan-out worker.
    pub bells: Vec<ClientWorkerQueue>,
    /// The default room, at `/`, and those below `/r/NAME/`.
    pub rooms: Arc<Rooms>,
    /// The threads of those that are made on demand.
    pub room_threads: RoomThreads,
    started: Instant,
    /// Measures the time that `started` does not count.
    suspended: Suspended,
    stage: AtomicU8,
    /// The number of the next client.
    pub next_client: AtomicU64,
    /// All current clients, so that a shutdown reaches them.
    pub clients: Registry<Arc<TcpClient>>,
    /// The connections whose thread runs: a shutdown waits for these threads and reaches their
    /// sockets.
    pub connections: Registry<Arc<TcpStream>>,
}

impl ServerState {
    /// A host that is starting. One of the rooms is the default room.
    pub fn new(
        config: ServerConfig,
        rooms: Vec<Arc<RoomHandle>>,
        admission: Arc<Admission>,
        workers: usize,
    ) -> ServerState {
        let (tap, metrics, started) = (Tap::default(), Arc::new(Metrics::new()), Instant::now());
        let clock_and_codes = (started, Arc::clone(&config.codes));
        let recorder = Recorder::new(tap.clone(), config.rotation, Arc::clone(&metrics), clock_and_codes);
        let hosted = Arc::new(Rooms::default());
        for room in rooms {
            tap.room_begins(&hosted.begin(room, &metrics, Duration::ZERO).run());
        }
        // A room that sleeps shows its world to a capture all the same.
        let to_rouse = Arc::clone(&hosted);
        tap.set_world_wanted(Box::new(move || to_rouse.rouse_all()));
        ServerState {
            budgets: AddressRateLimits::new(config.address_budgets),
            guard: Authenticator::new(config.players.clone()),
            config,
            metrics,
            gate: AuthLimiter::default(),
            misfits: Misfits::default(),
            tap,
            ended: EndedClients::default(),
            recorder,
            admission,
            bells: (0..workers).map(|_| ClientWorkerQueue::default()).collect(),
            rooms: hosted,
            room_threads: RoomThreads::default(),
            started,
            suspended: Suspended::start(),
            stage: AtomicU8::new(ShutdownStage::Running as u8),
            next_client: AtomicU64::new(1),
            clients: Registry::default(),
            connections: Registry::default(),
        }
    }

    /// A host for unit tests, with one room, one worker and no threads.
    #[cfg(test)]
    pub fn for_tests(config: ServerConfig) -> ServerState {
        let room = config.room("", &config.identity);
        let room = Arc::clone(room.handle());
        ServerState::new(config, vec![room], Admission::new(crate::server::admission::Capacity::default()), 1)
    }

    /// The server's clock: time since its start.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The rate limits shared by the clients of one address, with the suspended time until now.
    pub fn budgets(&self) -> &AddressRateLimits {
        self.budgets.note_suspended(self.suspended.time());
        &self.budgets
    }

    /// Whether a shutdown has reached this stage.
    pub fn has_reached(&self, stage: ShutdownStage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Records that a shutdown has reached this stage.
    pub fn reach(&self, stage: ShutdownStage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
    }

    /// Whether the server is stopping: it then accepts no new connections.
    pub fn is_stopping(&self) -> bool {
        self.has_reached(ShutdownStage::Stopping)
    }

    /// The default room.
    pub fn room(&self) -> Arc<RunningRoom> {
        self.rooms.find("").expect("a host is made with a default room, and rooms are only replaced")
    }

    /// Ends the connection of this number immediately: its thread wakes from any blocking call.
    pub fn cut_connection(&self, number: u64) {
        if let Some(stream) = self.connections.get(number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Ends all connections immediately, whatever their state.
    pub fn cut_connections(&self) {
        for stream in self.connections.all() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
