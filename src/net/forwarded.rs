//! The client's address behind a proxy: the address that a trusted proxy names.
//!
//! ```text
//!  X-Forwarded-For: 10.9.9.9, 203.0.113.7, 10.0.0.2        peer 10.0.0.1, --trusted-proxy 10.0.0.0/24
//!                   │         │            └ a trusted proxy: go on to its left
//!                   │         └ the client
//!                   └ client-supplied: ignored
//! ```
//!
//! Each proxy appends the address of its peer at the right end, so the list is read from the right,
//! up to the first address that is not a trusted proxy. Entries further left are client-supplied and
//! ignored, and the whole header is ignored if the peer is not trusted.

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
        let differing = bits(self.address) ^ bits(address);
        self.address.is_ipv4() == address.is_ipv4() && differing.leading_zeros() >= self.prefix_bits
    }
}

/// The bits of an address, from the highest bit on.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for Network {
    type Err = String;

    /// `ADDRESS` or `ADDRESS/PREFIX`.
    fn from_str(text: &str) -> Result<Network, String> {
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr =
            address.parse().map_err(|_| "expected an IP address or a network such as 10.0.0.0/8")?;
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
        if 128 - bits(address).trailing_zeros() > prefix_bits {
            return Err(format!("all bits after the first {prefix_bits} must be 0"));
        }
        Ok(Network { address, prefix_bits })
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
