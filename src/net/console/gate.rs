//! The gate of the operator's token, at `/admin`, `/wire` and `/metrics`: limits wrong tokens per
//! address.
//!
//! An attempt is counted and checked under one lock, so that many simultaneous connections get no
//! more attempts than one. An address with too many wrong tokens is refused whatever it sends, even
//! the right token, until its wrong attempts are forgotten: otherwise the response would confirm a
//! guess. A request without a token is not counted, because any page in the operator's browser can
//! send such requests and would lock the operator out. The gate remembers at most
//! [`limits::ADMIN_FAILURE_ADDRESSES`] addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::household::Household;
use crate::limits;
use crate::sync::Mutex;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Gate {
    failures: Mutex<BTreeMap<Household, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    since: Duration,
    count: u32,
}

/// Why a token does not open the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateRefusal {
    /// The token is wrong.
    Wrong,
    /// The address sent too many wrong tokens, so this one was not checked. The address may retry
    /// after this time.
    TooOften(Duration),
}

impl Gate {
    /// Lets an address try a token.
    ///
    /// # Errors
    /// The token is wrong, or was not checked.
    pub fn attempt(
        &self,
        address: IpAddr,
        now: Duration,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), GateRefusal> {
        let household = Household::of(address);
        let mut failures = self.failures.lock();
        failures.retain(|_, failures| !failures.is_over(now));
        if let Some(of_address) = failures.get(&household).filter(|seen| seen.count >= limits::ADMIN_FAILURES)
        {
            let over = of_address.since + limits::ADMIN_FAILURE_TIME;
            return Err(GateRefusal::TooOften(over.saturating_sub(now)));
        }
        if is_right() {
            return Ok(());
        }
        if failures.len() >= limits::ADMIN_FAILURE_ADDRESSES && !failures.contains_key(&household) {
            let oldest = failures.iter().min_by_key(|(_, failures)| failures.since);
            if let Some(oldest) = oldest.map(|(household, _)| *household) {
                failures.remove(&oldest);
            }
        }
        failures.entry(household).or_insert(Failures { since: now, count: 0 }).count += 1;
        Err(GateRefusal::Wrong)
    }
}

impl Failures {
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= limits::ADMIN_FAILURE_TIME
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn is_shut(gate: &Gate, address: IpAddr, now: Duration) -> bool {
        matches!(gate.attempt(address, now, || true), Err(GateRefusal::TooOften(_)))
    }

    #[test]
    fn an_address_that_is_wrong_too_often_is_refused_with_the_right_token_until_it_is_forgotten() {
        let (gate, start) = (Gate::default(), Duration::from_secs(5));
        let (far, other) = (ip("203.0.113.9"), ip("203.0.113.10"));
        for _ in 0..limits::ADMIN_FAILURES {
            assert_eq!(gate.attempt(far, start, || true), Ok(()));
            assert_eq!(gate.attempt(far, start, || false), Err(GateRefusal::Wrong));
        }
        let over = start + limits::ADMIN_FAILURE_TIME;
        let looked_at = || panic!("a throttled token is not looked at");
        let later = limits::ADMIN_FAILURE_TIME - Duration::from_secs(2);
        assert_eq!(
            gate.attempt(far, start + Duration::from_secs(2), looked_at),
            Err(GateRefusal::TooOften(later))
        );
        assert!(is_shut(&gate, far, over - Duration::from_millis(1)) && !is_shut(&gate, other, start));
        assert!(!is_shut(&gate, far, over));
    }

    #[test]
    fn many_at_once_have_as_many_attempts_as_one() {
        let (gate, looked_at) = (Gate::default(), AtomicU32::new(0));
        let guess = || {
            for _ in 0..limits::ADMIN_FAILURES {
                let _ = gate.attempt(ip("203.0.113.9"), Duration::ZERO, || {
                    looked_at.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                    false
                });
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(guess))));
        assert_eq!(looked_at.into_inner(), limits::ADMIN_FAILURES);
    }

    #[test]
    fn a_network_of_ipv6_is_one_household() {
        let gate = Gate::default();
        for number in 0..limits::ADMIN_FAILURES {
            let _ = gate.attempt(ip(&format!("2001:db8::{number:x}")), Duration::ZERO, || false);
        }
        assert!(is_shut(&gate, ip("2001:db8::ffff"), Duration::ZERO));
        assert!(!is_shut(&gate, ip("2001:db8:0:1::1"), Duration::ZERO));
    }

    #[test]
    fn the_number_of_remembered_addresses_is_bounded() {
        let gate = Gate::default();
        for number in 0..=limits::ADMIN_FAILURE_ADDRESSES {
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(number as u32));
            for _ in 0..limits::ADMIN_FAILURES {
                let _ = gate.attempt(address, Duration::from_millis(number as u64), || false);
            }
        }
        let now = Duration::from_millis(limits::ADMIN_FAILURE_ADDRESSES as u64);
        assert_eq!(gate.failures.lock().len(), limits::ADMIN_FAILURE_ADDRESSES);
        assert!(!is_shut(&gate, ip("0.0.0.0"), now), "the first was forgotten");
        assert!(is_shut(&gate, ip("0.0.0.1"), now));
    }
}
