//! HTTP/1.1 heads, as far as a WebSocket handshake needs them: RFC 9112, interpreted strictly. A
//! request may also be HTTP/1.0, because health checks use this version. Such a request cannot be
//! an upgrade.
//!
//! The input is bytes, split anywhere. The output is a [`RequestHead`], a [`ResponseHead`], or the
//! first violation. Ambiguous input is refused, not repaired: folded lines, repeated headers, and
//! bodies unless the caller allows them. The parser never reads a body, never examines a byte
//! twice, and never stores more than [`HeadLimits::bytes`].

use std::collections::BTreeMap;
use std::fmt;

pub use super::head_lines::HeadLimits;
use super::head_lines::{LineReader, is_token};
use super::response::VERSION;
pub use super::response::{RETRY_AFTER_S, Refusal, response, response_head};
use super::violation::Violation;

/// The version that health checks and old proxies send. It has no upgrade (RFC 9110, section 7.8).
const VERSION_1_0: &str = "HTTP/1.0";

/// Headers that must not be repeated, because it would be ambiguous which line applies.
const SINGLETON_HEADERS: &[&str] = &[
    "Host",
    "Origin",
    "Content-Length",
    "Transfer-Encoding",
    "Authorization",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Accept",
];

/// Header lines in order of arrival: name and value. Bytes of a value that are not UTF-8 are
/// replaced. `Debug` shows only the names, because a value may be a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl fmt::Debug for Headers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Headers {
    /// The value of the first header with this name. Case is ignored.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// The values of all headers with this name. Case is ignored.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The elements of a list header, from all its lines, without empty elements (RFC 9110, section
    /// 5.6.1).
    pub fn list<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.get_all(name).flat_map(|value| value.split(',')).map(trim).filter(|element| !element.is_empty())
    }

    /// Returns the headers without all headers of this name. Case is ignored.
    pub fn without(&self, name: &str) -> Headers {
        let others = self.0.iter().filter(|(known, _)| !known.eq_ignore_ascii_case(name));
        Headers(others.cloned().collect())
    }

    /// Whether a list header contains this token. Case is ignored.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.list(name).any(|element| element.eq_ignore_ascii_case(token))
    }

    /// Parses and stores one line of the head, which may have up to `max_lines` lines.
    fn push_line(&mut self, line: &[u8], max_lines: usize) -> Result<(), Violation> {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return Err(Violation::HeaderFolded);
        }
        if self.0.len() == max_lines {
            return Err(Violation::TooManyHeaders);
        }
        let colon = line.iter().position(|&byte| byte == b':').ok_or(Violation::HeaderName)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.ends_with(b" ") || name.ends_with(b"\t") {
            return Err(Violation::SpaceBeforeColon);
        }
        if !is_token(name) {
            return Err(Violation::HeaderName);
        }
        let name = String::from_utf8_lossy(name).into_owned();
        let is_single = SINGLETON_HEADERS.iter().any(|single| single.eq_ignore_ascii_case(&name));
        if is_single && self.get(&name).is_some() {
            return Err(Violation::HeaderRepeated);
        }
        self.0.push((name, trim(&String::from_utf8_lossy(value)).to_owned()));
        Ok(())
    }
}

/// Strips spaces and tabs around a value.
fn trim(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// The head of a request. `Debug` omits the query, because it may contain a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestHead {
    /// The method, such as `GET`; a token.
    pub method: String,
    /// Path and query as received, in visible ASCII; begins with `/`.
    pub target: String,
    /// Whether the version is HTTP/1.0 instead of HTTP/1.1.
    pub is_http_1_0: bool,
    /// The header lines.
    pub headers: Headers,
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = out.debug_struct("RequestHead");
        out.field("method", &self.method).field("path", &self.path());
        out.field("is_http_1_0", &self.is_http_1_0).field("headers", &self.headers).finish_non_exhaustive()
    }
}

