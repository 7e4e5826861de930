//! STUN binding requests and responses of ICE (RFC 8489, RFC 8445).
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  ┌───────────────────────────────┬───────────────────────────────┐
//!  │   type: 0x0001 or 0x0101      │  bytes after these 20         │
//!  ├───────────────────────────────┴───────────────────────────────┤
//!  │                    magic cookie 0x2112a442                    │
//!  ├───────────────────────────────────────────────────────────────┤
//!  │                transaction id, 12 bytes                       │
//!  ├───────────────────────────────┬───────────────────────────────┤
//!  │   type of an attribute        │  length of its value          │
//!  ├───────────────────────────────┴───────────────────────────────┤
//!  │   value, padded to a multiple of 4 bytes                      │
//!  └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! The last two attributes are MESSAGE-INTEGRITY, an HMAC of all earlier bytes with the password of
//! the session description, and FINGERPRINT, a CRC of all earlier bytes.

use core::net::{IpAddr, SocketAddr};

use sha1_smol::Sha1;
use subtle::ConstantTimeEq;

use super::error::WebRtcError;

const HEADER_BYTES: usize = 20;
const COOKIE: u32 = 0x2112_a442;
const BINDING_REQUEST: u16 = 0x0001;
const BINDING_SUCCESS: u16 = 0x0101;

const USERNAME: u16 = 0x0006;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const PRIORITY: u16 = 0x0024;
const USE_CANDIDATE: u16 = 0x0025;
const FINGERPRINT: u16 = 0x8028;

/// Length of an HMAC-SHA1 in bytes.
const INTEGRITY_BYTES: usize = 20;
/// Value that is XORed with the CRC (RFC 8489, section 14.7).
const FINGERPRINT_XOR: u32 = 0x5354_554e;

/// A binding request of ICE with a valid CRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindingRequest<'a> {
    message: &'a [u8],
    /// The fragments of both ends' user names: `server:client`.
    pub username: &'a str,
    /// Whether the request nominates its source address (USE-CANDIDATE).
    pub is_nominated: bool,
    /// Offset of the attribute MESSAGE-INTEGRITY.
    integrity: usize,
}

