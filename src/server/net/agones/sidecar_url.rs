//! The address of the sidecar.

use std::fmt;
use std::str::FromStr;

/// Port of the sidecar's REST interface, unless `AGONES_SDK_HTTP_PORT` has another one.
const DEFAULT_PORT: u16 = 9358;

/// Name of the variable with the port, which Agones sets for the game server.
const PORT_VARIABLE: &str = "AGONES_SDK_HTTP_PORT";

/// The URL of the sidecar: `http://HOST[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidecarUrl {
    /// Host name or address. An IPv6 address has no brackets.
    pub host: String,
    /// The port, if the URL has one.
    pub port: Option<u16>,
}

impl FromStr for SidecarUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<SidecarUrl, String> {
        let rule = || format!("{text:?}: must be http://HOST[:PORT], without a path; the sidecar has no TLS");
        let authority = text.strip_prefix("http://").ok_or_else(rule)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(rule)?;
                host.parse::<std::net::Ipv6Addr>().map_err(|_| rule())?;
                (host, port)
            }
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port {
            "" => None,
            port => Some(port.strip_prefix(':').and_then(parse_port).ok_or_else(rule)?),
        };
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Err(rule());
        }
        Ok(SidecarUrl { host: host.to_owned(), port })
    }
}

/// Parses a port that a program can connect to.
fn parse_port(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

impl SidecarUrl {
    /// Returns the URL with a port: its own, otherwise the one of the environment.
    ///
    /// # Errors
    /// The variable has no port.
    pub fn with_port(self, variable: Option<&str>) -> Result<SidecarUrl, String> {
        let from_variable = match variable.filter(|text| !text.is_empty()) {
            None => DEFAULT_PORT,
            Some(text) => parse_port(text)
                .ok_or_else(|| format!("{PORT_VARIABLE}={text:?}: must be a port, 1 to {}", u16::MAX))?,
        };
        let port = Some(self.port.unwrap_or(from_variable));
        Ok(SidecarUrl { port, ..self })
    }

    /// As [`SidecarUrl::with_port`], with the variable of this process.
    ///
    /// # Errors
    /// The variable has no port.
    pub fn with_port_of_environment(self) -> Result<SidecarUrl, String> {
        self.with_port(std::env::var(PORT_VARIABLE).ok().as_deref())
    }

    /// Returns the host and the port, for a connection.
    pub fn endpoint(&self) -> (&str, u16) {
        (&self.host, self.port.unwrap_or(DEFAULT_PORT))
    }

    /// Returns the value of the header `Host`.
    pub fn authority(&self) -> String {
        let (host, port) = self.endpoint();
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

impl fmt::Display for SidecarUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "http://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_host_and_maybe_a_port() {
        for (text, variable, expected) in [
            ("http://localhost", None, "http://localhost:9358"),
            ("http://localhost", Some("59358"), "http://localhost:59358"),
            ("http://localhost", Some(""), "http://localhost:9358"),
            ("http://localhost:7000/", Some("59358"), "http://localhost:7000"),
            ("http://127.0.0.1:7000", None, "http://127.0.0.1:7000"),
            ("http://[::1]", None, "http://[::1]:9358"),
            ("http://[::1]:7000", None, "http://[::1]:7000"),
        ] {
            let url: SidecarUrl = text.parse().expect("a URL");
            assert_eq!(url.with_port(variable).expect("a port").to_string(), expected, "{text}");
        }
        for text in [
            "",
            "localhost:9358",
            "https://localhost",
            "http://",
            "http://:80",
            "http://localhost:0",
            "http://localhost:65536",
            "http://localhost:",
            "http://localhost/ready",
            "http://[::1",
            "http://[localhost]",
            "http://a b",
            "http://user@host",
            "http://::1",
        ] {
            let why = text.parse::<SidecarUrl>().expect_err(text);
            assert!(why.contains("must be http://HOST[:PORT]"), "{text}: {why}");
        }
        let url: SidecarUrl = "http://localhost".parse().expect("a URL");
        let why = url.with_port(Some("nine")).expect_err("no port");
        assert_eq!(why, "AGONES_SDK_HTTP_PORT=\"nine\": must be a port, 1 to 65535");
    }
}
