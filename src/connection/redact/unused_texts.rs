//! Overwrites texts and numbers of a packet that may be tokens and are not used as arguments.
//!
//! A client may send its token in a wrong place: as an excess argument, under an unknown key, as
//! its name, or as a number if it has only digits. On a server with tokens, such texts are
//! overwritten before the packet is handled, even without an observer. An observer therefore
//! receives exactly the handled bytes, and no name or reply contains the token. Redaction does not
//! depend on which tokens are valid, because a client that observes its own bytes could otherwise
//! guess tokens.
//!
//! A text of at least [`limits::MIN_TOKEN_CHARS`] characters stays if it is an argument for other
//! players, such as chat. A part that the packet truncates is overwritten. An argument that is not
//! for people, such as a checksum, stays only in its exact form. A number stays if it is an
//! argument.

use core::ops::Range;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmpv::Value;

use super::numbers::{self, Long};
use super::texts;
use crate::limits;
use crate::packet::DecodedPacket;
use crate::packet::msgpack::{self, ValueKind};

/// Overwrites unused texts and numbers of a MessagePack packet. `bytes` is the original payload; in
/// `out` other texts may be overwritten already.
pub fn redact_untaken_msgpack(out: &mut [u8], bytes: &[u8], packet: &DecodedPacket<'_>, said: Option<usize>) {
    let (taken, mut at) = (TakenTexts::of(packet, said), 0);
    while let Ok(token) = msgpack::read_head(bytes, at) {
        let content = texts::content(token.kind, at + token.head, token.length);
        let text = bytes.get(content.clone()).unwrap_or_default();
        if matches!(token.kind, ValueKind::Str | ValueKind::Bin) && texts::has_run(text) {
            let kept = taken.prefix(text).map_or(0, <[u8]>::len);
            texts::redact_text(out, content.start + kept..content.end);
        }
        at = content.end;
    }
    let unused = numbers::packed(bytes).into_iter().filter(|long| !taken.has_number(long, said));
    unused.for_each(|long| numbers::cover_packed(out, &long));
}

/// Overwrites unused texts and numbers of a JSON packet, as [`redact_untaken_msgpack`] does.
pub fn redact_untaken_json(out: &mut [u8], text: &str, packet: &DecodedPacket<'_>, said: Option<usize>) {
    let taken = TakenTexts::of(packet, said);
    texts::visit_json(text, |_, string| {
        let Some(place) = string else { return };
        let content = unescaped(text, &place);
        if texts::has_run(content.as_bytes()) {
            let kept = taken
                .prefix(content.as_bytes())
                .map_or(0, |kept| String::from_utf8_lossy(kept).chars().count());
            let start = texts::json_prefix(text.as_bytes(), &place, kept);
            texts::json(out, start..place.end);
        }
    });
    let unused = numbers::json(text).into_iter().filter(|long| !taken.has_number(long, said));
    unused.for_each(|long| numbers::cover_json(out, &long));
}

/// The text of a JSON string with this content range, without escapes.
fn unescaped(text: &str, place: &Range<usize>) -> String {
    let quoted = text.get(place.start - 1..place.end + 1).unwrap_or_default();
    serde_json::from_str(quoted).unwrap_or_else(|_| text[place.clone()].to_owned())
}

/// Whether a payload may contain a token at any offset, with or without escapes.
pub fn may_have_token(payload: &[u8]) -> bool {
    let is_part = |byte: &u8| texts::is_token_byte(*byte) || b"\\%".contains(byte);
    let least = limits::MIN_TOKEN_CHARS;
    let has_run = payload.split(|byte| !is_part(byte)).any(|run| run.len() >= least);
    has_run || numbers::may_be_packed(payload)
}

/// Packets with an argument of 16 hexadecimal digits: the packet and the argument. Other texts in
/// it are overwritten.
const CHECKSUMS: [(&str, &str); 1] = [("checksum", "checksum")];

/// The arguments of a packet that are long enough for a token.
#[derive(Default)]
struct TakenTexts {
    texts: Vec<Vec<u8>>,
    /// The checksum, which must match a whole text.
    checksum: Option<String>,
    numbers: Vec<f64>,
    /// Number of arguments of the packet.
    arguments: usize,
}

impl TakenTexts {
    /// Collects the arguments of a packet, except its token (index `said`).
    fn of(packet: &DecodedPacket<'_>, said: Option<usize>) -> TakenTexts {
        let mut taken = TakenTexts { arguments: packet.row.arguments.len(), ..TakenTexts::default() };
        taken.text(&packet.row.name);
        packet.row.codes.iter().for_each(|(_, code)| taken.text(&code.to_string()));
        let no_text = CHECKSUMS.iter().find(|(name, _)| *name == packet.row.name);
        let checksum = no_text.and_then(|(_, argument)| packet.row.argument(argument));
        for (at, value) in packet.values.iter().enumerate().filter(|(at, _)| Some(*at) != said) {
            match value.as_str().filter(|_| Some(at) == checksum) {
                Some(text) => taken.checksum = Some(text.to_owned()).filter(|text| is_checksum(text)),
                None => taken.value(value),
            }
        }
        taken
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text.as_str().unwrap_or_default()),
            Value::Binary(bytes) => {
                if bytes.len() >= limits::MIN_TOKEN_CHARS {
                    self.texts.push(bytes.clone());
                }
                self.text(&BASE64_STANDARD.encode(bytes));
            }
            Value::Array(values) => values.iter().for_each(|value| self.value(value)),
            Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                self.value(key);
                self.value(value);
            }),
            _ => self.numbers.extend(value.as_f64()),
        }
    }

    fn text(&mut self, text: &str) {
        if text.chars().nth(limits::MIN_TOKEN_CHARS - 1).is_some() {
            self.texts.push(text.as_bytes().to_vec());
        }
    }

    /// The prefix of a text that an argument contains, because the packet may truncate texts.
    fn prefix<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        if self.checksum.as_ref().is_some_and(|checksum| checksum.as_bytes() == text) {
            return Some(text);
        }
        let taken = self.texts.iter().filter(|taken| text.starts_with(taken)).max_by_key(|taken| taken.len());
        taken.map(|taken| &text[..taken.len()])
    }

    /// Whether a number is an argument, or part of one.
    fn has_number(&self, long: &Long, said: Option<usize>) -> bool {
        match long.argument() {
            Some(argument) => argument < self.arguments && Some(argument) != said,
            None => self.numbers.contains(&long.value),
        }
    }
}

/// Whether the text is 16 hexadecimal digits.
fn is_checksum(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
