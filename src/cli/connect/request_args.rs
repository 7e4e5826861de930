//! Headers that the user adds to the upgrade request.
//!
//! A header is checked before it is sent, because a line end in a value would start another header.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

/// Headers that the handshake sends itself, in lower case. Names that begin with `sec-websocket-`
/// belong to it too.
const OWNED: [&str; 7] =
    ["host", "upgrade", "connection", "origin", "content-length", "transfer-encoding", "te"];
/// The header of `--basic` and `--bearer` (RFC 9110, section 11.6.2).
const AUTHORIZATION: &str = "Authorization";

/// Options of `connect` for the upgrade request. `Debug` omits the values, because they may be
/// secrets.
#[derive(Args)]
pub struct RequestArgs {
    /// Header to add to the request, such as 'X-Client: 7'; may be repeated. In the environment:
    /// one header per line.
    #[arg(long = "header", value_name = "NAME: VALUE", env = "TICKWIRE_HEADER", hide_env_values = true)]
    #[arg(value_delimiter = '\n')]
    headers: Vec<String>,
    /// Origin header, as a browser sends it for a page of this address.
    #[arg(long, value_name = "URL", value_parser = parse_origin)]
    origin: Option<String>,
    /// Subprotocol to offer; may be repeated, in the order of preference.
    #[arg(long = "subprotocol", value_name = "NAME", value_parser = parse_subprotocol)]
    pub subprotocols: Vec<String>,
    /// Offer compression (permessage-deflate). If the server accepts, messages of at least 32 bytes
    /// are sent compressed.
    #[arg(long)]
    pub compression: bool,
    /// Authorise with a name and a password.
    #[arg(long, value_name = "USER:PASSWORD", env = "TICKWIRE_BASIC", hide_env_values = true)]
    basic: Option<String>,
    /// Authorise with a token.
    #[arg(long, value_name = "TOKEN", env = "TICKWIRE_BEARER", hide_env_values = true)]
    bearer: Option<String>,
}

impl std::fmt::Debug for RequestArgs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RequestArgs").finish_non_exhaustive()
    }
}

impl RequestArgs {
    /// The header lines, each with its line end.
    ///
    /// # Errors
    /// An option is invalid, or two options give the header `Authorization`. The error has no
    /// values, because they may be secrets.
    pub fn header_lines(&self) -> Result<String, String> {
        let mut headers = Vec::new();
        let origin = self.origin.iter().map(|value| ("Origin", value.clone()));
        headers.extend(origin.map(|(name, value)| Header { name: name.to_owned(), value }));
        for credentials in [self.basic.as_deref().map(basic), self.bearer.as_deref().map(bearer)] {
            headers.extend(credentials.transpose()?);
        }
        for text in self.headers.iter().filter(|text| !text.trim().is_empty()) {
            headers.push(text.parse().map_err(|error| format!("--header: {error}"))?);
        }
        let is_authorization = |header: &&Header| header.name.eq_ignore_ascii_case(AUTHORIZATION);
        if headers.iter().filter(is_authorization).count() > 1 {
            let text = "give only one of --basic, --bearer and --header 'Authorization: …'";
            return Err(text.to_owned());
        }
        Ok(headers.iter().map(|Header { name, value }| format!("{name}: {value}\r\n")).collect())
    }
}

/// A header of the request.
struct Header {
    name: String,
    value: String,
}

impl FromStr for Header {
    type Err = String;

