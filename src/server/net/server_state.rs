//! The state that the threads of one server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tracing::warn;

use super::accept::Connections;
use super::agones::signal::AgonesSignal;
use super::bots::BotSignal;
use super::cluster::membership::Cluster;
use super::config::ServerConfig;
use super::drain::drain_timer::DrainTimer;
use super::inspector::ended_clients::EndedClients;
use super::lane_socket::LaneSocket;
use super::metrics::Metrics;
use super::misfit_log::Misfits;
use super::recorder::Recorder;
use super::registry::Registry;
use super::room_threads::RoomThreads;
use super::rooms::{Rooms, RunningRoom};
use super::server_data::ServerData;
use super::server_events::ServerEvents;
use super::tap::Tap;
use super::tcp_client::{ClientStream, TcpClient, TcpTransport};
use super::worker_queue;
use crate::connection::{DeflaterPool, WireFormat};
use crate::server::admission::Admission;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::auth_limiter::AuthLimiter;
use crate::server::admission::tokens::Authenticator;
use crate::server::room::RoomHandle;
use crate::util::os::{self, Suspended};

/// The queue of an update worker for TCP clients.
pub type ClientWorkerQueue = worker_queue::WorkerQueue<Arc<TcpClient>>;

/// The stage of a shutdown. It only advances.
#[derive(Debug, Clone, Copy)]
pub enum ShutdownStage {
    /// The server runs.
    Running,
    /// The operator has entered `stop`. The owner of the server then stops it.
    StopRequested,
    /// The server accepts no new connections.
    Stopping,
    /// All clients have left. Each room's thread ends after its current tick.
    RoomsStopping,
}

/// The shared state of one running server: settings, rooms, clients and limits.
#[derive(Debug)]
pub struct ServerState {
    /// Effective settings.
    pub config: ServerConfig,
    /// Metrics of the server and its rooms.
    pub metrics: Arc<Metrics>,
    /// Limits wrong operator tokens per address.
    pub admin_auth: AuthLimiter,
    /// Checks player tokens.
    pub authenticator: Authenticator,
    /// Deflaters of the connections, if the server accepts offers of compression.
    pub compression: Option<Arc<DeflaterPool>>,
    /// Rate-limits log lines about packets that do not fit their table.
    pub misfits: Misfits,
    /// Copies traffic to subscriptions.
    pub tap: Tap,
    /// Recently disconnected clients, for inspectors.
    pub ended: EndedClients,
    /// Passes events to the program's hook.
    pub events: ServerEvents,
    /// Writes traffic to a file while a capture is running.
    pub recorder: Recorder,
    /// Decides which connections get a thread.
    pub admission: Arc<Admission>,
    /// Rate limits shared by the clients of one address: see [`ServerState::address_limits`].
    address_limits: AddressRateLimits,
    /// One queue per update worker.
    pub worker_queues: Vec<ClientWorkerQueue>,
    /// All running rooms.
    pub rooms: Arc<Rooms>,
    /// Threads of the rooms on demand.
    pub room_threads: RoomThreads,
    /// The part of this process in a cluster, if it belongs to one.
    pub cluster: Option<Cluster>,
    /// The UDP socket of the lanes, if the server has one.
    pub lanes: Option<Arc<LaneSocket>>,
    started: Instant,
    /// Measures the time for which the machine is suspended, which `started` does not count.
    suspended: Suspended,
    /// Whether all threads of the server run.
    is_started: AtomicBool,
    /// The drain before a stop.
    pub drain: DrainTimer,
    /// Wakes the thread of `--agones`.
    pub agones: AgonesSignal,
    stage: AtomicU8,
    /// Id of the next client.
    pub next_client: AtomicU64,
    /// All current clients by id; a shutdown closes them.
    pub clients: Registry<Arc<TcpClient>>,
    /// State that other threads share with the thread of the bots.
    pub bots: BotSignal,
    /// All open connections. A shutdown waits for their threads.
    pub connections: Connections,
}

