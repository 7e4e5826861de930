//! Source addresses of clients: a pattern that distributes many clients over many addresses of this
//! machine.
//!
//! A server limits the clients per address. All of `127.0.0.0/8` is this machine, so a crowd of
//! bots can use many addresses. In a pattern such as `127.0.x.y`, `x` and `y` are replaced by
//! numbers.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Clients per address: a quarter of a server's limit, so that several crowds can run at the same
/// time.
const CLIENTS_PER_ADDRESS: usize = 16;
/// The first value of `y`. 1 is reserved for human players, at `127.0.0.1`.
const FIRST: usize = 2;
/// Number of values of `y`, up to 254.
const NUMBERS: usize = 253;

/// A pattern for source addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAddresses(String);

impl SourceAddresses {
    /// The address of the client with this index, starting at 0.
    pub fn address(&self, index: usize) -> IpAddr {
        self.group_address(index / CLIENTS_PER_ADDRESS)
    }

    /// The address with this index, starting at 0. After 64,768 the addresses repeat.
    pub fn group_address(&self, group: usize) -> IpAddr {
        let y = FIRST + group % NUMBERS;
        let x = group / NUMBERS % 256;
        let address = self.0.replace('x', &x.to_string()).replace('y', &y.to_string());
        address.parse().expect("a pattern was tried with the largest numbers when it was read")
    }
}

impl FromStr for SourceAddresses {
    type Err = String;

    fn from_str(text: &str) -> Result<SourceAddresses, String> {
        let largest = text.replace(['x', 'y'], "255");
        match largest.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => Ok(SourceAddresses(text.to_owned())),
            _ => Err(format!(
                "{text:?} is neither an address such as 127.0.0.1 nor a pattern such as 127.0.x.y"
            )),
        }
    }
}

impl fmt::Display for SourceAddresses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_crowd_spreads_over_addresses() {
        let source: SourceAddresses = "127.0.x.y".parse().unwrap();
        let mut clients = BTreeMap::<IpAddr, usize>::new();
        (0..10_000).for_each(|index| *clients.entry(source.address(index)).or_default() += 1);
        assert_eq!(clients.len(), 625);
        assert!(clients.values().all(|count| *count == CLIENTS_PER_ADDRESS));
        assert_eq!(source.address(0).to_string(), "127.0.0.2");
        assert_eq!(source.address(253 * 16).to_string(), "127.0.1.2");
    }

    #[test]
    fn a_plain_address_is_kept_and_invalid_patterns_are_refused() {
        let one: SourceAddresses = "127.0.0.1".parse().unwrap();
        assert_eq!(one.address(5_000).to_string(), "127.0.0.1");
        for text in ["", "127.0.x", "localhost", "::1", "127.0.0.1x"] {
            assert!(text.parse::<SourceAddresses>().is_err(), "{text}");
        }
    }
}