    /// Parses `NAME: VALUE` (RFC 9110, section 5). The error has the name alone, because the value
    /// may be a secret.
    fn from_str(text: &str) -> Result<Header, String> {
        let (name, value) = text.split_once(':').ok_or("must be NAME: VALUE")?;
        let (name, value) = (name.trim(), value.trim());
        if !is_token(name) {
            return Err("the name before the colon must be letters, digits and -".to_owned());
        }
        let lower = name.to_ascii_lowercase();
        if lower == "origin" || lower == "sec-websocket-protocol" {
            let option = if lower == "origin" { "--origin" } else { "--subprotocol" };
            return Err(format!("the handshake owns the header {name}: use {option}"));
        }
        if OWNED.contains(&lower.as_str()) || lower.starts_with("sec-websocket-") {
            return Err(format!("the handshake owns the header {name}, so it cannot be set"));
        }
        if value.chars().any(|ch| ch != '\t' && ch.is_control()) {
            return Err(format!("the value of {name} has a control character"));
        }
        Ok(Header { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Whether a text is a token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_sign)
}

fn is_visible(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn parse_origin(text: &str) -> Result<String, String> {
    let text = text.trim();
    if is_visible(text) { Ok(text.to_owned()) } else { Err("must be a URL without spaces".to_owned()) }
}

fn parse_subprotocol(text: &str) -> Result<String, String> {
    if is_token(text) {
        return Ok(text.to_owned());
    }
    Err("must be letters, digits and signs such as - and . (RFC 6455, section 4.1); repeat the option for several".to_owned())
}

/// The credentials of `Basic` (RFC 7617).
fn basic(text: &str) -> Result<Header, String> {
    if !text.contains(':') || text.chars().any(char::is_control) {
        return Err("--basic: must be USER:PASSWORD without control characters".to_owned());
    }
    Ok(Header { name: AUTHORIZATION.to_owned(), value: format!("Basic {}", STANDARD.encode(text)) })
}

/// The credentials of `Bearer` (RFC 6750, section 2.1).
fn bearer(text: &str) -> Result<Header, String> {
    if !is_visible(text) {
        let rule = "must be a token of visible ASCII characters, without the word Bearer";
        return Err(format!("--bearer: {rule}"));
    }
    Ok(Header { name: AUTHORIZATION.to_owned(), value: format!("Bearer {text}") })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        request: RequestArgs,
    }

    fn lines(arguments: &[&str]) -> Result<String, String> {
        let program = Program::try_parse_from([&["connect"], arguments].concat());
        program.map_err(|error| error.to_string())?.request.header_lines()
    }

    #[test]
    fn options_become_header_lines() {
        for (arguments, expected) in [
            (&[][..], ""),
            (&["--header", "X-A: b: c", "--header", "x-b:"], "X-A: b: c\r\nx-b: \r\n"),
            (&["--header", "X-A: 1\nX-B: 2"], "X-A: 1\r\nX-B: 2\r\n"),
            (&["--origin", "https://a.example"], "Origin: https://a.example\r\n"),
            (&["--basic", "Aladdin:open sesame"], "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"),
            (&["--bearer", "mF_9.B5f-4.1JqM"], "Authorization: Bearer mF_9.B5f-4.1JqM\r\n"),
            (&["--subprotocol", "mqtt"], ""),
        ] {
            assert_eq!(lines(arguments).as_deref(), Ok(expected), "{arguments:?}");
        }
    }

    #[test]
    fn headers_of_the_handshake_and_line_ends_are_refused() {
        for (arguments, rule) in [
            (&["--header", "Host: b"][..], "owns the header Host"),
            (&["--header", "Sec-WebSocket-Key: b"], "owns the header"),
            (&["--header", "sec-websocket-protocol: b"], "use --subprotocol"),
            (&["--header", "Origin: b"], "use --origin"),
            (&["--header", "X-A"], "must be NAME: VALUE"),
            (&["--header", "X A: b"], "letters, digits"),
            (&["--header", "X-A: topsecret\rX-B: c"], "control character"),
            (&["--subprotocol", "a, b"], "repeat the option"),
            (&["--basic", "topsecret"], "must be USER:PASSWORD"),
            (&["--bearer", "Bearer topsecret"], "without the word Bearer"),
            (&["--bearer", "x", "--basic", "a:b"], "give only one of"),
            (&["--bearer", "x", "--header", "authorization: y"], "give only one of"),
        ] {
            let error = lines(arguments).expect_err(rule);
            assert!(error.contains(rule), "{arguments:?}: {error}");
            assert!(!error.contains("topsecret"), "{error}");
        }
    }
}