impl RequestHead {
    /// The path: the target before the question mark, as received.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of the first field with this name in the query, with `%41` and `+` decoded. Empty
    /// if the field has no `=`.
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let mut fields = query.split('&').map(|field| field.split_once('=').unwrap_or((field, "")));
        fields.find(|(field, _)| percent_decode(field) == name).map(|(_, value)| percent_decode(value))
    }

    /// The value of the first header with this name. Case is ignored.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Whether the request has an Upgrade header that names `websocket`, even if the handshake is
    /// otherwise invalid.
    pub fn is_upgrade(&self) -> bool {
        self.headers.has_token("Upgrade", "websocket")
    }

    /// Whether the request has any header of a WebSocket handshake. It is then checked as a
    /// handshake.
    pub fn has_upgrade_headers(&self) -> bool {
        self.is_upgrade() || self.header("Sec-WebSocket-Key").is_some()
    }

    /// Declared length of the body in bytes, saturating at `usize::MAX`; `None` if the request
    /// declares no body.
    pub fn content_length(&self) -> Option<usize> {
        self.header("Content-Length").map(|digits| digits.parse().unwrap_or(usize::MAX))
    }

    /// Checks the rules that need all headers. `Host` is required, except in HTTP/1.0. A body is
    /// refused unless `takes_body` allows it, because it could hide a second request.
    fn check(self, takes_body: BodyAllowed) -> Result<RequestHead, Violation> {
        match self.header("Host") {
            None if self.is_http_1_0 => {}
            None => return Err(Violation::HostMissing),
            Some(host) if host.is_empty() || !host.bytes().all(is_host_byte) => {
                return Err(Violation::HostMalformed);
            }
            Some(_) => {}
        }
        if self.header("Transfer-Encoding").is_some() {
            return Err(Violation::TransferEncoding);
        }
        match self.header("Content-Length") {
            None => Ok(self),
            Some(length) if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(Violation::ContentLengthMalformed)
            }
            Some(length) if length.bytes().all(|digit| digit == b'0') => Ok(self),
            // An upgrade has no body, whatever its path, because frames follow its head.
            Some(_) if !self.has_upgrade_headers() && takes_body(&self) => Ok(self),
            Some(_) => Err(Violation::BodyAnnounced),
        }
    }
}

/// Whether a byte may occur in a host with port: names, IPv4, and IPv6 in brackets (RFC 3986,
/// section 3.2.2, without escapes).
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']')
}

/// Decodes `%41` and `+`. Invalid escapes stay unchanged; bytes that are not UTF-8 are replaced.
pub fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                bytes.push(hex_digit(*high) << 4 | hex_digit(*low));
                rest = after;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The value of a hexadecimal digit.
fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0b10_0000) - b'a' + 10,
    }
}

/// Maximum characters of a header name in a [`Refusal::detail`]: enough for every registered name.
const NAME_CHARS: usize = 64;

/// Decides whether a request may announce a body.
type BodyAllowed = fn(&RequestHead) -> bool;

/// Reads one request head.
#[derive(Clone, Debug)]
pub struct HeadReader {
    limits: HeadLimits,
    body_allowed: BodyAllowed,
    lines: LineReader,
    /// The request line and the headers received so far.
    head: Option<RequestHead>,
    rest: Vec<u8>,
    refused: Option<Refusal>,
    has_begun: bool,
}

impl HeadReader {
    /// Creates a reader that refuses requests with a body.
    pub fn new(limits: HeadLimits) -> HeadReader {
        HeadReader::with_body_rule(limits, |_| false)
    }

    /// Creates a reader that accepts a body if `takes_body` returns true, but never in an upgrade.
    /// The body follows in [`HeadReader::rest`] and on the connection; its length is
    /// [`RequestHead::content_length`].
    pub fn with_body_rule(limits: HeadLimits, takes_body: fn(&RequestHead) -> bool) -> HeadReader {
        let lines = LineReader::new(limits.bytes);
        let (rest, has_begun) = (Vec::new(), false);
        HeadReader { limits, body_allowed: takes_body, lines, head: None, rest, refused: None, has_begun }
    }

    /// Parses received bytes, and returns the head once it is complete. Bytes after the head are
    /// stored for [`HeadReader::rest`].
    ///
    /// # Errors
    /// The first violation. Later calls return the same refusal.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<RequestHead>, Refusal> {
        self.has_begun |= !bytes.is_empty();
        if let Some(refusal) = &self.refused {
            return Err(refusal.clone());
        }
        self.read(bytes).map_err(|violation| {
            let refusal = Refusal::with_detail(violation, self.detail(violation));
            self.refused = Some(refusal.clone());
            refusal
        })
    }

    /// The limit that was reached, and for a long head its largest part. Empty for other
    /// violations.
    fn detail(&self, violation: Violation) -> String {
        let HeadLimits { headers, target_bytes, .. } = self.limits;
        match violation {
            Violation::HeadTooLong => self.largest_part(),
            Violation::TargetTooLong => format!("The limit is {target_bytes} bytes."),
            Violation::TooManyHeaders => format!("The limit is {headers} headers."),
            _ => String::new(),
        }
    }

    /// Names the header or target with the most bytes, in a sentence. Contains a name, never a
    /// value.
    fn largest_part(&self) -> String {
        let mut parts: BTreeMap<String, usize> = BTreeMap::new();
        if let Some(RequestHead { target, headers, .. }) = &self.head {
            parts.insert("the target".to_owned(), target.len());
            for (name, value) in &headers.0 {
                *parts.entry(name.to_ascii_lowercase()).or_default() += name.len() + value.len();
            }
        }
        let line = self.lines.unfinished();
        let name = line.split(|&byte| byte == b':').next().filter(|name| is_token(name));
        let is_header = self.head.is_some() && name.is_some_and(|name| name.len() < line.len());
        let name = name.filter(|_| is_header).unwrap_or(b"an unfinished line");
        *parts.entry(String::from_utf8_lossy(name).to_ascii_lowercase()).or_default() += line.len();
        let (name, bytes) = parts.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap_or_default();
        let name: String = name.chars().take(NAME_CHARS).collect();
        format!(
            "Most of it is {name}: {bytes} bytes. The limit for the whole head is {} bytes.",
            self.limits.bytes
        )
    }

    /// Whether any bytes of a request were received. A connection without any bytes is closed
    /// without a response: browsers open spare connections, and would mistake the response for the
    /// answer to a later request (RFC 9112, section 9.2).
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The bytes after the head: the first frames of a client that did not wait for the response,
    /// or the start of a body.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }

    fn read(&mut self, mut bytes: &[u8]) -> Result<Option<RequestHead>, Violation> {
        while let Some(line) = self.lines.next_line(&mut bytes)? {
            match &mut self.head {
                None => self.head = Some(request_line(line, self.limits.target_bytes)?),
                Some(head) if !line.is_empty() => head.headers.push_line(line, self.limits.headers)?,
                Some(_) => {
                    self.rest.extend_from_slice(bytes);
                    return self.head.take().map(|head| head.check(self.body_allowed)).transpose();
                }
            }
        }
        Ok(None)
    }
}

