//! The client's address behind a proxy: the address that a trusted proxy names.
//!
//! ```text
//!  X-Forwarded-For: 10.9.9.9, 203.0.113.7, 10.0.0.2        peer 10.0.0.1, --trusted-proxy 10.0.0.0/24
//!                   │         │            └ a trusted proxy: go on to its left
//!                   │         └ the client
//!                   └ client-supplied: ignored
//! ```
//!
//! From the peer's address, a request head and the networks of `--trusted-proxy`, this module
//! determines the client's address, or that the header is malformed. Each proxy appends the address
//! of its peer at the right end, so the list is read from the right, up to the first address that
//! is not a trusted proxy. Entries further left are client-supplied and ignored, and the whole
//! header is ignored if the peer is not trusted.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::ws::http::RequestHead;

/// The header in which proxies list the addresses.
const HEADER: &str = "X-Forwarded-For";

/// The rule that a trusted proxy breaks if an entry is not an address. The response is 400.
pub const MALFORMED: &str = "forwarded_for_malformed";

/// The addresses of a trusted proxy: a single address, or all addresses with the same prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_bits: u32,
}

impl Network {
    /// Whether the network contains this address. IPv4 and IPv6 never match each other.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing_bits = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()).leading_zeros(),
            _ => return false,
        };
        differing_bits >= self.prefix_bits
    }

    /// Whether no bit is set behind the prefix.
    fn is_whole(&self) -> bool {
        let set_bits = match self.address {
            IpAddr::V4(address) => 32 - address.to_bits().trailing_zeros(),
            IpAddr::V6(address) => 128 - address.to_bits().trailing_zeros(),
        };
        set_bits <= self.prefix_bits
    }
}

impl FromStr for Network {
    type Err = String;

    /// `ADDRESS` or `ADDRESS/PREFIX`.
    fn from_str(text: &str) -> Result<Network, String> {
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address
            .parse()
            .map_err(|_| "expected an IP address or a network such as 10.0.0.0/8".to_owned())?;
        if address != address.to_canonical() {
            return Err(format!("write it as IPv4: {}", address.to_canonical()));
        }
        let most_bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix.map(decimal) {
            None => most_bits,
            Some(Some(0)) => return Err("a prefix of 0 bits would trust every address".to_owned()),
            Some(Some(bits)) if bits <= most_bits => bits,
            Some(_) => return Err(format!("the prefix must be a number of bits, 1 to {most_bits}")),
        };
        let network = Network { address, prefix_bits };
        if network.is_whole() {
            Ok(network)
        } else {
            Err(format!("bits are set after the prefix of {prefix_bits} bits"))
        }
    }
}

/// Digits alone: `parse` would take a sign as well.
fn decimal(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix_bits)
    }
}

/// Whether a peer is a trusted proxy.
pub fn is_trusted(proxies: &[Network], peer: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(peer))
}

/// The client's address. A trusted peer without the header, such as a proxy's health check, is
/// itself the client. If the header names only trusted proxies, the first of them is the client.
///
/// # Errors
/// [`MALFORMED`]: a trusted peer sent an entry that is not an address.
pub fn client(proxies: &[Network], peer: IpAddr, head: &RequestHead) -> Result<IpAddr, &'static str> {
    let mut client = peer;
    if !is_trusted(proxies, peer) {
        return Ok(client);
    }
    let lines: Vec<&str> = head.headers.all(HEADER).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        client = address(entry.trim_matches([' ', '\t'])).ok_or(MALFORMED)?;
        if !is_trusted(proxies, client) {
            break;
        }
    }
    Ok(client)
}

