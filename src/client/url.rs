//! The server's URL: `ws://host:port/target` or `wss://host:port/target`.
//!
//! Parses the text of a command-line argument into host, port and target. Names are not resolved
//! here.

use std::fmt;
use std::str::FromStr;

use crate::packet::credentials::{self, KEY_FIELD, TOKEN_FIELD};
use crate::packet::routes::{ROOM_PREFIX, is_room_name, split_room_path};
use crate::ws::http::percent_decode;

/// Query fields that choose a room.
const ROOM_FIELDS: [&str; 2] = ["room", "where"];
/// The default port of `ws` (RFC 6455, section 3).
const DEFAULT_PORT: u16 = 80;
/// The default port of `wss` (RFC 6455, section 3).
const DEFAULT_TLS_PORT: u16 = 443;

/// A parsed `ws://` or `wss://` URL. `Debug` omits the query, because it may contain a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    /// Whether the scheme is `wss`: the connection is encrypted with TLS.
    pub is_tls: bool,
    /// Name or address; an IPv6 address without its brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query; starts with a slash.
    pub target: String,
    /// Whether the text has a path, or a query that does more than choose a room. The path `/`
    /// counts.
    pub has_path: bool,
}

impl fmt::Debug for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(out, "Url({}{path})", self.authority())
    }
}

impl Url {
    /// The value of the `Host` header. Without the port if it is the default port of the scheme
    /// (RFC 6455, section 4.1), because some servers compare the header with their name.
    pub fn authority(&self) -> String {
        let Url { host, port, is_tls, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if *port == default_port(*is_tls) { host } else { format!("{host}:{port}") }
    }

    fn scheme(&self) -> &'static str {
        if self.is_tls { "wss" } else { "ws" }
    }

    /// The name of the room; empty for the default room.
    /// With `?room=any` the server chooses the room, of the game of this one.
    pub fn room(&self) -> &str {
        let page = self.room_prefix().and_then(|prefix| prefix.strip_prefix(ROOM_PREFIX));
        page.unwrap_or_else(|| split_room_path(&self.target).0)
    }

    /// Path, and query with its question mark, if the query only chooses a room. Otherwise the
    /// query is part of the path.
    fn split_room_query(&self) -> (&str, &str) {
        let at = self.target.find('?').unwrap_or(self.target.len());
        let (path, query) = self.target.split_at(at);
        let is_of_room = |field: &str| ROOM_FIELDS.contains(&field.split('=').next().unwrap_or_default());
        let is_room_query = query.strip_prefix('?').is_some_and(|fields| fields.split('&').all(is_of_room));
        if is_room_query { (path, query) } else { (&self.target, "") }
    }

    /// The prefix of the room's paths, if the URL names the page of a room or only the server.
    /// `None` if it names an endpoint.
    pub fn room_prefix(&self) -> Option<&str> {
        let (path, _) = self.split_room_query();
        let prefix = path.strip_suffix('/').unwrap_or(path);
        let is_page = prefix.is_empty() || prefix.strip_prefix(ROOM_PREFIX).is_some_and(is_room_name);
        is_page.then_some(prefix)
    }

    /// Whether the URL is the exact path to request. False for a server or a room without a slash
    /// at its end.
    pub fn is_exact(&self) -> bool {
        self.room_prefix().is_none() || self.has_path && self.split_room_query().0.ends_with('/')
    }

    /// The URL of the same room at the endpoint of a dialect, unless the URL already names an
    /// endpoint. `paths` are the paths of the room's game. A dialect without a path is selected by
    /// the query of the last path.
    #[must_use]
    pub fn with_dialect_path(mut self, paths: &[(&str, &str)], dialect: &str) -> Url {
        let (_, room) = self.split_room_query();
        if let (Some(prefix), Some((last, _))) = (self.room_prefix(), paths.last()) {
            self.target = match paths.iter().find(|(_, spoken)| *spoken == dialect) {
                Some((path, _)) => format!("{prefix}{path}{room}"),
                None if room.is_empty() => format!("{prefix}{last}?dialect={dialect}"),
                None => format!("{prefix}{last}{room}&dialect={dialect}"),
            };
        }
        self
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}{}", self.scheme(), self.authority(), self.target)
    }
}

/// The reason why a text is not a [`Url`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The text begins neither with `ws://` nor with `wss://`.
    Scheme,
    /// The URL has a space, a `#`, or a character that is not in ASCII.
    Character,
    /// The URL has a `[` without a `]`.
    Bracket,
    /// The URL has a name or a password before its host.
    UserInfo,
    /// The URL has no host.
    Host,
    /// The text after the host is not a port.
    Port(String),
}

impl fmt::Display for UrlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UrlError::Scheme => out.write_str("the URL must begin with ws:// or wss://"),
            UrlError::Character => out.write_str("the URL contains an invalid character"),
            UrlError::Bracket => out.write_str("the URL has a [ without a ]"),
            UrlError::UserInfo => {
                out.write_str("the URL must not have a name or a password: `tickwire connect` has --basic")
            }
            UrlError::Host => out.write_str("the URL has no host"),
            UrlError::Port(digits) => write!(out, "{digits:?} is not a port"),
        }
    }
}

