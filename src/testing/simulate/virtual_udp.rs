//! Model of the UDP path of one client's lane, with loss, repetition, reordering, outages, and
//! changes of the client's address.
//!
//! ```text
//!     client ── send ────► up:   in flight, by time of arrival ──► server_receive ── server
//!     client ◄─ receive ── down: in flight, by time of arrival ◄── server_send ───── server
//!     attacker ── a copy of a datagram, from another address ───────┘
//! ```
//!
//! The model also checks the amplification limit: an address that no datagram has reached cannot
//! have acknowledged one, so the server may send it at most as many bytes as came from it.

use core::net::{Ipv4Addr, SocketAddr};
use std::collections::BTreeMap;
use std::time::Duration;

use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use super::virtual_clock::VirtualClock;
use crate::datagram::LaneKey;
use crate::game::BotRng;
use crate::server::clients::client_lane::LaneGrant;
use crate::util::netem::Conditions;
use crate::util::sync::Mutex;

/// Loss rates in datagrams per million. Each connection has one of them.
const LOSSES_PPM: [u32; 6] = [0, 0, 20_000, 50_000, 200_000, 600_000];
/// Maximum of the delay that all datagrams of a connection have.
const MAX_DELAY: Duration = Duration::from_millis(80);
/// Maximum difference between the delays of two datagrams.
const MAX_JITTER: Duration = Duration::from_millis(120);
/// One in this many datagrams arrives twice.
const REPEATED_ONE_IN: u32 = 20;
/// An attacker copies one in this many datagrams of the client. The copy arrives first.
const COPIED_ONE_IN: u32 = 300;
/// Minimum and maximum time between two outages of the path, and between two changes of the
/// address.
const INTERVAL: [Duration; 2] = [Duration::from_secs(4), Duration::from_secs(40)];
/// Minimum and maximum duration of an outage.
const OUTAGE: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(6)];

/// A datagram in flight.
#[derive(Debug)]
struct InFlight {
    arrives: Duration,
    /// The address of the client or, in the direction to the server, of an attacker.
    address: SocketAddr,
    bytes: Vec<u8>,
}

/// Bytes from and to an address.
#[derive(Debug, Default)]
struct AddressBytes {
    received: usize,
    sent: usize,
    /// Whether a datagram has arrived at the address.
    is_reached: bool,
}

#[derive(Debug)]
struct Inner {
    rng: BotRng,
    loss_ppm: u32,
    delay: Duration,
    jitter: Duration,
    address: SocketAddr,
    grants: u32,
    outage_until: Duration,
    next_outage: Duration,
    next_address: Duration,
    up: Vec<InFlight>,
    down: Vec<InFlight>,
    /// The time of the server's last datagrams, with their addresses and bytes.
    last: (Duration, Vec<(SocketAddr, Vec<u8>)>),
    addresses: BTreeMap<SocketAddr, AddressBytes>,
    /// Description of the first breach of the amplification limit.
    amplified: Option<String>,
    /// Injected bug: the server sends each datagram twice.
    sends_twice: bool,
    counts: BTreeMap<&'static str, u64>,
}

/// The datagrams of one connection.
#[derive(Debug)]
pub struct VirtualUdp {
    clock: VirtualClock,
    inner: Mutex<Inner>,
}

impl VirtualUdp {
    /// Creates a path without datagrams. Its conditions are random, and at least as bad as
    /// `conditions`.
    pub fn new(clock: &VirtualClock, seed: u64, conditions: Option<&Conditions>) -> VirtualUdp {
        let mut rng = BotRng::new(seed ^ 0xda7a);
        let now = clock.now();
        let loss_ppm = rng.choose(&LOSSES_PPM).copied().unwrap_or_default();
        let net = conditions.copied().unwrap_or_default();
        let inner = Inner {
            loss_ppm: loss_ppm.max(net.loss_ppm),
            delay: rng.between(Duration::ZERO, MAX_DELAY).max(net.delay),
            jitter: rng.between(Duration::ZERO, MAX_JITTER).max(net.jitter),
            address: random_address(&mut rng),
            grants: 0,
            outage_until: Duration::ZERO,
            next_outage: now + rng.between(INTERVAL[0], INTERVAL[1]),
            next_address: now + rng.between(INTERVAL[0], INTERVAL[1]),
            up: Vec::new(),
            down: Vec::new(),
            last: (Duration::ZERO, Vec::new()),
            addresses: BTreeMap::new(),
            amplified: None,
            sends_twice: false,
            counts: BTreeMap::new(),
            rng,
        };
        VirtualUdp { clock: clock.clone(), inner: Mutex::new(inner) }
    }

