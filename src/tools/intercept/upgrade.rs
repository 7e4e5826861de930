//! The HTTP heads of an intercepted connection: finds the upgrade, and rewrites the request for the
//! server.
//!
//! ```text
//!   GET /chat HTTP/1.1 ⏎  Host: 127.0.0.1:3100 ⏎  Origin: http://127.0.0.1:3100 ⏎ …
//!          │                     │                             │
//!   GET /base/chat     Host: example.org        Origin: https://example.org
//! ```
//!
//! A request without an upgrade is forwarded with its body and the response to it, so a page and
//! its WebSocket can have the same origin. Frames begin after a 101 response to an upgrade request.

use core::net::IpAddr;

use crate::limits;
use crate::ws::http::{HeadReader, ResponseHead, ResponseReader};

/// The end of a head.
const HEAD_END: &[u8] = b"\r\n\r\n";
/// Longest method, with line ends before it.
const METHOD_BYTES: usize = 32;
/// The status of an accepted upgrade.
const SWITCHING: u16 = 101;

/// How request heads change on their way to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadRewrite {
    /// The value of `Host` for the server; `None` leaves `Host` and `Origin` unchanged.
    pub host: Option<String>,
    /// The scheme of the server's pages for `Origin`: `http` or `https`.
    pub scheme: &'static str,
    /// The path in front of each request target, without a slash at its end.
    pub path_prefix: String,
    /// The target that replaces `/`.
    pub root_target: Option<String>,
    /// Whether the offer of extensions is removed, so that no message is compressed.
    pub removes_extensions: bool,
    /// The address of a client on another machine, for `X-Forwarded-For`. Without it, the server
    /// would treat the client as one on the machine of the proxy.
    pub forwarded_for: Option<IpAddr>,
}

/// The result of received bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum UpgradeEvent {
    /// The server has accepted an upgrade.
    Upgraded(UpgradeHeads),
    /// The server has refused an upgrade with this status.
    Refused(UpgradeHeads, u16),
}

/// The heads of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeHeads {
    /// The request, as the client sent it.
    pub request: Vec<u8>,
    /// The response, as the server sent it.
    pub response: Vec<u8>,
    /// Bytes after the heads: client, then server.
    pub early_bytes: [Vec<u8>; 2],
}

/// Relays the heads of one connection.
#[derive(Debug)]
pub struct UpgradeRelay {
    rewrite: HeadRewrite,
    stage: Stage,
    /// Whether no request has been received.
    is_new: bool,
    /// Bytes of an unfinished request head, or bytes after an upgrade request.
    client: Vec<u8>,
    /// Bytes of an unfinished response to an upgrade.
    server: Vec<u8>,
    /// The upgrade request that waits for its response.
    request: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body(usize),
    /// Bytes that are not understood as requests: they are forwarded as they arrive.
    Opaque,
    Response,
}

impl UpgradeRelay {
    /// Creates a relay before the first request.
    pub fn new(rewrite: HeadRewrite) -> UpgradeRelay {
        let (client, server, request) = Default::default();
        UpgradeRelay { rewrite, stage: Stage::Head, is_new: true, client, server, request }
    }

    /// Whether a deadline applies: before the first head, while a head is incomplete, and before
    /// the response to an upgrade. Between requests none applies, because a response may take long.
    pub fn awaits_head(&self) -> bool {
        match self.stage {
            Stage::Head => self.is_new || !self.client.is_empty(),
            Stage::Response => true,
            Stage::Body(_) | Stage::Opaque => false,
        }
    }

    /// Whether an upgrade waits for the response to it.
    pub fn awaits_response(&self) -> bool {
        self.stage == Stage::Response
    }

    /// Whether a part of a request head has been received.
    pub fn has_partial_head(&self) -> bool {
        self.stage == Stage::Head && !self.client.is_empty()
    }

