//! The requests that may see the inside, and the addresses behind proxies: by rows, without a socket.

use std::net::{IpAddr, SocketAddr};

use tickwire::internal::limits;
use tickwire::internal::server::admission::{Admission, Capacity};
use tickwire::internal::server::net::console::admin_token::AdminToken;
use tickwire::internal::server::net::forwarded::{self, CidrRange};
use tickwire::internal::server::net::server_state::ServerState;
use tickwire::internal::server::net::{ServerConfig, access, pages};
use tickwire::ws::http::{HeadReader, RequestHead};

const TOKEN: &str = "Authorization: Bearer a-token-of-the-test";

/// A host with a token and a listed origin.
fn host() -> ServerState {
    let mut config = ServerConfig::new(socket("127.0.0.1:0"));
    config.admin_token = AdminToken::new("a-token-of-the-test").expect("long enough");
    config.allowed_origins = vec!["https://listed.example".to_owned()];
    let room = config.room("", &config.identity);
    let rooms = vec![room.handle().clone()];
    ServerState::new(config, rooms, Admission::new(Capacity::default()), 1, (None, None))
}

fn head(lines: &str) -> RequestHead {
    head_of("/wire", lines)
}

fn head_of(target: &str, lines: &str) -> RequestHead {
    let bytes = format!("GET {target} HTTP/1.1\r\nHost: {lines}\r\n\r\n");
    HeadReader::new(limits::HEAD_LIMITS).receive(bytes.as_bytes()).expect("well formed").expect("complete")
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Whether a page of this origin may read the answer, and whether a cache knows that the origin matters.
fn shared(host: &ServerState, target: &str, origin: &str) -> (bool, bool) {
    let head = head_of(target, &format!("localhost:3000\r\nOrigin: {origin}"));
    let response = pages::respond(host, &head, socket("127.0.0.1:9"), false);
    let lines = String::from_utf8(response.head).expect("text");
    let allowed = lines.lines().find_map(|line| line.strip_prefix("Access-Control-Allow-Origin: "));
    (
        allowed.is_some_and(|allowed| allowed == "*" || allowed == origin),
        lines.contains("\r\nVary: Origin\r\n"),
    )
}

/// Paths that a page of another origin needs, also to report an error.
const SHARED: [&str; 14] = [
    "/codes.json",
    "/rules.json",
    "/tickwire.js",
    "/lib/codec.js",
    "/lib/sync-panel.js",
    "/wasm/prediction.wasm",
    "/wasm/tickwire.wasm",
    "/tickwire.d.ts",
    "/rooms?format=json",
    "/healthz",
    "/readyz",
    "/favicon.svg",
    "/play",
    "/no-such-file",
];

#[test]
fn a_page_whose_origin_may_play_may_read_what_it_needs_to_play() {
    let listed = host();
    let any = ServerState::new(
        ServerConfig::new(socket("127.0.0.1:0")),
        listed.rooms.all().iter().map(|room| room.handle.clone()).collect(),
        Admission::new(Capacity::default()),
        1,
        (None, None),
    );
    for target in SHARED {
        assert_eq!(shared(&listed, target, "https://listed.example"), (true, true), "{target}");
        assert_eq!(shared(&listed, target, "https://other.example"), (false, true), "{target}");
        assert_eq!(shared(&any, target, "https://other.example"), (true, false), "{target}");
        assert_eq!(shared(&any, target, "null"), (true, false), "{target}, from a file");
    }
    for target in ["/metrics", "/wire", "/admin", "/r/x/wire"] {
        for origin in ["https://listed.example", "https://other.example"] {
            assert!(!shared(&listed, target, origin).0, "{target}");
            assert!(!shared(&any, target, origin).0, "{target}");
        }
    }
}

#[test]
fn another_sites_page_is_refused_and_another_address_needs_the_token() {
    let host = host();
    let (missing, origin) = (Some((403, "inspector_token_missing")), Some((403, "inspector_origin")));
    let (near, far) = ("127.0.0.1:9", "203.0.113.9:9");
    for (address, lines, expected) in [
        (near, "localhost".to_owned(), None),
        ("127.0.0.2:9", "localhost".to_owned(), None),
        ("[::1]:9", "[::1]:3000".to_owned(), None),
        (far, "localhost".to_owned(), missing),
        // An origin is the server's own only if it names the host that was asked.
        (near, "localhost:3000\r\nOrigin: http://localhost:3000".to_owned(), None),
        (far, "localhost\r\nOrigin: http://localhost".to_owned(), missing),
        (near, "Play.example\r\nOrigin: https://play.EXAMPLE".to_owned(), missing),
        (near, "localhost:3000\r\nOrigin: http://localhost:8080".to_owned(), origin),
        (near, "localhost:3000\r\nOrigin: http://evil.example".to_owned(), origin),
        (near, format!("localhost:3000\r\nOrigin: http://evil.example\r\n{TOKEN}"), origin),
        (near, "localhost:3000\r\nOrigin: null".to_owned(), origin),
        (near, "localhost:3000\r\nOrigin: localhost:3000".to_owned(), origin),
        // An origin that the operator lists needs the token.
        (near, "localhost\r\nOrigin: https://listed.example".to_owned(), missing),
        (near, format!("localhost\r\nOrigin: https://listed.example\r\n{TOKEN}"), None),
        // The token is in a header, or in base64 as a subprotocol.
        (far, format!("localhost\r\n{TOKEN}"), None),
        (far, "a\r\nAuthorization: bearer  a-token-of-the-test ".to_owned(), None),
        (far, "a\r\nAuthorization: Bearer wrong".to_owned(), Some((401, "admin_token_wrong"))),
        (far, "a\r\nAuthorization: Basic a-token-of-the-test".to_owned(), missing),
        (far, "a\r\nSec-WebSocket-Protocol: x, bearer.YS10b2tlbi1vZi10aGUtdGVzdA".to_owned(), None),
        (far, "a\r\nAuthorization: Bearer".to_owned(), missing),
        (
            far,
            "a\r\nAuthorization: Basic eDp5\r\nSec-WebSocket-Protocol: bearer.YS10b2tlbi1vZi10aGUtdGVzdA"
                .to_owned(),
            None,
        ),
        (
            far,
            "a\r\nAuthorization: Bearer\r\nSec-WebSocket-Protocol: bearer.YS10b2tlbi1vZi10aGUtdGVzdA"
                .to_owned(),
            None,
        ),
        (far, "a\r\nSec-WebSocket-Protocol: x, bearer.***".to_owned(), missing),
        (far, "a\r\nSec-WebSocket-Protocol: x, bearer._w".to_owned(), missing),
        (far, "a\r\nSec-WebSocket-Protocol: x".to_owned(), missing),
    ] {
        let refused = access::check(&host, &head(&lines), socket(address)).err();
        assert_eq!(refused.map(|refused| (refused.status, refused.rule)), expected, "{address} {lines}");
    }
}

#[test]
fn this_machine_is_a_loopback_peer_and_host_without_a_proxy() {
    let near = "127.0.0.1:5000";
    for (peer, lines, proxies, expected) in [
        (near, "localhost:3000", "", true),
        ("[::1]:9", "[::1]:3000", "", true),
        // A name has no case, and any literal loopback address is safe from DNS rebinding.
        (near, "LOCALHOST:3000", "", true),
        (near, "LocalHost", "", true),
        (near, "127.0.0.2:41000", "", true),
        (near, "[0:0:0:0:0:0:0:1]:3000", "", true),
        ("203.0.113.9:5000", "localhost:3000", "", false),
        (near, "evil.example:3000", "", false),
        (near, "localhost.evil.example", "", false),
        (near, "127.0.0.1.evil.example", "", false),
        (near, "192.0.2.1:3000", "", false),
        (near, "[::2]", "", false),
        // A page of another origin is not this machine, wherever its browser runs.
        (near, "localhost:3000\r\nOrigin: http://localhost:3000", "", true),
        (near, "Localhost:3000\r\nOrigin: http://localhost:3000", "", true),
        (near, "localhost:3000\r\nOrigin: http://evil.example", "", false),
        (near, "localhost:3000\r\nOrigin: http://localhost:8080", "", false),
        (near, "localhost:3000\r\nOrigin: https://listed.example", "", false),
        (near, "localhost:3000\r\nOrigin: null", "", false),
        // A declared proxy is never this machine.
        (near, "localhost:3000", "127.0.0.1", false),
        (near, "localhost:3000", "127.0.0.0/8", false),
        (near, "localhost:3000", "127.0.0.2", true),
        (near, "localhost:3000", "::1", true),
        // Any proxy's header makes a request remote.
        (near, "localhost\r\nforwarded: for=203.0.113.9", "", false),
        (near, "localhost\r\nX-Forwarded-For: 203.0.113.9", "", false),
        (near, "localhost\r\nX-Forwarded-Host: play.example", "", false),
        (near, "localhost\r\nX-Forwarded-Proto: https", "", false),
        (near, "localhost\r\nX-Forwarded-Port: 443", "", false),
        (near, "localhost\r\nX-Real-IP: 203.0.113.9", "", false),
        (near, "localhost\r\nX-Client-IP: 203.0.113.9", "", false),
        (near, "localhost\r\nCF-Connecting-IP: 203.0.113.9", "", false),
        (near, "localhost\r\nTrue-Client-IP: 203.0.113.9", "", false),
        (near, "localhost\r\nVia: 1.1 proxy", "", false),
    ] {
        let proxies: Vec<CidrRange> = proxies.parse().into_iter().collect();
        let is_here = access::is_local_request(&head(lines), socket(peer), &proxies);
        assert_eq!(is_here, expected, "{peer} {lines} {proxies:?}");
    }
}

#[test]
fn a_network_has_the_addresses_with_its_prefix() {
    for (text, inside, outside) in [
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("192.168.4.0/22", "192.168.7.9", "192.168.8.0"),
        ("128.0.0.0/1", "203.0.113.9", "127.255.255.255"),
        ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
        ("::1", "::1", "127.0.0.1"),
        ("127.0.0.1/32", "127.0.0.1", "::1"),
        ("0.0.0.1/32", "0.0.0.1", "::1"),
    ] {
        let network: CidrRange = text.parse().expect(text);
        assert!(network.contains(ip(inside)) && !network.contains(ip(outside)), "{text}");
        assert_eq!(network.to_string().parse(), Ok(network), "{text}");
    }
}

#[test]
fn an_invalid_network_is_refused_with_the_reason() {
    for (text, reason) in [
        ("", "an IP address"),
        ("proxy.example", "an IP address"),
        ("127.0.0.1:80", "an IP address"),
        ("10.0.0.0/", "a number of bits, 1 to 32"),
        ("10.0.0.0/33", "a number of bits, 1 to 32"),
        ("10.0.0.0/+8", "a number of bits"),
        ("10.0.0.0/8/8", "a number of bits"),
        ("2001:db8::/129", "1 to 128"),
        ("10.0.0.1/8", "after the first 8 must be 0"),
        ("2001:db8::1/64", "after the first 64 must be 0"),
        ("0.0.0.0/0", "trust every address"),
        ("::/00", "trust every address"),
        ("::ffff:10.0.0.1", "as IPv4: 10.0.0.1"),
    ] {
        let refused = text.parse::<CidrRange>().expect_err(text);
        assert!(refused.contains(reason), "{text}: {refused}");
    }
}

#[test]
fn the_client_is_the_rightmost_address_that_is_no_trusted_proxy() {
    let proxies = ["10.0.0.0/24", "2001:db8::1"].map(|text| text.parse().expect("a network"));
    let from = |peer, lines: &str| {
        let lines = lines.replace("For:", "\r\nX-Forwarded-For:");
        let head = head(&format!("a{lines}"));
        forwarded::client_address(&proxies, ip(peer), &head).map_err(str::to_owned)
    };
    for (lines, expected) in [
        ("For: 203.0.113.7", Ok("203.0.113.7")),
        ("\r\nx-forwarded-for:203.0.113.7\t", Ok("203.0.113.7")),
        ("For: 2001:db8::7", Ok("2001:db8::7")),
        ("For: ::ffff:203.0.113.7", Ok("203.0.113.7")),
        ("For: 203.0.113.7,10.0.0.2 , 2001:db8::1", Ok("203.0.113.7")),
        // Entries further left are client-supplied.
        ("For: 127.0.0.1, 203.0.113.7", Ok("203.0.113.7")),
        ("For: ,\"a;b\" unknown, 203.0.113.7", Ok("203.0.113.7")),
        // A proxy may add a line of its own instead of an element.
        ("For: 198.51.100.1For: 203.0.113.7", Ok("203.0.113.7")),
        ("For: 203.0.113.7For: 10.0.0.3", Ok("203.0.113.7")),
        ("For: 10.0.0.9, 10.0.0.3", Ok("10.0.0.9")),
        ("", Ok("10.0.0.1")),
        ("\r\nX-Real-IP: 203.0.113.7\r\nForwarded: for=203.0.113.7", Ok("10.0.0.1")),
        // Gateways write ports.
        ("For: 203.0.113.7:41234", Ok("203.0.113.7")),
        ("For: [2001:db8::7]:41234", Ok("2001:db8::7")),
        ("For: [2001:db8::7]", Ok("2001:db8::7")),
        ("For: [::ffff:203.0.113.7]:1", Ok("203.0.113.7")),
        ("For: 203.0.113.7:41234, 10.0.0.2:443", Ok("203.0.113.7")),
        ("For:", Err("")),
        ("For: ,", Err("")),
        ("For: 203.0.113.7,", Err("")),
        ("For: 203.0.113.7 10.0.0.2", Err("203.0.113.7 10.0.0.2")),
        ("For: unknown", Err("unknown")),
        ("For: game.example:80", Err("game.example:80")),
        ("For: 203.0.113.7:", Err("203.0.113.7:")),
        ("For: 203.0.113.7:65536", Err("203.0.113.7:65536")),
        ("For: 203.0.113.7:80:80", Err("203.0.113.7:80:80")),
        ("For: [2001:db8::7", Err("[2001:db8::7")),
        ("For: [203.0.113.7]", Err("[203.0.113.7]")),
        ("For: 203.0.113.07", Err("203.0.113.07")),
        ("For: \"203.0.113.7\"", Err("\"203.0.113.7\"")),
        ("For: 203.0.113.7, x, 10.0.0.2", Err("x")),
        ("For: 203.0.113.7For:", Err("")),
    ] {
        assert_eq!(from("10.0.0.1", lines), expected.map(ip).map_err(str::to_owned), "{lines:?}");
    }
    for lines in ["For: 203.0.113.7", "For: nonsense"] {
        assert_eq!(from("10.0.1.1", lines), Ok(ip("10.0.1.1")), "nobody else is believed");
    }
}
