//! Rows of request heads that two HTTP parsers could interpret differently: the end of a line,
//! which of two headers counts, the start of the body. Each is refused, or has only one
//! interpretation.

#![allow(dead_code, reason = "each test program uses its part")]

use super::heads::Head::{FirstLine, Instead, Raw, Times, With};
use super::heads::Row;
use tickwire::ws::Violation::*;

/// The rows.
pub const ROWS: &[Row] = &[
    // RFC 9112 3: bytes of other protocols.
    ("9112 3 TLS 1.3 hello", Raw(b"\x16\x03\x03\x00\x7a\x01\x00\x00\x76\x03\x03"), Err((400, NotHttp))),
    ("9112 3 SSL 2 hello", Raw(b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10"), Err((400, NotHttp))),
    ("9112 3 SOCKS 5", Raw(b"\x05\x01\x00"), Err((400, NotHttp))),
    ("9112 3 JSON", Raw(b"{\"type\":\"hello\"}\r\n"), Err((400, NotHttp))),
    ("9112 3 byte order mark", Raw(b"\xef\xbb\xbfGET / HTTP/1.1\r\n\r\n"), Err((400, NotHttp))),
    ("9112 3 LF first", Raw(b"\nGET / HTTP/1.1\r\n"), Err((400, NotHttp))),
    ("9112 3 PROXY protocol, version 2", Raw(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"), Err((400, NotHttp))),
    (
        "9112 3 PROXY protocol, version 1",
        Raw(b"PROXY TCP4 192.0.2.1 192.0.2.2 5600 3000\r\nGET / HTTP/1.1\r\n"),
        Err((400, RequestLine)),
    ),
    ("9112 3 SSH", Raw(b"SSH-2.0-OpenSSH_9.2\r\n"), Err((400, RequestLine))),
    ("9112 3 a word and an empty line", Raw(b"HELP\r\n\r\n"), Err((400, RequestLine))),
    ("9112 3 RTSP", FirstLine("OPTIONS * RTSP/1.0"), Err((400, RequestLine))),
    ("9112 3 SIP", FirstLine("INVITE sip:ann@a SIP/2.0"), Err((400, RequestLine))),
    ("9112 3 space in the target", FirstLine("GET /pl ay HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 no-break space in the target", FirstLine("GET /\u{a0} HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 tab in the target", FirstLine("GET /\t HTTP/1.1"), Err((400, RequestLine))),
    ("9112 3 the version first", FirstLine("HTTP/1.1 GET /"), Err((400, RequestLine))),
    ("9112 3 a space within the version", FirstLine("GET / HTTP/ 1.1"), Err((400, RequestLine))),
    ("9112 3 a method with a slash", FirstLine("GET/ /play HTTP/1.1"), Err((400, RequestLine))),
    // The version of HTTP.
    ("15.6.6 HTTP/1.10", FirstLine("GET / HTTP/1.10"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/01.1", FirstLine("GET / HTTP/01.1"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/1.1 and a letter", FirstLine("GET / HTTP/1.1x"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/1,1", FirstLine("GET / HTTP/1,1"), Err((505, HttpVersion))),
    ("15.6.6 HTTP/3", FirstLine("GET / HTTP/3"), Err((505, HttpVersion))),
    ("15.6.6 HTTP without a version", FirstLine("GET / HTTP/"), Err((505, HttpVersion))),
    (
        "15.6.6 HTTP/1.9 with keep-alive",
        Raw(b"GET / HTTP/1.9\r\nConnection: keep-alive\r\n\r\n"),
        Err((505, HttpVersion)),
    ),
    ("3.2.2 absolute-form and HTTP/1.0", FirstLine("GET http://a/ HTTP/1.0"), Err((400, TargetForm))),
    // RFC 9112 3.2: the target.
    ("9112 3.2 absolute-form with https", FirstLine("GET https://a/play HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 absolute-form with ws", FirstLine("GET ws://a/play HTTP/1.1"), Err((400, TargetForm))),
    (
        "9112 3.2 authority-form with GET",
        FirstLine("GET server.example.com:80 HTTP/1.1"),
        Err((400, TargetForm)),
    ),
    ("9112 3.2 CONNECT to an address", FirstLine("CONNECT [::1]:443 HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 asterisk-form with GET", FirstLine("GET * HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 a query alone", FirstLine("GET ?x=1 HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 a backslash first", FirstLine("GET \\play HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 an empty fragment", FirstLine("GET /play# HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 a fragment in the query", FirstLine("GET /play?x=#1 HTTP/1.1"), Err((400, TargetForm))),
    ("9112 3.2 odd signs in the query", FirstLine("GET /play?<\\>=\"{|}^`~' HTTP/1.1"), Ok(None)),
    // RFC 9112 2.2: where a line ends.
    ("9112 2.2 LF everywhere", Raw(b"GET / HTTP/1.1\nHost: a\n\n"), Err((400, BareLineFeed))),
    (
        "9112 2.2 the last line ends with LF",
        Raw(b"GET / HTTP/1.1\r\nHost: a\r\n\n"),
        Err((400, BareLineFeed)),
    ),
    ("9112 2.2 LF before CR", With("X: 1\n\r2\r\n"), Err((400, BareLineFeed))),
    ("9112 2.2 LF hides a header", With("X: 1\nTransfer-Encoding: chunked\r\n"), Err((400, BareLineFeed))),
    ("9112 2.2 LF in the first line", FirstLine("GET /\n HTTP/1.1"), Err((400, BareLineFeed))),
    ("9112 2.2 CR everywhere", Raw(b"GET / HTTP/1.1\rHost: a\r\r"), Err((400, BareCarriageReturn))),
    ("9112 2.2 CR in the first line", FirstLine("GET /\r HTTP/1.1"), Err((400, BareCarriageReturn))),
    (
        "9112 2.2 CR hides a header",
        With("X: 1\rTransfer-Encoding: chunked\r\n"),
        Err((400, BareCarriageReturn)),
    ),
    ("9112 2.2 CR in a name", With("X\rY: 1\r\n"), Err((400, BareCarriageReturn))),
    ("9112 2.2 CR and nul", With("X: 1\r\0\n"), Err((400, BareCarriageReturn))),
    ("9112 2.2 CR, space, LF", With("X: 1\r \n"), Err((400, BareCarriageReturn))),
    ("9110 5.5 vertical tab in a value", With("X: 1\x0b2\r\n"), Err((400, ControlCharacter))),
    ("9110 5.5 form feed in a value", With("X: 1\x0c2\r\n"), Err((400, ControlCharacter))),
    ("9110 5.5 bell in a name", With("X\x07: 1\r\n"), Err((400, ControlCharacter))),
    (
        "9110 5.5 vertical tab after the colon",
        With("Transfer-Encoding:\x0bchunked\r\n"),
        Err((400, ControlCharacter)),
    ),
    ("9110 5.5 nul at the end of a value", Instead("Host: a\0"), Err((400, ControlCharacter))),
    ("9110 5.5 backspace in the target", FirstLine("GET /\x08 HTTP/1.1"), Err((400, ControlCharacter))),
    ("9110 5.5 control characters beyond ASCII are text", With("X: \u{85}\u{9b}\r\n"), Ok(None)),
    ("9110 5.5 a tab within a value", With("X: 1\t2\r\n"), Ok(None)),
    // RFC 9112 5: names and folding.
    ("9112 5.2 a line of one space", With("X: 1\r\n \r\n"), Err((400, HeaderFolded))),
    ("9112 5.2 a line of one tab", With("X: 1\r\n\t\r\n"), Err((400, HeaderFolded))),
    ("9112 5.2 folded Host", Instead("Host:\r\n server.example.com"), Err((400, HeaderFolded))),
    ("9112 5.2 folded Connection", Instead("Connection: keep-alive,\r\n Upgrade"), Err((400, HeaderFolded))),
    (
        "9112 5.2 folded key",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBs\r\n\tZSBub25jZQ=="),
        Err((400, HeaderFolded)),
    ),
    (
        "9112 5.2 folding hides a header",
        With("X: 1\r\n\tTransfer-Encoding: chunked\r\n"),
        Err((400, HeaderFolded)),
    ),
    ("9112 5.1 space hides a length", With("Content-Length : 5\r\n"), Err((400, SpaceBeforeColon))),
    (
        "9112 5.1 tab hides an encoding",
        With("Transfer-Encoding\t: chunked\r\n"),
        Err((400, SpaceBeforeColon)),
    ),
    ("9112 5.1 two spaces before the colon", With("X  : 1\r\n"), Err((400, SpaceBeforeColon))),
    ("9112 5 quotes around a name", With("\"X\": 1\r\n"), Err((400, HeaderName))),
    ("9112 5 equals sign instead of a colon", With("X=1\r\n"), Err((400, HeaderName))),
    ("9112 5 a name of one colon", With("::\r\n"), Err((400, HeaderName))),
    ("9112 5 a name with a slash", With("X/Y: 1\r\n"), Err((400, HeaderName))),
    ("9112 5 a second first line", With("GET / HTTP/1.1\r\n"), Err((400, HeaderName))),
    ("9112 5 every sign that a token may have", With("!#$%&'*+-.^_`|~09azAZ: 1\r\n"), Ok(None)),
    (
        "9112 5 underscores are not hyphens",
        With("Transfer_Encoding: chunked\r\nContent_Length: 5\r\n"),
        Ok(None),
    ),
    ("9112 5 colons in a value", With("X: a:b::c\r\n"), Ok(None)),
    ("9112 5 an empty value of spaces", With("X: \t  \r\n"), Ok(None)),
    // RFC 9110 5.3 and 9112 3.2: which of two counts.
    ("9110 5.3 another Host", With("Host: evil.example\r\n"), Err((400, HeaderRepeated))),
    ("9110 5.3 an empty second Host", With("Host:\r\n"), Err((400, HeaderRepeated))),
    ("9110 5.3 two lengths", With("Content-Length: 0\r\nContent-Length: 5\r\n"), Err((400, HeaderRepeated))),
    (
        "9110 5.3 a length in odd case",
        With("Content-Length: 0\r\nCONTENT-LENGTH: 5\r\n"),
        Err((400, HeaderRepeated)),
    ),
    (
        "9110 5.3 two encodings",
        With("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"),
        Err((400, HeaderRepeated)),
    ),
    (
        "9110 5.3 Authorization twice",
        With("Authorization: a\r\nAuthorization: b\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("9110 5.3 Cookie twice", With("Cookie: a=1\r\nCookie: b=2\r\n"), Ok(None)),
    ("9112 3.2 Host of one space", Instead("Host: \t"), Err((400, HostMalformed))),
    ("9112 3.2 a space within the Host", Instead("Host: a b"), Err((400, HostMalformed))),
    ("9112 3.2 Host with an escape", Instead("Host: a%2eb"), Err((400, HostMalformed))),
    ("9112 3.2 Host with a query", Instead("Host: a?b"), Err((400, HostMalformed))),
    ("9112 3.2 Host with a backslash", Instead("Host: a\\b"), Err((400, HostMalformed))),
    ("9112 3.2 Host beyond ASCII", Instead("Host: b\u{fc}cher.example"), Err((400, HostMalformed))),
    ("9112 3.2 Host with a scheme", Instead("Host: http://a"), Err((400, HostMalformed))),
    // Bodies.
    (
        "9112 6.1 chunked and a length",
        With("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
        Err((400, TransferEncoding)),
    ),
    (
        "9112 6.1 a length of 0 and chunked",
        With("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
        Err((400, TransferEncoding)),
    ),
    ("9112 6.1 chunked in odd case", With("tRaNsFeR-eNcOdInG: cHuNkEd\r\n"), Err((400, TransferEncoding))),
    ("9112 6.1 gzip, chunked", With("Transfer-Encoding: gzip, chunked\r\n"), Err((400, TransferEncoding))),
    ("9112 6.1 an empty encoding", With("Transfer-Encoding:\r\n"), Err((400, TransferEncoding))),
    (
        "9112 6.1 an encoding that nobody knows",
        With("Transfer-Encoding: xchunked\r\n"),
        Err((400, TransferEncoding)),
    ),
    ("9112 6.3 a body that is there", With("Content-Length: 5\r\n\r\nhello"), Err((400, BodyAnnounced))),
    (
        "9112 6.3 a second request as body",
        With("Content-Length: 18\r\n\r\nGET / HTTP/1.1\r\n"),
        Err((400, BodyAnnounced)),
    ),
    (
        "9112 6.3 a length beyond 64 bits",
        With("Content-Length: 18446744073709551616\r\n"),
        Err((400, BodyAnnounced)),
    ),
    ("9112 6.3 a length that wraps to 0", With("Content-Length: 4294967296\r\n"), Err((400, BodyAnnounced))),
    ("9110 8.6 plus and a digit", With("Content-Length: +5\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 minus and a digit", With("Content-Length: -5\r\n"), Err((400, ContentLengthMalformed))),
    (
        "9110 8.6 an underscore between digits",
        With("Content-Length: 1_0\r\n"),
        Err((400, ContentLengthMalformed)),
    ),
    ("9110 8.6 a space between digits", With("Content-Length: 0 0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 a fraction", With("Content-Length: 0.0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 an exponent", With("Content-Length: 0e0\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 quotes", With("Content-Length: \"0\"\r\n"), Err((400, ContentLengthMalformed))),
    (
        "9110 8.6 two different lengths in one",
        With("Content-Length: 0, 5\r\n"),
        Err((400, ContentLengthMalformed)),
    ),
    ("9110 8.6 fullwidth digits", With("Content-Length: \u{ff10}\r\n"), Err((400, ContentLengthMalformed))),
    ("9110 8.6 many zeros", With("Content-Length: 0000000000000000000000000\r\n"), Ok(None)),
    ("9110 8.6 tabs around the length", With("Content-Length:\t0\t\r\n"), Ok(None)),
    // RFC 6585 5: how much.
    ("6585 5 head of 41 KiB in 58 headers", Times(58, FILLER_710), Err((431, HeadTooLong))),
    ("6585 5 65 headers, the last folded", Raw(MANY_THEN_FOLDED), Err((400, HeaderFolded))),
    ("6585 5 200 headers", Times(200, "X:"), Err((431, TooManyHeaders))),
    ("9112 5 59 headers without a name", Times(59, ":"), Err((400, HeaderName))),
];

/// A hundred letters.
macro_rules! hundred {
    () => {
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    };
}

/// A header of 710 bytes.
const FILLER_710: &str =
    concat!("X-Filler: ", hundred!(), hundred!(), hundred!(), hundred!(), hundred!(), hundred!(), hundred!());

const MANY_THEN_FOLDED: &[u8] = b"GET / HTTP/1.1\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\
    A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n\
    A:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\nA:\r\n x\r\n";
