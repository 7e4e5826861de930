//! Faults: the ends of processes, pauses, separations, and the ends of the store.

use super::cluster_plan::HOSTS;
use super::cluster_sim::{ClusterSim, OwnerDeath};
use super::sim_player::PlayerLink;
use super::sim_process::{Event, ProcessId, SimProcess};
use crate::testing::simulate::failure::InvariantFailure;

/// Minimum time between two faults, in ms.
const MIN_TROUBLE_MS: u64 = 300;
/// Maximum time for which a process is paused or separated, in ms.
const MAX_PAUSE_MS: u32 = 12_000;

impl ClusterSim {
    /// Causes the next fault.
    pub(super) fn trouble(&mut self) -> Result<(), InvariantFailure> {
        if self.is_quiet {
            return Ok(());
        }
        let next = MIN_TROUBLE_MS + self.draw(self.trouble_ms);
        self.push(next, Event::Trouble);
        let (host, long) = (self.troubled_host(), self.draw(MAX_PAUSE_MS));
        self.rooms.iter_mut().for_each(|room| room.death = None);
        match self.draw(18) {
            0..3 if self.scenario.has_pauses => {
                self.counts.add("processes paused");
                self.processes[host].paused_until = self.now_ms + long;
            }
            3..6 if self.scenario.has_pauses => {
                self.counts.add("processes separated from the store");
                self.processes[host].separated_until = self.now_ms + long;
                self.processes[host].connection = None;
            }
            6..8 => self.stop_store(long / 3),
            8 if self.processes[host].is_up => {
                let operations = self.draw(60);
                self.processes[host].life.end_after(1 + operations);
            }
            9..11 if self.processes[host].is_up && self.processes[host].paused_until <= self.now_ms => {
                return self.stop(host);
            }
            11..13 if self.processes[host].is_up => self.cut_power(host),
            13 => {
                self.counts.add("power cuts of all hosts");
                self.rooms.iter().for_each(|room| room.disk.cut_power(None, &mut self.rng));
                (0..HOSTS).for_each(|host| self.kill(host));
            }
            14 => {
                self.counts.add("two processes killed at once");
                (0..HOSTS).filter(|other| *other != host).for_each(|other| self.kill(other));
            }
            _ if self.processes[host].is_up => {
                self.counts.add("processes killed");
                self.kill(host);
            }
            _ => {}
        }
        Ok(())
    }

    /// Draws a host: mostly the owner of a room.
    fn troubled_host(&mut self) -> usize {
        let (host, room) = (self.draw(HOSTS as u32) as usize, self.draw(self.rooms.len() as u32) as usize);
        let newest = self.rooms[room].history.newest();
        let is_owner =
            |process: &SimProcess| process.rooms.get(&room).is_some_and(|owned| owned.fence == newest);
        let owner = self.processes.iter().position(is_owner);
        owner.filter(|_| self.rng.below(2) == 0).unwrap_or(host)
    }

    /// Ends all faults.
    pub(super) fn begin_quiet(&mut self) {
        self.is_quiet = true;
        self.store.down_until = self.now_ms;
        self.rooms.iter_mut().for_each(|room| room.death = None);
        for process in &mut self.processes {
            (process.paused_until, process.separated_until) = (self.now_ms, self.now_ms);
        }
    }

    fn stop_store(&mut self, ms: u64) {
        self.counts.add("store: stops");
        self.store.down_until = self.now_ms + ms;
        self.store.start += 1;
        self.processes.iter_mut().for_each(|process| process.connection = None);
        if self.scenario.loses_records {
            self.counts.add("store: starts without its records");
            self.store.records.wipe();
        }
    }

    fn cut_power(&mut self, host: usize) {
        self.counts.add("power cuts of a host");
        self.rooms.iter().for_each(|room| room.disk.cut_power(Some(host), &mut self.rng));
        self.kill(host);
    }

    /// Stops a process: it writes its journals and releases its leases.
    fn stop(&mut self, host: usize) -> Result<(), InvariantFailure> {
        let (now, scenario) = (self.clock(host), self.scenario);
        self.counts.add("processes stopped");
        self.with_rooms(host, |simulation, room, owned| match owned.stop(&scenario, now) {
            Ok(_) => Ok(()),
            Err(error) => simulation.on_journal_error(host, room, owned, &error),
        })?;
        if !self.processes[host].life.has_ended() {
            let rooms: Vec<usize> = self.processes[host].rooms.keys().copied().collect();
            rooms.into_iter().for_each(|room| self.end_room(host, room));
        }
        self.kill(host);
        Ok(())
    }

    /// Ends the process of a host. The host starts another one later.
    pub(super) fn kill(&mut self, host: usize) {
        if !self.processes[host].is_up {
            return;
        }
        self.note_deaths(host);
        for index in 0..self.players.len() {
            let room = self.players[index].room;
            match &self.players[index].link {
                PlayerLink::Waiting(at) if *at == host => self.lose_connection(index),
                PlayerLink::Connected(connection) if connection.owner == host => self.lose_connection(index),
                PlayerLink::Connected(connection) if connection.via == host => {
                    let (number, player, owner) = (connection.number, connection.player, connection.owner);
                    let id = self.processes[owner].id;
                    if let Some(owned) = self.processes[owner].rooms.get_mut(&room) {
                        owned.players.remove(&index);
                    }
                    self.push(1, Event::Closed(id, (room, usize::from(player.0), number)));
                    self.lose_connection(index);
                }
                _ => {}
            }
        }
        let id = ProcessId { host, start: self.processes[host].id.start + 1 };
        let clock_percent = self.processes[host].clock_percent;
        self.processes[host] = SimProcess { is_up: false, ..SimProcess::new(id, clock_percent) };
        let delay = 200 + self.draw(5_000);
        self.push(delay, Event::Restart(host));
    }

    /// Begins to measure the time until the rooms of a process are back, if another process may
    /// acquire them.
    fn note_deaths(&mut self, host: usize) {
        let now_ms = self.now_ms;
        let others = |other: &&SimProcess| other.id.host != host && other.may_acquire(now_ms);
        let is_measured =
            now_ms >= self.store.down_until && self.processes.iter().any(|other| others(&other));
        for (room, owned) in &self.processes[host].rooms {
            let shared = &mut self.rooms[*room];
            if is_measured && owned.fence == shared.history.newest() {
                shared.death = Some(OwnerDeath { at_ms: now_ms, is_requested: false, slow_ms: 0 });
            }
        }
    }

    /// Starts the process of a host.
    pub(super) fn restart(&mut self, host: usize) {
        self.processes[host].is_up = true;
        self.begin(host);
    }
}
