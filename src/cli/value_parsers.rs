//! Parsers for the values of flags. They are shared by several commands, or reject values that
//! would have no effect.

use std::net::{Ipv6Addr, SocketAddr};

use crate::tools::inspector::MessageFilter;

/// Parses an address to listen on. Host names are invalid, because a name may have several
/// addresses.
///
/// # Errors
/// The text is not an address; the message has examples.
pub fn parse_bind(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port, such as 127.0.0.1:3000 or [::1]:3000";
    text.parse()
        .map_err(|_| format!("{expected}; 0.0.0.0:3000 listens on all IPv4 addresses of this machine"))
}

/// Parses a filter of `/wire`.
///
/// # Errors
/// The first invalid part, and the rule that it breaks.
pub fn parse_filter(text: &str) -> Result<MessageFilter, String> {
    MessageFilter::parse(text).map_err(|error| error.message)
}

/// Parses an origin as browsers write it: scheme and host, with a port only if it is not the
/// scheme's default; or `null`. Any other text would match no browser.
///
/// # Errors
/// The text is not an origin.
pub fn parse_origin(text: &str) -> Result<String, String> {
    let refused =
        || "expected an origin (a scheme and a host, no path), such as https://example.org".to_owned();
    if text == "null" {
        return Ok(text.to_owned());
    }
    let (scheme, authority) = text.split_once("://").ok_or_else(refused)?;
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|ch: char| ch.is_ascii_alphabetic()) || !scheme.bytes().all(is_scheme_byte) {
        return Err(refused());
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(is_name_byte),
    };
    let is_port = port.is_none_or(|port| !port.starts_with('+') && port.parse::<u16>().is_ok());
    if !is_host || !is_port {
        return Err(refused());
    }
    match (scheme.to_ascii_lowercase().as_str(), port) {
        ("http", Some("80")) | ("https", Some("443")) => {
            Err(format!("browsers omit a scheme's default port; write {scheme}://{host}"))
        }
        _ => Ok(text.to_owned()),
    }
}

/// Parses a whole number from `min` to `max`.
///
/// # Errors
/// The text is not a number in this range.
pub fn parse_number(text: &str, min: u32, max: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_listen_is_an_address_and_a_port() {
        for text in ["127.0.0.1:3000", "[::1]:0", "0.0.0.0:3000"] {
            assert_eq!(parse_bind(text).expect(text).to_string(), text);
        }
        for text in ["localhost:3000", "127.0.0.1", ":3000", "3000", "::1:3000", "foo", ""] {
            let error = parse_bind(text).expect_err(text);
            assert!(
                error.starts_with("expected an IP address and a port, such as 127.0.0.1:3000"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for text in [
            "https://example.org",
            "http://localhost:8080",
            "http://127.0.0.1:3000",
            "http://[::1]",
            "http://[::1]:3000",
            "https://xn--bcher-kva.example",
            "moz-extension://2c127fa4-62c7-7e4f-90e5-472b45eecfdc",
            "null",
        ] {
            assert_eq!(parse_origin(text).as_deref(), Ok(text));
        }
        for text in [
            "example.org",
            "localhost:3000",
            "https://example.org/",
            "https://example.org/play",
            "https://example.org:",
            "https://example.org:99999",
            "https://ann@example.org",
            "https://*.example.org",
            "https://",
            "://example.org",
            "http://::1",
            "*",
            "",
        ] {
            let error = parse_origin(text).expect_err(text);
            assert!(error.ends_with("no path), such as https://example.org"), "{text}: {error}");
        }
        let error = parse_origin("https://example.org:443").expect_err("a browser sends no 443");
        assert!(error.ends_with(" https://example.org"), "{error}");
    }
}
