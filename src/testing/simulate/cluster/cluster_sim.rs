//! The cluster: its state and its events.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire_sim::Rng;

use super::owned_room::identity;
use super::room_history::RoomHistory;
use super::scenario::{ClusterFault, Scenario};
use super::sim_player::{PlayerLink, SimPlayer};
use super::sim_process::{Event, ProcessId, SimProcess};
use super::{ClusterCounts, ClusterPlan, HOSTS};
use crate::server::cluster::model_store::{ModelStore, StoreFault};
use crate::server::journal::WorldIdentity;
use crate::server::journal::model_disk::{ModelDisk, PlantedFault};
use crate::testing::simulate::counts::SimulationCounts;
use crate::testing::simulate::failure::InvariantFailure;

/// Time after the last fault in which all players return, in ms.
const QUIET_MS: u64 = 30_000;
/// Bounds of the maximum time between two faults, in ms.
const MIN_TROUBLE_MS: u32 = 3_000;
const MAX_TROUBLE_MS: u32 = 15_000;
/// Interval of ticks in ms.
pub const TICK_MS: u64 = 100;

/// A room of the cluster.
pub struct SharedRoom {
    /// The name.
    pub name: String,
    /// The identity of the world.
    pub identity: WorldIdentity,
    /// The directory of the journal.
    pub disk: ModelDisk,
    /// The runs so far.
    pub history: RoomHistory,
    /// The death of the last owner, until the room is back or another event makes the time
    /// meaningless.
    pub death: Option<OwnerDeath>,
}

/// The death of the owner of a room.
#[derive(Debug, Clone, Copy)]
pub struct OwnerDeath {
    /// Its time in ms.
    pub at_ms: u64,
    /// Whether a player has soon requested the room through a process that may acquire it.
    pub is_requested: bool,
    /// Total delay of messages for the room since then, in ms.
    pub slow_ms: u64,
}

/// The lease store, and its faults.
pub struct SimStore {
    /// The records.
    pub records: ModelStore,
    /// Time in ms until which it does not respond.
    pub down_until: u64,
    /// Number of starts.
    pub start: u32,
    /// Number of connections so far.
    pub connections: u64,
    /// Number of requests so far.
    pub requests: u64,
}

/// A simulated cluster.
pub struct ClusterSim {
    pub(super) rng: Rng,
    pub(super) scenario: Scenario,
    pub(super) now_ms: u64,
    events: BTreeMap<(u64, u64), Event>,
    event_number: u64,
    pub(super) store: SimStore,
    pub(super) processes: Vec<SimProcess>,
    pub(super) rooms: Vec<SharedRoom>,
    pub(super) players: Vec<SimPlayer>,
    pub(super) next_identity: u32,
    pub(super) connections: u64,
    /// Maximum time between two faults, in ms.
    pub(super) trouble_ms: u32,
    /// Whether the faults have ended.
    pub(super) is_quiet: bool,
    /// Longest measured time until a room was back, in ms.
    pub(super) slowest_return_ms: u64,
    pub(super) counts: SimulationCounts,
}

impl ClusterSim {
    /// Creates a cluster. All hosts start at once.
    pub fn new(plan: &ClusterPlan, scenario: Scenario) -> ClusterSim {
        let mut rng = Rng::new((plan.seed ^ plan.seed >> 32) as u32, 7);
        let mut records = ModelStore::default();
        if scenario.fault == Some(ClusterFault::RenewAfterEnd) {
            records.fault = Some(StoreFault::RenewsAfterEnd);
        }
        let rooms = plan.rooms.max(1);
        let player =
            |index: usize, rng: &mut Rng| SimPlayer::new(index, index % rooms, 1 + index as u32, rng);
        let players: Vec<SimPlayer> = (0..plan.players).map(|index| player(index, &mut rng)).collect();
        let mut simulation = ClusterSim {
            scenario,
            now_ms: 0,
            events: BTreeMap::new(),
            event_number: 0,
            store: SimStore { records, down_until: 0, start: 0, connections: 0, requests: 0 },
            processes: Vec::new(),
            rooms: (0..rooms).map(|number| SharedRoom::new(number, scenario.fault)).collect(),
            next_identity: 1 + players.len() as u32,
            players,
            connections: 0,
            trouble_ms: MIN_TROUBLE_MS + rng.below(MAX_TROUBLE_MS - MIN_TROUBLE_MS),
            is_quiet: false,
            slowest_return_ms: 0,
            counts: SimulationCounts::new(1_000 / TICK_MS),
            rng,
        };
        for host in 0..HOSTS {
            let clock_percent = simulation.clock_percent();
            simulation.processes.push(SimProcess::new(ProcessId { host, start: 0 }, clock_percent));
            simulation.begin(host);
        }
        for player in 0..simulation.players.len() {
            let delay = simulation.draw(1_000);
            simulation.push(delay, Event::Connect(player));
        }
        simulation.push(5_000, Event::Trouble);
        simulation
    }

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
                // A paused process handles its events after the pause. The store executes meanwhile.
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

    /// Starts the timers of the process of a host.
    pub(super) fn begin(&mut self, host: usize) {
        let id = self.processes[host].id;
        let delay = self.draw(100);
        self.push(delay, Event::Renew(id));
        self.push(delay, Event::Poll(id));
        self.push(delay, Event::Tick(id));
    }

    /// Queues an event.
    pub(super) fn push(&mut self, after_ms: u64, event: Event) {
        self.event_number += 1;
        self.events.insert((self.now_ms + after_ms, self.event_number), event);
    }

    /// Returns a random number below a bound.
    pub(super) fn draw(&mut self, bound: u32) -> u64 {
        self.rng.below(bound).into()
    }

    /// Returns the time of a process's clock.
    pub(super) fn clock(&self, host: usize) -> Duration {
        self.processes[host].clock(self.now_ms)
    }

    /// Draws the speed of a clock.
    pub(super) fn clock_percent(&mut self) -> u64 {
        if self.scenario.has_bad_clocks { 50 + self.draw(150) } else { 95 + self.draw(11) }
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    /// Returns the counts.
    pub fn into_counts(self) -> ClusterCounts {
        let slowest_return = Duration::from_millis(self.slowest_return_ms);
        ClusterCounts { counts: self.counts, slowest_return }
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

    /// Marks a player as disconnected. It connects again later.
    pub(super) fn lose_connection(&mut self, player: usize) {
        if self.players[player].link != PlayerLink::Away {
            if self.players[player].connection().is_some() {
                self.players[player].away_since_ms = self.now_ms;
            }
            self.players[player].link = PlayerLink::Away;
            let delay = 10 + self.draw(490);
            self.push(delay, Event::Connect(player));
        }
    }
}

impl SharedRoom {
    fn new(number: usize, fault: Option<ClusterFault>) -> SharedRoom {
        let name = format!("room-{number}");
        let disk = ModelDisk::default();
        disk.plant(match fault {
            Some(ClusterFault::SkipSync) => Some(PlantedFault::SkipSync),
            Some(ClusterFault::SkipDirectorySync) => Some(PlantedFault::SkipDirectorySync),
            _ => None,
        });
        let identity = identity(&name).1;
        SharedRoom { name, identity, disk, history: RoomHistory::default(), death: None }
    }
}
