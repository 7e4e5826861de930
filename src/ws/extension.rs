//! The agreement on permessage-deflate: RFC 6455, section 9.1, and RFC 7692, section 7.1.
//!
//! ```text
//!   client   Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits
//!   server   Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=12
//! ```
//!
//! A client lists its offers, and the server accepts the first one that fits, with the parameters
//! in force. A server ignores an offer that it does not understand. A client drops the connection
//! if the response does not fit its offer. Each parameter concerns one sender: `server_…` the
//! messages of the server, `client_…` the messages of the client.

use std::fmt;

use super::Side;
use super::deflate::{Deflater, Inflater, MAX_WINDOW_BITS, MIN_WINDOW_BITS};
use super::head_lines::is_token;
use super::http::Headers;
use super::violation::Violation;

/// The name of the header with offers and agreements.
pub const HEADER: &str = "Sec-WebSocket-Extensions";
/// The name of the extension.
pub const NAME: &str = "permessage-deflate";
/// Maximum number of offers that a server examines. It ignores the rest.
pub const MAX_OFFERS: usize = 16;

/// The agreed parameters of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderParameters {
    /// Whether the window of a message begins with the sender's previous messages.
    pub context_takeover: bool,
    /// Base-2 logarithm of the sender's window in bytes: 8 to 15.
    pub window_bits: u8,
}

impl SenderParameters {
    /// Creates the inflater of a receiver or an observer of this sender.
    pub fn inflater(self) -> Inflater {
        Inflater::new(self.window_bits, self.context_takeover)
    }

    /// Creates the deflater of this sender.
    pub fn deflater(self) -> Deflater {
        Deflater::new(self.window_bits, self.context_takeover)
    }
}

/// The parameters on which both ends agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateParameters {
    /// Parameters of the server's messages.
    pub server: SenderParameters,
    /// Parameters of the client's messages.
    pub client: SenderParameters,
}

impl DeflateParameters {
    /// The parameters of the messages that `sender` sends.
    pub fn of(&self, sender: Side) -> SenderParameters {
        match sender {
            Side::Server => self.server,
            Side::Client => self.client,
        }
    }

    /// Reads the agreement in a response, for an observer that may not know the offer. Returns
    /// `None` if the response accepts no extension.
    ///
    /// # Errors
    /// [`Violation::ExtensionNotOffered`] for another extension or a second one, and
    /// [`Violation::CompressionParameters`].
    pub fn from_response(headers: &Headers) -> Result<Option<DeflateParameters>, Violation> {
        let mut agreed = headers.list(HEADER);
        let Some(agreement) = agreed.next() else { return Ok(None) };
        if !has_name(agreement) || agreed.next().is_some() {
            return Err(Violation::ExtensionNotOffered);
        }
        let list = ParameterList::parse(agreement).ok_or(Violation::CompressionParameters)?;
        if list.client_max_window_bits == Some(WindowBits::Any) {
            return Err(Violation::CompressionParameters);
        }
        Ok(Some(list.parameters()))
    }

    /// Checks the response to an offer, and returns the agreement if there is one.
    ///
    /// # Errors
    /// As [`DeflateParameters::from_response`], also for parameters that do not fit `offer`. The
    /// connection is then unusable.
    pub fn check_response(
        headers: &Headers,
        offer: Option<&DeflateOffer>,
    ) -> Result<Option<DeflateParameters>, Violation> {
        if headers.list(HEADER).next().is_none() {
            return Ok(None);
        }
        let offer = offer.ok_or(Violation::ExtensionNotOffered)?;
        let agreed = DeflateParameters::from_response(headers)?;
        let Some(DeflateParameters { server, client }) = agreed else { return Ok(None) };
        let fits = !(offer.server_no_context_takeover && server.context_takeover)
            && server.window_bits <= offer.server_max_window_bits
            && (offer.client_max_window_bits || client.window_bits == MAX_WINDOW_BITS);
        if fits { Ok(agreed) } else { Err(Violation::CompressionParameters) }
    }
}

