//! A running server: starts the threads of the server and its rooms, reports its address, and shuts
//! down gracefully.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tickwire_sim::WorldParams;

use super::accept::{self, AcceptLoop};
use super::cluster::lease_clock::LeaseClock;
use super::cluster::membership::Cluster;
use super::cluster::renewal;
use super::config::ServerConfig;
use super::console::Console;
use super::console::commands::find_room;
use super::recorder::{CaptureTarget, Wanted};
use super::room_access::RoomAccess;
use super::server_state::{ClientWorkerQueue, ServerState, ShutdownStage};
use super::tap::Tap;
use super::{
    TcpGameFactory, TcpRoom, agones, bots, drain, journal, lane_thread, room_thread, self_check,
    update_worker,
};
use crate::connection::DisconnectReason;
use crate::game::CloseReason;
use crate::limits;
use crate::packet::routes::{is_alias, is_room_name};
use crate::server::admission::{Admission, Capacity};
use crate::server::room::{RoomHandle, handle};
use crate::util::os::threads;
use crate::util::os::{self, MachineCapacity};

/// A running server. Its threads continue if it is dropped without [`ServerHandle::stop`].
#[derive(Debug)]
pub struct ServerHandle {
    host: Arc<ServerState>,
    address: SocketAddr,
    ceilings: MachineCapacity,
    /// `None` once the server is stopped.
    accept_loop: Option<AcceptLoop<ServerState>>,
    /// Threads of the initial rooms, the default room's first.
    room_threads: Vec<JoinHandle<()>>,
    worker_threads: Vec<JoinHandle<()>>,
    /// The thread of the UDP socket, if there is one.
    lane_thread: Option<JoinHandle<()>>,
    /// The thread of `--self-check`, if enabled.
    self_check_thread: Option<JoinHandle<()>>,
    /// The writer threads of the journals and of the database, if there are any.
    storage_threads: Vec<JoinHandle<()>>,
    /// The thread of `--agones`, if enabled.
    agones_thread: Option<JoinHandle<()>>,
    /// The renewal thread, in a cluster.
    renewal_thread: Option<JoinHandle<()>>,
    /// The thread of the bots, if rooms are filled with bots.
    bots_thread: Option<JoinHandle<()>>,
}

