//! The server's URL: `ws://host:port/target`.
//!
//! The text of a command-line argument is parsed into host, port and target. Names are not resolved
//! here, and TLS is left to a proxy in front of the server.

use std::fmt;
use std::str::FromStr;

/// The port of `ws` without one: RFC 6455 section 3.
const DEFAULT_PORT: u16 = 80;

/// A parsed `ws://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query; begins with a slash.
    pub target: String,
}

impl Url {
    /// The value of the `Host` header.
    pub fn authority(&self) -> String {
        let Url { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// The same server at the endpoint of a dialect, unless the URL names an endpoint of its own.
    #[must_use]
    pub fn for_dialect(mut self, dialect: &str) -> Url {
        if self.target == "/" {
            self.target = match dialect {
                "native" => "/play".to_owned(),
                "legacy" => "/".to_owned(),
                "letters" => "/server".to_owned(),
                other => format!("/server?dialect={other}"),
            };
        }
        self
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ws://{}{}", self.authority(), self.target)
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Url, String> {
        let rest = text.strip_prefix("ws://").ok_or("the URL must begin with ws://")?;
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains('#') {
            return Err("the URL contains an invalid character".to_owned());
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = split_authority(authority)?;
        let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
        Ok(Url { host: host.to_owned(), port, target })
    }
}

fn split_authority(authority: &str) -> Result<(&str, u16), String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or("the URL has a [ without a ]")?;
            (host, after.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(digits) => digits.parse().map_err(|_| format!("{digits:?} is not a port"))?,
        None => DEFAULT_PORT,
    };
    if host.is_empty() { Err("the URL has no host".to_owned()) } else { Ok((host, port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_url() {
        for (text, host, port, target) in [
            ("ws://localhost:3000", "localhost", 3000, "/"),
            ("ws://127.0.0.1:3000/play?format=json", "127.0.0.1", 3000, "/play?format=json"),
            ("ws://[::1]:3000/server", "::1", 3000, "/server"),
            ("ws://example.org?dialect=letters", "example.org", 80, "/?dialect=letters"),
        ] {
            let url: Url = text.parse().expect(text);
            assert_eq!((url.host.as_str(), url.port, url.target.as_str()), (host, port, target));
        }
        assert_eq!("ws://[::1]:3000".parse::<Url>().unwrap().to_string(), "ws://[::1]:3000/");
    }

    #[test]
    fn an_invalid_url_is_refused() {
        for text in
            ["http://localhost", "ws://", "ws://:3000", "ws://a:b", "ws://a:70000", "ws://a b", "ws://[::1"]
        {
            assert!(text.parse::<Url>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_dialect_has_its_endpoint_unless_one_is_named() {
        let target = |text: &str, dialect: &str| text.parse::<Url>().unwrap().for_dialect(dialect).target;
        assert_eq!(target("ws://a:1", "native"), "/play");
        assert_eq!(target("ws://a:1/", "letters-2023"), "/server?dialect=letters-2023");
        assert_eq!(target("ws://a:1/moomoo", "native"), "/moomoo");
    }
}
