//! Simulated network conditions of the program's own connections, each with its own [`DuplexLink`].
//! Bots have no link. Inspectors have ideal conditions, because they observe the server and do not
//! play.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::util::netem::{Arrival, Conditions, DatagramLink, DuplexLink};

struct ConnectionLink {
    link: DuplexLink,
    datagrams: DatagramLink,
    is_inspector: bool,
}

/// The links of all connections.
pub struct ConnectionNetem {
    conditions: Conditions,
    seed: u32,
    lines: BTreeMap<u32, ConnectionLink>,
}

impl ConnectionNetem {
    /// Creates an empty set. The seed determines the jitter and loss of all links.
    pub fn new(conditions: Conditions, seed: u32) -> ConnectionNetem {
        ConnectionNetem { conditions, seed, lines: BTreeMap::new() }
    }

    /// Adds a connection.
    pub fn open(&mut self, number: u32) {
        let seed = u64::from(self.seed) << 32 | u64::from(number);
        let link = DuplexLink::new(&self.conditions, seed);
        let datagrams = DatagramLink::new(&self.conditions, seed.rotate_left(32));
        self.lines.insert(number, ConnectionLink { link, datagrams, is_inspector: false });
    }

    /// Returns the link of a connection. `None` if the link is empty and its conditions are ideal,
    /// as they always are for an inspector.
    pub fn link(&mut self, number: u32) -> Option<&mut DuplexLink> {
        let line = self.lines.get_mut(&number)?;
        let is_perfect = self.conditions.is_ideal() || line.is_inspector;
        (!is_perfect || !line.link.is_empty()).then_some(&mut line.link)
    }

    /// Returns the link of a connection's datagrams.
    pub fn datagrams(&mut self, number: u32) -> Option<&mut DatagramLink> {
        self.lines.get_mut(&number).map(|line| &mut line.datagrams)
    }

    /// Returns whether the link carries no more bytes to the program.
    pub fn is_drained(&self, number: u32) -> bool {
        self.lines.get(&number).is_none_or(|line| line.link.down.is_empty())
    }

    /// Changes the conditions for all bytes sent from now on.
    pub fn change(&mut self, conditions: Conditions) {
        self.conditions = conditions;
        for line in self.lines.values_mut().filter(|line| !line.is_inspector) {
            line.link.change(&conditions);
            line.datagrams.change(&conditions);
        }
    }

    /// Marks a connection as an inspector's, which gets ideal conditions.
    pub fn set_inspector(&mut self, number: u32) {
        if let Some(line) = self.lines.get_mut(&number) {
            line.is_inspector = true;
            line.link.change(&Conditions::default());
        }
    }

    /// Removes a connection. Returns the bytes in transit to the server.
    pub fn close(&mut self, number: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(mut line) = self.lines.remove(&number) {
            while let Arrival::Bytes(_) = line.link.up.read(Duration::MAX, &mut bytes) {}
        }
        bytes
    }

    /// Returns the numbers of all connections.
    pub fn numbers(&self) -> Vec<u32> {
        self.lines.keys().copied().collect()
    }

    /// Returns the time of the next arrival, at either end of any connection.
    pub fn next(&self, now: Duration) -> Option<Duration> {
        let ends = self.lines.values().flat_map(|ConnectionLink { link, datagrams, .. }| {
            [link.up.next(), link.down.next(), datagrams.up.next(), datagrams.down.next()]
        });
        ends.flatten().filter(|next| *next > now).min()
    }
}
