//! The event loop of a simulated cluster.

use std::time::Duration;

use super::cluster_plan::HOSTS;
use super::cluster_sim::{ClusterSim, TICK_MS};
use super::sim_process::Event;
use crate::testing::simulate::failure::InvariantFailure;

/// Time after the last fault in which all players return, in ms.
const QUIET_MS: u64 = 30_000;

impl ClusterSim {
    /// Runs the cluster with faults for this time, and then without faults until all players must
    /// have returned.
    ///
    /// # Errors
    /// The first broken invariant.
    pub fn run(&mut self, time: Duration) -> Result<(), InvariantFailure> {
        let end_ms = time.as_millis() as u64;
        self.run_until(end_ms)?;
        self.begin_quiet();
        self.run_until(end_ms + QUIET_MS)?;
        self.check_end()
    }

    fn run_until(&mut self, end_ms: u64) -> Result<(), InvariantFailure> {
        while let Some(entry) = self.events.first_entry() {
            let at_ms = entry.key().0;
            if at_ms > end_ms {
                break;
            }
            let event = entry.remove();
            self.now_ms = at_ms;
            match event.process() {
                Some(id) if self.processes[id.host].id != id || !self.processes[id.host].is_up => {}
                // A paused process handles its events later. The store executes meanwhile.
                Some(id) if self.processes[id.host].paused_until > at_ms => {
                    self.push(self.processes[id.host].paused_until - at_ms, event);
                }
                _ => self.handle(event)?,
            }
            for host in 0..HOSTS {
                if self.processes[host].is_up && self.processes[host].life.has_ended() {
                    self.counts.add("process killed between two operations of a disk");
                    self.kill(host);
                }
            }
        }
        self.now_ms = end_ms;
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), InvariantFailure> {
        match event {
            Event::Renew(process) => self.renew(process.host),
            Event::Poll(process) => return self.poll(process.host),
            Event::Tick(process) => return self.tick(process.host),
            Event::Synced(process) => return self.on_synced(process.host),
            Event::Claim(process, room) => return self.claim(process.host, room),
            Event::Open(process, room) => return self.open(process.host, room),
            Event::Closed(process, closed) => self.on_closed(process.host, closed),
            Event::Execute(from, number, request, start) => self.execute(from, number, request, start),
            Event::Reply(to, number, request, reply) => {
                return self.on_reply(to.host, number, request, reply);
            }
            Event::Connect(player) => self.connect(player),
            Event::Restart(host) => self.restart(host),
            Event::Trouble => self.trouble()?,
        }
        Ok(())
    }

    /// Checks that all players have returned, and that acks are sent.
    fn check_end(&mut self) -> Result<(), InvariantFailure> {
        let rule = "every player returns when the faults have ended";
        for (index, player) in self.players.iter().enumerate() {
            let Some(connection) = player.connection() else {
                return Err(InvariantFailure::new(rule, format!("player {index} is {:?}", player.link)));
            };
            let owned = self.processes[connection.owner].rooms.get(&player.room);
            let Some(owned) = owned.filter(|owned| owned.fence == self.rooms[player.room].history.newest())
            else {
                let detail = format!("player {index} plays in a room that another process has");
                return Err(InvariantFailure::new(rule, detail));
            };
            // A slow sync takes a second.
            if owned.held() > 2 * 1_000 / TICK_MS as usize {
                let rule = "acks are sent when the faults have ended";
                return Err(InvariantFailure::new(rule, format!("{} ticks are held", owned.held())));
            }
        }
        self.counts.add_many("players returned at the end", self.players.len() as u64);
        Ok(())
    }
}