    /// Whether more bytes of the client may be received. False while many wait for the response to
    /// an upgrade.
    pub fn accepts(&self) -> bool {
        self.stage != Stage::Response || self.client.len() < limits::INTERCEPT_UNSENT_BYTES
    }

    /// Receives bytes of the client, and appends the bytes for the server to `out`.
    pub fn receive_from_client(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.client.extend_from_slice(bytes);
        while !self.client.is_empty() {
            match self.stage {
                Stage::Head => {
                    let Some(end) = head_end(&self.client) else {
                        if self.client.len() > limits::INTERCEPT_HEAD_LIMITS.bytes || !is_http(&self.client) {
                            self.stage = Stage::Opaque;
                            continue;
                        }
                        return;
                    };
                    let head: Vec<u8> = self.client.drain(..end).collect();
                    self.request_head(head, out);
                }
                Stage::Body(left) => {
                    let count = left.min(self.client.len());
                    out.extend(self.client.drain(..count));
                    self.stage = if count == left { Stage::Head } else { Stage::Body(left - count) };
                }
                Stage::Opaque => out.append(&mut self.client),
                // Frames that the client sends before the response wait for it.
                Stage::Response => return,
            }
        }
    }

    fn request_head(&mut self, head: Vec<u8>, out: &mut Vec<u8>) {
        self.is_new = false;
        let mut reader = HeadReader::with_body_rule(limits::INTERCEPT_HEAD_LIMITS, |_| true);
        let Ok(Some(parsed)) = reader.receive(&head) else {
            out.extend(head);
            self.stage = Stage::Opaque;
            return;
        };
        out.extend(self.rewrite.apply(&head));
        self.stage = match parsed.content_length() {
            _ if parsed.has_upgrade_headers() => Stage::Response,
            _ if parsed.header("Transfer-Encoding").is_some() => Stage::Opaque,
            None | Some(0) => Stage::Head,
            Some(length) => Stage::Body(length),
        };
        if self.stage == Stage::Response {
            self.request = head;
        }
    }

    /// Receives bytes of the server, and appends the bytes for the client to `out`. Returns the
    /// outcome of an upgrade; after [`UpgradeEvent::Upgraded`] the relay is not used any more.
    pub fn receive_from_server(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<UpgradeEvent> {
        if self.stage != Stage::Response {
            out.extend_from_slice(bytes);
            return None;
        }
        self.server.extend_from_slice(bytes);
        let end = match head_end(&self.server) {
            Some(end) => end,
            None if self.server.len() <= limits::INTERCEPT_HEAD_LIMITS.bytes => return None,
            None => self.server.len(),
        };
        let response: Vec<u8> = self.server.drain(..end).collect();
        let rest = std::mem::take(&mut self.server);
        out.extend_from_slice(&response);
        let request = std::mem::take(&mut self.request);
        let status = read_response(&response).map_or(0, |head| head.status);
        if status == SWITCHING {
            let early_bytes = [std::mem::take(&mut self.client), rest];
            return Some(UpgradeEvent::Upgraded(UpgradeHeads { request, response, early_bytes }));
        }
        out.extend_from_slice(&rest);
        self.stage = Stage::Head;
        let heads = UpgradeHeads { request, response, early_bytes: [Vec::new(), rest] };
        Some(UpgradeEvent::Refused(heads, status))
    }
}

impl HeadRewrite {
    /// The head for the server.
    fn apply(&self, head: &[u8]) -> Vec<u8> {
        let mut lines = head.split_inclusive(|byte| *byte == b'\n');
        let mut out = self.request_line(lines.next().unwrap_or_default());
        let client_host = header_value(head, "Host");
        for line in lines {
            let value = |name: &str, value: &str| format!("{name}: {value}\r\n").into_bytes();
            match (name_of(line).as_str(), &self.host) {
                ("host", Some(host)) => out.extend(value("Host", host)),
                ("origin", Some(host)) => match (header_value(line, "Origin"), &client_host) {
                    (Some(origin), Some(own)) if is_of_host(&origin, own) => {
                        out.extend(value("Origin", &format!("{}://{host}", self.scheme)));
                    }
                    _ => out.extend_from_slice(line),
                },
                ("sec-websocket-extensions", _) if self.removes_extensions => {}
                // The last line of the head. A server that trusts the proxy reads from the right.
                ("\r\n", _) => {
                    if let Some(address) = self.forwarded_for {
                        out.extend(value("X-Forwarded-For", &address.to_string()));
                    }
                    out.extend_from_slice(line);
                }
                _ => out.extend_from_slice(line),
            }
        }
        out
    }