    // ---- the client's end ----

    /// Sends a datagram to the server.
    pub fn send(&self, bytes: Vec<u8>) {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        let address = inner.address;
        if inner.rng.below(COPIED_ONE_IN) == 0 {
            inner.count("lane: datagrams copied by an attacker");
            let attacker = random_address(&mut inner.rng);
            inner.up.push(InFlight { arrives: now, address: attacker, bytes: bytes.clone() });
        }
        for arrives in inner.arrivals(now) {
            inner.up.push(InFlight { arrives, address, bytes: bytes.clone() });
        }
    }

    /// Takes a datagram that has arrived at the client.
    pub fn receive(&self) -> Option<Vec<u8>> {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        loop {
            let InFlight { address, bytes, .. } = take_arrived(&mut inner.down, now)?;
            if inner.arrive(address) {
                return Some(bytes);
            }
        }
    }

    /// Starts outages and changes the address when they are due. Returns whether an outage starts.
    pub fn step(&self) -> bool {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        if inner.grants == 0 {
            return false;
        }
        if now >= inner.next_address {
            inner.count("lane: addresses changed");
            inner.address = random_address(&mut inner.rng);
            inner.next_address = now + inner.rng.between(INTERVAL[0], INTERVAL[1]);
        }
        let starts_outage = now >= inner.next_outage;
        if starts_outage {
            inner.count("lane: outages");
            inner.outage_until = now + inner.rng.between(OUTAGE[0], OUTAGE[1]);
            inner.next_outage = inner.outage_until + inner.rng.between(INTERVAL[0], INTERVAL[1]);
        }
        starts_outage
    }

    /// Takes, in random order, all datagrams in flight to the client and all datagrams that the
    /// server sent at this time, including lost ones. `None` if the client's address has changed
    /// since.
    pub fn deliver_now(&self) -> Option<Vec<Vec<u8>>> {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        if inner.last.0 == now && inner.last.1.iter().any(|(to, _)| *to != inner.address) {
            return None;
        }
        let mut datagrams: Vec<(SocketAddr, Vec<u8>)> =
            inner.down.drain(..).map(|InFlight { address, bytes, .. }| (address, bytes)).collect();
        if inner.last.0 == now {
            datagrams.append(&mut inner.last.1);
        }
        for at in (1..datagrams.len()).rev() {
            datagrams.swap(at, inner.rng.below(at as u32 + 1) as usize);
        }
        datagrams.retain(|(address, _)| inner.arrive(*address));
        Some(datagrams.into_iter().map(|(_, bytes)| bytes).collect())
    }

    // ---- the server's end ----

    /// Grants a lane. Its key is zero, as observers see every key, because the model of the stream
    /// compares observed bytes with received bytes.
    pub fn grant(&self, client: u64) -> LaneGrant {
        let inner = &mut *self.inner.lock();
        inner.grants += 1;
        inner.count("lane: granted");
        let connection = (client as u32).wrapping_mul(64) + inner.grants;
        LaneGrant { connection, key: Some(LaneKey([0; 32])), port: 1, answer: None }
    }

    /// Takes a datagram that has arrived at the server, and the address of its sender.
    pub fn server_receive(&self) -> Option<(SocketAddr, Vec<u8>)> {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        let InFlight { address, bytes, .. } = take_arrived(&mut inner.up, now)?;
        inner.addresses.entry(address).or_default().received += bytes.len();
        Some((address, bytes))
    }