/// An address and nothing else: no port, no name, no brackets.
fn address(entry: &str) -> Option<IpAddr> {
    entry.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::http::HeadReader;

    fn head(lines: &str) -> RequestHead {
        let bytes = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
        HeadReader::new().receive(bytes.as_bytes()).expect("well formed").expect("complete")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_is_an_address_or_its_first_bits() {
        for (text, inside, outside) in [
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
            ("192.168.4.0/22", "192.168.7.9", "192.168.8.0"),
            ("128.0.0.0/1", "203.0.113.9", "127.255.255.255"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "127.0.0.1"),
            ("127.0.0.1/32", "127.0.0.1", "::1"),
            ("0.0.0.1/32", "0.0.0.1", "::1"),
        ] {
            let network: Network = text.parse().expect(text);
            assert!(network.contains(ip(inside)) && !network.contains(ip(outside)), "{text}");
            assert_eq!(network.to_string().parse(), Ok(network), "{text}");
        }
    }

    #[test]
    fn an_invalid_network_is_refused_with_the_reason() {
        for (text, reason) in [
            ("", "an IP address"),
            ("proxy.example", "an IP address"),
            ("127.0.0.1:80", "an IP address"),
            ("10.0.0.0/", "a number of bits, 1 to 32"),
            ("10.0.0.0/33", "a number of bits, 1 to 32"),
            ("10.0.0.0/+8", "a number of bits"),
            ("10.0.0.0/8/8", "a number of bits"),
            ("2001:db8::/129", "1 to 128"),
            ("10.0.0.1/8", "after the prefix of 8"),
            ("2001:db8::1/64", "after the prefix of 64"),
            ("0.0.0.0/0", "trust every address"),
            ("::/00", "trust every address"),
            ("::ffff:10.0.0.1", "as IPv4: 10.0.0.1"),
        ] {
            let refused = text.parse::<Network>().expect_err(text);
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }

    /// Trusts 10.0.0.0/24 and one address of IPv6.
    fn from(peer: &str, lines: &str) -> Result<IpAddr, &'static str> {
        let proxies = ["10.0.0.0/24", "2001:db8::1"].map(|text| text.parse().expect("a network"));
        client(&proxies, ip(peer), &head(lines))
    }

    #[test]
    fn the_client_is_the_rightmost_address_that_is_no_proxy_of_ours() {
        for (lines, expected) in [
            ("X-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7"),
            ("x-forwarded-for:203.0.113.7\t\r\n", "203.0.113.7"),
            ("X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"),
            ("X-Forwarded-For: ::ffff:203.0.113.7\r\n", "203.0.113.7"),
            ("X-Forwarded-For: 203.0.113.7,10.0.0.2 , 2001:db8::1\r\n", "203.0.113.7"),
            // What the client itself said stands to the left, whatever it is.
            ("X-Forwarded-For: 127.0.0.1, 203.0.113.7\r\n", "203.0.113.7"),
            ("X-Forwarded-For: ,\"a;b\" unknown, 203.0.113.7\r\n", "203.0.113.7"),
            // A proxy may add a line of its own instead of an element.
            ("X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.7\r\n", "203.0.113.7"),
            ("X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For: 10.0.0.3\r\n", "203.0.113.7"),
            ("X-Forwarded-For: 10.0.0.9, 10.0.0.3\r\n", "10.0.0.9"),
            ("", "10.0.0.1"),
            ("X-Real-IP: 203.0.113.7\r\nForwarded: for=203.0.113.7\r\n", "10.0.0.1"),
        ] {
            assert_eq!(from("10.0.0.1", lines), Ok(ip(expected)), "{lines}");
        }
    }

    #[test]
    fn from_anyone_else_the_header_says_nothing() {
        for lines in ["X-Forwarded-For: 203.0.113.7\r\n", "X-Forwarded-For: nonsense\r\n"] {
            assert_eq!(from("10.0.1.1", lines), Ok(ip("10.0.1.1")));
            assert_eq!(client(&[], ip("127.0.0.1"), &head(lines)), Ok(ip("127.0.0.1")));
        }
    }

    #[test]
    fn a_trusted_proxy_that_writes_no_address_is_refused() {
        for said in [
            "",
            ",",
            "203.0.113.7,",
            "203.0.113.7 10.0.0.2",
            "unknown",
            "203.0.113.7:5000",
            "[2001:db8::7]",
            "203.0.113.07",
            "\"203.0.113.7\"",
            "203.0.113.7, x, 10.0.0.2",
        ] {
            assert_eq!(from("10.0.0.1", &format!("X-Forwarded-For: {said}\r\n")), Err(MALFORMED), "{said:?}");
        }
        let second_empty = "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-For:\r\n";
        assert_eq!(from("10.0.0.1", second_empty), Err(MALFORMED));
    }
}
