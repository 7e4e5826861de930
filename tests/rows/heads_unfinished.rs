//! Incomplete heads that break no rule: the server waits, and sends nothing when the peer
//! disconnects. Also a request that another one follows immediately.

#![allow(dead_code, reason = "each test program uses its part")]

use super::heads::Head::Raw;
use super::heads::Row;

/// Name, and the bytes after which more must come.
pub const ROWS: &[(&str, &[u8])] = &[
    ("9112 3 a letter", b"G"),
    ("9112 3 half a first line", b"GET /play HT"),
    ("9112 2.2 CR without its LF", b"GET /play HTTP/1.1\r"),
    ("9112 2.2 the first line", b"GET /play HTTP/1.1\r\n"),
    ("9112 2.2 half a header", b"GET /play HTTP/1.1\r\nHost: serv"),
    ("9112 2.2 no empty line", b"GET /play HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n"),
    ("9112 2.2 half an empty line", b"GET /play HTTP/1.1\r\nHost: server.example.com\r\n\r"),
];

/// What follows an upgrade are frames, whatever it looks like: the bytes of the second request break a rule of frames.
pub const PIPELINED: &[Row] = &[
    (
        "4.2.2 a second upgrade behind the first",
        Raw(b"GET /play HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n\
              GET /play HTTP/1.1\r\nHost: a\r\n\r\n"),
        Ok(None),
    ),
    (
        "4.2.2 a request for a page behind the upgrade",
        Raw(b"GET /play HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
              Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n\
              POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nstop"),
        Ok(None),
    ),
];