    /// Sends a datagram to an address.
    pub fn server_send(&self, to: SocketAddr, bytes: &[u8]) {
        let (now, inner) = (self.clock.now(), &mut *self.inner.lock());
        if inner.last.0 != now {
            inner.last = (now, Vec::new());
        }
        for _ in 0..=u8::from(inner.sends_twice) {
            let of_address = inner.addresses.entry(to).or_default();
            of_address.sent += bytes.len();
            let AddressBytes { received, sent, is_reached } = *of_address;
            if !is_reached && sent > received {
                let detail = format!("{to} was sent {sent} bytes, and {received} came from it");
                inner.amplified.get_or_insert(detail);
            }
            inner.last.1.push((to, bytes.to_vec()));
            for arrives in inner.arrivals(now) {
                inner.down.push(InFlight { arrives, address: to, bytes: bytes.to_vec() });
            }
        }
    }

    // ---- checks ----

    /// Checks the amplification limit of all addresses.
    ///
    /// # Errors
    /// An unproven address was sent more bytes than came from it.
    pub fn check(&self) -> Result<(), InvariantFailure> {
        let rule = "an unproven address is sent no more bytes than came from it";
        let amplified = self.inner.lock().amplified.clone();
        amplified.map_or(Ok(()), |detail| Err(InvariantFailure::new(rule, detail)))
    }

    /// Injects the bug `DatagramsDoubled`.
    pub fn send_twice(&self) {
        self.inner.lock().sends_twice = true;
    }

    /// Moves the counts of this path to the counts of the simulation.
    pub fn take_counts(&self, counts: &mut SimulationCounts) {
        let taken = std::mem::take(&mut self.inner.lock().counts);
        taken.into_iter().for_each(|(name, count)| counts.add_many(name, count));
    }
}

impl Inner {
    fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// The times at which a datagram arrives: none if it is lost, two if it is repeated.
    fn arrivals(&mut self, now: Duration) -> Vec<Duration> {
        self.count("lane: datagrams");
        if now < self.outage_until || self.rng.below(1_000_000) < self.loss_ppm {
            self.count("lane: datagrams lost");
            return Vec::new();
        }
        let is_repeated = self.rng.below(REPEATED_ONE_IN) == 0;
        if is_repeated {
            self.count("lane: datagrams repeated");
        }
        let (delay, jitter) = (self.delay, self.jitter);
        (0..=u8::from(is_repeated)).map(|_| now + delay + self.rng.between(Duration::ZERO, jitter)).collect()
    }

    /// Returns whether a datagram to this address reaches the client, whose address may have
    /// changed.
    fn arrive(&mut self, address: SocketAddr) -> bool {
        let is_own = address == self.address;
        self.addresses.entry(address).or_default().is_reached |= is_own;
        is_own
    }
}

/// Takes the datagram that arrived first.
fn take_arrived(in_flight: &mut Vec<InFlight>, now: Duration) -> Option<InFlight> {
    let times = in_flight.iter().enumerate().map(|(at, one)| (one.arrives, at));
    let (_, at) = times.min().filter(|(arrives, _)| *arrives <= now)?;
    Some(in_flight.remove(at))
}

fn random_address(rng: &mut BotRng) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from_bits(0x0b00_0000 + rng.below(1 << 16)), 1 + rng.below(60_000) as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_lost_repeated_and_reordered() {
        let clock = VirtualClock::default();
        let net = "loss=20%,jitter=50ms,delay=50ms".parse().expect("conditions");
        let udp = VirtualUdp::new(&clock, 3, Some(&net));
        let mut arrived = Vec::new();
        for sent in 0..200u8 {
            udp.send(vec![sent]);
            clock.set(clock.now() + Duration::from_millis(10));
            arrived.extend(std::iter::from_fn(|| udp.server_receive()).map(|(_, bytes)| bytes[0]));
        }
        let all: std::collections::BTreeSet<u8> = arrived.iter().copied().collect();
        assert!((80..190).contains(&all.len()) && all.len() < arrived.len() && !arrived.is_sorted());
    }

    #[test]
    fn more_bytes_to_an_unproven_address_than_came_from_it_are_detected() {
        let udp = VirtualUdp::new(&VirtualClock::default(), 1, None);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        udp.inner.lock().addresses.entry(address).or_default().received = 40;
        udp.server_send(address, &[0; 40]);
        assert_eq!(udp.check(), Ok(()));
        udp.server_send(address, &[0]);
        assert!(udp.check().is_err());
    }
}
