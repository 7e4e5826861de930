//! Requests in HTTP/1.0, as health checks, `ab` and proxies with their default settings send them.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::support::{PATIENCE, server_with};

/// The status and the body of the answer to these bytes.
fn answer(server: &tickwire::internal::server::net::ServerHandle, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = Vec::new();
    stream.read_to_end(&mut text).expect("an answer that ends");
    let text = String::from_utf8_lossy(&text);
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (head[9..12].to_owned(), body.to_owned())
}

#[test]
fn pages_are_served_in_http_1_0_and_an_upgrade_names_the_setting_of_the_proxy() {
    let server = server_with(|_| {});
    let upgrade = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (sender, request, status, body) in [
        ("HAProxy's httpchk", "GET /healthz HTTP/1.0\r\n\r\n".to_owned(), "200", "ok\n"),
        ("a readiness check", "GET /readyz HTTP/1.0\r\n\r\n".to_owned(), "200", "ok\n"),
        (
            "ab",
            "GET /healthz HTTP/1.0\r\nHost: localhost\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n"
                .to_owned(),
            "200",
            "ok\n",
        ),
        (
            "no Host is no local Host",
            "GET /metrics HTTP/1.0\r\n\r\n".to_owned(),
            "403",
            "metrics_token_missing\n",
        ),
        (
            "nginx without proxy_http_version",
            format!("GET /play HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: close\r\n{upgrade}\r\n"),
            "426",
            "nginx: proxy_http_version 1.1;",
        ),
        (
            "cookies of other ports",
            format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: {}\r\n\r\n", "a".repeat(32 * 1024)),
            "200",
            "ok\n",
        ),
    ] {
        let (answered, text) = answer(&server, &request);
        assert_eq!(answered, status, "{sender}: {text}");
        assert!(text.contains(body), "{sender}: {text}");
    }
    server.stop();
}