impl ServerHandle {
    /// Binds the address, generates the world, and starts the threads.
    ///
    /// # Errors
    /// The machine supports too few connections, the address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(config: ServerConfig) -> io::Result<ServerHandle> {
        let room = config.room("", &config.identity);
        ServerHandle::start_rooms(config, vec![room])
    }

    /// Like [`ServerHandle::start`], but restores the world from this snapshot. The snapshot's
    /// parameters override the configuration. Its players leave in the next tick.
    ///
    /// # Errors
    /// As for [`ServerHandle::start`], or the snapshot does not fit the configured game.
    pub fn start_from(config: ServerConfig, snapshot: &[u8]) -> io::Result<ServerHandle> {
        let options = |identity: &WorldParams| config.room_options("", identity.tick_hz);
        let room = (config.game.resume_room)(snapshot, &options);
        let room = room.map_err(|reason| io::Error::new(io::ErrorKind::InvalidData, reason))?;
        ServerHandle::start_rooms(config, vec![room])
    }

    /// Like [`ServerHandle::start`], but with these rooms. The first is the default room, at `/`,
    /// and has no name; its world parameters override the configuration. The others are below
    /// `/r/NAME/`.
    ///
    /// # Errors
    /// As for [`ServerHandle::start`]; or a room's name is invalid or used twice, a room's game is
    /// not one of the configured games, or there are more than [`limits::ROOMS`] rooms.
    pub fn start_rooms(mut config: ServerConfig, rooms: Vec<Box<TcpRoom>>) -> io::Result<ServerHandle> {
        let handles: Vec<_> = rooms.iter().map(|room| Arc::clone(room.handle())).collect();
        let max_rooms = check_rooms(&config, &handles)?;
        let ceilings = os::ceilings();
        // Each room after the first also needs a thread.
        let connections = ceilings.check()?.saturating_sub(max_rooms - 1).max(limits::MIN_CONNECTIONS);
        let listener = accept::bind(config.bind)?;
        let address = listener.local_addr()?;
        config.identity = handles[0].identity.clone();
        let pending = pending_share(connections);
        // Addresses share client slots unless one address may take all of them. The comparison uses
        // the configured maximum, before it is limited to the machine's capacity.
        let divides_client_slots = config.max_clients_per_address < config.max_clients;
        config.max_clients = config.max_clients.min(connections - pending);
        config.command_delay_ticks =
            config.command_delay_ticks.min(handle::max_lead_ticks(config.rates().tick_hz));
        let caps = Capacity {
            clients: config.max_clients,
            clients_per_address: config.max_clients_per_address,
            divides_client_slots,
            pending,
            ..Capacity::default()
        };
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let lanes = lane_thread::bind(&config, address);
        let cluster = join_cluster(&config, address)?;
        config.key_log.iter().for_each(|log| log.warn());
        let host =
            Arc::new(ServerState::new(config, handles, Admission::new(caps), workers, (lanes, cluster)));
        let lane_thread = lane_thread::start(&host)?;
        host.events.start(&host.metrics)?;
        host.rooms.all().iter().for_each(|room| room_thread::report_start(&host, room));
        let (self_check_thread, storage_threads) = (start_self_check(&host)?, start_storage(&host)?);
        let renewal_thread = start_renewals(&host)?;
        let accept_loop = Some(AcceptLoop::start(listener, Arc::clone(&host))?);
        let mut room_threads = Vec::new();
        for room in rooms {
            let name = format!("world {}", room.handle().options.name);
            room_threads.push(spawn(&host, name.trim_end(), move |host| room_thread::run(host, room))?);
        }
        let (worker_threads, bots_thread) = (start_workers(&host)?, start_bots(&host)?);
        host.mark_started();
        let agones_thread = start_agones(&host)?;
        Ok(ServerHandle {
            host,
            address,
            ceilings,
            accept_loop,
            room_threads,
            worker_threads,
            lane_thread,
            self_check_thread,
            storage_threads,
            agones_thread,
            renewal_thread,
            bots_thread,
        })
    }

    /// Returns the address on which the server listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the effective settings: the requested ones, limited by the machine and the world.
    pub fn config(&self) -> &ServerConfig {
        &self.host.config
    }

    /// Returns the rooms ordered by name, the default room first.
    pub fn rooms(&self) -> Vec<Arc<RoomHandle>> {
        self.host.rooms.all().iter().map(|room| Arc::clone(&room.handle)).collect()
    }

    /// Returns the machine's capacity, from which the caps were derived.
    pub fn ceilings(&self) -> MachineCapacity {
        self.ceilings
    }

    /// Whether the default room's thread is running. It ends before a shutdown only because of a
    /// bug. The server should then be stopped.
    pub fn is_ticking(&self) -> bool {
        self.room_threads.first().is_some_and(|room| !room.is_finished())
    }

    /// Whether the operator has entered `stop`, or a drain has ended. The owner of the server polls
    /// this and then calls [`ServerHandle::stop`].
    pub fn is_stop_requested(&self) -> bool {
        let host = &self.host;
        host.is_at_least(ShutdownStage::StopRequested)
            || host.drain.is_over(host.now(), || drain::players(host))
    }

    /// Starts to drain the server for [`ServerConfig::drain_time`], after a signal to stop. Returns
    /// false if the server must stop at once: it drains already, or this time is 0.
    pub fn drain(&self) -> bool {
        drain::begin(&self.host, self.host.config.drain_time).is_ok()
    }

    /// Returns the error of the journal that stops the server, if there is one.
    pub fn journal_error(&self) -> Option<String> {
        self.host.config.journal.as_ref().and_then(|journal| journal.stop_error())
    }

    /// Returns the tap, for subscriptions to the traffic between clients and server.
    pub fn tap(&self) -> &Tap {
        &self.host.tap
    }

    /// Starts a capture of the traffic between clients and server.
    ///
    /// # Errors
    /// The reason why the capture cannot be written to this target.
    pub fn capture(&self, target: CaptureTarget) -> Result<String, String> {
        self.host.recorder.start(target, Wanted::default())
    }

    /// Starts a capture without records of the world, for other tools. It cannot be replayed.
    ///
    /// # Errors
    /// The reason why the capture cannot be written to this target.
    pub fn capture_plain(&self, target: CaptureTarget) -> Result<String, String> {
        self.host.recorder.start(target, Wanted { is_plain: true, ..Wanted::default() })
    }

    /// Returns the room of this name, or the private room with this alias. The default room's name
    /// is empty.
    pub fn room(&self, name: &str) -> Option<RoomAccess> {
        let room = if name.is_empty() { Some(self.host.room()) } else { find_room(&self.host, name) };
        room.map(RoomAccess::new)
    }

    /// Returns the console, which executes operator commands.
    pub fn console(&self) -> Console {
        Console::new(Arc::clone(&self.host))
    }

    /// Returns the metrics as Prometheus text.
    pub fn metrics_text(&self) -> String {
        self.host.metrics_text()
    }

    /// Accepts no new connections, closes all clients with 1001, and joins the threads. Takes at
    /// most about 1.5 s, whatever the clients do. A running capture with an unread output adds one
    /// second, a slow hook for events at most [`limits::SERVER_EVENTS_STOP_TIMEOUT`]. Only threads
    /// that wait for a processor can prolong it further. Returns the number of connections left
    /// open: 0 unless a thread hangs.
    pub fn stop(mut self) -> usize {
        self.shut_down()
    }

    /// Like [`ServerHandle::stop`], but without consuming the handle. Does nothing if the server is
    /// already stopped.
    pub fn shut_down(&mut self) -> usize {
        let ServerHandle { host, accept_loop, room_threads, worker_threads, .. } = self;
        let Some(accept_loop) = accept_loop.take() else { return 0 };
        host.advance_to(ShutdownStage::Stopping);
        host.agones.wake();
        accept_loop.stop_accepting();
        // Connections that become idle from now on end by themselves.
        let relays = host.cluster.as_ref().map(Cluster::relays).unwrap_or_default();
        // The bytes of a relayed client pass unread, so its connection ends without a close frame.
        for number in host.admission.idle().into_iter().chain(relays) {
            host.connections.abort(number);
        }
        for client in host.clients.all() {
            client.close(DisconnectReason::Closed(CloseReason::GoingAway), host.now());
        }
        host.bots.wake();
        if let Some(bots) = self.bots_thread.take() {
            let _ = bots.join();
        }
        // Rooms and update workers still run here and flush the queues.
        let left = host.connections.close_all(limits::SHUTDOWN_CLOSE_TIMEOUT);
        host.advance_to(ShutdownStage::RoomsStopping);
        host.rooms.wake_all();
        for room in room_threads.drain(..) {
            let _ = room.join();
        }
        host.room_threads.join();
        host.config.journal.iter().for_each(|journal| journal.close());
        host.data().close();
        host.worker_queues.iter().for_each(ClientWorkerQueue::stop);
        for worker in worker_threads.drain(..) {
            let _ = worker.join();
        }
        host.tap.end();
        host.lanes.iter().for_each(|lanes| lanes.wake());
        let others = self.lane_thread.take().into_iter().chain(self.self_check_thread.take());
        let others = others.chain(self.agones_thread.take());
        for thread in others.chain(self.storage_threads.drain(..)) {
            let _ = thread.join();
        }
        // After the last sync of the journals.
        if let Some(cluster) = &host.cluster {
            cluster.stop_renewals();
            self.renewal_thread.take().map(JoinHandle::join);
            cluster.release_all();
        }
        host.recorder.finish();
        host.events.finish();
        left
    }
}

