//! Offer and answer of one data channel (RFC 8829, RFC 8839, RFC 8841).
//!
//! ```text
//!   a=ice-ufrag, a=ice-pwd   user name and password of binding requests
//!   a=fingerprint            SHA-256 of the certificate
//!   a=setup:passive          the client starts the DTLS handshake
//!   a=candidate              the address of the server
//! ```

use core::fmt::Write;
use core::net::SocketAddr;

use super::error::WebRtcError;
use crate::limits;

/// Length of a SHA-256 in bytes.
pub const FINGERPRINT_BYTES: usize = 32;
/// SCTP port of both ends (RFC 8841, section 5.1).
const SCTP_PORT: u16 = 5000;

/// The lines of an offer that the server needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Name of the media section.
    mid: String,
    /// User name fragment of the client.
    pub ufrag: String,
    /// SHA-256 of the client's certificate.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
}

impl Offer {
    /// Reads an offer.
    ///
    /// # Errors
    /// A line is missing, or the fingerprint is not SHA-256.
    pub fn read(text: &str) -> Result<Offer, WebRtcError> {
        let value = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name));
            found.map(str::trim).filter(|value| !value.is_empty()).ok_or(WebRtcError::OfferIncomplete)
        };
        let has_channel =
            text.lines().any(|line| line.starts_with("m=application") && line.contains("DTLS/SCTP"));
        let (mid, ufrag) = (value("a=mid:")?, value("a=ice-ufrag:")?);
        value("a=ice-pwd:")?;
        let fingerprint = value("a=fingerprint:")?;
        let is_short = text.len() <= limits::LANE_OFFER_BYTES && mid.len() <= limits::LANE_OFFER_WORD_BYTES;
        if !has_channel || !is_short || ufrag.len() > limits::LANE_OFFER_WORD_BYTES {
            return Err(WebRtcError::OfferIncomplete);
        }
        let is_plain = |word: &str| word.chars().all(|char| char.is_ascii_graphic());
        if !is_plain(mid) || !is_plain(ufrag) {
            return Err(WebRtcError::OfferIncomplete);
        }
        let fingerprint = read_fingerprint(fingerprint).ok_or(WebRtcError::OfferFingerprint)?;
        Ok(Offer { mid: mid.to_owned(), ufrag: ufrag.to_owned(), fingerprint })
    }

    /// Writes the answer of a server at this address.
    pub fn answer(&self, credentials: &IceCredentials, fingerprint: &[u8], address: SocketAddr) -> String {
        let (ip, port) = (address.ip(), address.port());
        let family = if ip.is_ipv4() { "IP4" } else { "IP6" };
        let Offer { mid, .. } = self;
        let IceCredentials { ufrag, password } = credentials;
        let mut hex = String::with_capacity(3 * FINGERPRINT_BYTES);
        for byte in fingerprint {
            let separator = if hex.is_empty() { "" } else { ":" };
            let _ = write!(hex, "{separator}{byte:02X}");
        }
        [
            "v=0".to_owned(),
            format!("o=- 1 1 IN {family} {ip}"),
            "s=-".to_owned(),
            "t=0 0".to_owned(),
            format!("a=group:BUNDLE {mid}"),
            "a=ice-lite".to_owned(),
            format!("m=application {port} UDP/DTLS/SCTP webrtc-datachannel"),
            format!("c=IN {family} {ip}"),
            format!("a=mid:{mid}"),
            format!("a=ice-ufrag:{ufrag}"),
            format!("a=ice-pwd:{password}"),
            format!("a=fingerprint:sha-256 {hex}"),
            "a=setup:passive".to_owned(),
            format!("a=sctp-port:{SCTP_PORT}"),
            format!("a=max-message-size:{}", limits::DATAGRAM_BYTES),
            format!("a=candidate:1 1 udp 2130706431 {ip} {port} typ host"),
            "a=end-of-candidates".to_owned(),
            String::new(),
        ]
        .join("\r\n")
    }
}

/// User name fragment and password of the server's end of a data channel.
#[derive(Clone, PartialEq, Eq)]
pub struct IceCredentials {
    /// The connection id of the lane, as 8 hexadecimal digits.
    pub ufrag: String,
    /// 128 random bits, as hexadecimal digits.
    pub password: String,
}

impl core::fmt::Debug for IceCredentials {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "IceCredentials({})", self.ufrag)
    }
}