    fn request_line(&self, line: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.splitn(3, ' ');
        let (Some(method), Some(target), Some(rest)) = (words.next(), words.next(), words.next()) else {
            return line.to_vec();
        };
        let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
        let target = match (&self.root_target, path) {
            (Some(root), "/") => format!("{root}{query}"),
            _ if !target.starts_with('/') => target.to_owned(),
            _ => format!("{}{target}", self.path_prefix),
        };
        format!("{method} {target} {rest}").into_bytes()
    }
}

/// The parsed head of a response; `None` if it is invalid.
pub fn read_response(head: &[u8]) -> Option<ResponseHead> {
    ResponseReader::new(limits::INTERCEPT_HEAD_LIMITS).receive(head).ok().flatten()
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(HEAD_END.len()).position(|window| window == HEAD_END).map(|at| at + HEAD_END.len())
}

/// Whether the bytes may begin a request line: a method has a few capital letters.
fn is_http(bytes: &[u8]) -> bool {
    let method = bytes.iter().take_while(|byte| **byte != b' ').take(METHOD_BYTES + 1);
    method.clone().count() <= METHOD_BYTES
        && method.into_iter().all(|byte| byte.is_ascii_uppercase() || b"\r\n".contains(byte))
}

fn name_of(line: &[u8]) -> String {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    String::from_utf8_lossy(name).to_ascii_lowercase()
}

/// The value of a header in a head.
fn header_value(head: &[u8], name: &str) -> Option<String> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.find(|line| name_of(line).eq_ignore_ascii_case(name))?;
    let value = &line[line.iter().position(|byte| *byte == b':')? + 1..];
    Some(String::from_utf8_lossy(value).trim().to_owned())
}