/// Checks the rooms of a starting server. Returns the maximum number of rooms, including rooms on
/// demand.
fn check_rooms(config: &ServerConfig, handles: &[Arc<RoomHandle>]) -> io::Result<usize> {
    let name = |at: usize| &*handles[at].options.name;
    let is_good = |at: usize| {
        is_room_name(name(at)) && !is_alias(name(at)) && (1..at).all(|other| name(other) != name(at))
    };
    if handles.is_empty() || !name(0).is_empty() || !(1..handles.len()).all(is_good) {
        let rule = "the first room must have no name; the others need distinct names of a-z, 0-9 and -";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    let is_known = |handle: &&Arc<RoomHandle>| TcpGameFactory::find(&config.games, handle.game).is_some();
    if let Some(other) = handles.iter().find(|handle| !is_known(handle)) {
        let rule = format!("the game {} is not among the games of this server", other.game.name);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    let max_rooms = handles.len().saturating_add(config.rooms_on_demand);
    if max_rooms > limits::ROOMS {
        let rule = format!("{max_rooms} rooms are too many: at most {}", limits::ROOMS);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    Ok(max_rooms)
}

/// Creates the part of this process in a cluster.
fn join_cluster(config: &ServerConfig, address: SocketAddr) -> io::Result<Option<Cluster>> {
    let join = |cluster| Cluster::new(cluster, address, LeaseClock::start());
    let joined = config.cluster.as_ref().map(join).transpose();
    joined.map_err(|rule| io::Error::new(io::ErrorKind::InvalidInput, rule))
}

/// Returns how many of the machine's connections may serve requests and pages. The rest is for
/// clients.
const fn pending_share(connections: usize) -> usize {
    let quarter = connections / 4;
    if quarter < limits::MAX_PENDING_REQUESTS { quarter } else { limits::MAX_PENDING_REQUESTS }
}

const _: () = assert!(
    pending_share(limits::MIN_CONNECTIONS) >= 2,
    "the smallest supported machine has at least two connections for requests"
);

/// Starts the thread of `--self-check`. Its subscription begins before the first client connects.
fn start_self_check(host: &Arc<ServerState>) -> io::Result<Option<JoinHandle<()>>> {
    if !host.config.self_check {
        return Ok(None);
    }
    let listener = host.tap.subscribe(None, limits::SELF_CHECK_QUEUE_BYTES);
    spawn(host, "self-check", move |host| self_check::run(host, &listener)).map(Some)
}

/// Starts the renewal thread, in a cluster.
fn start_renewals(host: &Arc<ServerState>) -> io::Result<Option<JoinHandle<()>>> {
    let is_in_cluster = host.cluster.is_some();
    is_in_cluster.then(|| spawn(host, "lease renewal", |host| renewal::run(host))).transpose()
}

/// Starts the writer threads of the journals and of the database, if there are any.
fn start_storage(host: &Arc<ServerState>) -> io::Result<Vec<JoinHandle<()>>> {
    let journal = host.config.journal.is_some().then(|| spawn(host, "journal", |host| journal::run(host)));
    let run = |host: &Arc<ServerState>| host.data().run(&host.metrics);
    let database = host.data().is_stored().then(|| spawn(host, "database", run));
    journal.into_iter().chain(database).collect()
}

/// Starts the thread that reports to the sidecar of Agones, if there is one.
fn start_agones(host: &Arc<ServerState>) -> io::Result<Option<JoinHandle<()>>> {
    let has_sidecar = host.config.agones.is_some();
    has_sidecar.then(|| spawn(host, "agones", agones::run)).transpose()
}

fn start_workers(host: &Arc<ServerState>) -> io::Result<Vec<JoinHandle<()>>> {
    let start = |number: usize| {
        let run = move |host: &Arc<ServerState>| update_worker::run(host, number);
        spawn(host, &format!("update worker {number}"), run)
    };
    (0..host.worker_queues.len()).map(start).collect()
}

/// Starts the thread of the bots, if rooms are filled with bots.
fn start_bots(host: &Arc<ServerState>) -> io::Result<Option<JoinHandle<()>>> {
    let has_bots = host.config.bots > 0;
    has_bots.then(|| spawn(host, "bots", |host| bots::run(host))).transpose()
}

fn spawn(
    host: &Arc<ServerState>,
    name: &str,
    run: impl FnOnce(&Arc<ServerState>) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let host = Arc::clone(host);
    threads::spawn(name, move || run(&host))
}
