//! A gate limits wrong tokens per address. The operator's token has one, for `/admin`, `/wire` and
//! `/metrics`, and the [`tokens`](super::tokens) of the players have another.
//!
//! An attempt is counted and checked under one lock, so that many simultaneous connections get no
//! more attempts than one. Many people may share an address: one of them with too many wrong tokens
//! does not lock out the others. A right token of such an address is let in, and each wrong one is refused as
//! [`AuthError::TooOften`], until the address's wrong attempts are forgotten. What keeps a guesser from
//! unlimited attempts is a token bucket per address, [`limits::TOKENS_TRIED_PER_SECOND`], independent of the
//! other budgets: an attempt beyond it is refused without a comparison. A request without a token is not counted, because any page in the operator's browser can
//! send such requests and would lock the operator out. The gate remembers at most
//! [`limits::MAX_WRONG_TOKEN_ADDRESSES`] addresses.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::time::Duration;

use super::address_rate_limits::RateLimit;
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct AuthLimiter {
    failures: Mutex<BTreeMap<AddressPrefix, Failures>>,
}

#[derive(Debug, Clone, Copy)]
struct Failures {
    since: Duration,
    count: u32,
    /// When the bucket of the attempts beyond [`limits::MAX_WRONG_TOKENS`] is full again.
    full_at: Duration,
}

/// The bucket of the attempts beyond [`limits::MAX_WRONG_TOKENS`].
fn tried() -> RateLimit {
    RateLimit {
        every: Duration::from_secs(1) / limits::TOKENS_TRIED_PER_SECOND,
        burst: limits::TOKENS_TRIED_BURST,
    }
}

/// Why a token does not open the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// The token is wrong.
    WrongToken,
    /// The address sent too many wrong tokens, and this one is wrong or was not compared. The address may
    /// retry after this time.
    TooManyAttempts(Duration),
}

impl AuthLimiter {
    /// Lets an address try a token.
    ///
    /// # Errors
    /// The token is wrong, or was not compared.
    pub fn attempt(
        &self,
        address: IpAddr,
        now: Duration,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), AuthError> {
        let household = AddressPrefix::from_ip(address);
        let mut failures = self.failures.lock();
        failures.retain(|_, failures| !failures.is_over(now));
        let seen = failures.get_mut(&household).filter(|seen| seen.count >= limits::MAX_WRONG_TOKENS);
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
        if failures.len() >= limits::MAX_WRONG_TOKEN_ADDRESSES && !failures.contains_key(&household) {
            let oldest = failures.iter().min_by_key(|(_, failures)| failures.since);
            if let Some(oldest) = oldest.map(|(household, _)| *household) {
                failures.remove(&oldest);
            }
        }
        failures
            .entry(household)
            .or_insert(Failures { since: now, count: 0, full_at: Duration::ZERO })
            .count += 1;
        Err(AuthError::WrongToken)
    }
}

impl Failures {
    fn is_over(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= limits::WRONG_TOKEN_WINDOW
    }
}
