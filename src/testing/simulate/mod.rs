//! A whole server in virtual time, in one thread: rooms, and many connections with checking bots,
//! misbehaving clients and network faults.
//!
//! ```text
//!     client ──► TCP ──► connection ──► room ──► worker ──► TCP ──► client
//!     bot or     delays, the same code as `server::net` drives:     checks
//!     hostile    cuts    `server`, `connection`                     everything
//! ```
//!
//! The seed determines everything: there is no clock, socket or thread, and equal seeds give equal
//! runs. [`run`] ends with the name of the first broken invariant, or with the [`SimulationCounts`]
//! of injected faults and their effects. The simulation compares, after each tick or each second:
//!
//! - received bytes with queued bytes (`virtual_tcp`), and the lanes of queued packets with the
//!   rule for them (`lane_check`);
//! - each client's world model with the published state (`connection_pair`);
//! - a second world with the first, and seats with players (`sim_room`);
//! - a second connection with the first (`connection_twin`);
//! - the players of clients that resume after a lost connection with the players that a model of
//!   the rules predicts (`seat_model`);
//! - the worlds of lockstep clients (`lockstep_bot`) with the rooms' worlds after each tick
//!   (`desync_model`);
//! - rate limits and slots with their use (`server_models`, `sim_server`).
//!
//! Each bot also checks the packets that it receives (`bot_checker`).

mod bot_checker;
mod client_end;
mod client_slot;
pub mod cluster;
mod command_model;
mod connection_pair;
mod connection_twin;
mod counts;
mod desync_model;
mod failure;
mod lane_check;
mod lockstep_bot;
mod misbehaving_client;
mod plan;
mod seat_model;
mod server_end;
mod server_models;
mod sim_room;
mod sim_server;
#[cfg(test)]
mod slow_lines;
mod update_check;
mod virtual_clock;
mod virtual_tcp;
mod virtual_udp;

pub use counts::SimulationCounts;
pub use failure::{InjectedBug, InvariantFailure};
pub use plan::{SimGameFactory, SimulationPlan};

use std::fmt;
use std::time::Duration;

use self::client_slot::ClientSlot;
use self::plan::MAX_ABSENCE;
use self::sim_server::{SimServer, UpdatedClient};
use crate::game::BotRng;

/// A broken invariant and its circumstances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationFailure {
    /// The broken invariant.
    pub broken: InvariantFailure,
    /// The virtual time.
    pub at: Duration,
    /// The slot of the connection, if the failure belongs to one.
    pub connection: Option<usize>,
}

impl fmt::Display for SimulationFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvariantFailure { rule, detail } = &self.broken;
        write!(out, "rule broken ({rule}): {detail}; after {:.3} s", self.at.as_secs_f64())?;
        self.connection.map_or(Ok(()), |connection| write!(out, ", connection {connection}"))
    }
}

/// Time at the end of a simulation in which all clients leave and all suspended players expire.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10 + MAX_ABSENCE.as_secs());
/// Time within `LEAVE_TIMEOUT` after which all clients close their sockets.
const CLOSING_TIME: Duration = Duration::from_secs(5);
/// One in this many complete updates of a client is compared with the published state.
const COMPARE_ONE_IN: u32 = 40;
/// Maximum number of connections that restart in one tick.
const BURST: usize = 20;

/// Runs a simulation to its end, or to the first broken invariant.
pub fn run(plan: &SimulationPlan) -> (SimulationCounts, Option<SimulationFailure>) {
    run_with(plan, None)
}

/// Runs a simulation with an injected bug.
pub fn run_with(
    plan: &SimulationPlan,
    injected_bug: Option<InjectedBug>,
) -> (SimulationCounts, Option<SimulationFailure>) {
    let mut simulation = match Simulation::new(plan, injected_bug) {
        Ok(simulation) => simulation,
        Err(broken) => {
            let (at, connection) = (Duration::ZERO, None);
            return (SimulationCounts::default(), Some(SimulationFailure { broken, at, connection }));
        }
    };
    let failure = simulation.run(plan.time).err().map(|broken| SimulationFailure {
        broken,
        at: simulation.host.now(),
        connection: simulation.at,
    });
    (simulation.counts, failure)
}

struct Simulation {
    host: SimServer,
    slots: Vec<ClientSlot>,
    counts: SimulationCounts,
    rng: BotRng,
    steps: u64,
    /// Steps per second of virtual time.
    step_hz: u64,
    burst: Duration,
    injected_bug: Option<InjectedBug>,
    /// The slot being processed.
    at: Option<usize>,
}