/// Parses `GET /path?query HTTP/1.1` or `HTTP/1.0`: RFC 9112, section 3.
fn request_line(line: &[u8], target_bytes: usize) -> Result<RequestHead, Violation> {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Violation::RequestLine);
    };
    if !is_token(method) || !target.iter().all(u8::is_ascii_graphic) || !version.starts_with(b"HTTP/") {
        return Err(Violation::RequestLine);
    }
    let is_http_1_0 = version == VERSION_1_0.as_bytes();
    if !is_http_1_0 && version != VERSION.as_bytes() {
        return Err(Violation::HttpVersion);
    }
    if target.len() > target_bytes {
        return Err(Violation::TargetTooLong);
    }
    if !target.starts_with(b"/") || target.contains(&b'#') {
        return Err(Violation::TargetForm);
    }
    Ok(RequestHead {
        method: String::from_utf8_lossy(method).into_owned(),
        target: String::from_utf8_lossy(target).into_owned(),
        is_http_1_0,
        headers: Headers::default(),
    })
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status: a number of three digits.
    pub status: u16,
    /// The header lines.
    pub headers: Headers,
}

/// Reads one response head, for the client's part of the handshake.
#[derive(Clone, Debug)]
pub struct ResponseReader {
    limits: HeadLimits,
    lines: LineReader,
    head: Option<ResponseHead>,
    rest: Vec<u8>,
}

impl ResponseReader {
    /// Creates a reader that waits for the first byte.
    pub fn new(limits: HeadLimits) -> ResponseReader {
        ResponseReader { limits, lines: LineReader::new(limits.bytes), head: None, rest: Vec::new() }
    }

    /// Parses received bytes, and returns the head once it is complete. Bytes after the head are
    /// stored for [`ResponseReader::rest`].
    ///
    /// # Errors
    /// The first violation. The reader must not be used afterwards.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Result<Option<ResponseHead>, Violation> {
        // An invalid first byte is reported as an invalid status line, because this is a response.
        let of_answer = |rule| if rule == Violation::NotHttp { Violation::StatusLine } else { rule };
        while let Some(line) = self.lines.next_line(&mut bytes).map_err(of_answer)? {
            match &mut self.head {
                None => self.head = Some(status_line(line)?),
                Some(head) if !line.is_empty() => head.headers.push_line(line, self.limits.headers)?,
                Some(_) => {
                    self.rest.extend_from_slice(bytes);
                    return Ok(self.head.take());
                }
            }
        }
        Ok(None)
    }

    /// The bytes after the head: the first frames from the server.
    pub fn rest(&self) -> &[u8] {
        &self.rest
    }
}

/// Parses `HTTP/1.1 101 Switching Protocols`: RFC 9112, section 4. The reason phrase may be
/// missing.
fn status_line(line: &[u8]) -> Result<ResponseHead, Violation> {
    let rest = line.strip_prefix(VERSION.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
    let digits = match rest {
        Some([digits @ .., b' ']) if digits.len() == 3 => digits,
        Some(rest) => rest.split(|&byte| byte == b' ').next().unwrap_or_default(),
        None => return Err(Violation::StatusLine),
    };
    match digits {
        [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
            let status = digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
            Ok(ResponseHead { status, headers: Headers::default() })
        }
        _ => Err(Violation::StatusLine),
    }
}
