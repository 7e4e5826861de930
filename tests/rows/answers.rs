//! Rows of responses to a client's request, and how the client handles them.

use tickwire::ws::Violation::{self, *};

/// The key that the client sent, and the subprotocols that it offered.
pub const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// What the client offered.
pub const OFFERED: &[&str] = &["chat", "superchat"];

/// Name with its section, the lines of the answer, and the subprotocol agreed on or the rule that was broken.
pub type Row = (&'static str, &'static [&'static str], Result<Option<&'static str>, Violation>);

const UPGRADE: &str = "Upgrade: websocket";
const CONNECTION: &str = "Connection: Upgrade";
const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const STATUS: &str = "HTTP/1.1 101 Switching Protocols";

/// The rows.
pub const ROWS: &[Row] = &[
    (
        "1.2 the example",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Protocol: chat"],
        Ok(Some("chat")),
    ),
    ("4.1 no subprotocol", &[STATUS, UPGRADE, CONNECTION, ACCEPT], Ok(None)),
    ("4.1 odd case", &[STATUS, "upgrade: WEBSOCKET", "CONNECTION: x, uPGRADE", ACCEPT], Ok(None)),
    ("9112 4 no words", &["HTTP/1.1 101", UPGRADE, CONNECTION, ACCEPT], Ok(None)),
    ("9112 4 a space and no words", &["HTTP/1.1 101 ", UPGRADE, CONNECTION, ACCEPT], Ok(None)),
    (
        "9112 4 other words",
        &["HTTP/1.1 101 Web Socket Protocol Handshake", UPGRADE, CONNECTION, ACCEPT],
        Ok(None),
    ),
    ("9112 4 HTTP/1.0", &["HTTP/1.0 101 Switching Protocols", UPGRADE, CONNECTION, ACCEPT], Err(StatusLine)),
    ("9112 4 no status", &["HTTP/1.1", UPGRADE, CONNECTION, ACCEPT], Err(StatusLine)),
    ("9112 4 two digits", &["HTTP/1.1 10 X", UPGRADE, CONNECTION, ACCEPT], Err(StatusLine)),
    ("9112 4 four digits", &["HTTP/1.1 1010 X", UPGRADE, CONNECTION, ACCEPT], Err(StatusLine)),
    ("9112 4 letters", &["HTTP/1.1 1o1 X", UPGRADE, CONNECTION, ACCEPT], Err(StatusLine)),
    ("9112 4 another protocol", &["SSH-2.0-x"], Err(StatusLine)),
    ("4.1 status 200", &["HTTP/1.1 200 OK", UPGRADE, CONNECTION, ACCEPT], Err(StatusNot101)),
    ("4.1 status 302", &["HTTP/1.1 302 Found", "Location: /"], Err(StatusNot101)),
    ("4.1 status 503", &["HTTP/1.1 503 Service Unavailable"], Err(StatusNot101)),
    ("4.1 no Upgrade", &[STATUS, CONNECTION, ACCEPT], Err(AnswerUpgradeMissing)),
    ("4.1 another Upgrade", &[STATUS, "Upgrade: h2c", CONNECTION, ACCEPT], Err(AnswerUpgradeMissing)),
    ("4.1 no Connection", &[STATUS, UPGRADE, ACCEPT], Err(AnswerConnectionMissing)),
    ("4.1 another Connection", &[STATUS, UPGRADE, "Connection: close", ACCEPT], Err(AnswerConnectionMissing)),
    ("4.1 no Accept", &[STATUS, UPGRADE, CONNECTION], Err(AcceptWrong)),
    ("4.1 another Accept", &[STATUS, UPGRADE, CONNECTION, "Sec-WebSocket-Accept: AAAA"], Err(AcceptWrong)),
    (
        "4.1 the key itself",
        &[STATUS, UPGRADE, CONNECTION, "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ=="],
        Err(AcceptWrong),
    ),
    (
        "4.1 Accept in odd case",
        &[STATUS, UPGRADE, CONNECTION, "Sec-WebSocket-Accept: S3PPLMBITXAQ9KYGZZHZRBK+XOO="],
        Err(AcceptWrong),
    ),
    (
        "4.1 an extension",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: permessage-deflate"],
        Err(ExtensionNotOffered),
    ),
    (
        "4.1 another subprotocol",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Protocol: mqtt"],
        Err(SubprotocolNotOffered),
    ),
    (
        "4.1 two subprotocols",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Protocol: chat, superchat"],
        Err(SubprotocolNotOffered),
    ),
    (
        "4.1 two lines of subprotocols",
        &[
            STATUS,
            UPGRADE,
            CONNECTION,
            ACCEPT,
            "Sec-WebSocket-Protocol: chat",
            "Sec-WebSocket-Protocol: chat",
        ],
        Err(SubprotocolNotOffered),
    ),
    ("9110 5.3 Accept twice", &[STATUS, UPGRADE, CONNECTION, ACCEPT, ACCEPT], Err(HeaderRepeated)),
    ("9112 5.2 folded", &[STATUS, UPGRADE, " x"], Err(HeaderFolded)),
];

/// Rows for a client that has offered compression without a limit. The agreement is read by the unit tests of `ws::extension`.
pub const TO_AN_OFFER: &[Row] = &[
    ("7692 7.1 no agreement", &[STATUS, UPGRADE, CONNECTION, ACCEPT], Ok(None)),
    (
        "7692 7.1 the default parameters",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: permessage-deflate"],
        Ok(None),
    ),
    (
        "7692 7.1 and a subprotocol",
        &[
            STATUS,
            UPGRADE,
            CONNECTION,
            ACCEPT,
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=9",
            "Sec-WebSocket-Protocol: chat",
        ],
        Ok(Some("chat")),
    ),
    (
        "7692 7.1 an unknown parameter",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: permessage-deflate; level=9"],
        Err(CompressionParameters),
    ),
    (
        "7692 7.1.2 a window of 16 bits",
        &[
            STATUS,
            UPGRADE,
            CONNECTION,
            ACCEPT,
            "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=16",
        ],
        Err(CompressionParameters),
    ),
    (
        "7692 7.1 another extension",
        &[STATUS, UPGRADE, CONNECTION, ACCEPT, "Sec-WebSocket-Extensions: permessage-bzip2"],
        Err(ExtensionNotOffered),
    ),
    (
        "7692 5 twice",
        &[
            STATUS,
            UPGRADE,
            CONNECTION,
            ACCEPT,
            "Sec-WebSocket-Extensions: permessage-deflate",
            "Sec-WebSocket-Extensions: permessage-deflate",
        ],
        Err(ExtensionNotOffered),
    ),
];
