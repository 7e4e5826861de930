//! The gate of `/admin`: how often an address may be wrong.
//!
//! Comes in: addresses, whether their token was right, the time. Goes out: whether a token of theirs is looked at at once. Never: more
//! addresses than [`limits::ADMIN_FAILURE_ADDRESSES`]; a request without a token counted, since any page in the operator's browser can
//! send those, and would lock the operator out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use crate::limits;
use crate::net::sync::Mutex;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Gate {
    failures: Mutex<BTreeMap<IpAddr, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    since: Duration,
    count: u32,
}

impl Gate {
    /// Whether an address may try a token without a pause.
    pub fn is_open(&self, address: IpAddr, now: Duration) -> bool {
        let mut failures = self.failures.lock();
        failures.retain(|_, failures| !failures.is_over(now));
        failures.get(&household(address)).is_none_or(|failures| failures.count < limits::ADMIN_FAILURES)
    }

    /// An address was wrong.
    pub fn failed(&self, address: IpAddr, now: Duration) {
        let mut failures = self.failures.lock();
        let address = household(address);
        if failures.len() >= limits::ADMIN_FAILURE_ADDRESSES && !failures.contains_key(&address) {
            let oldest = failures.iter().min_by_key(|(_, failures)| failures.since);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                failures.remove(&oldest);
            }
        }
        failures.entry(address).or_insert(Failures { since: now, count: 0 }).count += 1;
    }
}

impl Failures {
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= limits::ADMIN_FAILURE_TIME
    }
}

/// Whoever has one IPv6 address has the whole /64.
pub fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn who_is_wrong_too_often_waits_until_it_is_forgotten() {
        let (gate, start) = (Gate::default(), Duration::from_secs(5));
        let (far, other) = (ip("203.0.113.9"), ip("203.0.113.10"));
        for _ in 0..limits::ADMIN_FAILURES {
            assert!(gate.is_open(far, start));
            gate.failed(far, start);
        }
        let over = start + limits::ADMIN_FAILURE_TIME;
        assert!(!gate.is_open(far, over - Duration::from_millis(1)) && gate.is_open(other, start));
        assert!(gate.is_open(far, over));
    }

    #[test]
    fn a_network_of_ipv6_is_one_household() {
        let gate = Gate::default();
        for number in 0..limits::ADMIN_FAILURES {
            gate.failed(ip(&format!("2001:db8::{number:x}")), Duration::ZERO);
        }
        assert!(!gate.is_open(ip("2001:db8::ffff"), Duration::ZERO));
        assert!(gate.is_open(ip("2001:db8:0:1::1"), Duration::ZERO));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let gate = Gate::default();
        for number in 0..=limits::ADMIN_FAILURE_ADDRESSES {
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(number as u32));
            for _ in 0..limits::ADMIN_FAILURES {
                gate.failed(address, Duration::from_millis(number as u64));
            }
        }
        let now = Duration::from_millis(limits::ADMIN_FAILURE_ADDRESSES as u64);
        assert_eq!(gate.failures.lock().len(), limits::ADMIN_FAILURE_ADDRESSES);
        assert!(gate.is_open(ip("0.0.0.0"), now), "the first was forgotten");
        assert!(!gate.is_open(ip("0.0.0.1"), now));
    }
}