impl<'a> BindingRequest<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// The broken rule.
    pub fn read(message: &'a [u8]) -> Result<BindingRequest<'a>, WebRtcError> {
        let (kind, length, cookie) = (u16_at(message, 0), u16_at(message, 2), u32_at(message, 4));
        let is_whole = length.is_some_and(|length| HEADER_BYTES + usize::from(length) == message.len());
        if !is_whole || cookie != Some(COOKIE) {
            return Err(WebRtcError::StunMalformed);
        }
        if kind != Some(BINDING_REQUEST) {
            return Err(WebRtcError::StunNotARequest);
        }
        let (mut username, mut has_priority, mut is_nominated) = (None, false, false);
        let (mut integrity, mut fingerprint) = (None, None);
        let mut at = HEADER_BYTES;
        while at < message.len() {
            let (kind, length) = (u16_at(message, at), u16_at(message, at + 2));
            let (kind, length) = kind.zip(length).ok_or(WebRtcError::StunMalformed)?;
            let end = at + 4 + usize::from(length);
            let value = message.get(at + 4..end).ok_or(WebRtcError::StunMalformed)?;
            // Attributes between HMAC and CRC are ignored, because the HMAC does not cover them.
            // The CRC must be the last attribute (RFC 8489, sections 14.5 and 14.7).
            match kind {
                _ if fingerprint.is_some() => return Err(WebRtcError::StunMalformed),
                FINGERPRINT if length == 4 => fingerprint = Some(at),
                _ if integrity.is_some() => {}
                USERNAME => username = core::str::from_utf8(value).ok(),
                PRIORITY => has_priority = true,
                USE_CANDIDATE => is_nominated = true,
                MESSAGE_INTEGRITY if value.len() == INTEGRITY_BYTES => integrity = Some(at),
                _ => {}
            }
            at = end.next_multiple_of(4);
        }
        let fingerprint = fingerprint.ok_or(WebRtcError::StunNotARequest)?;
        if u32_at(message, fingerprint + 4) != Some(fingerprint_of(&message[..fingerprint])) {
            return Err(WebRtcError::StunWrongFingerprint);
        }
        match (username, integrity) {
            (Some(username), Some(integrity)) if has_priority => {
                Ok(BindingRequest { message, username, is_nominated, integrity })
            }
            _ => Err(WebRtcError::StunNotARequest),
        }
    }

    /// Whether the HMAC of the request has this password.
    pub fn is_authentic(&self, password: &str) -> bool {
        let expected = integrity_of(&self.message[..self.integrity], password);
        let start = self.integrity + 4;
        self.message.get(start..start + INTEGRITY_BYTES).is_some_and(|hmac| hmac.ct_eq(&expected).into())
    }

    /// Writes the response to a request from this address. It is never longer than the request.
    pub fn response(&self, from: SocketAddr, password: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(80);
        out.extend(BINDING_SUCCESS.to_be_bytes());
        out.extend([0, 0]);
        out.extend_from_slice(&self.message[4..HEADER_BYTES]);
        let mask = &self.message[4..HEADER_BYTES];
        let port = from.port() ^ (COOKIE >> 16) as u16;
        let (family, address) = match from.ip() {
            IpAddr::V4(ip) => (1, ip.octets().to_vec()),
            IpAddr::V6(ip) => (2, ip.octets().to_vec()),
        };
        let mut value = vec![0, family];
        value.extend(port.to_be_bytes());
        value.extend(address.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        write_attribute(&mut out, XOR_MAPPED_ADDRESS, &value);
        seal(&mut out, password);
        out
    }
}

/// Appends MESSAGE-INTEGRITY and FINGERPRINT.
fn seal(message: &mut Vec<u8>, password: &str) {
    let integrity = integrity_of(message, password);
    write_attribute(message, MESSAGE_INTEGRITY, &integrity);
    let fingerprint = fingerprint_of(message);
    write_attribute(message, FINGERPRINT, &fingerprint.to_be_bytes());
}

/// Appends an attribute, and updates the length in the header.
fn write_attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(kind.to_be_bytes());
    message.extend((value.len() as u16).to_be_bytes());
    message.extend_from_slice(value);
    message.resize(message.len().next_multiple_of(4), 0);
    let length = (message.len() - HEADER_BYTES) as u16;
    message[2..4].copy_from_slice(&length.to_be_bytes());
}

/// HMAC of the bytes before MESSAGE-INTEGRITY, with the length of a message that ends after that
/// attribute (RFC 8489, section 14.5).
fn integrity_of(before: &[u8], password: &str) -> [u8; INTEGRITY_BYTES] {
    let length = (before.len() + 4 + INTEGRITY_BYTES - HEADER_BYTES) as u16;
    hmac_sha1(password.as_bytes(), &[&before[..2], &length.to_be_bytes(), &before[4..]])
}

/// HMAC-SHA1 (RFC 2104) with a key of at most 64 bytes.
fn hmac_sha1(key: &[u8], parts: &[&[u8]]) -> [u8; INTEGRITY_BYTES] {
    let pad = |byte: u8| {
        let mut block = [byte; 64];
        block.iter_mut().zip(key).for_each(|(block, key)| *block ^= key);
        Sha1::from(block)
    };
    let mut inner = pad(0x36);
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = pad(0x5c);
    outer.update(&inner.digest().bytes());
    outer.digest().bytes()
}

/// The value of FINGERPRINT for the message before it.
fn fingerprint_of(before: &[u8]) -> u32 {
    let length = (before.len() + 8).saturating_sub(HEADER_BYTES) as u16;
    let bytes = before[..2].iter().copied().chain(length.to_be_bytes()).chain(before[4..].iter().copied());
    crc32(bytes) ^ FINGERPRINT_XOR
}

