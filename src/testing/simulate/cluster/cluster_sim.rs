//! The state of a simulated cluster, and its queue of events.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire_sim::Rng;

use super::cluster_plan::{ClusterCounts, ClusterPlan, HOSTS};
use super::owned_room::identity;
use super::room_history::RoomHistory;
use super::scenario::{ClusterFault, Scenario};
use super::sim_player::{PlayerLink, SimPlayer};
use super::sim_process::{Event, ProcessId, SimProcess};
use crate::server::cluster::model_store::{ModelStore, StoreFault};
use crate::server::journal::WorldIdentity;
use crate::server::journal::model_disk::{ModelDisk, PlantedFault};
use crate::testing::simulate::counts::SimulationCounts;

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
    pub(super) events: BTreeMap<(u64, u64), Event>,
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
