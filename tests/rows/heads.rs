//! Rows of request heads, and how the server handles them.
//!
//! Most rows are the example of RFC 6455 section 1.2 with a path of this server and one change.
//! Rows about ambiguous HTTP are in `heads_http.rs`, rows about the upgrade itself in
//! `heads_upgrade.rs`.

#![allow(dead_code, reason = "each test program uses its part")]

use super::{heads_http, heads_upgrade};
use tickwire::ws::Violation::{self, *};

/// How a row differs from the request that is right in everything.
pub enum Head {
    /// All of the bytes.
    Raw(&'static [u8]),
    /// Another first line.
    FirstLine(&'static str),
    /// These lines more, as they are.
    With(&'static str),
    /// Without the header of this name.
    Without(&'static str),
    /// With this line in place of the header of the same name.
    Instead(&'static str),
    /// With this header as often as said.
    Times(usize, &'static str),
    /// This byte as often as said, after the bytes that are given.
    Long(&'static str, u8, usize),
}

use Head::{FirstLine, Instead, Long, Raw, Times, With, Without};

/// The subprotocol agreed on, or the status and the rule.
pub type Expected = Result<Option<&'static str>, (u16, Violation)>;

/// The subprotocols that the server of the rows knows.
pub const KNOWN: &[&str] = &["tickwire.v1"];
/// The origin that it allows.
pub const ALLOWED: &str = "https://game.example";

/// The lines of the request that is right in everything.
pub const RIGHT: &[&str] = &[
    "GET /play HTTP/1.1",
    "Host: server.example.com",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
];

/// Name with its section, the request, what comes of it.
pub type Row = (&'static str, Head, Expected);

/// All rows of requests.
pub fn all() -> impl Iterator<Item = &'static Row> {
    [ROWS, heads_http::ROWS, heads_upgrade::ROWS].into_iter().flatten()
}

/// The bytes of a request.
pub fn bytes_of(head: &Head) -> Vec<u8> {
    let mut lines: Vec<&str> = RIGHT.to_vec();
    let mut more = String::new();
    match head {
        Raw(bytes) => return bytes.to_vec(),
        Long(front, byte, times) => {
            let mut bytes = front.as_bytes().to_vec();
            bytes.extend(std::iter::repeat_n(byte, *times));
            bytes.extend(b" HTTP/1.1\r\n\r\n");
            return bytes;
        }
        FirstLine(line) => lines[0] = line,
        With(text) => more.push_str(text),
        Times(times, line) => more = format!("{line}\r\n").repeat(*times),
        Without(name) => lines.retain(|line| !has_name(line, name)),
        Instead(line) => {
            let name = line.split(':').next().unwrap_or_default().trim();
            let at = lines.iter().position(|known| has_name(known, name)).expect("a line to replace");
            lines[at] = line;
        }
    }
    format!("{}\r\n{more}\r\n", lines.join("\r\n")).into_bytes()
}

fn has_name(line: &str, name: &str) -> bool {
    line.split_once(':').is_some_and(|(known, _)| known.eq_ignore_ascii_case(name))
}

/// The rows of what every request meets.
pub const ROWS: &[Row] = &[
    // RFC 6455 1.2 and 4.2.1: requests that are right.
    ("1.2 the example", With(""), Ok(None)),
    ("4.2.1 a list in Connection", Instead("Connection: keep-alive, Upgrade"), Ok(None)),
    ("4.2.1 odd case in Connection", Instead("Connection: uPgRaDe"), Ok(None)),
    ("4.2.1 odd case in Upgrade", Instead("Upgrade: WebSocket"), Ok(None)),
    ("4.2.1 odd case in names", Instead("UPGRADE: websocket"), Ok(None)),
    ("4.2.1 empty list elements", Instead("Connection: ,, keep-alive ,\tUpgrade ,"), Ok(None)),
    ("4.2.1 Connection on two lines", With("Connection: keep-alive\r\n"), Ok(None)),
    ("4.2.1 Upgrade is a list", Instead("Upgrade: h2c, websocket"), Ok(None)),
    ("4.2.1 any query", FirstLine("GET /play?x=1&y=%26&%20=b%20c&bad=%zz HTTP/1.1"), Ok(None)),
    ("4.2.1 host with port", Instead("Host: [::1]:3000"), Ok(None)),
    ("4.2.1 no space after the colon", Instead("Sec-WebSocket-Version:13"), Ok(None)),
    ("4.2.1 spaces and tabs around a value", Instead("Sec-WebSocket-Version: \t 13 \t"), Ok(None)),
    ("4.2.1 unknown headers", With("Cookie: a=1; b=\"2\"\r\nX-Empty:\r\n"), Ok(None)),
    (
        "9.1 extensions offered are ignored",
        With("Sec-WebSocket-Extensions: permessage-deflate; x\r\n"),
        Ok(None),
    ),
    ("9110 5.5 bytes beyond ASCII in a value", With("Cookie: na\u{ef}ve=\u{1f980}\r\n"), Ok(None)),
    ("9110 8.6 Content-Length 0", With("Content-Length: 0\r\n"), Ok(None)),
    ("6585 5 64 headers", Times(59, "X-Filler: a"), Ok(None)),
    // RFC 9112 3: the first bytes.
    ("9112 3 TLS hello", Raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), Err((400, NotHttp))),
    ("9112 3 a frame", Raw(b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"), Err((400, NotHttp))),
    ("9112 3 nul", Raw(b"\0"), Err((400, NotHttp))),
    ("9112 3 space first", Raw(b" GET / HTTP/1.1\r\n"), Err((400, NotHttp))),
    ("9112 3 empty line first", Raw(b"\r\nGET / HTTP/1.1\r\n"), Err((400, NotHttp))),
    ("9112 3 two words", FirstLine("GET /"), Err((400, RequestLine))),
    ("9112 3 one word", FirstLine("GET"), Err((400, RequestLine))),
    ("9112 3 four words", FirstLine("GET / HTTP/1.1 more"), Err((400, RequestLine))),
    ("9112 3 two spaces", FirstLine("GET  / HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 space last", FirstLine("GET / HTTP/1.1 "), Err((400, RequestLine))),
    ("9112 3 tab instead of space", FirstLine("GET\t/\tHTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 target beyond ASCII", FirstLine("GET /caf\u{e9} HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 method that is no token", FirstLine("GE(T / HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 not HTTP after all", FirstLine("EHLO / SMTP/1.1"), Err((400, RequestLine))),
    ("9112 3 http in lower case", FirstLine("GET / http/1.1"), Err((400, RequestLine))),
    // The version.
    ("7.8 an upgrade in HTTP/1.0", FirstLine("GET / HTTP/1.0"), Err((426, UpgradeInHttp10))),
    ("15.6.6 HTTP/0.9", FirstLine("GET / HTTP/0.9"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/1.2", FirstLine("GET / HTTP/1.2"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/2.0", FirstLine("GET / HTTP/2.0"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/11", FirstLine("GET / HTTP/11"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/2 preface", Raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Err((505, HttpVersion))),
    // RFC 9112 3.2: the target.
    ("9112 3.2 absolute-form", FirstLine("GET http://server.example.com/ HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 authority-form", FirstLine("CONNECT server.example.com:80 HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 asterisk-form", FirstLine("OPTIONS * HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 fragment", FirstLine("GET /#top HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 no slash", FirstLine("GET chat HTTP/1.1"), Err((400, TargetForm))),
    ("6585 5 target too long", Long("GET /", b'a', 2048), Err((431, TargetTooLong))),
    // RFC 9112 2.2: lines.
    (
        "9112 2.2 bare LF after the first line",
        Raw(b"GET / HTTP/1.1\nHost: a\r\n\r\n"),
        Err((400, BareLineFeed)),
    ),
    ("9112 2.2 bare LF after a header", With("X: 1\nY: 2\r\n"), Err((400, BareLineFeed))),
    ("9112 2.2 bare CR in a value", With("X: 1\r2\r\n"), Err((400, BareCarriageReturn))),
    ("9112 2.2 two CRs", With("X: 1\r\r\n"), Err((400, BareCarriageReturn))),
    ("9112 2.2 CR at the end", Raw(b"GET / HTTP/1.1\r\nHost: a\r\n\rX"), Err((400, BareCarriageReturn))),
    ("9110 5.5 nul in a value", With("X: 1\x002\r\n"), Err((400, ControlCharacter))),
    ("9110 5.5 nul in a name", With("X\0: 1\r\n"), Err((400, ControlCharacter))),
    ("9110 5.5 nul in the target", FirstLine("GET /\0 HTTP/1.1"), Err((400, ControlCharacter))),
    ("9110 5.5 escape in a value", With("X: \x1b[2J\r\n"), Err((400, ControlCharacter))),
    ("9110 5.5 delete in a value", With("X: \x7f\r\n"), Err((400, ControlCharacter))),
    (
        "6585 5 head of 41 KiB in one header",
        Long("GET / HTTP/1.1\r\nX: ", b'a', 41 * 1024),
        Err((431, HeadTooLong)),
    ),
    ("6585 5 first line without an end", Long("", b'G', 40 * 1024 + 1), Err((431, HeadTooLong))),
    ("6585 5 65 headers", Times(60, "X-Filler: a"), Err((431, TooManyHeaders))),
    // RFC 9112 5: headers.
    ("9112 5.2 folded by a space", With("X: 1\r\n 2\r\n"), Err((400, HeaderFolded))),
    ("9112 5.2 folded by a tab", With("X: 1\r\n\t2\r\n"), Err((400, HeaderFolded))),
    (
        "9112 2.2 space before the first header",
        Raw(b"GET / HTTP/1.1\r\n Host: a\r\n"),
        Err((400, HeaderFolded)),
    ),
    ("9112 5.1 space before the colon", With("X : 1\r\n"), Err((400, SpaceBeforeColon))),
    ("9112 5.1 tab before the colon", With("X\t: 1\r\n"), Err((400, SpaceBeforeColon))),
    ("9112 5.1 Host with a space before its colon", Instead("Host : a"), Err((400, SpaceBeforeColon))),
    ("9112 5 no colon", With("X\r\n"), Err((400, HeaderName))),
    ("9112 5 no name", With(": 1\r\n"), Err((400, HeaderName))),
    ("9112 5 space within a name", With("X Y: 1\r\n"), Err((400, HeaderName))),
    ("9112 5 name beyond ASCII", With("X\u{e9}: 1\r\n"), Err((400, HeaderName))),
    ("9112 5 name with a bracket", With("X(: 1\r\n"), Err((400, HeaderName))),
    ("9110 5.3 Host twice", With("Host: server.example.com\r\n"), Err((400, HeaderRepeated))),
    ("9110 5.3 Host twice in odd case", With("hOST: other\r\n"), Err((400, HeaderRepeated))),
    (
        "9110 5.3 key twice",
        With("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("9110 5.3 version twice", With("Sec-WebSocket-Version: 13\r\n"), Err((400, HeaderRepeated))),
    ("9110 5.3 Origin twice", With("Origin: a\r\nOrigin: a\r\n"), Err((400, HeaderRepeated))),
    (
        "9110 5.3 Content-Length twice",
        With("Content-Length: 0\r\nContent-Length: 0\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("9112 3.2 no Host", Without("Host"), Err((400, HostMissing))),
    ("9112 3.2 empty Host", Instead("Host:"), Err((400, HostMalformed))),
    ("9112 3.2 Host with a path", Instead("Host: a/b"), Err((400, HostMalformed))),
    ("9112 3.2 Host with a user", Instead("Host: user@a"), Err((400, HostMalformed))),
    ("9112 3.2 two hosts in one", Instead("Host: a, b"), Err((400, HostMalformed))),
    // Bodies.
    ("9112 6.1 chunked", With("Transfer-Encoding: chunked\r\n"), Err((400, TransferEncoding))),
    ("9112 6.1 identity", With("transfer-encoding: identity\r\n"), Err((400, TransferEncoding))),
    ("9112 6.3 one byte of body", With("Content-Length: 1\r\n"), Err((400, BodyAnnounced))),
    (
        "9112 6.3 a body beyond any number",
        With("Content-Length: 99999999999999999999999\r\n"),
        Err((400, BodyAnnounced)),
    ),
    ("9110 8.6 plus sign", With("Content-Length: +0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 minus sign", With("Content-Length: -0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 underscore", With("Content-Length: 0_0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 hexadecimal", With("Content-Length: 0x0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 a list", With("Content-Length: 0, 0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 empty", With("Content-Length:\r\n"), Err((400, ContentLengthMalformed))),
    (
        "9110 8.6 digits of another script",
        With("Content-Length: \u{660}\r\n"),
        Err((400, ContentLengthMalformed)),
    ),
    // RFC 6455 4.2.1: the upgrade.
    ("4.2.1 POST", FirstLine("POST / HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 HEAD", FirstLine("HEAD / HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 get in lower case", FirstLine("get / HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 no Upgrade", Without("Upgrade"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade to something else", Instead("Upgrade: h2c"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade to something like it", Instead("Upgrade: websockets"), Err((426, UpgradeMissing))),
    ("4.2.1 no Connection", Without("Connection"), Err((400, ConnectionMissing))),
    ("4.2.1 Connection keep-alive", Instead("Connection: keep-alive"), Err((400, ConnectionMissing))),
    (
        "4.2.1 Connection that contains the word",
        Instead("Connection: no-upgrade"),
        Err((400, ConnectionMissing)),
    ),
    ("4.4 no version", Without("Sec-WebSocket-Version"), Err((426, VersionNot13))),
    ("4.4 version 8", Instead("Sec-WebSocket-Version: 8"), Err((426, VersionNot13))),
    ("4.4 version 013", Instead("Sec-WebSocket-Version: 013"), Err((426, VersionNot13))),
    ("4.4 a list of versions", Instead("Sec-WebSocket-Version: 13, 8"), Err((426, VersionNot13))),
    ("4.2.1 no key", Without("Sec-WebSocket-Key"), Err((400, KeyMissing))),
    ("4.2.1 empty key", Instead("Sec-WebSocket-Key:"), Err((400, KeyMalformed))),
    ("4.2.1 key of 15 bytes", Instead("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAA"), Err((400, KeyMalformed))),
    (
        "4.2.1 key of 17 bytes",
        Instead("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAA="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key without padding",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key in the URL alphabet",
        Instead("Sec-WebSocket-Key: ____________________AA=="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key with a space",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBs ZSBub25jZQ=="),
        Err((400, KeyMalformed)),
    ),
    // RFC 6455 11.3.4: subprotocols.
    ("11.3.4 one that is known", With("Sec-WebSocket-Protocol: tickwire.v1\r\n"), Ok(Some("tickwire.v1"))),
    ("11.3.4 none that is known", With("Sec-WebSocket-Protocol: chat, superchat\r\n"), Ok(None)),
    (
        "11.3.4 the first that is known",
        With("Sec-WebSocket-Protocol: x, tickwire.v2, tickwire.v1\r\n"),
        Ok(Some("tickwire.v1")),
    ),
    (
        "11.3.4 on two lines",
        With("Sec-WebSocket-Protocol: x\r\nSec-WebSocket-Protocol: tickwire.v1\r\n"),
        Ok(Some("tickwire.v1")),
    ),
    ("11.3.4 case counts", With("Sec-WebSocket-Protocol: Tickwire.V1\r\n"), Ok(None)),
    (
        "11.3.4 16 of them",
        With("Sec-WebSocket-Protocol: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,tickwire.v1\r\n"),
        Ok(Some("tickwire.v1")),
    ),
    (
        "10.4 17 of them",
        With("Sec-WebSocket-Protocol: a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q\r\n"),
        Err((400, TooManySubprotocols)),
    ),
    (
        "11.3.4 one that is no token",
        With("Sec-WebSocket-Protocol: tickwire.v1, a b\r\n"),
        Err((400, SubprotocolMalformed)),
    ),
    // RFC 6455 10.2: the origin.
    ("10.2 an origin that is allowed", With("Origin: https://game.example\r\n"), Ok(None)),
    ("10.2 in odd case", With("Origin: HTTPS://Game.Example\r\n"), Ok(None)),
    ("10.2 another origin", With("Origin: https://evil.example\r\n"), Err((403, OriginForbidden))),
    (
        "10.2 an origin that begins alike",
        With("Origin: https://game.example.evil\r\n"),
        Err((403, OriginForbidden)),
    ),
    ("10.2 another port", With("Origin: https://game.example:8443\r\n"), Err((403, OriginForbidden))),
    ("10.2 null", With("Origin: null\r\n"), Err((403, OriginForbidden))),
];