/// The offer of a client. The default offer accepts every answer and limits nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeflateOffer {
    /// Whether each message of the server must stand alone.
    pub server_no_context_takeover: bool,
    /// Whether the client announces that each of its messages stands alone. A server may require it
    /// in any case.
    pub client_no_context_takeover: bool,
    /// Base-2 logarithm of the largest window that the server may use.
    pub server_max_window_bits: u8,
    /// Whether the server may limit the client's window.
    pub client_max_window_bits: bool,
}

impl Default for DeflateOffer {
    fn default() -> DeflateOffer {
        DeflateOffer {
            server_no_context_takeover: false,
            client_no_context_takeover: false,
            server_max_window_bits: MAX_WINDOW_BITS,
            client_max_window_bits: true,
        }
    }
}

impl fmt::Display for DeflateOffer {
    /// Writes the value of the header in the request.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server_bits = (self.server_max_window_bits < MAX_WINDOW_BITS)
            .then_some(WindowBits::AtMost(self.server_max_window_bits));
        ParameterList {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover,
            server_max_window_bits: server_bits,
            client_max_window_bits: self.client_max_window_bits.then_some(WindowBits::Any),
        }
        .fmt(out)
    }
}

/// The options of a server that accepts compression. By default both senders keep their windows
/// between messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeflateOptions {
    /// Whether each message of the server stands alone: an idle connection needs no deflater.
    pub server_no_context_takeover: bool,
    /// Whether each message of the client must stand alone: an idle connection needs no window.
    pub client_no_context_takeover: bool,
}

/// An accepted offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedOffer {
    /// The agreed parameters.
    pub parameters: DeflateParameters,
    /// The value of the header in the response.
    pub value: String,
}

impl DeflateOptions {
    /// Accepts the first offer of a request that can be met. Returns `None` if there is none: the
    /// connection is then uncompressed, and the response has no such header.
    pub fn accept(self, headers: &Headers) -> Option<AcceptedOffer> {
        let offers = headers.list(HEADER).take(MAX_OFFERS).filter(|offer| has_name(offer));
        let offer = offers.filter_map(ParameterList::parse).next()?;
        let agreed = ParameterList {
            server_no_context_takeover: offer.server_no_context_takeover || self.server_no_context_takeover,
            client_no_context_takeover: offer.client_no_context_takeover || self.client_no_context_takeover,
            // The response repeats a limit that the server accepts.
            server_max_window_bits: offer.server_max_window_bits,
            // Without a value, the client only declares that it knows the parameter.
            client_max_window_bits: offer.client_max_window_bits.filter(|&bits| bits != WindowBits::Any),
        };
        Some(AcceptedOffer { parameters: agreed.parameters(), value: agreed.to_string() })
    }
}

/// The value of a parameter that limits a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowBits {
    /// The parameter has no value.
    Any,
    AtMost(u8),
}

/// The parameters of one offer or one agreement, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ParameterList {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: Option<WindowBits>,
    client_max_window_bits: Option<WindowBits>,
}

impl ParameterList {
    /// Parses the parameters after the name. Returns `None` for an unknown parameter, a repeated
    /// one, or a value that it must not have (RFC 7692, section 7.1).
    fn parse(element: &str) -> Option<ParameterList> {
        let mut list = ParameterList::default();
        for parameter in element.split(';').skip(1) {
            let (name, value) = match parameter.split_once('=') {
                Some((name, value)) => (trim(name), Some(unquote(trim(value))?)),
                None => (trim(parameter), None),
            };
            let is_new = match name {
                "server_no_context_takeover" => set_flag(&mut list.server_no_context_takeover, value),
                "client_no_context_takeover" => set_flag(&mut list.client_no_context_takeover, value),
                "server_max_window_bits" => {
                    let bits = WindowBits::AtMost(parse_window_bits(value?)?);
                    list.server_max_window_bits.replace(bits).is_none()
                }
                "client_max_window_bits" => {
                    let bits = match value {
                        Some(value) => WindowBits::AtMost(parse_window_bits(value)?),
                        None => WindowBits::Any,
                    };
                    list.client_max_window_bits.replace(bits).is_none()
                }
                _ => false,
            };
            if !is_new {
                return None;
            }
        }
        Some(list)
    }