fn is_of_host(origin: &str, host: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, own)| own.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPGRADE: &str = "GET /chat?x=1 HTTP/1.1\r\nHost: localhost:3100\r\nOrigin: http://localhost:3100\r\n\
                           Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";

    fn rewrite() -> HeadRewrite {
        HeadRewrite {
            host: Some("example.org".to_owned()),
            scheme: "https",
            path_prefix: "/base".to_owned(),
            ..HeadRewrite::default()
        }
    }

    /// The bytes for the server, from one read and from reads of one byte.
    fn relayed(relay: impl Fn() -> UpgradeRelay, bytes: &[u8]) -> (UpgradeRelay, String) {
        let (mut whole, mut slow, mut out, mut slowly) = (relay(), relay(), Vec::new(), Vec::new());
        whole.receive_from_client(bytes, &mut out);
        bytes.iter().for_each(|byte| slow.receive_from_client(&[*byte], &mut slowly));
        assert_eq!(out, slowly);
        (whole, String::from_utf8(out).expect("text"))
    }

    #[test]
    fn an_upgrade_is_rewritten_for_the_server_and_its_frames_wait_for_the_response() {
        let bytes = [UPGRADE.as_bytes(), &[0x81, 0x80, 1, 2, 3, 4]].concat();
        let (mut relay, request) = relayed(|| UpgradeRelay::new(rewrite()), &bytes);
        assert!(request.starts_with(
            "GET /base/chat?x=1 HTTP/1.1\r\nHost: example.org\r\nOrigin: https://example.org\r\n"
        ));
        assert!(request.ends_with("Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), "{request}");
        let mut out = Vec::new();
        let (half, rest) = ACCEPTED.split_at(20);
        assert_eq!(relay.receive_from_server(half.as_bytes(), &mut out), None);
        let rest = [rest.as_bytes(), &[0x81, 0]].concat();
        let Some(UpgradeEvent::Upgraded(heads)) = relay.receive_from_server(&rest, &mut out) else {
            panic!("an upgrade")
        };
        assert_eq!(heads.request, UPGRADE.as_bytes());
        assert_eq!((&heads.response[..], &out[..]), (ACCEPTED.as_bytes(), ACCEPTED.as_bytes()));
        assert_eq!(heads.early_bytes, [vec![0x81, 0x80, 1, 2, 3, 4], vec![0x81, 0]]);
    }

    #[test]
    fn other_requests_pass_with_their_bodies_before_an_upgrade() {
        let post = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody";
        let bytes = [post, post, UPGRADE].concat();
        let (relay, out) = relayed(|| UpgradeRelay::new(HeadRewrite::default()), bytes.as_bytes());
        assert_eq!(out, bytes, "nothing is rewritten");
        let (mut idle, _) = relayed(|| UpgradeRelay::new(HeadRewrite::default()), post.as_bytes());
        assert!(!idle.awaits_head() && relay.awaits_head(), "only an upgrade is answered at once");
        idle.receive_from_client(b"GET", &mut Vec::new());
        assert!(idle.awaits_head());
        assert_eq!(relay.stage, Stage::Response);
    }

    #[test]
    fn a_refused_upgrade_may_be_followed_by_another_request() {
        let mut relay = UpgradeRelay::new(rewrite());
        let (mut up, mut down) = (Vec::new(), Vec::new());
        assert!(relay.awaits_head());
        relay.receive_from_client(UPGRADE.as_bytes(), &mut up);
        assert!(relay.accepts());
        relay.receive_from_client(&vec![0; limits::INTERCEPT_UNSENT_BYTES], &mut up);
        assert!(!relay.accepts(), "the bytes wait for the response");
        relay.client.clear();
        let refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno";
        let Some(UpgradeEvent::Refused(_, status)) = relay.receive_from_server(refusal, &mut down) else {
            panic!("a refusal")
        };
        assert_eq!((status, &down[..]), (403, &refusal[..]));
        up.clear();
        relay.receive_from_client(UPGRADE.as_bytes(), &mut up);
        assert!(up.starts_with(b"GET /base/chat"));
    }

    #[test]
    fn the_offer_of_extensions_can_be_removed_and_the_root_replaced() {
        let removes = HeadRewrite {
            removes_extensions: true,
            root_target: Some("/socket".to_owned()),
            ..HeadRewrite::default()
        };
        let (_, request) = relayed(|| UpgradeRelay::new(removes.clone()), UPGRADE.as_bytes());
        assert!(!request.contains("Extensions") && request.ends_with("Connection: Upgrade\r\n\r\n"));
        let remote = HeadRewrite {
            forwarded_for: Some("192.168.1.20".parse().expect("an address")),
            ..HeadRewrite::default()
        };
        let (_, request) = relayed(|| UpgradeRelay::new(remote.clone()), UPGRADE.as_bytes());
        assert!(request.ends_with("\r\nX-Forwarded-For: 192.168.1.20\r\n\r\n"), "{request}");
        let (_, request) =
            relayed(|| UpgradeRelay::new(removes.clone()), b"GET /?a=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(request, "GET /socket?a=1 HTTP/1.1\r\nHost: a\r\n\r\n");
    }

    #[test]
    fn bytes_that_are_no_request_pass_unchanged() {
        for bytes in [&b"\x16\x03\x01\x02\x00"[..], b"hello there\r\n\r\n", &[b'A'; 100_000]] {
            let (_, passed) = relayed(|| UpgradeRelay::new(rewrite()), bytes);
            assert_eq!(passed.as_bytes(), bytes);
        }
    }
}
