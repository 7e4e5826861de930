//! Runs the update passes of the workers, and checks what they queue for each client.

use std::time::Duration;

use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::lane_check;
use super::virtual_tcp::ServerTransport;
use crate::game::StateOutcome;
use crate::limits;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::clients::client::Client;
use crate::server::clients::update_group::{UpdateFn, UpdateRunner};

/// Runs update passes and checks the sends.
pub struct CheckedRunner<'a> {
    now: Duration,
    address_limits: &'a AddressRateLimits,
    counts: &'a mut SimulationCounts,
    /// Clients to which the ticks were sent, and whether the complete state was sent.
    informed: Vec<(u64, bool)>,
    broken: Option<InvariantFailure>,
}

impl UpdateRunner<ServerTransport> for CheckedRunner<'_> {
    fn now(&self) -> Duration {
        self.now
    }

    fn run(&mut self, client: &Client<ServerTransport>, update: &mut UpdateFn<'_>) -> bool {
        match self.check(client, update) {
            Ok(received) => self.informed.extend(received.map(|knows_all| (client.id, knows_all))),
            Err(broken) => _ = self.broken.get_or_insert(broken),
        }
        true
    }
}

impl<'a> CheckedRunner<'a> {
    /// Creates a runner for one pass.
    pub fn new(
        now: Duration,
        address_limits: &'a AddressRateLimits,
        counts: &'a mut SimulationCounts,
    ) -> CheckedRunner<'a> {
        CheckedRunner { now, address_limits, counts, informed: Vec::new(), broken: None }
    }

    /// Returns the clients to which the ticks were sent, and whether the complete state was sent.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn finish(self) -> Result<Vec<(u64, bool)>, InvariantFailure> {
        self.broken.map_or(Ok(self.informed), Err)
    }

    /// Runs the update of one client. Returns `None` if the ticks were not sent; otherwise returns
    /// whether the complete state was sent.
    fn check(
        &mut self,
        client: &Client<ServerTransport>,
        update: &mut UpdateFn<'_>,
    ) -> Result<Option<bool>, InvariantFailure> {
        client.flush(self.now);
        let is_behind = client.sender.backlog() > 0;
        if is_behind {
            client.transport.0.start_recording();
        }
        let had_lane = client.lane.baseline(true, self.now).is_some();
        let result = update(self.address_limits);
        // The update did not fit into datagrams, so the next one has its rest.
        let is_partial = had_lane && client.lane.baseline(true, self.now).is_none();
        if is_behind {
            lane_check::check(&client.format, &client.transport.0.recorded_frames())?;
        }
        let waiting = client.sender.backlog();
        let shared = if client.is_in_lockstep() { limits::SNAPSHOT_MOST_BYTES } else { 0 };
        if waiting > limits::SEND_QUEUE_BYTES + shared + 256 {
            return Err(InvariantFailure::new(
                "the queue of a client stays within its bound",
                format!("{waiting} bytes"),
            ));
        }
        let Some(result) = result.filter(|_| client.sender.is_open()) else { return Ok(None) };
        self.counts.add(match result.outcome {
            StateOutcome::Deferred => "state held back",
            StateOutcome::NotDue => "turn not due",
            StateOutcome::Written => "turn written",
        });
        Ok(Some(result.outcome == StateOutcome::Written && waiting == 0 && !is_partial && !result.is_partial))
    }
}
