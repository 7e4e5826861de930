//! Limits wrong tokens per address prefix. The operator's token has one limiter, for `/admin`,
//! `/wire` and `/metrics`; the players' [`tokens`](super::tokens) have another.
//!
//! An attempt is counted and checked under one lock, so simultaneous connections get no more
//! attempts than one connection.
//!
//! After [`limits::MAX_WRONG_TOKENS`] wrong tokens in [`limits::WRONG_TOKEN_WINDOW`], each further
//! wrong token is refused as [`AuthError::TooManyAttempts`]. A correct token is still accepted,
//! because many users may share an address. A token bucket of [`limits::TOKENS_TRIED_PER_SECOND`],
//! independent of the other rate limits, bounds the guesses. Once the bucket is empty, an attempt
//! is refused without a comparison.
//!
//! A request without a token is not counted. Any page in the operator's browser can send such
//! requests, and could otherwise lock the operator out. The limiter tracks at most
//! [`limits::MAX_WRONG_TOKEN_ADDRESSES`] address prefixes.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::time::Duration;

use super::address_rate_limits::RateLimit;
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// Counts wrong tokens per address prefix.
#[derive(Debug, Default)]
pub struct AuthLimiter {
    failures: Mutex<BTreeMap<AddressPrefix, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    since: Duration,
    count: u32,
    /// Time at which the bucket of the attempts beyond [`limits::MAX_WRONG_TOKENS`] is full again.
    full_at: Duration,
}

/// Returns the rate limit of the attempts beyond [`limits::MAX_WRONG_TOKENS`].
fn tried() -> RateLimit {
    RateLimit {
        every: Duration::from_secs(1) / limits::TOKENS_TRIED_PER_SECOND,
        burst: limits::TOKENS_TRIED_BURST,
    }
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// The token is wrong.
    WrongToken,
    /// The address has sent too many wrong tokens, and this token is wrong or was not compared. The
    /// address may retry after this time.
    TooManyAttempts(Duration),
}

impl AuthLimiter {
    /// Checks a token of this address.
    ///
    /// # Errors
    /// The token is wrong or was not compared.
    pub fn attempt(
        &self,
        address: IpAddr,
        now: Duration,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), AuthError> {
        let prefix = AddressPrefix::from_ip(address);
        let mut failures = self.failures.lock();
        failures.retain(|_, failures| !failures.has_expired(now));
        let seen = failures.get_mut(&prefix).filter(|seen| seen.count >= limits::MAX_WRONG_TOKENS);
        if let Some(of_address) = seen {
            tried().take(&mut of_address.full_at, now).map_err(AuthError::TooManyAttempts)?;
            let over = of_address.since + limits::WRONG_TOKEN_WINDOW;
            return if is_right() {
                Ok(())
            } else {
                Err(AuthError::TooManyAttempts(over.saturating_sub(now)))
            };
        }
        if is_right() {
            return Ok(());
        }
        if failures.len() >= limits::MAX_WRONG_TOKEN_ADDRESSES && !failures.contains_key(&prefix) {
            let oldest = failures.iter().min_by_key(|(_, failures)| failures.since);
            if let Some(oldest) = oldest.map(|(prefix, _)| *prefix) {
                failures.remove(&oldest);
            }
        }
        failures.entry(prefix).or_insert(Failures { since: now, count: 0, full_at: Duration::ZERO }).count +=
            1;
        Err(AuthError::WrongToken)
    }
}

impl Failures {
    fn has_expired(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= limits::WRONG_TOKEN_WINDOW
    }
}