impl ServerState {
    /// Creates the state of a starting server. One of the rooms must be the default room.
    pub fn new(
        config: ServerConfig,
        rooms: Vec<Arc<RoomHandle>>,
        admission: Arc<Admission>,
        workers: usize,
        (lanes, cluster): (Option<Arc<LaneSocket>>, Option<Cluster>),
    ) -> ServerState {
        let metrics = Arc::new(Metrics::new(workers, &config.codes));
        let (tap, started) = (Tap::default(), Instant::now());
        let events = ServerEvents::new(config.on_event.clone());
        let clock_and_codes = (started, Arc::clone(&config.codes));
        let recorder = Recorder::new(tap.clone(), config.rotation, Arc::clone(&metrics), clock_and_codes);
        let running_rooms = Arc::new(Rooms::default());
        for room in rooms {
            tap.add_room(&running_rooms.add(room, &metrics, Duration::ZERO).run());
        }
        // Wakes sleeping rooms, so that a starting capture gets their worlds.
        let to_wake = Arc::clone(&running_rooms);
        tap.set_world_request_hook(Box::new(move || to_wake.wake_all()));
        for prefix in config.data.bans() {
            if admission.ban(prefix).is_none() {
                warn!("the ban of {prefix} in the database is ignored, because the list of bans is full");
            }
        }
        ServerState {
            address_limits: AddressRateLimits::new(config.address_rate_limits),
            authenticator: Authenticator::new(config.players.clone()),
            compression: config.compression.then(Arc::default),
            config,
            metrics,
            admin_auth: AuthLimiter::default(),
            misfits: Misfits::default(),
            tap,
            ended: EndedClients::default(),
            events,
            recorder,
            admission,
            worker_queues: (0..workers).map(|_| ClientWorkerQueue::default()).collect(),
            rooms: running_rooms,
            room_threads: RoomThreads::default(),
            cluster,
            lanes,
            started,
            suspended: Suspended::start(),
            is_started: AtomicBool::new(false),
            drain: DrainTimer::default(),
            agones: AgonesSignal::default(),
            stage: AtomicU8::new(ShutdownStage::Running as u8),
            next_client: AtomicU64::new(1),
            clients: Registry::default(),
            bots: BotSignal::default(),
            connections: Connections::default(),
        }
    }

    /// Creates a state for unit tests, with one room, one worker and no threads.
    #[cfg(test)]
    pub fn for_tests(config: ServerConfig) -> ServerState {
        let room = config.room("", &config.identity);
        let room = Arc::clone(room.handle());
        let admission = Admission::new(crate::server::admission::Capacity::default());
        ServerState::new(config, vec![room], admission, 1, (None, None))
    }

    /// The server's clock: time since its start.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the time of the clock of leases.
    pub fn lease_time(&self) -> Duration {
        self.cluster.as_ref().map_or_else(|| self.now(), |cluster| cluster.clock.now())
    }

    /// Returns the rate limits shared by the clients of one address, after recording the suspended
    /// time so far.
    pub fn address_limits(&self) -> &AddressRateLimits {
        self.address_limits.note_suspended(self.suspended.time());
        &self.address_limits
    }

    /// Returns the state that is not a world.
    pub fn data(&self) -> &ServerData {
        &self.config.data
    }

    /// Returns the index of the update worker of a client.
    pub fn worker_of(&self, client: u64) -> usize {
        client as usize % self.worker_queues.len()
    }

    /// Creates the transport of a client with this number and wire format, in this room.
    pub fn transport(
        &self,
        (client, format): (u64, &WireFormat),
        room: Arc<RunningRoom>,
        stream: ClientStream,
    ) -> TcpTransport {
        let metrics = Arc::clone(&self.metrics.workers[self.worker_of(client)]);
        TcpTransport {
            packet_heads: metrics.packets.catalog().heads(format),
            metrics,
            clock_start: self.started,
            last_send_ns: Default::default(),
            stream,
            suspended: self.suspended,
            tap: self.tap.clone(),
            room,
            lanes: self.lanes.clone(),
            key_log: self.config.key_log.clone(),
            datagrams_out: self.metrics.datagrams_out.clone(),
        }
    }

    /// Returns the metrics as Prometheus text.
    pub fn metrics_text(&self) -> String {
        if let Some(pool) = &self.compression {
            let counts = pool.take_counts();
            self.metrics.compressed_messages.inc_by(counts.messages);
            self.metrics.compression_original_bytes.inc_by(counts.original_bytes);
            self.metrics.compression_bytes.inc_by(counts.compressed_bytes);
        }
        let Metrics { max_clients, rooms, unhealthy_rooms, resident_memory, .. } = &*self.metrics;
        max_clients.set(self.config.max_clients as i64);
        rooms.set(self.rooms.all().len() as i64);
        unhealthy_rooms.set(self.rooms.health_problems(self.now()).lines().count() as i64);
        resident_memory.set(os::resident_bytes().unwrap_or_default() as i64);
        self.metrics.text()
    }

    /// Whether all threads of the server run.
    pub fn is_started(&self) -> bool {
        self.is_started.load(Ordering::Acquire)
    }

    /// Records that all threads of the server run.
    pub fn mark_started(&self) {
        self.is_started.store(true, Ordering::Release);
    }

    /// Whether a shutdown has reached this stage.
    pub fn is_at_least(&self, stage: ShutdownStage) -> bool {
        self.stage.load(Ordering::Acquire) >= stage as u8
    }

    /// Advances the shutdown to this stage.
    pub fn advance_to(&self, stage: ShutdownStage) {
        self.stage.fetch_max(stage as u8, Ordering::AcqRel);
    }

    /// Whether the server is stopping and accepts no new connections.
    pub fn is_stopping(&self) -> bool {
        self.is_at_least(ShutdownStage::Stopping)
    }

    /// Returns the default room.
    pub fn room(&self) -> Arc<RunningRoom> {
        self.rooms.find("").expect("a host is made with a default room, and rooms are only replaced")
    }
}
