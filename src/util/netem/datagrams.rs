//! The delayed datagrams of one direction, and a link with both directions.

use std::collections::BTreeMap;
use std::time::Duration;

use tickwire_sim::rng::Rng;

use super::{Conditions, Direction};
use crate::limits;

/// The datagrams in flight in one direction. Unlike the segments of a stream, each is lost or
/// arrives by itself, in any order.
#[derive(Debug, Clone)]
pub struct DelayedDatagrams {
    conditions: Conditions,
    direction: Direction,
    rng: Rng,
    /// Time at which all datagrams have been sent.
    idle_from: Duration,
    /// By time of arrival, then in the order of sending.
    in_flight: BTreeMap<(Duration, u64), Vec<u8>>,
    /// Number of datagrams sent, and how many of them were lost.
    counts: (u64, u64),
}

impl DelayedDatagrams {
    /// Creates a direction without datagrams. The same seed gives the same losses and times.
    pub fn new(conditions: &Conditions, direction: Direction, seed: u64) -> DelayedDatagrams {
        DelayedDatagrams {
            conditions: *conditions,
            direction,
            rng: Rng::from_state(seed),
            idle_from: Duration::ZERO,
            in_flight: BTreeMap::new(),
            counts: (0, 0),
        }
    }

    /// Changes the conditions for all datagrams sent from now on.
    pub fn set_conditions(&mut self, conditions: &Conditions) {
        self.conditions = *conditions;
    }

    /// Sends a datagram. It is lost if [`limits::NETEM_QUEUE_BYTES`] wait to be sent at the rate,
    /// or [`limits::NETEM_DATAGRAMS`] are in flight.
    pub fn send(&mut self, datagram: Vec<u8>, now: Duration) {
        let is_full = self.in_flight.len() >= limits::NETEM_DATAGRAMS;
        let number = self.counts.0;
        if let Some(arrival) = self.schedule(datagram.len(), is_full, now) {
            self.in_flight.insert((arrival, number), datagram);
        }
    }

    /// Returns the arrival time of a datagram of this many bytes. `None` if it is lost: by chance,
    /// because [`limits::NETEM_QUEUE_BYTES`] wait to be sent at the rate, or because of `is_full`.
    pub fn schedule(&mut self, bytes: usize, is_full: bool, now: Duration) -> Option<Duration> {
        let Conditions { delay, jitter, loss_ppm, .. } = self.conditions;
        let rate = self.conditions.rate(self.direction);
        let transmission = |bytes: usize| {
            rate.map_or(Duration::ZERO, |rate| {
                Duration::from_nanos(bytes as u64 * 1_000_000_000 / rate.max(1))
            })
        };
        let waits = self.idle_from.saturating_sub(now);
        let is_full = is_full || waits > transmission(limits::NETEM_QUEUE_BYTES);
        if !is_full {
            self.idle_from = self.idle_from.max(now) + transmission(bytes);
        }
        let span_us = u32::try_from(2 * jitter.as_micros()).unwrap_or(u32::MAX - 1);
        let delay = delay.saturating_sub(jitter) + Duration::from_micros(self.rng.below(span_us + 1).into());
        let is_lost = self.rng.below(1_000_000) < loss_ppm || is_full;
        self.counts = (self.counts.0 + 1, self.counts.1 + u64::from(is_lost));
        (!is_lost).then(|| self.idle_from + delay)
    }

    /// Takes the next datagram that has arrived by `now`.
    pub fn receive(&mut self, now: Duration) -> Option<Vec<u8>> {
        let entry = self.in_flight.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// Time of the next arrival; `None` if nothing is in flight.
    pub fn next(&self) -> Option<Duration> {
        self.in_flight.first_key_value().map(|((arrives, _), _)| *arrives)
    }

    /// Number of datagrams sent, and how many of them were lost.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }
}

/// Both directions of a lane.
#[derive(Debug, Clone)]
pub struct DatagramLink {
    /// From the client to the server.
    pub up: DelayedDatagrams,
    /// From the server to the client.
    pub down: DelayedDatagrams,
}

impl DatagramLink {
    /// Creates a link without datagrams. Each direction has its own random numbers.
    pub fn new(conditions: &Conditions, seed: u64) -> DatagramLink {
        DatagramLink {
            up: DelayedDatagrams::new(conditions, Direction::Up, seed),
            down: DelayedDatagrams::new(conditions, Direction::Down, !seed),
        }
    }

    /// Changes the conditions of both directions for all datagrams sent from now on.
    pub fn change(&mut self, conditions: &Conditions) {
        self.up.set_conditions(conditions);
        self.down.set_conditions(conditions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(conditions: &str, count: usize, bytes: usize) -> usize {
        let conditions = conditions.parse().expect("conditions");
        let mut way = DelayedDatagrams::new(&conditions, Direction::Up, 1);
        (0..count).for_each(|_| way.send(vec![0; bytes], Duration::ZERO));
        let (sent, lost) = way.counts();
        assert_eq!(sent, count as u64);
        let arrived = std::iter::from_fn(|| way.receive(Duration::from_secs(100))).count();
        assert_eq!(arrived as u64, sent - lost);
        arrived
    }

    #[test]
    fn datagrams_are_lost_while_the_queue_is_full() {
        // The queue has 64 KiB, and one more is sent meanwhile.
        assert_eq!(in_flight("rate=100kB", 100, 1_024), 65);
        assert_eq!(in_flight("delay=1s", limits::NETEM_DATAGRAMS + 5, 10), limits::NETEM_DATAGRAMS);
    }
}
