//! Persistent connections (RFC 9112, section 9.3): several requests for pages and files on one
//! connection, answered in order.
//!
//! A connection stays open only if the client names the option `keep-alive`, as browsers do.
//! Without this option, HTTP/1.1 leaves the choice to the server. The server then closes the
//! connection, so that a script that reads to the end of the connection terminates. A connection of
//! a trusted proxy is closed after each response: it may carry requests of many clients, but its
//! slot counts toward one of them.
//!
//! A further request counts toward the rate limits like a new connection. While a connection waits
//! for one, it is *idle*: new connections displace it first, and a shutdown ends it.

use std::net::TcpStream;

use super::blocking_io::read;
use crate::limits;
use crate::server::admission::Permit;
use crate::ws::http::RequestHead;

/// Header of a response after which the connection stays open.
pub const HEADER: (&str, &str) = ("Connection", "keep-alive");

/// Whether the connection may stay open after the response to this request, the `count`th of the
/// connection, if the response is a page.
pub fn is_persistent(head: &RequestHead, count: u32, is_proxied: bool, is_stopping: bool) -> bool {
    let has_option = |option| head.headers.has_token("Connection", option);
    // Other methods may have a body.
    let is_read = matches!(&*head.method, "GET" | "HEAD") && !head.has_upgrade_headers();
    let may = !head.is_http_1_0 && !is_proxied && !is_stopping && count < limits::MAX_REQUESTS_PER_CONNECTION;
    may && is_read && has_option("keep-alive") && !has_option("close")
}

/// Waits for the first bytes of the next request. Returns `None` if the connection ends instead: it
/// is closed, displaced, banned, idle for too long, or the server is stopping.
pub fn await_request(stream: &TcpStream, permit: &Permit, is_stopping: impl Fn() -> bool) -> Option<Vec<u8>> {
    // A shutdown first stops the server and then ends the idle connections, so this thread observes
    // at least one of the two.
    if !permit.begin_idle() || is_stopping() {
        return None;
    }
    let mut buffer = [0; limits::READ_BYTES];
    let received = read(stream, &mut buffer, limits::KEEP_ALIVE_TIMEOUT);
    permit.end_idle().ok()?;
    let count = received.ok().flatten().filter(|count| *count > 0)?;
    Some(buffer[..count].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::http::HeadReader;

    fn head(text: &str) -> RequestHead {
        let mut reader = HeadReader::new(limits::HEAD_LIMITS);
        reader.receive(text.as_bytes()).expect("a valid head").expect("a complete head")
    }

    #[test]
    fn a_connection_stays_open_only_on_request_of_the_client_and_if_nothing_forbids_it() {
        const LAST: u32 = limits::MAX_REQUESTS_PER_CONNECTION;
        for (line, headers, count, is_proxied, is_stopping, expected) in [
            ("GET / HTTP/1.1", "Connection: keep-alive", 1, false, false, true),
            ("HEAD / HTTP/1.1", "Connection: Keep-Alive", 1, false, false, true),
            ("GET / HTTP/1.1", "Connection: keep-alive", LAST - 1, false, false, true),
            ("GET / HTTP/1.1", "Connection: keep-alive", LAST, false, false, false),
            ("GET / HTTP/1.1", "Connection: keep-alive", 1, true, false, false),
            ("GET / HTTP/1.1", "Connection: keep-alive", 1, false, true, false),
            ("GET / HTTP/1.1", "Connection: keep-alive, close", 1, false, false, false),
            ("GET / HTTP/1.1", "Accept: */*", 1, false, false, false),
            ("GET / HTTP/1.0", "Connection: keep-alive", 1, false, false, false),
            ("POST / HTTP/1.1", "Connection: keep-alive", 1, false, false, false),
            (
                "GET / HTTP/1.1",
                "Connection: keep-alive, Upgrade\r\nUpgrade: websocket",
                1,
                false,
                false,
                false,
            ),
        ] {
            let request = head(&format!("{line}\r\nHost: localhost\r\n{headers}\r\n\r\n"));
            let persistent = is_persistent(&request, count, is_proxied, is_stopping);
            assert_eq!(persistent, expected, "{line}, {headers}, {count}, {is_proxied}, {is_stopping}");
        }
    }
}
