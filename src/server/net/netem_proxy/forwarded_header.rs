//! Adds an `X-Forwarded-For` line to the request head of a remote client.
//!
//! ```text
//!  GET /wire HTTP/1.1 ⏎  Host: … ⏎          ⏎ frames
//!                                  └ X-Forwarded-For: 192.168.1.20 ⏎
//! ```
//!
//! The proxy connects from this machine. Without the line, the server would take every client for a
//! local one ([`access`](crate::server::net::access)). The line is the last of the head. A server
//! that trusts the proxy reads the addresses from the right, so lines from the client itself are
//! further left and ignored.
//!
//! A connection to a tickwire server carries one request: the server closes it after the response,
//! or the upgrade turns it into frames. So only the first head is changed, and all later bytes are
//! unchanged.

use std::net::IpAddr;

/// Rewrites the bytes of one client on their way to the server.
#[derive(Debug)]
pub struct Forward {
    line: Vec<u8>,
    at: At,
}

/// Position of the next byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the request line.
    Start,
    /// Within a line of the head.
    Line,
    /// At the first byte of a line after the request line.
    LineStart,
    /// After the head, or in bytes that are not HTTP.
    Rest,
}

impl Forward {
    /// Creates a rewriter for a client at this address. Bytes of a client on this machine are
    /// unchanged.
    pub fn new(client: IpAddr) -> Forward {
        let client = client.to_canonical();
        let at = if client.is_loopback() { At::Rest } else { At::Start };
        Forward { line: format!("X-Forwarded-For: {client}\r\n").into_bytes(), at }
    }

    /// Appends the bytes to `into`, with the added line before the empty line of the head.
    pub fn pass(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        for (place, &byte) in bytes.iter().enumerate() {
            self.at = match (self.at, byte) {
                (At::Rest, _) => return into.extend_from_slice(&bytes[place..]),
                // Servers skip empty lines before a request (RFC 9112, section 2.2).
                (At::Start, b'\r' | b'\n') => At::Start,
                // Not HTTP: TLS, for example, starts with a control character.
                (At::Start, _) if !byte.is_ascii_graphic() => At::Rest,
                (At::LineStart, b'\r' | b'\n') => {
                    into.append(&mut self.line);
                    At::Rest
                }
                (At::Line, b'\n') => At::LineStart,
                (At::Start | At::Line | At::LineStart, _) => At::Line,
            };
            into.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;
    use crate::server::net::access::is_local_request;
    use crate::ws::http::HeadReader;

    /// Returns the bytes that the server receives, and checks that splitting the input changes
    /// nothing.
    fn passed(client: &str, bytes: &[u8]) -> Vec<u8> {
        let forward = || Forward::new(client.parse().expect("an address"));
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        forward().pass(bytes, &mut whole);
        let mut each = forward();
        bytes.iter().for_each(|byte| each.pass(&[*byte], &mut cut));
        assert_eq!(whole, cut);
        whole
    }

    #[test]
    fn the_address_of_a_remote_client_is_the_last_line_of_its_first_head() {
        for (client, before, after) in [
            (
                "192.168.1.20",
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.168.1.20\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            ),
            (
                "2001:db8::7",
                "GET / HTTP/1.1\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n",
                "GET / HTTP/1.1\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-For: 2001:db8::7\r\n\r\n",
            ),
            (
                "::ffff:10.0.0.2",
                "\r\n\nGET / HTTP/1.0\n\nbody",
                "\r\n\nGET / HTTP/1.0\nX-Forwarded-For: 10.0.0.2\r\n\nbody",
            ),
            ("10.0.0.2", "GET / HTTP/1.1\r\nHost", "GET / HTTP/1.1\r\nHost"),
            ("127.0.0.9", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
            ("::1", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
        ] {
            let seen = passed(client, before.as_bytes());
            assert_eq!(String::from_utf8_lossy(&seen), after, "{client}");
        }
    }

    #[test]
    fn a_remote_client_is_not_at_this_machine_and_a_local_one_stays_it() {
        let relay = "127.0.0.1:4000".parse().expect("an address");
        for target in ["/metrics", "/wire"] {
            for (client, is_local) in
                [("192.168.1.20", false), ("fd00::2", false), ("127.0.0.1", true), ("::1", true)]
            {
                let request = format!("GET {target} HTTP/1.1\r\nHost: localhost:3001\r\n\r\n");
                let seen = passed(client, request.as_bytes());
                let head =
                    HeadReader::new(limits::HEAD_LIMITS).receive(&seen).expect("HTTP").expect("a whole head");
                assert_eq!(is_local_request(&head, relay, &[]), is_local, "{client} {target}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_request_stay_the_same() {
        let hello = b"\x16\x03\x01\x00\x04\r\n\r\nrest\r\n\r\n";
        assert_eq!(passed("10.0.0.2", hello), hello);
    }
}
