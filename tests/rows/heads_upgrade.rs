//! Rows of request heads about the upgrade itself: tokens in lists and in mixed case, versions,
//! keys, subprotocols, origins.

#![allow(dead_code, reason = "each test program uses its part")]

use super::heads::Head::{FirstLine, Instead, With};
use super::heads::Row;
use tickwire::ws::Violation::*;

/// The rows.
pub const ROWS: &[Row] = &[
    // 4.2.1: tokens.
    ("4.2.1 Upgrade in capitals", Instead("UPGRADE: WEBSOCKET"), Ok(None)),
    ("4.2.1 Upgrade on two lines", With("Upgrade: h2c\r\n"), Ok(None)),
    ("4.2.1 Upgrade twice the same", Instead("Upgrade: websocket, websocket"), Ok(None)),
    ("4.2.1 an empty second Upgrade", With("Upgrade:\r\n"), Ok(None)),
    ("4.2.1 Connection closes and upgrades", Instead("Connection: close, Upgrade"), Ok(None)),
    ("4.2.1 Connection twice the same", Instead("Connection: upgrade,UPGRADE"), Ok(None)),
    ("4.2.1 Connection without spaces", Instead("cOnNeCtIoN:keep-alive,uPGRADE"), Ok(None)),
    ("4.2.1 Expect is ignored", With("Expect: 100-continue\r\n"), Ok(None)),
    ("4.2.1 empty Upgrade", Instead("Upgrade:"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade of commas", Instead("Upgrade: ,,,"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade with a version", Instead("Upgrade: websocket/13"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade of two words", Instead("Upgrade: web socket"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade in quotes", Instead("Upgrade: \"websocket\""), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade with a semicolon", Instead("Upgrade: websocket;x=1"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade in letters like it", Instead("Upgrade: web\u{17f}ocket"), Err((426, UpgradeMissing))),
    ("4.2.1 Upgrade with a no-break space", Instead("Upgrade: \u{a0}websocket"), Err((426, UpgradeMissing))),
    ("4.2.1 empty Connection", Instead("Connection:"), Err((400, ConnectionMissing))),
    ("4.2.1 Connection with a weight", Instead("Connection: Upgrade;q=1"), Err((400, ConnectionMissing))),
    (
        "4.2.1 Connection parted by a semicolon",
        Instead("Connection: keep-alive; Upgrade"),
        Err((400, ConnectionMissing)),
    ),
    ("4.2.1 Connection in quotes", Instead("Connection: \"Upgrade\""), Err((400, ConnectionMissing))),
    ("4.2.1 Connection with the plural", Instead("Connection: Upgrades"), Err((400, ConnectionMissing))),
    ("4.2.1 PUT", FirstLine("PUT /play HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 OPTIONS", FirstLine("OPTIONS /play HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 CONNECT as of RFC 8441", FirstLine("CONNECT /play HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 a method that nobody knows", FirstLine("GETS /play HTTP/1.1"), Err((405, MethodNotGet))),
    ("4.2.1 a method of signs", FirstLine("!#$ /play HTTP/1.1"), Err((405, MethodNotGet))),
    // 4.4: versions.
    ("4.4 version 0", Instead("Sec-WebSocket-Version: 0"), Err((426, VersionNot13))),
    ("4.4 version 7", Instead("Sec-WebSocket-Version: 7"), Err((426, VersionNot13))),
    ("4.4 version 14", Instead("Sec-WebSocket-Version: 14"), Err((426, VersionNot13))),
    ("4.4 version 269", Instead("Sec-WebSocket-Version: 269"), Err((426, VersionNot13))),
    ("4.4 plus sign", Instead("Sec-WebSocket-Version: +13"), Err((426, VersionNot13))),
    ("4.4 a fraction", Instead("Sec-WebSocket-Version: 13.0"), Err((426, VersionNot13))),
    ("4.4 a space between the digits", Instead("Sec-WebSocket-Version: 1 3"), Err((426, VersionNot13))),
    (
        "4.4 digits of another script",
        Instead("Sec-WebSocket-Version: \u{661}\u{663}"),
        Err((426, VersionNot13)),
    ),
    ("4.4 empty version", Instead("Sec-WebSocket-Version:"), Err((426, VersionNot13))),
    ("4.4 13 last in a list", Instead("Sec-WebSocket-Version: 8, 13"), Err((426, VersionNot13))),
    (
        "4.4 another version on a second line",
        With("Sec-WebSocket-Version: 8\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("4.4 version in odd case", Instead("SEC-WEBSOCKET-VERSION: 13"), Ok(None)),
    // 4.2.1: keys.
    ("4.2.1 key with spaces around", Instead("Sec-WebSocket-Key: \t dGhlIHNhbXBsZSBub25jZQ== "), Ok(None)),
    (
        "4.2.1 key with bits behind its end",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR=="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key with one sign of padding",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key with three signs of padding",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key of padding",
        Instead("Sec-WebSocket-Key: ========================"),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key of 24 bytes",
        Instead("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        Err((400, KeyMalformed)),
    ),
    ("4.2.1 key of 16 letters", Instead("Sec-WebSocket-Key: the sample nonce"), Err((400, KeyMalformed))),
    (
        "4.2.1 key in hexadecimal",
        Instead("Sec-WebSocket-Key: 7468652073616d706c65206e6f6e6365"),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 two keys in one",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ=="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key in quotes",
        Instead("Sec-WebSocket-Key: \"dGhlIHNhbXBsZSBub25jZQ==\""),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key with a tab",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ\tQ=="),
        Err((400, KeyMalformed)),
    ),
    (
        "4.2.1 key beyond ASCII",
        Instead("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\u{e9}=="),
        Err((400, KeyMalformed)),
    ),
    (
        "9110 5.3 the same key twice",
        With("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"),
        Err((400, HeaderRepeated)),
    ),
    (
        "9110 5.3 the server's header twice",
        With("Sec-WebSocket-Accept: a\r\nSec-WebSocket-Accept: a\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("4.2.1 the server's header once is ignored", With("Sec-WebSocket-Accept: a\r\n"), Ok(None)),
    // 9.1: extensions.
    (
        "9.1 extensions on two lines",
        With("Sec-WebSocket-Extensions: a\r\nSec-WebSocket-Extensions: b\r\n"),
        Ok(None),
    ),
    ("9.1 extensions that are none", With("Sec-WebSocket-Extensions: ;;=,\"\r\n"), Ok(None)),
    // 11.3.4: subprotocols.
    ("11.3.4 an empty list", With("Sec-WebSocket-Protocol: ,\r\n"), Ok(None)),
    (
        "11.3.4 the same twice",
        With("Sec-WebSocket-Protocol: tickwire.v1, tickwire.v1\r\n"),
        Ok(Some("tickwire.v1")),
    ),
    ("11.3.4 odd spaces", With("sec-websocket-protocol:\ttickwire.v1\t,x \r\n"), Ok(Some("tickwire.v1"))),
    ("11.3.4 one that begins alike", With("Sec-WebSocket-Protocol: tickwire.v12\r\n"), Ok(None)),
    (
        "11.3.4 in quotes",
        With("Sec-WebSocket-Protocol: \"tickwire.v1\"\r\n"),
        Err((400, SubprotocolMalformed)),
    ),
    (
        "11.3.4 with a slash",
        With("Sec-WebSocket-Protocol: tickwire/v1\r\n"),
        Err((400, SubprotocolMalformed)),
    ),
    (
        "11.3.4 beyond ASCII",
        With("Sec-WebSocket-Protocol: t\u{ef}ckwire\r\n"),
        Err((400, SubprotocolMalformed)),
    ),
    (
        "11.3.4 a bad one after a good one",
        With("Sec-WebSocket-Protocol: tickwire.v1\r\nSec-WebSocket-Protocol: (\r\n"),
        Err((400, SubprotocolMalformed)),
    ),
    (
        "10.4 17 of them on two lines",
        With("Sec-WebSocket-Protocol: a,b,c,d,e,f,g,h\r\nSec-WebSocket-Protocol: i,j,k,l,m,n,o,p,q\r\n"),
        Err((400, TooManySubprotocols)),
    ),
    // 10.2: origins.
    ("10.2 without encryption", With("Origin: http://game.example\r\n"), Err((403, OriginForbidden))),
    ("10.2 with a slash", With("Origin: https://game.example/\r\n"), Err((403, OriginForbidden))),
    ("10.2 with a dot at the end", With("Origin: https://game.example.\r\n"), Err((403, OriginForbidden))),
    ("10.2 an empty origin", With("Origin:\r\n"), Err((403, OriginForbidden))),
    (
        "10.2 two in one",
        With("Origin: https://game.example https://evil.example\r\n"),
        Err((403, OriginForbidden)),
    ),
    (
        "10.2 an origin that ends alike",
        With("Origin: https://evil-game.example\r\n"),
        Err((403, OriginForbidden)),
    ),
    ("10.2 the local machine", With("Origin: http://localhost:3000\r\n"), Err((403, OriginForbidden))),
    (
        "10.2 a second origin that is allowed",
        With("Origin: https://evil.example\r\nOrigin: https://game.example\r\n"),
        Err((400, HeaderRepeated)),
    ),
    ("10.2 a Referer is no origin", With("Referer: https://evil.example/\r\n"), Ok(None)),
];