impl IceCredentials {
    /// Creates the credentials of a lane from random bytes.
    pub fn new(connection: u32, random: [u8; 16]) -> IceCredentials {
        IceCredentials {
            ufrag: format!("{connection:08x}"),
            password: format!("{:032x}", u128::from_be_bytes(random)),
        }
    }

    /// Credentials with a password of zeros of the same length, for captures and inspectors.
    pub fn redacted(&self) -> IceCredentials {
        IceCredentials { ufrag: self.ufrag.clone(), password: "0".repeat(self.password.len()) }
    }

    /// Returns the connection id of the lane to which a STUN user name belongs.
    pub fn connection_of(username: &str) -> Option<u32> {
        let (server, _) = username.split_once(':')?;
        let is_hex = server.len() == 8 && server.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(server, 16).ok().filter(|_| is_hex)
    }
}

/// Reads the value of `a=fingerprint:`.
fn read_fingerprint(value: &str) -> Option<[u8; FINGERPRINT_BYTES]> {
    let (algorithm, digits) = value.split_once(' ')?;
    if !algorithm.eq_ignore_ascii_case("sha-256") {
        return None;
    }
    let mut bytes = [0; FINGERPRINT_BYTES];
    let mut digits = digits.trim().split(':');
    for byte in &mut bytes {
        *byte = u8::from_str_radix(digits.next().filter(|pair| pair.len() == 2)?, 16).ok()?;
    }
    digits.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An offer of Chromium, with `FP` in place of the fingerprint.
    const OFFER: &str = "v=0\r\no=- 4742 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
        a=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
        m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:p8kF\r\n\
        a=ice-pwd:dVuiWwyx6iAiHVQF5HNtxTKV\r\na=ice-options:trickle\r\na=fingerprint:sha-256 FP\r\n\
        a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";

    fn offer(fingerprint: &str) -> String {
        OFFER.replace("FP", fingerprint)
    }

    fn digits(bytes: usize) -> String {
        (0..bytes).map(|n| format!("{n:02X}")).collect::<Vec<_>>().join(":")
    }

    #[test]
    fn an_offer_is_answered() {
        let offer = Offer::read(&offer(&digits(32))).expect("a good offer");
        assert_eq!((&*offer.ufrag, offer.fingerprint[31]), ("p8kF", 31));
        let credentials = IceCredentials::new(0xc000_0001, [0xab; 16]);
        let answer = offer.answer(&credentials, &[0xfe, 1], "192.0.2.7:3000".parse().unwrap());
        for line in [
            "a=ice-lite",
            "m=application 3000 UDP/DTLS/SCTP webrtc-datachannel",
            "a=ice-ufrag:c0000001",
            "a=ice-pwd:abababababababababababababababab",
            "a=fingerprint:sha-256 FE:01",
            "a=candidate:1 1 udp 2130706431 192.0.2.7 3000 typ host",
        ] {
            assert!(answer.lines().any(|own| own == line), "{line} is missing in {answer}");
        }
        let redacted = offer.answer(&credentials.redacted(), &[0xfe, 1], "192.0.2.7:3000".parse().unwrap());
        assert!(redacted.len() == answer.len() && !redacted.contains("abab"));
        assert_eq!(IceCredentials::connection_of("c0000001:p8kF"), Some(0xc000_0001));
        for wrong in ["+0000001:p8kF", "c0000001", "c00000011:p8kF", ""] {
            assert_eq!(IceCredentials::connection_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_offer_without_a_line_is_rejected() {
        for name in ["a=ice-ufrag", "a=ice-pwd", "a=mid", "m=application"] {
            let text = offer(&digits(32)).replace(name, "a=other");
            assert_eq!(Offer::read(&text), Err(WebRtcError::OfferIncomplete), "{name}");
        }
        for wrong in [digits(31), digits(33), "GG".repeat(32)] {
            assert_eq!(Offer::read(&offer(&wrong)), Err(WebRtcError::OfferFingerprint), "{wrong}");
        }
        let sha1 = offer(&digits(20)).replace("sha-256", "sha-1");
        assert_eq!(Offer::read(&sha1), Err(WebRtcError::OfferFingerprint));
        let long = offer(&digits(32)).replace("a=mid:0", &format!("a=mid:{}", "x".repeat(5_000)));
        assert_eq!(Offer::read(&long), Err(WebRtcError::OfferIncomplete));
    }
}
