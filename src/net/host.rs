//! The host state of one server's threads. Nothing is global: a second server in the process is a
//! second value.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::admission::Admission;
use super::budgets::Budgets;
use super::client::Client;
use super::config::Config;
use super::console::gate::Gate;
use super::console::inquiry::Inquiries;
use super::fan_out::Bell;
use super::inbox::Inbox;
use super::metrics::Metrics;
use super::recorder::Recorder;
use super::registry::Registry;
use super::roster::Roster;
use super::tap::Tap;
use crate::feed::Published;

/// See the [module](self).
#[derive(Debug)]
pub struct Host {
    /// The settings in force.
    pub config: Config,
    /// The metrics.
    pub metrics: Metrics,
    /// Commands for the world.
    pub inbox: Inbox,
    /// The operator's questions for the world thread.
    pub inquiries: Inquiries,
    /// Counts wrong tokens per address.
    pub gate: Gate,
    /// Player numbers.
    pub roster: Roster,
    /// Passes traffic to listeners.
    pub tap: Tap,
    /// Writes traffic to a file while a capture is running.
    pub recorder: Recorder,
    /// Decides which connection gets a thread.
    pub admission: Arc<Admission>,
    /// Rate limits host by the clients of one address.
    pub budgets: Budgets,
    /// One for each fan-out worker.
    pub bells: Vec<Bell>,
    /// Distinguishes this run of the server from earlier runs: 16 hex digits.
    pub epoch: String,
    /// Ticks completed.
    pub tick: AtomicU32,
    started: Instant,
    asked_to_stop: AtomicBool,
    stopping: AtomicBool,
    world_stopping: AtomicBool,
    next_client: AtomicU64,
    next_bell: AtomicUsize,
    clients: Registry<Arc<Client>>,
    connections: Registry<Arc<TcpStream>>,
}

impl Host {
    /// The host state of a server that is starting.
    pub fn new(
        config: Config,
        inbox: Inbox,
        admission: Arc<Admission>,
        workers: usize,
        epoch: String,
    ) -> Host {
        Host {
            budgets: Budgets::new(config.address_budgets),
            config,
            metrics: Metrics::new(),
            inbox,
            inquiries: Inquiries::default(),
            gate: Gate::default(),
            roster: Roster::default(),
            tap: Tap::default(),
            recorder: Recorder::default(),
            admission,
            bells: (0..workers).map(|_| Bell::default()).collect(),
            epoch,
            tick: AtomicU32::new(0),
            started: Instant::now(),
            asked_to_stop: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            world_stopping: AtomicBool::new(false),
            next_client: AtomicU64::new(1),
            next_bell: AtomicUsize::new(0),
            clients: Registry::default(),
            connections: Registry::default(),
        }
    }

    /// The server's clock: time since its start.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether the operator has asked the server to stop; its owner then stops it.
    pub fn is_asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Acquire)
    }

    /// Records that the operator asks the server to stop.
    pub fn ask_to_stop(&self) {
        self.asked_to_stop.store(true, Ordering::Release);
    }

    /// Whether the server is stopping: it then accepts no new connections.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Records that the server is stopping.
    pub fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether the world thread must end, which happens after the clients have gone.
    pub fn is_world_stopping(&self) -> bool {
        self.world_stopping.load(Ordering::Acquire)
    }

    /// Ends the world thread after its current tick.
    pub fn stop_world(&self) {
        self.world_stopping.store(true, Ordering::Release);
    }

    /// A number for a new client.
    pub fn next_client_id(&self) -> u64 {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// Lists a client, so that a shutdown reaches it.
    pub fn list(&self, client: &Arc<Client>) {
        self.clients.add(client.id, Arc::clone(client));
        self.metrics.clients.inc();
    }

    /// Removes a client whose thread has ended.
    pub fn unlist(&self, client: &Client) {
        client.set_gone();
        if self.clients.remove(client.id).is_some() {
            self.metrics.clients.dec();
        }
    }

    /// All current clients.
    pub fn clients(&self) -> Vec<Arc<Client>> {
        self.clients.all()
    }

    /// Assigns a client to a worker, round-robin. From now on the client receives updates.
    pub fn give_to_worker(&self, client: &Arc<Client>) {
        let turn = self.next_bell.fetch_add(1, Ordering::Relaxed);
        self.bells[turn % self.bells.len()].welcome(Arc::clone(client));
    }

    /// Rings all bells for a published tick.
    pub fn publish(&self, published: &Arc<Published>) {
        for bell in &self.bells {
            if bell.ring(Arc::clone(published)) {
                self.metrics.lost_publications.inc();
            }
        }
    }

    /// Records that this connection's thread begins: from now on a shutdown waits for the thread
    /// and reaches its socket.
    pub fn connection_begins(&self, number: u64, stream: &Arc<TcpStream>) {
        self.connections.add(number, Arc::clone(stream));
    }

    /// Ends the connection of this number immediately, if it is still open: its thread wakes from
    /// any blocking call.
    pub fn cut_connection(&self, number: u64) {
        if let Some(stream) = self.connections.get(number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Records that the thread of this connection has ended.
    pub fn connection_ends(&self, number: u64) {
        self.connections.remove(number);
    }

    /// Ends all connections immediately, whatever their state: clients, pages, unfinished requests.
    pub fn cut_connections(&self) {
        for stream in self.connections.all() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits at most this long until the threads of all connections have ended. Returns the number
    /// of connections left.
    pub fn wait_for_connections(&self, time: Duration) -> usize {
        self.connections.wait_until_empty(Instant::now() + time)
    }
}
