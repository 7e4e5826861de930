//! Adds an `X-Forwarded-For` line to the request head of a remote client.
//!
//! ```text
//!  GET /wire HTTP/1.1 ⏎  Host: … ⏎          ⏎ frames
//!                                  └ X-Forwarded-For: 192.168.1.20 ⏎
//! ```
//!
//! The proxy connects from this machine. Without the line, the server would treat every client as a
//! local one ([`access`](crate::server::net::access)). The line is the last of the head. A server
//! that trusts the proxy reads the addresses from the right, so it ignores the lines from the
//! client itself, which are further left.
//!
//! Each request of a connection gets the line. After an upgrade, or after a head that the server's
//! own reader refuses, all later bytes are unchanged.

use std::net::IpAddr;

use crate::limits;
use crate::ws::http::HeadReader;

/// Rewrites the bytes that one client sends to the server.
#[derive(Debug)]
pub struct Forward {
    line: Vec<u8>,
    at: At,
    /// Reads the same head, because the head determines whether a body or frames follow.
    reader: HeadReader,
    after_head: At,
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
    /// Before the line feed of the empty line.
    LastByte,
    /// In a body, with this many bytes left.
    Body(usize),
    /// In frames, or in bytes that are not HTTP.
    Rest,
}

impl Forward {
    /// Creates a rewriter for a client at this address. Bytes of a client on this machine are
    /// unchanged.
    pub fn new(client: IpAddr) -> Forward {
        let client = client.to_canonical();
        let at = if client.is_loopback() { At::Rest } else { At::Start };
        let line = format!("X-Forwarded-For: {client}\r\n").into_bytes();
        Forward { line, at, reader: new_reader(), after_head: At::Rest }
    }

    /// Appends the bytes to `into`, with the added line before the empty line of each head.
    pub fn pass(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        for (place, &byte) in bytes.iter().enumerate() {
            if self.at == At::Rest {
                return into.extend_from_slice(&bytes[place..]);
            }
            let is_body = matches!(self.at, At::Body(_));
            if !is_body {
                self.read(byte);
            }
            self.at = match (self.at, byte) {
                // Servers skip empty lines before a request (RFC 9112, section 2.2).
                (At::Start, b'\r' | b'\n') => At::Start,
                // Not HTTP: TLS, for example, starts with a control character.
                (At::Start, _) if !byte.is_ascii_graphic() => At::Rest,
                (At::LineStart, b'\r' | b'\n') => {
                    into.extend_from_slice(&self.line);
                    if byte == b'\r' { At::LastByte } else { self.end_head() }
                }
                (At::LastByte, _) => self.end_head(),
                (At::Line, b'\n') => At::LineStart,
                (At::Body(left), _) => {
                    if left > 1 {
                        At::Body(left - 1)
                    } else {
                        At::Start
                    }
                }
                (At::Start | At::Line | At::LineStart | At::Rest, _) => At::Line,
            };
            into.push(byte);
        }
    }

    /// Passes a byte of a head to the reader. After the last byte, determines what follows the
    /// head.
    fn read(&mut self, byte: u8) {
        if let Ok(Some(head)) = self.reader.receive(&[byte]) {
            self.after_head = match head.content_length() {
                _ if head.has_upgrade_headers() => At::Rest,
                None | Some(0) => At::Start,
                Some(length) => At::Body(length),
            };
        }
    }

    fn end_head(&mut self) -> At {
        self.reader = new_reader();
        std::mem::replace(&mut self.after_head, At::Rest)
    }
}

fn new_reader() -> HeadReader {
    HeadReader::with_body_rule(limits::HEAD_LIMITS, |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::net::access::is_local_request;

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
    fn the_address_of_a_remote_client_is_the_last_line_of_each_head() {
        for (client, before, after) in [
            (
                "192.168.1.20",
                "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.168.1.20\r\n\r\n\
                 GET / HTTP/1.1\r\nX-Forwarded-For: 192.168.1.20\r\n\r\n",
            ),
            (
                "10.0.0.2",
                "POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\na\r\n\r\nbc\
                 GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nX-Forwarded-For: 10.0.0.2\r\n\r\n\
                 a\r\n\r\nbcGET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.2\r\n\r\n",
            ),
            (
                "10.0.0.2",
                "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n\x01\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nX-Forwarded-For: 10.0.0.2\r\n\r\n\x01\r\n\r\n",
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
            let forwarded = passed(client, before.as_bytes());
            assert_eq!(String::from_utf8_lossy(&forwarded), after, "{client}");
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
                let forwarded = passed(client, request.as_bytes());
                let head = HeadReader::new(limits::HEAD_LIMITS)
                    .receive(&forwarded)
                    .expect("HTTP")
                    .expect("a whole head");
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