impl std::error::Error for UrlError {}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let is_tls = match scheme {
            "ws" => false,
            "wss" => true,
            _ => return Err(UrlError::Scheme),
        };
        if !rest.bytes().all(|byte| byte.is_ascii_graphic()) || rest.contains('#') {
            return Err(UrlError::Character);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = split_authority(authority)?;
        let port = port.unwrap_or(default_port(is_tls));
        let (has_target, is_path) = (!target.is_empty(), target.starts_with('/'));
        let target = if is_path { target.to_owned() } else { format!("/{target}") };
        let mut url = Url { is_tls, host: host.to_owned(), port, target, has_path: is_path };
        url.has_path |= has_target && url.split_room_query().1.is_empty();
        Ok(url)
    }
}

/// Moves the token and the resume key from the query of a target to subprotocols. Returns the
/// shortened target and the subprotocols.
pub(crate) fn without_credentials(target: &str) -> (String, Vec<String>) {
    let Some((path, query)) = target.split_once('?') else { return (target.to_owned(), Vec::new()) };
    let (mut credentials, mut others) = (Vec::new(), Vec::new());
    for field in query.split('&') {
        let (name, value) = field.split_once('=').unwrap_or((field, ""));
        // A token may contain a plus but no space.
        let value = percent_decode(value).replace(' ', "+");
        match &*percent_decode(name) {
            TOKEN_FIELD if !value.is_empty() => credentials.push(credentials::bearer(&value)),
            KEY_FIELD if value.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !value.is_empty() => {
                credentials.push(credentials::keyed(&value));
            }
            _ => others.push(field),
        }
    }
    let query = others.join("&");
    (if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }, credentials)
}

fn default_port(is_tls: bool) -> u16 {
    if is_tls { DEFAULT_TLS_PORT } else { DEFAULT_PORT }
}

/// Splits an authority into the host and the port, if it has one.
fn split_authority(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(UrlError::Bracket)?;
            (host, after.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        Some(digits) => Some(digits.parse().map_err(|_| UrlError::Port(digits.to_owned()))?),
        None => None,
    };
    if host.is_empty() { Err(UrlError::Host) } else { Ok((host, port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_and_a_key_of_a_query_become_subprotocols() {
        let (bearer, keyed) = (credentials::bearer("a+b/c=0123456789"), "key.00ff".to_owned());
        for (target, rest, expected) in [
            ("/play", "/play", vec![]),
            ("/play?format=json", "/play?format=json", vec![]),
            ("/play?token=a%2Bb/c=0123456789", "/play", vec![bearer.clone()]),
            ("/play?x=1&inspect_key=00ff&token=a+b%2fc=0123456789&y", "/play?x=1&y", vec![keyed, bearer]),
            ("/play?token=&inspect_key=a,b", "/play?token=&inspect_key=a,b", vec![]),
        ] {
            assert_eq!(without_credentials(target), (rest.to_owned(), expected), "{target}");
        }
    }

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
        for (text, printed, is_tls) in [
            ("ws://[::1]:3000", "ws://[::1]:3000/", false),
            ("ws://example.org:80/a", "ws://example.org/a", false),
            ("wss://example.org/a?b", "wss://example.org/a?b", true),
            ("wss://[::1]", "wss://[::1]/", true),
            ("wss://example.org:80", "wss://example.org:80/", true),
        ] {
            let url: Url = text.parse().expect(text);
            assert_eq!((url.to_string().as_str(), url.is_tls), (printed, is_tls));
        }
    }

    #[test]
    fn an_invalid_url_is_refused() {
        for (text, error) in [
            ("http://localhost", UrlError::Scheme),
            ("ws:/localhost", UrlError::Scheme),
            ("wsss://localhost", UrlError::Scheme),
            ("ws://", UrlError::Host),
            ("ws://ann:secret@host", UrlError::UserInfo),
            ("ws://:3000", UrlError::Host),
            ("ws://a:b", UrlError::Port("b".to_owned())),
            ("ws://a:70000", UrlError::Port("70000".to_owned())),
            ("ws://a b", UrlError::Character),
            ("ws://[::1", UrlError::Bracket),
        ] {
            assert_eq!(text.parse::<Url>(), Err(error), "{text}");
        }
    }

    #[test]
    fn a_dialect_has_its_endpoint_unless_one_is_named() {
        let paths = [("/play", "native"), ("/", "legacy"), ("/server", "letters")];
        for (text, dialect, target, room, is_exact) in [
            ("ws://a:1", "native", "/play", "", false),
            ("ws://a:1/", "letters-2023", "/server?dialect=letters-2023", "", true),
            ("ws://a:1/moomoo", "native", "/moomoo", "", true),
            ("ws://a:1/r/arena", "native", "/r/arena/play", "arena", false),
            ("ws://a:1/r/arena/", "legacy", "/r/arena/", "arena", true),
            ("ws://a:1/r/arena/server", "native", "/r/arena/server", "arena", true),
            ("ws://a:1?room=any", "native", "/play?room=any", "", false),
            ("ws://a:1/?room=any&where=a:1", "letters", "/server?room=any&where=a:1", "", true),
            ("ws://a:1/?room=any", "letters-2023", "/server?room=any&dialect=letters-2023", "", true),
            ("ws://a:1/r/arena/?room=any", "native", "/r/arena/play?room=any", "arena", true),
            ("ws://a:1/play?room=any", "native", "/play?room=any", "", true),
            ("ws://a:1/?room=any&format=json", "native", "/?room=any&format=json", "", true),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.room(), room, "{text}");
            assert_eq!(url.is_exact(), is_exact, "{text}");
            assert_eq!(url.with_dialect_path(&paths, dialect).target, target, "{text}");
        }
    }
}