/// The CRC-32 of ISO 3309, as in Ethernet.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(byte),
            |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
            },
        )
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Makes a binding request, for tests.
#[cfg(test)]
pub fn request(username: &str, password: &str, is_nominated: bool) -> Vec<u8> {
    let mut out = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    out.extend(*b"transaction!");
    write_attribute(&mut out, USERNAME, username.as_bytes());
    write_attribute(&mut out, PRIORITY, &[0x6e, 0, 1, 0xff]);
    if is_nominated {
        write_attribute(&mut out, USE_CANDIDATE, &[]);
    }
    seal(&mut out, password);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample request and response of RFC 5769, sections 2.1 and 2.2. The response there has a
    /// further attribute, SOFTWARE, so only its address is compared.
    const SAMPLE: &str = "000100582112a442b7e7a701bc34d686fa87dfae\
        802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b151263b36\
        000600096576746a3a683676592020200008001 49aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf";
    const PASSWORD: &str = "VOkJxbRl1RmTxUk/WvJxBt";

    fn sample() -> Vec<u8> {
        let digits: Vec<u8> = SAMPLE.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    #[test]
    fn the_sample_of_rfc_5769_is_read() {
        let message = sample();
        let request = BindingRequest::read(&message).expect("a request");
        assert_eq!((request.username, request.is_nominated), ("evtj:h6vY", false));
        assert!(request.is_authentic(PASSWORD) && !request.is_authentic("VOkJxbRl1RmTxUk/WvJxBu"));
        let response = request.response("192.0.2.1:32853".parse().unwrap(), PASSWORD);
        assert_eq!(response[..4], [1, 1, 0, 44]);
        // The bytes of RFC 5769, section 2.2.
        assert_eq!(response[20..32], [0, 0x20, 0, 8, 0, 1, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43]);
        assert!(response.len() <= message.len(), "no amplification");
    }

    #[test]
    fn the_response_to_an_ipv6_client_has_the_address_of_rfc_5769() {
        let message = sample();
        let request = BindingRequest::read(&message).expect("a request");
        let from = "[2001:db8:1234:5678:11:2233:4455:6677]:32853".parse().unwrap();
        let response = request.response(from, PASSWORD);
        let expected = [
            0, 0x20, 0, 0x14, 0, 2, 0xa1, 0x47, 1, 0x13, 0xa9, 0xfa, 0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25,
            0xf4, 0xb5, 0xbe, 0xd2, 0xb9, 0xd9,
        ];
        assert_eq!(response[20..44], expected);
        let shortest = super::request("01234567:abcd", "p", false);
        let response = BindingRequest::read(&shortest).expect("a request").response(from, "p");
        assert!(response.len() <= shortest.len(), "{} bytes for {}", response.len(), shortest.len());
    }

    #[test]
    fn a_request_with_a_flipped_bit_is_rejected() {
        let message = sample();
        for at in 0..message.len() {
            for bit in 0..8 {
                let mut changed = message.clone();
                changed[at] ^= 1 << bit;
                let is_accepted =
                    BindingRequest::read(&changed).is_ok_and(|request| request.is_authentic(PASSWORD));
                assert!(!is_accepted, "byte {at}, bit {bit}");
            }
            assert_eq!(BindingRequest::read(&message[..at]), Err(WebRtcError::StunMalformed), "{at} bytes");
        }
    }

    #[test]
    fn responses_and_messages_without_attributes_are_rejected() {
        let mut response = sample();
        response[0] = 1;
        assert_eq!(BindingRequest::read(&response), Err(WebRtcError::StunNotARequest));
        let mut bare = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
        bare.extend([0; 12]);
        assert_eq!(BindingRequest::read(&bare), Err(WebRtcError::StunNotARequest));
    }
}