    fn parameters(&self) -> DeflateParameters {
        let window_bits = |bits| match bits {
            Some(WindowBits::AtMost(bits)) => bits,
            Some(WindowBits::Any) | None => MAX_WINDOW_BITS,
        };
        DeflateParameters {
            server: SenderParameters {
                context_takeover: !self.server_no_context_takeover,
                window_bits: window_bits(self.server_max_window_bits),
            },
            client: SenderParameters {
                context_takeover: !self.client_no_context_takeover,
                window_bits: window_bits(self.client_max_window_bits),
            },
        }
    }
}

impl fmt::Display for ParameterList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(NAME)?;
        for (name, is_set) in [
            ("server_no_context_takeover", self.server_no_context_takeover),
            ("client_no_context_takeover", self.client_no_context_takeover),
        ] {
            if is_set {
                write!(out, "; {name}")?;
            }
        }
        for (name, bits) in [
            ("server_max_window_bits", self.server_max_window_bits),
            ("client_max_window_bits", self.client_max_window_bits),
        ] {
            match bits {
                Some(WindowBits::AtMost(bits)) => write!(out, "; {name}={bits}")?,
                Some(WindowBits::Any) => write!(out, "; {name}")?,
                None => {}
            }
        }
        Ok(())
    }
}

/// Whether an element of the header names permessage-deflate. Extension names are tokens, which
/// are compared without case as other tokens of a head are.
fn has_name(element: &str) -> bool {
    trim(element.split(';').next().unwrap_or_default()).eq_ignore_ascii_case(NAME)
}

/// Sets a flag, which must be new and have no value.
fn set_flag(flag: &mut bool, value: Option<&str>) -> bool {
    !std::mem::replace(flag, true) && value.is_none()
}

/// Parses 8 to 15, without leading zeros (RFC 7692, section 7.1.2).
fn parse_window_bits(value: &str) -> Option<u8> {
    let bits = value.parse().ok().filter(|bits| (MIN_WINDOW_BITS..=MAX_WINDOW_BITS).contains(bits))?;
    (value == bits.to_string()).then_some(bits)
}

