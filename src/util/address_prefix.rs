//! Address prefixes: an IPv4 address or an IPv6 /64, the unit in which all limits count addresses.
//! A ban also applies to a whole prefix.

// From `core`, because an address is only a value. `std::net` has the sockets.
use core::net::{IpAddr, Ipv6Addr};
use std::fmt;

/// An IPv4 address, or an IPv6 /64, because one subscriber typically has a whole /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressPrefix(IpAddr);

impl AddressPrefix {
    /// Returns the prefix of this address. An IPv4-mapped IPv6 address counts as its IPv4 address.
    pub fn from_ip(address: IpAddr) -> AddressPrefix {
        AddressPrefix(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            v4 => v4,
        })
    }

    /// Parses an IP address without a port, or an IPv6 prefix with `/64`, with or without brackets.
    pub fn parse(text: &str) -> Option<AddressPrefix> {
        let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let (text, is_prefix) = text.strip_suffix("/64").map_or((text, false), |prefix| (prefix, true));
        let address: IpAddr = text.parse().ok()?;
        let prefix = AddressPrefix::from_ip(address);
        (!is_prefix || prefix.0.is_ipv6()).then_some(prefix)
    }

    /// The first address of the prefix.
    pub fn first_address(self) -> IpAddr {
        self.0
    }
}

impl fmt::Display for AddressPrefix {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(out, "{address}"),
            IpAddr::V6(prefix) => write!(out, "{prefix}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_prefix_is_an_ipv4_address_or_a_64_of_ipv6() {
        for (address, expected) in [
            ("203.0.113.9", "203.0.113.9"),
            ("::ffff:203.0.113.9", "203.0.113.9"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("::1", "::/64"),
        ] {
            let prefix = AddressPrefix::from_ip(address.parse().expect("an address"));
            assert_eq!(prefix.to_string(), expected);
            assert_eq!([AddressPrefix::parse(address), AddressPrefix::parse(expected)], [Some(prefix); 2]);
        }
        for text in ["", "203.0.113.9/64", "203.0.113.9:80", "2001:db8::/48", "[::1", "name"] {
            assert_eq!(AddressPrefix::parse(text), None, "{text}");
        }
    }
}
