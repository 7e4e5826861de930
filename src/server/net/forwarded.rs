//! Determines the client's address from the `X-Forwarded-For` header of trusted proxies.
//!
//! ```text
//!  X-Forwarded-For: 10.9.9.9, 203.0.113.7, 10.0.0.2   peer 10.0.0.1, --trusted-proxy 10.0.0.0/24
//!                   │         │            └ a trusted proxy: continue to its left
//!                   │         └ the client
//!                   └ client-supplied: ignored
//! ```
//!
//! Each proxy appends the address of its peer at the right end. The list is therefore read from the
//! right, up to the first address that is not a trusted proxy. Entries further left are
//! client-supplied and ignored. If the peer is not trusted, the whole header is ignored. A port
//! after an address is also ignored.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::ws::http::RequestHead;

/// The header in which proxies list addresses.
const HEADER: &str = "X-Forwarded-For";

/// Rule that a trusted proxy breaks with an entry that is not an address. The status is 400.
pub const MALFORMED_RULE: &str = "forwarded_for_malformed";
/// Description of the rule. The malformed entry is appended.
pub const SENTENCE: &str = "an entry of X-Forwarded-For is not an IP address with or without a port";

/// The address range of a trusted proxy: one address, or all addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CidrRange {
    address: IpAddr,
    prefix_bits: u32,
}

impl CidrRange {
    /// Whether the range contains this address. IPv4 and IPv6 never match each other.
    pub fn contains(&self, address: IpAddr) -> bool {
        let differing = bits(self.address) ^ bits(address);
        self.address.is_ipv4() == address.is_ipv4() && differing.leading_zeros() >= self.prefix_bits
    }
}

/// The address as left-aligned bits.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for CidrRange {
    type Err = String;

    /// Parses `ADDRESS` or `ADDRESS/PREFIX`.
    fn from_str(text: &str) -> Result<CidrRange, String> {
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr =
            address.parse().map_err(|_| "expected an IP address or a network such as 10.0.0.0/8")?;
        if address != address.to_canonical() {
            return Err(format!("write it as IPv4: {}", address.to_canonical()));
        }
        let max_bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix.map(parse_decimal) {
            None => max_bits,
            Some(Some(0)) => return Err("a prefix of 0 bits would trust every address".to_owned()),
            Some(Some(bits)) if bits <= max_bits => bits,
            Some(_) => return Err(format!("the prefix must be a number of bits, 1 to {max_bits}")),
        };
        if 128 - bits(address).trailing_zeros() > prefix_bits {
            return Err(format!("all bits after the first {prefix_bits} must be 0"));
        }
        Ok(CidrRange { address, prefix_bits })
    }
}

/// Parses digits only, because `parse` would also accept a sign.
fn parse_decimal(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

impl fmt::Display for CidrRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix_bits)
    }
}

/// Whether the peer is a trusted proxy.
pub fn is_trusted(proxies: &[CidrRange], peer: IpAddr) -> bool {
    proxies.iter().any(|network| network.contains(peer))
}

/// Returns the client's address. If a trusted peer sends no header, as in a health check, the peer
/// is the client. If the header lists only trusted proxies, the leftmost is the client.
///
/// # Errors
/// The entry that is not an address: see [`MALFORMED_RULE`].
pub fn client_address<'h>(
    proxies: &[CidrRange],
    peer: IpAddr,
    head: &'h RequestHead,
) -> Result<IpAddr, &'h str> {
    let mut client = peer;
    if !is_trusted(proxies, peer) {
        return Ok(client);
    }
    let lines: Vec<&str> = head.headers.get_all(HEADER).collect();
    for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        let entry = entry.trim_matches([' ', '\t']);
        client = address(entry).ok_or(entry)?;
        if !is_trusted(proxies, client) {
            break;
        }
    }
    Ok(client)
}

/// Parses an entry: `192.0.2.1`, `192.0.2.1:41234`, `2001:db8::1`, `[2001:db8::1]` or
/// `[2001:db8::1]:41234`. Some gateways, such as Azure's, append ports. Names are not accepted.
fn address(entry: &str) -> Option<IpAddr> {
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().map(IpAddr::V6).ok();
    let with_port = || entry.parse().ok().map(|address: SocketAddr| address.ip());
    entry.parse().ok().or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}
