//! The accept loop that all listeners of this crate share.
//!
//! Errors of `accept` never end a listener; only a shutdown does. After [`limits::ACCEPT_ERRORS`]
//! consecutive errors the loop pauses before each retry, so that a lasting error cannot keep a
//! processor busy. Examples are missing descriptors (EMFILE), a firewall (EPERM), and a network
//! that is down (ENETDOWN).

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use tracing::{debug, info, warn};

use crate::limits;

/// Counts consecutive errors of one listener since the last accepted connection.
#[derive(Debug, Default)]
pub struct AcceptErrors {
    in_a_row: u32,
}

impl AcceptErrors {
    /// Counts an error. Returns the delay before the next attempt.
    fn add(&mut self, error: &io::Error) -> Duration {
        if error.kind() == ErrorKind::Interrupted {
            return Duration::ZERO;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row == limits::ACCEPT_ERRORS {
            warn!("cannot accept connections: {error}; retrying every {:?}", limits::ACCEPT_RETRY_DELAY);
        } else {
            debug!("accept: {error}");
        }
        if self.in_a_row < limits::ACCEPT_ERRORS { Duration::ZERO } else { limits::ACCEPT_RETRY_DELAY }
    }

    /// Resets the count after an accepted connection.
    fn clear(&mut self) {
        if self.in_a_row >= limits::ACCEPT_ERRORS {
            info!("connections can be accepted again");
        }
        self.in_a_row = 0;
    }
}

/// Waits for the next connection. Returns `None` once the listener is stopping.
pub fn next<C>(
    mut accept: impl FnMut() -> io::Result<C>,
    is_stopping: impl Fn() -> bool,
    errors: &mut AcceptErrors,
    pause: impl Fn(Duration),
) -> Option<C> {
    loop {
        let accepted = accept();
        // Checked first, because a listener that was shut down fails with an arbitrary error.
        if is_stopping() {
            return None;
        }
        match accepted {
            Ok(connection) => {
                errors.clear();
                return Some(connection);
            }
            Err(error) => pause(errors.add(&error)),
        }
    }
}

/// Returns the loopback address of the other IP version if another program listens there on the
/// same port. A browser may then connect to that program for `http://localhost:PORT`. Returns
/// `None` if `address` is not reachable as localhost or if the machine lacks the other IP version.
pub fn other_localhost(address: SocketAddr) -> Option<SocketAddr> {
    let other = match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() || ip.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
        // A socket bound to [::] also accepts IPv4. If another program used the port there, this
        // server's own bind would have failed.
        IpAddr::V6(ip) if ip.is_loopback() => IpAddr::from(Ipv4Addr::LOCALHOST),
        _ => return None,
    };
    let other = SocketAddr::new(other, address.port());
    match TcpListener::bind(other) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => Some(other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn an_error_that_lasts_is_retried_with_pauses_whatever_its_kind() {
        // EPERM, EINVAL, EMFILE, ENETDOWN, ECONNABORTED, and a code that no system uses.
        for code in [1, 22, 24, 100, 103, 9_999] {
            let (calls, pauses) = (Cell::new(0), Cell::new(0));
            let accept = || -> io::Result<()> {
                calls.set(calls.get() + 1);
                Err(io::Error::from_raw_os_error(code))
            };
            let pause = |time: Duration| pauses.set(pauses.get() + i32::from(!time.is_zero()));
            assert_eq!(next(accept, || calls.get() == 1_000, &mut AcceptErrors::default(), pause), None);
            assert!(pauses.get() > 980, "error {code}: {} pauses in 1,000 calls", pauses.get());
        }
    }

    #[test]
    fn a_single_error_delays_no_connection() {
        let mut outcomes = vec![Ok(7), Err(io::Error::from(ErrorKind::ConnectionAborted))];
        let pause = |time: Duration| assert!(time.is_zero());
        let accepted = next(|| outcomes.pop().expect("two"), || false, &mut AcceptErrors::default(), pause);
        assert_eq!(accepted, Some(7));
    }

    #[test]
    fn a_server_on_the_other_localhost_is_noticed() {
        let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
        let taken = other.local_addr().expect("bound");
        for ip in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
            assert_eq!(other_localhost((ip, taken.port()).into()), Some(taken));
        }
        for address in ["203.0.113.7:1", "[2001:db8::1]:1", "[::]:1"] {
            assert_eq!(other_localhost(address.parse().expect("an address")), None);
        }
    }
}
