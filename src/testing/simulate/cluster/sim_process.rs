//! A process of a simulated cluster, and the events of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::owned_room::OwnedRoom;
use crate::server::cluster::{LeaseGuard, Leases, RenewReply};
use crate::server::journal::model_disk::ProcessLife;

/// A process of a host: each start is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessId {
    /// The index of the host.
    pub host: usize,
    /// The number of starts before it on this host.
    pub start: u32,
}

/// A request to the lease store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreRequest {
    /// Renews leases of rooms with these fences. The time is of the process's clock, before the
    /// request was sent.
    Renew(Duration, Vec<(usize, u64)>),
    /// Looks up the process of a room.
    LookUp(usize),
    /// Acquires the lease of a room, with a fence above this one. The time is as for a renewal.
    Acquire(Duration, usize, u64),
    /// Releases the lease of a room with this fence.
    Release(usize, u64),
}

impl StoreRequest {
    /// Returns the room that waits for the reply.
    pub fn room(&self) -> Option<usize> {
        match self {
            StoreRequest::LookUp(room) | StoreRequest::Acquire(_, room, _) => Some(*room),
            StoreRequest::Renew(..) | StoreRequest::Release(..) => None,
        }
    }
}

/// A reply of the lease store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreReply {
    /// The result of each renewal.
    Renewed(Vec<RenewReply>),
    /// The process that has the room.
    Found(Option<ProcessId>),
    /// The fence; `None` if another process has the lease.
    Acquired(Option<u64>),
}

/// An event of the cluster.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A process renews its leases.
    Renew(ProcessId),
    /// A process continues to find the rooms of waiting players.
    Poll(ProcessId),
    /// A process executes a tick of each room.
    Tick(ProcessId),
    /// The disk has synced a batch of a process.
    Synced(ProcessId),
    /// A process claims the directory of a room.
    Claim(ProcessId, usize),
    /// A process reads the journal of a room, and creates the room.
    Open(ProcessId, usize),
    /// A process detects that the connection with this number of a player in a room has ended.
    Closed(ProcessId, (usize, usize, u64)),
    /// The store executes a request, if it has not started again since. The last number counts the
    /// starts of the store.
    Execute(ProcessId, u64, StoreRequest, u32),
    /// A reply arrives.
    Reply(ProcessId, u64, StoreRequest, StoreReply),
    /// A player connects through a host.
    Connect(usize),
    /// A host starts a process.
    Restart(usize),
    /// A fault or another event from outside.
    Trouble,
}

impl Event {
    /// Returns the process that handles the event, which may be paused.
    pub fn process(&self) -> Option<ProcessId> {
        match self {
            Event::Renew(process)
            | Event::Poll(process)
            | Event::Tick(process)
            | Event::Synced(process)
            | Event::Claim(process, _)
            | Event::Open(process, _)
            | Event::Closed(process, _)
            | Event::Reply(process, ..) => Some(*process),
            Event::Execute(..) | Event::Connect(_) | Event::Restart(_) | Event::Trouble => None,
        }
    }
}

/// A process with its clock, its leases and its rooms.
pub struct SimProcess {
    /// The identity of the process.
    pub id: ProcessId,
    /// Whether it runs.
    pub is_up: bool,
    /// Speed of its clock in percent.
    pub clock_percent: u64,
    /// Time in ms until which it is paused.
    pub paused_until: u64,
    /// Time in ms until which it cannot reach the store.
    pub separated_until: u64,
    /// Its leases.
    pub leases: Leases,
    /// The number of its connection to the store.
    pub connection: Option<u64>,
    /// The number of the last renewal, if it has no reply yet.
    pub renewal: Option<u64>,
    /// Ends the process between two operations of a disk.
    pub life: ProcessLife,
    /// Its rooms.
    pub rooms: BTreeMap<usize, OwnedRoom>,
    /// Rooms that it recovers: fence and lease.
    pub recovering: BTreeMap<usize, (u64, Arc<LeaseGuard>)>,
    /// By room: the request that finds it, and the time in ms at which the request has failed.
    pub finding: BTreeMap<usize, (u64, u64)>,
    /// Players that wait for their rooms.
    pub waiting: BTreeMap<usize, BTreeSet<usize>>,
    /// Whether the disk syncs a batch.
    pub is_writing: bool,
}

impl SimProcess {
    /// Creates the process of a host.
    pub fn new(id: ProcessId, clock_percent: u64) -> SimProcess {
        SimProcess {
            id,
            is_up: true,
            clock_percent,
            paused_until: 0,
            separated_until: 0,
            leases: Leases::default(),
            connection: None,
            renewal: None,
            life: ProcessLife::default(),
            rooms: BTreeMap::new(),
            recovering: BTreeMap::new(),
            finding: BTreeMap::new(),
            waiting: BTreeMap::new(),
            is_writing: false,
        }
    }

    /// Returns the time of its clock.
    pub fn clock(&self, now_ms: u64) -> Duration {
        Duration::from_millis(now_ms * self.clock_percent / 100 + self.id.host as u64 * 100_000)
    }

    /// Returns whether it may acquire a lease at once.
    pub fn may_acquire(&self, now_ms: u64) -> bool {
        self.is_up
            && self.connection.is_some()
            && now_ms >= self.paused_until
            && now_ms >= self.separated_until
            && self.leases.acquire_wait(self.clock(now_ms)) == Some(Duration::ZERO)
    }
}
