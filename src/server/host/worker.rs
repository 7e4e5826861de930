//! An update worker of a host: one part of each room's clients.

use std::sync::Arc;
use std::time::Duration;

use crate::game::DynTick;
use crate::server::clients::backlog::Backlog;
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::update_group::{EncodeBuffers, UpdateGroup, UpdateRunner};
use crate::server::room::CommandAcks;

/// A worker's clients of one room, and the ticks that were not sent to these clients yet.
struct RoomPart<T> {
    group: Box<dyn UpdateGroup<T>>,
    backlog: Option<Backlog>,
}

/// An update worker.
pub struct HostWorker<T> {
    parts: Vec<RoomPart<T>>,
    buffers: EncodeBuffers,
}

impl<T: Transport> HostWorker<T> {
    /// Creates a worker with one update group for each room.
    pub fn new(groups: impl Iterator<Item = Box<dyn UpdateGroup<T>>>) -> HostWorker<T> {
        let part = |group| RoomPart { group, backlog: None };
        HostWorker { parts: groups.map(part).collect(), buffers: EncodeBuffers::default() }
    }

    /// Adds a client of a room.
    pub fn add_client(&mut self, room: usize, client: Arc<Client<T>>) {
        self.parts[room].group.add_client(client);
    }

    /// Adds a tick to the backlog of a room.
    pub fn push_tick(&mut self, room: usize, published: &Arc<dyn DynTick>, acks: Option<Arc<CommandAcks>>) {
        let published = Arc::clone(published);
        match &mut self.parts[room].backlog {
            Some(backlog) => backlog.push(published, acks),
            empty => *empty = Some(Backlog::new(published, acks)),
        }
    }

    /// Takes the backlog of a room for [`HostWorker::run_pass`].
    pub fn take_backlog(&mut self, room: usize) -> Option<Backlog> {
        self.parts[room].backlog.take()
    }

    /// Sends each client of a room the update of a backlog, and polls the client's deadlines.
    pub fn run_pass(
        &mut self,
        room: usize,
        backlog: &Backlog,
        now: Duration,
        runner: &mut dyn UpdateRunner<T>,
    ) {
        let group = &mut self.parts[room].group;
        group.begin_pass(Some(backlog), &mut std::iter::empty(), now);
        group.update_all(Some(backlog), &mut self.buffers, runner);
    }
}
