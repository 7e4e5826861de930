//! Overwrites the texts of a packet that the packet does not take and that may be tokens.
//!
//! A client may say its token in a wrong place: as one argument too many, under a key of its own, as its
//! name. On a server with tokens such texts are overwritten before the packet is handled, whether somebody
//! observes it or not: then what is observed is what was handled, and no name or answer has the token.
//! What is overwritten does not depend on which tokens are right: otherwise a client that observes its own
//! bytes could try tokens there.
//!
//! A text that the packet takes in [`limits::TOKEN_CHARS_LEAST`] characters and more stays, such as chat:
//! it is meant for others.

use core::ops::Range;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmpv::Value;

use super::texts;
use crate::limits;
use crate::packet::Decoded;
use crate::packet::msgpack::{self, Kind};

/// Overwrites them in the payload of a packet in MessagePack, which may have other texts overwritten.
pub fn cover_packed(out: &mut [u8], bytes: &[u8], packet: &Decoded<'_>, said: Option<usize>) {
    let (taken, mut at) = (Taken::of(packet, said), 0);
    while let Ok(token) = msgpack::token(bytes, at) {
        let content = texts::content(token.kind, at + token.head, token.length);
        let text = bytes.get(content.clone()).unwrap_or_default();
        if matches!(token.kind, Kind::Str | Kind::Bin) && may_be_token(text) && !taken.begins(text) {
            texts::packed(out, content.clone());
        }
        at = content.end;
    }
}

/// As [`cover_packed`], for a packet in JSON.
pub fn cover_json(out: &mut [u8], text: &str, packet: &Decoded<'_>, said: Option<usize>) {
    let taken = Taken::of(packet, said);
    texts::each_json(text, |_, string| {
        let Some(place) = string else { return };
        let text = unescaped(text, &place);
        if may_be_token(text.as_bytes()) && !taken.begins(text.as_bytes()) {
            texts::json(out, place);
        }
    });
}

/// What a string of JSON says, by the place of its content.
fn unescaped(text: &str, place: &Range<usize>) -> String {
    let quoted = text.get(place.start - 1..place.end + 1).unwrap_or_default();
    serde_json::from_str(quoted).unwrap_or_else(|_| text[place.clone()].to_owned())
}

/// Whether a payload may have a token somewhere. Escapes of JSON may stand in one.
pub fn may_have_token(payload: &[u8]) -> bool {
    has_run(payload, |byte| texts::is_token_byte(byte) || byte == b'\\')
}

fn may_be_token(text: &[u8]) -> bool {
    has_run(text, texts::is_token_byte)
}

fn has_run(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> bool {
    let least = limits::TOKEN_CHARS_LEAST;
    bytes.len() >= least && bytes.split(|byte| !is_part(*byte)).any(|run| run.len() >= least)
}

/// The texts that a packet takes and that are long enough for a token.
#[derive(Default)]
struct Taken(Vec<Vec<u8>>);

impl Taken {
    /// Those of a packet, except the argument in which it says its token.
    fn of(packet: &Decoded<'_>, said: Option<usize>) -> Taken {
        let mut taken = Taken::default();
        taken.text(&packet.row.name);
        packet.row.codes.iter().for_each(|(_, code)| taken.text(&code.to_string()));
        let values = packet.values.iter().enumerate().filter(|(at, _)| Some(*at) != said);
        values.for_each(|(_, value)| taken.value(value));
        taken
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text.as_str().unwrap_or_default()),
            Value::Binary(bytes) => {
                if bytes.len() >= limits::TOKEN_CHARS_LEAST {
                    self.0.push(bytes.clone());
                }
                self.text(&BASE64_STANDARD.encode(bytes));
            }
            Value::Array(values) => values.iter().for_each(|value| self.value(value)),
            Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                self.value(key);
                self.value(value);
            }),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if text.chars().nth(limits::TOKEN_CHARS_LEAST - 1).is_some() {
            self.0.push(text.as_bytes().to_vec());
        }
    }

    /// Whether a text of the message begins with one of them: the packet may have cut it.
    fn begins(&self, text: &[u8]) -> bool {
        self.0.iter().any(|taken| text.starts_with(taken))
    }
}
