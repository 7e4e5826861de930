//! Requests to the lease store: their delays and losses, their execution and their replies.

use std::time::Duration;

use super::cluster_sim::ClusterSim;
use super::scenario::ClusterFault;
use super::sim_process::{Event, ProcessId, StoreReply, StoreRequest};
use crate::limits;
use crate::server::cluster::{AcquireReply, Holder, RenewReply};

/// One in this many messages is lost.
const LOST_ONE_IN: u32 = 100;
/// One in this many messages may be slow.
const SLOW_ONE_IN: u32 = 6;
/// Total delay in ms of messages after a death from which on the return is not measured.
const MAX_SLOW_MS: u64 = 1_200;

impl ClusterSim {
    /// Renews the leases of a process, and ends its lost rooms.
    pub(super) fn renew(&mut self, host: usize) {
        let (id, now) = (self.processes[host].id, self.clock(host));
        let interval = limits::CLUSTER_RENEW_INTERVAL.as_millis() as u64;
        self.push(interval * 100 / self.processes[host].clock_percent, Event::Renew(id));
        self.processes[host].leases.give_up_old(now);
        self.end_lost_rooms(host);
        if self.processes[host].renewal.take().is_some() {
            self.counts.add("store: renewals without a reply");
            self.drop_store_connection(host);
        }
        if !self.connect_store(host) {
            return;
        }
        let sent_at = self.clock(host);
        let held = self.processes[host].leases.held();
        let number = |name: &str| self.rooms.iter().position(|room| room.name == name);
        let held: Vec<_> = held.iter().filter_map(|(room, fence)| Some((number(room)?, *fence))).collect();
        if !held.is_empty() {
            let request = self.send(host, StoreRequest::Renew(sent_at, held));
            self.processes[host].renewal = Some(request);
        }
    }

    /// Connects a process to the store if necessary. Returns whether it is connected.
    pub(super) fn connect_store(&mut self, host: usize) -> bool {
        let is_reached =
            self.now_ms >= self.store.down_until && self.now_ms >= self.processes[host].separated_until;
        if !is_reached {
            self.drop_store_connection(host);
            return false;
        }
        let now = self.clock(host);
        let number = match self.processes[host].connection {
            Some(number) => number,
            None => {
                self.store.connections += 1;
                self.store.connections
            }
        };
        let process = &mut self.processes[host];
        process.connection = Some(number);
        process.leases.on_connection(number, now);
        true
    }

    fn drop_store_connection(&mut self, host: usize) {
        if self.processes[host].connection.take().is_some() {
            self.rooms.iter_mut().for_each(|room| room.death = None);
        }
    }

    /// Returns whether a process may acquire a lease now.
    pub(super) fn may_acquire(&self, host: usize) -> bool {
        let wait = self.processes[host].leases.acquire_wait(self.clock(host));
        wait == Some(Duration::ZERO) || self.scenario.fault == Some(ClusterFault::AcquireAtOnce)
    }

    /// Sends a request, which may be lost. Returns its number.
    pub(super) fn send(&mut self, host: usize, request: StoreRequest) -> u64 {
        self.store.requests += 1;
        let number = self.store.requests;
        let id = self.processes[host].id;
        if let Some(delay) = self.message_delay(&request) {
            self.push(delay, Event::Execute(id, number, request, self.store.start));
        }
        number
    }

    /// Returns the delay of a message in ms, or `None` if it is lost.
    fn message_delay(&mut self, request: &StoreRequest) -> Option<u64> {
        let is_lost = self.draw(LOST_ONE_IN) == 0 && !self.is_quiet;
        let is_slow = self.draw(SLOW_ONE_IN) == 0 && !self.is_quiet;
        let delay = self.draw(if is_slow { 450 } else { 4 });
        if is_lost {
            self.counts.add("store: messages lost");
        }
        if let Some(room) = request.room()
            && let Some(death) = &mut self.rooms[room].death
        {
            death.slow_ms += if is_lost { MAX_SLOW_MS } else { delay };
            self.rooms[room].death.take_if(|death| death.slow_ms >= MAX_SLOW_MS);
        }
        (!is_lost).then_some(delay)
    }

    fn holder(id: ProcessId) -> Holder {
        let (process, address) = (format!("{}.{}", id.host, id.start), id.host.to_string());
        Holder { process, address, relay_key: String::new(), public_url: String::new() }
    }

    fn process_of(holder: &Holder) -> Option<ProcessId> {
        let (host, start) = holder.process.split_once('.')?;
        Some(ProcessId { host: host.parse().ok()?, start: start.parse().ok()? })
    }

    /// Executes a request, unless the store has started again since it was sent.
    pub(super) fn execute(&mut self, from: ProcessId, number: u64, request: StoreRequest, start: u32) {
        if start != self.store.start || self.now_ms < self.store.down_until {
            return;
        }
        let (process, now) = (Self::holder(from), Duration::from_millis(self.now_ms));
        let records = &mut self.store.records;
        let name = |room: usize| self.rooms[room].name.as_str();
        let reply = match &request {
            StoreRequest::Renew(_, leases) => {
                let renewed =
                    leases.iter().map(|(room, fence)| records.renew(&process, name(*room), *fence, now));
                StoreReply::Renewed(renewed.collect())
            }
            StoreRequest::LookUp(room) => {
                StoreReply::Found(records.look_up(name(*room), now).as_ref().and_then(Self::process_of))
            }
            StoreRequest::Acquire(_, room, above) => {
                StoreReply::Acquired(match records.acquire(&process, name(*room), *above, now) {
                    AcquireReply::Acquired { fence } => Some(fence),
                    AcquireReply::Held { .. } => None,
                })
            }
            StoreRequest::Release(room, fence) => return records.release(&process, name(*room), *fence),
        };
        if let Some(delay) = self.message_delay(&request) {
            self.push(delay, Event::Reply(from, number, request, reply));
        }
    }

    /// Handles the reply to a renewal.
    pub(super) fn on_renewed(
        &mut self,
        host: usize,
        leases: &[(usize, u64)],
        replies: &[RenewReply],
        sent: Duration,
    ) {
        for ((room, fence), reply) in leases.iter().zip(replies) {
            self.processes[host].leases.on_renewed(&self.rooms[*room].name, *fence, *reply, sent);
        }
        self.end_lost_rooms(host);
    }

    fn end_lost_rooms(&mut self, host: usize) {
        for name in self.processes[host].leases.lost() {
            if let Some(room) = self.rooms.iter().position(|room| room.name == name) {
                self.counts.add("rooms ended because another process has them");
                self.end_room(host, room);
            }
        }
    }

    /// Ends a room in a process, and releases its lease unless it is lost.
    pub(super) fn end_room(&mut self, host: usize, room: usize) {
        self.processes[host].recovering.remove(&room);
        if let Some(owned) = self.processes[host].rooms.remove(&room) {
            owned.players.iter().for_each(|player| self.lose_connection(*player));
        }
        let name = &self.rooms[room].name;
        if let Some((fence, is_to_release)) = self.processes[host].leases.remove(name)
            && is_to_release
        {
            self.send(host, StoreRequest::Release(room, fence));
        }
    }
}