impl Simulation {
    fn new(plan: &SimulationPlan, injected_bug: Option<InjectedBug>) -> Result<Simulation, InvariantFailure> {
        let mut rng = BotRng::new(plan.seed.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
        let rooms = plan.rooms.max(1);
        let host = SimServer::new(plan, rng.bits(), injected_bug)?;
        let seeds = |number| (number, plan.peers, plan.seed);
        Ok(Simulation {
            slots: (0..plan.peers).map(|number| ClientSlot::new(seeds(number), rooms, rng.bits())).collect(),
            counts: SimulationCounts::new(host.tick_hz.into()),
            step_hz: host.tick_hz.into(),
            host,
            rng,
            steps: 0,
            burst: Duration::from_secs(9),
            injected_bug,
            at: None,
        })
    }

    fn run(&mut self, time: Duration) -> Result<(), InvariantFailure> {
        while self.now() < time {
            self.step(true)?;
        }
        // Bots close in an orderly way. Later the other clients close their sockets.
        self.slots.iter_mut().for_each(ClientSlot::leave);
        self.host.is_ending = true;
        while self.now() < time + LEAVE_TIMEOUT && !self.is_empty() {
            self.step(false)?;
            if self.now() > time + CLOSING_TIME {
                self.slots.iter_mut().for_each(ClientSlot::close);
            }
        }
        self.at = None;
        self.host.check_end()?;
        if let Some(slot) = self.slots.iter().position(|slot| !slot.is_empty()) {
            self.at = Some(slot);
            return Err(InvariantFailure::new("every connection is closed at the end", "it is not closed"));
        }
        Ok(())
    }

    /// Whether all clients have left and everything was released.
    fn is_empty(&self) -> bool {
        self.slots.iter().all(ClientSlot::is_empty) && self.host.check_end().is_ok()
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.steps * 1_000_000_000 / self.step_hz)
    }

    fn step(&mut self, may_begin: bool) -> Result<(), InvariantFailure> {
        self.steps += 1;
        let now = self.now();
        self.host.set_now(now);
        if may_begin && now >= self.burst {
            self.begin_burst(now);
        }
        // The order changes from step to step.
        let (count, first) = (self.slots.len(), self.rng.bits() as usize);
        for turn in 0..count {
            let number = (first % count + turn) % count;
            self.at = Some(number);
            let slot = &mut self.slots[number];
            slot.step(&mut self.host, &mut self.counts, may_begin)?;
        }
        self.at = None;
        self.host.tick(&mut self.counts)?;
        for served in self.host.run_workers(&mut self.counts)? {
            if self.rng.below(COMPARE_ONE_IN) == 0 {
                self.compare(&served)?;
            }
        }
        self.at = None;
        let clients = self.slots.iter().map(ClientSlot::clients).sum();
        self.host.check(clients)?;
        self.counts.add("server compared with its models");
        if self.steps.is_multiple_of(self.step_hz) {
            self.check()?;
        }
        Ok(())
    }

    /// Ends several connections and restarts them in one tick.
    fn begin_burst(&mut self, now: Duration) {
        self.burst = now + self.rng.between(Duration::from_secs(12), Duration::from_secs(40));
        self.counts.add("burst of joins");
        let count = BURST.min(self.slots.len() / 2);
        let first = self.rng.bits() as usize % self.slots.len().max(1);
        for turn in 0..count {
            let number = (first + turn) % self.slots.len();
            self.slots[number].reconnect_at(now + Duration::from_secs(6));
        }
    }

    /// Compares a client's world model with the published state.
    fn compare(&mut self, served: &UpdatedClient) -> Result<(), InvariantFailure> {
        let Some(number) = self.slots.iter().position(|slot| slot.has(served.client.id)) else {
            return Ok(());
        };
        self.at = Some(number);
        if self.slots[number].compare(served, &self.host)? {
            self.counts.add("clients compared with the published state");
            if served.client.lane.baseline(true, self.host.now()).is_some() {
                self.counts.add("clients with a lane compared with the published state");
            }
        }
        Ok(())
    }

    /// Executes the checks that run once per second.
    fn check(&mut self) -> Result<(), InvariantFailure> {
        self.host.check_seats()?;
        for (number, slot) in self.slots.iter_mut().enumerate() {
            self.at = Some(number);
            let events = slot.check(&self.host)?;
            self.counts.add_many("events compared", events as u64);
        }
        self.at = None;
        if self.injected_bug == Some(InjectedBug::BytesLost) {
            let number = self.rng.bits() as usize % self.slots.len();
            self.slots[number].lose_bytes();
        }
        let messages = self.counts.messages;
        self.counts.mix(messages);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