/// Returns a token, without the quotes in which a value may be (RFC 6455, section 9.1).
fn unquote(value: &str) -> Option<&str> {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    Some(inner.unwrap_or(value)).filter(|token| is_token(token.as_bytes()))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::HeadLimits;
    use crate::ws::http::ResponseReader;

    fn headers(value: &str) -> Headers {
        let head = format!("HTTP/1.1 101 Switching Protocols\r\n{HEADER}: {value}\r\n\r\n");
        let read = ResponseReader::new(HeadLimits::default()).receive(head.as_bytes());
        read.expect("a valid head").expect("a whole head").headers
    }

    #[test]
    fn a_server_accepts_the_first_offer_that_it_understands() {
        let strict = DeflateOptions { server_no_context_takeover: true, client_no_context_takeover: true };
        for (offers, options, answer) in [
            ("permessage-deflate", DeflateOptions::default(), Some("permessage-deflate")),
            ("Permessage-Deflate", DeflateOptions::default(), Some("permessage-deflate")),
            ("x-webkit-deflate-frame", DeflateOptions::default(), None),
            ("x, permessage-deflate", DeflateOptions::default(), Some("permessage-deflate")),
            // What browsers offer.
            (
                "permessage-deflate; client_max_window_bits",
                strict,
                Some("permessage-deflate; server_no_context_takeover; client_no_context_takeover"),
            ),
            (
                "permessage-deflate; client_max_window_bits=10; server_max_window_bits=\"15\"",
                DeflateOptions::default(),
                Some("permessage-deflate; server_max_window_bits=15; client_max_window_bits=10"),
            ),
            (
                "permessage-deflate ;server_no_context_takeover ; server_max_window_bits = 8",
                DeflateOptions::default(),
                Some("permessage-deflate; server_no_context_takeover; server_max_window_bits=8"),
            ),
            (
                "permessage-deflate; unknown, permessage-deflate; client_no_context_takeover",
                DeflateOptions::default(),
                Some("permessage-deflate; client_no_context_takeover"),
            ),
        ] {
            let accepted = options.accept(&headers(offers));
            assert_eq!(accepted.as_ref().map(|accepted| &*accepted.value), answer, "{offers}");
            if let Some(AcceptedOffer { parameters, value }) = accepted {
                assert_eq!(DeflateParameters::from_response(&headers(&value)), Ok(Some(parameters)));
            }
        }
    }

    /// Parameters that make an offer unacceptable and a response a violation.
    const INVALID: [&str; 16] = [
        "; unknown",
        "; server_no_context_takeover=1",
        "; client_no_context_takeover=\"\"",
        "; server_no_context_takeover; server_no_context_takeover",
        "; client_no_context_takeover; client_no_context_takeover",
        "; server_max_window_bits",
        "; server_max_window_bits=7",
        "; server_max_window_bits=16",
        "; server_max_window_bits=09",
        "; server_max_window_bits=+9",
        "; server_max_window_bits=\"9",
        "; server_max_window_bits=9; server_max_window_bits=9",
        "; client_max_window_bits=7",
        "; client_max_window_bits=",
        "; client_max_window_bits=9; client_max_window_bits=10",
        ";",
    ];

    #[test]
    fn invalid_parameters_decline_an_offer_and_break_a_response() {
        for parameters in INVALID {
            let list = headers(&format!("{NAME}{parameters}"));
            assert_eq!(DeflateOptions::default().accept(&list), None, "{parameters}");
            let read = DeflateParameters::check_response(&list, Some(&DeflateOffer::default()));
            assert_eq!(read, Err(Violation::CompressionParameters), "{parameters}");
        }
    }

    #[test]
    fn a_client_accepts_only_a_response_that_fits_its_offer() {
        let any = DeflateOffer::default();
        let no_takeover = DeflateOffer { server_no_context_takeover: true, ..any };
        let small = DeflateOffer { server_max_window_bits: 10, client_max_window_bits: false, ..any };
        for (value, offer, expected) in [
            ("permessage-deflate", Some(any), Ok((true, 15, true, 15))),
            ("permessage-deflate; client_no_context_takeover", Some(any), Ok((true, 15, false, 15))),
            ("permessage-deflate; client_max_window_bits=9", Some(any), Ok((true, 15, true, 9))),
            ("permessage-deflate; server_max_window_bits=10", Some(small), Ok((true, 10, true, 15))),
            ("permessage-deflate; server_no_context_takeover", Some(no_takeover), Ok((false, 15, true, 15))),
            ("permessage-deflate", None, Err(Violation::ExtensionNotOffered)),
            ("x", Some(any), Err(Violation::ExtensionNotOffered)),
            ("permessage-deflate, permessage-deflate", Some(any), Err(Violation::ExtensionNotOffered)),
            ("permessage-deflate; client_max_window_bits", Some(any), Err(Violation::CompressionParameters)),
            ("permessage-deflate", Some(no_takeover), Err(Violation::CompressionParameters)),
            ("permessage-deflate", Some(small), Err(Violation::CompressionParameters)),
            (
                "permessage-deflate; server_max_window_bits=9; client_max_window_bits=9",
                Some(small),
                Err(Violation::CompressionParameters),
            ),
        ] {
            let read = DeflateParameters::check_response(&headers(value), offer.as_ref());
            let read = read.map(|agreed| {
                let DeflateParameters { server, client } = agreed.expect("an agreement");
                (server.context_takeover, server.window_bits, client.context_takeover, client.window_bits)
            });
            assert_eq!(read, expected, "{value}");
        }
        let none = headers("");
        assert_eq!(DeflateParameters::check_response(&none, Some(&any)), Ok(None));
    }

    #[test]
    fn every_offer_is_accepted_by_our_server_and_its_response_by_our_client() {
        for bits in 0..1 << 3 {
            for server_max_window_bits in MIN_WINDOW_BITS..=MAX_WINDOW_BITS {
                let offer = DeflateOffer {
                    server_no_context_takeover: bits & 1 != 0,
                    client_no_context_takeover: bits & 2 != 0,
                    server_max_window_bits,
                    client_max_window_bits: bits & 4 != 0,
                };
                let accepted = DeflateOptions::default().accept(&headers(&offer.to_string()));
                let AcceptedOffer { parameters, value } = accepted.expect("an acceptable offer");
                let read = DeflateParameters::check_response(&headers(&value), Some(&offer));
                assert_eq!(read, Ok(Some(parameters)), "{offer}");
            }
        }
    }
}
